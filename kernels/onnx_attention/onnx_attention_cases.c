/* Attention: cases for tests and benchmarks. */
#include "kernels/case.h"

#define LENGTHS(...)                                                                                                   \
    {                                                                                                                  \
        .dtype = ONS_INT64, .shape = ONS_DIMS(2), .value_count = 2, .values = { __VA_ARGS__ }                          \
    }

#define BLIND_ROW                                                                                                      \
    {                                                                                                                  \
        .dtype = ONS_BOOL, .shape = ONS_DIMS(3, 5), .value_count = 15, .values = {                                     \
            1,                                                                                                         \
            0,                                                                                                         \
            1,                                                                                                         \
            1,                                                                                                         \
            0,                                                                                                         \
            0,                                                                                                         \
            0,                                                                                                         \
            0,                                                                                                         \
            0,                                                                                                         \
            0,                                                                                                         \
            1,                                                                                                         \
            1,                                                                                                         \
            1,                                                                                                         \
            1,                                                                                                         \
            1                                                                                                          \
        }                                                                                                              \
    }

#define FOUR ONS_F32(2, 4, 3, 6), ONS_F32(2, 4, 5, 6), ONS_F32(2, 4, 5, 7)

const ons_case ons_cases_onnx_attention[] = {
    {.name = "plain", .inputs = {FOUR}, .outputs = 4, .flops = 3720},
    {.name = "causal",
     .inputs = {ONS_F32(2, 4, 5, 6), ONS_F32(2, 4, 5, 6), ONS_F32(2, 4, 5, 6)},
     .settings = {ONS_SET_INT("is_causal", 1), ONS_SET_FLOAT("scale", 0.3)},
     .flops = 5800},
    {.name = "rank_3",
     .inputs = {ONS_F32(2, 3, 24), ONS_F32(2, 5, 12), ONS_F32(2, 5, 14)},
     .settings = {ONS_SET_INT("q_num_heads", 4), ONS_SET_INT("kv_num_heads", 2)},
     .outputs = 3,
     .flops = 3720},
    {.name = "mask", .inputs = {FOUR, ONS_F32(4, 3, 5)}, .flops = 3720},
    {.name = "short_mask", .inputs = {FOUR, ONS_F32(2, 1, 1, 4)}, .flops = 3720},
    {.name = "blind_row",
     .inputs = {FOUR, BLIND_ROW},
     .settings = {ONS_SET_INT("qk_matmul_output_mode", 3)},
     .outputs = 4,
     .flops = 3720},
    {.name = "mask_of_equal_sizes",
     .inputs = {ONS_F32(2, 4, 3, 6), ONS_F32(2, 4, 5, 6), ONS_F32(2, 4, 5, 6), ONS_F32(2, 1, 3, 5)},
     .settings = {ONS_SET_INT("is_causal", 1)},
     .flops = 3480},
    {.name = "blind_row_of_equal_sizes",
     .inputs = {ONS_F32(2, 4, 3, 6), ONS_F32(2, 4, 5, 6), ONS_F32(2, 4, 5, 6), BLIND_ROW},
     .flops = 3480},
    {.name = "shared_keys_of_equal_sizes",
     .inputs = {ONS_F32(2, 5, 24), ONS_F32(2, 5, 12), ONS_F32(2, 5, 12)},
     .settings = {ONS_SET_INT("q_num_heads", 4), ONS_SET_INT("kv_num_heads", 2), ONS_SET_INT("is_causal", 1)},
     .flops = 5800},
    {.name = "past",
     .inputs = {ONS_F32(2, 4, 3, 6), ONS_F32(2, 2, 3, 6), ONS_F32(2, 2, 3, 6), ONS_LEFT_OUT, ONS_F32(2, 2, 2, 6),
                ONS_F32(2, 2, 2, 6)},
     .settings = {ONS_SET_INT("is_causal", 1), ONS_SET_INT("qk_matmul_output_mode", 1), ONS_SET_FLOAT("softcap", 1.5)},
     .outputs = 4,
     .flops = 3480},
    {.name = "valid_keys",
     .inputs = {FOUR, ONS_LEFT_OUT, ONS_LEFT_OUT, ONS_LEFT_OUT, LENGTHS(2, 5)},
     .settings = {ONS_SET_INT("is_causal", 1)},
     .flops = 3720},
    {.name = "valid_keys_window",
     .inputs = {FOUR, BLIND_ROW, ONS_LEFT_OUT, ONS_LEFT_OUT, LENGTHS(4, 5)},
     .settings = {ONS_SET_INT("left_window_size", 2), ONS_SET_INT("right_window_size", 0)},
     .flops = 3720},
    {.name = "window",
     .inputs = {FOUR},
     .settings = {ONS_SET_INT("left_window_size", 1), ONS_SET_INT("right_window_size", 1),
                  ONS_SET_INT("qk_matmul_output_mode", 3)},
     .outputs = 4,
     .flops = 3720},
    {.name = "heads", .inputs = {ONS_F32(2, 3, 3, 6), ONS_F32(2, 2, 5, 6), ONS_F32(2, 2, 5, 6)}, .error = "fit"},
    {.name = "no_heads", .inputs = {ONS_F32(2, 3, 6), ONS_F32(2, 5, 6), ONS_F32(2, 5, 6)}, .error = "fit"},
    {.name = "long_mask", .inputs = {FOUR, ONS_F32(3, 6)}, .error = "mask"},
    {.name = "mode",
     .inputs = {FOUR},
     .settings = {ONS_SET_INT("qk_matmul_output_mode", 4)},
     .error = "qk_matmul_output_mode"},
    {.name = NULL},
};
