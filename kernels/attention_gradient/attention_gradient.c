/* Gradients of Attention, a head at a time in the cache of one thread, from cotangent dY, Q, K, V and the saved log Σ
 * e^score of every row. For a block of queries:
 *
 *   P = e^(scale · Q Kᵀ + mask - saved),  dP = dY Vᵀ,  dS = scale · P (dP - row sums of P dP)
 *   dV += Pᵀ dY,  dK += dSᵀ Q,  dQ = dS K
 *
 * and, where it is wanted, the mask's: dS / scale, summed over the batch where the mask has none.
 *
 * Blocks come in order and one thread has all of a head, so sums are always made in the same order. */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "kernels/common/attention.h"
#include "kernels/common/cuda_attention.h"
#include "kernels/common/lanes.h"

/* The forward result, given for half types alone: then Σ p dp of a row is Σ dy y, which flash attention wants to begin
 * with. */
enum { RESULT = 7 };

static ons_status *find_attention(const ons_operands *o, ons_attention *attention) {
    static const ons_type none = {0};
    return ons_attention_of(o, &o->inputs[1], &o->inputs[2], &o->inputs[3], ons_has_input(o, 5) ? &o->inputs[5] : &none,
                            ons_has_input(o, 6) ? &o->inputs[6] : &none, attention);
}

/* Samples that the mask's gradient tells apart. */
static int64_t mask_batch(const ons_attention *a) { return a->mask.batch == 0 ? 1 : a->batch; }

static ons_status *attention_gradient_infer(ons_operands *o) {
    char text[ONS_TYPE_TEXT];
    ons_attention a;
    ONS_TRY(find_attention(o, &a));
    ons_attention_order order = (ons_attention_order)ons_attribute_int(o, ONS_ATTENTION_RESULT_ORDER);
    ons_shape result = ons_attention_shape(&a, a.queries, order);
    if (!ons_shape_equal(&o->inputs[0].shape, &result))
        return ons_node_error(o, "%s is not the shape of the result", ons_type_print(&o->inputs[0], text));
    if (ons_has_input(o, RESULT) && !ons_shape_equal(&o->inputs[RESULT].shape, &result))
        return ons_node_error(o, "%s is not the result's shape", ons_type_print(&o->inputs[RESULT], text));
    if (ons_elements(&o->inputs[4]) != a.batch * a.heads * a.queries)
        return ons_node_error(o, "%s does not hold a number for each row", ons_type_print(&o->inputs[4], text));
    for (uint32_t i = 0; i < 3; ++i) o->outputs[i] = o->inputs[1 + i];
    if (o->output_count > 3 && a.has_mask)
        o->outputs[3] = ons_type_make(o->inputs[5].dtype,
                                      ons_shape_make(4, (int64_t[]){mask_batch(&a), a.heads, a.queries, a.keys}));
    return NULL;
}

/* For every pair of query and key five products of `size` multiply-adds, and 8 operations of softmax and its gradient.
 */
static ons_cost attention_gradient_cost(const ons_operands *o) {
    ons_attention a;
    ons_status_free(find_attention(o, &a));
    return (ons_cost){ons_attention_pairs(&a) * (10 * (double)a.size + 8), ons_operand_bytes(o)};
}

/* One query's share of all gradients. */
static void reference_row(const ons_attention *a, const double *result, const void *const *inputs, void *const *outputs,
                          int64_t batch, int64_t head, int64_t i) {
    const double *mask = a->has_mask ? inputs[5] : NULL;
    int64_t q_at = ons_attention_offset(&a->query, batch, head) + i * a->query.position;
    int64_t k_at = ons_attention_offset(&a->key, batch, head), v_at = ons_attention_offset(&a->value, batch, head);
    const double *dy =
        (const double *)inputs[0] + ons_attention_offset(&a->result, batch, head) + i * a->result.position;
    const double *query = inputs[1], *key = inputs[2], *value = inputs[3];
    double *dq = outputs[0], *dk = outputs[1], *dv = outputs[2], *dm = a->has_mask ? outputs[3] : NULL, dot = 0;
    if (dm != NULL) dm += (((mask_batch(a) == 1 ? 0 : batch) * a->heads + head) * a->queries + i) * a->keys;
    double saved = ((const double *)inputs[4])[(batch * a->heads + head) * a->queries + i];
    for (int64_t d = 0; result != NULL && d < a->size; ++d)
        dot += dy[d] * result[ons_attention_offset(&a->result, batch, head) + i * a->result.position + d];
    for (int pass = result == NULL ? 0 : 1; pass < 2; ++pass)
        for (int64_t j = 0; j < a->keys; ++j) {
            double p = exp(ons_attention_score(a, query, key, mask, batch, head, i, j) - saved), dp = 0;
            double kept = ons_attention_kept(a, a->has_kept ? inputs[6] : NULL, batch, head, i, j);
            for (int64_t d = 0; d < a->size; ++d) dp += kept * dy[d] * value[v_at + j * a->value.position + d];
            if (pass == 0) dot += p * dp;
            if (pass == 1 && dm != NULL) dm[j] += p * (dp - dot);
            for (int64_t d = 0; pass == 1 && d < a->size; ++d) {
                int64_t k = k_at + j * a->key.position + d * a->key.size;
                dq[q_at + d] += a->scale * p * (dp - dot) * key[k];
                dk[k] += a->scale * p * (dp - dot) * query[q_at + d];
                dv[v_at + j * a->value.position + d] += kept * p * dy[d];
            }
        }
}

