#include "kernels/common/gemm/gemm.h"

#include <string.h>

/* ----------------------------------------------------------------------------------------------------------- shapes */

/* A rank of 1 gets its missing dim: in front on the left, behind on the right. */
static ons_shape promote(const ons_shape *shape, bool left) {
    if (shape->rank != 1) return *shape;
    ons_shape matrix = {.rank = 2, .dims = {1, 1}};
    matrix.dims[left ? 1 : 0] = shape->dims[0];
    return matrix;
}

static ons_shape batch_of(const ons_shape *matrix) { return ons_shape_make(matrix->rank - 2, matrix->dims); }

static ons_shape folded(const ons_shape *shape) {
    uint32_t last = shape->rank - 1;
    return (ons_shape){.rank = 2, .dims = {ons_shape_span(shape, 0, last), shape->dims[last]}};
}

ons_status *ons_gemm_resolve(const ons_operands *o, const ons_shape *a, const ons_shape *b, const ons_gemm_form *form,
                             ons_gemm_sizes *sizes, ons_shape *result) {
    if (a->rank == 0 || b->rank == 0) return ons_node_error(o, "an operand of a matrix product is a scalar");
    ons_shape left = promote(a, true), right = promote(b, false);
    if (form->fold) {
        left = folded(&left);
        right = folded(&right);
    }
    const int64_t *la = left.dims + left.rank - 2, *rb = right.dims + right.rank - 2;
    sizes->m = la[form->transpose_a];
    sizes->k = la[!form->transpose_a];
    sizes->n = rb[!form->transpose_b];
    int64_t inner = rb[form->transpose_b];
    if (sizes->k != inner)
        return ons_node_error(o, "the inner dimensions of the product differ: %lld and %lld", (long long)sizes->k,
                              (long long)inner);
    ons_shape batch_a = batch_of(&left), batch_b = batch_of(&right);
    if (!ons_shape_broadcast(&batch_a, &batch_b, &sizes->batch_shape))
        return ons_node_error(o, "the leading dimensions of the product do not broadcast");
    sizes->batch = ons_shape_elements(&sizes->batch_shape);
    *result = sizes->batch_shape;
    if (a->rank > 1 || form->fold) result->dims[result->rank++] = sizes->m;
    if (b->rank > 1 || form->fold) result->dims[result->rank++] = sizes->n;
    ONS_TRY_AT(ons_shape_check(result), "node '%s'", o->name);

    int64_t count_a = ons_shape_elements(&batch_a), count_b = ons_shape_elements(&batch_b);
    if (count_b == 1 && count_a == sizes->batch && !form->transpose_a) { /* one right-hand matrix for all rows */
        sizes->m *= sizes->batch;
        sizes->batch = 1;
    }
    sizes->broadcast = sizes->batch > 1 && (count_a != sizes->batch || count_b != sizes->batch);
    return NULL;
}

double ons_gemm_flops(const ons_gemm_sizes *sizes) {
    return 2.0 * (double)sizes->batch * (double)sizes->m * (double)sizes->n * (double)sizes->k;
}

/* The number of the operand's matrix that result matrix `i` needs. */
static int64_t offset_of(const ons_shape *result, const ons_shape *operand, int64_t i) {
    ons_shape batch = batch_of(operand);
    int64_t offset = 0, scale = 1;
    for (uint32_t back = 1; back <= batch.rank; ++back) {
        int64_t size = batch.dims[batch.rank - back];
        offset += size == 1 ? 0 : i % result->dims[result->rank - back] * scale;
        scale *= size;
        i /= result->dims[result->rank - back];
    }
    return offset;
}

/* ---------------------------------------------------------------------------------------------------------- prepare */

/* Elements from one row to the next of A and of B as they lie in memory. */
static int64_t row_of_a(const ons_gemm *gemm) {
    if (gemm->form.row_a > 0) return gemm->form.row_a;
    return gemm->form.transpose_a ? gemm->sizes.m : gemm->sizes.k;
}

