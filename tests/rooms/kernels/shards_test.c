/* A table split into shards of its rows, and logits split into shards of their classes: together these give what the
 * whole gives, in values and gradients. ONSTAGE_TEST_SEED=N draws other shapes. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "base/philox.h"
#include "graph/evaluate.h"
#include "graph/operands.h"
#include "graph/passes/autograd.h"
#include "kernels/kernels.h"
#include "kernels/operators.h"
#include "tests/rooms/kernels/harness.h"

enum { RUNS = 60, MOST_SHARDS = 5 };

enum { DATA, PLACES, WEIGHTS, COTANGENT, OPERANDS };

typedef struct problem {
    uint64_t seed, drawn;
    int64_t axis, entries; /* along it, in all */
    int64_t sizes[MOST_SHARDS];
    uint32_t shards;
    bool weighted;
    double smoothing;
    int64_t ignored;
    ons_type types[OPERANDS]; /* no dtype: left out */
    void *words[OPERANDS];
} problem;

/* What comes out, in double by the references and in float32 by the CPU's kernels. */
typedef struct outcome {
    int64_t values, slopes;
    double *value, *gradient;
    float *value_by_kernels, *gradient_by_kernels;
} outcome;

static void must(ons_status *status) { cr_assert(status == NULL, "%s", ons_status_get_message(status)); }

static void *allocate(int64_t count, size_t bytes) {
    void *memory = calloc((size_t)count + 1, bytes);
    cr_assert(memory != NULL);
    return memory;
}

static int64_t elements(const ons_type *type) { return ons_shape_elements(&type->shape); }

/* --------------------------------------------------------------------------------------------------------- problems */

static double draw(problem *p) { return ons_philox_draw(p->seed, 0, p->drawn++).words[0] * 0x1p-32; }

static int64_t draw_integer(problem *p, int64_t low, int64_t high) {
    return low + (int64_t)floor(draw(p) * (double)(high - low + 1));
}

static ons_shape draw_shape(problem *p, uint32_t low, uint32_t high, int64_t longest) {
    ons_shape shape = {.rank = (uint32_t)draw_integer(p, low, high)};
    for (uint32_t i = 0; i < shape.rank; ++i) shape.dims[i] = draw_integer(p, 1, longest);
    return shape;
}

static void draw_floats(problem *p, int operand, ons_shape shape, double low, double high) {
    p->types[operand] = ons_type_make(ONS_FLOAT32, shape);
    int64_t count = elements(&p->types[operand]);
    double *words = p->words[operand] = allocate(count, sizeof *words);
    for (int64_t i = 0; i < count; ++i) words[i] = (float)(low + draw(p) * (high - low));
}

static void draw_places(problem *p, ons_shape shape, int64_t low, int64_t high) {
    p->types[PLACES] = ons_type_make(draw(p) < 0.5 ? ONS_INT64 : ONS_INT32, shape);
    int64_t count = elements(&p->types[PLACES]);
    int64_t *words = p->words[PLACES] = allocate(count, sizeof *words);
    for (int64_t i = 0; i < count; ++i) words[i] = draw_integer(p, low, high);
}

/* Shards of at least one entry each. */
static void draw_shards(problem *p) {
    p->shards = (uint32_t)draw_integer(p, 1, p->entries < MOST_SHARDS ? p->entries : MOST_SHARDS);
    int64_t left = p->entries;
    for (uint32_t k = 0; k < p->shards; ++k) {
        int64_t most = left - (p->shards - 1 - k);
        p->sizes[k] = k + 1 == p->shards ? left : draw_integer(p, 1, most);
        left -= p->sizes[k];
    }
}

static problem draw_data(uint64_t number, uint32_t least_rank) {
    problem p = {.seed = ons_test_seed() + number};
    ons_shape shape = draw_shape(&p, least_rank, 3, 7);
    uint32_t axis = (uint32_t)draw_integer(&p, 0, shape.rank - 1);
    p.entries = shape.dims[axis] = draw_integer(&p, 1, 90);
    p.axis = draw(&p) < 0.5 ? (int64_t)axis : (int64_t)axis - shape.rank;
    draw_floats(&p, DATA, shape, -4, 4);
    draw_shards(&p);
    return p;
}

static uint32_t axis_of(const problem *p) {
    uint32_t axis = 0;
    cr_assert(ons_axis_resolve(p->axis, p->types[DATA].shape.rank, &axis));
    return axis;
}

