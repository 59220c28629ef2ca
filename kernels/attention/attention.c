/* Attention: softmax(scale · Q Kᵀ + mask) V, a head at a time in the cache of one thread. Saved for backward are not
 * the probabilities but log Σ e^score of every row, from which they are computed again (Dao et al., "FlashAttention",
 * 2022, section 3.1; rows are short enough here for the plain softmax). Keys that a causal mask hides are not looked
 * at. */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "kernels/attention/patterns.h"
#include "kernels/common/attention.h"
#include "kernels/common/cuda_attention.h"
#include "kernels/common/lanes.h"

static ons_status *find_attention(const ons_operands *o, ons_attention *attention) {
    static const ons_type none = {0};
    return ons_attention_of(o, &o->inputs[0], &o->inputs[1], &o->inputs[2], ons_has_input(o, 3) ? &o->inputs[3] : &none,
                            ons_has_input(o, 4) ? &o->inputs[4] : &none, attention);
}

static ons_status *attention_infer(ons_operands *o) {
    ons_attention a;
    ONS_TRY(find_attention(o, &a));
    ons_attention_order order = (ons_attention_order)ons_attribute_int(o, ONS_ATTENTION_RESULT_ORDER);
    o->outputs[0] = ons_type_make(o->inputs[0].dtype, ons_attention_shape(&a, a.queries, order));
    o->outputs[1] = ons_type_make(ONS_FLOAT32, ons_shape_make(3, (int64_t[]){a.batch, a.heads, a.queries}));
    return NULL;
}

/* For every pair of query and key two products of `size` multiply-adds, and 5 operations of softmax. */
static ons_cost attention_cost(const ons_operands *o) {
    ons_attention a;
    ons_status_free(find_attention(o, &a));
    return (ons_cost){ons_attention_pairs(&a) * (4 * (double)a.size + 5), ons_operand_bytes(o)};
}

static void reference_row(const ons_attention *a, const void *const *inputs, void *const *outputs, int64_t batch,
                          int64_t head, int64_t i) {
    const double *mask = a->has_mask ? inputs[3] : NULL;
    double max = -INFINITY, sum = 0, *saved = outputs[1];
    double *y = (double *)outputs[0] + ons_attention_offset(&a->result, batch, head) + i * a->result.position;
    for (int64_t j = 0; j < a->keys; ++j)
        max = fmax(max, ons_attention_score(a, inputs[0], inputs[1], mask, batch, head, i, j));
    for (int64_t d = 0; d < a->size; ++d) y[d] = 0;
    for (int64_t j = 0; j < a->keys; ++j) {
        const double *v =
            (const double *)inputs[2] + ons_attention_offset(&a->value, batch, head) + j * a->value.position;
        double e = exp(ons_attention_score(a, inputs[0], inputs[1], mask, batch, head, i, j) - max);
        sum += e;
        e *= ons_attention_kept(a, a->has_kept ? inputs[4] : NULL, batch, head, i, j);
        for (int64_t d = 0; d < a->size; ++d) y[d] += e * v[d];
    }
    bool blind = a->guard && max == -INFINITY;
    for (int64_t d = 0; d < a->size; ++d) y[d] = blind ? 0 : y[d] / sum;
    if (saved != NULL) saved[(batch * a->heads + head) * a->queries + i] = blind ? INFINITY : max + log(sum);
}

static void attention_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                void *const *outputs) {
    (void)step;
    ons_attention a;
    ons_status_free(find_attention(o, &a));
    for (int64_t b = 0; b < a.batch; ++b)
        for (int64_t h = 0; h < a.heads; ++h)
            for (int64_t i = 0; i < a.queries; ++i) reference_row(&a, inputs, outputs, b, h, i);
}

/* Scratch of a thread: transposed keys (size × keys), then scores (block × keys), rows of `stride` floats. */
typedef struct attention_state {
    ons_attention attention;
    int threads;
    int64_t stride, scratch; /* floats */
} attention_state;

