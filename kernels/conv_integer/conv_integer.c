/* ConvInteger: convolution of bytes less their zero points, summed in int32. Its weight may have a zero point for each
 * output. */
#include "kernels/convolution/convolution.h"

enum { X, W, X_ZERO, W_ZERO };

static bool is_byte(const ons_operands *o, uint32_t input) {
    return o->inputs[input].dtype == ONS_INT8 || o->inputs[input].dtype == ONS_UINT8;
}

/* As if the weight were signed like the input: the sizes alone matter here. */
static ons_status *resolve_conv(const ons_operands *o, ons_convolution *c) {
    *c = (ons_convolution){.kind = ONS_CONVOLUTION_FORWARD};
    if (!is_byte(o, X) || !is_byte(o, W))
        return ons_node_error(o, "input and weight must be int8 or uint8, not %s and %s",
                              ons_dtype_name(o->inputs[X].dtype), ons_dtype_name(o->inputs[W].dtype));
    ons_type w = o->inputs[W];
    w.dtype = o->inputs[X].dtype;
    return ons_convolution_resolve(o, &o->inputs[X], &w, c);
}

static ons_status *conv_integer_infer(ons_operands *o) {
    ons_convolution c;
    ONS_TRY(resolve_conv(o, &c));
    for (uint32_t i = X_ZERO; i <= W_ZERO; ++i) {
        if (!ons_has_input(o, i)) continue;
        int64_t count = ons_elements(&o->inputs[i]);
        bool by_output = i == W_ZERO && o->inputs[i].shape.rank == 1 && count == c.w.shape.dims[0];
        if (o->inputs[i].dtype != o->inputs[i - X_ZERO].dtype || (count != 1 && !by_output))
            return ons_node_error(o, "zero point %u does not fit its operand", i - X_ZERO);
    }
    ONS_TRY_AT(ons_shape_check(&c.y.shape), "node '%s'", o->name);
    o->outputs[0] = ons_type_make(ONS_INT32, c.y.shape);
    return NULL;
}

static ons_cost conv_integer_cost(const ons_operands *o) {
    ons_convolution c;
    ons_resolved(resolve_conv(o, &c));
    return (ons_cost){ons_convolution_flops(&c), ons_operand_bytes(o)};
}

static void conv_integer_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                   void *const *outputs) {
    ons_convolution c;
    ons_resolved(resolve_conv(o, &c));
    const int64_t *x = inputs[X], *w = inputs[W];
    int64_t x_zero = ons_has_input(o, X_ZERO) ? *(const int64_t *)inputs[X_ZERO] : 0;
    const int64_t *w_zeros = ons_has_input(o, W_ZERO) ? inputs[W_ZERO] : NULL;
    bool by_output = w_zeros != NULL && ons_elements(&o->inputs[W_ZERO]) > 1;
    int64_t outputs_count = c.y.shape.dims[1], channels = c.w.shape.dims[1], positions = ons_window_outputs(&c.window);
    int64_t taps = ons_window_taps(&c.window), size = ons_window_inputs(&c.window);
    int64_t share = c.groups > 0 ? outputs_count / c.groups : 0; /* outputs of a group */
    for (int64_t i = 0, count = share > 0 ? ons_elements(&c.y) : 0; i < count; ++i) {
        int64_t output = i / positions % outputs_count, sample = i / positions / outputs_count, sum = 0;
        int64_t first = output / share * channels;
        int64_t w_zero = w_zeros == NULL ? 0 : w_zeros[by_output ? output : 0];
        for (int64_t k = 0; k < channels * taps; ++k) {
            int64_t at;
            if (!ons_window_position(&c.window, i % positions, k % taps, &at)) continue;
            int64_t plane = sample * c.x.shape.dims[1] + first + k / taps;
            sum += (x[plane * size + at] - x_zero) * (w[output * channels * taps + k] - w_zero);
        }
        ((int64_t *)outputs[0])[i] = (int32_t)sum;
    }
}

ONS_DEFINE_OPERATOR(conv_integer, "ConvInteger", ONS_ONNX(10, ONS_NEWEST), ONS_ARITY(2, 4, 1, 1),
                    ONS_ATTRIBUTES(ONS_WINDOW_ATTRIBUTES, ONS_INT_ATTRIBUTE("group", 1)), ONS_INFER(conv_integer_infer),
                    ONS_COST(conv_integer_cost), ONS_NOT_DIFFERENTIABLE("it maps integers to integers"),
                    ONS_SAVES_NOTHING, ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_QUANTIZED | ONS_TRAIT_DENSE, 0), ONS_NO_ALIASES,
                    ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(conv_integer_reference));