static problem draw_lookup(uint64_t number) {
    problem p = draw_data(number, 1);
    draw_places(&p, draw_shape(&p, 0, 2, 9), -p.entries, p.entries - 1);
    return p;
}

static problem draw_loss(uint64_t number) {
    problem p = draw_data(number, 1);
    ons_shape shape = p.types[DATA].shape, targets = {.rank = shape.rank - 1};
    for (uint32_t i = 0; i < targets.rank; ++i) targets.dims[i] = shape.dims[i < axis_of(&p) ? i : i + 1];
    draw_places(&p, targets, 0, p.entries - 1);
    p.ignored = draw(&p) < 0.5 ? -100 : draw_integer(&p, 0, p.entries - 1);
    int64_t *words = p.words[PLACES];
    for (int64_t i = 0; i < elements(&p.types[PLACES]); ++i) words[i] = draw(&p) < 0.2 ? p.ignored : words[i];
    p.weighted = draw(&p) < 0.5;
    p.smoothing = draw(&p) < 0.5 ? 0 : 0.3;
    if (p.weighted) draw_floats(&p, WEIGHTS, (ons_shape){1, {p.entries}}, 0.1, 3);
    return p;
}

static void free_problem(problem *p) {
    for (int i = 0; i < OPERANDS; ++i) free(p->words[i]);
}

/* ----------------------------------------------------------------------------------------------------------- graphs */

typedef ons_value_id build_function(ons_builder *b, const problem *p, const ons_value_id *inputs);

static ons_value_id look_up(ons_builder *b, const problem *p, const ons_value_id *inputs) {
    return ons_build(b, &ons_op_gather, ONS_IN(inputs[DATA], inputs[PLACES]), ONS_WITH(ONS_AT_INT(0, p->axis)));
}

static void split(ons_builder *b, const problem *p, ons_value_id data, ons_value_id *shards) {
    ons_build_node(b, &ons_op_split, ONS_IN(data, ons_build_integers(b, p->sizes, p->shards)),
                   ONS_WITH(ONS_AT_INT(0, p->axis)), p->shards, NULL, shards);
}

static ons_value_id add(ons_builder *b, ons_value_id sum, ons_value_id x) {
    return sum == ONS_NONE ? x : ons_build(b, &ons_op_add, ONS_IN(sum, x), ONS_DEFAULTS);
}

static ons_value_id look_up_in_shards(ons_builder *b, const problem *p, const ons_value_id *inputs) {
    ons_value_id shards[MOST_SHARDS], sum = ONS_NONE;
    int64_t first = 0;
    split(b, p, inputs[DATA], shards);
    for (uint32_t k = 0; k < p->shards; ++k) {
        sum = add(b, sum,
                  ons_build(b, &ons_op_gather_shard, ONS_IN(shards[k], inputs[PLACES]),
                            ONS_WITH(ONS_AT_INT(0, p->axis), ONS_AT_INT(3, first), ONS_AT_INT(4, p->entries))));
        first += p->sizes[k];
    }
    return sum;
}

static ons_value_id lose(ons_builder *b, const problem *p, const ons_value_id *inputs) {
    return ons_build(b, &ons_op_cross_entropy, ONS_IN(inputs[DATA], inputs[PLACES], inputs[WEIGHTS]),
                     ONS_WITH(ONS_AT_INT(0, p->axis), ONS_AT_INT(1, p->ignored), ONS_AT_FLOAT(2, p->smoothing)));
}

