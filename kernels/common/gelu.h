/* What Gelu and its gradient share. */
#ifndef ONSTAGE_KERNELS_COMMON_GELU_H
#define ONSTAGE_KERNELS_COMMON_GELU_H

#include "kernels/common/unary.h"
#include "kernels/common/vector_math.h"

#define ONS_GELU_ATTRIBUTES ONS_ATTRIBUTES(ONS_STRING_ATTRIBUTE("approximate", "none"))

/* √(2/π) and the factor of x³ in the formula with tanh. */
#define ONS_GELU_SCALE 0.79788456080286536
#define ONS_GELU_CUBE  0.044715

/* The argument of tanh. */
static inline float ons_gelu_inner(float x) { return (float)ONS_GELU_SCALE * (x + (float)ONS_GELU_CUBE * (x * x * x)); }

bool ons_gelu_by_tanh(const ons_operands *o);
ons_status *ons_gelu_infer(ons_operands *o); /* output like input 0; checks the attribute */
/* ons_unary_prepare, with parameters[0] 1 where the formula is the one with tanh. */
ons_status *ons_gelu_prepare(ons_prepare *p);

#endif
