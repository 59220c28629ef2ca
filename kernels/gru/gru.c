/* GRU. With z = f(W_z x + R_z h + b), r likewise, and
 *   n = g(W_h x + Wb_h + R_h (r h) + Rb_h), or with linear_before_reset g(W_h x + Wb_h + r (R_h h + Rb_h)):
 *   H = (1 - z) n + z h */
#include "kernels/common/cuda_recurrent.h"
#include "kernels/common/recurrent.h"
#include "kernels/common/recurrent_cases.h"

static ons_status *gru_infer(ons_operands *o) { return ons_recurrent_infer(o, ONS_CELL_GRU); }

static ons_cost gru_cost(const ons_operands *o) { return ons_recurrent_cost(o, ONS_CELL_GRU, 1); }

static void gru_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                          void *const *outputs) {
    ons_recurrent_reference(o, step, ONS_CELL_GRU, inputs, outputs);
}

static ons_status *gru_prepare(ons_prepare *p) { return ons_recurrent_prepare(p, ONS_CELL_GRU); }

static ons_status *gru_gradient(ons_gradient *g) { return ons_recurrent_gradient(g, ONS_CELL_GRU); }

#define OPERANDS(T, N, I, H, D) ONS_RECURRENT_OPERANDS(T, N, I, H, D, 3), ONS_F32(D, 6 * (H))
static ons_status *gru_prepare_cuda(ons_prepare *p) { return ons_cuda_recurrent_prepare(p, ONS_CELL_GRU); }

#define QUIET(T, N, I, H, D) ONS_RECURRENT_QUIET_OPERANDS(T, N, I, H, D, 3), ONS_F32(D, 6 * (H))
#define RESET_AFTER          ONS_SET_INT("linear_before_reset", 1)
static const ons_case gru_cases[] = {
    {.name = "forward", .inputs = {OPERANDS(5, 3, 4, 6, 1)}, .outputs = 3, .tolerance = 1e-5, .flops = 5400},
    {.name = "reset_after",
     .inputs = {OPERANDS(5, 3, 4, 6, 1), ONS_LEFT_OUT, ONS_F32(1, 3, 6)},
     .settings = {RESET_AFTER},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 5400},
    {.name = "no_bias", .inputs = {ONS_RECURRENT_OPERANDS(3, 2, 5, 7, 1, 3)}, .tolerance = 1e-5, .flops = 3024},
    {.name = "no_bias_reset_after",
     .inputs = {ONS_RECURRENT_OPERANDS(3, 2, 5, 7, 1, 3)},
     .settings = {RESET_AFTER},
     .tolerance = 1e-5,
     .flops = 3024},
    {.name = "reverse_lengths",
     .inputs = {OPERANDS(5, 4, 3, 4, 1), ONS_RECURRENT_LENGTHS_OF(5, 4), ONS_F32(1, 4, 4)},
     .settings = {ONS_SET_STRING("direction", "reverse")},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 3360},
    {.name = "bidirectional",
     .inputs = {OPERANDS(4, 3, 3, 5, 2), ONS_RECURRENT_LENGTHS_OF(4, 3), ONS_F32(2, 3, 5)},
     .settings = {ONS_SET_STRING("direction", "bidirectional")},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 5760},
    {.name = "bidirectional_reset_after",
     .inputs = {OPERANDS(4, 3, 3, 5, 2), ONS_RECURRENT_LENGTHS_OF(4, 3), ONS_F32(2, 3, 5)},
     .settings = {ONS_SET_STRING("direction", "bidirectional"), RESET_AFTER},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 5760},
    {.name = "batch_first",
     .inputs = {ONS_F32(3, 4, 2), ONS_F32(2, 9, 2), ONS_F32(2, 9, 3), ONS_F32(2, 18), ONS_RECURRENT_LENGTHS_OF(4, 3),
                ONS_F32(3, 2, 3)},
     .settings = {ONS_SET_STRING("direction", "bidirectional"), ONS_SET_INT("layout", 1)},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 2160},
    {.name = "clip",
     .inputs = {OPERANDS(4, 2, 3, 5, 1)},
     .settings = {ONS_SET_FLOAT("clip", 0.8)},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 1920},
    {.name = "other_activations",
     .inputs = {OPERANDS(4, 2, 3, 5, 2)},
     .settings = {ONS_SET_STRING("direction", "bidirectional"),
                  ONS_SET_STRINGS("activations", "HardSigmoid", "LeakyRelu", "Sigmoid", "Elu"),
                  ONS_SET_FLOATS("activation_alpha", 0.3, 0.1, 0.7), RESET_AFTER},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 3840},
    {.name = "two_blocks",
     .inputs = {QUIET(3, 9, 3, 37, 1), ONS_RECURRENT_LENGTHS_OF(3, 9)},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 239760,
     .no_gradient = true},
    {.name = "threads",
     .inputs = {QUIET(6, 17, 20, 70, 1)},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 3855600,
     .no_gradient = true},
    {.name = "threads_reset_after",
     .inputs = {QUIET(6, 17, 20, 70, 1)},
     .settings = {RESET_AFTER},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 3855600,
     .no_gradient = true},
    {.name = "no_steps", .inputs = {OPERANDS(0, 2, 3, 4, 1), ONS_LEFT_OUT, ONS_F32(1, 2, 4)}, .outputs = 2, .flops = 0},
    {.name = "state", .inputs = {OPERANDS(5, 3, 4, 2, 1), ONS_LEFT_OUT, ONS_F32(1, 2, 2)}, .error = "initial_h is"},
    {.name = "too_many_activations",
     .inputs = {OPERANDS(5, 3, 4, 2, 1)},
     .settings = {ONS_SET_STRINGS("activations", "Sigmoid", "Tanh", "Tanh")},
     .error = "for each direction"},
    {.name = "large",
     .inputs = {QUIET(64, 32, 128, 256, 1)},
     .settings = {RESET_AFTER},
     .outputs = 3,
     .tolerance = 1e-4,
     .flops = 1207959552,
     .benchmark = true},
    {.name = "large_reset_before",
     .inputs = {QUIET(64, 32, 128, 256, 1)},
     .outputs = 3,
     .tolerance = 1e-4,
     .flops = 1207959552,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(gru, "GRU", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(3, 6, 0, 3),
                    ONS_ATTRIBUTES(ONS_RECURRENT_ATTRIBUTES, ONS_INT_ATTRIBUTE("linear_before_reset", 0)),
                    ONS_INFER(gru_infer), ONS_COST(gru_cost),
                    ONS_GRADIENT_RULE(gru_gradient, ONS_ALL_INPUTS & ~ONS_INPUT_BIT(ONS_RECURRENT_LENGTHS)),
                    ONS_SAVES(ONS_INPUT_BIT(ONS_RECURRENT_X) | ONS_INPUT_BIT(ONS_RECURRENT_W) |
                                  ONS_INPUT_BIT(ONS_RECURRENT_R) | ONS_INPUT_BIT(ONS_RECURRENT_LENGTHS),
                              ONS_INPUT_BIT(2)),
                    ONS_RECURRENT_CELL(ONS_INPUT_BIT(ONS_RECURRENT_H0)), ONS_NO_ALIASES, ONS_PLAIN_LAYOUT,
                    ONS_FORMS(ons_recurrent_upgrade, ONS_NO_PATTERNS, NULL), ONS_REFERENCE(gru_reference),
                    ONS_CPU_KERNEL(gru_prepare, ons_recurrent_run), ONS_CUDA_KERNEL(gru_prepare_cuda, ons_cuda_gru),
                    gru_cases);