static ons_value_id lose_in_shards(ons_builder *b, const problem *p, const ons_value_id *inputs) {
    ons_value_id shards[MOST_SHARDS], log_sums[MOST_SHARDS], loss = ONS_NONE;
    int64_t first = 0, axis = axis_of(p);
    split(b, p, inputs[DATA], shards);
    for (uint32_t k = 0; k < p->shards; ++k) {
        ons_value_id outputs[2];
        ons_build_node(b, &ons_op_cross_entropy_shard, ONS_IN(shards[k], inputs[PLACES], inputs[WEIGHTS]),
                       ONS_WITH(ONS_AT_INT(0, p->axis), ONS_AT_INT(1, p->ignored), ONS_AT_FLOAT(2, p->smoothing),
                                ONS_AT_INT(3, first), ONS_AT_INT(4, p->entries)),
                       2, NULL, outputs);
        loss = add(b, loss, outputs[0]);
        log_sums[k] =
            ons_build(b, &ons_op_unsqueeze, ONS_IN(outputs[1], ons_build_integers(b, &axis, 1)), ONS_DEFAULTS);
        first += p->sizes[k];
    }
    ons_value_id all =
        ons_build(b, &ons_op_concat, (ons_inputs){log_sums, p->shards}, ONS_WITH(ONS_AT_INT(0, p->axis)));
    ons_value_id joined = ons_build(b, &ons_op_cross_entropy_join, ONS_IN(all, inputs[PLACES], inputs[WEIGHTS]),
                                    ONS_WITH(ONS_AT_INT(0, p->axis), ONS_AT_INT(1, p->ignored),
                                             ONS_AT_FLOAT(2, p->smoothing), ONS_AT_INT(3, p->entries)));
    return add(b, loss, joined);
}

/* ------------------------------------------------------------------------------------------------------- computing */

static const ons_step step = {.seed = 1, .step = 1, .counted_targets = 7, .sample_share = 1};

/* All nodes in float32; the bytes of every value are the caller's to free. */
static void **run_kernels(const ons_graph *graph, void **words) {
    void **bytes = allocate((int64_t)graph->values.count, sizeof *bytes);
    for (ons_value_id id = 0; id < graph->values.count; ++id) {
        const ons_value *value = ons_graph_value(graph, id);
        bytes[id] = allocate((int64_t)ons_type_dense_bytes(&value->type) + 64, 1);
        if (value->producer == ONS_NONE) ons_narrow(value->type.dtype, words[id], elements(&value->type), bytes[id]);
    }
    ons_arena *arena = ons_arena_new();
    cr_assert(arena != NULL);
    for (ons_node_id id = 0; id < graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(graph, id);
        ons_operands o;
        must(ons_operands_of(graph, id, arena, &o));
        const void **inputs = allocate(o.input_count, sizeof *inputs);
        void **outputs = allocate(o.output_count, sizeof *outputs);
        for (uint32_t i = 0; i < node->input_count; ++i)
            inputs[i] = node->inputs[i] == ONS_NONE ? NULL : bytes[node->inputs[i]];
        for (uint32_t i = 0; i < node->output_count; ++i)
            outputs[i] = node->outputs[i] == ONS_NONE ? NULL : bytes[node->outputs[i]];
        must(ons_run_once(ons_kernels_registry(), &ons_target_cpu, &o, &step, 2, inputs, outputs));
        free(inputs);
        free(outputs);
    }
    ons_arena_free(arena);
    return bytes;
}

/* Takes the two results out of what was computed, and frees the rest. */
static void *take(void **computed, ons_value_id id) {
    void *result = computed[id];
    computed[id] = NULL;
    return result;
}

static void free_rest(const ons_graph *graph, void **computed) {
    for (ons_value_id id = 0; id < graph->values.count; ++id) free(computed[id]);
    free(computed);
}

/* The cotangent is drawn for the first of several ways to compute the same. */
static outcome compute(problem *p, build_function *build) {
    ons_store store;
    ons_graph *graph;
    ons_value_id inputs[OPERANDS] = {ONS_NONE, ONS_NONE, ONS_NONE, ONS_NONE};
    must(ons_store_init(&store));
    must(ons_graph_new(&store, "shards", &graph));
    ons_builder b = {.graph = graph, .registry = ons_kernels_registry(), .phase = ONS_FORWARD, .origin = ONS_NONE};
    for (int i = 0; i < COTANGENT; ++i)
        if (p->words[i] != NULL) must(ons_graph_add_value(graph, "input", ONS_INPUT, &p->types[i], &inputs[i]));
    ons_value_id value = build(&b, p, inputs);
    must(ons_builder_finish(&b));
    ons_type type = ons_graph_value(graph, value)->type;
    if (p->words[COTANGENT] == NULL) draw_floats(p, COTANGENT, type.shape, -1, 1);
    must(ons_graph_add_value(graph, "cotangent", ONS_INPUT, &type, &inputs[COTANGENT]));
    ons_parameter_gradient gradient;
    must(ons_differentiate(graph, b.registry, value, inputs[COTANGENT], &inputs[DATA], 1, NULL, &gradient));
    cr_assert_eq(gradient.use_count, 1);
    void **words = allocate((int64_t)graph->values.count, sizeof *words);
    for (int i = 0; i < OPERANDS; ++i)
        if (inputs[i] != ONS_NONE) words[inputs[i]] = p->words[i];
    must(ons_evaluate(graph, &step, words));
    void **bytes = run_kernels(graph, words);
    for (int i = 0; i < OPERANDS; ++i)
        if (inputs[i] != ONS_NONE) (void)take(words, inputs[i]);
    outcome result = {elements(&type),    elements(&p->types[DATA]),
                      take(words, value), take(words, gradient.uses[0]),
                      take(bytes, value), take(bytes, gradient.uses[0])};
    free_rest(graph, words);
    free_rest(graph, bytes);
    ons_graph_free(graph);
    ons_store_free(&store);
    return result;
}

