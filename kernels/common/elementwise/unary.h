/* Elementwise operators of one operand: a folder gives its formula twice (double for the reference, float for the
 * kernel, written so that the compiler turns the loop into vectors); a macro makes an inline function of it, which the
 * loops below take. */
#ifndef ONSTAGE_KERNELS_COMMON_ELEMENTWISE_UNARY_H
#define ONSTAGE_KERNELS_COMMON_ELEMENTWISE_UNARY_H

#include "kernels/common/math/integers.h"
#include "kernels/common/operator/checks.h"
#include "kernels/common/operator/kernel.h"

/* Elements [0, count): `out` and `in` may be the same memory. */
typedef void ons_unary_span(const void *in, void *out, int64_t count, const float *parameters);
enum { ONS_UNARY_PARAMETERS = 4 };

typedef struct ons_unary_state {
    int64_t elements;
    ons_dtype dtype; /* of the input */
    uint32_t input_count;
    float
        parameters[ONS_UNARY_PARAMETERS]; /* the float attributes, in order, or what the operator's own prepare sets */
} ons_unary_state;

/* Allocates an ons_unary_state for a float32 node, counting the elements of output 0; refuses other dtypes. */
ons_status *ons_unary_prepare(ons_prepare *p);
/* Allocates an ons_unary_state for a node of float32, int64 or int32; refuses other dtypes. */
ons_status *ons_unary_number_prepare(ons_prepare *p);
ons_status *ons_unary_bool_prepare(ons_prepare *p);

/* Shares the elements out to the threads where they are many; sizes are bytes of an element. `parameters` has
 * ONS_UNARY_PARAMETERS elements. */
void ons_unary_share(const void *in, void *out, int64_t count, size_t in_size, size_t out_size,
                     ons_unary_span *function, const float *parameters);
/* ons_unary_share of the node's input 0 and output 0, with an ons_unary_state. */
void ons_unary_run(const ons_launch *launch, size_t in_size, size_t out_size, ons_unary_span *function);

/* An optional input of such a node; NULL where it is left out. */
static inline const void *ons_unary_input(const ons_launch *launch, uint32_t index) {
    const ons_unary_state *state = launch->state;
    return index < state->input_count ? launch->inputs[index] : NULL;
}

/* ---- shape rules */
ons_status *ons_infer_float_unary(ons_operands *o);  /* output like the input, a float */
ons_status *ons_infer_number_unary(ons_operands *o); /* output like the input, not bool */
ons_status *ons_infer_float_test(ons_operands *o);   /* a truth value for each element of a float */

/* A gradient rule for operators whose derivative is 0 wherever there is one: it makes no gradient. */
ons_status *ons_gradient_stops(ons_gradient *g);

/* A formula, for out[i]. */
typedef void ons_unary_formula(const void *in, void *out, int64_t i, const float *parameters);

/* Inlined, and the formula with it, where a span function names the formula. */
static inline __attribute__((always_inline)) void ons_unary_loop(const void *in, void *out, int64_t count,
                                                                 const float *given, ons_unary_formula *formula) {
    const float parameters[ONS_UNARY_PARAMETERS] = {given[0], given[1], given[2], given[3]}; /* not in `out` */
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) formula(in, out, i, parameters);
}

/* NAME: a span function. IN and OUT are element types in memory, WORK the type of `x` in EXPRESSION, which may also use
 * const float *parameters. */
