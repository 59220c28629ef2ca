/* Optimisers are operators with a role; this pass adds accumulation, clipping and update to a differentiated graph.
 *
 * Inputs are (parameter, gradient, factor, state 0, state 1, …), outputs (new parameter, new state 0, …), each of which
 * takes the place of what it replaces (ONS_ALIAS_STATE). `factor` is a float32 scalar by which the gradient is
 * multiplied first, or left out. The learning rate and the step's number are in ons_step. Formulas are torch.optim's.
 *
 *   role              attributes by position                        states
 *   ONS_ROLE_SGD      momentum, weight_decay, nesterov (int)        momentum_buffer
 *   ONS_ROLE_ADAM     beta1, beta2, eps, weight_decay               exp_avg, exp_avg_sq
 *   ONS_ROLE_ADAMW    beta1, beta2, eps, weight_decay               exp_avg, exp_avg_sq
 *   ONS_ROLE_ADAGRAD  eps, weight_decay                             sum
 *   ONS_ROLE_RMSPROP  alpha, eps, weight_decay, momentum            square_avg, momentum_buffer
 *
 * momentum_buffer is left out where momentum is 0.
 *
 * The last input and the last output of each, behind its states, are the parameter in a half type, as the next step's
 * nodes read it: the output is the new parameter, rounded, and takes the input's place, whose contents nobody reads.
 * Both are left out but where half_weights.h puts them.
 *
 * The last attribute of each, behind these, is a learning rate of the parameter's own, which takes the place of
 * ons_step.learning_rate once it is multiplied by ons_step.rate_share.
 *
 * ONS_ROLE_SQUARE_SUM: input any float32; output a float64 scalar, Σ x².
 * ONS_ROLE_CLIP_FACTOR: inputs n square sums; attribute max_norm (0: no clipping); outputs: the norm and the factor
 *   min(1, max_norm / (norm + 1e-6)), float32 scalars. Sums in the order of the inputs, in double.
 * ONS_ROLE_LOSS_SCALE: where gradients are float16, they are those of the loss times a scale that is found by trying.
 *   Inputs: the scale (float32), float32[2] (steps that were finite with it; steps that were skipped), n square sums of
 *   the gradients with the scale in them. Attributes: max_norm as above, interval. Outputs: scale and counts for the
 *   next step in the place of those; the norm without the scale; float32[2], the factor and the steps that were
 *   skipped before; the scale of this step. Where a sum is not finite the scale is halved and the factor negative;
 *   after `interval` finite steps it is doubled. An optimiser takes float32[2] as factor: a negative one leaves
 *   parameter and states as they are, and skipped steps are not counted in its bias corrections.
 * ONS_ROLE_ACCUMULATE: inputs (sum, summand), output the new sum in the sum's place, all in the parameter's type; the
 *   first micro-batch's summand is copied there.
 *
 * Where the parameter is float32 the gradient of an update, and a summand, may be of a half type (low_gradients.h).
 */
#ifndef ONSTAGE_GRAPH_PASSES_UPDATE_H
#define ONSTAGE_GRAPH_PASSES_UPDATE_H

#include "graph/operator.h"
#include "graph/registry.h"

/* An optimiser's inputs by position. */
enum { ONS_UPDATE_PARAMETER, ONS_UPDATE_GRADIENT, ONS_UPDATE_FACTOR, ONS_UPDATE_STATES };

/* Where an optimiser has the parameter in a half type. */
static inline uint32_t ons_update_half_input(const ons_operator *op) { return op->arity.inputs_max - 1; }
static inline uint32_t ons_update_half_output(const ons_operator *op) { return op->arity.outputs_max - 1; }

/* The place of the parameter in a half type that an update brings up to date; ONS_NONE: the node is no update, or has
 * none. */
static inline ons_value_id ons_update_half_of(const ons_node *node) {
    if (!ons_role_is_optimizer(node->op->roles.role)) return ONS_NONE;
    uint32_t input = ons_update_half_input(node->op);
    return input < node->input_count ? node->inputs[input] : (ons_value_id)ONS_NONE;
}

typedef struct ons_optimizer_options {
    ons_role role;
    double momentum, weight_decay, beta1, beta2, alpha, eps;
    bool nesterov;
    double clip_norm; /* 0: none */
    bool want_norms;  /* square sums even where nothing is clipped */
    bool scales_loss; /* gradients come with the factor `scale` in them, which the two values belong to */
    double first_scale;
    ons_value_id scale, scale_counts;
} ons_optimizer_options;

/* What training does to one initialiser. */
typedef struct ons_trained {
    ons_value_id parameter;
    ons_value_id gradient;   /* of the whole step */
    ons_value_id square_sum; /* of the gradient; ONS_NONE: nobody wants it */
    ons_value_id states[2];  /* as they come in; ONS_NONE where there are fewer */
    const double *rate;      /* its own learning rate; NULL: that of the step */
} ons_trained;

typedef struct ons_update_result {
    ons_trained *trained; /* in file order; in the graph's arena */
    uint32_t trained_count;
    ons_value_id norm;  /* ONS_NONE unless it is clipped, or the loss scaled */
    ons_value_id scale; /* of the loss, in this step; ONS_NONE: it is not scaled */
    const char *state_names[2];
} ons_update_result;

/* What the autograd pass found: for every trainable parameter the gradient of each of its uses, in the order of use. */
typedef struct ons_parameter_gradient {
    ons_value_id parameter;
    ons_value_id *uses;
    uint32_t use_count;
    const double *rate; /* its own learning rate before the schedule; NULL: that of the step */
} ons_parameter_gradient;

/* Adds the scale of the loss, `first_scale` at first, and its counts: buffers, so that they are kept like running
 * statistics. For the cotangent to start from, and for ons_optimizer_options. */
ons_status *ons_add_loss_scale(ons_graph *graph, ons_optimizer_options *options);

/* `accumulate`: more than one micro-batch a step. */
ons_status *ons_attach_update(ons_graph *graph, const ons_registry *registry, const ons_parameter_gradient *gradients,
                              uint32_t gradient_count, const ons_optimizer_options *options, bool accumulate,
                              ons_update_result *result);

#endif
