/* Attention on the CPU. */
#include "kernels/attention/attention.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "kernels/attention/attention_operands.h"
#include "kernels/attention/attention_rows.h"
#include "kernels/common/math/simd.h"

/* Scratch of a thread, in floats: transposed keys (size × keys), then scores (block × keys), rows of `stride`. Where
 * rows lie apart, before them values (keys × size) and a block's queries, rows of `row`. */
typedef struct attention_state {
    ons_attention attention;
    int threads;
    int64_t stride, row, scratch;
    bool apart;
} attention_state;

static ons_status *attention_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ONS_TRY(ons_require_float32(o));
    attention_state *state;
    ONS_NEW_STATE(state, p);
    ons_resolved(find_attention(o, &state->attention));
    const ons_attention *a = &state->attention;
    state->threads = ons_team_size(p);
    state->stride = ons_attention_stride(a->keys);
    state->row = ons_attention_stride(a->size);
    state->scratch = ((a->keys_transposed ? 0 : a->size) + ONS_ATTENTION_BLOCK) * state->stride;
    int64_t rows = a->keys + ONS_ATTENTION_BLOCK;
    state->apart = ons_attention_apart(a, rows);
    if (state->apart) state->scratch += rows * state->row;
    p->scratch_bytes = state->threads * state->scratch * (int64_t)sizeof(float);
    return NULL;
}

/* The largest of each lane. Rows have room for whole lanes. */
static ons_simd_float largest_of_row(const float *scores, int64_t seen) {
    ons_simd_float largest = ons_simd_all(-INFINITY);
    int64_t j = 0;
    for (; j + ONS_SIMD_FLOATS < seen; j += ONS_SIMD_FLOATS) largest = ons_simd_max(largest, ons_simd_load(scores + j));
    return ons_simd_max(largest, ons_simd_select(ons_simd_first(seen - j), ons_simd_load(scores + j), largest));
}

/* scores → scale · score + mask in place; gives the largest of each lane. */
static ons_simd_float mask_row(float scale, float *scores, const float *mask, int64_t seen) {
    ons_simd_float largest = ons_simd_all(-INFINITY);
    int64_t j = 0;
    for (; j + ONS_SIMD_FLOATS <= seen; j += ONS_SIMD_FLOATS) {
        ons_simd_float s = ons_simd_load(scores + j) * scale + ons_simd_load(mask + j);
        ons_simd_store(scores + j, s);
        largest = ons_simd_max(largest, s);
    }
    if (j == seen) return largest;
    ons_simd_float s = ons_simd_load(scores + j) * scale + ons_simd_load_some(mask + j, seen - j, 0);
    ons_simd_store(scores + j, s);
    return ons_simd_max(largest, ons_simd_select(ons_simd_first(seen - j), s, largest));
}

/* scores → e^(scale · (score - max)) in place, 0 from `seen` to `count`; gives the sum of each lane. */
static ons_simd_float exponentiate_row(float scale, float max, float *scores, int64_t seen, int64_t count) {
    ons_simd_float total = {0}, e, factor = ons_simd_all(scale * ONS_LOG2_E);
    int64_t j = 0;
    for (; j + ONS_SIMD_FLOATS < seen; j += ONS_SIMD_FLOATS) {
        e = ons_simd_exp2((ons_simd_load(scores + j) - max) * factor);
        ons_simd_store(scores + j, e);
        total += e;
    }
    e = ons_simd_exp2((ons_simd_load(scores + j) - max) * factor);
    e = ons_simd_select(ons_simd_first(seen - j), e, (ons_simd_float){0});
    ons_simd_store(scores + j, e);
    for (j += ONS_SIMD_FLOATS; j < count; j += ONS_SIMD_FLOATS) ons_simd_store(scores + j, (ons_simd_float){0});
    return total + e;
}

