#include "kernels/common/cast.h"

#include <math.h>
#include <string.h>

#include "graph/evaluate.h"
#include "graph/passes/bind.h"
#include "graph/small_types.h"
#include "kernels/common/integers.h"
#include "kernels/common/unary.h"

ons_status *ons_cast_infer(ons_operands *o, ons_dtype to) {
    if (ons_dtype_size(to) == 0 || ons_dtype_size(o->inputs[0].dtype) == 0)
        return ons_status_new(ONS_UNSUPPORTED, "node '%s' (%s): no conversion from %s to ONNX's element type %d",
                              o->name, o->op->name, ons_dtype_name(o->inputs[0].dtype), (int)to);
    o->outputs[0] = ons_type_make(to, o->inputs[0].shape);
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------ words */

/* How a small float takes what it cannot hold. */
typedef struct rounding {
    bool saturate;
    ons_power_rounding power;
} rounding;

static const ons_attribute *find_attribute(const ons_operands *o, const char *name) {
    for (uint32_t i = 0; o->op->attributes[i].name != NULL; ++i)
        if (strcmp(o->op->attributes[i].name, name) == 0) return &o->attributes[i];
    return NULL;
}

static rounding rounding_of(const ons_operands *o) {
    const ons_attribute *saturate = find_attribute(o, "saturate"), *mode = find_attribute(o, "round_mode");
    const char *name = mode == NULL || mode->kind != ONS_ATTRIBUTE_STRING ? "up" : mode->s;
    return (rounding){
        .saturate = saturate == NULL || saturate->kind != ONS_ATTRIBUTE_INT || saturate->i != 0,
        .power = strcmp(name, "down") == 0      ? ONS_POWER_DOWN
                 : strcmp(name, "nearest") == 0 ? ONS_POWER_NEAREST
                                                : ONS_POWER_UP,
    };
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

static double float_of(double value, ons_dtype to, rounding how) {
    if (ons_is_small_float(to)) return ons_small_float_round(to, value, how.saturate, how.power);
    switch (to) {
    case ONS_FLOAT16: return (double)ons_half_to_float(ons_float_to_half((float)value));
    case ONS_BFLOAT16: return (double)ons_bfloat16_to_float(ons_float_to_bfloat16((float)value));
    default: return value;
    }
}

static void convert_words(ons_dtype from, ons_dtype to, rounding how, const void *in, void *out, int64_t count) {
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
    (void)step;
    convert_words(o->inputs[0].dtype, o->outputs[0].dtype, rounding_of(o), inputs[0], outputs[0],
                  ons_elements(&o->outputs[0]));
}

/* ----------------------------------------------------------------------------------------------------------- kernel */

typedef struct cast_state {
    int64_t elements;
    ons_dtype from, to;
    rounding how;
    ons_unary_span *function; /* NULL: by way of words */
} cast_state;

ONS_UNARY_SPAN(copy_8, uint8_t, uint8_t, uint8_t, x)
ONS_UNARY_SPAN(copy_16, uint16_t, uint16_t, uint16_t, x)
ONS_UNARY_SPAN(copy_32, uint32_t, uint32_t, uint32_t, x)
ONS_UNARY_SPAN(copy_64, uint64_t, uint64_t, uint64_t, x)
ONS_UNARY_SPAN(bool_to_float, uint8_t, int32_t, float, x)
ONS_UNARY_SPAN(int32_to_float, int32_t, int32_t, float, x)
ONS_UNARY_SPAN(int64_to_float, int64_t, int64_t, float, x)
ONS_UNARY_SPAN(float_to_bool, float, float, uint8_t, x != 0)
ONS_UNARY_SPAN(int32_to_bool, int32_t, int32_t, uint8_t, x != 0)
ONS_UNARY_SPAN(int64_to_bool, int64_t, int64_t, uint8_t, x != 0)
ONS_UNARY_SPAN(bool_to_int32, uint8_t, uint8_t, int32_t, x)
ONS_UNARY_SPAN(bool_to_int64, uint8_t, uint8_t, int64_t, x)
ONS_UNARY_SPAN(int32_to_int64, int32_t, int32_t, int64_t, x)
ONS_UNARY_SPAN(int64_to_int32, int64_t, uint64_t, int32_t, (uint32_t)x)
ONS_UNARY_SPAN(float_to_int64, float, float, int64_t,
               x >= 0x1p63f ? INT64_MAX : (x <= -0x1p63f ? INT64_MIN : (x == x ? (int64_t)x : 0)))
ONS_UNARY_SPAN(float_to_int32, float, float, int32_t,
               x >= 0x1p31f ? INT32_MAX : (x <= -0x1p31f ? INT32_MIN : (x == x ? (int32_t)x : 0)))

/* The pairs that a training step meets; all others go by way of words, a block at a time. */
static const struct {
    ons_dtype from, to;
    ons_unary_span *function;
} direct[] = {
    {ONS_BOOL, ONS_FLOAT32, bool_to_float},   {ONS_INT32, ONS_FLOAT32, int32_to_float},
    {ONS_INT64, ONS_FLOAT32, int64_to_float}, {ONS_FLOAT32, ONS_BOOL, float_to_bool},
    {ONS_INT32, ONS_BOOL, int32_to_bool},     {ONS_INT64, ONS_BOOL, int64_to_bool},
    {ONS_BOOL, ONS_INT32, bool_to_int32},     {ONS_BOOL, ONS_INT64, bool_to_int64},
    {ONS_INT32, ONS_INT64, int32_to_int64},   {ONS_INT64, ONS_INT32, int64_to_int32},
    {ONS_FLOAT32, ONS_INT64, float_to_int64}, {ONS_FLOAT32, ONS_INT32, float_to_int32},
};

static ons_unary_span *find_direct(ons_dtype from, ons_dtype to) {
    if (from == to) {
        size_t size = ons_dtype_size(from);
        return size == 1 ? copy_8 : size == 2 ? copy_16 : size == 4 ? copy_32 : copy_64;
    }
    for (size_t i = 0; i < sizeof direct / sizeof direct[0]; ++i)
        if (direct[i].from == from && direct[i].to == to) return direct[i].function;
    return NULL;
}

ons_status *ons_cast_prepare(ons_prepare *p) {
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(cast_state), &memory));
    ons_dtype from = p->operands->inputs[0].dtype, to = p->operands->outputs[0].dtype;
    *(cast_state *)memory =
        (cast_state){ons_elements(&p->operands->outputs[0]), from, to, rounding_of(p->operands), find_direct(from, to)};
    p->implementation = find_direct(from, to) != NULL ? "elementwise" : "elementwise: by way of 8-byte words";
    return NULL;
}

