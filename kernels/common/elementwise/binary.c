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