static void attention_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                         void *const *outputs) {
    (void)step;
    ons_attention a;
    ons_status_free(find_attention(o, &a));
    for (int i = 0; i < 3; ++i)
        for (int64_t k = 0; k < ons_elements(&o->inputs[1 + i]); ++k) ((double *)outputs[i])[k] = 0;
    void *places[4] = {outputs[0], outputs[1], outputs[2], ons_has_output(o, 3) ? outputs[3] : NULL};
    for (int64_t k = 0; places[3] != NULL && k < ons_elements(&o->outputs[3]); ++k) ((double *)places[3])[k] = 0;
    const double *result = ons_has_input(o, RESULT) ? inputs[RESULT] : NULL;
    for (int64_t b = 0; b < a.batch; ++b)
        for (int64_t h = 0; h < a.heads; ++h)
            for (int64_t i = 0; i < a.queries; ++i) reference_row(&a, result, inputs, places, b, h, i);
}

/* Scratch of a thread: Kᵀ and Vᵀ (size × keys), P and dP (block × keys), rows of `stride` floats. Where keys come
 * transposed, K and dK (keys × size) take the place of Kᵀ. */
typedef struct gradient_state {
    ons_attention attention;
    int threads;
    int64_t stride, scratch; /* floats */
    bool has_result;
} gradient_state;

static ons_status *attention_gradient_cuda_prepare(ons_prepare *p) {
    ons_attention a;
    ONS_TRY(find_attention(p->operands, &a));
    int64_t rows = a.batch * a.heads * a.queries;
    bool joins = a.has_mask && mask_batch(&a) < a.batch;
    p->scratch_bytes = ((rows + (joins ? rows * a.keys : 0)) * (int64_t)sizeof(float) + 63) / 64 * 64;
    ons_cuda_attention_state *state;
    ONS_TRY(ons_cuda_attention_prepare(p, &a, &state));
    state->has_result = ons_has_input(p->operands, RESULT);
    bool of_mask = a.has_mask && ons_has_output(p->operands, 3);
    if (state->has_result && !of_mask)
        ONS_TRY(ons_dnn_attention_gradient_prepare(p, &a, p->operands->inputs[1].dtype, &state->dnn));
    ons_cuda_attention_own(p, state);
    return NULL;
}

static ons_status *attention_gradient_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ONS_TRY(ons_require_float32(o));
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(gradient_state), &memory));
    gradient_state *state = memory;
    ONS_TRY(find_attention(o, &state->attention));
    state->has_result = ons_has_input(o, RESULT);
    const ons_attention *a = &state->attention;
    state->threads = p->threads;
    state->stride = (a->keys + ONS_LANES - 1) / ONS_LANES * ONS_LANES;
    state->scratch = (a->size + 2 * ONS_ATTENTION_BLOCK) * state->stride;
    state->scratch += a->keys_transposed ? 2 * a->keys * a->size : a->size * state->stride;
    state->scratch = (state->scratch + ONS_LANES - 1) / ONS_LANES * ONS_LANES;
    p->scratch_bytes = p->threads * state->scratch * (int64_t)sizeof(float);
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
} head_work;

/* Σ dy y of a query. */
static float dot_of(const head_work *w, int64_t query) {
    const float *dy = w->dy.data + query * w->dy.stride, *y = w->result.data + query * w->result.stride;
    float sum = 0;
    for (int64_t d = 0; d < w->attention->size; ++d) sum += dy[d] * y[d];
    return sum;
}

