#include "kernels/attention/cudnn_attention.h"

#include <math.h>

/* The library works on tiles of so many queries and keys. */
enum { TILE = 64 };

/* Bytes of scratch that gradients are to have, where one head does not need more. */
static const int64_t workspace_wanted = (int64_t)256 << 20;

/* What both graphs are made of. */
typedef struct maker {
    ons_cudnn_graph *graph;
    const ons_attention *attention;
    ons_dtype dtype;
    int64_t samples, heads;
    int64_t scores[4], rows[4]; /* dims: [samples, heads, queries, keys], and a number for each query */
} maker;

/* Where heads or the batch share the mask its dim is 1. */
static int64_t add_mask(const maker *m) {
    const ons_attention *a = m->attention;
    const int64_t dims[] = {a->mask.batch == 0 ? 1 : m->samples, a->mask.head == 0 ? 1 : m->heads,
                            a->mask.position == 0 ? 1 : a->queries, a->keys};
    const int64_t strides[] = {a->mask.batch == 0 ? a->keys : a->mask.batch, a->mask.head == 0 ? a->keys : a->mask.head,
                               a->mask.position == 0 ? a->keys : a->mask.position, 1};
    return ons_cudnn_argument(m->graph, ONS_CUDNN_MASK, ONS_FLOAT32, 4, dims, strides);
}

/* Numbers 1 and 0 of the operands' own type: the library crashes where it is given booleans. */
static int64_t add_kept(const maker *m) {
    return ons_cudnn_argument(m->graph, ONS_CUDNN_KEPT, m->dtype, 4, m->scores, NULL);
}

/* Rows of queries or, `transposed`, of keys or values as [samples, heads, size, positions]. */
static int64_t add_operand(const maker *m, int64_t slot, int64_t positions, const ons_attention_steps *steps,
                           bool transposed) {
    const ons_attention *a = m->attention;
    int64_t dims[] = {m->samples, m->heads, positions, a->size};
    int64_t strides[] = {steps->batch, steps->head, steps->position, steps->size};
    if (transposed) {
        dims[2] = a->size;
        dims[3] = positions;
        strides[2] = steps->size;
        strides[3] = steps->position;
    }
    return ons_cudnn_argument(m->graph, slot, m->dtype, 4, dims, strides);
}

static int64_t pointwise(const maker *m, ons_cudnn_function function, int64_t x, int64_t b, ons_dtype dtype,
                         const int64_t *dims) {
    int64_t y = ons_cudnn_within(m->graph, dtype, 4, dims);
    ons_cudnn_step_add(m->graph, ONS_CUDNN_POINTWISE, (int64_t)function, x, b, -1, y);
    return y;
}

static int64_t reduce(const maker *m, ons_cudnn_reduction reduction, int64_t x) {
    int64_t y = ons_cudnn_within(m->graph, ONS_FLOAT32, 4, m->rows);
    ons_cudnn_step_add(m->graph, ONS_CUDNN_REDUCE, (int64_t)reduction, x, y, -1, -1);
    return y;
}

static int64_t multiply(const maker *m, int64_t a, int64_t b, const int64_t *dims) {
    int64_t c = ons_cudnn_within(m->graph, ONS_FLOAT32, 4, dims);
    ons_cudnn_step_add(m->graph, ONS_CUDNN_MULTIPLY, 0, a, b, c, -1);
    return c;
}

/* Where a score is along an axis. */
static int64_t add_index(const maker *m, int64_t scores, int64_t axis) {
    int64_t y = pointwise(m, ONS_CUDNN_INDEX, scores, -1, ONS_INT32, m->scores);
    ons_cudnn_step *step = &m->graph->steps[m->graph->step_count - 1];
    step->axis = axis;
    step->compute = ONS_INT32;
    return y;
}

/* scale × Q Kᵀ + mask. */
static int64_t add_scores(const maker *m, int64_t query, int64_t key) {
    int64_t scores = multiply(m, query, key, m->scores), scale = ons_cudnn_number(m->graph, m->attention->scale, 4);
    scores = pointwise(m, ONS_CUDNN_TIMES, scores, scale, ONS_FLOAT32, m->scores);
    return m->attention->has_mask ? pointwise(m, ONS_CUDNN_ADD, scores, add_mask(m), ONS_FLOAT32, m->scores) : scores;
}

