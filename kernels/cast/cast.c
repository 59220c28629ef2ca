/* Cast: to another element type. */
#include <string.h>

#include "graph/upgrade.h"
#include "kernels/common/cases.h"
#include "kernels/common/cast.h"
#include "kernels/common/cuda_elementwise.h"

enum { TO };

static ons_status *cast_infer(ons_operands *o) { return ons_cast_infer(o, (ons_dtype)ons_attribute_int(o, TO)); }

/* Before opset 6 the type was a name. */
static ons_status *cast_upgrade(ons_upgrade *u) {
    static const struct {
        const char *name;
        ons_dtype dtype;
    } types[] = {
        {"FLOAT", ONS_FLOAT32}, {"DOUBLE", ONS_FLOAT64}, {"FLOAT16", ONS_FLOAT16}, {"INT8", ONS_INT8},
        {"INT16", ONS_INT16},   {"INT32", ONS_INT32},    {"INT64", ONS_INT64},     {"UINT8", ONS_UINT8},
        {"UINT16", ONS_UINT16}, {"UINT32", ONS_UINT32},  {"UINT64", ONS_UINT64},   {"BOOL", ONS_BOOL},
    };
    const ons_attribute *to = ons_upgrade_find(u, "to");
    if (to == NULL || to->kind != ONS_ATTRIBUTE_STRING) return NULL;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; ++i)
        if (strcmp(types[i].name, to->s) == 0)
            return ons_upgrade_set(u, "to", (ons_attribute){.kind = ONS_ATTRIBUTE_INT, .i = types[i].dtype});
    return ons_status_new(ONS_UNSUPPORTED, "node '%s' (Cast): no conversion to '%s'", u->node_name, to->s);
}

#define ODD_NUMBERS(DTYPE)                                                                                             \
    {                                                                                                                  \
        .dtype = (DTYPE), .shape = ONS_DIMS(8), .value_count = 8, .values = { 0, 1, -1, 2.5, -2.5, 300, -70000, 0.1 }  \
    }
#define CAST(NAME, INPUT, TYPE, COUNT)                                                                                 \
    { .name = (NAME), .inputs = {INPUT}, .settings = {ONS_SET_INT("to", TYPE)}, .flops = (COUNT), .no_gradient = true }
