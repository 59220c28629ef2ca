/* Elementwise operators of any number of operands: Sum, Mean, Min, Max. A folder says how two elements are joined. */
#ifndef ONSTAGE_KERNELS_COMMON_ELEMENTWISE_VARIADIC_H
#define ONSTAGE_KERNELS_COMMON_ELEMENTWISE_VARIADIC_H

#include "kernels/common/elementwise/binary.h"
#include "kernels/common/elementwise/cases.h"

enum { ONS_VARIADIC_BLOCK = 256 };

/* NAME: a span function. `a` is the result so far, `b` the next operand's element, both WORK; FINISH sees the end in
 * `a`, and `count` operands. All operands of a block are read before it is written, so the output may be any of them.
 */
#define ONS_VARIADIC_SPAN(NAME, TYPE, WORK, JOIN, FINISH)                                                              \
    static void NAME(const ons_span *span) {                                                                           \
        TYPE *out = span->output;                                                                                      \
        int64_t count = span->input_count;                                                                             \
        (void)count;                                                                                                   \
        for (int64_t begin = 0; begin < span->count; begin += ONS_VARIADIC_BLOCK) {                                    \
            int64_t n = span->count - begin < ONS_VARIADIC_BLOCK ? span->count - begin : ONS_VARIADIC_BLOCK;           \
            WORK total[ONS_VARIADIC_BLOCK];                                                                            \
            const TYPE *first = (const TYPE *)span->inputs[0] + begin * span->steps[0];                                \
            if (span->steps[0] == 0)                                                                                   \
                for (int64_t i = 0; i < n; ++i) total[i] = (WORK)*first;                                               \
            else                                                                                                       \
                for (int64_t i = 0; i < n; ++i) total[i] = (WORK)first[i];                                             \
            for (uint32_t k = 1; k < span->input_count; ++k) {                                                         \
                const TYPE *next = (const TYPE *)span->inputs[k] + begin * span->steps[k];                             \
                if (span->steps[k] == 0) {                                                                             \
                    WORK b = (WORK)*next;                                                                              \
                    _Pragma("omp simd") for (int64_t i = 0; i < n; ++i) {                                              \
                        WORK a = total[i];                                                                             \
                        total[i] = (JOIN);                                                                             \
                    }                                                                                                  \
                } else {                                                                                               \
                    _Pragma("omp simd") for (int64_t i = 0; i < n; ++i) {                                              \
                        WORK a = total[i], b = (WORK)next[i];                                                          \
                        total[i] = (JOIN);                                                                             \
                    }                                                                                                  \
                }                                                                                                      \
            }                                                                                                          \
            _Pragma("omp simd") for (int64_t i = 0; i < n; ++i) {                                                      \
                WORK a = total[i];                                                                                     \
                out[begin + i] = (TYPE)(FINISH);                                                                       \
            }                                                                                                          \
        }                                                                                                              \
    }

#define ONS_VARIADIC_REFERENCE(NAME, WORD, JOIN, FINISH)                                                               \
    static void NAME(const ons_operands *o, const void *const *inputs, void *const *outputs) {                         \
        const ons_shape *shape = &o->outputs[0].shape;                                                                 \
        int64_t count = o->input_count;                                                                                \
        (void)count;                                                                                                   \
        for (int64_t i = 0, n = ons_shape_elements(shape); i < n; ++i) {                                               \
            WORD a = ((const WORD *)inputs[0])[ons_broadcast_index(shape, &o->inputs[0].shape, i)];                    \
            for (uint32_t k = 1; k < o->input_count; ++k) {                                                            \
                WORD b = ((const WORD *)inputs[k])[ons_broadcast_index(shape, &o->inputs[k].shape, i)];                \
                a = (JOIN);                                                                                            \
            }                                                                                                          \
            ((WORD *)outputs[0])[i] = (FINISH);                                                                        \
        }                                                                                                              \
    }