/* -inf after the diagonal. */
static int64_t hide_later(const maker *m, int64_t scores) {
    if (!m->attention->causal) return scores;
    int64_t row = add_index(m, scores, 2), column = add_index(m, scores, 3);
    int64_t seen = pointwise(m, ONS_CUDNN_AT_LEAST, row, column, ONS_BOOL, m->scores);
    m->graph->steps[m->graph->step_count - 1].compute = ONS_BOOL;
    int64_t hidden = ons_cudnn_number(m->graph, -INFINITY, 4),
            y = ons_cudnn_within(m->graph, ONS_FLOAT32, 4, m->scores);
    ons_cudnn_step_add(m->graph, ONS_CUDNN_POINTWISE, ONS_CUDNN_SELECT, scores, hidden, seen, y);
    return y;
}

static ons_status *start(ons_prepare *p, const ons_attention *a, ons_dtype dtype, int64_t samples, int64_t heads,
                         maker *m) {
    *m = (maker){.attention = a,
                 .dtype = dtype,
                 .samples = samples,
                 .heads = heads,
                 .scores = {samples, heads, a->queries, a->keys},
                 .rows = {samples, heads, a->queries, 1}};
    return ons_cudnn_graph_new(p, &m->graph);
}

/* The saved sums of all heads lie one after another. */
static int64_t add_saved(const maker *m) {
    const ons_attention *a = m->attention;
    const int64_t strides[] = {a->heads * a->queries, a->queries, 1, 1};
    return ons_cudnn_argument(m->graph, ONS_CUDNN_SAVED, ONS_FLOAT32, 4, m->rows, strides);
}

ons_status *ons_cudnn_attention_describe(ons_prepare *p, const ons_attention *a, ons_dtype dtype, bool saves,
                                         int64_t samples, int64_t heads, ons_cudnn_graph **graph) {
    maker m;
    ONS_TRY(start(p, a, dtype, samples, heads, &m));
    int64_t query = add_operand(&m, ONS_CUDNN_QUERY, a->queries, &a->query, false);
    int64_t key = add_operand(&m, ONS_CUDNN_KEY, a->keys, &a->key, true);
    int64_t value = add_operand(&m, ONS_CUDNN_VALUE, a->keys, &a->value, false);
    int64_t scores = hide_later(&m, add_scores(&m, query, key)), largest = reduce(&m, ONS_CUDNN_MAXIMUM, scores);
    int64_t less = pointwise(&m, ONS_CUDNN_SUBTRACT, scores, largest, ONS_FLOAT32, m.scores);
    int64_t power = pointwise(&m, ONS_CUDNN_EXP, less, -1, ONS_FLOAT32, m.scores),
            sum = reduce(&m, ONS_CUDNN_SUM, power);
    /* Part of the pattern, whether or not it is wanted. */
    int64_t log = pointwise(&m, ONS_CUDNN_LOG, sum, -1, ONS_FLOAT32, m.rows);
    int64_t saved = saves ? add_saved(&m) : ons_cudnn_within(m.graph, ONS_FLOAT32, 4, m.rows);
    ons_cudnn_step_add(m.graph, ONS_CUDNN_POINTWISE, ONS_CUDNN_ADD, largest, log, -1, saved);
    int64_t probability = pointwise(&m, ONS_CUDNN_DIVIDE, power, sum, a->has_kept ? ONS_FLOAT32 : dtype, m.scores);
    if (a->has_kept) {
        int64_t more = ons_cudnn_number(m.graph, a->kept_scale, 4);
        probability = pointwise(&m, ONS_CUDNN_TIMES, probability, more, ONS_FLOAT32, m.scores);
        probability = pointwise(&m, ONS_CUDNN_TIMES, probability, add_kept(&m), dtype, m.scores);
    }
    int64_t result = add_operand(&m, ONS_CUDNN_RESULT, a->queries, &a->result, false);
    ons_cudnn_step_add(m.graph, ONS_CUDNN_MULTIPLY, 0, probability, value, result, -1);
    *graph = m.graph;
    return NULL;
}

