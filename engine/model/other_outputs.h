/* Outputs of a model that the targets fit as well as the one that the loss is taken of. */
#ifndef ONSTAGE_ENGINE_MODEL_OTHER_OUTPUTS_H
#define ONSTAGE_ENGINE_MODEL_OTHER_OUTPUTS_H

#include "engine/model/data.h"
#include "graph/passes/loss.h"

typedef struct ons_other_outputs {
    size_t count;      /* of them */
    const char *first; /* in the graph's arena */
} ons_other_outputs;

/* Among the bound graph's outputs, those that the targets of `dataset` fit, that trained weights make, and that say
 * something else than `prediction`: neither is computed from the other, nor both element by element from one value. */
ons_status *ons_other_outputs_find(const ons_model *model, const ons_config *config, const ons_dataset *dataset,
                                   const ons_loss_options *loss, const ons_graph *bound, ons_value_id prediction,
                                   ons_other_outputs *others);

/* Takes over a failure to take the loss of the first output, and adds the name of an output that the targets fit, where
 * there is one. */
ons_status *ons_other_outputs_hint(ons_status *failure, const ons_dataset *dataset, const ons_loss_options *loss,
                                   const ons_graph *bound);

#endif
