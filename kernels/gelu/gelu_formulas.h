/* What Gelu and its gradient share. */
#ifndef ONSTAGE_KERNELS_GELU_GELU_FORMULAS_H
#define ONSTAGE_KERNELS_GELU_GELU_FORMULAS_H

#include "kernels/common/elementwise/unary.h"
#include "kernels/common/math/vector_math.h"

#define ONS_GELU_ATTRIBUTES ONS_ATTRIBUTES(ONS_STRING_ATTRIBUTE("approximate", "none"))

/* √(2/π) and the factor of x³ in the formula with tanh. */
#define ONS_GELU_SCALE 0.79788456080286536
#define ONS_GELU_CUBE  0.044715

/* The argument of tanh. */
static inline float ons_gelu_inner(float x) { return (float)ONS_GELU_SCALE * (x + (float)ONS_GELU_CUBE * (x * x * x)); }

/* By the formula with tanh. (1 + tanh u) / 2 is the sigmoid of 2u. */
static inline float ons_gelu_by_sigmoid(float x) { return x * ons_sigmoid(2 * ons_gelu_inner(x)); }
static inline float ons_gelu_slope_by_sigmoid(float x) {
    float s = ons_sigmoid(2 * ons_gelu_inner(x));
    float turn = (float)(2 * ONS_GELU_SCALE) * (1 + (float)(3 * ONS_GELU_CUBE) * (x * x));
    /* Where s is 0 or 1 so is the slope; the product would be 0·∞ far out. */
    float flat = s * (1 - s);
    return flat == 0 ? s : s + x * flat * turn;
}

/* In double, for references: the formula with tanh, and its slope. */
double ons_gelu_tanh(double x);
double ons_gelu_tanh_slope(double x);

bool ons_gelu_by_tanh(const ons_operands *o);
ons_status *ons_gelu_infer(ons_operands *o); /* output like input 0; checks the attribute */
/* ons_unary_prepare, with parameters[0] 1 where the formula is the one with tanh. */
ons_status *ons_gelu_prepare(ons_prepare *p);

#endif