static void run_through_words(const cast_state *state, const char *in, char *out) {
    enum { BLOCK = 512 };
    size_t in_size = ons_dtype_size(state->from), out_size = ons_dtype_size(state->to);
#pragma omp parallel for schedule(static) if (state->elements > ONS_PARALLEL_GRAIN)
    for (int64_t begin = 0; begin < state->elements; begin += BLOCK) {
        uint64_t wide[BLOCK], converted[BLOCK];
        int64_t count = state->elements - begin < BLOCK ? state->elements - begin : BLOCK;
        ons_widen(state->from, in + (size_t)begin * in_size, count, wide);
        convert_words(state->from, state->to, state->how, wide, converted, count);
        ons_narrow(state->to, converted, count, out + (size_t)begin * out_size);
    }
}

void ons_cast_run(const ons_launch *launch) {
    static const float no_parameters[ONS_UNARY_PARAMETERS];
    const cast_state *state = launch->state;
    if (state->function == NULL)
        run_through_words(state, launch->inputs[0], launch->outputs[0]);
    else
        ons_unary_share(launch->inputs[0], launch->outputs[0], state->elements, ons_dtype_size(state->from),
                        ons_dtype_size(state->to), state->function, no_parameters);
}

/* --------------------------------------------------------------------------------------------------- mode, gradient */

ons_status *ons_cast_mode(ons_mode_change *m) {
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
