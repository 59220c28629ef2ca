/* What the losses that compare prediction and target element by element share. A folder gives its formula twice (double
 * for the reference, float for the kernel, written so that the compiler turns the loop into vectors); the macros below
 * make inline functions of them, which the loops take. The sum is in double and in fixed order. */
#ifndef ONSTAGE_KERNELS_LOSSES_POINTWISE_LOSS_H
#define ONSTAGE_KERNELS_LOSSES_POINTWISE_LOSS_H

#include <math.h>

#include "kernels/common/elementwise/cases.h"
#include "kernels/common/math/vector_math.h"
#include "kernels/common/rows/rows.h"
#include "kernels/operators.h"

typedef struct ons_pointwise_loss {
    int64_t elements;
    int parts;       /* of the sum; scratch holds a double for each */
    float parameter; /* attribute 0, where the operator has one */
} ons_pointwise_loss;

/* (prediction, target) of one shape → ons_loss_type. */
ons_status *ons_pointwise_loss_infer(ons_operands *o);
/* (prediction, target, cotangent) → like the prediction. */
ons_status *ons_pointwise_loss_gradient_infer(ons_operands *o);

/* The state is an ons_pointwise_loss. */
ons_status *ons_pointwise_loss_prepare(ons_prepare *p);

/* Attribute 0, or 0. */
double ons_pointwise_loss_parameter(const ons_operands *o);

/* Builds `op`(prediction, target, cotangent) with the node's own attributes. */
ons_status *ons_pointwise_loss_build_gradient(ons_gradient *g, const ons_operator *op);

/* Formulas: a loss or a slope of one element, for references and for kernels.
 *
 *  */
typedef double ons_pointwise_words(double x, double t, double parameter);
typedef float ons_pointwise_formula(float x, float t, float parameter);

/* References: the sum of the losses; the slopes by the cotangent. */
void ons_pointwise_loss_sum(const ons_operands *o, const ons_step *step, const void *const *inputs,
                            void *const *outputs, ons_pointwise_words *formula);
void ons_pointwise_loss_slopes(const ons_operands *o, const ons_step *step, const void *const *inputs,
                               void *const *outputs, ons_pointwise_words *formula);

/* Runs: the state is an ons_pointwise_loss. */
typedef double ons_pointwise_part(const float *prediction, const float *target, float parameter, int64_t n);
void ons_pointwise_loss_run(const ons_launch *launch, ons_pointwise_part *sum_part);
typedef void ons_pointwise_part_slopes(const float *prediction, const float *target, float *dx, float parameter,
                                       float scale, int64_t n);
void ons_pointwise_loss_gradient_run(const ons_launch *launch, ons_pointwise_part_slopes *slopes);

#define ONS_POINTWISE_FORMULA(SYMBOL, KERNEL)                                                                          \
    static inline float SYMBOL##_at(float x, float t, float parameter) { return (KERNEL); }

#define ONS_POINTWISE_LOSS_COST(SYMBOL, OPERATIONS)                                                                    \
    static ons_cost SYMBOL##_cost(const ons_operands *o) {                                                             \
        return (ons_cost){(OPERATIONS) * (double)ons_elements(&o->inputs[0]), ons_operand_bytes(o)};                   \
    }

/* SYMBOL_cost, SYMBOL_gradient and SYMBOL_reference from the floating-point operations an element takes and the loss of
 * one element, an expression of `double x, t, parameter`. The gradient is an operator of its own, SYMBOL_gradient.
 * ONS_POINTWISE_LOSS_KERNEL makes SYMBOL_run from the same expression of floats. */
#define ONS_POINTWISE_LOSS_RULES(SYMBOL, OPERATIONS, REFERENCE)                                                        \
    ONS_POINTWISE_LOSS_COST(SYMBOL, OPERATIONS)                                                                        \
    static ons_status *SYMBOL##_gradient(ons_gradient *g) {                                                            \
        return ons_pointwise_loss_build_gradient(g, &ons_op_##SYMBOL##_gradient);                                      \
    }                                                                                                                  \
    static double SYMBOL##_words(double x, double t, double parameter) { return (REFERENCE); }                         \
    static void SYMBOL##_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,             \
                                   void *const *outputs) {                                                             \
        ons_pointwise_loss_sum(o, step, inputs, outputs, SYMBOL##_words);                                              \
    }

/* The sum of a part's losses. Inlined, and the formula with it, where a kernel names it. */
static inline __attribute__((always_inline)) double ons_pointwise_loss_part(const float *prediction,
                                                                            const float *target, float parameter,
                                                                            int64_t n, ons_pointwise_formula *formula) {
    enum { BLOCK = 512 };
    float losses[BLOCK];
    double sum = 0;
    for (int64_t begin = 0; begin < n; begin += BLOCK) {
        int count = n - begin < BLOCK ? (int)(n - begin) : BLOCK;
#pragma omp simd
        for (int i = 0; i < count; ++i) losses[i] = formula(prediction[begin + i], target[begin + i], parameter);
#pragma omp simd reduction(+ : sum)
        for (int i = 0; i < count; ++i) sum += (double)losses[i];
    }
    return sum;
}

#define ONS_POINTWISE_LOSS_KERNEL(SYMBOL, KERNEL)                                                                      \
    ONS_POINTWISE_FORMULA(SYMBOL, KERNEL)                                                                              \
    static double SYMBOL##_part(const float *prediction, const float *target, float parameter, int64_t n) {            \
        return ons_pointwise_loss_part(prediction, target, parameter, n, SYMBOL##_at);                                 \
    }                                                                                                                  \
    static void SYMBOL##_run(const ons_launch *launch) { ons_pointwise_loss_run(launch, SYMBOL##_part); }

/* A pointwise loss's gradient, all but its rule: the expressions give the slope at x. */
#define ONS_POINTWISE_LOSS_GRADIENT_RULES(SYMBOL, OPERATIONS, REFERENCE)                                               \
    ONS_POINTWISE_LOSS_COST(SYMBOL, OPERATIONS)                                                                        \
    static double SYMBOL##_words(double x, double t, double parameter) { return (REFERENCE); }                         \
    static void SYMBOL##_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,             \
                                   void *const *outputs) {                                                             \
        ons_pointwise_loss_slopes(o, step, inputs, outputs, SYMBOL##_words);                                           \
    }

static inline __attribute__((always_inline)) void ons_pointwise_slopes(const float *prediction, const float *target,
                                                                       float *dx, float parameter, float scale,
                                                                       int64_t n, ons_pointwise_formula *formula) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) dx[i] = formula(prediction[i], target[i], parameter) * scale;
}

