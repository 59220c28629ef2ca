/* AttentionGradient on the CPU. */
#include "kernels/attention/attention_gradient.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "kernels/attention/attention_operands.h"
#include "kernels/attention/attention_rows.h"
#include "kernels/common/math/simd.h"

/* Scratch of a thread: Kᵀ and Vᵀ (size × keys), P and dP (block × keys), rows of `stride` floats. Where keys come
 * transposed, K and dK (keys × size) take the place of Kᵀ. */
typedef struct gradient_state {
    ons_attention attention;
    int threads;
    int64_t stride, scratch; /* floats */
    bool has_result;
} gradient_state;

static ons_status *attention_gradient_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ONS_TRY(ons_require_float32(o));
    gradient_state *state;
    ONS_NEW_STATE(state, p);
    ons_resolved(find_attention(o, &state->attention));
    state->has_result = ons_has_input(o, RESULT);
    const ons_attention *a = &state->attention;
    state->threads = ons_team_size(p);
    state->stride = ons_attention_stride(a->keys);
    state->scratch = (a->size + 2 * ONS_ATTENTION_BLOCK) * state->stride;
    state->scratch += a->keys_transposed ? 2 * a->keys * a->size : a->size * state->stride;
    state->scratch = (state->scratch + ONS_ATTENTION_LINE - 1) / ONS_ATTENTION_LINE * ONS_ATTENTION_LINE;
    p->scratch_bytes = state->threads * state->scratch * (int64_t)sizeof(float);
    return NULL;
}

/* One head. The gradients' data is NULL where they are not wanted. */
typedef struct head_work {
    const ons_attention *attention;
    ons_small_matrix dy, query, keys, keys_transposed, values_transposed;
    ons_small_matrix dq, dk, dv;
    ons_small_matrix p, ds; /* of a block of queries */
    const float *mask, *saved;
    ons_small_matrix result; /* data NULL: not given */
    const uint8_t *kept;     /* queries × keys; NULL: nothing is dropped */
    float *dm;               /* queries × keys, added to */
    ons_attention_ahead ahead;
} head_work;

/* Σ dy y of a query. */
static float dot_of(const head_work *w, int64_t query) {
    const float *dy = w->dy.data + query * w->dy.stride, *y = w->result.data + query * w->result.stride;
    float sum = 0;
    for (int64_t d = 0; d < w->attention->size; ++d) sum += dy[d] * y[d];
    return sum;
}

/* scores → P in place; gives Σ p dp of each lane. Beyond `seen`, to the end of the lanes, both become 0. Rows have room
 * for whole lanes. */
static ons_simd_float probability_row(float scale, float *scores, float *dp, const float *mask, float saved,
                                      int64_t seen) {
    ons_simd_float dots = {0}, none = {0};
    int64_t j = 0;
    for (; j + ONS_SIMD_FLOATS < seen; j += ONS_SIMD_FLOATS) {
        ons_simd_float s = ons_simd_load(scores + j) * scale - saved;
        if (mask != NULL) s += ons_simd_load(mask + j);
        ons_simd_float e = ons_simd_exp2(s * ONS_LOG2_E);
        ons_simd_store(scores + j, e);
        dots += e * ons_simd_load(dp + j);
    }
    ons_simd_bits first = ons_simd_first(seen - j);
    ons_simd_float s = ons_simd_load(scores + j) * scale - saved;
    if (mask != NULL)
        s += seen - j == ONS_SIMD_FLOATS ? ons_simd_load(mask + j) : ons_simd_load_some(mask + j, seen - j, 0);
    ons_simd_float e = ons_simd_select(first, ons_simd_exp2(s * ONS_LOG2_E), none);
    ons_simd_float d = ons_simd_select(first, ons_simd_load(dp + j), none);
    ons_simd_store(scores + j, e);
    ons_simd_store(dp + j, d);
    return dots + e * d;
}

/* dP → dS in place; 0 from `seen` to `count` in P and dS. */
static void score_gradient_row(float scale, float *p, float *dp, float dot, int64_t seen, int64_t count) {
    int64_t j = 0;
    for (; j < seen; j += ONS_SIMD_FLOATS)
        ons_simd_store(dp + j, ons_simd_load(p + j) * (ons_simd_load(dp + j) - dot) * scale);
    for (; j < count; j += ONS_SIMD_FLOATS) {
        ons_simd_store(p + j, (ons_simd_float){0});
        ons_simd_store(dp + j, (ons_simd_float){0});
    }
}

static void add_to_mask(float *dm, const float *ds, float factor, int64_t seen) {
#pragma omp simd
    for (int64_t j = 0; j < seen; ++j) dm[j] += ds[j] * factor;
}

static void clear(ons_small_matrix matrix, int64_t rows, int64_t columns) {
    for (int64_t i = 0; matrix.data != NULL && i < rows; ++i)
        memset(matrix.data + i * matrix.stride, 0, (size_t)columns * sizeof(float));
}

