/* Elementwise operators of any number of operands: Sum, Mean, Min, Max. A folder says how two elements are joined. */
#ifndef ONSTAGE_KERNELS_COMMON_ELEMENTWISE_VARIADIC_H
#define ONSTAGE_KERNELS_COMMON_ELEMENTWISE_VARIADIC_H

#include "kernels/common/elementwise/binary.h"
#include "kernels/common/elementwise/cases.h"

enum { ONS_VARIADIC_BLOCK = 256 };

/* What a block of results is made of, in the type that is computed with. */
typedef union ons_variadic_totals {
    float floats[ONS_VARIADIC_BLOCK];
    int64_t integers[ONS_VARIADIC_BLOCK];
} ons_variadic_totals;

/* Formulas: total[i] from the first operand's element, the same joined with another one's, and out[i] from it. */
typedef struct ons_variadic_formulas {
    void (*start)(const void *first, int64_t at, void *total, int64_t i);
    void (*join)(const void *next, int64_t at, void *total, int64_t i);
    void (*finish)(const void *total, int64_t i, int64_t count, void *out);
} ons_variadic_formulas;

/* Inlined, and the formulas with it, where a span function names them; `size` is that of an element. All operands of a
 * block are read before it is written, so the output may be any of them. */
static inline __attribute__((always_inline)) void ons_variadic_loop(const ons_span *span, int64_t size,
                                                                    const ons_variadic_formulas *f) {
    for (int64_t begin = 0; begin < span->count; begin += ONS_VARIADIC_BLOCK) {
        int64_t n = span->count - begin < ONS_VARIADIC_BLOCK ? span->count - begin : ONS_VARIADIC_BLOCK;
        ons_variadic_totals total;
        for (uint32_t k = 0; k < span->input_count; ++k) {
            const char *next = (const char *)span->inputs[k] + begin * span->steps[k] * size;
            ons_element one;
            if (k == 0 && span->steps[k] == 0) {
                memcpy(&one, next, (size_t)size);
                for (int64_t i = 0; i < n; ++i) f->start(&one, 0, &total, i);
            } else if (k == 0) {
                for (int64_t i = 0; i < n; ++i) f->start(next, i, &total, i);
            } else if (span->steps[k] == 0) {
                memcpy(&one, next, (size_t)size);
#pragma omp simd
                for (int64_t i = 0; i < n; ++i) f->join(&one, 0, &total, i);
            } else {
#pragma omp simd
                for (int64_t i = 0; i < n; ++i) f->join(next, i, &total, i);
            }
        }
        char *out = (char *)span->output + begin * size;
#pragma omp simd
        for (int64_t i = 0; i < n; ++i) f->finish(&total, i, span->input_count, out);
    }
}

/* NAME: a span function. `a` is the result so far, `b` the next operand's element, both WORK; FINISH sees the end in
 * `a`, and `count` operands. */
#define ONS_VARIADIC_SPAN(NAME, TYPE, WORK, JOIN, FINISH)                                                              \
    static inline void NAME##_start(const void *first, int64_t at, void *total, int64_t i) {                           \
        ((WORK *)total)[i] = (WORK)((const TYPE *)first)[at];                                                          \
    }                                                                                                                  \
    static inline void NAME##_join(const void *next, int64_t at, void *total, int64_t i) {                             \
        WORK a = ((const WORK *)total)[i], b = (WORK)((const TYPE *)next)[at];                                         \
        ((WORK *)total)[i] = (JOIN);                                                                                   \
    }                                                                                                                  \
    static inline void NAME##_finish(const void *total, int64_t i, int64_t count, void *out) {                         \
        WORK a = ((const WORK *)total)[i];                                                                             \
        ((TYPE *)out)[i] = (TYPE)(FINISH);                                                                             \
    }                                                                                                                  \
    static void NAME(const ons_span *span) {                                                                           \
        static const ons_variadic_formulas formulas = {NAME##_start, NAME##_join, NAME##_finish};                      \
        ons_variadic_loop(span, sizeof(TYPE), &formulas);                                                              \
    }

/* Formulas over words: `a` joined with b[at]; the result of an element from `a`. `count`: of the operands. */
typedef struct ons_variadic_words {
    void (*join)(void *a, const void *b, int64_t at);
    void (*finish)(const ons_operands *o, const void *a, int64_t count, void *out, int64_t i);
} ons_variadic_words;
void ons_variadic_each(const ons_operands *o, const void *const *inputs, void *const *outputs,
                       const ons_variadic_words *formulas);

/* NAME: such formulas. JOIN and FINISH as above, of WORD. */
#define ONS_VARIADIC_WORDS(NAME, WORD, JOIN, FINISH)                                                                   \
    static void NAME##_join(void *total, const void *next, int64_t at) {                                               \
        WORD a = *(const WORD *)total, b = ((const WORD *)next)[at];                                                   \
        *(WORD *)total = (JOIN);                                                                                       \
    }                                                                                                                  \
    static void NAME##_finish(const ons_operands *o, const void *total, int64_t count, void *out, int64_t i) {         \
        WORD a = *(const WORD *)total;                                                                                 \
        ((WORD *)out)[i] = (FINISH);                                                                                   \
    }                                                                                                                  \
    static const ons_variadic_words NAME = {NAME##_join, NAME##_finish};

/* SYMBOL_reference from SYMBOL_floats, and others for integers and uint64. */
#define ONS_VARIADIC_REFERENCES(SYMBOL, INTEGERS, UNSIGNED)                                                            \
    static void SYMBOL##_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,             \
                                   void *const *outputs) {                                                             \
        ons_variadic_each(o, inputs, outputs,                                                                          \
                          ONS_BY_WORDS(o->inputs[0].dtype, &SYMBOL##_floats, &INTEGERS, &UNSIGNED));                   \
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
    ONS_VARIADIC_WORDS(SYMBOL##_floats, double, JOIN, FINISH)                                                          \
    ONS_VARIADIC_WORDS(SYMBOL##_integers, int64_t, INTEGER_JOIN, ons_wrap_to(o->outputs[0].dtype, (FINISH)))           \
    ONS_VARIADIC_REFERENCES(SYMBOL, SYMBOL##_integers, SYMBOL##_integers)

/* One of the operands; INTEGER_JOIN sees uint64_t too. */
#define ONS_CHOICE_REFERENCE(SYMBOL, JOIN, INTEGER_JOIN)                                                               \
    ONS_VARIADIC_WORDS(SYMBOL##_floats, double, JOIN, a)                                                               \
    ONS_VARIADIC_WORDS(SYMBOL##_integers, int64_t, INTEGER_JOIN, a)                                                    \
    ONS_VARIADIC_WORDS(SYMBOL##_unsigned, uint64_t, INTEGER_JOIN, a)                                                   \
    ONS_VARIADIC_REFERENCES(SYMBOL, SYMBOL##_integers, SYMBOL##_unsigned)

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