static int64_t row_of_b(const ons_gemm *gemm) { return gemm->form.transpose_b ? gemm->sizes.k : gemm->sizes.n; }

/* An operand whose rows are copied to where they lie no pages apart. */
typedef struct padded_operand {
    int64_t columns, others; /* of a row: the result's rows or columns; and those that the other operand has */
    int64_t row;             /* elements from one row to the next */
} padded_operand;

/* op(X[i]), rows × columns, as oneDNN sees it: a transposed operand is the same memory with its strides exchanged. */
static ons_onednn_memory describe(int64_t batch, int64_t rows, int64_t columns, bool transposed, int64_t lies_apart) {
    int64_t row = transposed ? 1 : lies_apart, column = transposed ? lies_apart : 1;
    ons_onednn_memory m = {.type = dnnl_f32, .format = ONS_ONEDNN_STRIDED};
    if (batch > 1) {
        m.dims[m.rank] = batch;
        m.strides[m.rank++] = rows * columns;
    }
    m.dims[m.rank] = rows;
    m.strides[m.rank++] = row;
    m.dims[m.rank] = columns;
    m.strides[m.rank++] = column;
    return m;
}

/* One row for every matrix of the batch. */
static ons_onednn_memory describe_bias(int64_t batch, int64_t columns) {
    ons_onednn_memory m = {
        .rank = batch > 1 ? 3 : 2, .dims = {1, 1, 1}, .type = dnnl_f32, .format = ONS_ONEDNN_ROW_MAJOR};
    m.dims[m.rank - 1] = columns;
    return m;
}

static ons_status *describe_primitive(ons_prepare *p, const ons_gemm *gemm, bool bias,
                                      dnnl_primitive_desc_t *description) {
    const ons_operands *o = p->operands;
    const ons_gemm_sizes *s = &gemm->sizes;
    const ons_onednn_product product = {
        .a = describe(s->batch, s->m, s->k, gemm->form.transpose_a, row_of_a(gemm)),
        .b = describe(s->batch, s->k, s->n, gemm->form.transpose_b, row_of_b(gemm)),
        .c = describe(s->batch, s->m, s->n, false, s->n),
        .bias = describe_bias(s->batch, s->n),
        .has_bias = bias,
        .adds = gemm->form.adds && !gemm->adds_behind,
        .alpha = (float)gemm->form.alpha,
    };
    dnnl_engine_t engine = NULL;
    ONS_TRY(ons_onednn_engine(&engine));
    dnnl_primitive_attr_t attributes;
    ONS_TRY(ons_onednn_attributes(o, &attributes));
    dnnl_status_t status = ons_onednn_describe_matmul(&product, attributes, engine, description);
    dnnl_primitive_attr_destroy(attributes);
    return ons_onednn_check(o, status, "a matrix product");
}

/* A primitive that adds, too, unless that leaves nothing but the library's plain loops. */
static ons_status *choose_primitive(ons_prepare *p, bool bias, ons_gemm *gemm, dnnl_primitive_desc_t *description) {
    gemm->adds_behind = false;
    ONS_TRY(describe_primitive(p, gemm, bias, description));
    if (!gemm->form.adds || strncmp(ons_onednn_implementation(*description), "ref", 3) != 0) return NULL;
    dnnl_primitive_desc_destroy(*description);
    gemm->adds_behind = true;
    return describe_primitive(p, gemm, bias, description);
}

static ons_status *prepare_primitive(ons_prepare *p, bool bias, ons_gemm *gemm) {
    int arguments[5] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST}, count = 3;
    if (bias) arguments[count++] = DNNL_ARG_BIAS;
    int before = ons_onednn_enter(gemm->threads);
    dnnl_primitive_desc_t description;
    ons_status *status = choose_primitive(p, bias, gemm, &description);
    if (status == NULL) {
        if (gemm->form.adds && !gemm->adds_behind) arguments[count++] = ONS_ONEDNN_ADDED;
        status = ons_onednn_make(p, description, arguments, count, &gemm->primitive);
        dnnl_primitive_desc_destroy(description);
    }
    ons_onednn_leave(before);
    if (status == NULL) p->destroy = ons_onednn_destroy;
    return status;
}

