/* QLinearConv: a convolution of quantised tensors, with an int32 bias. For inference; see
 * kernels/quantization/qlinear.h. */
#include <stdlib.h>

#include "kernels/convolution/convolution.h"
#include "kernels/quantization/qlinear.h"

enum { BIAS = ONS_Q_Y_ZERO + 1 };

static ons_status *resolve_conv(const ons_operands *o, ons_convolution *c) {
    *c = (ons_convolution){.kind = ONS_CONVOLUTION_FORWARD};
    ons_type x = o->inputs[ONS_Q_A], w = o->inputs[ONS_Q_B];
    x.dtype = w.dtype = ONS_FLOAT64; /* what the integers are lifted to */
    return ons_convolution_resolve(o, &x, &w, c);
}

static ons_status *qlinear_conv_infer(ons_operands *o) {
    ons_convolution c;
    ONS_TRY(resolve_conv(o, &c));
    int64_t channels = c.y.shape.dims[1];
    ONS_TRY(ons_qlinear_check(o, 1, channels));
    if (ons_has_input(o, BIAS) && (o->inputs[BIAS].dtype != ONS_INT32 || o->inputs[BIAS].shape.rank != 1 ||
                                   o->inputs[BIAS].shape.dims[0] != channels))
        return ons_node_error(o, "the bias must be a vector of %lld int32", (long long)channels);
    o->outputs[0] = ons_type_make(o->inputs[ONS_Q_Y_ZERO].dtype, c.y.shape);
    return NULL;
}

static ons_cost qlinear_conv_cost(const ons_operands *o) {
    ons_convolution c;
    ons_resolved(resolve_conv(o, &c));
    return (ons_cost){ons_convolution_flops(&c), ons_operand_bytes(o)};
}

static void qlinear_conv_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                   void *const *outputs) {
    ons_convolution c;
    ons_resolved(resolve_conv(o, &c));
    int64_t n = ons_elements(&o->outputs[0]), positions = ons_window_outputs(&c.window), channels = c.y.shape.dims[1];
    int64_t filters = o->inputs[ONS_Q_B].shape.dims[0];
    int64_t filter_size = filters == 0 ? 1 : ons_elements(&o->inputs[ONS_Q_B]) / filters;
    const int64_t *bias = ons_has_input(o, BIAS) ? inputs[BIAS] : NULL;
    double *x = ons_qlinear_lift(o, ONS_Q_A, inputs, 1, 1);
    double *w = ons_qlinear_lift(o, ONS_Q_B, inputs, filter_size, channels);
    double *sums = calloc((size_t)n + 1, sizeof *sums);
    if (x != NULL && w != NULL && sums != NULL) {
        ons_convolution_reference(&c, x, w, NULL, sums);
        for (int64_t i = 0; i < n; ++i) {
            int64_t channel = i / positions % channels;
            double sum = sums[i] + (bias == NULL ? 0 : (double)bias[channel]);
            ((int64_t *)outputs[0])[i] = ons_qlinear_finish(o, inputs, sum, 0, channel);
        }
    }
    free(x);
    free(w);
    free(sums);
}

ONS_DEFINE_OPERATOR(qlinear_conv, "QLinearConv", ONS_ONNX(10, ONS_NEWEST), ONS_ARITY(8, 9, 1, 1),
                    ONS_ATTRIBUTES(ONS_WINDOW_ATTRIBUTES, ONS_INT_ATTRIBUTE("group", 1)), ONS_INFER(qlinear_conv_infer),
                    ONS_COST(qlinear_conv_cost), ONS_NOT_TRAINABLE_QUANTIZED, ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_QUANTIZED | ONS_TRAIT_DENSE, 0), ONS_NO_ALIASES, ONS_PLAIN_LAYOUT,
                    ONS_ONE_FORM, ONS_REFERENCE(qlinear_conv_reference));
