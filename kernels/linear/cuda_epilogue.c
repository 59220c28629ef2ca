#include "kernels/linear/cuda_epilogue.h"

static int64_t aligned(int64_t bytes) { return (bytes + 255) / 256 * 256; }

ons_status *ons_cuda_linear_gelu_prepare(ons_prepare *p, const ons_gemm_form *form, bool keeps) {
    const ons_operands *o = p->operands;
    ons_cuda_linear_gelu_node *s;
    ONS_NEW_STATE(s, p);
    s->elements = ons_elements(&o->outputs[0]);
    ons_cuda_epilogue epilogue = keeps ? ONS_CUDA_BIAS_GELU_KEEP : ONS_CUDA_BIAS_GELU;
    ONS_TRY(ons_cuda_gemm_plan_or(p, form, epilogue, ONS_CUDA_BIAS, false, &s->gemm));
    s->kept_at = aligned(p->scratch_bytes);
    if (s->gemm.call.epilogue == ONS_CUDA_BIAS_GELU_KEEP && !ons_has_output(o, 1))
        p->scratch_bytes = s->kept_at + aligned(ons_type_dense_bytes(&o->outputs[0]));
    return NULL;
}

ons_status *ons_cuda_linear_gelu_gradient_prepare(ons_prepare *p, const ons_gemm_form *form) {
    ons_cuda_linear_gelu_node *s;
    ONS_NEW_STATE(s, p);
    s->elements = ons_elements(&p->operands->outputs[0]);
    /* The library's tanh is a little less than a float32's. */
    bool exact = p->operands->outputs[0].dtype == ONS_FLOAT32 && !p->tf32;
    ons_cuda_epilogue slope = exact ? ONS_CUDA_PLAIN : ONS_CUDA_GELU_SLOPE;
    return ons_cuda_gemm_plan_or(p, form, slope, ONS_CUDA_PLAIN, false, &s->gemm);
}

ons_status *ons_cuda_linear_add_prepare(ons_prepare *p, const ons_gemm_form *form, uint32_t added) {
    ons_cuda_linear_add_node *s;
    ONS_NEW_STATE(s, p);
    s->elements = ons_elements(&p->operands->outputs[0]);
    s->added = added;
    ons_cuda_epilogue bias = added == 3 ? ONS_CUDA_BIAS : ONS_CUDA_PLAIN;
    return ons_cuda_gemm_plan_or(p, form, bias, bias, true, &s->gemm);
}

/* The reduction as an operator of its own would have it; `bytes`: of its scratch. */
static ons_status *plan_sums(const ons_prepare *p, uint32_t summed, const ons_cuda_reduction **sums, int64_t *bytes) {
    ons_operands alone = *p->operands;
    alone.inputs += summed;
    alone.input_count = 1;
    ons_prepare own = *p;
    own.operands = &alone;
    bool reduced[ONS_RANK_MAX];
    for (uint32_t i = 0; i < ONS_RANK_MAX; ++i) reduced[i] = i + 1 < alone.inputs[0].shape.rank;
    ONS_TRY(ons_cuda_reduction_over(&own, reduced));
    *sums = own.state;
    *bytes = own.scratch_bytes;
    return NULL;
}

/* Sums come behind the product, so both have the scratch in turn. */
ons_status *ons_cuda_linear_weight_gradient_prepare(ons_prepare *p, const ons_gemm_form *form, uint32_t summed) {
    ons_cuda_linear_weight_node *s;
    ONS_NEW_STATE(s, p);
    s->summed = summed;
    int64_t bytes;
    ONS_TRY(plan_sums(p, summed, &s->sums, &bytes));
    ons_cuda_epilogue epilogue = summed == 0 ? ONS_CUDA_SUMS_OF_A : ONS_CUDA_SUMS_OF_B;
    ONS_TRY(ons_cuda_gemm_plan_or(p, form, epilogue, ONS_CUDA_PLAIN, false, &s->gemm));
    if (s->gemm.call.epilogue == ONS_CUDA_PLAIN && p->scratch_bytes < bytes) p->scratch_bytes = bytes;
    return NULL;
}