static void scale_row(float *y, float factor, int64_t n) {
    int64_t d = 0;
    for (; d + ONS_SIMD_FLOATS <= n; d += ONS_SIMD_FLOATS) ons_simd_store(y + d, ons_simd_load(y + d) * factor);
    if (d < n) ons_simd_store_some(y + d, ons_simd_load_some(y + d, n - d, 0) * factor, n - d);
}

/* The operands of one head; `mask`, `kept` and `saved` may be NULL. */
typedef struct head_operands {
    ons_small_matrix query, keys, values, y;
    bool apart;
    ons_small_matrix near; /* where rows lie apart: for a block's queries */
    const float *mask;
    const uint8_t *kept;
    float *saved;
    ons_attention_ahead ahead;
} head_operands;

static void save_some(ons_simd_float max, ons_simd_float sum, float *saved, int64_t count) {
    ons_simd_float log = max + ons_simd_log(sum);
    if (count < ONS_SIMD_FLOATS)
        ons_simd_store_some(saved, log, count);
    else
        ons_simd_store(saved, log);
}

/* `max` and `sum` have room for whole lanes. */
static void save_rows(float scale, const float *max, const float *sum, float *saved, int64_t count) {
    for (int64_t r = 0; r < count; r += ONS_SIMD_FLOATS)
        save_some(ons_simd_load(max + r) * scale, ons_simd_load(sum + r), saved + r, count - r);
}

/* Queries [begin, end). */
static void attend_block(const ons_attention *a, const head_operands *h, int64_t begin, int64_t end,
                         ons_small_matrix scores) {
    int64_t rows = end - begin, seen = ons_attention_keys_seen(a, end);
    float max[ONS_ATTENTION_BLOCK], sum[ONS_ATTENTION_BLOCK];
    ons_attention_simd lanes;
    ons_small_matrix query = {h->query.data + begin * h->query.stride, h->query.stride};
    if (h->apart) {
        ons_attention_copy_rows(query, h->near, rows, a->size);
        query = h->near;
    }
    ons_small_matrix y = {h->y.data + begin * h->y.stride, h->y.stride};
    const ons_small_gemm from_keys = {
        .m = rows,
        .n = seen,
        .k = a->size,
        .lower = a->causal ? ONS_RESULT_LOWER : ONS_NONE_LOWER,
        .diagonal = begin,
    };
    const ons_small_gemm from_values = {
        .m = rows,
        .n = a->size,
        .k = seen,
        .lower = a->causal ? ONS_LEFT_LOWER : ONS_NONE_LOWER,
        .diagonal = begin,
    };
    ons_small_multiply(&from_keys, query, h->keys, scores);
    for (int64_t r = 0; r < rows; ++r) {
        ons_attention_fetch_read(&h->ahead, begin + r);
        float *row = scores.data + r * scores.stride;
        int64_t row_seen = ons_attention_keys_seen(a, begin + r + 1);
        lanes.of[r] = h->mask == NULL ? largest_of_row(row, row_seen)
                                      : mask_row(a->scale, row, h->mask + (begin + r) * a->mask.position, row_seen);
    }
    ons_attention_maxima(&lanes, rows, max);
    float scale = h->mask == NULL ? a->scale : 1;
    for (int64_t r = 0; r < rows; ++r) {
        ons_attention_fetch_written(&h->ahead, begin + r);
        lanes.of[r] = exponentiate_row(scale, max[r], scores.data + r * scores.stride,
                                       ons_attention_keys_seen(a, begin + r + 1), seen);
    }
    ons_attention_sums(&lanes, rows, sum);
    for (int64_t r = 0; r < rows; ++r) {
        if (a->guard && max[r] == -INFINITY) { /* no key is seen: zeros, and no gradient */
            memset(scores.data + r * scores.stride, 0, (size_t)seen * sizeof(float));
            max[r] = sum[r] = INFINITY;
        }
        if (h->kept != NULL)
            ons_attention_drop(scores.data + r * scores.stride, h->kept + (begin + r) * a->keys, a->kept_scale, seen);
    }
    ons_small_multiply(&from_values, scores, h->values, y);
    for (int64_t r = 0; r < rows; ++r) scale_row(y.data + r * y.stride, 1 / sum[r], a->size);
    if (h->saved != NULL) save_rows(scale, max, sum, h->saved + begin, rows);
}

