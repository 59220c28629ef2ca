/* What the losses that compare prediction and target element by element share. A folder gives its formula twice (double
 * for the reference, float for the kernel, written so that the compiler turns the loop into vectors), and the macros
 * below make the loops. The sum is in double and in fixed order. */
#ifndef ONSTAGE_KERNELS_LOSSES_POINTWISE_LOSS_H
#define ONSTAGE_KERNELS_LOSSES_POINTWISE_LOSS_H

#include <math.h>

#include "kernels/common/elementwise/cases.h"
#include "kernels/common/math/vector_math.h"
#include "kernels/common/rows/rows.h"

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

#define ONS_POINTWISE_LOSS_COST(SYMBOL, OPERATIONS)                                                                    \
    static ons_cost SYMBOL##_cost(const ons_operands *o) {                                                             \
        return (ons_cost){(OPERATIONS) * (double)ons_elements(&o->inputs[0]), ons_operand_bytes(o)};                   \
    }

/* SYMBOL_cost, SYMBOL_gradient and SYMBOL_reference from the floating-point operations an element takes and the loss of
 * one element, an expression of `double x, t, parameter`. The gradient is an operator of its own, SYMBOL_gradient.
 * ONS_POINTWISE_LOSS_KERNEL makes SYMBOL_run from the same expression of floats. */
#define ONS_POINTWISE_LOSS_RULES(SYMBOL, OPERATIONS, REFERENCE)                                                        \
    extern const ons_operator ons_op_##SYMBOL##_gradient;                                                              \
    ONS_POINTWISE_LOSS_COST(SYMBOL, OPERATIONS)                                                                        \
    static ons_status *SYMBOL##_gradient(ons_gradient *g) {                                                            \
        return ons_pointwise_loss_build_gradient(g, &ons_op_##SYMBOL##_gradient);                                      \
    }                                                                                                                  \
    static void SYMBOL##_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,             \
                                   void *const *outputs) {                                                             \
        const double *prediction = inputs[0], *target = inputs[1];                                                     \
        double sum = 0, parameter = ons_pointwise_loss_parameter(o);                                                   \
        (void)parameter;                                                                                               \
        for (int64_t i = 0, n = ons_elements(&o->inputs[0]); i < n; ++i) {                                             \
            double x = prediction[i], t = target[i];                                                                   \
            sum += (REFERENCE);                                                                                        \
        }                                                                                                              \
        *(double *)outputs[0] = sum / step->counted_targets;                                                           \
    }

#define ONS_POINTWISE_LOSS_KERNEL(SYMBOL, KERNEL)                                                                      \
    static double SYMBOL##_part(const float *prediction, const float *target, float parameter, int64_t n) {            \
        enum { BLOCK = 512 };                                                                                          \
        float losses[BLOCK];                                                                                           \
        double sum = 0;                                                                                                \
        (void)parameter;                                                                                               \
        for (int64_t begin = 0; begin < n; begin += BLOCK) {                                                           \
            int count = n - begin < BLOCK ? (int)(n - begin) : BLOCK;                                                  \
            _Pragma("omp simd") for (int i = 0; i < count; ++i) {                                                      \
                float x = prediction[begin + i], t = target[begin + i];                                                \
                losses[i] = (KERNEL);                                                                                  \
            }                                                                                                          \
            _Pragma("omp simd reduction(+ : sum)") for (int i = 0; i < count; ++i) sum += (double)losses[i];           \
        }                                                                                                              \
        return sum;                                                                                                    \
    }                                                                                                                  \
    static void SYMBOL##_run(const ons_launch *launch) {                                                               \
        const ons_pointwise_loss *loss = launch->state;                                                                \
        const float *prediction = launch->inputs[0], *target = launch->inputs[1];                                      \
        double *sums = launch->scratch;                                                                                \
        int parts = loss->parts;                                                                                       \
        _Pragma("omp parallel for schedule(static) if (parts > 1)") for (int part = 0; part < parts; ++part) {         \
            int64_t begin = ons_part_begin(loss->elements, parts, part);                                               \
            int64_t end = ons_part_begin(loss->elements, parts, part + 1);                                             \
            sums[part] = SYMBOL##_part(prediction + begin, target + begin, loss->parameter, end - begin);              \
        }                                                                                                              \
        *(float *)launch->outputs[0] = (float)(ons_sum_parts(sums, parts) / launch->step->counted_targets);            \
    }

/* The same for a gradient, but for a rule: the expressions give the slope at x. */
#define ONS_POINTWISE_LOSS_GRADIENT_RULES(SYMBOL, OPERATIONS, REFERENCE)                                               \
    ONS_POINTWISE_LOSS_COST(SYMBOL, OPERATIONS)                                                                        \
    static void SYMBOL##_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,             \
                                   void *const *outputs) {                                                             \
        const double *prediction = inputs[0], *target = inputs[1];                                                     \
        double *dx = outputs[0], scale = *(const double *)inputs[2] / step->counted_targets;                           \
        double parameter = ons_pointwise_loss_parameter(o);                                                            \
        (void)parameter;                                                                                               \
        for (int64_t i = 0, n = ons_elements(&o->inputs[0]); i < n; ++i) {                                             \
            double x = prediction[i], t = target[i];                                                                   \
            dx[i] = (REFERENCE)*scale;                                                                                 \
        }                                                                                                              \
    }

#define ONS_POINTWISE_LOSS_GRADIENT_KERNEL(SYMBOL, KERNEL)                                                             \
    static void SYMBOL##_run(const ons_launch *launch) {                                                               \
        const ons_pointwise_loss *loss = launch->state;                                                                \
        const float *prediction = launch->inputs[0], *target = launch->inputs[1];                                      \
        float *dx = launch->outputs[0];                                                                                \
        float scale = (float)(*(const float *)launch->inputs[2] / launch->step->counted_targets);                      \
        float parameter = loss->parameter;                                                                             \
        int64_t n = loss->elements;                                                                                    \
        (void)parameter;                                                                                               \
        _Pragma("omp parallel for simd schedule(static) if (n > ONS_PARALLEL_GRAIN)") for (int64_t i = 0; i < n;       \
                                                                                           ++i) {                      \
            float x = prediction[i], t = target[i];                                                                    \
            dx[i] = (KERNEL)*scale;                                                                                    \
        }                                                                                                              \
    }

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
