/* The products of cuda_gemm.h by cuBLASLt, which is loaded when the first is planned.
 *
 * cuBLASLt's matrices lie column by column: a matrix that lies row by row is its transpose there. So C = op(A) op(B) is
 * asked for as Cᵀ = op(B)ᵀ op(A)ᵀ, with B as the first operand, and a bias for every column of C is one for every row
 * of Cᵀ, which is what the library's epilogue adds. Likewise the sums of op(B)'s columns are those of the library's
 * first operand (BGRADA) and those of op(A)'s rows of its second (BGRADB). The library's best algorithms are asked for
 * when the plan is made, never one that joins its parts by atomic operations; the first of them that the library does
 * not refuse to launch is the plan's from then on. What the largest workspace takes is the plan's scratch. So it is the
 * same bits every time.
 */
#include <cublasLt.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda.h"
#include "device/cuda_library.h"
#include "kernels/common/gemm/cuda_gemm.h"

/* The functions used, by cuBLASLt's own declarations. */
#define FUNCTIONS(X)                                                                                                   \
    X(cublasLtCreate)                                                                                                  \
    X(cublasLtMatmulDescCreate)                                                                                        \
    X(cublasLtMatmulDescDestroy)                                                                                       \
    X(cublasLtMatmulDescSetAttribute)                                                                                  \
    X(cublasLtMatrixLayoutCreate)                                                                                      \
    X(cublasLtMatrixLayoutDestroy)                                                                                     \
    X(cublasLtMatrixLayoutSetAttribute)                                                                                \
    X(cublasLtMatmulPreferenceCreate)                                                                                  \
    X(cublasLtMatmulPreferenceDestroy)                                                                                 \
    X(cublasLtMatmulPreferenceSetAttribute)                                                                            \
    X(cublasLtMatmulAlgoGetHeuristic)                                                                                  \
    X(cublasLtMatmul)

enum { DEVICES = 64 };

#define FIELD(NAME) __typeof__(&NAME) NAME;
static struct {
    pthread_mutex_t lock;
    bool loaded;
    cublasLtHandle_t handles[DEVICES]; /* by GPU: what the library keeps there */
    FUNCTIONS(FIELD)
} library = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Scratch memory is taken in these. */
enum { WORKSPACE_UNIT = 64 };
/* Leading dimensions of Gelu's operand must be a multiple of this. */
enum { AUX_MULTIPLE = 8 };

/* Algorithms that the library is asked for. */
enum { CANDIDATES = 8 };

struct ons_cuda_plan {
    cublasLtMatmulDesc_t operation;
    cublasLtMatrixLayout_t first, second, result;
    cublasLtMatmulAlgo_t candidates[CANDIDATES]; /* the library's best first */
    int candidate_count, chosen;
    bool settled; /* the chosen one has run: there is no other any more */
    ons_cuda_gemm_call gemm;
};

static ons_status *check(cublasStatus_t status, const char *what) {
    return status == CUBLAS_STATUS_SUCCESS
               ? NULL
               : ons_status_new(ONS_UNSUPPORTED, "cuBLASLt: %s: status %d", what, (int)status);
}

static ons_status *load_locked(void) {
    if (library.loaded) return NULL;
#define SYMBOL(NAME) {#NAME, (void **)&library.NAME},
    const ons_cuda_symbol symbols[] = {FUNCTIONS(SYMBOL){NULL, NULL}};
    ONS_TRY(ons_cuda_library_load("libcublasLt.so.13", "matrix products", symbols));
    library.loaded = true;
    return NULL;
}

static ons_status *find_handle_locked(cublasLtHandle_t *handle) {
    int device = ons_cuda_current();
    ONS_TRY(load_locked());
    ONS_CHECK(device >= 0 && device < DEVICES, ONS_UNSUPPORTED, "cuBLASLt: GPU %d", device);
    if (library.handles[device] == NULL) ONS_TRY(check(library.cublasLtCreate(&library.handles[device]), "a handle"));
    *handle = library.handles[device];
    return NULL;
}

