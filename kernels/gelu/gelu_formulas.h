/* What Gelu and its gradient share. */
#ifndef ONSTAGE_KERNELS_GELU_GELU_FORMULAS_H
#define ONSTAGE_KERNELS_GELU_GELU_FORMULAS_H

#include "kernels/common/elementwise/unary.h"

#define ONS_GELU_ATTRIBUTES ONS_ATTRIBUTES(ONS_STRING_ATTRIBUTE("approximate", "none"))

/* √(2/π) and the factor of x³ in the formula with tanh. */
#define ONS_GELU_SCALE 0.79788456080286536
#define ONS_GELU_CUBE  0.044715

/* In double, for references: the formula with tanh, and its slope. */
double ons_gelu_tanh(double x);
double ons_gelu_tanh_slope(double x);
double ons_gelu(double x, bool by_tanh); /* x·Φ(x), exactly or by that formula */

bool ons_gelu_by_tanh(const ons_operands *o);
ons_status *ons_gelu_infer(ons_operands *o); /* output like input 0; checks the attribute */
/* ons_unary_prepare, with parameters[0] 1 where the formula is the one with tanh. */
ons_status *ons_gelu_prepare(ons_prepare *p);

/* Shared out to the threads where they are many. y may be x, dx may be dy or x. `again`: Gelu(x) with the bits that
 * ons_gelu_run makes, which may lie where dx does not; NULL: not wanted. */
void ons_gelu_run(const float *x, float *y, int64_t count, bool by_tanh);
void ons_gelu_slope_run(const float *dy, const float *x, float *dx, float *again, int64_t count, bool by_tanh);

#endif
