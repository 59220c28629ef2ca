/* Inputs that a run does not ask data for: no node reads them, or only outputs that the run leaves out need them. */
#ifndef ONSTAGE_ENGINE_MODEL_NEEDED_INPUTS_H
#define ONSTAGE_ENGINE_MODEL_NEEDED_INPUTS_H

#include "engine/model/model.h"

/* Takes such inputs from the list of the graph, fresh from the import, and where they are not read by accident alone,
 * the outputs that need them: all but the first, of which the loss is taken, and those of --output. What is given for
 * them all the same is accepted, and not read: model->unread. */
ons_status *ons_leave_out_inputs(ons_model *model, const ons_config *config);

#endif