/* A matrix of scores with keys and queries changing places. */
static int64_t transpose(const maker *m, int64_t x) {
    const int64_t dims[] = {m->scores[0], m->scores[1], m->scores[3], m->scores[2]};
    int64_t y = ons_cudnn_within(m->graph, m->dtype, 4, dims);
    m->graph->tensors[y].strides[2] = 1;
    m->graph->tensors[y].strides[3] = m->scores[3];
    ons_cudnn_step_add(m->graph, ONS_CUDNN_RESHAPE, 0, x, y, -1, -1);
    return y;
}

ons_status *ons_cudnn_attention_gradient_describe(ons_prepare *p, const ons_attention *a, ons_dtype dtype,
                                                  int64_t samples, int64_t heads, ons_cudnn_graph **graph) {
    maker m;
    ONS_TRY(start(p, a, dtype, samples, heads, &m));
    int64_t query = add_operand(&m, ONS_CUDNN_QUERY, a->queries, &a->query, false);
    int64_t key = add_operand(&m, ONS_CUDNN_KEY, a->keys, &a->key, true);
    int64_t value = add_operand(&m, ONS_CUDNN_VALUE, a->keys, &a->value, true);
    int64_t result = add_operand(&m, ONS_CUDNN_RESULT, a->queries, &a->result, false);
    int64_t dy = add_operand(&m, ONS_CUDNN_RESULT_GRADIENT, a->queries, &a->result, false);
    int64_t saved = add_saved(&m);
    const int64_t operand[] = {samples, heads, a->queries, a->size};

    /* Σ dy y of every query, which is Σ p dp. A factor is part of the pattern that the library knows. */
    int64_t products = pointwise(&m, ONS_CUDNN_TIMES, dy, result, ONS_FLOAT32, operand);
    int64_t sums = reduce(&m, ONS_CUDNN_SUM, products), dots = ons_cudnn_scratch(m.graph, ONS_FLOAT32, 4, m.rows);
    ons_cudnn_step_add(m.graph, ONS_CUDNN_POINTWISE, ONS_CUDNN_TIMES, sums, ons_cudnn_number(m.graph, 1, 4), -1, dots);

    /* p = e^(score - saved) */
    int64_t scores = add_scores(&m, query, key);
    int64_t less = hide_later(&m, pointwise(&m, ONS_CUDNN_SUBTRACT, scores, saved, ONS_FLOAT32, m.scores));
    int64_t probability = pointwise(&m, ONS_CUDNN_EXP, less, -1, ONS_FLOAT32, m.scores);
    int64_t dv = add_operand(&m, ONS_CUDNN_VALUE_GRADIENT, a->keys, &a->value, false);
    ons_cudnn_step_add(m.graph, ONS_CUDNN_MULTIPLY, 0, transpose(&m, probability), dy, dv, -1);

    /* ds = p (dp - Σ p dp) scale */
    int64_t dp = multiply(&m, dy, value, m.scores);
    dp = pointwise(&m, ONS_CUDNN_SUBTRACT, dp, dots, ONS_FLOAT32, m.scores);
    dp = pointwise(&m, ONS_CUDNN_TIMES, dp, probability, ONS_FLOAT32, m.scores);
    int64_t scale = ons_cudnn_number(m.graph, a->scale, 4);
    int64_t ds = pointwise(&m, ONS_CUDNN_TIMES, dp, scale, ONS_FLOAT32, m.scores);
    int64_t dk = add_operand(&m, ONS_CUDNN_KEY_GRADIENT, a->keys, &a->key, false);
    ons_cudnn_step_add(m.graph, ONS_CUDNN_MULTIPLY, 0, transpose(&m, ds), query, dk, -1);

    /* The keys as they lie: [samples, heads, keys, size]. */
    const ons_cudnn_tensor *transposed = &m.graph->tensors[key];
    const int64_t dims[] = {samples, heads, a->keys, a->size};
    int64_t rows = ons_cudnn_within(m.graph, dtype, 4, dims);
    for (int i = 0; i < 4; ++i) m.graph->tensors[rows].strides[i] = transposed->strides[i < 2 ? i : 5 - i];
    ons_cudnn_step_add(m.graph, ONS_CUDNN_RESHAPE, 0, key, rows, -1, -1);
    int64_t dq = add_operand(&m, ONS_CUDNN_QUERY_GRADIENT, a->queries, &a->query, false);
    ons_cudnn_step_add(m.graph, ONS_CUDNN_MULTIPLY, 0, ds, rows, dq, -1);
    *graph = m.graph;
    return NULL;
}

