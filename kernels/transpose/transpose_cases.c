/* Transpose: cases for tests and benchmarks. */
#include "kernels/case.h"

#define PERMUTED(...) .settings = {ONS_SET_INTS("perm", __VA_ARGS__)}

const ons_case ons_cases_transpose[] = {
    {.name = "reverse", .inputs = {ONS_F32(5, 7, 3)}},
    {.name = "rank0", .inputs = {ONS_F32()}},
    {.name = "rank1", .inputs = {ONS_F32(5)}},
    {.name = "matrix", .inputs = {ONS_F32(67, 45)}, PERMUTED(1, 0)},
    {.name = "batched_matrix", .inputs = {ONS_F32(3, 33, 18)}, PERMUTED(0, 2, 1)},
    {.name = "heads", .inputs = {ONS_F32(2, 9, 3, 16)}, PERMUTED(0, 2, 1, 3)},
    {.name = "keys", .inputs = {ONS_F32(2, 33, 3, 17)}, PERMUTED(0, 2, 3, 1)},
    {.name = "channels_last", .inputs = {ONS_F32(2, 5, 3, 4)}, PERMUTED(0, 2, 3, 1)},
    {.name = "channels_last_of_volumes", .inputs = {ONS_F32(2, 5, 3, 2, 4)}, PERMUTED(0, 2, 3, 4, 1)},
    {.name = "rotated", .inputs = {ONS_F32(2, 3, 4, 5, 6)}, PERMUTED(4, 0, 2, 3, 1)},
    {.name = "identity", .inputs = {ONS_F32(4, 5)}, PERMUTED(0, 1)},
    {.name = "threads", .inputs = {ONS_F32(3, 130, 141)}, PERMUTED(2, 0, 1)},
    {.name = "empty", .inputs = {ONS_F32(3, 0, 2)}, PERMUTED(2, 0, 1)},
    {.name = "integers", .inputs = {ONS_RANDOM(ONS_INT64, -9, 9, 5, 20)}},
    {.name = "booleans", .inputs = {ONS_RANDOM(ONS_BOOL, 0, 1, 19, 20)}},
    {.name = "halves", .inputs = {ONS_RANDOM(ONS_FLOAT16, -1, 1, 19, 20)}},
    {.name = "twice", .inputs = {ONS_F32(4, 5)}, PERMUTED(0, 0), .error = "permutation"},
    {.name = "short", .inputs = {ONS_F32(4, 5)}, PERMUTED(0), .error = "entries"},
    {.name = "large_heads", .inputs = {ONS_F32(16, 256, 12, 64)}, PERMUTED(0, 2, 1, 3), .benchmark = true},
    {.name = "large_keys", .inputs = {ONS_F32(16, 256, 12, 64)}, PERMUTED(0, 2, 3, 1), .benchmark = true},
    {.name = "large_matrix", .inputs = {ONS_F32(2048, 3072)}, PERMUTED(1, 0), .benchmark = true},
    {.name = "small_keys", .inputs = {ONS_F32(8, 64, 4, 32)}, PERMUTED(0, 2, 3, 1), .benchmark = true},
    {.name = NULL},
};
