#include "kernels/common/elementwise/unary.h"

ons_status *ons_infer_float_unary(ons_operands *o) {
    ONS_TRY(ons_need_float(o, 0));
    return ons_infer_like_first(o);
}

ons_status *ons_infer_number_unary(ons_operands *o) {
    ONS_TRY(ons_need_number(o, 0));
    return ons_infer_like_first(o);
}

ons_status *ons_infer_float_test(ons_operands *o) {
    ONS_TRY(ons_need_float(o, 0));
    o->outputs[0] = ons_type_make(ONS_BOOL, o->inputs[0].shape);
    return NULL;
}

ons_status *ons_gradient_stops(ons_gradient *g) { return NULL; }

void ons_unary_each(const ons_operands *o, const void *const *inputs, void *const *outputs, ons_unary_words *formula) {
    for (int64_t i = 0, n = ons_elements(&o->outputs[0]); i < n; ++i) formula(o, inputs[0], outputs[0], i);
}
