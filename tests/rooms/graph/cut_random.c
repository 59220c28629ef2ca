#include "tests/rooms/graph/cut_random.h"

#include <criterion/criterion.h>
#include <stdio.h>

#include "graph/passes/autograd.h"
#include "graph/passes/half_weights.h"
#include "graph/passes/precision.h"
#include "graph/passes/update.h"

enum { ROWS = 4, COLUMNS = 8 };

static uint32_t dice(cut_random *m, uint32_t below) { return cut_case_random(&m->c, below); }

static const ons_operator *internal(const cut_random *m, const char *name) {
    const ons_operator *op = ons_registry_find_name(m->s->registry, "onstage", name);
    cr_assert_not_null(op, "there is no operator %s", name);
    return op;
}

/* A value that is there, one of the last rather than of the first. */
static ons_value_id any(cut_random *m) {
    uint32_t a = dice(m, m->value_count), b = dice(m, m->value_count);
    return m->values[a > b ? a : b];
}

static void put(cut_random *m, ons_value_id value) {
    must(ons_builder_finish(&m->s->builder));
    cr_assert_neq(value, ONS_NONE);
    m->values[m->value_count++] = value;
}

static ons_value_id random_contents(cut_random *m, ons_value_id id, float least) {
    void *data;
    ons_value *value = ons_graph_value(m->s->graph, id);
    must(ons_store_add(&m->s->store, &value->type, &data, &value->data));
    for (int64_t i = 0; i < ons_shape_elements(&value->type.shape); ++i)
        ((float *)data)[i] = least + (float)dice(m, 1000) / 1000;
    return id;
}

/* A new weight, or one of this shape that is in use already. */
static ons_value_id weight(cut_random *m, ons_shape shape) {
    uint32_t start = m->weight_count == 0 ? 0 : dice(m, m->weight_count);
    for (uint32_t i = start; i < m->weight_count && dice(m, 3) == 0; ++i)
        if (ons_shape_equal(&ons_graph_value(m->s->graph, m->weights[i])->type.shape, &shape)) return m->weights[i];
    char name[32];
    snprintf(name, sizeof name, "w%u", m->weight_count);
    return m->weights[m->weight_count++] = random_contents(m, add_parameter(m->s, name, shape), -0.5F);
}

static ons_value_id reshape(cut_random *m, ons_value_id value, ons_shape shape) {
    ons_builder *b = &m->s->builder;
    return ons_build(b, find_operator(m->s, "Reshape"), ONS_IN(value, ons_build_integers(b, shape.dims, shape.rank)),
                     ONS_DEFAULTS);
}

static void add_views(cut_random *m) {
    ons_value_id flat = reshape(m, any(m), SHAPE(ROWS * COLUMNS));
    if (dice(m, 2) == 0) flat = apply1(m->s, "Tanh", flat);
    put(m, reshape(m, flat, SHAPE(ROWS, COLUMNS)));
}

static void add_dropout(cut_random *m) {
    ons_value_id outputs[2];
    ons_build_node(&m->s->builder, internal(m, "DropoutTraining"), ONS_IN(any(m)), ONS_WITH(ONS_AT_FLOAT(0, 0.3)), 1,
                   NULL, outputs);
    put(m, outputs[0]);
}

static ons_value_id buffer(cut_random *m, const char *name) {
    ons_type type = ons_type_make(ONS_FLOAT32, SHAPE(COLUMNS));
    ons_value_id id;
    must(ons_graph_add_value(m->s->graph, name, ONS_BUFFER, &type, &id));
    return random_contents(m, id, 0.5F);
}