static const ons_case cast_cases[] = {
    {.name = "float_double",
     .inputs = {ONS_F32(5, 7)},
     .settings = {ONS_SET_INT("to", ONS_FLOAT64)},
     .tolerance = 1e-7,
     .flops = 35},
    CAST("float_half", ODD_NUMBERS(ONS_FLOAT32), ONS_FLOAT16, 8),
    CAST("float_bfloat16", ODD_NUMBERS(ONS_FLOAT32), ONS_BFLOAT16, 8),
    CAST("float_int64", ODD_NUMBERS(ONS_FLOAT32), ONS_INT64, 8),
    CAST("float_int32", ODD_NUMBERS(ONS_FLOAT32), ONS_INT32, 8),
    CAST("float_int8", ODD_NUMBERS(ONS_FLOAT32), ONS_INT8, 8),
    CAST("float_uint8", ODD_NUMBERS(ONS_FLOAT32), ONS_UINT8, 8),
    CAST("float_bool", ODD_NUMBERS(ONS_FLOAT32), ONS_BOOL, 8),
    CAST("half_float", ODD_NUMBERS(ONS_FLOAT16), ONS_FLOAT32, 8),
    CAST("bfloat16_half", ODD_NUMBERS(ONS_BFLOAT16), ONS_FLOAT16, 8),
    CAST("double_float", ONS_RANDOM(ONS_FLOAT64, -1, 1, 35), ONS_FLOAT64, 35),
    CAST("int64_float", ONS_RANDOM(ONS_INT64, -1000, 1000, 3, 16, 33, 35), ONS_FLOAT32, 55440),
    CAST("int64_int32", ONS_RANDOM(ONS_INT64, -1000, 1000, 35), ONS_INT32, 35),
    CAST("int32_int64", ONS_RANDOM(ONS_INT32, -1000, 1000, 35), ONS_INT64, 35),
    CAST("int32_float", ONS_RANDOM(ONS_INT32, -1000, 1000, 35), ONS_FLOAT32, 35),
    CAST("int64_uint8", ONS_RANDOM(ONS_INT64, -1000, 1000, 35), ONS_UINT8, 35),
    CAST("int64_bool", ONS_RANDOM(ONS_INT64, -2, 2, 35), ONS_BOOL, 35),
    CAST("bool_float", ONS_RANDOM(ONS_BOOL, 0, 1, 5, 7), ONS_FLOAT32, 35),
    CAST("bool_int64", ONS_RANDOM(ONS_BOOL, 0, 1, 5, 7), ONS_INT64, 35),
    CAST("uint8_float", ONS_RANDOM(ONS_UINT8, 0, 255, 1000), ONS_FLOAT32, 1000),
    CAST("edges",
         ((ons_case_input){.dtype = ONS_FLOAT32,
                           .shape = ONS_DIMS(5),
                           .value_count = 5,
                           .values = {NAN, INFINITY, -INFINITY, 1e20, -1e20}}),
         ONS_INT64, 5),
    CAST("float_float8", ODD_NUMBERS(ONS_FLOAT32), 17, 8),
    CAST("float_float8fnuz", ODD_NUMBERS(ONS_FLOAT32), 18, 8),
    CAST("float_float8e5", ODD_NUMBERS(ONS_FLOAT32), 19, 8),
    {.name = "unsaturated",
     .inputs = {ODD_NUMBERS(ONS_FLOAT32)},
     .settings = {ONS_SET_INT("to", 19), ONS_SET_INT("saturate", 0)},
     .flops = 8,
     .no_gradient = true},
    {.name = "power",
     .inputs = {ONS_F32_IN(0.1, 9, 8)},
     .settings = {ONS_SET_INT("to", 24), ONS_SET_STRING("round_mode", "down")},
     .flops = 8,
     .no_gradient = true},
    CAST("float_int4", ODD_NUMBERS(ONS_FLOAT32), 22, 8),
    CAST("int64_uint2", ONS_RANDOM(ONS_INT64, -9, 9, 35), 25, 35),
    CAST("same", ONS_F32(9), ONS_FLOAT32, 9),
    CAST("rank0", ONS_RANDOM(ONS_INT64, -9, 9), ONS_FLOAT32, 1),
    CAST("empty", ONS_RANDOM(ONS_INT64, -9, 9, 0, 3), ONS_FLOAT32, 0),
    {.name = "large",
     .inputs = {ONS_RANDOM(ONS_INT64, -1000, 1000, 4096, 1024)},
     .settings = {ONS_SET_INT("to", ONS_FLOAT32)},
     .flops = 4194304,
     .benchmark = true},
    {.name = "string", .inputs = {ONS_F32(3)}, .settings = {ONS_SET_INT("to", ONS_STRING)}, .error = "no conversion"},
    {.name = NULL},
};

/* `saturate` and `round_mode` concern floats of 8 bits and fewer. */
ONS_DEFINE_OPERATOR(cast, "Cast", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1),
                    ONS_ATTRIBUTES(ONS_REQUIRED_ATTRIBUTE("to", ONS_ATTRIBUTE_INT), ONS_INT_ATTRIBUTE("saturate", 1),
                                   ONS_STRING_ATTRIBUTE("round_mode", "up")),
                    ONS_INFER(cast_infer), ONS_COST(ons_cost_elementwise),
                    ONS_GRADIENT_RULE(ons_cast_gradient, ONS_ALL_INPUTS), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_ROLE_CAST, ONS_TRAIT_ELEMENTWISE | ONS_TRAIT_FULL_PRECISION, 0), ONS_NO_ALIASES,
                    ONS_FOLLOWS_LAYOUT, ONS_FORMS(cast_upgrade, ONS_NO_PATTERNS, ons_cast_mode),
                    ONS_REFERENCE(ons_cast_reference), ONS_CPU_KERNEL(ons_cast_prepare, ons_cast_run),
                    ONS_CUDA_KERNEL(ons_cuda_cast_prepare, ons_cuda_cast), cast_cases);
