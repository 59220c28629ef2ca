/* Mod on the CPU. */
#include "kernels/mod/mod.h"

#include "kernels/common/elementwise/binary.h"

ONS_BINARY_SPAN(mod_float32, float, double, float, float_rest(a, b, parameters[0] != 0))

ONS_BINARY_SPAN(mod_int64, int64_t, int64_t, int64_t, integer_rest(a, b, parameters[0] != 0))

ONS_BINARY_SPAN(mod_int32, int32_t, int64_t, int32_t, integer_rest(a, b, parameters[0] != 0))

ONS_BINARY_PREPARE(mod_spans, {ONS_FLOAT32, mod_float32}, {ONS_INT64, mod_int64}, {ONS_INT32, mod_int32})

static ons_status *mod_prepare(ons_prepare *p) {
    ONS_TRY(mod_spans_prepare(p));
    ((ons_broadcast *)p->state)->parameters[0] = ons_attribute_int(p->operands, FMOD) != 0 ? 1 : 0;
    return NULL;
}

ONS_KERNELS(cpu, mod, ONS_KERNEL(mod_prepare, ons_broadcast_run))
