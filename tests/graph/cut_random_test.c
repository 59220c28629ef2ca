/* Random training graphs, cut anywhere, with random decisions: views of views, nodes of several outputs, weights and
 * branches shared, statistics, dropout, what the host reads from any place. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "graph/passes/autograd.h"
#include "graph/passes/update.h"
#include "tests/graph/cut_case.h"
#include "tests/graph/cut_check.h"
#include "tests/graph/cut_run.h"
#include "tests/graph/fixture.h"

enum { ROWS = 4, COLUMNS = 8, VALUES_MAX = 64, WEIGHTS_MAX = 64, KEPT_MAX = 8 };

typedef struct maker {
    scene *s;
    cut_case c;
    ons_value_id values[VALUES_MAX]; /* of shape [ROWS, COLUMNS] */
    uint32_t value_count;
    ons_value_id weights[WEIGHTS_MAX];
    uint32_t weight_count;
    ons_value_id kept[KEPT_MAX];
    uint32_t kept_count;
} maker;

static uint32_t dice(maker *m, uint32_t below) { return cut_case_random(&m->c, below); }

static const ons_operator *internal(const maker *m, const char *name) {
    const ons_operator *op = ons_registry_find_name(m->s->registry, "onstage", name);
    cr_assert_not_null(op, "there is no operator %s", name);
    return op;
}

/* A value that is there, one of the last rather than of the first. */
static ons_value_id any(maker *m) {
    uint32_t a = dice(m, m->value_count), b = dice(m, m->value_count);
    return m->values[a > b ? a : b];
}

static void put(maker *m, ons_value_id value) {
    must(ons_builder_finish(&m->s->builder));
    cr_assert_neq(value, ONS_NONE);
    m->values[m->value_count++] = value;
}

static ons_value_id random_contents(maker *m, ons_value_id id, float least) {
    void *data;
    ons_value *value = ons_graph_value(m->s->graph, id);
    must(ons_store_add(&m->s->store, &value->type, &data, &value->data));
    for (int64_t i = 0; i < ons_shape_elements(&value->type.shape); ++i)
        ((float *)data)[i] = least + (float)dice(m, 1000) / 1000;
    return id;
}

/* A new weight, or one of this shape that is in use already. */
static ons_value_id weight(maker *m, ons_shape shape) {
    uint32_t start = m->weight_count == 0 ? 0 : dice(m, m->weight_count);
    for (uint32_t i = start; i < m->weight_count && dice(m, 3) == 0; ++i)
        if (ons_shape_equal(&ons_graph_value(m->s->graph, m->weights[i])->type.shape, &shape)) return m->weights[i];
    char name[32];
    snprintf(name, sizeof name, "w%u", m->weight_count);
    return m->weights[m->weight_count++] = random_contents(m, add_parameter(m->s, name, shape), -0.5F);
}

static ons_value_id reshape(maker *m, ons_value_id value, ons_shape shape) {
    ons_builder *b = &m->s->builder;
    return ons_build(b, find_operator(m->s, "Reshape"), ONS_IN(value, ons_build_integers(b, shape.dims, shape.rank)),
                     ONS_DEFAULTS);
}

static void add_views(maker *m) {
    ons_value_id flat = reshape(m, any(m), SHAPE(ROWS * COLUMNS));
    if (dice(m, 2) == 0) flat = apply1(m->s, "Tanh", flat);
    put(m, reshape(m, flat, SHAPE(ROWS, COLUMNS)));
}

static void add_dropout(maker *m) {
    ons_value_id outputs[2];
    ons_build_node(&m->s->builder, internal(m, "DropoutTraining"), ONS_IN(any(m)), ONS_WITH(ONS_AT_FLOAT(0, 0.3)), 1,
                   NULL, outputs);
    put(m, outputs[0]);
}

static ons_value_id buffer(maker *m, const char *name) {
    ons_type type = ons_type_make(ONS_FLOAT32, SHAPE(COLUMNS));
    ons_value_id id;
    must(ons_graph_add_value(m->s->graph, name, ONS_BUFFER, &type, &id));
    return random_contents(m, id, 0.5F);
}

static void add_statistics(maker *m) {
    ons_value_id state[2] = {buffer(m, "mean"), buffer(m, "variance")}, outputs[3];
    ons_build_node(&m->s->builder, internal(m, "BatchNormalizationTraining"),
                   ONS_IN(any(m), weight(m, SHAPE(COLUMNS)), weight(m, SHAPE(COLUMNS)), state[0], state[1]),
                   ONS_DEFAULTS, 3, NULL, outputs);
    put(m, outputs[0]);
    for (int i = 0; i < 2; ++i) {
        ons_graph_value(m->s->graph, outputs[1 + i])->pair = state[i];
        ons_graph_value(m->s->graph, outputs[1 + i])->kind = ONS_BUFFER;
    }
}