static ons_status *prepare_each(ons_prepare *p, const ons_shape *a, const ons_shape *b, ons_gemm *gemm) {
    const ons_gemm_sizes *s = &gemm->sizes;
    ons_shape left = promote(a, true), right = promote(b, false);
    int64_t *offsets;
    ONS_NEW(offsets, p->arena, (size_t)s->batch * 2);
    for (int64_t i = 0; i < s->batch; ++i) {
        offsets[i] = offset_of(&s->batch_shape, &left, i) * s->m * s->k;
        offsets[s->batch + i] = offset_of(&s->batch_shape, &right, i) * s->k * s->n;
    }
    gemm->offsets_a = offsets;
    gemm->offsets_b = offsets + s->batch;
    return NULL;
}

/* Large single matrices without a bias, except for long inner dimensions of weight gradients. */
static bool sgemm_is_usual(const ons_gemm *gemm) {
    const ons_gemm_sizes *s = &gemm->sizes;
    if (s->batch > 1 || ons_gemm_flops(s) < 4e7) return false;
    return gemm->form.transpose_a ? s->m <= 512 : gemm->form.transpose_b ? false : s->n >= 256;
}

/* Weight gradients of layers that widen, with operands that come from memory, transposing the result included: A, the
 * larger operand, is packed in the order in which it lies. */
static bool turned_is_usual(const ons_gemm *gemm) {
    const ons_gemm_sizes *s = &gemm->sizes;
    if (s->batch > 1 || ons_gemm_flops(s) < 4e7) return false;
    return gemm->form.transpose_a && s->m >= 2 * s->n && s->m < 1024;
}

/* Where oneDNN multiplies narrow results without packing their operands: its own bound. */
static bool is_unpacked(const ons_gemm_sizes *s) { return 1.0 / (double)s->m + 1.0 / (double)s->n >= 0.0038; }

/* The operand that lies in memory by its k rows, A where both do: as oneDNN reads it, a column at a time. */
static bool lies_by_rows(const ons_gemm *gemm) { return gemm->form.transpose_a || !gemm->form.transpose_b; }

static padded_operand padded_of(const ons_gemm *gemm) {
    const ons_gemm_sizes *s = &gemm->sizes;
    return gemm->form.transpose_a ? (padded_operand){s->m, s->n, row_of_a(gemm)}
                                  : (padded_operand){s->n, s->m, row_of_b(gemm)};
}

/* Rows lie whole pages apart, in the same few lines of a cache. oneDNN's kernels for AVX-512 are as fast there as
 * elsewhere, its kernels before them half as fast. */
static bool padded_is_usual(const ons_gemm *gemm) {
    const ons_gemm_sizes *s = &gemm->sizes;
    const padded_operand p = padded_of(gemm);
    return lies_by_rows(gemm) && s->batch == 1 && p.row % 1024 == 0 && p.columns <= 1 << 14 && p.others >= 32 &&
           s->k >= 64 && is_unpacked(s) && !ons_onednn_uses(dnnl_cpu_isa_avx512_core) &&
           ons_onednn_uses(dnnl_cpu_isa_sse41);
}

/* For shapes that the table does not have. */
static ons_way usual_way(const ons_gemm *gemm, bool bias, bool beta) {
    if (padded_is_usual(gemm)) return ONS_PRODUCT_PADDED;
    if (beta) return gemm->sizes.batch > 1 ? ONS_PRODUCT_EACH : ONS_PRODUCT_SGEMM;
    if (bias) return ONS_PRODUCT_PRIMITIVE;
    if (turned_is_usual(gemm)) return ONS_PRODUCT_TURNED;
    return sgemm_is_usual(gemm) ? ONS_PRODUCT_SGEMM : ONS_PRODUCT_PRIMITIVE;
}

