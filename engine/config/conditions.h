/* Options that have an effect only beside others. */
#ifndef ONSTAGE_ENGINE_CONFIG_CONDITIONS_H
#define ONSTAGE_ENGINE_CONFIG_CONDITIONS_H

#include "engine/config/config.h"

/* Fails where an option is set to something else than its default, and changes nothing in what `command`
 * (ONS_COMMAND_…) does with the other options; the message says beside which options it would. Does not look at the
 * model: for options without effect on a model there are notes (engine/model/notes.inc). */
ons_status *ons_config_check_conditions(const ons_config *config, unsigned command);

#endif
