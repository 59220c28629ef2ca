/* In cuBLASLt's place: the products of cuda_gemm.h by plain loops, in the type's own rounding at the end. */
#include <stdlib.h>

#include "graph/small_types.h"
#include "kernels/common/gemm/cuda_gemm.h"
#include "kernels/gelu/gelu_formulas.h"
#include "tests/rooms/kernels/emulation/emulation.h"

struct ons_cuda_plan {
    ons_cuda_gemm_call gemm;
};

/* The library's rule for what goes into Gelu. */
static bool has_matrix(const ons_cuda_gemm_call *g) {
    return g->epilogue == ONS_CUDA_BIAS_GELU_KEEP || g->epilogue == ONS_CUDA_GELU_SLOPE;
}

ons_status *ons_cuda_plan_new(const ons_cuda_gemm_call *gemm, ons_cuda_plan **plan) {
    ONS_CHECK(!has_matrix(gemm) || gemm->n % 8 == 0, ONS_UNSUPPORTED, "rows of %lld", (long long)gemm->n);
    *plan = calloc(1, sizeof **plan);
    if (*plan == NULL) return ons_status_out_of_memory();
    (*plan)->gemm = *gemm;
    return NULL;
}

int64_t ons_cuda_plan_workspace(const ons_cuda_plan *plan) { return plan->gemm.workspace_bytes; }

void ons_cuda_plan_free(ons_cuda_plan *plan) { free(plan); }

static double get_as(ons_dtype dtype, const void *x, int64_t i) {
    if (dtype == ONS_FLOAT32) return ((const float *)x)[i];
    uint16_t bits = ((const uint16_t *)x)[i];
    return dtype == ONS_FLOAT16 ? ons_half_to_float(bits) : ons_bfloat16_to_float(bits);
}
static double get(const ons_cuda_gemm_call *g, const void *x, int64_t i) { return get_as(g->dtype, x, i); }

static void set_as(ons_dtype dtype, void *x, int64_t i, double value) {
    if (dtype == ONS_FLOAT32)
        ((float *)x)[i] = (float)value;
    else
        ((uint16_t *)x)[i] =
            dtype == ONS_FLOAT16 ? ons_float_to_half((float)value) : ons_float_to_bfloat16((float)value);
}
static void set(const ons_cuda_gemm_call *g, void *x, int64_t i, double value) { set_as(g->dtype, x, i, value); }

/* Element (row, column) of a matrix of `rows` × `columns`. */
static int64_t place(const ons_cuda_matrix_steps *where, int64_t rows, int64_t columns, int64_t matrix, int64_t row,
                     int64_t column) {
    return matrix * (where->matrix == 0 ? rows * columns : where->matrix) +
           row * (where->row == 0 ? columns : where->row) + column;
}

/* One call, kept until it runs. */
typedef struct call {
    ons_cuda_gemm_call gemm;
    ons_cuda_gemm_memory memory;
} call;

static double a_at(const call *x, int64_t matrix, int64_t i, int64_t k) {
    const ons_cuda_gemm_call *g = &x->gemm;
    int64_t at = g->transpose_a ? place(&g->a, g->k, g->m, matrix, k, i) : place(&g->a, g->m, g->k, matrix, i, k);
    return get(g, x->memory.a, at);
}
static double b_at(const call *x, int64_t matrix, int64_t k, int64_t j) {
    const ons_cuda_gemm_call *g = &x->gemm;
    int64_t at = g->transpose_b ? place(&g->b, g->n, g->k, matrix, j, k) : place(&g->b, g->k, g->n, matrix, k, j);
    return get(g, x->memory.b, at);
}

static double finish(const call *x, double sum, int64_t at) {
    const ons_cuda_gemm_call *g = &x->gemm;
    switch (g->epilogue) {
    case ONS_CUDA_BIAS: return sum + get(g, x->memory.vector, at % g->n);
    case ONS_CUDA_BIAS_GELU_KEEP:
    case ONS_CUDA_BIAS_GELU:
        sum += get(g, x->memory.vector, at % g->n);
        if (g->epilogue == ONS_CUDA_BIAS_GELU_KEEP) set(g, x->memory.matrix, at, sum);
        return ons_gelu_tanh(sum);
    case ONS_CUDA_GELU_SLOPE: return sum * ons_gelu_tanh_slope(get(g, x->memory.matrix, at));
    default: return sum;
    }
}

static void add_up(const call *x) {
    const ons_cuda_gemm_call *g = &x->gemm;
    bool of_a = g->epilogue == ONS_CUDA_SUMS_OF_A;
    for (int64_t i = 0, count = of_a ? g->m : g->n; i < count; ++i) {
        double sum = 0;
        for (int64_t k = 0; k < g->k; ++k) sum += of_a ? a_at(x, 0, i, k) : b_at(x, 0, k, i);
        set(g, x->memory.vector, i, sum);
    }
}

static void multiply(void *argument) {
    const call *x = argument;
    const ons_cuda_gemm_call *g = &x->gemm;
    ons_dtype result = g->full ? ONS_FLOAT32 : g->dtype;
    for (int64_t number = 0; number < g->batch * g->m * g->n; ++number) {
        int64_t matrix = number / (g->m * g->n), i = number / g->n % g->m, j = number % g->n;
        int64_t at = place(&g->c, g->m, g->n, matrix, i, j);
        double sum = 0;
        for (int64_t k = 0; k < g->k; ++k) sum += a_at(x, matrix, i, k) * b_at(x, matrix, k, j);
        sum *= g->alpha;
        if (g->adds) sum += get_as(result, x->memory.d != NULL ? x->memory.d : x->memory.c, at);
        set_as(result, x->memory.c, at, finish(x, sum, number));
    }
    if (g->epilogue == ONS_CUDA_SUMS_OF_A || g->epilogue == ONS_CUDA_SUMS_OF_B) add_up(x);
}

void ons_cuda_plan_run(ons_cuda_plan *plan, uintptr_t stream, const ons_cuda_gemm_memory *memory) {
    call x = {plan->gemm, *memory};
    if (ons_emulation_put == NULL) {
        multiply(&x);
        return;
    }
    call *kept = malloc(sizeof *kept);
    if (kept == NULL) abort();
    *kept = x;
    ons_emulation_put(stream, multiply, free, kept);
}