static uint32_t possible_ways(const ons_gemm *gemm, bool beta) {
    const ons_gemm_sizes *s = &gemm->sizes;
    if (s->broadcast) return ONS_WAY_BIT(ONS_PRODUCT_EACH);
    if (s->batch > 1) return ONS_WAY_BIT(ONS_PRODUCT_EACH) | (beta ? 0 : ONS_WAY_BIT(ONS_PRODUCT_PRIMITIVE));
    uint32_t ways = ONS_WAY_BIT(ONS_PRODUCT_SGEMM);
    if (lies_by_rows(gemm)) ways |= ONS_WAY_BIT(ONS_PRODUCT_PADDED);
    if (!beta) ways |= ONS_WAY_BIT(ONS_PRODUCT_PRIMITIVE) | ONS_WAY_BIT(ONS_PRODUCT_TURNED);
    return ways;
}

static ons_way choose_way(const ons_gemm *gemm, bool bias, bool beta) {
    const ons_gemm_sizes *s = &gemm->sizes;
    const ons_gemm_form *form = &gemm->form;
    return ons_choose(&(ons_choice_question){
        .point = ONS_CHOICE_PRODUCT,
        .threads = gemm->threads,
        .sizes = {s->batch, s->m, s->n, s->k, form->transpose_a, form->transpose_b, bias, beta},
        .possible = possible_ways(gemm, beta),
        .rule = s->broadcast ? ONS_PRODUCT_EACH : usual_way(gemm, bias, beta),
    });
}

static ons_status *prepare_turned(ons_prepare *p, ons_gemm *gemm) {
    const ons_gemm_sizes *s = &gemm->sizes;
    const ons_shape result = ons_shape_make(2, (int64_t[]){s->m, s->n});
    ons_strided *turn;
    ONS_NEW(turn, p->arena, 1);
    *turn = ons_strided_dense(ONS_FLOAT32, &result);
    turn->from[0] = 1;
    turn->from[1] = s->m;
    ons_strided_plan(turn);
    gemm->turn = turn;
    p->implementation = "onednn:sgemm, the result transposed";
    p->scratch_bytes += (s->m * s->n * (int64_t)sizeof(float) + 63) / 64 * 64;
    return ons_require_scratch(p, p->scratch_bytes);
}

/* Elements from one padded row to the next, and how many rows are padded at a time: few enough to be multiplied from
 * the cache, unless they are very long. */
static int64_t padded_row(const padded_operand *p) { return p->columns + ((p->columns + 16) % 1024 == 0 ? 32 : 16); }

static int64_t padded_rows(const padded_operand *p, int64_t k) {
    enum { FLOATS = 1 << 17, LEAST = 128, MOST = 512 };
    int64_t fit = FLOATS / padded_row(p), rows = fit < LEAST ? LEAST : fit > MOST ? MOST : fit;
    return rows < k ? rows : k;
}

static ons_status *prepare_padded(ons_prepare *p, const ons_gemm *gemm) {
    const padded_operand padded = padded_of(gemm);
    int64_t bytes = padded_rows(&padded, gemm->sizes.k) * padded_row(&padded) * (int64_t)sizeof(float);
    p->implementation = gemm->form.transpose_a ? "onednn:sgemm, the left operand's rows padded"
                                               : "onednn:sgemm, the right operand's rows padded";
    p->scratch_bytes += (bytes + 63) / 64 * 64;
    return ons_require_scratch(p, p->scratch_bytes);
}

static bool is_empty(const ons_gemm_sizes *s) { return s->batch == 0 || s->m == 0 || s->n == 0 || s->k == 0; }

