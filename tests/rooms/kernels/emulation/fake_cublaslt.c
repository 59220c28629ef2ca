/* cuBLASLt as its documentation describes it, in plain loops: matrices column by column with a leading dimension,
 * batches by strides, and the epilogues that cublaslt.c asks for. What would be refused for its type, size, leading
 * dimension or alignment is refused here. It stands where the library would be loaded, so that cublaslt.c is
 * tested without a GPU. */
#include <cublasLt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda_library.h"
#include "graph/small_types.h"
#include "kernels/gelu/gelu_formulas.h"
#include "tests/rooms/kernels/emulation/fake_cublaslt.h"
#include "tests/rooms/kernels/emulation/selection.h"

const char *const ons_emulation_only[] = {"MatMul",
                                          "Gemm",
                                          "Linear",
                                          "LinearAdd",
                                          "MatMulTransposed",
                                          "LinearGelu",
                                          "LinearGeluGradient",
                                          "LinearWeightGradient",
                                          NULL};

typedef struct operation {
    cublasOperation_t transpose_a, transpose_b;
    cublasLtEpilogue_t epilogue;
    void *vector;         /* bias, or sums */
    void *matrix;         /* what goes into Gelu */
    int64_t leading, gap; /* of the matrix: leading dimension, batch stride */
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
    int number; /* in the order in which they are offered */
    uint64_t workspace_bytes;
    uint32_t alignment[4];
} algorithm;

static int handle;

fake_cublaslt_state fake_cublaslt = {.ran = -1};

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
    const struct {
        cublasLtMatmulDescAttributes_t attribute;
        void *to;
        size_t bytes;
    } attributes[] = {
        {CUBLASLT_MATMUL_DESC_TRANSA, &o->transpose_a, 4},
        {CUBLASLT_MATMUL_DESC_TRANSB, &o->transpose_b, 4},
        {CUBLASLT_MATMUL_DESC_EPILOGUE, &o->epilogue, 4},
        {CUBLASLT_MATMUL_DESC_BIAS_POINTER, &o->vector, sizeof o->vector},
        {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, &o->matrix, sizeof o->matrix},
        {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, &o->leading, sizeof o->leading},
        {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, &o->gap, sizeof o->gap},
    };
    for (size_t i = 0; i < sizeof attributes / sizeof attributes[0]; ++i) {
        if (attributes[i].attribute != attribute || attributes[i].bytes != bytes) continue;
        memcpy(attributes[i].to, value, bytes);
        return CUBLAS_STATUS_SUCCESS;
    }
    return CUBLAS_STATUS_INVALID_VALUE;
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

static bool is_gelu(const operation *o) { return (o->epilogue & CUBLASLT_EPILOGUE_GELU) != 0; }
static bool has_vector(const operation *o) {
    return (o->epilogue & (CUBLASLT_EPILOGUE_BIAS | CUBLASLT_EPILOGUE_BGRADA | CUBLASLT_EPILOGUE_BGRADB)) != 0;
}
static bool has_matrix(const operation *o) { return (o->epilogue & 128) != 0; }
static bool is_placed(const void *pointer, uintptr_t alignment) {
    return pointer != NULL && (uintptr_t)pointer % alignment == 0;
}

/* Pointers stand for their alignment here and are not followed. */
static bool is_possible(const operation *o, const layout *result) {
    static const cublasLtEpilogue_t known[] = {CUBLASLT_EPILOGUE_DEFAULT,   CUBLASLT_EPILOGUE_BIAS,
                                               CUBLASLT_EPILOGUE_GELU_BIAS, CUBLASLT_EPILOGUE_GELU_AUX_BIAS,
                                               CUBLASLT_EPILOGUE_DGELU,     CUBLASLT_EPILOGUE_BGRADA,
                                               CUBLASLT_EPILOGUE_BGRADB};
    bool found = false;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; ++i) found = found || known[i] == o->epilogue;
    if (!found || (has_vector(o) && !is_placed(o->vector, 4))) return false;
    if (!has_matrix(o)) return true;
    return is_placed(o->matrix, 16) && o->leading % 8 == 0 && o->leading >= result->rows &&
           (result->batch == 1 || o->gap % 8 == 0);
}

