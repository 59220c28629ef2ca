/* Inputs that a run does not ask data for: no node reads them, or only outputs that the run leaves out need them. */
#ifndef ONSTAGE_ENGINE_MODEL_NEEDED_INPUTS_H
#define ONSTAGE_ENGINE_MODEL_NEEDED_INPUTS_H

#include "engine/model/model.h"

/* Takes such inputs from the list of the graph, fresh from the import. Where data are given, and none for an input that
 * only other outputs need than this run takes, those outputs go as well: a run takes the first output, for its loss,
 * and those of --output. Arrays given for such an input are accepted and not read: model->unread. */
ons_status *ons_leave_out_inputs(ons_model *model, const ons_config *config);

#endif
