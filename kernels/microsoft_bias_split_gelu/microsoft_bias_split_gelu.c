/* com.microsoft.BiasSplitGelu: the last axis of x + bias in two halves, a · gelu(b). */
#include "kernels/microsoft/microsoft_gelu.h"
#include "kernels/operators.h"

static ons_status *microsoft_bias_split_gelu_infer(ons_operands *o) {
    ONS_TRY(ons_microsoft_gelu_infer(o));
    ons_shape *shape = &o->outputs[0].shape;
    if (shape->dims[shape->rank - 1] % 2 != 0) return ons_node_error(o, "the last axis has an odd size");
    shape->dims[shape->rank - 1] /= 2;
    return NULL;
}

static ons_status *microsoft_bias_split_gelu_expand(ons_replacement *m) {
    const ons_shape *half = &m->operands->outputs[0].shape;
    int64_t size = half->dims[half->rank - 1];
    ons_value_id x = ons_expand_sum(m, m->inputs[0], m->inputs[1]);
    ons_value_id a = ons_expand_slice(m, x, -1, 0, size), b = ons_expand_slice(m, x, -1, size, 2 * size);
    return ons_expand_finish(m, ons_expand2(m, &ons_op_mul, a, ons_expand1(m, &ons_op_gelu, b)));
}

static void microsoft_bias_split_gelu_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                                void *const *outputs) {
    const double *x = inputs[0], *bias = inputs[1];
    const ons_shape *half = &o->outputs[0].shape;
    int64_t size = half->dims[half->rank - 1];
    for (int64_t i = 0, n = ons_elements(&o->outputs[0]); i < n; ++i) {
        int64_t row = i / size * 2 * size, column = i % size;
        ((double *)outputs[0])[i] =
            (x[row + column] + bias[column]) * ons_gelu_exact(x[row + size + column] + bias[size + column]);
    }
}

ONS_DEFINE_EXPANSION(microsoft_bias_split_gelu, "BiasSplitGelu", ONS_MICROSOFT, ONS_ARITY(2, 2, 1, 1),
                     ONS_NO_ATTRIBUTES, microsoft_bias_split_gelu_infer, ons_cost_elementwise, ONS_ALL_INPUTS,
                     microsoft_bias_split_gelu_expand, microsoft_bias_split_gelu_reference);