static ons_status *attention_cuda_prepare(ons_prepare *p) {
    ons_attention a;
    ons_cuda_attention_state *state;
    ONS_TRY(find_attention(p->operands, &a));
    ONS_TRY(ons_cuda_attention_prepare(p, &a, &state));
    state->saves = ons_has_output(p->operands, 1);
    ONS_TRY(ons_dnn_attention_prepare(p, &a, state->dtype, state->saves, &state->dnn));
    ons_cuda_attention_own(p, state);
    return NULL;
}

static ons_status *attention_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ONS_TRY(ons_require_float32(o));
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(attention_state), &memory));
    attention_state *state = memory;
    ONS_TRY(find_attention(o, &state->attention));
    const ons_attention *a = &state->attention;
    state->threads = p->threads;
    state->stride = (a->keys + ONS_LANES - 1) / ONS_LANES * ONS_LANES;
    state->scratch = ((a->keys_transposed ? 0 : a->size) + ONS_ATTENTION_BLOCK) * state->stride;
    p->scratch_bytes = p->threads * state->scratch * (int64_t)sizeof(float);
    return NULL;
}

/* scores → e^(scale · score + mask - max) in place, 0 from `seen` to `count`. Rows have room for whole lanes. */
static void softmax_row(float scale, float *scores, const float *mask, int64_t seen, int64_t count, float *max,
                        float *sum) {
    ons_lanes largest = ons_lanes_all(-INFINITY), total = {0};
    int64_t j = 0;
    for (; j + ONS_LANES <= seen; j += ONS_LANES) {
        ons_lanes s = ons_lanes_load(scores + j) * scale;
        if (mask != NULL) s += ons_lanes_load(mask + j);
        ons_lanes_store(scores + j, s);
        largest = ons_lanes_max(largest, s);
    }
    if (j < seen) {
        ons_lanes s = ons_lanes_load_some(scores + j, seen - j, -INFINITY) * scale;
        if (mask != NULL) s += ons_lanes_load_some(mask + j, seen - j, 0);
        ons_lanes_store(scores + j, s);
        largest = ons_lanes_max(largest, s);
    }
    *max = ons_lanes_max_of(largest);
    for (j = 0; j < seen; j += ONS_LANES) {
        ons_lanes e = ons_lanes_exp(ons_lanes_load(scores + j) - *max);
        ons_lanes_store(scores + j, e);
        total += e;
    }
    for (; j < count; j += ONS_LANES) ons_lanes_store(scores + j, (ons_lanes){0});
    *sum = ons_lanes_sum_of(total);
}

static void scale_row(float *y, float factor, int64_t n) {
#pragma omp simd
    for (int64_t d = 0; d < n; ++d) y[d] *= factor;
}

/* The operands of one head; `mask`, `kept` and `saved` may be NULL. */
typedef struct head_operands {
    ons_small_matrix query, keys, values, y;
    const float *mask;
    const uint8_t *kept;
    float *saved;
} head_operands;

/* Queries [begin, end). */
static void attend_block(const ons_attention *a, const head_operands *h, int64_t begin, int64_t end,
                         ons_small_matrix scores) {
    int64_t rows = end - begin, seen = ons_attention_keys_seen(a, end);
    float factors[ONS_ATTENTION_BLOCK];
    ons_small_matrix query = {h->query.data + begin * h->query.stride, h->query.stride};
    ons_small_matrix y = {h->y.data + begin * h->y.stride, h->y.stride};
    ons_small_multiply(&(ons_small_product){.m = rows, .n = seen, .k = a->size}, query, h->keys, scores);
    for (int64_t r = 0; r < rows; ++r) {
        float max, sum;
        softmax_row(a->scale, scores.data + r * scores.stride,
                    h->mask == NULL ? NULL : h->mask + (begin + r) * a->mask.position,
                    ons_attention_keys_seen(a, begin + r + 1), seen, &max, &sum);
        bool blind = a->guard && max == -INFINITY;
        factors[r] = 1 / sum;
        if (blind) memset(scores.data + r * scores.stride, 0, (size_t)seen * sizeof(float));
        if (blind) factors[r] = 0;
        if (h->saved != NULL) h->saved[begin + r] = blind ? INFINITY : max + logf(sum);
        if (h->kept != NULL)
            ons_attention_drop(scores.data + r * scores.stride, h->kept + (begin + r) * a->keys, a->kept_scale, seen);
    }
    ons_small_multiply(&(ons_small_product){.m = rows, .n = a->size, .k = seen}, scores, h->values, y);
    for (int64_t r = 0; r < rows; ++r) scale_row(y.data + r * y.stride, factors[r], a->size);
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
    };
    if (h.kept != NULL) h.kept += (batch * a->heads + head) * a->queries * a->keys;
    if (h.saved != NULL) h.saved += (batch * a->heads + head) * a->queries;
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

