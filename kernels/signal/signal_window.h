/* The windows of signal processing: a constant, cosines of one and of two periods, over `size` points. */
#ifndef ONSTAGE_KERNELS_SIGNAL_SIGNAL_WINDOW_H
#define ONSTAGE_KERNELS_SIGNAL_SIGNAL_WINDOW_H

#include "kernels/common/operator/kernel.h"
#include "kernels/common/operator/stand_in.h"

#define ONS_SIGNAL_WINDOW_ATTRIBUTES                                                                                   \
    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("output_datatype", ONS_FLOAT32), ONS_INT_ATTRIBUTE("periodic", 1))

ons_status *ons_signal_window_infer(ons_operands *o);
/* first - second cos(2πi / N) + third cos(4πi / N), N being the size, or one less where the window is symmetric. */
void ons_signal_window_reference(const ons_operands *o, void *const *outputs, double first, double second,
                                 double third);

/* The operator of such a window. */
#define ONS_DEFINE_SIGNAL_WINDOW(SYMBOL, NAME, FIRST, SECOND, THIRD)                                                   \
    static void SYMBOL##_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,             \
                                   void *const *outputs) {                                                             \
        ons_signal_window_reference(o, outputs, FIRST, SECOND, THIRD);                                                 \
    }                                                                                                                  \
    ONS_DEFINE_OPERATOR(SYMBOL, NAME, ONS_ONNX(17, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1), ONS_SIGNAL_WINDOW_ATTRIBUTES,   \
                        ONS_INFER(ons_signal_window_infer), ONS_COST(ons_cost_elementwise),                            \
                        ONS_NOT_DIFFERENTIABLE("it depends on an integer alone"), ONS_SAVES_NOTHING,                   \
                        ONS_PLAIN_OPERATOR, ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,                            \
                        ONS_REFERENCE(SYMBOL##_reference))

#define ONS_SIGNAL_WINDOW_CASES                                                                                        \
    {.name = "periodic", .inputs = {ONS_I64_SCALAR(10)}, .flops = 10},                                                 \
        {.name = "symmetric",                                                                                          \
         .inputs = {ONS_I64_SCALAR(9)},                                                                                \
         .settings = {ONS_SET_INT("periodic", 0), ONS_SET_INT("output_datatype", ONS_FLOAT64)},                        \
         .flops = 9},                                                                                                  \
        {.name = "one", .inputs = {ONS_I64_SCALAR(1)}, .settings = {ONS_SET_INT("periodic", 0)}, .flops = 1},          \
        {.name = "empty", .inputs = {ONS_I64_SCALAR(0)}, .flops = 0},                                                  \
        {.name = "negative", .inputs = {ONS_I64_SCALAR(-1)}, .error = "size"}, {                                       \
        .name = "dtype", .inputs = {ONS_I64_SCALAR(4)}, .settings = {ONS_SET_INT("output_datatype", 8)},               \
        .error = "element type"                                                                                        \
    }

#endif