/* scores → P in place, and dP → dS, with Σ p dp where it is given; 0 from `seen` to `count`. Rows have room for whole
 * lanes. */
static void gradient_row(float scale, float *scores, float *dp, const float *mask, float saved, const float *given,
                         int64_t seen, int64_t count) {
    ons_lanes dots = {0};
    int64_t j = 0;
    for (; j + ONS_LANES <= seen; j += ONS_LANES) {
        ons_lanes s = ons_lanes_load(scores + j) * scale - saved;
        if (mask != NULL) s += ons_lanes_load(mask + j);
        ons_lanes e = ons_lanes_exp(s);
        ons_lanes_store(scores + j, e);
        dots += e * ons_lanes_load(dp + j);
    }
    if (j < seen) {
        ons_lanes s = ons_lanes_load_some(scores + j, seen - j, -INFINITY) * scale - saved;
        if (mask != NULL) s += ons_lanes_load_some(mask + j, seen - j, 0);
        ons_lanes e = ons_lanes_exp(s);
        ons_lanes_store(scores + j, e);
        dots += e * ons_lanes_load_some(dp + j, seen - j, 0);
        ons_lanes_store(dp + j, ons_lanes_load_some(dp + j, seen - j, 0));
    }
    float dot = given != NULL ? *given : ons_lanes_sum_of(dots);
    for (j = 0; j < seen; j += ONS_LANES)
        ons_lanes_store(dp + j, ons_lanes_load(scores + j) * (ons_lanes_load(dp + j) - dot) * scale);
    for (; j < count; j += ONS_LANES) {
        ons_lanes_store(scores + j, (ons_lanes){0});
        ons_lanes_store(dp + j, (ons_lanes){0});
    }
}

static void add_to_mask(float *dm, const float *ds, float factor, int64_t seen) {
#pragma omp simd
    for (int64_t j = 0; j < seen; ++j) dm[j] += ds[j] * factor;
}

static ons_small_matrix rows_from(ons_small_matrix matrix, int64_t row) {
    return (ons_small_matrix){matrix.data + row * matrix.stride, matrix.stride};
}

static void work_block(const head_work *w, int64_t begin, int64_t end) {
    const ons_attention *a = w->attention;
    int64_t rows = end - begin, seen = ons_attention_keys_seen(a, end), size = a->size;
    ons_small_matrix query = rows_from(w->query, begin), dy = rows_from(w->dy, begin);
    ons_small_multiply(&(ons_small_product){.m = rows, .n = seen, .k = size}, query, w->keys_transposed, w->p);
    ons_small_multiply(&(ons_small_product){.m = rows, .n = seen, .k = size}, dy, w->values_transposed, w->ds);
    for (int64_t r = 0; w->kept != NULL && r < rows; ++r)
        ons_attention_drop(w->ds.data + r * w->ds.stride, w->kept + (begin + r) * a->keys, a->kept_scale, seen);
    for (int64_t r = 0; r < rows; ++r) {
        float dot = w->result.data == NULL ? 0 : dot_of(w, begin + r);
        gradient_row(a->scale, w->p.data + r * w->p.stride, w->ds.data + r * w->ds.stride,
                     w->mask == NULL ? NULL : w->mask + (begin + r) * a->mask.position, w->saved[begin + r],
                     w->result.data == NULL ? NULL : &dot, ons_attention_keys_seen(a, begin + r + 1), seen);
    }
    for (int64_t r = 0; w->dm != NULL && r < rows; ++r)
        add_to_mask(w->dm + (begin + r) * a->keys, w->ds.data + r * w->ds.stride, 1 / a->scale, seen);
    for (int64_t r = 0; w->kept != NULL && r < rows; ++r)
        ons_attention_drop(w->p.data + r * w->p.stride, w->kept + (begin + r) * a->keys, a->kept_scale, seen);
    ons_small_product onto_keys = {.m = seen, .n = size, .k = rows, .transpose_a = true, .add = true};
    if (w->dv.data != NULL) ons_small_multiply(&onto_keys, w->p, dy, w->dv);
    if (w->dk.data != NULL) ons_small_multiply(&onto_keys, w->ds, query, w->dk);
    if (w->dq.data != NULL)
        ons_small_multiply(&(ons_small_product){.m = rows, .n = size, .k = seen}, w->ds, w->keys,
                           rows_from(w->dq, begin));
}