static ons_small_matrix rows_from(ons_small_matrix matrix, int64_t row) {
    return (ons_small_matrix){matrix.data == NULL ? NULL : matrix.data + row * matrix.stride, matrix.stride};
}

/* P and dS of the queries from `begin`, from their products with keys and values. */
static void differentiate_block(const head_work *w, int64_t begin, int64_t rows, int64_t seen) {
    const ons_attention *a = w->attention;
    float dots[ONS_ATTENTION_BLOCK];
    ons_attention_simd lanes;
    for (int64_t r = 0; w->kept != NULL && r < rows; ++r)
        ons_attention_drop(w->ds.data + r * w->ds.stride, w->kept + (begin + r) * a->keys, a->kept_scale, seen);
    for (int64_t r = 0; r < rows; ++r) {
        ons_attention_fetch_read(&w->ahead, begin + r);
        lanes.of[r] = probability_row(a->scale, w->p.data + r * w->p.stride, w->ds.data + r * w->ds.stride,
                                      w->mask == NULL ? NULL : w->mask + (begin + r) * a->mask.position,
                                      w->saved[begin + r], ons_attention_keys_seen(a, begin + r + 1));
    }
    ons_attention_sums(&lanes, rows, dots);
    for (int64_t r = 0; w->result.data != NULL && r < rows; ++r) dots[r] = dot_of(w, begin + r);
    for (int64_t r = 0; r < rows; ++r) {
        ons_attention_fetch_written(&w->ahead, begin + r);
        score_gradient_row(a->scale, w->p.data + r * w->p.stride, w->ds.data + r * w->ds.stride, dots[r],
                           ons_attention_keys_seen(a, begin + r + 1), seen);
    }
    for (int64_t r = 0; w->dm != NULL && r < rows; ++r)
        add_to_mask(w->dm + (begin + r) * a->keys, w->ds.data + r * w->ds.stride, 1 / a->scale, seen);
    for (int64_t r = 0; w->kept != NULL && r < rows; ++r)
        ons_attention_drop(w->p.data + r * w->p.stride, w->kept + (begin + r) * a->keys, a->kept_scale, seen);
}

/* Queries [begin, end). `add`: dK and dV hold the sums of later queries. */
static void work_block(const head_work *w, int64_t begin, int64_t end, bool add) {
    const ons_attention *a = w->attention;
    int64_t rows = end - begin, seen = ons_attention_keys_seen(a, end), size = a->size;
    ons_small_matrix query = rows_from(w->query, begin), dy = rows_from(w->dy, begin);
    ons_small_lower left = a->causal ? ONS_LEFT_LOWER : ONS_NONE_LOWER;
    const ons_small_gemm pairs = {
        .m = rows, .n = seen, .k = size, .lower = a->causal ? ONS_RESULT_LOWER : ONS_NONE_LOWER, .diagonal = begin};
    ons_small_multiply(&pairs, query, w->keys_transposed, w->p);
    ons_small_multiply(&pairs, dy, w->values_transposed, w->ds);
    differentiate_block(w, begin, rows, seen);
    const ons_small_gemm onto_keys = {
        .m = seen, .n = size, .k = rows, .transpose_a = true, .add = add, .lower = left, .diagonal = begin};
    const ons_small_gemm onto_queries = {.m = rows, .n = size, .k = seen, .lower = left, .diagonal = begin};
    if (w->dv.data != NULL) ons_small_multiply(&onto_keys, w->p, dy, w->dv);
    if (w->dk.data != NULL) ons_small_multiply(&onto_keys, w->ds, query, w->dk);
    if (w->dq.data != NULL) ons_small_multiply(&onto_queries, w->ds, w->keys, rows_from(w->dq, begin));
}

/* The last block sees every key that any query sees: it sets what the others add to. */
static void work_blocks(const head_work *w) {
    const ons_attention *a = w->attention;
    int64_t blocks = (a->queries + ONS_ATTENTION_BLOCK - 1) / ONS_ATTENTION_BLOCK;
    int64_t seen = a->queries == 0 ? 0 : ons_attention_keys_seen(a, a->queries);
    clear(rows_from(w->dk, seen), a->keys - seen, a->size);
    clear(rows_from(w->dv, seen), a->keys - seen, a->size);
    for (int64_t block = blocks - 1; block >= 0; --block) {
        int64_t begin = block * ONS_ATTENTION_BLOCK, end = begin + ONS_ATTENTION_BLOCK;
        work_block(w, begin, end < a->queries ? end : a->queries, block < blocks - 1);
    }
}

/* Of operand 0 to 2; data NULL where it is not wanted. */
static ons_small_matrix output_of(const ons_launch *launch, const ons_attention *a, int operand, int64_t batch,
                                  int64_t head) {
    const ons_attention_steps *steps[3] = {&a->query, &a->key, &a->value};
    float *data = launch->outputs[ons_attention_gradient_output(a, operand)];
    if (data == NULL) return (ons_small_matrix){NULL, 0};
    return ons_attention_matrix(data, steps[operand], batch, head);
}

