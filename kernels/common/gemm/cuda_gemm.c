#include "kernels/common/gemm/cuda_gemm.h"

#include <stdlib.h>
#include <string.h>

#include "base/environment.h"
#include "graph/arena_layout.h"
#include "kernels/common/elementwise/cuda_elementwise.h"

/* What NVIDIA recommends for Hopper; small products need none of it. */
enum { WORKSPACE_BYTES = 32 * 1024 * 1024, SMALL_WORKSPACE_BYTES = 1024 * 1024 };
static const double small_flops = 1e8;

int64_t ons_cuda_workspace(double flops) { return flops < small_flops ? SMALL_WORKSPACE_BYTES : WORKSPACE_BYTES; }

int64_t ons_cuda_alignment_of(int64_t bytes) {
    int64_t lowest = bytes & -bytes;
    return lowest == 0 || lowest > ONS_ARENA_ALIGNMENT ? ONS_ARENA_ALIGNMENT : lowest;
}

/* Matrices that are given one by one begin where others end. */
static int64_t alignment(const ons_cuda_gemm_state *gemm, const ons_gemm_sizes *s, ons_dtype dtype) {
    int64_t any = gemm->each > 1 ? s->m * s->n : 0; /* its lowest bit is that of all */
    for (int64_t i = 0; gemm->offsets_a != NULL && i < gemm->each; ++i) any |= gemm->offsets_a[i] | gemm->offsets_b[i];
    return ons_cuda_alignment_of(any * (int64_t)ons_dtype_size(dtype));
}

static void destroy(void *state) { ons_cuda_plan_free(((ons_cuda_gemm_state *)state)->plan); }

/* Describes the product in *gemm, without an epilogue. `nothing`: there is nothing to multiply. */
static ons_status *describe(ons_prepare *p, const ons_gemm_form *form, ons_cuda_gemm_state *gemm, bool *nothing) {
    const ons_operands *o = p->operands;
    ONS_TRY(ons_cuda_require_plain(o));
    ONS_TRY(ons_cuda_require_float(o, o->outputs[0].dtype));
    ons_gemm plain;
    ONS_TRY(ons_gemm_plan(p, &o->inputs[0].shape, &o->inputs[1].shape, form, &plain));
    const ons_gemm_sizes *s = &plain.sizes;
    bool each = plain.offsets_a != NULL;
    gemm->each = each ? s->batch : 1;
    gemm->offsets_a = plain.offsets_a;
    gemm->offsets_b = plain.offsets_b;
    gemm->output_bytes = ons_type_dense_bytes(&o->outputs[0]);
    int64_t workspace = ons_cuda_workspace(ons_gemm_flops(s));
    gemm->call = (ons_cuda_gemm_call){
        .dtype = o->outputs[0].dtype,
        .tf32 = p->tf32 && o->outputs[0].dtype == ONS_FLOAT32,
        .batch = each ? 1 : s->batch,
        .m = s->m,
        .n = s->n,
        .k = s->k,
        .transpose_a = form->transpose_a,
        .transpose_b = form->transpose_b,
        .alpha = (float)form->alpha,
        .alignment = alignment(gemm, s, o->outputs[0].dtype),
        .workspace_bytes = workspace < p->scratch_limit ? workspace : p->scratch_limit / 256 * 256,
    };
    p->implementation = each ? "cublasLt, one for each matrix" : "cublasLt";
    *nothing = s->batch == 0 || s->m == 0 || s->n == 0 || s->k == 0;
    return NULL;
}

static ons_status *plan(ons_prepare *p, ons_cuda_epilogue epilogue, bool adds, ons_cuda_gemm_state *gemm) {
    gemm->call.epilogue = epilogue;
    gemm->call.adds = adds;
    ONS_TRY(ons_cuda_plan_new(&gemm->call, &gemm->plan));
    p->destroy = destroy;
    p->scratch_bytes = ons_cuda_plan_workspace(gemm->plan);
    return NULL;
}

ons_status *ons_cuda_gemm_plan(ons_prepare *p, const ons_gemm_form *form, ons_cuda_epilogue epilogue, bool adds,
                               ons_cuda_gemm_state *gemm) {
    bool nothing;
    ONS_TRY(describe(p, form, gemm, &nothing));
    gemm->call.adds = adds;
    gemm->call.epilogue = epilogue;
    return nothing ? NULL : plan(p, epilogue, adds, gemm);
}

/* For comparisons: everything beside products by kernels of ours. */
static bool is_switched_off(void) { return ons_environment_is_off(ONS_ENV_ONSTAGE_CUBLASLT_EPILOGUES); }

ons_status *ons_cuda_gemm_plan_or(ons_prepare *p, const ons_gemm_form *form, ons_cuda_epilogue epilogue,
                                  ons_cuda_epilogue otherwise, bool adds, ons_cuda_gemm_state *gemm) {
    bool nothing;
    ONS_TRY(describe(p, form, gemm, &nothing));
    gemm->call.epilogue = otherwise;
    if (nothing) return NULL;
    bool more = epilogue != otherwise || adds;
    if (more && !is_switched_off() && gemm->each == 1) {
        ons_status *status = plan(p, epilogue, adds, gemm);
        if (ons_status_get_code(status) != ONS_UNSUPPORTED) {
            p->implementation = "cublasLt, all in its epilogue";
            return status;
        }
        ons_status_free(status);
    }
    p->implementation = "cublasLt, then kernels";
    return plan(p, otherwise, false, gemm);
}

ons_status *ons_cuda_gemm_prepare(ons_prepare *p, const ons_gemm_form *form, bool bias) {
    ons_cuda_gemm_state *gemm;
    ONS_NEW_STATE(gemm, p);
    return ons_cuda_gemm_plan(p, form, bias ? ONS_CUDA_BIAS : ONS_CUDA_PLAIN, false, gemm);
}

static const void *element(const void *memory, int64_t index, ons_dtype dtype) {
    return (const char *)memory + index * (int64_t)ons_dtype_size(dtype);
}

void ons_cuda_gemm_run(const ons_cuda_gemm_state *gemm, const ons_launch *launch, void *c, const void *vector,
                       const void *matrix, const void *added) {
    const ons_cuda_gemm_call *g = &gemm->call;
    for (int64_t i = 0; gemm->plan != NULL && i < gemm->each; ++i) {
        int64_t first = i * g->m * g->n;
        ons_cuda_gemm_memory memory = {
            .a = launch->inputs[0],
            .b = launch->inputs[1],
            .d = added == NULL ? NULL : element(added, first, g->dtype),
            .c = (char *)c + first * (int64_t)ons_dtype_size(g->dtype),
            .vector = (void *)(uintptr_t)vector,
            .matrix = (void *)(uintptr_t)matrix,
            .workspace = launch->scratch,
        };
        if (gemm->offsets_a != NULL) {
            memory.a = element(memory.a, gemm->offsets_a[i], g->dtype);
            memory.b = element(memory.b, gemm->offsets_b[i], g->dtype);
        }
        ons_cuda_plan_run(gemm->plan, launch->stream, &memory);
    }
}
