/* com.microsoft.BiasAdd: x + bias + skip. */
#include "kernels/common/operator/expand.h"

static ons_status *microsoft_bias_add_infer(ons_operands *o) {
    ONS_TRY(ons_need_float(o, 0));
    ONS_TRY(ons_infer_broadcast(o));
    if (!ons_shape_equal(&o->outputs[0].shape, &o->inputs[0].shape))
        return ons_node_error(o, "bias and skip must fit into the first input");
    return NULL;
}

static ons_status *microsoft_bias_add_expand(ons_replacement *m) {
    return ons_expand_finish(m, ons_expand_sum(m, ons_expand_sum(m, m->inputs[0], m->inputs[1]), m->inputs[2]));
}

/* The element of an operand that broadcasts, by axes counted from the end. */
static double element(const ons_type *type, const double *x, const ons_shape *whole, int64_t number) {
    int64_t at = 0, stride = 1;
    for (uint32_t i = 1; i <= type->shape.rank; ++i) {
        int64_t size = whole->dims[whole->rank - i], own = type->shape.dims[type->shape.rank - i];
        at += own == 1 ? 0 : number % size * stride;
        stride *= own;
        number /= size;
    }
    return x[at];
}

static void microsoft_bias_add_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                         void *const *outputs) {
    for (int64_t i = 0, n = ons_elements(&o->outputs[0]); i < n; ++i) {
        double sum = 0;
        for (uint32_t k = 0; k < 3; ++k) sum += element(&o->inputs[k], inputs[k], &o->outputs[0].shape, i);
        ((double *)outputs[0])[i] = sum;
    }
}

ONS_DEFINE_EXPANSION(microsoft_bias_add, "BiasAdd", ONS_MICROSOFT, ONS_ARITY(3, 3, 1, 1), ONS_NO_ATTRIBUTES,
                     microsoft_bias_add_infer, ons_cost_elementwise, ONS_ALL_INPUTS, microsoft_bias_add_expand,
                     microsoft_bias_add_reference);
