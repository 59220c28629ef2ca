#include "kernels/common/operator/checks.h"

static ons_status *need(const ons_operands *o, uint32_t input, bool holds, const char *what) {
    if (holds) return NULL;
    return ons_node_error(o, "input %u is %s; %s is needed", input, ons_dtype_name(o->inputs[input].dtype), what);
}

ons_status *ons_need_float(const ons_operands *o, uint32_t input) {
    return need(o, input, ons_dtype_is_float(o->inputs[input].dtype), "a float type");
}

ons_status *ons_need_number(const ons_operands *o, uint32_t input) {
    ons_dtype dtype = o->inputs[input].dtype;
    return need(o, input, ons_dtype_is_float(dtype) || ons_dtype_is_integer(dtype), "a type of numbers");
}

ons_status *ons_need_integer(const ons_operands *o, uint32_t input) {
    return need(o, input, ons_dtype_is_integer(o->inputs[input].dtype), "an integer type");
}

ons_status *ons_need_bool(const ons_operands *o, uint32_t input) {
    return need(o, input, o->inputs[input].dtype == ONS_BOOL, "bool");
}

ons_status *ons_refuse_dtype(const ons_operands *o, ons_dtype dtype) {
    return ons_status_new(ONS_UNSUPPORTED, "node '%s' (%s): no CPU kernel for %s; convert the model to float32",
                          o->name, o->op->name, ons_dtype_name(dtype));
}