/* An algorithm counts on what alignment it is promised; the first wants less of the workspace than the last. */
static cublasStatus_t choose(cublasLtHandle_t used, cublasLtMatmulDesc_t o, cublasLtMatrixLayout_t a,
                             cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                             cublasLtMatmulPreference_t made, int wanted, cublasLtMatmulHeuristicResult_t *results,
                             int *found) {
    (void)used, (void)a, (void)b, (void)c;
    if (!is_possible((const operation *)(const void *)o, (const layout *)(const void *)d))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    const preference *p = (const preference *)(const void *)made;
    memset(results, 0, (size_t)wanted * sizeof *results);
    fake_cublaslt.asked = wanted;
    *found = wanted < FAKE_CUBLASLT_ALGORITHMS ? wanted : FAKE_CUBLASLT_ALGORITHMS;
    for (int i = 0; i < *found; ++i) {
        algorithm offered = {i, p->workspace_bytes * (uint64_t)(i + 1) / FAKE_CUBLASLT_ALGORITHMS, {0}};
        memcpy(offered.alignment, p->alignment, sizeof offered.alignment);
        memcpy(&results[i].algo, &offered, sizeof offered);
        results[i].workspaceSize = offered.workspace_bytes;
        results[i].state = (fake_cublaslt.unsound >> i & 1) != 0 ? CUBLAS_STATUS_NOT_SUPPORTED : CUBLAS_STATUS_SUCCESS;
    }
    return CUBLAS_STATUS_SUCCESS;
}

static bool is_aligned(const void *address, uint32_t bytes) { return (uintptr_t)address % bytes == 0; }

/* Elements of a type that matrices may have: float32, float16 or bfloat16. */
static float get_element(cudaDataType type, const void *memory, int64_t at) {
    if (type == CUDA_R_32F) return ((const float *)memory)[at];
    uint16_t bits = ((const uint16_t *)memory)[at];
    return type == CUDA_R_16F ? ons_half_to_float(bits) : ons_bfloat16_to_float(bits);
}

static void set_element(cudaDataType type, void *memory, int64_t at, double value) {
    if (type == CUDA_R_32F)
        ((float *)memory)[at] = (float)value;
    else
        ((uint16_t *)memory)[at] =
            type == CUDA_R_16F ? ons_float_to_half((float)value) : ons_float_to_bfloat16((float)value);
}

static float get(const layout *l, const void *memory, int64_t matrix, int64_t row, int64_t column) {
    return get_element(l->type, memory, matrix * l->stride + column * l->leading + row);
}

/* op(X) at (row, column). */
static float get_of(const layout *l, cublasOperation_t transpose, const void *memory, int64_t matrix, int64_t row,
                    int64_t column) {
    return transpose == CUBLAS_OP_T ? get(l, memory, matrix, column, row) : get(l, memory, matrix, row, column);
}

typedef struct operands {
    const operation *o;
    const layout *a_layout, *b_layout, *c_layout, *d_layout;
    const void *a, *b, *c;
    float alpha, beta;
    void *d;
} operands;

static float a_at(const operands *x, int64_t matrix, int64_t row, int64_t k) {
    return get_of(x->a_layout, x->o->transpose_a, x->a, matrix, row, k);
}
static float b_at(const operands *x, int64_t matrix, int64_t k, int64_t column) {
    return get_of(x->b_layout, x->o->transpose_b, x->b, matrix, k, column);
}

static int64_t inner_of(const operands *x) {
    return x->o->transpose_a == CUBLAS_OP_T ? x->a_layout->rows : x->a_layout->columns;
}

static bool fits(const operands *x) {
    bool ta = x->o->transpose_a == CUBLAS_OP_T, tb = x->o->transpose_b == CUBLAS_OP_T;
    const layout *a = x->a_layout, *b = x->b_layout, *d = x->d_layout;
    return (ta ? a->columns : a->rows) == d->rows && (tb ? b->rows : b->columns) == d->columns &&
           (tb ? b->columns : b->rows) == inner_of(x) && a->batch == d->batch && b->batch == d->batch &&
           a->type == d->type && b->type == d->type &&
           (d->type == CUDA_R_32F || d->type == CUDA_R_16F || d->type == CUDA_R_16BF);
}

