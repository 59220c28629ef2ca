/* Decomposed forms of functions whose derivative PyTorch defines where the decomposition has none, or another:
 * exporters write std, norms, atan2, … as several nodes, and 0 · ∞ among their gradients is no number. Each is built
 * anew so that the result is the same and the gradient is PyTorch's. */
#ifndef ONSTAGE_KERNELS_STOP_GRADIENT_DERIVATIVES_H
#define ONSTAGE_KERNELS_STOP_GRADIENT_DERIVATIVES_H

#include "graph/operator.h"

/* sqrt of a variance (std), whose derivative is 0 at 0. */
ons_replace_function ons_derivative_of_deviation;
/* (Σ |x|^p)^(1/p): 0 where the sum is 0. */
ons_replace_function ons_derivative_of_norm;
ons_replace_function ons_derivative_of_sinc;
ons_replace_function ons_derivative_of_atan2;
/* x log y, which is 0 where x is 0. */
ons_replace_function ons_derivative_of_xlogy;
/* Of probabilities: (p - t) / max(p (1 - p), 1e-12). */
ons_replace_function ons_derivative_of_cross_entropy;
/* log(sigmoid(x)) and log(exp(a) + exp(b)), by which exponentials do not overflow. */
ons_replace_function ons_derivative_of_log_sigmoid;
ons_replace_function ons_derivative_of_logaddexp;

#define ONS_ATAN2_FORM                                                                                                 \
    "Where(Less(x, 0), Where(Greater(y, 0), Add(a=Atan(Div(y, x)), 3.14159265), Sub(a, 3.14159265)), a)"

#define ONS_DERIVATIVE_PATTERNS                                                                                        \
    ONS_PATTERNS({"Sqrt(v)", ons_derivative_of_deviation}, {"Pow(s, ?root)", ons_derivative_of_norm},                  \
                 {"Where(Equal(x, 0), 1, Div(Sin(z=Mul(x, ?factor)), z))", ons_derivative_of_sinc},                    \
                 {ONS_ATAN2_FORM, ons_derivative_of_atan2},                                                            \
                 {"Where(IsNaN(w=" ONS_ATAN2_FORM "), 0, w)", ons_derivative_of_atan2},                                \
                 {"Where(Equal(x, 0), x, Where(IsNaN(y), y, Mul(x, Log(y))))", ons_derivative_of_xlogy},               \
                 {"Sub(far=Mul(Sub(t, 1), out=Max(Log(Add(Neg(p), 1)), -100)), near=Mul(t, in=Max(Log(p), -100)))",    \
                  ons_derivative_of_cross_entropy},                                                                    \
                 {"Log(Sigmoid(x))", ons_derivative_of_log_sigmoid},                                                   \
                 {"Log(Add(Exp(x), Exp(y)))", ons_derivative_of_logaddexp})

#endif