/* ----------------------------------------------------------------------------------------------------- using a plan */

static bool is_asked_for(const ons_attention *a, ons_dtype dtype) {
    return (dtype == ONS_FLOAT16 || dtype == ONS_BFLOAT16) && !(a->guard && a->has_mask) && a->batch > 0 &&
           a->heads > 0 && a->queries > 0 && a->keys > 0 && a->size > 0;
}

/* With a mask that queries share, or with dropped probabilities, the library's gradient is wrong (9.19 on an H100): it
 * has other numbers than the formula, whatever the sizes. */
static bool is_gradient_asked_for(const ons_attention *a, ons_dtype dtype) {
    return is_asked_for(a, dtype) && !a->has_mask && !a->has_kept;
}

static void take(ons_cudnn_attention *plan, const ons_attention *a, ons_dtype dtype) {
    *plan = (ons_cudnn_attention){.attention = *a, .dtype = dtype, .samples = a->batch, .heads = a->heads};
}

/* The largest divisor of `count` that is at most `most`, which is at least 1. */
static int64_t divisor(int64_t count, int64_t most) {
    int64_t parts = 1;
    while (count % parts != 0 || count / parts > most) ++parts;
    return count / parts;
}

/* The library is told that tensors begin at multiples of this. Rows of queries, keys and values always do. */
enum { PART_ALIGNMENT = 16 };

/* Whether the saved rows and the mask of each part do, too. */
static bool parts_are_aligned(const ons_cudnn_attention *plan) {
    const ons_attention *a = &plan->attention;
    int64_t samples = plan->samples < a->batch ? plan->samples : 0, heads = plan->heads < a->heads ? plan->heads : 0;
    int64_t any = samples * a->heads * a->queries | heads * a->queries; /* its lowest bit is that of all */
    if (a->has_mask) any |= samples * a->mask.batch | heads * a->mask.head;
    return any * (int64_t)sizeof(float) % PART_ALIGNMENT == 0;
}

/* As many heads at a time as `bytes` of each fit into what is wanted. Several samples only with all of their heads.
 * Larger parts where smaller ones would begin anywhere. */
static void divide(ons_cudnn_attention *plan, int64_t bytes) {
    const ons_attention *a = &plan->attention;
    int64_t heads = workspace_wanted / bytes;
    plan->samples = divisor(a->batch, heads / a->heads > 1 ? heads / a->heads : 1);
    plan->heads = heads >= a->heads ? a->heads : divisor(a->heads, heads > 1 ? heads : 1);
    if (!parts_are_aligned(plan)) plan->heads = a->heads;
    if (!parts_are_aligned(plan)) plan->samples = a->batch;
}

/* Bytes of what the library reads of one head's dropped probabilities. */
static int64_t kept_bytes(const ons_attention *a) { return a->has_kept ? a->queries * a->keys * 2 : 0; }

/* That lies in the scratch, behind the plan's own. */
static ons_status *prepare_plan(ons_prepare *p, const ons_cudnn_graph *graph, ons_cudnn_attention *plan) {
    int64_t limit = p->scratch_limit, kept = plan->samples * plan->heads * kept_bytes(&plan->attention);
    if (kept > limit) return NULL;
    p->scratch_limit -= kept;
    ons_status *status = ons_cudnn_prepare(p, graph, &plan->plan);
    p->scratch_limit = limit;
    if (status != NULL || plan->plan == NULL || kept == 0) return status;
    plan->kept_at = (ons_cudnn_plan_scratch(plan->plan) + 63) / 64 * 64;
    int64_t all = (plan->kept_at + kept + 63) / 64 * 64;
    p->scratch_bytes = all > p->scratch_bytes ? all : p->scratch_bytes;
    return NULL;
}