static double finish(const operands *x, double sum, int64_t matrix, int64_t row, int64_t column) {
    const operation *o = x->o;
    cudaDataType type = x->d_layout->type; /* of vector and matrix too, where nothing else is asked for */
    int64_t kept = matrix * o->gap + column * o->leading + row;
    if ((o->epilogue & CUBLASLT_EPILOGUE_BIAS) != 0) sum += get_element(type, o->vector, row);
    if (o->epilogue == CUBLASLT_EPILOGUE_DGELU) return sum * ons_gelu_tanh_slope(get_element(type, o->matrix, kept));
    if (!is_gelu(o)) return sum;
    if (has_matrix(o)) set_element(type, o->matrix, kept, sum);
    return ons_gelu_tanh(sum);
}

/* The sums over k of op(A)'s rows, or of op(B)'s columns. */
static void add_up(const operands *x) {
    bool of_a = x->o->epilogue == CUBLASLT_EPILOGUE_BGRADA;
    for (int64_t i = 0, count = of_a ? x->d_layout->rows : x->d_layout->columns; i < count; ++i) {
        double sum = 0;
        for (int64_t k = 0; k < inner_of(x); ++k) sum += of_a ? a_at(x, 0, i, k) : b_at(x, 0, k, i);
        set_element(x->d_layout->type, x->o->vector, i, sum);
    }
}

static void multiply_element(const operands *x, int64_t matrix, int64_t row, int64_t column) {
    const layout *d = x->d_layout;
    double sum = 0;
    for (int64_t k = 0; k < inner_of(x); ++k) sum += (double)a_at(x, matrix, row, k) * b_at(x, matrix, k, column);
    sum *= x->alpha;
    if (x->beta != 0) sum += x->beta * get(x->c_layout, x->c, matrix, row, column);
    set_element(d->type, x->d, matrix * d->stride + column * d->leading + row, finish(x, sum, matrix, row, column));
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
    ++fake_cublaslt.launches;
    if ((fake_cublaslt.refused >> chosen.number & 1) != 0) return CUBLAS_STATUS_NOT_SUPPORTED;
    if ((fake_cublaslt.broken >> chosen.number & 1) != 0) return CUBLAS_STATUS_EXECUTION_FAILED;
    fake_cublaslt.ran = chosen.number;
    if (workspace_bytes < chosen.workspace_bytes || workspace == NULL || !is_aligned(workspace, 256) ||
        !is_aligned(a, chosen.alignment[0]) || !is_aligned(b, chosen.alignment[1]) ||
        !is_aligned(c, chosen.alignment[2]) || !is_aligned(d, chosen.alignment[3]))
        return CUBLAS_STATUS_INVALID_VALUE;
    memset(workspace, 0x5a, chosen.workspace_bytes);
    operands x = {.o = (const operation *)(const void *)description,
                  .a_layout = (const void *)a_layout,
                  .b_layout = (const void *)b_layout,
                  .c_layout = (const void *)c_layout,
                  .d_layout = (const void *)d_layout,
                  .a = a,
                  .b = b,
                  .c = c,
                  .alpha = *(const float *)alpha,
                  .beta = *(const float *)beta,
                  .d = d};
    if (!fits(&x) || !is_possible(x.o, x.d_layout)) return CUBLAS_STATUS_INVALID_VALUE;
    for (int64_t matrix = 0; matrix < x.d_layout->batch; ++matrix)
        for (int64_t column = 0; column < x.d_layout->columns; ++column)
            for (int64_t row = 0; row < x.d_layout->rows; ++row) multiply_element(&x, matrix, row, column);
    if (x.o->epilogue == CUBLASLT_EPILOGUE_BGRADA || x.o->epilogue == CUBLASLT_EPILOGUE_BGRADB) add_up(&x);
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
