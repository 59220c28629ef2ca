/* Cases that every elementwise operator has, so that all ways of broadcasting are tried on all of them. Each macro
 * gives a list of cases without a comma at its end; operators add their own. Inputs are random in [LOW, HIGH]. */
#ifndef ONSTAGE_KERNELS_COMMON_ELEMENTWISE_CASES_H
#define ONSTAGE_KERNELS_COMMON_ELEMENTWISE_CASES_H

#include <math.h>

#include "kernels/case.h"

/* clang-format off */

/* One float operand; one operation an element. */
#define ONS_UNARY_CASES(LOW, HIGH, TOLERANCE)                                                                          \
    {.name = "matrix", .inputs = {ONS_F32_IN(LOW, HIGH, 5, 7)}, .tolerance = (TOLERANCE), .flops = 35},                \
    {.name = "rank0", .inputs = {ONS_F32_IN(LOW, HIGH)}, .tolerance = (TOLERANCE), .flops = 1},                        \
    {.name = "threads", .inputs = {ONS_F32_IN(LOW, HIGH, 3, 16, 33, 35)}, .tolerance = (TOLERANCE), .flops = 55440},   \
    {.name = "empty", .inputs = {ONS_F32_IN(LOW, HIGH, 0, 4)}, .tolerance = (TOLERANCE), .flops = 0},                  \
    {.name = "bool", .inputs = {ONS_RANDOM(ONS_BOOL, 0, 1, 3)}, .error = "needed"},                                    \
    {.name = "large", .inputs = {ONS_F32_IN(LOW, HIGH, 64, 64, 56, 56)}, .tolerance = (TOLERANCE), .flops = 12845056,  \
     .benchmark = true}

/* One integer operand. */
#define ONS_UNARY_INTEGER_CASES                                                                                        \
    {.name = "int64", .inputs = {ONS_RANDOM(ONS_INT64, -9, 9, 4, 5)}, .flops = 20, .no_gradient = true},               \
    {.name = "int32", .inputs = {ONS_RANDOM(ONS_INT32, -9, 9, 37)}, .flops = 37, .no_gradient = true},                 \
    {.name = "int8", .inputs = {ONS_RANDOM(ONS_INT8, -9, 9, 37)}, .flops = 37, .no_gradient = true},                   \
    {.name = "uint64",                                                                                                 \
     .inputs = {{.dtype = ONS_UINT64, .shape = ONS_DIMS(4), .value_count = 4, .values = {0, 7, -1, -9}}},              \
     .flops = 4, .no_gradient = true}

/* Two vectors of numbers beyond int64, which are negative ones in words. */
#define ONS_UINT64_CASE                                                                                                \
    {.name = "uint64",                                                                                                 \
     .inputs = {{.dtype = ONS_UINT64, .shape = ONS_DIMS(6), .value_count = 6, .values = {0, 7, -1, -9, 5, -1}},        \
                {.dtype = ONS_UINT64, .shape = ONS_DIMS(6), .value_count = 6, .values = {3, -1, 7, -1, 5, 2}}},        \
     .flops = 6, .no_gradient = true}

/* One float vector with these values: ONS_EDGE_CASE("edges", 1e-6, 3, NAN, 0, 1). */
#define ONS_EDGE_CASE(NAME, TOLERANCE, COUNT, ...)                                                                     \
    {.name = (NAME),                                                                                                   \
     .inputs = {{.dtype = ONS_FLOAT32, .shape = ONS_DIMS(COUNT), .value_count = (COUNT), .values = {__VA_ARGS__}}},    \
     .tolerance = (TOLERANCE), .flops = (COUNT), .no_gradient = true}

/* Two operands of equal shape: a cotangent in [-1, 1], and what the derivative is made from. */
#define ONS_PAIR_CASES(LOW, HIGH, TOLERANCE)                                                                           \
    {.name = "matrix", .inputs = {ONS_F32(5, 7), ONS_F32_IN(LOW, HIGH, 5, 7)}, .tolerance = (TOLERANCE), .flops = 35}, \
    {.name = "rank0", .inputs = {ONS_F32(), ONS_F32_IN(LOW, HIGH)}, .tolerance = (TOLERANCE), .flops = 1},             \
    {.name = "threads", .inputs = {ONS_F32(3, 16, 33, 35), ONS_F32_IN(LOW, HIGH, 3, 16, 33, 35)},                      \
     .tolerance = (TOLERANCE), .flops = 55440},                                                                        \
    {.name = "empty", .inputs = {ONS_F32(0, 4), ONS_F32_IN(LOW, HIGH, 0, 4)}, .tolerance = (TOLERANCE), .flops = 0},   \
    {.name = "large", .inputs = {ONS_F32(64, 64, 56, 56), ONS_F32_IN(LOW, HIGH, 64, 64, 56, 56)},                      \
     .tolerance = (TOLERANCE), .flops = 12845056, .benchmark = true}