/* The handle of the GPU that this thread's calls go to. */
static ons_status *find_handle(cublasLtHandle_t *handle) {
    pthread_mutex_lock(&library.lock);
    ons_status *status = find_handle_locked(handle);
    pthread_mutex_unlock(&library.lock);
    return status;
}

static cudaDataType_t data_type(ons_dtype dtype) {
    return dtype == ONS_FLOAT16 ? CUDA_R_16F : dtype == ONS_BFLOAT16 ? CUDA_R_16BF : CUDA_R_32F;
}

/* Matrices of `rows` × `columns` elements, row by row: the library sees columns × rows. */
static ons_status *make_layout(const ons_cuda_gemm_call *g, ons_dtype dtype, int64_t rows, int64_t columns,
                               const ons_cuda_matrix_steps *where, cublasLtMatrixLayout_t *layout) {
    int32_t batch = (int32_t)g->batch;
    int64_t leading = where->row == 0 ? columns : where->row;
    int64_t stride = where->matrix == 0 ? rows * columns : where->matrix;
    ONS_TRY(
        check(library.cublasLtMatrixLayoutCreate(layout, data_type(dtype), (uint64_t)columns, (uint64_t)rows, leading),
              "a layout"));
    if (g->batch == 1) return NULL;
    ONS_TRY(check(
        library.cublasLtMatrixLayoutSetAttribute(*layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch),
        "a batch"));
    return check(library.cublasLtMatrixLayoutSetAttribute(*layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
                                                          sizeof stride),
                 "a batch's stride");
}

static ons_status *set_operation(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t attribute,
                                 const void *value, size_t bytes) {
    return check(library.cublasLtMatmulDescSetAttribute(operation, attribute, value, bytes), "an attribute");
}

static cublasLtEpilogue_t epilogue_of(ons_cuda_epilogue epilogue) {
    switch (epilogue) {
    case ONS_CUDA_BIAS: return CUBLASLT_EPILOGUE_BIAS;
    case ONS_CUDA_BIAS_GELU: return CUBLASLT_EPILOGUE_GELU_BIAS;
    case ONS_CUDA_BIAS_GELU_KEEP: return CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
    case ONS_CUDA_GELU_SLOPE: return CUBLASLT_EPILOGUE_DGELU;
    case ONS_CUDA_SUMS_OF_A: return CUBLASLT_EPILOGUE_BGRADB;
    case ONS_CUDA_SUMS_OF_B: return CUBLASLT_EPILOGUE_BGRADA;
    default: return CUBLASLT_EPILOGUE_DEFAULT;
    }
}

static bool has_matrix(const ons_cuda_gemm_call *g) {
    return g->epilogue == ONS_CUDA_BIAS_GELU_KEEP || g->epilogue == ONS_CUDA_GELU_SLOPE;
}
static bool has_vector(const ons_cuda_gemm_call *g) {
    return g->epilogue != ONS_CUDA_PLAIN && g->epilogue != ONS_CUDA_GELU_SLOPE;
}

/* Vector and matrix have the result's type, which is the library's default for them. Their addresses are not known yet,
 * but how they are aligned, which is all that choosing an algorithm asks of them. */
static ons_status *describe_epilogue(const ons_cuda_gemm_call *g, cublasLtMatmulDesc_t operation) {
    if (g->epilogue == ONS_CUDA_PLAIN) return NULL;
    cublasLtEpilogue_t epilogue = epilogue_of(g->epilogue);
    const void *somewhere = (const void *)(uintptr_t)g->alignment;
    ONS_TRY(set_operation(operation, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue));
    if (has_vector(g))
        ONS_TRY(set_operation(operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &somewhere, sizeof somewhere));
    if (!has_matrix(g)) return NULL;
    int64_t leading = g->n, stride = g->m * g->n;
    ONS_CHECK(leading % AUX_MULTIPLE == 0 && (g->batch == 1 || stride % AUX_MULTIPLE == 0), ONS_UNSUPPORTED,
              "cuBLASLt takes what goes into Gelu in rows of a multiple of %d elements, not of %lld", AUX_MULTIPLE,
              (long long)leading);
    ONS_TRY(set_operation(operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, &leading, sizeof leading));
    if (g->batch > 1)
        ONS_TRY(set_operation(operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, &stride, sizeof stride));
    return set_operation(operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, &somewhere, sizeof somewhere);
}

