/* Scatter: what ScatterElements was called before opset 11, without a reduction. */
#include "kernels/common/scatter_lines.h"

#define KNOWN_ROWS                                                                                                     \
    {                                                                                                                  \
        .dtype = ONS_INT64, .shape = ONS_DIMS(2, 3), .value_count = 6, .values = { 1, 0, 2, 0, 2, 1 }                  \
    }

static const ons_case scatter_cases[] = {
    {.name = "rows", .inputs = {ONS_F32(3, 3), KNOWN_ROWS, ONS_F32(2, 3)}},
    {.name = "columns", .inputs = {ONS_F32(2, 5), KNOWN_ROWS, ONS_F32(2, 3)}, .settings = {ONS_SET_INT("axis", -1)}},
    {.name = "misfit", .inputs = {ONS_F32(3), ONS_I64(1), ONS_F32(2)}, .error = "do not fit"},
    {.name = "outside_in_data",
     .inputs = {ONS_F32(3, 4),
                {.dtype = ONS_INT64, .shape = ONS_DIMS(1, 2), .value_count = 2, .values = {0, -4}},
                ONS_F32(1, 2)},
     .flops = -1,
     .fault = "index"},
    {.name = "outside_in_data_double",
     .inputs = {ONS_RANDOM(ONS_FLOAT64, -1, 1, 3, 4),
                {.dtype = ONS_INT64, .shape = ONS_DIMS(1, 2), .value_count = 2, .values = {0, -4}},
                ONS_RANDOM(ONS_FLOAT64, -1, 1, 1, 2)},
     .flops = -1,
     .fault = "index"},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(scatter, "Scatter", ONS_ONNX(9, ONS_NEWEST), ONS_ARITY(3, 3, 1, 1),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("axis", 0)), ONS_INFER(ons_scatter_lines_infer),
                    ONS_COST(ons_cost_copy),
                    ONS_GRADIENT_RULE(ons_scatter_lines_gradient, ONS_INPUT_BIT(0) | ONS_INPUT_BIT(2)),
                    ONS_SAVES(ONS_INPUT_BIT(1), 0), ONS_PLAIN_OPERATOR, ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}),
                    ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(ons_scatter_lines_reference),
                    ONS_CPU_KERNEL(ons_scatter_lines_prepare, ons_scatter_lines_run),
                    ONS_CUDA_KERNEL(ons_scatter_lines_prepare, ons_cuda_scatter), scatter_cases);