/* Two operands of one dtype that broadcast to each other: A(dims) and B(dims) make the inputs. */
#define ONS_BROADCAST_CASES(A, B, TOLERANCE)                                                                           \
    {.name = "same", .inputs = {A(5, 7), B(5, 7)}, .tolerance = (TOLERANCE), .flops = 35},                             \
    {.name = "rank0", .inputs = {A(), B()}, .tolerance = (TOLERANCE), .flops = 1},                                     \
    {.name = "scalar", .inputs = {A(6, 7), B()}, .tolerance = (TOLERANCE), .flops = 42},                               \
    {.name = "scalar_first", .inputs = {A(), B(6, 7)}, .tolerance = (TOLERANCE), .flops = 42},                         \
    {.name = "channel", .inputs = {A(2, 19, 3, 5), B(2, 19, 1, 1)}, .tolerance = (TOLERANCE), .flops = 570},           \
    {.name = "channel_first", .inputs = {A(19, 1, 1), B(2, 19, 3, 5)}, .tolerance = (TOLERANCE), .flops = 570},        \
    {.name = "position", .inputs = {A(2, 19, 3, 5), B(2, 1, 3, 5)}, .tolerance = (TOLERANCE), .flops = 570},           \
    {.name = "sample", .inputs = {A(2, 19, 3, 5), B(19, 3, 5)}, .tolerance = (TOLERANCE), .flops = 570},               \
    {.name = "row", .inputs = {A(4, 3, 33), B(33)}, .tolerance = (TOLERANCE), .flops = 396},                           \
    {.name = "column", .inputs = {A(4, 33), B(4, 1)}, .tolerance = (TOLERANCE), .flops = 132},                         \
    {.name = "channels", .inputs = {A(2, 3, 5, 7), B(3, 1, 1)}, .tolerance = (TOLERANCE), .flops = 210},               \
    {.name = "both_ways", .inputs = {A(4, 1, 5), B(3, 1)}, .tolerance = (TOLERANCE), .flops = 60},                     \
    {.name = "strided", .inputs = {A(2, 3, 2, 5), B(2, 1, 2, 1)}, .tolerance = (TOLERANCE), .flops = 60},              \
    {.name = "threads", .inputs = {A(33, 35, 49), B(35, 1)}, .tolerance = (TOLERANCE), .flops = 56595},                \
    {.name = "empty", .inputs = {A(0, 4), B(4)}, .tolerance = (TOLERANCE), .flops = 0},                                \
    {.name = "misfit", .inputs = {A(2, 3), B(4)}, .error = "broadcast"},                                               \
    {.name = "row_large", .inputs = {A(4096, 1024), B(1024)}, .tolerance = (TOLERANCE), .flops = 4194304,              \
     .benchmark = true},                                                                                               \
    {.name = "large", .inputs = {A(64, 64, 56, 56), B(64, 64, 56, 56)}, .tolerance = (TOLERANCE), .flops = 12845056,   \
     .benchmark = true}

/* Two integer operands, the second in [LOW, 9]. */
#define ONS_BROADCAST_INTEGER_CASES(LOW)                                                                               \
    {.name = "int64", .inputs = {ONS_RANDOM(ONS_INT64, -9, 9, 3, 5), ONS_RANDOM(ONS_INT64, LOW, 9, 5)}, .flops = 15,   \
     .no_gradient = true},                                                                                             \
    {.name = "int32", .inputs = {ONS_RANDOM(ONS_INT32, -9, 9, 3, 37), ONS_RANDOM(ONS_INT32, LOW, 9, 3, 1)},            \
     .flops = 111, .no_gradient = true}

/* Two operands of the other integer types, and of one that is none. */
#define ONS_BITWISE_CASES                                                                                              \
    {.name = "int64", .inputs = {ONS_RANDOM(ONS_INT64, -99, 99, 3, 5), ONS_RANDOM(ONS_INT64, -99, 99, 5)},             \
     .flops = 15},                                                                                                     \
    {.name = "uint8", .inputs = {ONS_RANDOM(ONS_UINT8, 0, 255, 3, 5), ONS_RANDOM(ONS_UINT8, 0, 255, 5)}, .flops = 15}, \
    {.name = "int16", .inputs = {ONS_RANDOM(ONS_INT16, -99, 99, 37), ONS_RANDOM(ONS_INT16, -99, 99, 37)},              \
     .flops = 37},                                                                                                     \
    ONS_UINT64_CASE,                                                                                                   \
    {.name = "float", .inputs = {ONS_F32(3), ONS_F32(3)}, .error = "integer type is needed"}

/* Two float vectors with NaN and equal elements. */
#define ONS_COMPARISON_EDGE_CASE                                                                                       \
    {.name = "edges",                                                                                                  \
     .inputs = {{.dtype = ONS_FLOAT32, .shape = ONS_DIMS(6), .value_count = 6, .values = {1, 2, NAN, 4, NAN, 0}},      \
                {.dtype = ONS_FLOAT32, .shape = ONS_DIMS(6), .value_count = 6, .values = {1, 3, NAN, 3, 1, -0.0}}},    \
     .flops = 6, .no_gradient = true}

/* clang-format on */

#endif