ons_status *ons_cudnn_attention_prepare(ons_prepare *p, const ons_attention *a, ons_dtype dtype, bool saves,
                                        ons_cudnn_attention *plan) {
    take(plan, a, dtype);
    if (!ons_cudnn_is_there() || !is_asked_for(a, dtype)) return NULL;
    if (a->has_kept) divide(plan, kept_bytes(a));
    ons_cudnn_graph *graph;
    ONS_TRY(ons_cudnn_attention_describe(p, a, dtype, saves, plan->samples, plan->heads, &graph));
    return prepare_plan(p, graph, plan);
}

ons_status *ons_cudnn_attention_gradient_prepare(ons_prepare *p, const ons_attention *a, ons_dtype dtype,
                                                 ons_cudnn_attention *plan) {
    take(plan, a, dtype);
    if (!ons_cudnn_is_there() || !is_gradient_asked_for(a, dtype)) return NULL;
    int64_t head = (a->queries + TILE - 1) / TILE * TILE * ((a->keys + TILE - 1) / TILE * TILE) * 2;
    divide(plan, head);
    ons_cudnn_graph *graph;
    ONS_TRY(ons_cudnn_attention_gradient_describe(p, a, dtype, plan->samples, plan->heads, &graph));
    return prepare_plan(p, graph, plan);
}

void ons_cudnn_attention_run(const ons_cudnn_attention *plan, const ons_launch *launch,
                             const void *const arguments[ONS_AT_LEAST(ONS_CUDNN_ATTENTION_ARGUMENTS)],
                             ons_cudnn_kept_function *write_kept) {
    const ons_attention *a = &plan->attention;
    const ons_attention_steps rows = {.batch = a->heads * a->queries, .head = a->queries};
    const ons_attention_steps pairs = {.batch = rows.batch * a->keys, .head = rows.head * a->keys};
    const struct {
        const ons_attention_steps *steps;
        int64_t bytes;
    } operands[ONS_CUDNN_ATTENTION_ARGUMENTS] = {
        [ONS_CUDNN_QUERY] = {&a->query, 2},
        [ONS_CUDNN_KEY] = {&a->key, 2},
        [ONS_CUDNN_VALUE] = {&a->value, 2},
        [ONS_CUDNN_RESULT] = {&a->result, 2},
        [ONS_CUDNN_SAVED] = {&rows, 4},
        [ONS_CUDNN_MASK] = {&a->mask, 4},
        [ONS_CUDNN_KEPT] = {&pairs, 1},
        [ONS_CUDNN_RESULT_GRADIENT] = {&a->result, 2},
        [ONS_CUDNN_QUERY_GRADIENT] = {&a->query, 2},
        [ONS_CUDNN_KEY_GRADIENT] = {&a->key, 2},
        [ONS_CUDNN_VALUE_GRADIENT] = {&a->value, 2},
    };
    for (int64_t sample = 0; sample < a->batch; sample += plan->samples)
        for (int64_t head = 0; head < a->heads; head += plan->heads) {
            const void *part[ONS_CUDNN_ATTENTION_ARGUMENTS];
            for (int i = 0; i < ONS_CUDNN_ATTENTION_ARGUMENTS; ++i)
                part[i] = arguments[i] == NULL
                              ? NULL
                              : (const char *)arguments[i] +
                                    ons_attention_offset(operands[i].steps, sample, head) * operands[i].bytes;
            if (part[ONS_CUDNN_KEPT] != NULL) {
                void *kept = (char *)launch->scratch + plan->kept_at;
                write_kept(launch, plan->dtype, plan->samples * plan->heads * pairs.head, part[ONS_CUDNN_KEPT], kept);
                part[ONS_CUDNN_KEPT] = kept;
            }
            ons_cudnn_plan_run(plan->plan, launch->stream, part, launch->scratch);
        }
}
