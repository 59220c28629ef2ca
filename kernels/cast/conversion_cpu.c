/* What the CPU runs of conversion.h. */
#include "kernels/cast/conversion.h"

#include "graph/evaluate.h"
#include "kernels/common/elementwise/unary.h"

typedef struct cast_state {
    int64_t elements;
    ons_dtype from, to;
    ons_cast_rounding how;
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
    cast_state *state;
    ONS_NEW_STATE(state, p);
    ons_dtype from = p->operands->inputs[0].dtype, to = p->operands->outputs[0].dtype;
    *state = (cast_state){ons_elements(&p->operands->outputs[0]), from, to, ons_cast_rounding_of(p->operands),
                          find_direct(from, to)};
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
        ons_cast_convert_words(state->from, state->to, state->how, wide, converted, count);
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
