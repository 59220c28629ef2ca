#include "kernels/attention/cuda_attention_products.h"

/* Bytes of scratch for scores, where one head does not need more. */
static const int64_t scratch_wanted = (int64_t)256 << 20;
enum { UNIT = 256 };

typedef struct maker {
    const ons_attention *attention;
    ons_dtype dtype;
    bool tf32;
    ons_attention_batch batch;
    int64_t matrices, workspace; /* workspace: what each call may take */
    ons_status *status;          /* the first failure */
} maker;

static int64_t distance(const maker *m, const ons_attention_steps *steps) {
    return m->batch == ONS_ATTENTION_SAMPLES ? steps->batch : steps->head;
}

static ons_cuda_matrix_steps rows_of(const maker *m, const ons_attention_steps *steps) {
    return (ons_cuda_matrix_steps){steps->position, distance(m, steps)};
}

/* Keys as they lie: a row for each position, or, transposed, for each element. */
static ons_cuda_matrix_steps keys_of(const maker *m) {
    const ons_attention *a = m->attention;
    return (ons_cuda_matrix_steps){a->keys_transposed ? a->key.size : a->key.position, distance(m, &a->key)};
}

static bool are_rows(const ons_attention_steps *steps) { return steps->size == 1; }

static bool is_possible(const ons_attention *a) {
    bool keys = a->keys_transposed ? a->key.position == 1 : are_rows(&a->key);
    return are_rows(&a->query) && are_rows(&a->value) && are_rows(&a->result) && keys && a->batch > 0 && a->heads > 0 &&
           a->queries > 0 && a->keys > 0 && a->size > 0;
}

/* Of where the heads of operands begin. */
static int64_t alignment_of(const maker *m) {
    const ons_attention *a = m->attention;
    const ons_attention_steps *steps[] = {&a->query, &a->key, &a->value, &a->result};
    int64_t any = 0; /* its lowest bit is that of all */
    for (int i = 0; i < 4; ++i) any |= steps[i]->batch | steps[i]->head | steps[i]->start;
    return ons_cuda_alignment_of(any * (int64_t)ons_dtype_size(m->dtype));
}

static ons_cuda_gemm_call product(const maker *m, int64_t rows, int64_t columns, int64_t depth) {
    return (ons_cuda_gemm_call){.dtype = m->dtype,
                                .tf32 = m->tf32 && m->dtype == ONS_FLOAT32,
                                .batch = m->matrices,
                                .m = rows,
                                .n = columns,
                                .k = depth,
                                .alpha = 1,
                                .alignment = alignment_of(m),
                                .workspace_bytes = m->workspace};
}

static void plan(maker *m, ons_cuda_gemm_call call, ons_cuda_plan **result) {
    if (m->status == NULL) m->status = ons_cuda_plan_new(&call, result);
}

/* rows × columns scores from the operand with rows at `a` and what `b` has for the columns. */
static ons_cuda_gemm_call scores(const maker *m, ons_cuda_matrix_steps a, ons_cuda_matrix_steps b, bool transpose_b) {
    ons_cuda_gemm_call call = product(m, m->attention->queries, m->attention->keys, m->attention->size);
    call.full = true;
    call.transpose_b = transpose_b;
    call.a = a;
    call.b = b;
    return call;
}

static void plan_forward(maker *m, ons_attention_products *x) {
    const ons_attention *a = m->attention;
    plan(m, scores(m, rows_of(m, &a->query), keys_of(m), !a->keys_transposed), &x->scores);
    ons_cuda_gemm_call result = product(m, a->queries, a->size, a->keys);
    result.b = rows_of(m, &a->value);
    result.c = rows_of(m, &a->result);
    plan(m, result, &x->result);
}

static void plan_backward(maker *m, ons_attention_products *x) {
    const ons_attention *a = m->attention;
    plan(m, scores(m, rows_of(m, &a->query), keys_of(m), !a->keys_transposed), &x->scores);
    plan(m, scores(m, rows_of(m, &a->result), rows_of(m, &a->value), true), &x->slopes);

    ons_cuda_gemm_call query = product(m, a->queries, a->size, a->keys);
    query.alpha = a->scale;
    query.transpose_b = a->keys_transposed;
    query.b = keys_of(m);
    query.c = rows_of(m, &a->query);
    plan(m, query, &x->query);

    ons_cuda_gemm_call key =
        a->keys_transposed ? product(m, a->size, a->keys, a->queries) : product(m, a->keys, a->size, a->queries);
    key.alpha = a->scale;
    key.transpose_a = true;
    *(a->keys_transposed ? &key.a : &key.b) = rows_of(m, &a->query);
    key.c = keys_of(m);
    plan(m, key, &x->key);

    ons_cuda_gemm_call value = product(m, a->keys, a->size, a->queries);
    value.transpose_a = true;
    value.b = rows_of(m, &a->result);
    value.c = rows_of(m, &a->value);
    plan(m, value, &x->value);
}