ons_status *ons_gemm_plan(ons_prepare *p, const ons_shape *a, const ons_shape *b, const ons_gemm_form *form,
                          ons_gemm *gemm) {
    memset(gemm, 0, sizeof *gemm);
    gemm->form = *form;
    ons_shape result;
    ONS_TRY(ons_gemm_resolve(p->operands, a, b, form, &gemm->sizes, &result));
    const ons_gemm_sizes *s = &gemm->sizes;
    gemm->empty = is_empty(s);
    return !gemm->empty && s->broadcast ? prepare_each(p, a, b, gemm) : NULL;
}

ons_status *ons_gemm_prepare(ons_prepare *p, const ons_shape *a, const ons_shape *b, const ons_gemm_form *form,
                             bool bias, bool beta, ons_gemm *gemm) {
    memset(gemm, 0, sizeof *gemm);
    gemm->form = *form;
    gemm->threads = ons_team_size(p);
    ons_shape result;
    ons_resolved(ons_gemm_resolve(p->operands, a, b, form, &gemm->sizes, &result));
    gemm->empty = is_empty(&gemm->sizes);
    if (gemm->empty) return NULL;
    dnnl_engine_t engine; /* with it dnnl_sgemm's code is made */
    ONS_TRY(ons_onednn_engine(&engine));
    gemm->adds_behind = form->adds;
    gemm->way = choose_way(gemm, bias, beta);
    if (gemm->way == ONS_PRODUCT_PRIMITIVE) return prepare_primitive(p, bias, gemm);
    if (gemm->way == ONS_PRODUCT_TURNED) return prepare_turned(p, gemm);
    if (gemm->way == ONS_PRODUCT_PADDED) return prepare_padded(p, gemm);
    bool each = gemm->way == ONS_PRODUCT_EACH;
    p->implementation = each ? "onednn:sgemm, one for each matrix" : "onednn:sgemm";
    return each ? prepare_each(p, a, b, gemm) : NULL;
}

/* -------------------------------------------------------------------------------------------------------------- run */

static dnnl_status_t sgemm(const ons_gemm *gemm, const float *a, const float *b, float beta, float *c) {
    const ons_gemm_sizes *s = &gemm->sizes;
    bool ta = gemm->form.transpose_a, tb = gemm->form.transpose_b;
    return dnnl_sgemm(ta ? 'T' : 'N', tb ? 'T' : 'N', s->m, s->n, s->k, (float)gemm->form.alpha, a, row_of_a(gemm), b,
                      row_of_b(gemm), beta, c, s->n);
}

/* Read in row-major order, a matrix is its own transpose where rows and columns change places. */
static dnnl_status_t sgemm_turned(const ons_gemm *gemm, const float *a, const float *b, float *turned) {
    const ons_gemm_sizes *s = &gemm->sizes;
    bool ta = gemm->form.transpose_a, tb = gemm->form.transpose_b;
    return dnnl_sgemm(tb ? 'N' : 'T', ta ? 'N' : 'T', s->n, s->m, s->k, (float)gemm->form.alpha, b, row_of_b(gemm), a,
                      row_of_a(gemm), 0, turned, s->m);
}

/* Nothing to multiply: the result is empty, or a sum over nothing. */
static void run_empty(const ons_gemm *gemm, const float *bias, float beta, float *c) {
    const ons_gemm_sizes *s = &gemm->sizes;
    for (int64_t i = 0, count = s->batch * s->m; i < count; ++i)
        for (int64_t j = 0; j < s->n; ++j)
            c[i * s->n + j] = bias != NULL ? bias[j] : beta != 0 ? beta * c[i * s->n + j] : 0;
}

/* Rows [first, end) of the result. */
static void add_bias(const ons_gemm *gemm, const float *bias, float *c, int64_t first, int64_t end) {
    int64_t n = gemm->sizes.n;
    for (int64_t i = first; i < end; ++i)
        for (int64_t j = 0; j < n; ++j) c[i * n + j] += bias[j];
}