/* Of (batch, head), if there is such a one. Keys and values have as many rows as queries, or are left alone. */
static ons_attention_ahead ahead_of(const ons_launch *launch, const ons_attention *a, int64_t next) {
    if (next >= a->batch * a->heads || a->keys != a->queries) return (ons_attention_ahead){.reads = 0};
    int64_t batch = next / a->heads, head = next % a->heads;
    ons_attention_ahead ahead = {
        .read = {ons_attention_matrix(launch->inputs[0], &a->query, batch, head),
                 ons_attention_matrix(launch->inputs[2], &a->value, batch, head)},
        .written = {ons_attention_matrix(launch->outputs[0], &a->result, batch, head)},
        .reads = 2,
        .writes = 1,
        .width = a->size,
    };
    if (!a->keys_transposed) ahead.read[ahead.reads++] = ons_attention_matrix(launch->inputs[1], &a->key, batch, head);
    return ahead;
}

static void attend_head(const ons_launch *launch, const attention_state *state, int64_t batch, int64_t head,
                        float *scratch) {
    const ons_attention *a = &state->attention;
    head_operands h = {
        .query = ons_attention_matrix(launch->inputs[0], &a->query, batch, head),
        .keys = ons_attention_matrix(launch->inputs[1], &a->key, batch, head),
        .values = ons_attention_matrix(launch->inputs[2], &a->value, batch, head),
        .y = ons_attention_matrix(launch->outputs[0], &a->result, batch, head),
        .mask = a->has_mask ? (const float *)launch->inputs[3] + ons_attention_offset(&a->mask, batch, head) : NULL,
        .kept = a->has_kept ? launch->inputs[4] : NULL,
        .saved = launch->outputs[1],
        .ahead = ahead_of(launch, a, batch * a->heads + head + 1),
    };
    if (h.kept != NULL) h.kept += (batch * a->heads + head) * a->queries * a->keys;
    if (h.saved != NULL) h.saved += (batch * a->heads + head) * a->queries;
    if (state->apart) {
        ons_small_matrix values = {scratch, state->row};
        ons_attention_copy_rows(h.values, values, a->keys, a->size);
        h.values = values;
        h.apart = true;
        h.near = (ons_small_matrix){scratch + a->keys * state->row, state->row};
        scratch += (a->keys + ONS_ATTENTION_BLOCK) * state->row;
    }
    if (!a->keys_transposed) {
        ons_small_matrix transposed = {scratch, state->stride};
        ons_small_transpose(a->keys, a->size, h.keys, transposed);
        scratch += a->size * state->stride;
        h.keys = transposed;
    }
    for (int64_t begin = 0; begin < a->queries; begin += ONS_ATTENTION_BLOCK) {
        int64_t end = begin + ONS_ATTENTION_BLOCK < a->queries ? begin + ONS_ATTENTION_BLOCK : a->queries;
        attend_block(a, &h, begin, end, (ons_small_matrix){scratch, state->stride});
    }
}

static void attention_run(const ons_launch *launch) {
    const attention_state *state = launch->state;
    int64_t heads = state->attention.heads, count = state->attention.batch * heads;
#pragma omp parallel for schedule(static) num_threads(state->threads) if (count > 1)
    for (int64_t i = 0; i < count; ++i)
        attend_head(launch, state, i / heads, i % heads,
                    (float *)launch->scratch + omp_get_thread_num() * state->scratch);
}

ONS_KERNELS(cpu, attention, ONS_KERNEL(attention_prepare, attention_run))
