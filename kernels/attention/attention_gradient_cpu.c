/* AttentionGradient on the CPU. */
#include "kernels/attention/attention_gradient.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "kernels/attention/attention_operands.h"
#include "kernels/attention/attention_rows.h"
#include "kernels/common/math/far.h"
#include "kernels/common/math/simd.h"

/* Scratch of a thread, in floats: Kᵀ and Vᵀ (size × keys), P and dP (block × keys), rows of `stride`. In rows of `row`,
 * K and dK where keys come transposed, and all that follows where rows lie apart: Q and dY (queries × size), K, dK and
 * dV (keys × size). */
typedef struct gradient_state {
    ons_attention attention;
    int threads;
    int64_t stride, row, scratch;
    bool has_result, apart;
} gradient_state;

/* One more, so that products can take rows by twos. */
static int64_t room_for(int64_t rows) { return rows + 1; }

static int64_t copied_rows(const ons_attention *a, bool apart) {
    if (apart) return 2 * room_for(a->queries) + 3 * room_for(a->keys);
    return a->keys_transposed ? 2 * room_for(a->keys) : 0;
}

static int64_t scratch_bytes(gradient_state *state, bool apart) {
    const ons_attention *a = &state->attention;
    state->apart = apart;
    state->scratch = 2 * (a->size + ONS_ATTENTION_BLOCK) * state->stride + copied_rows(a, apart) * state->row;
    return state->threads * state->scratch * (int64_t)sizeof(float);
}

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
    state->row = ons_attention_stride(a->size);
    p->scratch_bytes = scratch_bytes(state, ons_attention_apart(a, copied_rows(a, true)));
    if (p->scratch_bytes > p->scratch_limit) p->scratch_bytes = scratch_bytes(state, false);
    return NULL;
}

