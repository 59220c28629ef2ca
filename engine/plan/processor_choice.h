/* Two stages on two processors, or two threads of one stage? With several --profile each file speaks for one way to
 * divide this machine's processors, by the number of threads that it was measured with: as many stages of so many
 * threads as there are processors for. Each way is planned whole, as if it had been asked for, and the simulator says
 * which is the fastest. */
#ifndef ONSTAGE_ENGINE_PLAN_PROCESSOR_CHOICE_H
#define ONSTAGE_ENGINE_PLAN_PROCESSOR_CHOICE_H

#include "include/onstage.h"

/* Plans for the batch of one stage every way whose threads divide the processors, and gives the planning of that with
 * the fastest step; of equal ones, of the fewest stages. The planning's configuration has the way's options, and its
 * `division` tells what was chosen and by which figures. Where none fits it fails, and gives the planning that would
 * need the least memory, or NULL; else NULL only where it fails, too. The caller frees it. */
ons_status *ons_processor_choice_plan(const char *path, const ons_config *config, ons_planning **planning);

#endif