static void add_normalization(maker *m) {
    ons_builder *b = &m->s->builder;
    put(m, ons_build(b, find_operator(m->s, "LayerNormalization"),
                     ONS_IN(any(m), weight(m, SHAPE(COLUMNS)), weight(m, SHAPE(COLUMNS))), ONS_DEFAULTS));
}

/* Halves, and again together, perhaps the other way round. */
static void add_halves(maker *m) {
    ons_builder *b = &m->s->builder;
    ons_value_id halves[2];
    ons_build_node(b, ons_registry_role(m->s->registry, ONS_ROLE_SPLIT), ONS_IN(any(m)),
                   ONS_WITH(ONS_AT_INT(0, 1), ONS_AT_INT(1, 2)), 2, NULL, halves);
    uint32_t first = dice(m, 2);
    put(m, ons_build(b, ons_registry_role(m->s->registry, ONS_ROLE_CONCAT), ONS_IN(halves[first], halves[1 - first]),
                     ONS_WITH(ONS_AT_INT(0, 1))));
}

static void add_forward(maker *m) {
    static const char *const unary[] = {"Relu", "Tanh", "Sigmoid", "Identity", "Neg"}, *const binary[] = {"Add", "Mul",
                                                                                                          "Sub"};
    switch (dice(m, 10)) {
    case 0:
    case 1: put(m, apply1(m->s, unary[dice(m, 5)], any(m))); return;
    case 2:
    case 3: put(m, apply2(m->s, binary[dice(m, 3)], any(m), any(m))); return;
    case 4: put(m, apply2(m->s, "MatMul", any(m), weight(m, SHAPE(COLUMNS, COLUMNS)))); return;
    case 5: add_views(m); return;
    case 6: add_dropout(m); return;
    case 7: add_statistics(m); return;
    case 8: add_normalization(m); return;
    default: add_halves(m); return;
    }
}

static void keep(maker *m, ons_value_id value) {
    m->kept[m->kept_count++] = value;
    add_output(m->s, value);
}

/* Forward nodes behind the backward ones: for the host, and for an update in another stage. */
static void add_afterthoughts(maker *m) {
    m->s->builder.phase = ONS_FORWARD;
    for (uint32_t i = dice(m, 3); i > 0; --i) {
        ons_value_id value = apply1(m->s, dice(m, 2) == 0 ? "Tanh" : "Identity", any(m));
        if (dice(m, 2) == 0) put(m, value);
        keep(m, value);
    }
}

static void train(maker *m) {
    ons_graph *graph = m->s->graph;
    ons_value_id sum = m->values[m->value_count - 1];
    for (uint32_t i = dice(m, 3); i > 0; --i) sum = apply2(m->s, "Add", sum, any(m));
    ons_value_id loss = apply1(m->s, "ReduceMean", sum);
    keep(m, loss);
    ons_value_id first = reshape(m, loss, SHAPE(1));
    ons_parameter_gradient gradients[WEIGHTS_MAX];
    must(ons_builder_finish(&m->s->builder));
    must(ons_differentiate(graph, m->s->registry, dice(m, 2) == 0 ? first : loss, ONS_NONE, m->weights, m->weight_count,
                           NULL, gradients));
    ons_optimizer_options optimizer = {.role = dice(m, 2) == 0 ? ONS_ROLE_ADAMW : ONS_ROLE_SGD,
                                       .beta1 = 0.9,
                                       .beta2 = 0.99,
                                       .eps = 1e-8,
                                       .clip_norm = dice(m, 2)};
    ons_update_result update;
    must(ons_attach_update(graph, m->s->registry, gradients, m->weight_count, &optimizer, m->c.repeats, &update));
    if (update.norm != ONS_NONE) keep(m, update.norm);
}

static maker open_maker(uint64_t seed) {
    maker m = {.s = scene_open(), .c = {.arena = ons_arena_new(), .random = seed}};
    m.c.repeats = dice(&m, 3) > 0;
    put(&m, add_input(m.s, "x", SHAPE(ROWS, COLUMNS)));
    put(&m, add_input(m.s, "y", SHAPE(ROWS, COLUMNS)));
    put(&m, apply2(m.s, "MatMul", m.values[0], weight(&m, SHAPE(COLUMNS, COLUMNS))));
    for (uint32_t i = 4 + dice(&m, 20); i > 0; --i) add_forward(&m);
    train(&m);
    add_afterthoughts(&m);
    must(ons_graph_verify(m.s->graph));
    m.c.graph = m.s->graph;
    m.c.stage_of_node = ons_arena_allocate(m.c.arena, m.c.graph->nodes.count + 1, sizeof *m.c.stage_of_node);
    return m;
}