#define ONS_UNARY_SPAN(NAME, IN, WORK, OUT, EXPRESSION)                                                                \
    static inline void NAME##_at(const void *in, void *out, int64_t i, const float *parameters) {                      \
        WORK x = (WORK)((const IN *)in)[i];                                                                            \
        ((OUT *)out)[i] = (OUT)(EXPRESSION);                                                                           \
    }                                                                                                                  \
    static void NAME(const void *in, void *out, int64_t count, const float *parameters) {                              \
        ons_unary_loop(in, out, count, parameters, NAME##_at);                                                         \
    }

/* A formula over words, for out[i], and all of output 0 by it. */
typedef void ons_unary_words(const ons_operands *o, const void *in, void *out, int64_t i);
void ons_unary_each(const ons_operands *o, const void *const *inputs, void *const *outputs, ons_unary_words *formula);

/* NAME: such a formula. IN and OUT are double or int64_t. May use `o`. */
#define ONS_UNARY_WORDS(NAME, IN, OUT, EXPRESSION)                                                                     \
    static void NAME(const ons_operands *o, const void *in, void *out, int64_t i) {                                    \
        IN x = ((const IN *)in)[i];                                                                                    \
        ((OUT *)out)[i] = (OUT)(EXPRESSION);                                                                           \
    }

/* SYMBOL_reference from an expression of `IN x`, and the same for floats. */
#define ONS_UNARY_REFERENCE(SYMBOL, IN, OUT, EXPRESSION)                                                               \
    ONS_UNARY_WORDS(SYMBOL##_words, IN, OUT, EXPRESSION)                                                               \
    static void SYMBOL##_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,             \
                                   void *const *outputs) {                                                             \
        ons_unary_each(o, inputs, outputs, SYMBOL##_words);                                                            \
    }
#define ONS_UNARY_FLOAT_REFERENCE(SYMBOL, REFERENCE) ONS_UNARY_REFERENCE(SYMBOL, double, double, REFERENCE)

/* SYMBOL_run from an expression of `float x` and const float *parameters. */
#define ONS_UNARY_FLOAT_KERNEL(SYMBOL, KERNEL)                                                                         \
    ONS_UNARY_SPAN(SYMBOL##_float32, float, float, float, KERNEL)                                                      \
    static void SYMBOL##_run(const ons_launch *launch) {                                                               \
        ons_unary_run(launch, sizeof(float), sizeof(float), SYMBOL##_float32);                                         \
    }

/* References with integers: INTEGER (of `int64_t x`) is their reference and their kernel, UNSIGNED (of `uint64_t x`)
 * the reference of uint64, whose words it would take for negative numbers. SYMBOL_run is made by the second macro. */
#define ONS_UNARY_NUMBER_REFERENCE(SYMBOL, REFERENCE, INTEGER, UNSIGNED)                                               \
    ONS_UNARY_WORDS(SYMBOL##_floats, double, double, REFERENCE)                                                        \
    ONS_UNARY_WORDS(SYMBOL##_integers, int64_t, int64_t, ons_wrap_to(o->outputs[0].dtype, (INTEGER)))                  \
    ONS_UNARY_WORDS(SYMBOL##_unsigned, uint64_t, uint64_t, UNSIGNED)                                                   \
    static void SYMBOL##_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,             \
                                   void *const *outputs) {                                                             \
        ons_unary_each(o, inputs, outputs,                                                                             \
                       ONS_BY_WORDS(o->inputs[0].dtype, SYMBOL##_floats, SYMBOL##_integers, SYMBOL##_unsigned));       \
    }

#define ONS_UNARY_NUMBER_KERNEL(SYMBOL, INTEGER, KERNEL)                                                               \
    ONS_UNARY_SPAN(SYMBOL##_float32, float, float, float, KERNEL)                                                      \
    ONS_UNARY_SPAN(SYMBOL##_int64, int64_t, int64_t, int64_t, INTEGER)                                                 \
    ONS_UNARY_SPAN(SYMBOL##_int32, int32_t, int64_t, int32_t, INTEGER)                                                 \
    static void SYMBOL##_run(const ons_launch *launch) {                                                               \
        const ons_unary_state *state = launch->state;                                                                  \
        if (state->dtype == ONS_INT64)                                                                                 \
            ons_unary_run(launch, sizeof(int64_t), sizeof(int64_t), SYMBOL##_int64);                                   \
        else if (state->dtype == ONS_INT32)                                                                            \
            ons_unary_run(launch, sizeof(int32_t), sizeof(int32_t), SYMBOL##_int32);                                   \
        else                                                                                                           \
            ons_unary_run(launch, sizeof(float), sizeof(float), SYMBOL##_float32);                                     \
    }

/* ONS_DEFINE_OPERATOR of an elementwise operator of one operand: an operation an element, the result may take the
 * operand's place and lies as it does. */
#define ONS_DEFINE_UNARY(SYMBOL, NAME, OPSET, ATTRIBUTES, INFER, GRADIENT, SAVED, ROLES, FORMS, REFERENCE)             \
    const ons_operator ons_op_##SYMBOL = {NAME,                                                                        \
                                          OPSET,                                                                       \
                                          ONS_ARITY(1, 1, 1, 1),                                                       \
                                          ATTRIBUTES,                                                                  \
                                          INFER,                                                                       \
                                          ONS_COST(ons_cost_elementwise),                                              \
                                          GRADIENT,                                                                    \
                                          SAVED,                                                                       \
                                          ROLES,                                                                       \
                                          ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}),                                          \
                                          ONS_FOLLOWS_LAYOUT,                                                          \
                                          FORMS,                                                                       \
                                          REFERENCE}

#endif
