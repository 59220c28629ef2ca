#include "kernels/common/gelu.h"

bool ons_gelu_by_tanh(const ons_operands *o) { return strcmp(ons_attribute_string(o, 0), "tanh") == 0; }

ons_status *ons_gelu_infer(ons_operands *o) {
    const char *approximate = ons_attribute_string(o, 0);
    ONS_TRY(ons_need_float(o, 0));
    if (strcmp(approximate, "none") != 0 && strcmp(approximate, "tanh") != 0)
        return ons_node_error(o, "approximate is '%s'; 'none' and 'tanh' are possible", approximate);
    for (uint32_t i = 1; i < o->input_count; ++i)
        if (!ons_shape_equal(&o->inputs[0].shape, &o->inputs[i].shape))
            return ons_node_error(o, "the operands differ in shape");
    return ons_infer_like_first(o);
}

ons_status *ons_gelu_prepare(ons_prepare *p) {
    ONS_TRY(ons_unary_prepare(p));
    ((ons_unary_state *)p->state)->parameters[0] = ons_gelu_by_tanh(p->operands) ? 1 : 0;
    return NULL;
}
