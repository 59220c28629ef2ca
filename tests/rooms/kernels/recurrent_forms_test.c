/* Recurrent layers whose exporter puts its own order of gates into ONNX's, by cutting weights and joining them again:
 * the node takes the weights as they are, and results and gradients stay what they were. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/build.h"
#include "graph/evaluate.h"
#include "graph/passes/autograd.h"
#include "graph/passes/fuse.h"
#include "kernels/common/operator/kernel.h"
#include "kernels/kernels.h"
#include "kernels/operators.h"

enum { STEPS = 3, SAMPLES = 2, INPUTS = 4, HIDDEN = 5, WEIGHTS_MOST = 8, GATES_MOST = 4 };

typedef enum cutting { BY_SLICES, BY_SPLIT, IN_PLACE } cutting;

/* `sources[i]`: where the block of ONNX's gate i lies in the exporter's weights. */
typedef struct layer {
    const ons_operator *op;
    int64_t gates, sources[GATES_MOST];
    int64_t directions;
    bool bias;
    cutting cutting;
    bool other_biases; /* these are cut in ONNX's own order */
} layer;

typedef struct scene {
    ons_store store;
    ons_graph *graph;
    ons_builder builder;
    char names[WEIGHTS_MOST][16];
    uint32_t weights;
    double *results[1 + WEIGHTS_MOST]; /* y; the gradient of each weight */
} scene;

static void must(ons_status *status) { cr_assert(status == NULL, "%s", ons_status_get_message(status)); }

static ons_value_id add_value(scene *s, const char *name, ons_value_kind kind, ons_shape shape) {
    ons_type type = ons_type_make(ONS_FLOAT32, shape);
    ons_value_id id;
    must(ons_graph_add_value(s->graph, name, kind, &type, &id));
    return id;
}

static ons_value_id add_weight(scene *s, ons_shape shape) {
    cr_assert_lt(s->weights, WEIGHTS_MOST);
    char *name = s->names[s->weights];
    snprintf(name, sizeof s->names[0], "weight%u", s->weights++);
    return add_value(s, name, ONS_PARAMETER, shape);
}

static ons_value_id join(scene *s, const ons_value_id *parts, uint32_t count, int64_t axis) {
    if (count == 1) return parts[0];
    return ons_build(&s->builder, &ons_op_concat, (ons_inputs){parts, count}, ONS_WITH(ONS_AT_INT(0, axis)));
}

static ons_value_id integer(scene *s, int64_t value) { return ons_build_integers(&s->builder, &value, 1); }

/* A weight's blocks of rows, in ONNX's order. */
static ons_value_id reorder(scene *s, ons_value_id weight, const layer *l, const int64_t *sources) {
    ons_value_id blocks[GATES_MOST], parts[GATES_MOST];
    int64_t sizes[GATES_MOST] = {HIDDEN, HIDDEN, HIDDEN, HIDDEN};
    if (l->cutting == IN_PLACE) return weight;
    if (l->cutting == BY_SPLIT)
        ons_build_node(&s->builder, &ons_op_split,
                       ONS_IN(weight, ons_build_integers(&s->builder, sizes, (uint32_t)l->gates)),
                       ONS_WITH(ONS_AT_INT(0, 0)), (uint32_t)l->gates, NULL, blocks);
    for (int64_t i = 0; i < l->gates && l->cutting == BY_SLICES; ++i)
        blocks[i] = ons_build(&s->builder, &ons_op_slice,
                              ONS_IN(weight, integer(s, i * HIDDEN), integer(s, (i + 1) * HIDDEN), integer(s, 0)),
                              ONS_DEFAULTS);
    for (int64_t i = 0; i < l->gates; ++i) parts[i] = blocks[sources[i]];
    return join(s, parts, (uint32_t)l->gates, 0);
}

static ons_value_id unsqueeze(scene *s, ons_value_id value) {
    return ons_build(&s->builder, &ons_op_unsqueeze, ONS_IN(value, integer(s, 0)), ONS_DEFAULTS);
}

static ons_value_id build_weights(scene *s, const layer *l, int64_t columns) {
    ons_value_id parts[2];
    for (int64_t d = 0; d < l->directions; ++d)
        parts[d] = unsqueeze(s, reorder(s, add_weight(s, (ons_shape){2, {l->gates * HIDDEN, columns}}), l, l->sources));
    return join(s, parts, (uint32_t)l->directions, 0);
}