static void free_outcome(outcome *o) {
    free(o->value);
    free(o->gradient);
    free(o->value_by_kernels);
    free(o->gradient_by_kernels);
}

/* -------------------------------------------------------------------------------------------------------- comparing */

static void expect_near(const problem *p, const char *what, int64_t i, double got, double wanted, double tolerance) {
    cr_assert(fabs(got - wanted) <= tolerance * fmax(1, fabs(wanted)),
              "%s, element %lld: %.17g in shards, %.17g of the whole; axis %lld of %s, %u shards, smoothing %g%s "
              "(ONSTAGE_TEST_SEED=%llu)",
              what, (long long)i, got, wanted, (long long)p->axis,
              ons_type_print(&p->types[DATA], (char[ONS_TYPE_TEXT]){0}), p->shards, p->smoothing,
              p->weighted ? ", weights" : "", (unsigned long long)ons_test_seed());
}

/* Tolerances relative to max(1, |element|): in double, in float32. */
static void expect_same(problem *p, build_function *of_whole, build_function *of_shards, double exact, double single) {
    outcome whole = compute(p, of_whole), shards = compute(p, of_shards);
    cr_assert_eq(whole.values, shards.values);
    for (int64_t i = 0; i < whole.values; ++i) {
        expect_near(p, "value", i, shards.value[i], whole.value[i], exact);
        expect_near(p, "value in float32", i, (double)shards.value_by_kernels[i], (double)whole.value_by_kernels[i],
                    single);
    }
    for (int64_t i = 0; i < whole.slopes; ++i) {
        expect_near(p, "gradient", i, shards.gradient[i], whole.gradient[i], exact);
        expect_near(p, "gradient in float32", i, (double)shards.gradient_by_kernels[i],
                    (double)whole.gradient_by_kernels[i], single);
    }
    free_outcome(&whole);
    free_outcome(&shards);
}

/* Sums of one number and zeros; gradients are added in the same order. */
Test(shards, lookups_have_the_bits_of_the_whole_table) {
    for (uint64_t number = 0; number < RUNS; ++number) {
        problem p = draw_lookup(number);
        expect_same(&p, look_up, look_up_in_shards, 0, 0);
        free_problem(&p);
    }
}

Test(shards, cross_entropy_is_that_of_all_classes) {
    for (uint64_t number = 0; number < RUNS; ++number) {
        problem p = draw_loss(number);
        expect_same(&p, lose, lose_in_shards, 1e-12, 1e-5);
        free_problem(&p);
    }
}

/* A shard whose logits are masked, as those of padded classes are, takes no part. */
Test(shards, a_masked_shard_changes_nothing) {
    for (uint64_t number = 0; number < RUNS; ++number) {
        problem p = draw_loss(number);
        uint32_t axis = axis_of(&p);
        const ons_shape *shape = &p.types[DATA].shape;
        int64_t inner = ons_shape_span(shape, axis + 1, shape->rank), last = p.entries - p.sizes[p.shards - 1];
        double *logits = p.words[DATA];
        int64_t *targets = p.words[PLACES];
        p.smoothing = 0;
        for (int64_t i = 0; p.shards > 1 && i < elements(&p.types[DATA]); ++i)
            if (i / inner % p.entries >= last) logits[i] = -INFINITY;
        for (int64_t i = 0; p.shards > 1 && i < elements(&p.types[PLACES]); ++i)
            if (targets[i] >= last && targets[i] != p.ignored) targets[i] = 0;
        expect_same(&p, lose, lose_in_shards, 1e-12, 1e-5);
        free_problem(&p);
    }
}
