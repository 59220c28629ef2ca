/* --profile with several files: what the processors of this machine take when they are divided in different ways, one
 * file for each number of threads. Who plans for them chooses a way (engine/plan/processor_choice.h). */
#ifndef ONSTAGE_ENGINE_CONFIG_PROFILE_LIST_H
#define ONSTAGE_ENGINE_CONFIG_PROFILE_LIST_H

#include "engine/config/config.h"

/* Tests whether the option names more than one file: "two_threads.json,one_thread.json". */
bool ons_profile_list_is_given(const ons_config *config);

/* Gives the files' names. Fails where one is missing, and where another option leaves nothing to choose. In `arena`. */
ons_status *ons_profile_list_find(const ons_config *config, ons_arena *arena, const char ***files, uint32_t *count);

#endif
