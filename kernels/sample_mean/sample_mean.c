/* The model's own loss, averaged over the micro-batches: x × samples of the micro-batch ÷ samples of the step. */
#include "kernels/common/kernel.h"

static ons_status *sample_mean_infer(ons_operands *o) {
    char text[ONS_TYPE_TEXT];
    if (!ons_dtype_is_float(o->inputs[0].dtype) || ons_elements(&o->inputs[0]) != 1)
        return ons_node_error(o, "a loss must be one float number, not %s", ons_type_print(&o->inputs[0], text));
    o->outputs[0] = ons_loss_type(&o->inputs[0]);
    return NULL;
}

static void sample_mean_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                  void *const *outputs) {
    (void)o;
    *(double *)outputs[0] = *(const double *)inputs[0] * step->sample_share;
}

static ons_status *sample_mean_prepare(ons_prepare *p) { return ons_require_float32(p->operands); }

static void sample_mean_run(const ons_launch *launch) {
    *(float *)launch->outputs[0] = (float)(*(const float *)launch->inputs[0] * launch->step->sample_share);
}

static ons_status *sample_mean_gradient(ons_gradient *g) {
    g->gradients[0] = ons_build(g->builder, &ons_op_sample_mean_gradient,
                                ONS_IN(ons_gradient_input(g, 0), g->cotangents[0]), ONS_DEFAULTS);
    return NULL;
}

static const ons_case sample_mean_cases[] = {
    {.name = "rank0", .inputs = {ONS_F32()}, .tolerance = 1e-6, .flops = 1},
    {.name = "rank2", .inputs = {ONS_F32(1, 1)}, .tolerance = 1e-6, .flops = 1},
    {.name = "double", .inputs = {ONS_RANDOM(ONS_FLOAT64, 1, 2)}, .tolerance = 1e-14, .flops = 1},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(sample_mean, "SampleMean", ONS_INTERNAL, ONS_ARITY(1, 1, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(sample_mean_infer), ONS_COST(ons_cost_elementwise),
                    ONS_GRADIENT_RULE(sample_mean_gradient, ONS_ALL_INPUTS), ONS_SAVES(ONS_INPUT_BIT(0), 0),
                    ONS_ROLES(ONS_ROLE_SAMPLE_MEAN, 0, 0), ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(sample_mean_reference), ONS_CPU_KERNEL(sample_mean_prepare, sample_mean_run),
                    ONS_CUDA_KERNEL(sample_mean_prepare, ons_cuda_sample_mean), sample_mean_cases);