static ons_status *describe(const ons_cuda_gemm_call *g, ons_cuda_plan *plan) {
    cublasOperation_t of_first = g->transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasOperation_t of_second = g->transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasComputeType_t compute = g->tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    ONS_TRY(check(library.cublasLtMatmulDescCreate(&plan->operation, compute, CUDA_R_32F), "a product"));
    ONS_TRY(set_operation(plan->operation, CUBLASLT_MATMUL_DESC_TRANSA, &of_first, sizeof of_first));
    ONS_TRY(set_operation(plan->operation, CUBLASLT_MATMUL_DESC_TRANSB, &of_second, sizeof of_second));
    ONS_TRY(describe_epilogue(g, plan->operation));
    ONS_TRY(make_layout(g, g->dtype, g->transpose_b ? g->n : g->k, g->transpose_b ? g->k : g->n, &g->b, &plan->first));
    ONS_TRY(make_layout(g, g->dtype, g->transpose_a ? g->k : g->m, g->transpose_a ? g->m : g->k, &g->a, &plan->second));
    return make_layout(g, g->full ? ONS_FLOAT32 : g->dtype, g->m, g->n, &g->c, &plan->result);
}

/* Unless it is told otherwise the library counts on 256 bytes. */
static ons_status *set_alignments(cublasLtMatmulPreference_t preference, uint32_t bytes) {
    static const cublasLtMatmulPreferenceAttributes_t of_operands[] = {
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES};
    for (size_t i = 0; i < sizeof of_operands / sizeof of_operands[0]; ++i)
        ONS_TRY(check(library.cublasLtMatmulPreferenceSetAttribute(preference, of_operands[i], &bytes, sizeof bytes),
                      "an operand's alignment"));
    return NULL;
}

/* Of those that the library offers, what it says would run, in its order; the workspace is that of the neediest. */
static ons_status *take_candidates(ons_cuda_plan *plan, const cublasLtMatmulHeuristicResult_t *offers, int count) {
    size_t workspace = 0;
    for (int i = 0; i < count; ++i) {
        if (offers[i].state != CUBLAS_STATUS_SUCCESS) continue;
        plan->candidates[plan->candidate_count++] = offers[i].algo;
        workspace = offers[i].workspaceSize > workspace ? offers[i].workspaceSize : workspace;
    }
    ONS_CHECK(plan->candidate_count > 0, ONS_UNSUPPORTED,
              "cuBLASLt has no algorithm for a product of %lld × %lld × %lld", (long long)plan->gemm.m,
              (long long)plan->gemm.n, (long long)plan->gemm.k);
    plan->gemm.workspace_bytes = (int64_t)(workspace + WORKSPACE_UNIT - 1) / WORKSPACE_UNIT * WORKSPACE_UNIT;
    return NULL;
}

static ons_status *choose_with(cublasLtMatmulPreference_t preference, ons_cuda_plan *plan) {
    cublasLtHandle_t handle;
    ONS_TRY(find_handle(&handle));
    uint64_t workspace = (uint64_t)plan->gemm.workspace_bytes;
    uint32_t schemes = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE; /* parts of a sum are not rounded to half types */
    cublasLtMatmulHeuristicResult_t offers[CANDIDATES];
    int found = 0;
    ONS_TRY(check(library.cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                               &workspace, sizeof workspace),
                  "the workspace's limit"));
    ONS_TRY(check(library.cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                                                               &schemes, sizeof schemes),
                  "deterministic reductions"));
    ONS_TRY(set_alignments(preference, (uint32_t)plan->gemm.alignment));
    ONS_TRY(
        check(library.cublasLtMatmulAlgoGetHeuristic(handle, plan->operation, plan->first, plan->second, plan->result,
                                                     plan->result, preference, CANDIDATES, offers, &found),
              "choosing an algorithm"));
    return take_candidates(plan, offers, found);
}

