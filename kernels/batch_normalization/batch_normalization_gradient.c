/* Gradients of batch normalisation: of the input, the scale and the bias, in two passes over the data.
 *
 * Inputs: dy, x, scale, and either the batch's mean and inverse standard deviation, or, with constant_statistics = 1,
 * the running mean and variance that the forward pass took for constants. Per channel, with x̂ = (x − mean) × inverse:
 *   dbias = Σ dy,   dscale = Σ dy x̂,   dx = scale × inverse × (dy − dbias / n − x̂ dscale / n)
 * where the last two terms are there only if the statistics depend on x. With statistics over replicas (attribute
 * replicas) sums and n in them are those of all, while dscale and dbias are this replica's own.
 *
 * Inputs 5 and 6 are the bias of a normalisation with Relu or Clip behind it (activation, low, high), and its slope: dy
 * is then that of the activation's result, and counts where (x − mean) × slope + bias is above 0, or within the bounds.
 */
#include "kernels/batch_normalization/batch_normalization_gradient.h"

#include <math.h>

#include "graph/operator.h"
#include "kernels/common/layout/channels.h"
#include "kernels/common/operator/kernel.h"
#include "kernels/normalization/batch_activation.h"

static ons_status *batch_normalization_gradient_infer(ons_operands *o) {
    const ons_shape *x = &o->inputs[1].shape;
    if (x->rank < 2 || !ons_shape_equal(&o->inputs[0].shape, x))
        return ons_node_error(o, "gradient and input do not fit each other");
    for (uint32_t i = 2; i < 5; ++i)
        if (o->inputs[i].shape.rank != 1 || o->inputs[i].shape.dims[0] != x->dims[1])
            return ons_node_error(o, "input %u must be a vector of %lld", i, (long long)x->dims[1]);
    for (uint32_t i = GATE_REST; ons_has_input(o, GATE_REST) && i <= GATE_SCALE; ++i)
        if (!ons_has_input(o, i) || !ons_type_equal(&o->inputs[i], &o->inputs[2]) || o->inputs[i].dtype != ONS_FLOAT32)
            return ons_node_error(o, "bias and slope must be float32 vectors like the scale");
    if (ons_has_input(o, GATE_REST) && ons_attribute_int(o, CONSTANT_STATISTICS) != 0)
        return ons_node_error(o, "an activation goes with statistics of the batch");
    ONS_TRY(ons_batch_check_activation(o, ACTIVATION));
    o->outputs[DX] = ons_type_make(o->inputs[1].dtype, *x);
    for (uint32_t i = DSCALE; i < o->output_count; ++i)
        o->outputs[i] = ons_type_make(o->inputs[2].dtype, o->inputs[2].shape);
    return NULL;
}

static ons_cost batch_normalization_gradient_cost(const ons_operands *o) {
    return (ons_cost){(ons_has_input(o, GATE_REST) ? 11 : 8) * (double)ons_elements(&o->inputs[0]),
                      ons_operand_bytes(o)};
}

static ons_status *batch_normalization_gradient_choose(const ons_operands *o, ons_layout *inputs, ons_layout *outputs) {
    ons_channels_choose(o, inputs, outputs);
    return NULL;
}

static bool is_open(const ons_batch_activation *a, double x) {
    return a->kind == ONS_BATCH_CLIP ? x > a->low && x < a->high : a->kind == ONS_BATCH_PLAIN || x > 0;
}

static void batch_normalization_gradient_reference(const ons_operands *o, const ons_step *step,
                                                   const void *const *inputs, void *const *outputs) {
    (void)step;
    ons_channels size = ons_channels_of(&o->inputs[1]);
    const double *dy = inputs[0], *x = inputs[1], *scale = inputs[2], *mean = inputs[3], *second = inputs[4];
    double *dx = outputs[DX], n = (double)size.batch * (double)size.positions;
    double *dscale = o->output_count > DSCALE ? outputs[DSCALE] : NULL,
           *dbias = o->output_count > DBIAS ? outputs[DBIAS] : NULL;
    bool constant = ons_attribute_int(o, CONSTANT_STATISTICS) != 0;
    const double *rest = ons_has_input(o, GATE_REST) ? inputs[GATE_REST] : NULL,
                 *slopes = rest != NULL ? inputs[GATE_SCALE] : NULL;
    ons_batch_activation activation = ons_batch_activation_of(o, ACTIVATION);
    for (int64_t c = 0; c < size.channels; ++c) {
        double inverse = constant ? 1 / sqrt(second[c] + ons_attribute_float(o, EPSILON)) : second[c];
        double bias = 0, slope = 0;
        for (int64_t i = 0; i < size.batch * size.positions; ++i) {
            int64_t at = (i / size.positions * size.channels + c) * size.positions + i % size.positions;
            double x_hat = (x[at] - mean[c]) * inverse;
            if (rest != NULL && !is_open(&activation, (x[at] - mean[c]) * slopes[c] + rest[c])) continue;
            bias += dy[at];
            slope += dy[at] * x_hat;
        }
        for (int64_t i = 0; dx != NULL && i < size.batch * size.positions; ++i) {
            int64_t at = (i / size.positions * size.channels + c) * size.positions + i % size.positions;
            double x_hat = (x[at] - mean[c]) * inverse, through = constant ? 0 : (bias + x_hat * slope) / n;
            bool closed = rest != NULL && !is_open(&activation, (x[at] - mean[c]) * slopes[c] + rest[c]);
            dx[at] = scale[c] * inverse * ((closed ? 0 : dy[at]) - through);
        }
        if (dscale != NULL) dscale[c] = slope;
        if (dbias != NULL) dbias[c] = bias;
    }
}

ONS_DEFINE_OPERATOR(batch_normalization_gradient, "BatchNormalizationGradient", ONS_INTERNAL, ONS_ARITY(5, 7, 0, 3),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("constant_statistics", 0), ONS_FLOAT_ATTRIBUTE("epsilon", 1e-5),
                                   ONS_INT_ATTRIBUTE("replicas", 1), ONS_BATCH_ACTIVATION_ATTRIBUTES(ONS_BATCH_RELU)),
                    ONS_INFER(batch_normalization_gradient_infer), ONS_COST(batch_normalization_gradient_cost),
                    ONS_NOT_DIFFERENTIABLE("second derivatives are not supported"), ONS_SAVES_NOTHING,
                    ONS_PLAIN_OPERATOR, ONS_ALIASES({ONS_ALIAS_MAY, DX, 0}, {ONS_ALIAS_MAY, DX, 1}),
                    ONS_CHOOSES_LAYOUT(batch_normalization_gradient_choose), ONS_ONE_FORM,
                    ONS_REFERENCE(batch_normalization_gradient_reference));