static ons_small_matrix output_of(const ons_launch *launch, int index, const ons_attention_steps *steps, int64_t batch,
                                  int64_t head) {
    if (launch->outputs[index] == NULL) return (ons_small_matrix){NULL, 0};
    return ons_attention_matrix(launch->outputs[index], steps, batch, head);
}

static void clear(ons_small_matrix matrix, int64_t rows, int64_t columns) {
    for (int64_t i = 0; matrix.data != NULL && i < rows; ++i)
        memset(matrix.data + i * matrix.stride, 0, (size_t)columns * sizeof(float));
}

/* Cleared before the first sample that adds to it. */
static float *mask_gradient_of(const ons_launch *launch, const ons_attention *a, int64_t batch, int64_t head) {
    float *dm = a->has_mask ? launch->outputs[3] : NULL;
    if (dm == NULL) return NULL;
    dm += ((mask_batch(a) == 1 ? 0 : batch) * a->heads + head) * a->queries * a->keys;
    if (batch == 0 || mask_batch(a) > 1) memset(dm, 0, (size_t)(a->queries * a->keys) * sizeof *dm);
    return dm;
}

static void work_head(const ons_launch *launch, const gradient_state *state, int64_t batch, int64_t head,
                      float *scratch) {
    const ons_attention *a = &state->attention;
    int64_t stride = state->stride, panel = a->size * stride, block = ONS_ATTENTION_BLOCK * stride;
    ons_small_matrix dk = output_of(launch, 1, &a->key, batch, head);
    head_work w = {
        .attention = a,
        .dy = ons_attention_matrix(launch->inputs[0], &a->result, batch, head),
        .result = state->has_result ? ons_attention_matrix(launch->inputs[RESULT], &a->result, batch, head)
                                    : (ons_small_matrix){NULL, 0},
        .query = ons_attention_matrix(launch->inputs[1], &a->query, batch, head),
        .keys = ons_attention_matrix(launch->inputs[2], &a->key, batch, head),
        .values_transposed = {scratch, stride},
        .dq = output_of(launch, 0, &a->query, batch, head),
        .dk = dk,
        .dv = output_of(launch, 2, &a->value, batch, head),
        .p = {scratch + panel, stride},
        .ds = {scratch + panel + block, stride},
        .mask = a->has_mask ? (const float *)launch->inputs[5] + ons_attention_offset(&a->mask, batch, head) : NULL,
        .saved = (const float *)launch->inputs[4] + (batch * a->heads + head) * a->queries,
        .kept =
            a->has_kept ? (const uint8_t *)launch->inputs[6] + (batch * a->heads + head) * a->queries * a->keys : NULL,
        .dm = mask_gradient_of(launch, a, batch, head),
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
    clear(w.dk, a->keys, a->size);
    clear(w.dv, a->keys, a->size);
    for (int64_t begin = 0; begin < a->queries; begin += ONS_ATTENTION_BLOCK)
        work_block(&w, begin, begin + ONS_ATTENTION_BLOCK < a->queries ? begin + ONS_ATTENTION_BLOCK : a->queries);
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

static const ons_case attention_gradient_cases[] = {
    {.name = "plain",
     .inputs = {ONS_F32(2, 3, 5, 4), ONS_F32(2, 3, 5, 4), ONS_F32(2, 3, 7, 4), ONS_F32(2, 3, 7, 4),
                ONS_F32_IN(1, 2, 2, 3, 5)},
     .settings = {ONS_SET_FLOAT("scale", 0.5)},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 10080},
    {.name = "causal",
     .inputs = {ONS_F32(1, 2, 37, 8), ONS_F32(1, 2, 37, 8), ONS_F32(1, 2, 37, 8), ONS_F32(1, 2, 37, 8),
                ONS_F32_IN(2, 3, 1, 2, 37)},
     .settings = {ONS_SET_FLOAT("scale", 0.3), ONS_SET_INT("causal", 1)},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 123728},
    {.name = "positions_first",
     .inputs = {ONS_F32(2, 33, 3, 17), ONS_F32(2, 33, 3, 17), ONS_F32(2, 33, 3, 17), ONS_F32(2, 33, 3, 17),
                ONS_F32_IN(2, 3, 2, 3, 33)},
     .settings = {ONS_SET_FLOAT("scale", 0.25), ONS_SET_INT("causal", 1), ONS_SET_INT("query_order", 1),
                  ONS_SET_INT("key_order", 1), ONS_SET_INT("value_order", 1), ONS_SET_INT("result_order", 1)},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 599148},
    {.name = "keys_transposed",
     .inputs = {ONS_F32(2, 2, 9, 5), ONS_F32(2, 2, 9, 5), ONS_F32(2, 2, 5, 21), ONS_F32(2, 21, 2, 5),
                ONS_F32_IN(2, 3, 2, 2, 9)},
     .settings = {ONS_SET_INT("key_order", 2), ONS_SET_INT("value_order", 1)},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 43848},
    {.name = "mask",
     .inputs = {ONS_F32(2, 2, 4, 6), ONS_F32(2, 2, 4, 6), ONS_F32(2, 2, 19, 6), ONS_F32(2, 2, 19, 6),
                ONS_F32_IN(2, 3, 2, 2, 4), ONS_F32_IN(-3, 1, 2, 1, 1, 19)},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 20672},
    {.name = "mask_gradient",
     .inputs = {ONS_F32(2, 2, 4, 6), ONS_F32(2, 2, 4, 6), ONS_F32(2, 2, 19, 6), ONS_F32(2, 2, 19, 6),
                ONS_F32_IN(2, 3, 2, 2, 4), ONS_F32_IN(-3, 1, 2, 1, 1, 19)},
     .outputs = 4,
     .tolerance = 1e-5,
     .flops = 20672},
    {.name = "mask_gradient_of_all_samples",
     .inputs = {ONS_F32(3, 2, 40, 6), ONS_F32(3, 2, 40, 6), ONS_F32(3, 2, 19, 6), ONS_F32(3, 2, 19, 6),
                ONS_F32_IN(2, 3, 3, 2, 40), ONS_F32_IN(-3, 1, 2, 40, 19)},
     .outputs = 4,
     .tolerance = 1e-5,
     .flops = 310080},
    {.name = "dropped",
     .inputs = {ONS_F32(2, 2, 40, 6), ONS_F32(2, 2, 40, 6), ONS_F32(2, 2, 19, 6), ONS_F32(2, 2, 19, 6),
                ONS_F32_IN(2, 3, 2, 2, 40), ONS_F32_IN(-3, 1, 2, 1, 1, 19), ONS_RANDOM(ONS_BOOL, 0, 1, 2, 2, 40, 19)},
     .settings = {ONS_SET_FLOAT("ratio", 0.2)},
     .outputs = 4,
     .tolerance = 1e-5,
     .flops = 206720},
    {.name = "keys_alone",
     .inputs = {ONS_F32(1, 2, 4, 6), ONS_F32(1, 2, 4, 6), ONS_F32(1, 2, 9, 6), ONS_F32(1, 2, 9, 6),
                ONS_F32_IN(2, 3, 1, 2, 4)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 4896},
#define HALF(DTYPE, ...) ONS_RANDOM(DTYPE, -1, 1, __VA_ARGS__)
    {.name = "half",
     .inputs = {HALF(ONS_BFLOAT16, 2, 3, 21, 8), HALF(ONS_BFLOAT16, 2, 3, 21, 8), HALF(ONS_BFLOAT16, 2, 3, 21, 8),
                HALF(ONS_BFLOAT16, 2, 3, 21, 8), ONS_F32_IN(2, 3, 2, 3, 21), ONS_LEFT_OUT, ONS_LEFT_OUT,
                HALF(ONS_BFLOAT16, 2, 3, 21, 8)},
     .settings = {ONS_SET_FLOAT("scale", 0.35), ONS_SET_INT("causal", 1)},
     .outputs = 3,
     .tolerance = 2e-2,
     .flops = -1,
     .no_gradient = true},
    {.name = "half_mask",
     .inputs = {HALF(ONS_FLOAT16, 2, 5, 2, 16), HALF(ONS_FLOAT16, 2, 5, 2, 16), HALF(ONS_FLOAT16, 2, 7, 2, 16),
                HALF(ONS_FLOAT16, 2, 7, 2, 16), ONS_F32_IN(2, 3, 2, 2, 5), ONS_F32(2, 1, 1, 7), ONS_LEFT_OUT,
                HALF(ONS_FLOAT16, 2, 5, 2, 16)},
     .settings = {ONS_SET_FLOAT("scale", 0.25), ONS_SET_INT("query_order", 1), ONS_SET_INT("key_order", 1),
                  ONS_SET_INT("value_order", 1), ONS_SET_INT("result_order", 1)},
     .outputs = 3,
     .tolerance = 5e-3,
     .flops = -1,
     .no_gradient = true},
    {.name = "half_dropped",
     .inputs = {HALF(ONS_BFLOAT16, 2, 3, 21, 8), HALF(ONS_BFLOAT16, 2, 3, 21, 8), HALF(ONS_BFLOAT16, 2, 3, 21, 8),
                HALF(ONS_BFLOAT16, 2, 3, 21, 8), ONS_F32_IN(2, 3, 2, 3, 21), ONS_LEFT_OUT,
                ONS_RANDOM(ONS_BOOL, 0, 1, 2, 3, 21, 21), HALF(ONS_BFLOAT16, 2, 3, 21, 8)},
     .settings = {ONS_SET_FLOAT("scale", 0.35), ONS_SET_INT("causal", 1), ONS_SET_FLOAT("ratio", 0.2)},
     .outputs = 3,
     .tolerance = 2e-2,
     .flops = -1,
     .no_gradient = true},
    {.name = "half_dropped_mask",
     .inputs = {HALF(ONS_FLOAT16, 2, 5, 2, 16), HALF(ONS_FLOAT16, 2, 5, 2, 16), HALF(ONS_FLOAT16, 2, 8, 2, 16),
                HALF(ONS_FLOAT16, 2, 8, 2, 16), ONS_F32_IN(2, 3, 2, 2, 5), ONS_F32(2, 1, 1, 8),
                ONS_RANDOM(ONS_BOOL, 0, 1, 2, 2, 5, 8), HALF(ONS_FLOAT16, 2, 5, 2, 16)},
     .settings = {ONS_SET_FLOAT("scale", 0.25), ONS_SET_INT("query_order", 1), ONS_SET_INT("key_order", 1),
                  ONS_SET_INT("value_order", 1), ONS_SET_INT("result_order", 1), ONS_SET_FLOAT("ratio", 0.5)},
     .outputs = 3,
     .tolerance = 5e-3,
     .flops = -1,
     .no_gradient = true},
    {.name = "gpt",
     .inputs = {ONS_F32(16, 128, 4, 32), ONS_F32(16, 128, 4, 32), ONS_F32(16, 128, 4, 32), ONS_F32(16, 128, 4, 32),
                ONS_F32_IN(4, 5, 16, 4, 128)},
     .settings = {ONS_SET_FLOAT("scale", 0.17677669), ONS_SET_INT("causal", 1), ONS_SET_INT("query_order", 1),
                  ONS_SET_INT("key_order", 1), ONS_SET_INT("value_order", 1), ONS_SET_INT("result_order", 1)},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 173309952,
     .benchmark = true},
    {.name = "gpt_64",
     .inputs = {ONS_F32(16, 64, 4, 32), ONS_F32(16, 64, 4, 32), ONS_F32(16, 64, 4, 32), ONS_F32(16, 64, 4, 32),
                ONS_F32_IN(4, 5, 16, 4, 64)},
     .settings = {ONS_SET_FLOAT("scale", 0.17677669), ONS_SET_INT("causal", 1), ONS_SET_INT("query_order", 1),
                  ONS_SET_INT("key_order", 1), ONS_SET_INT("value_order", 1), ONS_SET_INT("result_order", 1)},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 43663360,
     .benchmark = true},
    {.name = "gpt_256",
     .inputs = {ONS_F32(8, 6, 256, 64), ONS_F32(8, 6, 256, 64), ONS_F32(8, 6, 256, 64), ONS_F32(8, 6, 256, 64),
                ONS_F32_IN(4, 5, 8, 6, 256)},
     .settings = {ONS_SET_FLOAT("scale", 0.125), ONS_SET_INT("causal", 1)},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 1023197184,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(attention_gradient, "AttentionGradient", ONS_INTERNAL, ONS_ARITY(5, 8, 1, 4),
                    ONS_ATTENTION_ATTRIBUTES, ONS_INFER(attention_gradient_infer), ONS_COST(attention_gradient_cost),
                    ONS_NOT_DIFFERENTIABLE("it is itself a gradient"),
                    ONS_SAVES_NOTHING, /* The saved logarithms; the mask, as in Attention. */
                    ONS_ROLES_WITH_FULL(ONS_NO_ROLE, ONS_TRAIT_DENSE, 0, ONS_INPUT_BIT(4) | ONS_INPUT_BIT(5)),
                    ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(attention_gradient_reference),
                    ONS_CPU_KERNEL(attention_gradient_prepare, attention_gradient_run),
                    ONS_CUDA_KERNEL(attention_gradient_cuda_prepare, ons_cuda_attention_gradient),
                    attention_gradient_cases);
