/* ONNX's own optimisers (domain ai.onnx.preview.training): inputs are a learning rate R, a count of updates T, then all
 * tensors X₁ … Xₙ, all their gradients G₁ … Gₙ, and one or two groups of states; outputs are the new tensors and states
 * in the same order. They become arithmetic on tensors, so that a graph may even be differentiated through them. */
#ifndef ONSTAGE_KERNELS_OPTIMIZERS_TRAINING_UPDATE_H
#define ONSTAGE_KERNELS_OPTIMIZERS_TRAINING_UPDATE_H

#include "kernels/common/operator/expand.h"

#define ONS_PREVIEW_TRAINING ONS_IN_DOMAIN("ai.onnx.preview.training", 1, 1)

/* `states`: groups of them. */
ons_status *ons_update_infer(ons_operands *o, uint32_t states);
ons_cost ons_update_cost(const ons_operands *o);

enum { ONS_UPDATE_STATES = 2 };

/* One tensor's operands, as values and (for references) as numbers. */
typedef struct ons_update_values {
    ons_value_id rate, count, x, gradient, states[ONS_UPDATE_STATES];
} ons_update_values;
typedef struct ons_update_numbers {
    double rate, x, gradient, states[ONS_UPDATE_STATES];
    int64_t count;
} ons_update_numbers;

/* `step` sets x and states to the new ones; it is called for every tensor, and for every element. */
ons_status *ons_update_expand(ons_replacement *m, uint32_t states,
                              void (*step)(ons_replacement *m, ons_update_values *v));
void ons_update_reference(const ons_operands *o, uint32_t states, const void *const *inputs, void *const *outputs,
                          void (*step)(const ons_operands *o, ons_update_numbers *v));

/* gradient + factor × x. */
ons_value_id ons_update_regularized(ons_replacement *m, const ons_update_values *v, double factor);
/* factor × a + other × b. */
ons_value_id ons_update_blend(ons_replacement *m, double factor, ons_value_id a, double other, ons_value_id b);
/* `then` where T > 0, else `otherwise`: both are scalars of X's type. */
ons_value_id ons_update_if_counted(ons_replacement *m, const ons_update_values *v, ons_value_id then,
                                   ons_value_id otherwise);

#endif