static void add_statistics(cut_random *m) {
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

static void add_normalization(cut_random *m) {
    ons_builder *b = &m->s->builder;
    put(m, ons_build(b, find_operator(m->s, "LayerNormalization"),
                     ONS_IN(any(m), weight(m, SHAPE(COLUMNS)), weight(m, SHAPE(COLUMNS))), ONS_DEFAULTS));
}

/* Halves, and again together, perhaps the other way round. */
static void add_halves(cut_random *m) {
    ons_builder *b = &m->s->builder;
    ons_value_id halves[2];
    ons_build_node(b, ons_registry_role(m->s->registry, ONS_ROLE_SPLIT), ONS_IN(any(m)),
                   ONS_WITH(ONS_AT_INT(0, 1), ONS_AT_INT(1, 2)), 2, NULL, halves);
    uint32_t first = dice(m, 2);
    put(m, ons_build(b, ons_registry_role(m->s->registry, ONS_ROLE_CONCAT), ONS_IN(halves[first], halves[1 - first]),
                     ONS_WITH(ONS_AT_INT(0, 1))));
}

static void add_forward(cut_random *m) {
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

static void keep(cut_random *m, ons_value_id value) {
    m->kept[m->kept_count++] = value;
    add_output(m->s, value);
}

/* Forward nodes behind the backward ones: for the host, and for an update in another stage. */
static void add_afterthoughts(cut_random *m) {
    m->s->builder.phase = ONS_FORWARD;
    for (uint32_t i = dice(m, 3); i > 0; --i) {
        ons_value_id value = apply1(m->s, dice(m, 2) == 0 ? "Tanh" : "Identity", any(m));
        if (dice(m, 2) == 0) put(m, value);
        keep(m, value);
    }
}

static void put_ids(cut_random *m, ons_value_id *ids, bool back) {
    ons_value_id *const lists[] = {m->values, m->weights, m->kept};
    const uint32_t counts[] = {m->value_count, m->weight_count, m->kept_count};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; ids += counts[i++])
        for (uint32_t k = 0; k < counts[i]; ++k)
            if (back)
                lists[i][k] = ids[k];
            else
                ids[k] = lists[i][k];
}

/* In a half type; ids change, also those of `more`. */
static void lower(cut_random *m, ons_value_id more[2]) {
    ons_value_id ids[CUT_RANDOM_VALUES + CUT_RANDOM_WEIGHTS + CUT_RANDOM_KEPT + 2] = {more[0], more[1]};
    ons_precision_table table;
    ons_tracked_values tracked = {ids, 2 + m->value_count + m->weight_count + m->kept_count};
    put_ids(m, ids + 2, false);
    must(ons_lower_precision(m->s->graph, m->s->registry, dice(m, 2) == 0 ? ONS_BFLOAT16 : ONS_FLOAT16, &tracked,
                             &table));
    put_ids(m, ids + 2, true);
    more[0] = ids[0];
    more[1] = ids[1];
}

static void train(cut_random *m) {
    ons_graph *graph = m->s->graph;
    ons_value_id sum = m->values[m->value_count - 1];
    for (uint32_t i = dice(m, 3); i > 0; --i) sum = apply2(m->s, "Add", sum, any(m));
    ons_value_id loss = apply1(m->s, "ReduceMean", sum);
    keep(m, loss);
    ons_value_id ends[] = {loss, reshape(m, loss, SHAPE(1))};
    ons_parameter_gradient gradients[CUT_RANDOM_WEIGHTS];
    must(ons_builder_finish(&m->s->builder));
    bool low = dice(m, 3) == 0;
    if (low) lower(m, ends);
    must(ons_differentiate(graph, m->s->registry, ends[dice(m, 2)], ONS_NONE, m->weights, m->weight_count, NULL,
                           gradients));
    ons_optimizer_options optimizer = {.role = dice(m, 2) == 0 ? ONS_ROLE_ADAMW : ONS_ROLE_SGD,
                                       .beta1 = 0.9,
                                       .beta2 = 0.99,
                                       .eps = 1e-8,
                                       .clip_norm = dice(m, 2)};
    ons_update_result update;
    must(ons_attach_update(graph, m->s->registry, gradients, m->weight_count, &optimizer, m->c.repeats, &update));
    if (update.norm != ONS_NONE) keep(m, update.norm);
    if (low) must(ons_share_weight_casts(graph, m->s->registry));
    if (low && dice(m, 4) > 0) must(ons_keep_half_weights(graph, m->s->registry, NULL));
}

cut_random cut_random_open(uint64_t seed) {
    cut_random m = {.s = scene_open(), .c = {.arena = ons_arena_new(), .random = seed}};
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

void cut_random_close(cut_random *m) {
    ons_arena_free(m->c.arena);
    scene_close(m->s);
}

void cut_random_choose_stages(cut_random *m, uint32_t stages) {
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
