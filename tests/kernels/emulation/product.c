/* In cuBLASLt's place: the products of cuda_product.h by plain loops, in the type's own rounding at the end. */
#include <stdlib.h>

#include "graph/small_types.h"
#include "kernels/common/cuda_product.h"
#include "tests/kernels/emulation/emulation.h"
#include "tests/kernels/emulation/selection.h"

const char *const ons_emulation_only[] = {NULL};

struct ons_cuda_plan {
    ons_cuda_gemm_call gemm;
};

ons_status *ons_cuda_plan_new(const ons_cuda_gemm_call *gemm, ons_cuda_plan **plan) {
    *plan = calloc(1, sizeof **plan);
    if (*plan == NULL) return ons_status_out_of_memory();
    (*plan)->gemm = *gemm;
    return NULL;
}

int64_t ons_cuda_plan_workspace(const ons_cuda_plan *plan) { return plan->gemm.workspace_bytes; }

void ons_cuda_plan_free(ons_cuda_plan *plan) { free(plan); }

static double get(const ons_cuda_gemm_call *g, const void *x, int64_t i) {
    if (g->dtype == ONS_FLOAT32) return ((const float *)x)[i];
    uint16_t bits = ((const uint16_t *)x)[i];
    return g->dtype == ONS_FLOAT16 ? ons_half_to_float(bits) : ons_bfloat16_to_float(bits);
}

static void set(const ons_cuda_gemm_call *g, void *x, int64_t i, double value) {
    if (g->dtype == ONS_FLOAT32)
        ((float *)x)[i] = (float)value;
    else
        ((uint16_t *)x)[i] =
            g->dtype == ONS_FLOAT16 ? ons_float_to_half((float)value) : ons_float_to_bfloat16((float)value);
}

/* One call, kept until it runs. */
typedef struct call {
    ons_cuda_gemm_call gemm;
    const void *a, *b, *bias;
    void *c;
} call;

static void multiply(void *argument) {
    const call *x = argument;
    const ons_cuda_gemm_call *g = &x->gemm;
    for (int64_t at = 0; at < g->batch * g->m * g->n; ++at) {
        int64_t matrix = at / (g->m * g->n), i = at / g->n % g->m, j = at % g->n;
        double sum = 0;
        for (int64_t k = 0; k < g->k; ++k) {
            int64_t from_a = matrix * g->m * g->k + (g->transpose_a ? k * g->m + i : i * g->k + k);
            int64_t from_b = matrix * g->k * g->n + (g->transpose_b ? j * g->k + k : k * g->n + j);
            sum += get(g, x->a, from_a) * get(g, x->b, from_b);
        }
        sum = g->alpha * sum + (g->adds ? get(g, x->c, at) : 0) + (x->bias != NULL ? get(g, x->bias, j) : 0);
        set(g, x->c, at, sum);
    }
}

void ons_cuda_plan_run(const ons_cuda_plan *plan, uintptr_t stream, const void *a, const void *b, const void *bias,
                       void *c, void *workspace) {
    (void)workspace;
    call x = {plan->gemm, a, b, bias, c};
    if (ons_emulation_put == NULL) {
        multiply(&x);
        return;
    }
    call *kept = malloc(sizeof *kept);
    if (kept == NULL) abort();
    *kept = x;
    ons_emulation_put(stream, multiply, free, kept);
}
