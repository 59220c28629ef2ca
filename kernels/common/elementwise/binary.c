#include "kernels/common/elementwise/binary.h"

ons_status *ons_infer_broadcast_numbers(ons_operands *o) {
    ONS_TRY(ons_need_number(o, 0));
    return ons_infer_broadcast(o);
}

ons_status *ons_infer_broadcast_floats(ons_operands *o) {
    ONS_TRY(ons_need_float(o, 0));
    return ons_infer_broadcast(o);
}

ons_status *ons_infer_broadcast_integers(ons_operands *o) {
    ONS_TRY(ons_need_integer(o, 0));
    return ons_infer_broadcast(o);
}

ons_status *ons_infer_broadcast_bools(ons_operands *o) {
    ONS_TRY(ons_need_bool(o, 0));
    return ons_infer_broadcast(o);
}

ons_status *ons_infer_broadcast_compare_numbers(ons_operands *o) {
    ONS_TRY(ons_need_number(o, 0));
    return ons_infer_broadcast_compare(o);
}

void ons_binary_each(const ons_operands *o, const void *const *inputs, void *const *outputs,
                     ons_binary_words *formula) {
    const ons_shape *shape = &o->outputs[0].shape;
    for (int64_t i = 0, n = ons_shape_elements(shape); i < n; ++i)
        formula(o, inputs[0], ons_broadcast_index(shape, &o->inputs[0].shape, i), inputs[1],
                ons_broadcast_index(shape, &o->inputs[1].shape, i), outputs[0], i);
}