#define ONS_POINTWISE_LOSS_GRADIENT_KERNEL(SYMBOL, KERNEL)                                                             \
    ONS_POINTWISE_FORMULA(SYMBOL, KERNEL)                                                                              \
    static void SYMBOL##_slopes(const float *prediction, const float *target, float *dx, float parameter, float scale, \
                                int64_t n) {                                                                           \
        ons_pointwise_slopes(prediction, target, dx, parameter, scale, n, SYMBOL##_at);                                \
    }                                                                                                                  \
    static void SYMBOL##_run(const ons_launch *launch) { ons_pointwise_loss_gradient_run(launch, SYMBOL##_slopes); }

/* ---- cases: targets lie in [LOW, 1]; SETTING is one attribute, or ONS_NO_SETTING */
/* clang-format off */
#define ONS_NO_SETTING {.name = NULL}
#define ONS_POINTWISE_LOSS_CASES(OPERATIONS, LOW, SETTING)                                                             \
    {.name = "matrix", .inputs = {ONS_F32_IN(-2, 2, 5, 7), ONS_F32_IN(LOW, 1, 5, 7)}, .settings = {SETTING},           \
     .tolerance = 1e-5, .flops = 35 * (OPERATIONS)},                                                                   \
    {.name = "rank0", .inputs = {ONS_F32_IN(-2, 2), ONS_F32_IN(LOW, 1)}, .settings = {SETTING},                        \
     .tolerance = 1e-5, .flops = (OPERATIONS)},                                                                        \
    {.name = "double", .inputs = {ONS_RANDOM(ONS_FLOAT64, -2, 2, 7), ONS_RANDOM(ONS_FLOAT64, LOW, 1, 7)},              \
     .settings = {SETTING}, .tolerance = 1e-14, .flops = 7 * (OPERATIONS)},                                            \
    {.name = "odd", .inputs = {ONS_F32_IN(-2, 2, 3, 1, 37), ONS_F32_IN(LOW, 1, 3, 1, 37)}, .settings = {SETTING},      \
     .tolerance = 1e-5, .flops = 111 * (OPERATIONS)},                                                                  \
    {.name = "threads", .inputs = {ONS_F32_IN(-2, 2, 9, 5003), ONS_F32_IN(LOW, 1, 9, 5003)}, .settings = {SETTING},    \
     .tolerance = 1e-5, .flops = 45027 * (OPERATIONS), .no_gradient = true},                                           \
    {.name = "target_shape", .inputs = {ONS_F32(5, 7), ONS_F32(7, 5)}, .settings = {SETTING}, .error = "target"},      \
    {.name = "large", .inputs = {ONS_F32_IN(-2, 2, 1024, 4096), ONS_F32_IN(LOW, 1, 1024, 4096)},                       \
     .settings = {SETTING}, .tolerance = 1e-5, .flops = 4194304.0 * (OPERATIONS), .benchmark = true}

#define ONS_POINTWISE_LOSS_GRADIENT_CASES(OPERATIONS, LOW, SETTING)                                                    \
    {.name = "matrix", .inputs = {ONS_F32_IN(-2, 2, 5, 7), ONS_F32_IN(LOW, 1, 5, 7), ONS_F32()},                       \
     .settings = {SETTING}, .tolerance = 2e-6, .flops = 35 * (OPERATIONS)},                                            \
    {.name = "rank0", .inputs = {ONS_F32_IN(-2, 2), ONS_F32_IN(LOW, 1), ONS_F32()}, .settings = {SETTING},             \
     .tolerance = 2e-6, .flops = (OPERATIONS)},                                                                        \
    {.name = "odd", .inputs = {ONS_F32_IN(-2, 2, 3, 1, 37), ONS_F32_IN(LOW, 1, 3, 1, 37), ONS_F32()},                  \
     .settings = {SETTING}, .tolerance = 2e-6, .flops = 111 * (OPERATIONS)},                                           \
    {.name = "threads", .inputs = {ONS_F32_IN(-2, 2, 9, 5003), ONS_F32_IN(LOW, 1, 9, 5003), ONS_F32()},                \
     .settings = {SETTING}, .tolerance = 2e-6, .flops = 45027 * (OPERATIONS)},                                         \
    {.name = "empty", .inputs = {ONS_F32_IN(-2, 2, 0, 3), ONS_F32_IN(LOW, 1, 0, 3), ONS_F32()},                        \
     .settings = {SETTING}, .tolerance = 2e-6, .flops = 0},                                                            \
    {.name = "large", .inputs = {ONS_F32_IN(-2, 2, 1024, 4096), ONS_F32_IN(LOW, 1, 1024, 4096), ONS_F32()},            \
     .settings = {SETTING}, .tolerance = 2e-6, .flops = 4194304.0 * (OPERATIONS), .benchmark = true}
/* clang-format on */

#endif