/* By origin, as a planner would, or anyhow. */
static void choose_stages(maker *m, uint32_t stages) {
    if (dice(m, 2) == 0) {
        cut_case_scatter(&m->c, stages);
        return;
    }
    uint32_t forward = 1;
    while (forward < m->c.graph->nodes.count && ons_graph_node(m->c.graph, forward)->phase == ONS_FORWARD) ++forward;
    for (ons_node_id id = 0; id < m->c.graph->nodes.count; ++id) {
        ons_node_id origin = ons_graph_node(m->c.graph, id)->origin;
        m->c.stage_of_node[id] = origin < forward ? origin * stages / forward : dice(m, stages);
    }
}

static size_t try_graph(uint64_t seed) {
    static const uint32_t counts[] = {1, 2, 3, 4, 8};
    maker m = open_maker(seed);
    char where[64];
    snprintf(where, sizeof where, "seed %llu", (unsigned long long)seed);
    ons_cut_options options = {
        .whole = m.s->graph,
        .registry = m.s->registry,
        .repeats = m.c.repeats,
        .stage_of_node = m.c.stage_of_node,
        .stages = counts[dice(&m, 5)],
        .kept = m.kept,
        .kept_count = m.kept_count,
    };
    choose_stages(&m, options.stages);
    ons_cut plain, cut;
    must(ons_cut_make(&options, &plain));
    cut_check(&options, &plain, where);
    cut_case_decide(&m.c, &plain, 1 + dice(&m, 3), &options);
    ons_cut_free(&plain);
    must(ons_cut_make(&options, &cut));
    cut_check(&options, &cut, where);
    size_t second = cut_run(&options, &cut, where);
    ons_cut_free(&cut);
    ons_arena_free(m.c.arena);
    scene_close(m.s);
    return second;
}

Test(cut_random, stages_make_the_bits_of_the_whole_graph) {
    size_t second = 0;
    for (uint64_t seed = 1; seed <= 300; ++seed) second += try_graph(seed);
    cr_assert_gt(second, 3000u, "hardly anything came back or was made again: %zu values", second);
}

/* ----------------------------------------------------------------------------------------------------------- states */

static ons_node_id phase(scene *s, ons_value_id value, ons_phase phase) {
    ons_node_id id = ons_graph_value(s->graph, value)->producer;
    ons_graph_node(s->graph, id)->phase = phase;
    ons_graph_node(s->graph, id)->per_step = phase == ONS_UPDATE;
    return id;
}

/* Two nodes that read a state, and one that replaces it, each asked for in another stage. */
Test(cut_random, a_state_is_in_one_stage) {
    scene *s = scene_open();
    ons_type type = ons_type_make(ONS_FLOAT32, SHAPE(2));
    ons_value_id x = add_input(s, "x", SHAPE(2)), state;
    must(ons_graph_add_value(s->graph, "state", ONS_STATE, &type, &state));
    ons_value_id early = apply2(s, "Add", x, state), last = apply1(s, "Tanh", early);
    ons_node_id reader = phase(s, apply2(s, "Mul", last, state), ONS_FORWARD);
    ons_value_id fresh =
        ons_build(&s->builder, ons_registry_role(s->registry, ONS_ROLE_ACCUMULATE), ONS_IN(state, last), ONS_DEFAULTS);
    must(ons_builder_finish(&s->builder));
    ons_graph_value(s->graph, fresh)->pair = state;
    ons_graph_value(s->graph, fresh)->kind = ONS_STATE;
    ons_node_id writer = phase(s, fresh, ONS_FORWARD), first = phase(s, early, ONS_FORWARD);
    uint32_t stages[4] = {0};
    ons_cut_options options = {
        .whole = s->graph, .registry = s->registry, .repeats = true, .stage_of_node = stages, .stages = 3};
    ons_cut cut;
    stages[first] = 0, stages[reader] = 2, stages[writer] = 1;
    must(ons_cut_make(&options, &cut));
    cut_check(&options, &cut, "a state of the forward part");
    cr_assert_eq(cut.stages[2].graph->nodes.count, 4u, "all go to the last of them, for data flow on from there");
    ons_cut_free(&cut);

    /* The end of a step has no direction, so whoever replaces the state goes where it is. */
    phase(s, fresh, ONS_UPDATE);
    stages[first] = stages[reader] = 2, stages[writer] = 0;
    must(ons_cut_make(&options, &cut));
    cut_check(&options, &cut, "a state of the end");
    cr_assert_neq(ons_graph_find_node(cut.stages[2].graph, ons_graph_node(s->graph, writer)->name), ONS_NONE);
    ons_cut_free(&cut);

    /* Forward nodes go to later stages and backward ones to earlier ones: they cannot meet. */
    phase(s, fresh, ONS_INPUT_GRADIENT);
    stages[first] = stages[reader] = 2, stages[writer] = 0;
    must_fail(ons_cut_make(&options, &cut), ONS_UNSUPPORTED, "'state' is kept in stage");
    scene_close(s);
}
