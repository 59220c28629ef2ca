/* What a person sees of a planned run's stages: the plan before training, the plan beside what came after it. */
#ifndef ONSTAGE_TOOLS_STAGE_TABLE_H
#define ONSTAGE_TOOLS_STAGE_TABLE_H

#include "include/onstage.h"

/* Both print nothing where there is no plan. */
ons_status *ons_stages_begin(const ons_trainer *trainer, const ons_trainer_status *status);
ons_status *ons_stages_end(const ons_trainer *trainer, const ons_trainer_status *status);

/* Of a GPU, what is beside the arenas; nothing elsewhere. */
void ons_memory_end(const ons_trainer_status *status);

#endif
