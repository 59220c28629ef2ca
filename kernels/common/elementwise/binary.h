/* Elementwise operators of two operands that broadcast: a folder gives its formulas in `a` and `b`; a macro makes
 * inline functions of them, which the loops below take, and reference, kernels for the element types, and prepare. The
 * kernel's run is ons_broadcast_run for all of them. */
#ifndef ONSTAGE_KERNELS_COMMON_ELEMENTWISE_BINARY_H
#define ONSTAGE_KERNELS_COMMON_ELEMENTWISE_BINARY_H

#include <string.h>

#include "kernels/common/elementwise/broadcast.h"
#include "kernels/common/math/integers.h"
#include "kernels/common/operator/checks.h"

/* The span function of an element type of the inputs. */
typedef struct ons_span_choice {
    ons_dtype dtype; /* ONS_NO_DTYPE: end */
    ons_span_function *function;
} ons_span_choice;

/* Prepares the function for the node's first input, or refuses its dtype. Parameters are the node's float attributes,
 * in order. */
ons_status *ons_binary_prepare(ons_prepare *p, const ons_span_choice *choices);

/* ---- shape rules */
ons_status *ons_infer_broadcast_numbers(ons_operands *o);  /* ons_infer_broadcast without bool */
ons_status *ons_infer_broadcast_floats(ons_operands *o);   /* ons_infer_broadcast of floats alone */
ons_status *ons_infer_broadcast_integers(ons_operands *o); /* ons_infer_broadcast of integers alone */
ons_status *ons_infer_broadcast_bools(ons_operands *o);    /* ons_infer_broadcast of bool alone */
ons_status *ons_infer_broadcast_compare_numbers(ons_operands *o);

/* A formula, for out[i] from left[at] and right[beside]. */
typedef void ons_binary_formula(const void *left, int64_t at, const void *right, int64_t beside, void *out, int64_t i,
                                const float *parameters);

/* One element of any type. */
typedef union ons_element {
    uint8_t bits_8;
    uint16_t bits_16;
    uint32_t bits_32;
    uint64_t bits_64;
    int32_t int32;
    int64_t int64;
    float float32;
} ons_element;

/* Inlined, and the formula with it, where a span function names the formula; `size` is that of an input's element. */
static inline __attribute__((always_inline)) void ons_binary_loop(const ons_span *span, size_t size,
                                                                  ons_binary_formula *formula) {
    const void *left = span->inputs[0], *right = span->inputs[1];
    void *out = span->output;
    const float *given = span->parameters;
    const float parameters[ONS_BROADCAST_PARAMETERS] = {given[0], given[1], given[2], given[3]}; /* not in `out` */
    int64_t n = span->count;
    ons_element one;
    if (span->steps[1] == 0) {
        memcpy(&one, right, size);
#pragma omp simd
        for (int64_t i = 0; i < n; ++i) formula(left, i, &one, 0, out, i, parameters);
    } else if (span->steps[0] == 0) {
        memcpy(&one, left, size);
#pragma omp simd
        for (int64_t i = 0; i < n; ++i) formula(&one, 0, right, i, out, i, parameters);
    } else {
#pragma omp simd
        for (int64_t i = 0; i < n; ++i) formula(left, i, right, i, out, i, parameters);
    }
}

/* NAME: a span function. IN and OUT are element types in memory, WORK the type of `a` and `b` in EXPRESSION, which may
 * also use const float *parameters. */