/* One head. The gradients' data is NULL where they are not wanted. */
typedef struct head_work {
    const ons_attention *attention;
    int64_t together; /* rows that products take: 2 where there is room for one more */
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

static float sum_of_lanes(ons_simd_float lanes) {
    float sum = 0;
    for (int l = 0; l < ONS_SIMD_FLOATS; ++l) sum += lanes[l];
    return sum;
}

/* probability_row where `saved` is far: scores as the forward pass makes them, and P divided by its sum. */
__attribute__((noinline, cold)) static ons_simd_float
far_probability_row(float scale, float *scores, float *dp, const float *mask, float saved, int64_t seen) {
    ons_simd_float total = {0}, dots = {0}, none = {0};
    for (int64_t j = 0; j < seen; j += ONS_SIMD_FLOATS) {
        ons_simd_bits there = ons_simd_first(seen - j < ONS_SIMD_FLOATS ? seen - j : ONS_SIMD_FLOATS);
        ons_simd_float s = ons_simd_load(scores + j) * scale;
        if (mask != NULL)
            s += seen - j >= ONS_SIMD_FLOATS ? ons_simd_load(mask + j) : ons_simd_load_some(mask + j, seen - j, 0);
        ons_simd_float e = ons_simd_select(there, ons_simd_exp2((s - saved) * ONS_LOG2_E), none);
        ons_simd_store(scores + j, e);
        ons_simd_store(dp + j, ons_simd_select(there, ons_simd_load(dp + j), none));
        total += e;
    }
    float share = 1 / sum_of_lanes(total);
    for (int64_t j = 0; j < seen; j += ONS_SIMD_FLOATS) {
        ons_simd_float p = ons_simd_load(scores + j) * share;
        ons_simd_store(scores + j, p);
        dots += p * ons_simd_load(dp + j);
    }
    return dots;
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

/* A far row of a mask that was put in the place of scores: dS is 0 where it hides. */
static void close_hidden(float *ds, const float *mask, int64_t seen) {
    for (int64_t j = 0; j < seen; ++j) ds[j] = mask[j] <= ONS_ATTENTION_HIDDEN ? 0 : ds[j];
}

static void add_to_mask(float *dm, const float *ds, float factor, int64_t seen) {
#pragma omp simd
    for (int64_t j = 0; j < seen; ++j) dm[j] += ds[j] * factor;
}

static void clear(ons_small_matrix matrix, int64_t rows, int64_t columns) {
    for (int64_t i = 0; matrix.data != NULL && columns > 0 && i < rows; ++i)
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
        float *p = w->p.data + r * w->p.stride, *dp = w->ds.data + r * w->ds.stride, saved = w->saved[begin + r];
        const float *mask = w->mask == NULL ? NULL : w->mask + (begin + r) * a->mask.position;
        int64_t row_seen = ons_attention_keys_seen(a, begin + r + 1);
        lanes.of[r] = __builtin_expect(ons_is_far(saved), false)
                          ? far_probability_row(a->scale, p, dp, mask, saved, row_seen)
                          : probability_row(a->scale, p, dp, mask, saved, row_seen);
    }
    ons_attention_sums(&lanes, rows, dots);
    for (int64_t r = 0; w->result.data != NULL && r < rows; ++r) dots[r] = dot_of(w, begin + r);
    for (int64_t r = 0; r < rows; ++r) {
        ons_attention_fetch_written(&w->ahead, begin + r);
        score_gradient_row(a->scale, w->p.data + r * w->p.stride, w->ds.data + r * w->ds.stride, dots[r],
                           ons_attention_keys_seen(a, begin + r + 1), seen);
        if (a->chosen && w->mask != NULL && ons_is_far(w->saved[begin + r]))
            close_hidden(w->ds.data + r * w->ds.stride, w->mask + (begin + r) * a->mask.position,
                         ons_attention_keys_seen(a, begin + r + 1));
    }
    for (int64_t r = 0; w->dm != NULL && r < rows; ++r)
        add_to_mask(w->dm + (begin + r) * a->keys, w->ds.data + r * w->ds.stride, 1 / a->scale, seen);
    for (int64_t r = 0; w->kept != NULL && r < rows; ++r)
        ons_attention_drop(w->p.data + r * w->p.stride, w->kept + (begin + r) * a->keys, a->kept_scale, seen);
}

static int64_t round_up(int64_t count, int64_t step) { return (count + step - 1) / step * step; }

/* Queries [begin, end). `add`: dK and dV hold the sums of later queries. There is room for whole lanes of keys, which
 * products take at no more cost than a part of them. */
static void work_block(const head_work *w, int64_t begin, int64_t end, bool add) {
    const ons_attention *a = w->attention;
    int64_t rows = end - begin, seen = ons_attention_keys_seen(a, end), size = a->size;
    ons_small_matrix query = rows_from(w->query, begin), dy = rows_from(w->dy, begin);
    ons_small_lower left = a->causal ? ONS_LEFT_LOWER : ONS_NONE_LOWER;
    const ons_small_gemm pairs = {
        .m = round_up(rows, w->together),
        .n = round_up(seen, ONS_SIMD_FLOATS),
        .k = size,
        .lower = a->causal ? ONS_RESULT_LOWER : ONS_NONE_LOWER,
        .diagonal = begin,
    };
    ons_small_multiply(&pairs, query, w->keys_transposed, w->p);
    ons_small_multiply(&pairs, dy, w->values_transposed, w->ds);
    differentiate_block(w, begin, rows, seen);
    const ons_small_gemm onto_keys = {.m = round_up(seen, w->together),
                                      .n = size,
                                      .k = rows,
                                      .transpose_a = true,
                                      .add = add,
                                      .lower = left,
                                      .diagonal = begin};
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

/* Scratch from *at on, which goes forward behind it. */
static ons_small_matrix take_rows(float **at, int64_t rows, int64_t stride) {
    ons_small_matrix taken = {*at, stride};
    *at += rows * stride;
    return taken;
}

/* The rows, or a copy in scratch with room behind it. */
static ons_small_matrix bring_near(const gradient_state *state, ons_small_matrix rows, int64_t count, float **scratch) {
    if (!state->apart) return rows;
    ons_small_matrix near = take_rows(scratch, room_for(count), state->row);
    ons_attention_copy_rows(rows, near, count, state->attention.size);
    clear(rows_from(near, count), room_for(count) - count, state->attention.size);
    return near;
}

/* What lies behind the keys to the end of the last lanes. */
static void clear_behind(ons_small_matrix transposed, int64_t keys, int64_t size) {
    transposed.data += keys;
    clear(transposed, size, round_up(keys, ONS_SIMD_FLOATS) - keys);
}

static void read_head(const ons_launch *launch, const gradient_state *state, int64_t batch, int64_t head, head_work *w,
                      float **scratch) {
    const ons_attention *a = &state->attention;
    ons_small_matrix keys = ons_attention_matrix(launch->inputs[2], &a->key, batch, head);
    ons_small_matrix values = ons_attention_matrix(launch->inputs[3], &a->value, batch, head);
    w->dy = bring_near(state, ons_attention_matrix(launch->inputs[0], &a->result, batch, head), a->queries, scratch);
    w->query = bring_near(state, ons_attention_matrix(launch->inputs[1], &a->query, batch, head), a->queries, scratch);
    if (a->keys_transposed) {
        w->keys = take_rows(scratch, room_for(a->keys), state->row);
        ons_attention_copy_rows(keys, w->keys_transposed, a->size, a->keys);
        ons_small_transpose(a->size, a->keys, keys, w->keys);
    } else {
        w->keys = bring_near(state, keys, a->keys, scratch);
        ons_small_transpose(a->keys, a->size, w->keys, w->keys_transposed);
    }
    ons_small_transpose(a->keys, a->size, values, w->values_transposed);
    clear_behind(w->keys_transposed, a->keys, a->size);
    clear_behind(w->values_transposed, a->keys, a->size);
}

static void work_head(const ons_launch *launch, const gradient_state *state, int64_t batch, int64_t head,
                      float *scratch) {
    const ons_attention *a = &state->attention;
    ons_small_matrix dk = output_of(launch, a, 1, batch, head), dv = output_of(launch, a, 2, batch, head);
    head_work w = {
        .attention = a,
        .together = state->apart ? 2 : 1,
        .dq = output_of(launch, a, 0, batch, head),
        .dk = dk,
        .dv = dv,
        .result = state->has_result ? ons_attention_matrix(launch->inputs[RESULT], &a->result, batch, head)
                                    : (ons_small_matrix){NULL, 0},
        .mask = a->has_mask ? (const float *)launch->inputs[5] + ons_attention_offset(&a->mask, batch, head) : NULL,
        .saved = (const float *)launch->inputs[4] + (batch * a->heads + head) * a->queries,
        .kept =
            a->has_kept ? (const uint8_t *)launch->inputs[6] + (batch * a->heads + head) * a->queries * a->keys : NULL,
        .dm = mask_gradient_of(launch, a, batch, head),
        .ahead = ahead_of(launch, a, batch * a->heads + head + 1),
    };
    w.values_transposed = take_rows(&scratch, a->size, state->stride);
    w.keys_transposed = take_rows(&scratch, a->size, state->stride);
    w.p = take_rows(&scratch, ONS_ATTENTION_BLOCK, state->stride);
    w.ds = take_rows(&scratch, ONS_ATTENTION_BLOCK, state->stride);
    read_head(launch, state, batch, head, &w, &scratch);
    if (dk.data != NULL && (state->apart || a->keys_transposed))
        w.dk = take_rows(&scratch, room_for(a->keys), state->row);
    if (dv.data != NULL && state->apart) w.dv = take_rows(&scratch, room_for(a->keys), state->row);
    work_blocks(&w);
    if (w.dk.data != dk.data && a->keys_transposed)
        ons_small_transpose(a->keys, a->size, w.dk, dk);
    else if (w.dk.data != dk.data)
        ons_attention_copy_rows(w.dk, dk, a->keys, a->size);
    if (w.dv.data != dv.data) ons_attention_copy_rows(w.dv, dv, a->keys, a->size);
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
