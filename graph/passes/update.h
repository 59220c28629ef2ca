/* Optimisers are operators with a role; this pass adds accumulation, clipping and update to a differentiated graph.
 *
 * Inputs are (parameter, gradient, factor, state 0, state 1, …), outputs (new parameter, new state 0, …), each of which
 * takes the place of what it replaces (ONS_ALIAS_STATE). `factor` is a float32 scalar by which the gradient is
 * multiplied first, or left out. The learning rate and the step's number are in ons_step. Formulas are torch.optim's.
 *
 *   role              attributes by position                        states
 *   ONS_ROLE_SGD      momentum, weight_decay, nesterov (int)        momentum_buffer (left out where momentum is 0)
 *   ONS_ROLE_ADAM     beta1, beta2, eps, weight_decay               exp_avg, exp_avg_sq
 *   ONS_ROLE_ADAMW    beta1, beta2, eps, weight_decay               exp_avg, exp_avg_sq
 *   ONS_ROLE_ADAGRAD  eps, weight_decay                             sum
 *   ONS_ROLE_RMSPROP  alpha, eps, weight_decay, momentum            square_avg, momentum_buffer (left out where
 * momentum is 0)
 *
 * ONS_ROLE_SQUARE_SUM: input any float32; output a float64 scalar, Σ x².
 * ONS_ROLE_CLIP_FACTOR: inputs n square sums; attribute max_norm (0: no clipping); outputs: the norm and the factor
 *   min(1, max_norm / (norm + 1e-6)), float32 scalars. Sums in the order of the inputs, in double.
 * ONS_ROLE_ACCUMULATE: inputs (sum, summand), output the new sum in the sum's place; with ons_step.micro_batch 0 it
 * copies.
 */
#ifndef ONSTAGE_GRAPH_PASSES_UPDATE_H
#define ONSTAGE_GRAPH_PASSES_UPDATE_H

#include "graph/operator.h"
#include "graph/registry.h"

typedef struct ons_optimizer_options {
    ons_role role;
    double momentum, weight_decay, beta1, beta2, alpha, eps;
    bool nesterov;
    double clip_norm; /* 0: none */
    bool want_norms;  /* square sums even where nothing is clipped */
} ons_optimizer_options;

/* What training does to one initialiser. */
typedef struct ons_trained {
    ons_value_id parameter;
    ons_value_id gradient;   /* of the whole step */
    ons_value_id square_sum; /* of the gradient; ONS_NONE: nobody wants it */
    ons_value_id states[2];  /* as they come in; ONS_NONE where there are fewer */
} ons_trained;

typedef struct ons_update_result {
    ons_trained *trained; /* in file order; in the graph's arena */
    uint32_t trained_count;
    ons_value_id norm; /* ONS_NONE unless it is clipped */
    const char *state_names[2];
} ons_update_result;

/* What the autograd pass found: for every trainable parameter the gradient of each of its uses, in the order of use. */
typedef struct ons_parameter_gradient {
    ons_value_id parameter;
    ons_value_id *uses;
    uint32_t use_count;
} ons_parameter_gradient;

/* `accumulate`: more than one micro-batch a step. */
ons_status *ons_attach_update(ons_graph *graph, const ons_registry *registry, const ons_parameter_gradient *gradients,
                              uint32_t gradient_count, const ons_optimizer_options *options, bool accumulate,
                              ons_update_result *result);

#endif
