/* cuBLASLt as its documentation describes it, in plain loops: matrices column by column with a leading dimension,
 * batches by strides, a bias for every row. It stands where the library would be loaded, so that product_cuda.c is
 * tested without a GPU. */
#include <cublasLt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda_library.h"
#include "tests/kernels/emulation/selection.h"

const char *const ons_emulation_only[] = {"MatMul", "Gemm", "Linear", "MatMulTransposed", NULL};

typedef struct operation {
    cublasOperation_t transpose_a, transpose_b;
    cublasLtEpilogue_t epilogue;
    const void *bias;
} operation;

typedef struct layout {
    cudaDataType type;
    int64_t rows, columns, leading, stride;
    int32_t batch;
} layout;

typedef struct preference {
    uint64_t workspace_bytes;
    uint32_t alignment[4]; /* of A, B, C and D */
} preference;

/* What an algorithm of the fake wants, kept in the library's opaque one. */
typedef struct algorithm {
    uint64_t workspace_bytes;
    uint32_t alignment[4];
} algorithm;

static int handle;

static cublasStatus_t create(cublasLtHandle_t *result) {
    *result = (cublasLtHandle_t)(void *)&handle;
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t operation_create(cublasLtMatmulDesc_t *result, cublasComputeType_t compute,
                                       cudaDataType_t scale) {
    if (compute != CUBLAS_COMPUTE_32F || scale != CUDA_R_32F) return CUBLAS_STATUS_INVALID_VALUE;
    operation *o = calloc(1, sizeof *o);
    if (o == NULL) return CUBLAS_STATUS_ALLOC_FAILED;
    o->transpose_a = o->transpose_b = CUBLAS_OP_N;
    o->epilogue = CUBLASLT_EPILOGUE_DEFAULT;
    *result = (cublasLtMatmulDesc_t)(void *)o;
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t operation_destroy(cublasLtMatmulDesc_t o) {
    free(o);
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t operation_set(cublasLtMatmulDesc_t description, cublasLtMatmulDescAttributes_t attribute,
                                    const void *value, size_t bytes) {
    operation *o = (operation *)(void *)description;
    void *to = attribute == CUBLASLT_MATMUL_DESC_TRANSA         ? (void *)&o->transpose_a
               : attribute == CUBLASLT_MATMUL_DESC_TRANSB       ? (void *)&o->transpose_b
               : attribute == CUBLASLT_MATMUL_DESC_EPILOGUE     ? (void *)&o->epilogue
               : attribute == CUBLASLT_MATMUL_DESC_BIAS_POINTER ? (void *)&o->bias
                                                                : NULL;
    if (to == NULL || bytes != (to == (void *)&o->bias ? sizeof o->bias : 4)) return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(to, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t layout_create(cublasLtMatrixLayout_t *result, cudaDataType type, uint64_t rows, uint64_t columns,
                                    int64_t leading) {
    if (leading < (int64_t)rows) return CUBLAS_STATUS_INVALID_VALUE;
    layout *l = calloc(1, sizeof *l);
    if (l == NULL) return CUBLAS_STATUS_ALLOC_FAILED;
    *l = (layout){type, (int64_t)rows, (int64_t)columns, leading, 0, 1};
    *result = (cublasLtMatrixLayout_t)(void *)l;
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t layout_destroy(cublasLtMatrixLayout_t l) {
    free(l);
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t layout_set(cublasLtMatrixLayout_t description, cublasLtMatrixLayoutAttribute_t attribute,
                                 const void *value, size_t bytes) {
    layout *l = (layout *)(void *)description;
    if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT && bytes == sizeof l->batch)
        memcpy(&l->batch, value, bytes);
    else if (attribute == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET && bytes == sizeof l->stride)
        memcpy(&l->stride, value, bytes);
    else
        return CUBLAS_STATUS_INVALID_VALUE;
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t preference_create(cublasLtMatmulPreference_t *result) {
    preference *made = calloc(1, sizeof *made);
    if (made == NULL) return CUBLAS_STATUS_ALLOC_FAILED;
    for (int i = 0; i < 4; ++i) made->alignment[i] = 256;
    *result = (cublasLtMatmulPreference_t)(void *)made;
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t preference_destroy(cublasLtMatmulPreference_t made) {
    free(made);
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t preference_set(cublasLtMatmulPreference_t made, cublasLtMatmulPreferenceAttributes_t attribute,
                                     const void *value, size_t bytes) {
    preference *p = (preference *)(void *)made;
    bool workspace = attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES;
    if (bytes != (workspace ? sizeof p->workspace_bytes : sizeof p->alignment[0])) return CUBLAS_STATUS_INVALID_VALUE;
    int operand = (int)attribute - (int)CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES;
    if (workspace) memcpy(&p->workspace_bytes, value, bytes);
    if (operand >= 0 && operand < 4) memcpy(&p->alignment[operand], value, bytes);
    return CUBLAS_STATUS_SUCCESS;
}

/* Counts on what alignment it is promised, and on half of the workspace that it may have. */
static cublasStatus_t choose(cublasLtHandle_t used, cublasLtMatmulDesc_t o, cublasLtMatrixLayout_t a,
                             cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                             cublasLtMatmulPreference_t made, int wanted, cublasLtMatmulHeuristicResult_t *results,
                             int *found) {
    (void)used, (void)o, (void)a, (void)b, (void)c, (void)d;
    const preference *p = (const preference *)(const void *)made;
    algorithm chosen = {.workspace_bytes = p->workspace_bytes / 2 + 1};
    memcpy(chosen.alignment, p->alignment, sizeof chosen.alignment);
    memset(results, 0, (size_t)wanted * sizeof *results);
    memcpy(&results[0].algo, &chosen, sizeof chosen);
    results[0].workspaceSize = chosen.workspace_bytes;
    *found = 1;
    return CUBLAS_STATUS_SUCCESS;
}

static bool is_aligned(const void *address, uint32_t bytes) { return (uintptr_t)address % bytes == 0; }

static float get(const layout *l, const void *memory, int64_t matrix, int64_t row, int64_t column) {
    return ((const float *)memory)[matrix * l->stride + column * l->leading + row];
}

/* op(X) at (row, column). */
static float get_of(const layout *l, cublasOperation_t transpose, const void *memory, int64_t matrix, int64_t row,
                    int64_t column) {
    return transpose == CUBLAS_OP_T ? get(l, memory, matrix, column, row) : get(l, memory, matrix, row, column);
}

static cublasStatus_t multiply(cublasLtHandle_t used, cublasLtMatmulDesc_t description, const void *alpha,
                               const void *a, cublasLtMatrixLayout_t a_layout, const void *b,
                               cublasLtMatrixLayout_t b_layout, const void *beta, const void *c,
                               cublasLtMatrixLayout_t c_layout, void *d, cublasLtMatrixLayout_t d_layout,
                               const cublasLtMatmulAlgo_t *how, void *workspace, size_t workspace_bytes,
                               cudaStream_t stream) {
    (void)used, (void)stream;
    algorithm chosen;
    memcpy(&chosen, how, sizeof chosen);
    if (workspace_bytes < chosen.workspace_bytes || workspace == NULL || !is_aligned(workspace, 256) ||
        !is_aligned(a, chosen.alignment[0]) || !is_aligned(b, chosen.alignment[1]) ||
        !is_aligned(c, chosen.alignment[2]) || !is_aligned(d, chosen.alignment[3]))
        return CUBLAS_STATUS_INVALID_VALUE;
    memset(workspace, 0x5a, chosen.workspace_bytes);
    const operation *o = (const operation *)(const void *)description;
    const layout *la = (const void *)a_layout, *lb = (const void *)b_layout, *lc = (const void *)c_layout;
    const layout *ld = (const void *)d_layout;
    bool ta = o->transpose_a == CUBLAS_OP_T, tb = o->transpose_b == CUBLAS_OP_T;
    int64_t inner = ta ? la->rows : la->columns;
    if ((ta ? la->columns : la->rows) != ld->rows || (tb ? lb->rows : lb->columns) != ld->columns ||
        (tb ? lb->columns : lb->rows) != inner || la->batch != ld->batch || lb->batch != ld->batch ||
        ld->type != CUDA_R_32F)
        return CUBLAS_STATUS_INVALID_VALUE;
    for (int64_t matrix = 0; matrix < ld->batch; ++matrix)
        for (int64_t column = 0; column < ld->columns; ++column)
            for (int64_t row = 0; row < ld->rows; ++row) {
                double sum = 0;
                for (int64_t k = 0; k < inner; ++k)
                    sum += (double)get_of(la, o->transpose_a, a, matrix, row, k) *
                           get_of(lb, o->transpose_b, b, matrix, k, column);
                sum *= *(const float *)alpha;
                if (*(const float *)beta != 0) sum += *(const float *)beta * get(lc, c, matrix, row, column);
                if (o->epilogue == CUBLASLT_EPILOGUE_BIAS) sum += ((const float *)o->bias)[row];
                ((float *)d)[matrix * ld->stride + column * ld->leading + row] = (float)sum;
            }
    return CUBLAS_STATUS_SUCCESS;
}

static const struct {
    const char *name;
    void *address;
} functions[] = {
    {"cublasLtCreate", (void *)create},
    {"cublasLtMatmulDescCreate", (void *)operation_create},
    {"cublasLtMatmulDescDestroy", (void *)operation_destroy},
    {"cublasLtMatmulDescSetAttribute", (void *)operation_set},
    {"cublasLtMatrixLayoutCreate", (void *)layout_create},
    {"cublasLtMatrixLayoutDestroy", (void *)layout_destroy},
    {"cublasLtMatrixLayoutSetAttribute", (void *)layout_set},
    {"cublasLtMatmulPreferenceCreate", (void *)preference_create},
    {"cublasLtMatmulPreferenceDestroy", (void *)preference_destroy},
    {"cublasLtMatmulPreferenceSetAttribute", (void *)preference_set},
    {"cublasLtMatmulAlgoGetHeuristic", (void *)choose},
    {"cublasLtMatmul", (void *)multiply},
};

ons_status *ons_cuda_library_load(const char *file, const char *purpose, const ons_cuda_symbol *symbols) {
    ONS_CHECK(strcmp(file, "libcublasLt.so.13") == 0, ONS_DEFECT, "%s is asked for, by %s", file, purpose);
    for (const ons_cuda_symbol *symbol = symbols; symbol->name != NULL; ++symbol) {
        *symbol->address = NULL;
        for (size_t i = 0; i < sizeof functions / sizeof functions[0]; ++i)
            if (strcmp(functions[i].name, symbol->name) == 0) *symbol->address = functions[i].address;
        ONS_CHECK(*symbol->address != NULL, ONS_DEFECT, "the fake has no %s", symbol->name);
    }
    return NULL;
}