/* Of half types it takes the result too. */
static ons_status *attention_gradient(ons_gradient *g) {
    ONS_TRY(ons_refuse_cotangents(g, 1));
    bool has_mask = ons_has_input(g->operands, 3), half = g->operands->inputs[0].dtype != ONS_FLOAT32;
    ons_build_node_like(g->builder, &ons_op_attention_gradient,
                        ONS_IN(g->cotangents[0], ons_gradient_input(g, 0), ons_gradient_input(g, 1),
                               ons_gradient_input(g, 2), ons_gradient_output(g, 1), ons_gradient_input(g, 3),
                               ons_gradient_input(g, 4), half ? ons_gradient_output(g, 0) : ONS_NONE),
                        g->operands->attributes, has_mask ? 4 : 3, g->wanted, g->gradients);
    return NULL;
}

static const ons_case attention_cases[] = {
    {.name = "plain",
     .inputs = {ONS_F32(2, 3, 5, 4), ONS_F32(2, 3, 7, 4), ONS_F32(2, 3, 7, 4)},
     .settings = {ONS_SET_FLOAT("scale", 0.5)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 4410},
    {.name = "causal",
     .inputs = {ONS_F32(1, 2, 37, 8), ONS_F32(1, 2, 37, 8), ONS_F32(1, 2, 37, 8)},
     .settings = {ONS_SET_FLOAT("scale", 0.3), ONS_SET_INT("causal", 1)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 52022},
    {.name = "causal_more_keys",
     .inputs = {ONS_F32(1, 1, 3, 17), ONS_F32(1, 1, 20, 17), ONS_F32(1, 1, 20, 17)},
     .settings = {ONS_SET_INT("causal", 1)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 438},
#define HALF(DTYPE, ...) ONS_RANDOM(DTYPE, -1, 1, __VA_ARGS__)
    {.name = "half",
     .inputs = {HALF(ONS_BFLOAT16, 2, 3, 21, 8), HALF(ONS_BFLOAT16, 2, 3, 21, 8), HALF(ONS_BFLOAT16, 2, 3, 21, 8)},
     .settings = {ONS_SET_FLOAT("scale", 0.35), ONS_SET_INT("causal", 1)},
     .outputs = 2,
     .tolerance = 2e-2,
     .flops = -1,
     .no_gradient = true},
    {.name = "half_mask",
     .inputs = {HALF(ONS_FLOAT16, 2, 5, 2, 16), HALF(ONS_FLOAT16, 2, 7, 2, 16), HALF(ONS_FLOAT16, 2, 7, 2, 16),
                ONS_F32(2, 1, 1, 7)},
     .settings = {ONS_SET_FLOAT("scale", 0.25), ONS_SET_INT("query_order", 1), ONS_SET_INT("key_order", 1),
                  ONS_SET_INT("value_order", 1), ONS_SET_INT("result_order", 1)},
     .outputs = 2,
     .tolerance = 5e-3,
     .flops = -1,
     .no_gradient = true},
    {.name = "half_dropped",
     .inputs = {HALF(ONS_BFLOAT16, 2, 3, 21, 8), HALF(ONS_BFLOAT16, 2, 3, 21, 8), HALF(ONS_BFLOAT16, 2, 3, 21, 8),
                ONS_LEFT_OUT, ONS_RANDOM(ONS_BOOL, 0, 1, 2, 3, 21, 21)},
     .settings = {ONS_SET_FLOAT("scale", 0.35), ONS_SET_INT("causal", 1), ONS_SET_FLOAT("ratio", 0.2)},
     .outputs = 2,
     .tolerance = 2e-2,
     .flops = -1,
     .no_gradient = true},
    {.name = "half_dropped_mask",
     .inputs = {HALF(ONS_FLOAT16, 2, 5, 2, 16), HALF(ONS_FLOAT16, 2, 8, 2, 16), HALF(ONS_FLOAT16, 2, 8, 2, 16),
                ONS_F32(2, 1, 1, 8), ONS_RANDOM(ONS_BOOL, 0, 1, 2, 2, 5, 8)},
     .settings = {ONS_SET_FLOAT("scale", 0.25), ONS_SET_INT("query_order", 1), ONS_SET_INT("key_order", 1),
                  ONS_SET_INT("value_order", 1), ONS_SET_INT("result_order", 1), ONS_SET_FLOAT("ratio", 0.5)},
     .outputs = 2,
     .tolerance = 5e-3,
     .flops = -1,
     .no_gradient = true},
    {.name = "positions_first",
     .inputs = {ONS_F32(2, 33, 3, 16), ONS_F32(2, 33, 3, 16), ONS_F32(2, 33, 3, 16)},
     .settings = {ONS_SET_FLOAT("scale", 0.25), ONS_SET_INT("causal", 1), ONS_SET_INT("query_order", 1),
                  ONS_SET_INT("key_order", 1), ONS_SET_INT("value_order", 1), ONS_SET_INT("result_order", 1)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 232254},
    {.name = "keys_transposed",
     .inputs = {ONS_F32(2, 2, 9, 5), ONS_F32(2, 2, 5, 11), ONS_F32(2, 11, 2, 5)},
     .settings = {ONS_SET_INT("key_order", 2), ONS_SET_INT("value_order", 1)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 9900},
    {.name = "mask",
     .inputs = {ONS_F32(2, 2, 4, 6), ONS_F32(2, 2, 19, 6), ONS_F32(2, 2, 19, 6), ONS_F32_IN(-3, 3, 2, 1, 1, 19)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 8816},
    {.name = "bias_of_all_samples",
     .inputs = {ONS_F32(3, 2, 4, 6), ONS_F32(3, 2, 5, 6), ONS_F32(3, 2, 5, 6), ONS_F32(2, 4, 5)},
     .settings = {ONS_SET_FLOAT("scale", 0.5)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 3480},
    {.name = "dropped",
     .inputs = {ONS_F32(2, 2, 40, 6), ONS_F32(2, 2, 19, 6), ONS_F32(2, 2, 19, 6), ONS_F32(2, 1, 1, 19),
                ONS_RANDOM(ONS_BOOL, 0, 1, 2, 2, 40, 19)},
     .settings = {ONS_SET_FLOAT("ratio", 0.2)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 88160},
    {.name = "dropped_without_mask",
     .inputs = {ONS_F32(1, 2, 5, 6), ONS_F32(1, 2, 5, 6), ONS_F32(1, 2, 5, 6), ONS_LEFT_OUT,
                ONS_RANDOM(ONS_BOOL, 0, 1, 1, 2, 5, 5)},
     .settings = {ONS_SET_FLOAT("ratio", 0.5), ONS_SET_INT("causal", 1)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 870},
    {.name = "kept_misfit",
     .inputs = {ONS_F32(1, 2, 5, 6), ONS_F32(1, 2, 5, 6), ONS_F32(1, 2, 5, 6), ONS_LEFT_OUT,
                ONS_RANDOM(ONS_BOOL, 0, 1, 1, 2, 5, 6)},
     .error = "every pair"},
    {.name = "mask_with_infinities",
     .inputs =
         {ONS_F32(1, 2, 3, 6),
          ONS_F32(1, 2, 5, 6),
          ONS_F32(1, 2, 5, 6),
          {.dtype = ONS_FLOAT32, .shape = ONS_DIMS(3, 5), .value_count = 4, .values = {0, -INFINITY, 1, -INFINITY}}},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 870},
    {.name = "blind_row",
     .inputs = {ONS_F32(1, 2, 2, 6),
                ONS_F32(1, 2, 3, 6),
                ONS_F32(1, 2, 3, 6),
                {.dtype = ONS_FLOAT32,
                 .shape = ONS_DIMS(2, 3),
                 .value_count = 6,
                 .values = {0, 0, 0, -INFINITY, -INFINITY, -INFINITY}}},
     .settings = {ONS_SET_INT("guard", 1)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 348},
    {.name = "different_sizes",
     .inputs = {ONS_F32(2, 3, 5, 4), ONS_F32(2, 3, 7, 5), ONS_F32(2, 3, 7, 5)},
     .error = "do not fit together"},
    {.name = "empty",
     .inputs = {ONS_F32(0, 3, 5, 4), ONS_F32(0, 3, 5, 4), ONS_F32(0, 3, 5, 4)},
     .outputs = 2,
     .flops = 0},
    {.name = "gpt",
     .inputs = {ONS_F32(16, 128, 4, 32), ONS_F32(16, 128, 4, 32), ONS_F32(16, 128, 4, 32)},
     .settings = {ONS_SET_FLOAT("scale", 0.17677669), ONS_SET_INT("causal", 1), ONS_SET_INT("query_order", 1),
                  ONS_SET_INT("key_order", 1), ONS_SET_INT("value_order", 1), ONS_SET_INT("result_order", 1)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 70275072,
     .benchmark = true},
    {.name = "gpt_64",
     .inputs = {ONS_F32(16, 64, 4, 32), ONS_F32(16, 64, 4, 32), ONS_F32(16, 64, 4, 32)},
     .settings = {ONS_SET_FLOAT("scale", 0.17677669), ONS_SET_INT("causal", 1), ONS_SET_INT("query_order", 1),
                  ONS_SET_INT("key_order", 1), ONS_SET_INT("value_order", 1), ONS_SET_INT("result_order", 1)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 17704960,
     .benchmark = true},
    {.name = "gpt_256",
     .inputs = {ONS_F32(8, 6, 256, 64), ONS_F32(8, 6, 256, 64), ONS_F32(8, 6, 256, 64)},
     .settings = {ONS_SET_FLOAT("scale", 0.125), ONS_SET_INT("causal", 1)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 412121088,
     .benchmark = true},
    {.name = "encoder",
     .inputs = {ONS_F32(16, 4, 128, 32), ONS_F32(16, 4, 128, 32), ONS_F32(16, 4, 128, 32)},
     .settings = {ONS_SET_FLOAT("scale", 0.17677669)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 139460608,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(
    attention, "Attention", ONS_INTERNAL, ONS_ARITY(3, 5, 1, 2), ONS_ATTENTION_ATTRIBUTES, ONS_INFER(attention_infer),
    ONS_COST(attention_cost),
    ONS_GRADIENT_RULE(attention_gradient, ONS_INPUT_BIT(0) | ONS_INPUT_BIT(1) | ONS_INPUT_BIT(2) | ONS_INPUT_BIT(3)),
    ONS_SAVES(ONS_INPUT_BIT(0) | ONS_INPUT_BIT(1) | ONS_INPUT_BIT(2) | ONS_INPUT_BIT(3) | ONS_INPUT_BIT(4),
              ONS_INPUT_BIT(1)),
    ONS_ROLES_WITH_FULL(ONS_NO_ROLE, ONS_TRAIT_DENSE, 0, ONS_INPUT_BIT(3)), ONS_NO_ALIASES, ONS_PLAIN_LAYOUT,
    ONS_FORMS(NULL, ons_attention_patterns, NULL), ONS_REFERENCE(attention_reference),
    ONS_CPU_KERNEL(attention_prepare, attention_run), ONS_CUDA_KERNEL(attention_cuda_prepare, ons_cuda_attention),
    attention_cases);
