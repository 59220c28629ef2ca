/* The Gelus of com.microsoft: gelu(x + bias), the bias of the last axis' size where there is one. */
#ifndef ONSTAGE_KERNELS_MICROSOFT_MICROSOFT_GELU_H
#define ONSTAGE_KERNELS_MICROSOFT_MICROSOFT_GELU_H

#include "kernels/common/operator/expand.h"
#include "kernels/gelu/gelu_formulas.h"

/* Input 1, where there is one, broadcasts to input 0. */
ons_status *ons_microsoft_gelu_infer(ons_operands *o);

/* Gelu of the sum; `approximate` as Gelu has it. */
ons_status *ons_microsoft_gelu_expand(ons_replacement *m, const char *approximate);
void ons_microsoft_gelu_reference(const ons_operands *o, const void *const *inputs, void *const *outputs,
                                  double (*formula)(double x));

double ons_gelu_exact(double x);

#endif