#define ONS_BINARY_SPAN(NAME, IN, WORK, OUT, EXPRESSION)                                                               \
    static inline void NAME##_at(const void *left, int64_t at, const void *right, int64_t beside, void *out,           \
                                 int64_t i, const float *parameters) {                                                 \
        WORK a = (WORK)((const IN *)left)[at], b = (WORK)((const IN *)right)[beside];                                  \
        ((OUT *)out)[i] = (OUT)(EXPRESSION);                                                                           \
    }                                                                                                                  \
    static void NAME(const ons_span *span) { ons_binary_loop(span, sizeof(IN), NAME##_at); }

/* A formula over words, and all of output 0 by it. */
typedef void ons_binary_words(const ons_operands *o, const void *left, int64_t at, const void *right, int64_t beside,
                              void *out, int64_t i);
void ons_binary_each(const ons_operands *o, const void *const *inputs, void *const *outputs, ons_binary_words *formula);

/* NAME: such a formula. IN and OUT are double or int64_t. May use `o`. */
#define ONS_BINARY_WORDS(NAME, IN, OUT, EXPRESSION)                                                                    \
    static void NAME(const ons_operands *o, const void *left, int64_t at, const void *right, int64_t beside,           \
                     void *out, int64_t i) {                                                                           \
        IN a = ((const IN *)left)[at], b = ((const IN *)right)[beside];                                                \
        ((OUT *)out)[i] = (OUT)(EXPRESSION);                                                                           \
    }

/* SYMBOL_reference from an expression of `IN a, b`. */
#define ONS_BINARY_REFERENCE(SYMBOL, IN, OUT, EXPRESSION)                                                              \
    ONS_BINARY_WORDS(SYMBOL##_words, IN, OUT, EXPRESSION)                                                              \
    static void SYMBOL##_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,             \
                                   void *const *outputs) {                                                             \
        ons_binary_each(o, inputs, outputs, SYMBOL##_words);                                                           \
    }

/* SYMBOL_reference from SYMBOL_floats, SYMBOL_integers (bool is one) and what uint64 takes of the two, or its own. */
#define ONS_BINARY_REFERENCES(SYMBOL, UNSIGNED)                                                                        \
    static void SYMBOL##_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,             \
                                   void *const *outputs) {                                                             \
        ons_binary_each(o, inputs, outputs,                                                                            \
                        ONS_BY_WORDS(o->inputs[0].dtype, SYMBOL##_floats, SYMBOL##_integers, UNSIGNED));               \
    }

/* Makes SYMBOL_prepare from the choices that follow. */
#define ONS_BINARY_PREPARE(SYMBOL, ...)                                                                                \
    static ons_status *SYMBOL##_prepare(ons_prepare *p) {                                                              \
        static const ons_span_choice choices[] = {__VA_ARGS__, {ONS_NO_DTYPE, NULL}};                                  \
        return ons_binary_prepare(p, choices);                                                                         \
    }

/* Kernels of arithmetic: INTEGER sees int64_t, KERNEL float. */
#define ONS_BINARY_KERNELS(SYMBOL, INTEGER, KERNEL)                                                                    \
    ONS_BINARY_SPAN(SYMBOL##_float32, float, float, float, KERNEL)                                                     \
    ONS_BINARY_SPAN(SYMBOL##_int64, int64_t, int64_t, int64_t, INTEGER)                                                \
    ONS_BINARY_SPAN(SYMBOL##_int32, int32_t, int64_t, int32_t, INTEGER)                                                \
    ONS_BINARY_PREPARE(SYMBOL, {ONS_FLOAT32, SYMBOL##_float32}, {ONS_INT64, SYMBOL##_int64},                           \
                       {ONS_INT32, SYMBOL##_int32})

/* Arithmetic, result of the operands' type: SYMBOL_reference, to go with ONS_BINARY_KERNELS. REFERENCE_FLOAT sees
 * double, REFERENCE_INTEGER int64_t (it is also the kernel for int64 and int32). */
#define ONS_BINARY_NUMBER_REFERENCE(SYMBOL, REFERENCE_FLOAT, REFERENCE_INTEGER)                                        \
    ONS_BINARY_WORDS(SYMBOL##_floats, double, double, REFERENCE_FLOAT)                                                 \
    ONS_BINARY_WORDS(SYMBOL##_integers, int64_t, int64_t, ons_wrap_to(o->outputs[0].dtype, (REFERENCE_INTEGER)))       \
    ONS_BINARY_REFERENCES(SYMBOL, SYMBOL##_integers)

/* ONS_BINARY_NUMBER_REFERENCE where uint64 needs a reference of its own: REFERENCE_UNSIGNED sees uint64_t. */
#define ONS_BINARY_ORDERED_REFERENCE(SYMBOL, REFERENCE_FLOAT, REFERENCE_INTEGER, REFERENCE_UNSIGNED)                   \
    ONS_BINARY_WORDS(SYMBOL##_floats, double, double, REFERENCE_FLOAT)                                                 \
    ONS_BINARY_WORDS(SYMBOL##_integers, int64_t, int64_t, ons_wrap_to(o->outputs[0].dtype, (REFERENCE_INTEGER)))       \
    ONS_BINARY_WORDS(SYMBOL##_unsigned, uint64_t, uint64_t, REFERENCE_UNSIGNED)                                        \
    ONS_BINARY_REFERENCES(SYMBOL, SYMBOL##_unsigned)

/* Of floats alone: REFERENCE sees double, KERNEL float. */
#define ONS_BINARY_FLOAT_REFERENCE(SYMBOL, REFERENCE) ONS_BINARY_REFERENCE(SYMBOL, double, double, REFERENCE)

#define ONS_BINARY_FLOAT_KERNEL(SYMBOL, KERNEL)                                                                        \
    ONS_BINARY_SPAN(SYMBOL##_float32, float, float, float, KERNEL)                                                     \
    ONS_BINARY_PREPARE(SYMBOL, {ONS_FLOAT32, SYMBOL##_float32})

/* Comparisons, result bool: one EXPRESSION for all types. */
#define ONS_COMPARISON_REFERENCE(SYMBOL, EXPRESSION)                                                                   \
    ONS_BINARY_WORDS(SYMBOL##_floats, double, int64_t, EXPRESSION)                                                     \
    ONS_BINARY_WORDS(SYMBOL##_integers, int64_t, int64_t, EXPRESSION)                                                  \
    ONS_BINARY_WORDS(SYMBOL##_unsigned, uint64_t, int64_t, EXPRESSION)                                                 \
    ONS_BINARY_REFERENCES(SYMBOL, SYMBOL##_unsigned)

#define ONS_COMPARISON_KERNEL(SYMBOL, EXPRESSION)                                                                      \
    ONS_BINARY_SPAN(SYMBOL##_float32, float, float, uint8_t, EXPRESSION)                                               \
    ONS_BINARY_SPAN(SYMBOL##_int64, int64_t, int64_t, uint8_t, EXPRESSION)                                             \
    ONS_BINARY_SPAN(SYMBOL##_int32, int32_t, int32_t, uint8_t, EXPRESSION)                                             \
    ONS_BINARY_SPAN(SYMBOL##_uint8, uint8_t, uint8_t, uint8_t, EXPRESSION)                                             \
    ONS_BINARY_PREPARE(SYMBOL, {ONS_FLOAT32, SYMBOL##_float32}, {ONS_INT64, SYMBOL##_int64},                           \
                       {ONS_INT32, SYMBOL##_int32}, {ONS_BOOL, SYMBOL##_uint8}, {ONS_UINT8, SYMBOL##_uint8})

/* Of integers, bit by bit: EXPRESSION is the same for all of them. */
#define ONS_BITWISE_REFERENCE(SYMBOL, EXPRESSION)                                                                      \
    ONS_BINARY_REFERENCE(SYMBOL, int64_t, int64_t, ons_wrap_to(o->outputs[0].dtype, (EXPRESSION)))

#define ONS_BITWISE_KERNEL(SYMBOL, EXPRESSION)                                                                         \
    ONS_BINARY_SPAN(SYMBOL##_8, uint8_t, uint8_t, uint8_t, EXPRESSION)                                                 \
    ONS_BINARY_SPAN(SYMBOL##_16, uint16_t, uint16_t, uint16_t, EXPRESSION)                                             \
    ONS_BINARY_SPAN(SYMBOL##_32, uint32_t, uint32_t, uint32_t, EXPRESSION)                                             \
    ONS_BINARY_SPAN(SYMBOL##_64, uint64_t, uint64_t, uint64_t, EXPRESSION)                                             \
    ONS_BINARY_PREPARE(SYMBOL, {ONS_INT64, SYMBOL##_64}, {ONS_UINT64, SYMBOL##_64}, {ONS_INT32, SYMBOL##_32},          \
                       {ONS_UINT32, SYMBOL##_32}, {ONS_INT16, SYMBOL##_16}, {ONS_UINT16, SYMBOL##_16},                 \
                       {ONS_INT8, SYMBOL##_8}, {ONS_UINT8, SYMBOL##_8})

/* Of bool alone. */
#define ONS_LOGIC_REFERENCE(SYMBOL, EXPRESSION) ONS_BINARY_REFERENCE(SYMBOL, int64_t, int64_t, EXPRESSION)

#define ONS_LOGIC_KERNEL(SYMBOL, EXPRESSION)                                                                           \
    ONS_BINARY_SPAN(SYMBOL##_bool, uint8_t, uint8_t, uint8_t, EXPRESSION)                                              \
    ONS_BINARY_PREPARE(SYMBOL, {ONS_BOOL, SYMBOL##_bool})

/* ONS_DEFINE_OPERATOR of an elementwise operator of two operands that broadcast: an operation an element, the result
 * may take the place of either and lies as they do. */
#define ONS_DEFINE_BINARY(SYMBOL, NAME, OPSET, ATTRIBUTES, INFER, GRADIENT, SAVED, ROLES, FORMS, REFERENCE)            \
    const ons_operator ons_op_##SYMBOL = {NAME,                                                                        \
                                          OPSET,                                                                       \
                                          ONS_ARITY(2, 2, 1, 1),                                                       \
                                          ATTRIBUTES,                                                                  \
                                          INFER,                                                                       \
                                          ONS_COST(ons_cost_elementwise),                                              \
                                          GRADIENT,                                                                    \
                                          SAVED,                                                                       \
                                          ROLES,                                                                       \
                                          ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}, {ONS_ALIAS_MAY, 0, 1}),                   \
                                          ONS_FOLLOWS_LAYOUT,                                                          \
                                          FORMS,                                                                       \
                                          REFERENCE}

/* Defines the gradient of an elementwise operator: of its cotangent and a value that it saves. */
#define ONS_DEFINE_BINARY_GRADIENT(SYMBOL, NAME, ATTRIBUTES, REFERENCE)                                                \
    ONS_DEFINE_BINARY(SYMBOL, NAME, ONS_INTERNAL, ATTRIBUTES, ONS_INFER(ons_infer_broadcast_floats),                   \
                      ONS_NOT_DIFFERENTIABLE("it is itself a gradient"), ONS_SAVES_NOTHING, ONS_ELEMENTWISE_OPERATOR,  \
                      ONS_ONE_FORM, REFERENCE)

#endif