/* What a product leaves to be added: its bias, and what the form adds; NULL: none. */
static void add_rest(const ons_gemm *gemm, const float *bias, const float *added, float *c) {
    int64_t rows = gemm->sizes.batch * gemm->sizes.m, n = gemm->sizes.n;
    if (bias == NULL && added == NULL) return;
#pragma omp parallel for schedule(static) num_threads(gemm->threads) if (gemm->threads > 1)
    for (int64_t i = 0; i < rows; ++i) {
        if (bias != NULL) add_bias(gemm, bias, c, i, i + 1);
        for (int64_t j = 0; added != NULL && j < n; ++j) c[i * n + j] += added[i * n + j];
    }
}

static bool run_each(const ons_gemm *gemm, const float *a, const float *b, const float *bias, float beta, float *c) {
    const ons_gemm_sizes *s = &gemm->sizes;
    bool failed = false;
#pragma omp parallel for schedule(static) num_threads(gemm->threads) if (s->batch > 1) reduction(|| : failed)
    for (int64_t i = 0; i < s->batch; ++i) {
        float *to = c + i * s->m * s->n;
        failed = sgemm(gemm, a + gemm->offsets_a[i], b + gemm->offsets_b[i], beta, to) != dnnl_success || failed;
        if (bias != NULL) add_bias(gemm, bias, to, 0, s->m);
    }
    return !failed;
}

static bool run_turned(const ons_gemm *gemm, const float *a, const float *b, float *turned, float *c) {
    bool good = sgemm_turned(gemm, a, b, turned) == dnnl_success;
    ons_strided_copy(gemm->turn, turned, c);
    return good;
}

static void pad_rows(const padded_operand *p, int threads, const float *from, int64_t rows, float *to) {
    int64_t stride = padded_row(p);
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int64_t i = 0; i < rows; ++i) memcpy(to + i * stride, from + i * p->row, (size_t)p->columns * sizeof(float));
}

/* Some k at a time: A where it is transposed, or else B, is copied. */
static bool run_padded(const ons_gemm *gemm, const float *a, const float *b, float beta, float *copy, float *c) {
    const ons_gemm_sizes *s = &gemm->sizes;
    const padded_operand padded = padded_of(gemm);
    bool ta = gemm->form.transpose_a, tb = gemm->form.transpose_b, good = true;
    int64_t step = padded_rows(&padded, s->k), row = padded_row(&padded);
    for (int64_t k = 0; k < s->k && good; k += step) {
        int64_t rows = s->k - k < step ? s->k - k : step;
        const float *left = ta ? a + k * row_of_a(gemm) : a + k, *right = tb ? b + k : b + k * row_of_b(gemm);
        pad_rows(&padded, gemm->threads, ta ? left : right, rows, copy);
        good = dnnl_sgemm(ta ? 'T' : 'N', tb ? 'T' : 'N', s->m, s->n, rows, (float)gemm->form.alpha, ta ? copy : left,
                          ta ? row : row_of_a(gemm), ta ? right : copy, ta ? row_of_b(gemm) : row, k > 0 ? 1 : beta, c,
                          s->n) == dnnl_success;
    }
    return good;
}

static void run_primitive(const ons_gemm *gemm, const float *a, const float *b, const float *bias, const float *added,
                          float *c, const ons_launch *launch) {
    const void *pointers[5] = {a, b, c};
    int count = 3;
    if (bias != NULL) pointers[count++] = bias;
    if (added != NULL && !gemm->adds_behind) pointers[count++] = added;
    ons_onednn_run(&gemm->primitive, pointers, launch->scratch, launch->fault);
}

