#include "kernels/cast/conversion.h"

#include <math.h>

#include "graph/passes/replacement.h"
#include "graph/small_types.h"
#include "kernels/common/math/integers.h"
#include "kernels/operators.h"

ons_status *ons_cast_infer(ons_operands *o, ons_dtype to) {
    if (ons_dtype_size(to) == 0 || ons_dtype_size(o->inputs[0].dtype) == 0)
        return ons_status_new(ONS_UNSUPPORTED, "node '%s' (%s): no conversion from %s to ONNX's element type %d",
                              o->name, o->op->name, ons_dtype_name(o->inputs[0].dtype), (int)to);
    o->outputs[0] = ons_type_make(to, o->inputs[0].shape);
    return NULL;
}

/* The ends of the integer types, as words; uint64 is treated apart. */
static void integer_range(ons_dtype dtype, int64_t *low, int64_t *high) {
    int bits = ons_is_small_integer(dtype) ? (int)ons_small_bits(dtype) : (int)ons_dtype_size(dtype) * 8;
    bool is_signed = dtype == ONS_INT4 || dtype == ONS_INT2 || dtype == ONS_INT8 || dtype == ONS_INT16 ||
                     dtype == ONS_INT32 || dtype == ONS_INT64;
    *low = is_signed ? INT64_MIN >> (64 - bits) : 0;
    *high = is_signed ? INT64_MAX >> (64 - bits) : (int64_t)(UINT64_MAX >> (64 - bits) & INT64_MAX);
}

static int64_t integer_of(double value, ons_dtype to) {
    int64_t low, high;
    if (to == ONS_BOOL) return value != 0;
    if (value != value) return 0;
    if (to == ONS_UINT64 && value >= 0x1p63) return (int64_t)(value >= 0x1p64 ? UINT64_MAX : (uint64_t)value);
    if (ons_is_small_integer(to) && fabs(value) < 0x1p63) return ons_small_integer_wrap(to, (int64_t)value);
    integer_range(to, &low, &high);
    return value <= (double)low ? low : value >= (double)high ? high : (int64_t)value;
}

static double float_of(double value, ons_dtype to, ons_cast_rounding how) {
    if (ons_is_small_float(to)) return ons_small_float_round(to, value, how.saturate, how.power);
    switch (to) {
    case ONS_FLOAT16: return (double)ons_half_to_float(ons_float_to_half((float)value));
    case ONS_BFLOAT16: return (double)ons_bfloat16_to_float(ons_float_to_bfloat16((float)value));
    default: return value;
    }
}

void ons_cast_convert_words(ons_dtype from, ons_dtype to, ons_cast_rounding how, const void *in, void *out,
                            int64_t count) {
    const double *floats = in;
    const int64_t *integers = in;
    if (ons_dtype_is_float(from) && ons_dtype_is_float(to))
        for (int64_t i = 0; i < count; ++i) ((double *)out)[i] = float_of(floats[i], to, how);
    else if (ons_dtype_is_float(from))
        for (int64_t i = 0; i < count; ++i) ((int64_t *)out)[i] = integer_of(floats[i], to);
    else if (ons_dtype_is_float(to))
        for (int64_t i = 0; i < count; ++i)
            ((double *)out)[i] =
                float_of(from == ONS_UINT64 ? (double)(uint64_t)integers[i] : (double)integers[i], to, how);
    else
        for (int64_t i = 0; i < count; ++i)
            ((int64_t *)out)[i] =
                ons_is_small_integer(to) ? ons_small_integer_wrap(to, integers[i]) : ons_wrap_to(to, integers[i]);
}

void ons_cast_reference(const ons_operands *o, const ons_step *step, const void *const *inputs, void *const *outputs) {
    ons_cast_convert_words(o->inputs[0].dtype, o->outputs[0].dtype, ons_cast_rounding_of(o), inputs[0], outputs[0],
                           ons_elements(&o->outputs[0]));
}

ons_status *ons_cast_decompose(ons_replacement *m) {
    if (m->operands->inputs[0].dtype != m->operands->outputs[0].dtype) return NULL;
    m->outputs[0] = m->inputs[0];
    m->replaced = true;
    return NULL;
}

ons_status *ons_cast_gradient(ons_gradient *g) {
    ons_setting to = ONS_AT_INT(0, g->operands->inputs[0].dtype);
    g->gradients[0] = ons_build(g->builder, &ons_op_cast, ONS_IN(g->cotangents[0]), (ons_settings){&to, 1});
    return NULL;
}