static bool go_on(const ons_attention_steps *steps, int64_t heads) { return steps->batch == heads * steps->head; }

/* All matrices in one call where samples go on at the distance of heads, otherwise along the longer of the two. */
static ons_attention_batch batch_of(const ons_attention *a) {
    if (go_on(&a->query, a->heads) && go_on(&a->key, a->heads) && go_on(&a->value, a->heads) &&
        go_on(&a->result, a->heads))
        return ONS_ATTENTION_ALL;
    return a->batch > a->heads ? ONS_ATTENTION_SAMPLES : ONS_ATTENTION_HEADS;
}

/* As many at a time as `room` bytes hold, so that each call has the same number. */
static int64_t matrices_at_once(const ons_attention *a, ons_attention_batch batch, int64_t bytes, int64_t room) {
    const int64_t counts[] = {[ONS_ATTENTION_ALL] = a->batch * a->heads,
                              [ONS_ATTENTION_HEADS] = a->heads,
                              [ONS_ATTENTION_SAMPLES] = a->batch};
    int64_t count = counts[batch], parts = 1;
    while (parts < count && (count % parts != 0 || count / parts > room / bytes)) ++parts;
    return count / parts;
}

/* Takes so many bytes of the scratch. */
static int64_t take(int64_t *end, int64_t bytes) {
    int64_t at = *end;
    *end = at + (bytes + UNIT - 1) / UNIT * UNIT;
    return at;
}

static int64_t neediest(const ons_attention_products *x) {
    const ons_cuda_plan *plans[] = {x->scores, x->result, x->slopes, x->query, x->key, x->value};
    int64_t most = 0;
    for (int i = 0; i < 6; ++i) {
        int64_t bytes = plans[i] == NULL ? 0 : ons_cuda_plan_workspace(plans[i]);
        most = bytes > most ? bytes : most;
    }
    return most;
}

ons_status *ons_attention_products_prepare(ons_prepare *p, const ons_attention *a, ons_dtype dtype, bool gradient,
                                           ons_attention_products *x) {
    *x = (ons_attention_products){0};
    if (!is_possible(a)) return NULL;
    int64_t size = (int64_t)ons_dtype_size(dtype), of_score = gradient ? 2 * (4 + size) : 4 + size, pairs, bytes;
    if (__builtin_mul_overflow(a->queries, a->keys, &pairs) || __builtin_mul_overflow(pairs, of_score, &bytes))
        return NULL;
    int64_t end = (p->scratch_bytes + UNIT - 1) / UNIT * UNIT, room = p->scratch_limit - end - 4 * UNIT;
    x->batch = batch_of(a);
    x->matrices = matrices_at_once(a, x->batch, bytes, room < scratch_wanted ? room : scratch_wanted);
    if (__builtin_mul_overflow(pairs, x->matrices, &pairs) || pairs > room / of_score) return NULL;
    x->scores_at = take(&end, pairs * 4);
    if (gradient) x->slopes_at = take(&end, pairs * 4);
    x->weights_at = take(&end, pairs * size);
    if (gradient) x->score_gradient_at = take(&end, pairs * size);
    int64_t left = p->scratch_limit - end, workspace = ons_cuda_workspace(2.0 * (double)pairs * (double)a->size);
    maker m = {.attention = a,
               .dtype = dtype,
               .tf32 = p->tf32,
               .batch = x->batch,
               .matrices = x->matrices,
               .workspace = workspace < left ? workspace : left / UNIT * UNIT};
    (gradient ? plan_backward : plan_forward)(&m, x);
    if (m.status != NULL) {
        ons_attention_products_free(x);
        if (ons_status_get_code(m.status) == ONS_OUT_OF_MEMORY) return m.status;
        ons_status_free(m.status);
        return NULL;
    }
    x->workspace_at = take(&end, neediest(x));
    p->scratch_bytes = end;
    p->implementation = "cublasLt, and kernels between";
    return NULL;
}

void ons_attention_products_free(ons_attention_products *x) {
    ons_cuda_plan *plans[] = {x->scores, x->result, x->slopes, x->query, x->key, x->value};
    for (int i = 0; i < 6; ++i) ons_cuda_plan_free(plans[i]);
    *x = (ons_attention_products){0};
}