/* Kernels: JOIN and FINISH see float or int64_t. */
#define ONS_VARIADIC_KERNELS(SYMBOL, JOIN, INTEGER_JOIN, FINISH)                                                       \
    ONS_VARIADIC_SPAN(SYMBOL##_float32, float, float, JOIN, FINISH)                                                    \
    ONS_VARIADIC_SPAN(SYMBOL##_int64, int64_t, int64_t, INTEGER_JOIN, FINISH)                                          \
    ONS_VARIADIC_SPAN(SYMBOL##_int32, int32_t, int64_t, INTEGER_JOIN, FINISH)                                          \
    ONS_BINARY_PREPARE(SYMBOL, {ONS_FLOAT32, SYMBOL##_float32}, {ONS_INT64, SYMBOL##_int64},                           \
                       {ONS_INT32, SYMBOL##_int32})

/* Floats and integers: JOIN and FINISH see double, float or int64_t; an integer's result is wrapped to its dtype. */
#define ONS_VARIADIC_NUMBER_REFERENCE(SYMBOL, JOIN, INTEGER_JOIN, FINISH)                                              \
    ONS_VARIADIC_REFERENCE(SYMBOL##_float_reference, double, JOIN, FINISH)                                             \
    ONS_VARIADIC_REFERENCE(SYMBOL##_integer_reference, int64_t, INTEGER_JOIN,                                          \
                           ons_wrap_to(o->outputs[0].dtype, (FINISH)))                                                 \
    ONS_BINARY_REFERENCES(SYMBOL)

/* One of the operands; INTEGER_JOIN sees uint64_t too. */
#define ONS_CHOICE_REFERENCE(SYMBOL, JOIN, INTEGER_JOIN)                                                               \
    ONS_VARIADIC_REFERENCE(SYMBOL##_float_reference, double, JOIN, a)                                                  \
    ONS_VARIADIC_REFERENCE(SYMBOL##_integer_reference, int64_t, INTEGER_JOIN, a)                                       \
    ONS_VARIADIC_REFERENCE(SYMBOL##_unsigned_reference, uint64_t, INTEGER_JOIN, a)                                     \
    ONS_ORDERED_REFERENCES(SYMBOL)

#define ONS_CHOICE_KERNELS(SYMBOL, JOIN, INTEGER_JOIN) ONS_VARIADIC_KERNELS(SYMBOL, JOIN, INTEGER_JOIN, a)

/* Every operation but the last counts: inputs - 1 for each element. */
ons_cost ons_cost_variadic(const ons_operands *o);

/* The gradient of Min and Max: the operands that are equal to the result share the cotangent evenly. */
ons_status *ons_gradient_of_chosen(ons_gradient *g);

/* Cases of Min and Max. */
/* clang-format off */
#define ONS_CHOICE_CASES                                                                                               \
    {.name = "one", .inputs = {ONS_F32(5, 7)}, .tolerance = 1e-6, .flops = 0},                                         \
    {.name = "two", .inputs = {ONS_F32(5, 7), ONS_F32(7)}, .tolerance = 1e-6, .flops = 35},                            \
    {.name = "rank0", .inputs = {ONS_F32(), ONS_F32()}, .tolerance = 1e-6, .flops = 1},                                \
    {.name = "three", .inputs = {ONS_F32(3, 1), ONS_F32(2, 3, 300), ONS_F32()}, .tolerance = 1e-6, .flops = 3600},     \
    {.name = "threads", .inputs = {ONS_F32(3, 16, 33, 35), ONS_F32(3, 16, 33, 35), ONS_F32(35), ONS_F32(16, 1, 1)},    \
     .tolerance = 1e-6, .flops = 166320},                                                                              \
    {.name = "empty", .inputs = {ONS_F32(0, 4), ONS_F32(4)}, .flops = 0},                                              \
    {.name = "int64",                                                                                                  \
     .inputs = {ONS_RANDOM(ONS_INT64, -9, 9, 3, 5), ONS_RANDOM(ONS_INT64, -9, 9, 5), ONS_RANDOM(ONS_INT64, -9, 9)},    \
     .flops = 30, .no_gradient = true},                                                                                \
    {.name = "int32", .inputs = {ONS_RANDOM(ONS_INT32, -9, 9, 37), ONS_RANDOM(ONS_INT32, -9, 9, 1)}, .flops = 37,      \
     .no_gradient = true},                                                                                             \
    ONS_UINT64_CASE,                                                                                                   \
    {.name = "edges",                                                                                                  \
     .inputs = {{.dtype = ONS_FLOAT32, .shape = ONS_DIMS(6), .value_count = 6,                                         \
                 .values = {1, NAN, 2, INFINITY, -INFINITY, 3}},                                                       \
                {.dtype = ONS_FLOAT32, .shape = ONS_DIMS(6), .value_count = 6, .values = {2, 1, NAN, 1, 1, 3}}},       \
     .flops = 6, .no_gradient = true},                                                                                 \
    {.name = "large", .inputs = {ONS_F32(64, 64, 56, 56), ONS_F32(64, 64, 56, 56)}, .tolerance = 1e-6,                 \
     .flops = 12845056, .benchmark = true},                                                                            \
    {.name = "misfit", .inputs = {ONS_F32(3), ONS_F32(3), ONS_F32(4)}, .error = "broadcast"},                          \
    {.name = "types", .inputs = {ONS_F32(3), ONS_I64(1)}, .error = "element types"}
/* clang-format on */

#endif