static ons_status *choose(ons_cuda_plan *plan) {
    cublasLtMatmulPreference_t preference;
    ONS_TRY(check(library.cublasLtMatmulPreferenceCreate(&preference), "a preference"));
    ons_status *status = choose_with(preference, plan);
    library.cublasLtMatmulPreferenceDestroy(preference);
    return status;
}

ons_status *ons_cuda_plan_new(const ons_cuda_gemm_call *gemm, ons_cuda_plan **result) {
    cublasLtHandle_t handle; /* loads the library */
    ONS_TRY(find_handle(&handle));
    ons_cuda_plan *plan = calloc(1, sizeof *plan);
    if (plan == NULL) return ons_status_out_of_memory();
    plan->gemm = *gemm;
    ons_status *status = describe(gemm, plan);
    if (status == NULL) status = choose(plan);
    if (status != NULL) {
        ons_cuda_plan_free(plan);
        return status;
    }
    *result = plan;
    return NULL;
}

int64_t ons_cuda_plan_workspace(const ons_cuda_plan *plan) { return plan->gemm.workspace_bytes; }

void ons_cuda_plan_free(ons_cuda_plan *plan) {
    if (plan == NULL) return;
    if (plan->operation != NULL) library.cublasLtMatmulDescDestroy(plan->operation);
    if (plan->first != NULL) library.cublasLtMatrixLayoutDestroy(plan->first);
    if (plan->second != NULL) library.cublasLtMatrixLayoutDestroy(plan->second);
    if (plan->result != NULL) library.cublasLtMatrixLayoutDestroy(plan->result);
    free(plan);
}

/* The pointers are part of the operation; a node has always the same ones, or those of its micro-batch's place. */
static cublasStatus_t set_pointers(const ons_cuda_plan *plan, const ons_cuda_gemm_memory *memory) {
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
    if (has_vector(&plan->gemm))
        status = library.cublasLtMatmulDescSetAttribute(plan->operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER,
                                                        &memory->vector, sizeof memory->vector);
    if (status == CUBLAS_STATUS_SUCCESS && has_matrix(&plan->gemm))
        status = library.cublasLtMatmulDescSetAttribute(plan->operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER,
                                                        &memory->matrix, sizeof memory->matrix);
    return status;
}

static cublasStatus_t multiply(const ons_cuda_plan *plan, cublasLtHandle_t handle, cudaStream_t stream,
                               const ons_cuda_gemm_memory *m) {
    float alpha = plan->gemm.alpha, beta = plan->gemm.adds ? 1 : 0;
    return library.cublasLtMatmul(handle, plan->operation, &alpha, m->b, plan->first, m->a, plan->second, &beta,
                                  m->d != NULL ? m->d : m->c, plan->result, m->c, plan->result,
                                  &plan->candidates[plan->chosen], m->workspace, (size_t)plan->gemm.workspace_bytes,
                                  stream);
}

/* The library says so before it puts anything on the stream. */
static bool is_refusal(cublasStatus_t status) {
    return status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_ARCH_MISMATCH ||
           status == CUBLAS_STATUS_INVALID_VALUE;
}

/* The first run settles which candidate it is: a recording and what is repeated later have the same bits. */
void ons_cuda_plan_run(ons_cuda_plan *plan, uintptr_t stream, const ons_cuda_gemm_memory *memory) {
    cublasLtHandle_t handle = NULL;
    ons_status *found = find_handle(&handle);
    cublasStatus_t status = found == NULL ? set_pointers(plan, memory) : CUBLAS_STATUS_NOT_INITIALIZED;
    ons_status_free(found);
    if (status == CUBLAS_STATUS_SUCCESS) {
        status = multiply(plan, handle, (cudaStream_t)stream, memory);
        while (!plan->settled && is_refusal(status) && plan->chosen + 1 < plan->candidate_count) {
            ++plan->chosen;
            status = multiply(plan, handle, (cudaStream_t)stream, memory);
        }
        plan->settled = plan->settled || status == CUBLAS_STATUS_SUCCESS;
    }
    if (status != CUBLAS_STATUS_SUCCESS) ons_cuda_note((int)status, "cuBLASLt's product", NULL);
}