static ons_value_id build_biases(scene *s, const layer *l) {
    static const int64_t as_onnx[GATES_MOST] = {0, 1, 2, 3};
    ons_value_id parts[2], both[2];
    for (int64_t d = 0; d < l->directions; ++d) {
        for (int i = 0; i < 2; ++i)
            both[i] = reorder(s, add_weight(s, (ons_shape){1, {l->gates * HIDDEN}}), l,
                              l->other_biases ? as_onnx : l->sources);
        parts[d] = unsqueeze(s, join(s, both, 2, 0));
    }
    return join(s, parts, (uint32_t)l->directions, 0);
}

static void open_scene(scene *s, const layer *l) {
    memset(s, 0, sizeof *s);
    must(ons_store_init(&s->store));
    must(ons_graph_new(&s->store, "test", &s->graph));
    ons_value_id x = add_value(s, "x", ONS_INPUT, (ons_shape){3, {STEPS, SAMPLES, INPUTS}}), made[3];
    cr_assert(ons_vector_push(&s->graph->inputs, x));
    s->builder =
        (ons_builder){.graph = s->graph, .registry = ons_kernels_registry(), .phase = ONS_FORWARD, .origin = ONS_NONE};
    ons_value_id inputs[4] = {x, build_weights(s, l, INPUTS), build_weights(s, l, HIDDEN), ONS_NONE};
    if (l->bias) inputs[3] = build_biases(s, l);
    ons_builder *b = &s->builder;
    uint32_t outputs = l->op == &ons_op_lstm ? 3 : 2;
    ons_build_node(b, l->op, (ons_inputs){inputs, l->bias ? 4 : 3},
                   ONS_WITH(ONS_AT_STRING(4, l->directions == 2 ? "bidirectional" : "forward")), outputs, NULL, made);
    /* All outputs count, the last state too. */
    ons_value_id sum = ons_build(b, &ons_op_reduce_sum, ONS_IN(made[1]), ONS_WITH(ONS_AT_INT(0, 0)));
    ons_value_id y = ons_build(b, &ons_op_mul, ONS_IN(made[0], sum), ONS_DEFAULTS);
    must(ons_builder_finish(b));
    cr_assert(ons_vector_push(&s->graph->outputs, y));
}

static void close_scene(scene *s) {
    for (int i = 0; i <= WEIGHTS_MOST; ++i) free(s->results[i]);
    ons_graph_free(s->graph);
    ons_store_free(&s->store);
}

static double *draw(uint32_t seed, int64_t count) {
    double *words = malloc(((size_t)count + 1) * sizeof *words);
    cr_assert(words != NULL);
    for (int64_t i = 0; i < count; ++i) words[i] = sin((double)(seed * 1000 + i) * 1.7) * 0.7;
    return words;
}

static int64_t elements_of(const scene *s, ons_value_id id) {
    return ons_elements(&ons_graph_value(s->graph, id)->type);
}

static double *copy(const double *words, int64_t count) {
    double *result = malloc(((size_t)count + 1) * sizeof *result);
    cr_assert(result != NULL);
    memcpy(result, words, (size_t)count * sizeof *words);
    return result;
}

/* Differentiates Σ cotangent × y and evaluates everything. */
static void compute(scene *s) {
    ons_value_id y = s->graph->outputs.items[0], weights[WEIGHTS_MOST];
    ons_value_id cotangent = add_value(s, "cotangent", ONS_STATE, ons_graph_value(s->graph, y)->type.shape);
    ons_parameter_gradient gradients[WEIGHTS_MOST];
    for (uint32_t i = 0; i < s->weights; ++i) weights[i] = ons_graph_find_value(s->graph, s->names[i]);
    must(ons_differentiate(s->graph, ons_kernels_registry(), y, cotangent, weights, s->weights, NULL, gradients));
    void **words = calloc(s->graph->values.count + 1, sizeof *words);
    cr_assert(words != NULL);
    for (uint32_t i = 0; i < s->weights; ++i) words[weights[i]] = draw(i, elements_of(s, weights[i]));
    words[ons_graph_find_value(s->graph, "x")] = draw(20, STEPS * SAMPLES * INPUTS);
    words[cotangent] = draw(21, elements_of(s, y));
    ons_step step = {.seed = 1, .step = 1};
    must(ons_evaluate(s->graph, &step, words));
    s->results[0] = copy(words[y], elements_of(s, y));
    for (uint32_t i = 0; i < s->weights; ++i) {
        int64_t count = elements_of(s, weights[i]);
        cr_assert(gradients[i].use_count > 0);
        s->results[1 + i] = copy(words[gradients[i].uses[0]], count);
        for (uint32_t use = 1; use < gradients[i].use_count; ++use)
            for (int64_t k = 0; k < count; ++k)
                s->results[1 + i][k] += ((const double *)words[gradients[i].uses[use]])[k];
    }
    for (size_t i = 0; i < s->graph->values.count; ++i) free(words[i]);
    free(words);
}