static void run(const ons_gemm *gemm, const float *a, const float *b, const float *bias, const float *added, float beta,
                float *c, const ons_launch *launch) {
    if (gemm->empty) {
        run_empty(gemm, bias, beta, c);
        add_rest(gemm, NULL, added, c);
        return;
    }
    bool good = true, owes_bias = false;
    int before = ons_onednn_enter(gemm->threads);
    switch (gemm->way) {
    case ONS_PRODUCT_SGEMM:
        good = sgemm(gemm, a, b, beta, c) == dnnl_success;
        owes_bias = bias != NULL;
        break;
    case ONS_PRODUCT_TURNED:
        good = run_turned(gemm, a, b, launch->scratch, c);
        owes_bias = bias != NULL;
        break;
    case ONS_PRODUCT_PADDED:
        good = run_padded(gemm, a, b, beta, launch->scratch, c);
        owes_bias = bias != NULL;
        break;
    case ONS_PRODUCT_EACH: good = run_each(gemm, a, b, bias, beta, c); break;
    default: run_primitive(gemm, a, b, bias, added, c, launch);
    }
    add_rest(gemm, owes_bias ? bias : NULL, gemm->adds_behind ? added : NULL, c);
    ons_onednn_leave(before);
    if (!good && launch->fault != NULL && launch->fault->problem == NULL)
        launch->fault->problem = "oneDNN failed to multiply matrices";
}

void ons_gemm_run(const ons_gemm *gemm, const float *a, const float *b, const float *bias, float beta, float *c,
                  const ons_launch *launch) {
    run(gemm, a, b, bias, NULL, beta, c, launch);
}

void ons_gemm_run_adding(const ons_gemm *gemm, const float *a, const float *b, const float *bias, const float *added,
                         float *c, const ons_launch *launch) {
    run(gemm, a, b, bias, added, 0, c, launch);
}

/* -------------------------------------------------------------------------------------------------------- reference */

/* A row times a column, each with so many elements from one to the next. */
static double dot(const double *a, int64_t a_step, const double *b, int64_t b_step, int64_t count) {
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) sum += a[i * a_step] * b[i * b_step];
    return sum;
}

static uint64_t dot_integer(const int64_t *a, int64_t a_step, const int64_t *b, int64_t b_step, int64_t count) {
    uint64_t sum = 0;
    for (int64_t i = 0; i < count; ++i) sum += (uint64_t)a[i * a_step] * (uint64_t)b[i * b_step];
    return sum;
}

/* Each element of the result, of doubles or of integers. */
static void multiply(const ons_operands *o, const ons_shape *a_shape, const ons_shape *b_shape,
                     const ons_gemm_form *form, const void *a, const void *b, void *c, bool integer) {
    ons_gemm_sizes s;
    ons_shape result, left = promote(a_shape, true), right = promote(b_shape, false);
    ons_resolved(ons_gemm_resolve(o, a_shape, b_shape, form, &s, &result));
    bool ta = form->transpose_a, tb = form->transpose_b;
    int64_t a_step = ta ? s.m : 1, b_step = tb ? 1 : s.n;
    for (int64_t i = 0; i < s.batch * s.m * s.n; ++i) {
        int64_t matrix = i / (s.m * s.n), row = i / s.n % s.m, column = i % s.n;
        int64_t x =
            (s.broadcast ? offset_of(&s.batch_shape, &left, matrix) : matrix) * s.m * s.k + row * (ta ? 1 : s.k);
        int64_t y =
            (s.broadcast ? offset_of(&s.batch_shape, &right, matrix) : matrix) * s.k * s.n + column * (tb ? s.k : 1);
        if (integer)
            ((int64_t *)c)[i] = (int64_t)((uint64_t)form->alpha * dot_integer((const int64_t *)a + x, a_step,
                                                                              (const int64_t *)b + y, b_step, s.k));
        else
            ((double *)c)[i] = form->alpha * dot((const double *)a + x, a_step, (const double *)b + y, b_step, s.k);
    }
}

void ons_gemm_reference(const ons_operands *o, const ons_shape *a_shape, const ons_shape *b_shape,
                        const ons_gemm_form *form, const double *a, const double *b, double *c) {
    multiply(o, a_shape, b_shape, form, a, b, c, false);
}

void ons_gemm_reference_integer(const ons_operands *o, const ons_shape *a_shape, const ons_shape *b_shape,
                                const ons_gemm_form *form, const int64_t *a, const int64_t *b, int64_t *c) {
    multiply(o, a_shape, b_shape, form, a, b, c, true);
}
