/* AdamW: weight decay comes straight off the parameter. */
#include "kernels/common/optimizer.h"

static void adamw_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                            void *const *outputs) {
    ons_adam_reference(o, step, inputs, outputs, true);
}

static void adamw_run(const ons_launch *launch) { ons_adam_run(launch, true); }

/* Factor and decay 3, averages 7, root and correction 3, quotient and step 4. */
static ons_cost adamw_cost(const ons_operands *o) { return ons_optimizer_cost(o, 17); }

static const ons_case adamw_cases[] = {
    {.name = "matrix",
     .inputs = {ONS_F32(5, 7), ONS_F32(5, 7), ONS_LEFT_OUT, ONS_F32(5, 7), ONS_F32_IN(0.01, 1, 5, 7)},
     .outputs = 3,
     .tolerance = 2e-6,
     .flops = 595},
    {.name = "factor",
     .inputs = {ONS_F32(37), ONS_F32(37), ONS_F32_IN(0.1, 1), ONS_F32(37), ONS_F32_IN(0.01, 1, 37)},
     .settings = {ONS_SET_FLOAT("weight_decay", 0.1)},
     .outputs = 3,
     .tolerance = 2e-6,
     .flops = 629},
    {.name = "betas",
     .inputs = {ONS_F32(3, 4), ONS_F32(3, 4), ONS_LEFT_OUT, ONS_F32(3, 4), ONS_F32_IN(0.01, 1, 3, 4)},
     .settings = {ONS_SET_FLOAT("beta1", 0), ONS_SET_FLOAT("beta2", 0.9), ONS_SET_FLOAT("eps", 1e-3),
                  ONS_SET_FLOAT("weight_decay", 0)},
     .outputs = 3,
     .tolerance = 2e-6,
     .flops = 204},
    {.name = "rank0",
     .inputs = {ONS_F32(), ONS_F32(), ONS_LEFT_OUT, ONS_F32(), ONS_F32_IN(0.01, 1)},
     .outputs = 3,
     .tolerance = 2e-6,
     .flops = 17},
    {.name = "threads",
     .inputs = {ONS_F32(9, 5003), ONS_F32(9, 5003), ONS_LEFT_OUT, ONS_F32(9, 5003), ONS_F32_IN(0.01, 1, 9, 5003)},
     .outputs = 3,
     .tolerance = 2e-6,
     .flops = 765459},
    {.name = "large",
     .inputs = {ONS_F32(2048, 2048), ONS_F32(2048, 2048), ONS_F32_IN(0.1, 1), ONS_F32(2048, 2048),
                ONS_F32_IN(0.01, 1, 2048, 2048)},
     .outputs = 3,
     .tolerance = 2e-6,
     .flops = 71303168,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(adamw, "AdamW", ONS_INTERNAL, ONS_ARITY(2, 5, 3, 3), ONS_ADAM_ATTRIBUTES(0.01),
                    ONS_INFER(ons_optimizer_infer), ONS_COST(adamw_cost), ONS_NOT_DIFFERENTIABLE("it is an update"),
                    ONS_SAVES_NOTHING, ONS_ROLES(ONS_ROLE_ADAMW, 0, 0), ONS_UPDATES_TWO_STATES, ONS_PLAIN_LAYOUT,
                    ONS_ONE_FORM, ONS_REFERENCE(adamw_reference), ONS_CPU_KERNEL(ons_optimizer_prepare, adamw_run),
                    ONS_NO_CUDA_KERNEL("this build has no CUDA"), adamw_cases);