/* Cleared before the first sample that adds to it. */
static float *mask_gradient_of(const ons_launch *launch, const ons_attention *a, int64_t batch, int64_t head) {
    float *dm = a->has_mask ? launch->outputs[3] : NULL;
    if (dm == NULL) return NULL;
    dm += ((mask_batch(a) == 1 ? 0 : batch) * a->heads + head) * a->queries * a->keys;
    if (batch == 0 || mask_batch(a) > 1) memset(dm, 0, (size_t)(a->queries * a->keys) * sizeof *dm);
    return dm;
}

/* Of one head, by its number among those of all samples, if there is such a one and it is plain. */
static ons_attention_ahead ahead_of(const ons_launch *launch, const ons_attention *a, int64_t next) {
    if (next >= a->batch * a->heads || a->keys != a->queries || a->keys_transposed)
        return (ons_attention_ahead){.reads = 0};
    int64_t batch = next / a->heads, head = next % a->heads;
    const ons_attention_steps *steps[3] = {&a->query, &a->key, &a->value};
    ons_attention_ahead ahead = {
        .read = {ons_attention_matrix(launch->inputs[0], &a->result, batch, head)}, .reads = 1, .width = a->size};
    for (int i = 0; i < 3; ++i) {
        ahead.read[ahead.reads++] = ons_attention_matrix(launch->inputs[1 + i], steps[i], batch, head);
        ahead.written[ahead.writes] = output_of(launch, a, i, batch, head);
        ahead.writes += ahead.written[ahead.writes].data != NULL;
    }
    return ahead;
}

static void work_head(const ons_launch *launch, const gradient_state *state, int64_t batch, int64_t head,
                      float *scratch) {
    const ons_attention *a = &state->attention;
    int64_t stride = state->stride, panel = a->size * stride, block = ONS_ATTENTION_BLOCK * stride;
    ons_small_matrix dk = output_of(launch, a, 1, batch, head);
    head_work w = {
        .attention = a,
        .dy = ons_attention_matrix(launch->inputs[0], &a->result, batch, head),
        .result = state->has_result ? ons_attention_matrix(launch->inputs[RESULT], &a->result, batch, head)
                                    : (ons_small_matrix){NULL, 0},
        .query = ons_attention_matrix(launch->inputs[1], &a->query, batch, head),
        .keys = ons_attention_matrix(launch->inputs[2], &a->key, batch, head),
        .values_transposed = {scratch, stride},
        .dq = output_of(launch, a, 0, batch, head),
        .dk = dk,
        .dv = output_of(launch, a, 2, batch, head),
        .p = {scratch + panel, stride},
        .ds = {scratch + panel + block, stride},
        .mask = a->has_mask ? (const float *)launch->inputs[5] + ons_attention_offset(&a->mask, batch, head) : NULL,
        .saved = (const float *)launch->inputs[4] + (batch * a->heads + head) * a->queries,
        .kept =
            a->has_kept ? (const uint8_t *)launch->inputs[6] + (batch * a->heads + head) * a->queries * a->keys : NULL,
        .dm = mask_gradient_of(launch, a, batch, head),
        .ahead = ahead_of(launch, a, batch * a->heads + head + 1),
    };
    float *rest = scratch + panel + 2 * block;
    ons_small_transpose(a->keys, a->size, ons_attention_matrix(launch->inputs[3], &a->value, batch, head),
                        w.values_transposed);
    if (a->keys_transposed) {
        w.keys_transposed = w.keys;
        w.keys = (ons_small_matrix){rest, a->size};
        ons_small_transpose(a->size, a->keys, w.keys_transposed, w.keys);
        if (dk.data != NULL) w.dk = (ons_small_matrix){rest + a->keys * a->size, a->size};
    } else {
        w.keys_transposed = (ons_small_matrix){rest, stride};
        ons_small_transpose(a->keys, a->size, w.keys, w.keys_transposed);
    }
    work_blocks(&w);
    if (a->keys_transposed && dk.data != NULL) ons_small_transpose(a->keys, a->size, w.dk, dk);
}

/* Samples that add to one gradient of the mask come one after the other. */
static void attention_gradient_run(const ons_launch *launch) {
    const gradient_state *state = launch->state;
    const ons_attention *a = &state->attention;
    bool joined = a->has_mask && launch->outputs[3] != NULL && mask_batch(a) == 1;
    int64_t samples = joined ? a->batch : 1, count = a->batch / (samples > 0 ? samples : 1) * a->heads;
#pragma omp parallel for schedule(static) num_threads(state->threads) if (count > 1)
    for (int64_t i = 0; i < count; ++i)
        for (int64_t sample = 0; sample < samples; ++sample)
            work_head(launch, state, joined ? sample : i / a->heads, i % a->heads,
                      (float *)launch->scratch + omp_get_thread_num() * state->scratch);
}

ONS_KERNELS(cpu, attention_gradient, ONS_KERNEL(attention_gradient_prepare, attention_gradient_run))