static size_t count_nodes(const scene *s, const ons_operator *op) {
    size_t count = 0;
    for (size_t i = 0; i < s->graph->nodes.count; ++i) count += s->graph->nodes.items[i].op == op;
    return count;
}

static void expect_same_results(const scene *plain, const scene *fused) {
    for (uint32_t i = 0; i <= plain->weights; ++i) {
        int64_t count = i == 0 ? elements_of(plain, plain->graph->outputs.items[0])
                               : elements_of(plain, ons_graph_find_value(plain->graph, plain->names[i - 1]));
        for (int64_t k = 0; k < count; ++k)
            cr_assert_float_eq(plain->results[i][k], fused->results[i][k], 1e-12, "result %u, element %lld: %g is %g",
                               i, (long long)k, plain->results[i][k], fused->results[i][k]);
    }
}

static const int64_t torch_lstm[] = {0, 3, 1, 2}, torch_gru[] = {1, 0, 2};

/* `taken`: nothing cuts the weights any more; else the node stays as it was. */
static void check(layer l, const int64_t *sources, bool taken) {
    scene scenes[2];
    l.gates = l.op == &ons_op_lstm ? 4 : 3;
    memcpy(l.sources, sources, (size_t)l.gates * sizeof *sources);
    for (int i = 0; i < 2; ++i) open_scene(&scenes[i], &l);
    must(ons_fuse(&scenes[1].graph, ons_kernels_registry()));
    size_t cuts = count_nodes(&scenes[1], &ons_op_slice) + count_nodes(&scenes[1], &ons_op_split);
    cr_expect_eq(count_nodes(&scenes[1], l.op), 1);
    cr_expect((cuts == 0) == (taken || l.cutting == IN_PLACE), "%zu nodes cut weights", cuts);
    for (int i = 0; i < 2; ++i) compute(&scenes[i]);
    expect_same_results(&scenes[0], &scenes[1]);
    for (int i = 0; i < 2; ++i) close_scene(&scenes[i]);
}

Test(recurrent_forms, lstm) {
    for (int i = 0; i < 8; ++i)
        check((layer){.op = &ons_op_lstm, .directions = 1 + i % 2, .bias = i / 2 % 2, .cutting = (cutting)(i / 4)},
              torch_lstm, true);
}

Test(recurrent_forms, gru) {
    for (int i = 0; i < 8; ++i)
        check((layer){.op = &ons_op_gru, .directions = 1 + i % 2, .bias = i / 2 % 2, .cutting = (cutting)(i / 4)},
              torch_gru, true);
}

Test(recurrent_forms, weights_that_nobody_cuts) {
    check((layer){.op = &ons_op_lstm, .directions = 2, .bias = true, .cutting = IN_PLACE}, torch_lstm, false);
}

Test(recurrent_forms, weights_in_several_orders) {
    check((layer){.op = &ons_op_lstm, .directions = 1, .bias = true, .other_biases = true}, torch_lstm, false);
}

/* What R is multiplied with for the last gate of a GRU is another state: it stays the last. */
Test(recurrent_forms, gru_with_another_last_gate) {
    static const int64_t sources[] = {2, 0, 1};
    check((layer){.op = &ons_op_gru, .directions = 1, .bias = true}, sources, false);
}

/* One gate twice, another never. */
Test(recurrent_forms, no_order) {
    static const int64_t sources[] = {0, 0, 1, 2};
    check((layer){.op = &ons_op_lstm, .directions = 1, .cutting = BY_SLICES}, sources, false);
}
