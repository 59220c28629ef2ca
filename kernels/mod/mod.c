/* Mod: the rest of a division, with the sign of the divisor (fmod 0) or of the dividend (fmod 1). */
#include "kernels/common/binary.h"
#include "kernels/common/cases.h"
#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/rules.h"

enum { FMOD };

/* Like the divisor's, the sign of zero too. */
static double float_rest(double a, double b, bool like_dividend) {
    double rest = fmod(a, b);
    if (like_dividend || rest != rest) return rest;
    if (rest == 0) return copysign(0, b);
    return (rest < 0) != (b < 0) ? rest + b : rest;
}

static int64_t integer_rest(int64_t a, int64_t b, bool like_dividend) {
    return like_dividend ? ons_remainder(a, b) : ons_modulo(a, b);
}

ONS_BINARY_REFERENCE(mod_float_reference, double, double, float_rest(a, b, ons_attribute_int(o, FMOD) != 0))
ONS_BINARY_REFERENCE(mod_integer_reference, int64_t, int64_t, integer_rest(a, b, ons_attribute_int(o, FMOD) != 0))
ONS_BINARY_REFERENCE(mod_unsigned_reference, uint64_t, uint64_t, b == 0 ? 0 : a % b)
ONS_ORDERED_REFERENCES(mod)
/* In double, as the quotient of floats can be far larger than a float counts. */
ONS_BINARY_SPAN(mod_float32, float, double, float, float_rest(a, b, parameters[0] != 0))
ONS_BINARY_SPAN(mod_int64, int64_t, int64_t, int64_t, integer_rest(a, b, parameters[0] != 0))
ONS_BINARY_SPAN(mod_int32, int32_t, int64_t, int32_t, integer_rest(a, b, parameters[0] != 0))
ONS_BINARY_PREPARE(mod_spans, {ONS_FLOAT32, mod_float32}, {ONS_INT64, mod_int64}, {ONS_INT32, mod_int32})

static ons_status *mod_prepare(ons_prepare *p) {
    ONS_TRY(mod_spans_prepare(p));
    ((ons_broadcast *)p->state)->parameters[0] = ons_attribute_int(p->operands, FMOD) != 0 ? 1 : 0;
    return NULL;
}

/* The result is a - q·b with a whole q that is constant almost everywhere: q = (a - result) / b. */
static ons_status *mod_gradient(ons_gradient *g) {
    g->gradients[0] = g->cotangents[0];
    if (!g->wanted[1]) return NULL;
    ons_value_id multiple = ons_make2(g, &ons_op_sub, ons_gradient_input(g, 0), ons_gradient_output(g, 0));
    ons_value_id quotient = ons_make2(g, &ons_op_div, multiple, ons_gradient_input(g, 1));
    g->gradients[1] = ons_make1(g, &ons_op_neg, ons_make2(g, &ons_op_mul, g->cotangents[0], quotient));
    return NULL;
}

static ons_status *mod_prepare_cuda(ons_prepare *p) {
    ONS_TRY(ons_cuda_number_prepare(p));
    ((ons_cuda_elementwise *)p->state)->parameters[0] = ons_attribute_int(p->operands, FMOD) != 0 ? 1 : 0;
    return NULL;
}

#define LIKE_DIVIDEND .settings = {ONS_SET_INT("fmod", 1)}
static const ons_case mod_cases[] = {
    {.name = "same",
     .inputs = {ONS_F32_IN(-5, 5, 5, 7), ONS_F32_IN(0.6, 2, 5, 7)},
     LIKE_DIVIDEND,
     .tolerance = 1e-6,
     .flops = 35},
    {.name = "like_divisor",
     .inputs = {ONS_F32_IN(-5, 5, 5, 7), ONS_F32_IN(0.6, 2, 7)},
     .tolerance = 1e-6,
     .flops = 35,
     .no_gradient = true},
    {.name = "edges",
     .inputs = {{.dtype = ONS_FLOAT32,
                 .shape = ONS_DIMS(8),
                 .value_count = 8,
                 .values = {1, -1, 1, -1, INFINITY, 4, -4, NAN}},
                {.dtype = ONS_FLOAT32,
                 .shape = ONS_DIMS(8),
                 .value_count = 8,
                 .values = {INFINITY, INFINITY, -INFINITY, 0, 2, -2, 2, 1}}},
     .flops = 8,
     .no_gradient = true},
    {.name = "rank0",
     .inputs = {ONS_F32_IN(2, 3), ONS_F32_IN(0.6, 0.9)},
     LIKE_DIVIDEND,
     .tolerance = 1e-6,
     .flops = 1,
     .no_gradient = true},
    {.name = "int64",
     .inputs = {ONS_RANDOM(ONS_INT64, -20, 20, 5, 7), ONS_RANDOM(ONS_INT64, 1, 9, 7)},
     .flops = 35,
     .no_gradient = true},
    {.name = "int64_negative",
     .inputs = {ONS_RANDOM(ONS_INT64, -20, 20, 35), ONS_RANDOM(ONS_INT64, -9, -1, 35)},
     .flops = 35,
     .no_gradient = true},
    {.name = "int32_like_dividend",
     .inputs = {ONS_RANDOM(ONS_INT32, -20, 20, 35), ONS_RANDOM(ONS_INT32, -9, -1, 35)},
     LIKE_DIVIDEND,
     .flops = 35,
     .no_gradient = true},
    ONS_UINT64_CASE,
    {.name = "int8",
     .inputs = {ONS_RANDOM(ONS_INT8, -128, 127, 35), ONS_RANDOM(ONS_INT8, -9, -1, 35)},
     .flops = 35,
     .no_gradient = true},
    {.name = "half",
     .inputs = {ONS_RANDOM(ONS_FLOAT16, -9, 9, 35), ONS_RANDOM(ONS_FLOAT16, 1, 3, 35)},
     LIKE_DIVIDEND,
     .tolerance = 1e-3,
     .flops = 35,
     .no_gradient = true},
    {.name = "empty", .inputs = {ONS_F32(0, 4), ONS_F32(4)}, LIKE_DIVIDEND, .flops = 0},
    {.name = "large",
     .inputs = {ONS_RANDOM(ONS_INT64, -99, 99, 1024, 1024), ONS_I64_SCALAR(7)},
     .flops = 1048576,
     .benchmark = true},
    {.name = "misfit", .inputs = {ONS_F32(2, 3), ONS_F32(4)}, .error = "broadcast"},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(mod, "Mod", ONS_ONNX(10, ONS_NEWEST), ONS_ARITY(2, 2, 1, 1),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("fmod", 0)), ONS_INFER(ons_infer_broadcast_numbers),
                    ONS_COST(ons_cost_elementwise), ONS_GRADIENT_RULE(mod_gradient, ONS_ALL_INPUTS),
                    ONS_SAVES(ONS_INPUT_BIT(0) | ONS_INPUT_BIT(1), ONS_INPUT_BIT(0)),
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE | ONS_TRAIT_FULL_PRECISION, 0),
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}, {ONS_ALIAS_MAY, 0, 1}), ONS_FOLLOWS_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(mod_reference), ONS_CPU_KERNEL(mod_prepare, ons_broadcast_run),
                    ONS_CUDA_KERNEL(mod_prepare_cuda, ons_cuda_mod), mod_cases);
