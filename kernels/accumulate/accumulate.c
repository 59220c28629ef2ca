/* The sum of a gradient over the micro-batches: sum + summand in the sum's place; the first micro-batch copies. */
#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/kernel.h"

static ons_status *accumulate_infer(ons_operands *o) {
    char left[ONS_TYPE_TEXT], right[ONS_TYPE_TEXT];
    if (!ons_dtype_is_float(o->inputs[0].dtype) || !ons_type_equal(&o->inputs[0], &o->inputs[1]))
        return ons_node_error(o, "sum %s and summand %s must be floats of one type",
                              ons_type_print(&o->inputs[0], left), ons_type_print(&o->inputs[1], right));
    o->outputs[0] = o->inputs[0];
    return NULL;
}

static void accumulate_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                 void *const *outputs) {
    const double *sum = inputs[0], *summand = inputs[1];
    double *result = outputs[0];
    for (int64_t i = 0; i < ons_elements(&o->inputs[0]); ++i)
        result[i] = step->micro_batch == 0 ? summand[i] : sum[i] + summand[i];
}

static ons_status *accumulate_prepare(ons_prepare *p) {
    ONS_TRY(ons_require_float32(p->operands));
    void *state;
    ONS_TRY(ons_prepare_state(p, sizeof(int64_t), &state));
    *(int64_t *)state = ons_elements(&p->operands->inputs[0]);
    return NULL;
}

static void accumulate_run(const ons_launch *launch) {
    int64_t n = *(const int64_t *)launch->state;
    const float *sum = launch->inputs[0], *summand = launch->inputs[1];
    float *result = launch->outputs[0];
    if (launch->step->micro_batch == 0) {
#pragma omp parallel for simd schedule(static) if (n > ONS_PARALLEL_GRAIN)
        for (int64_t i = 0; i < n; ++i) result[i] = summand[i];
        return;
    }
#pragma omp parallel for simd schedule(static) if (n > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < n; ++i) result[i] = sum[i] + summand[i];
}

static const ons_case accumulate_cases[] = {
    {.name = "matrix", .inputs = {ONS_F32(5, 7), ONS_F32(5, 7)}, .tolerance = 1e-6, .flops = 35},
    {.name = "rank0", .inputs = {ONS_F32(), ONS_F32()}, .tolerance = 1e-6, .flops = 1},
    {.name = "threads", .inputs = {ONS_F32(9, 5003), ONS_F32(9, 5003)}, .tolerance = 1e-6, .flops = 45027},
    {.name = "large",
     .inputs = {ONS_F32(2048, 2048), ONS_F32(2048, 2048)},
     .tolerance = 1e-6,
     .flops = 4194304,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(accumulate, "Accumulate", ONS_INTERNAL, ONS_ARITY(2, 2, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(accumulate_infer), ONS_COST(ons_cost_elementwise),
                    ONS_NOT_DIFFERENTIABLE("it belongs to the update"), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_ROLE_ACCUMULATE, 0, 0), ONS_ALIASES({ONS_ALIAS_STATE, 0, 0}), ONS_PLAIN_LAYOUT,
                    ONS_ONE_FORM, ONS_REFERENCE(accumulate_reference),
                    ONS_CPU_KERNEL(accumulate_prepare, accumulate_run),
                    ONS_CUDA_KERNEL_OF_SEVERAL(ons_cuda_flat_prepare, ons_cuda_accumulate, ons_cuda_several_accumulate),
                    accumulate_cases);
