/* Products joined with what is done to their operands and results: which nodes are, and that nothing else comes out. */
#include "graph/passes/fuse_gemm.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/evaluate.h"
#include "graph/passes/autograd.h"
#include "kernels/kernels.h"
#include "tests/rooms/graph/fixture.h"

/* RESIDUALS: layers whose results are added up with what they read. */
enum { WEIGHTS = 4, RESIDUALS = 3, WEIGHTS_MAX = 2 + 2 * RESIDUALS, RESULTS_MAX = 1 + WEIGHTS_MAX };

static const ons_operator *find(const scene *s, const char *domain, const char *name) {
    const ons_operator *op = ons_registry_find_name(s->registry, domain, name);
    cr_assert_not_null(op, "there is no operator %s", name);
    return op;
}

static ons_value_id built(scene *s, ons_value_id value) {
    must(ons_builder_finish(&s->builder));
    cr_assert_neq(value, ONS_NONE);
    return value;
}

/* How layers are written in the graph. */
typedef enum layer_form { LINEAR, LINEAR_TRANSPOSED, GEMM, GEMM_TRANSPOSED, FORM_COUNT } layer_form;

typedef struct network {
    layer_form form;
    int64_t hidden;
    const char *approximate;
    bool shows_inner; /* what goes into Gelu is an output, too */
    bool residuals;   /* another network: no Gelu */
    bool trains;
    bool on_cpu;
    uint32_t weights;
    ons_value_id results[RESULTS_MAX]; /* the prediction, then the weights' gradients */
} network;

static int results_of(const network *n) { return n->trains ? 1 + (int)n->weights : 1; }

static ons_value_id reshape(scene *s, ons_value_id x, ons_shape shape) {
    ons_value_id to = ons_build_integers(&s->builder, shape.dims, shape.rank);
    return built(s, ons_build(&s->builder, find(s, "", "Reshape"), ONS_IN(x, to), ONS_DEFAULTS));
}

/* Of x with two axes of rows. */
static ons_value_id layer(scene *s, const network *n, ons_value_id x, ons_value_id w, ons_value_id b, int64_t outputs) {
    ons_shape shape = ons_graph_value(s->graph, x)->type.shape;
    bool transposed = n->form == LINEAR_TRANSPOSED || n->form == GEMM_TRANSPOSED;
    if (n->form == LINEAR || n->form == LINEAR_TRANSPOSED)
        return built(s, ons_build(&s->builder, find(s, "onstage", "Linear"), ONS_IN(x, w, b),
                                  ONS_WITH(ONS_AT_INT(0, transposed))));
    ons_value_id rows = reshape(s, x, SHAPE(shape.dims[0] * shape.dims[1], shape.dims[2]));
    ons_value_id y =
        built(s, ons_build(&s->builder, find(s, "", "Gemm"), ONS_IN(rows, w, b), ONS_WITH(ONS_AT_INT(3, transposed))));
    return reshape(s, y, SHAPE(shape.dims[0], shape.dims[1], outputs));
}

static ons_value_id weight(scene *s, const network *n, const char *name, int64_t inputs, int64_t outputs) {
    bool transposed = n->form == LINEAR_TRANSPOSED || n->form == GEMM_TRANSPOSED;
    return add_parameter(s, name, transposed ? SHAPE(outputs, inputs) : SHAPE(inputs, outputs));
}

/* Of the result, by all weights. */
static void differentiate(scene *s, network *n, const ons_value_id *weights) {
    ons_type type = ons_graph_value(s->graph, n->results[0])->type;
    ons_value_id cotangent;
    ons_parameter_gradient gradients[WEIGHTS_MAX];
    must(ons_graph_add_value(s->graph, "dy", ONS_INPUT, &type, &cotangent));
    cr_assert(ons_vector_push(&s->graph->inputs, cotangent));
    must(ons_differentiate(s->graph, s->registry, n->results[0], cotangent, weights, n->weights, NULL, gradients));
    for (uint32_t i = 0; i < n->weights; ++i) {
        cr_assert_eq(gradients[i].use_count, 1);
        n->results[1 + i] = gradients[i].uses[0];
        add_output(s, n->results[1 + i]);
    }
}

/* y = layer(x), then three times y = y + layer(y), the sum's operands by turns. */
static scene *open_residuals(network *n) {
    scene *s = scene_open();
    ons_value_id x = add_input(s, "x", SHAPE(2, 3, 5)), weights[WEIGHTS_MAX], y;
    static const char *const names[] = {"w0", "b0", "w1", "b1", "w2", "b2", "w3", "b3"};
    n->weights = WEIGHTS_MAX;
    for (uint32_t i = 0; i < n->weights; i += 2) {
        weights[i] = weight(s, n, names[i], i == 0 ? 5 : n->hidden, n->hidden);
        weights[i + 1] = add_parameter(s, names[i + 1], SHAPE(n->hidden));
    }
    y = layer(s, n, x, weights[0], weights[1], n->hidden);
    for (uint32_t i = 2; i < n->weights; i += 2) {
        ons_value_id made = layer(s, n, y, weights[i], weights[i + 1], n->hidden);
        y = built(s, i == 4 ? ons_build(&s->builder, find(s, "", "Add"), ONS_IN(made, y), ONS_DEFAULTS)
                            : ons_build(&s->builder, find(s, "", "Add"), ONS_IN(y, made), ONS_DEFAULTS));
    }
    n->results[0] = y;
    ons_graph_value(s->graph, y)->name = "y";
    add_output(s, y);
    differentiate(s, n, weights);
    return s;
}

static scene *open_network(network *n) {
    if (n->residuals) return open_residuals(n);
    scene *s = scene_open();
    ons_value_id x = add_input(s, "x", SHAPE(2, 3, 5)), weights[WEIGHTS] = {
                                                            weight(s, n, "w1", 5, n->hidden),
                                                            add_parameter(s, "b1", SHAPE(n->hidden)),
                                                            weight(s, n, "w2", n->hidden, 8),
                                                            add_parameter(s, "b2", SHAPE(8)),
                                                        };
    n->weights = WEIGHTS;
    ons_value_id inner = layer(s, n, x, weights[0], weights[1], n->hidden);
    ons_value_id active = built(
        s, ons_build(&s->builder, find(s, "", "Gelu"), ONS_IN(inner), ONS_WITH(ONS_AT_STRING(0, n->approximate))));
    n->results[0] = layer(s, n, active, weights[2], weights[3], 8);
    ons_graph_value(s->graph, n->results[0])->name = "y";
    if (n->shows_inner) add_output(s, inner);
    add_output(s, n->results[0]);
    if (n->trains) differentiate(s, n, weights);
    return s;
}

static void join(scene *s, network *n) {
    ons_tracked_values tracked = {n->results, (size_t)results_of(n)};
    must(ons_fuse_gemm(s->graph, s->registry, ons_gemm_fusion_rules(!n->on_cpu), &tracked));
    must(ons_graph_verify(s->graph));
}

/* Numbers that follow from the value's name. */
static void fill(const ons_value *value, double *numbers) {
    uint64_t random = 1;
    for (const char *c = value->name; *c != '\0'; ++c) random = random * 31 + (unsigned char)*c;
    for (int64_t i = 0; i < ons_shape_elements(&value->type.shape); ++i)
        numbers[i] = (double)(next_random(&random) % 2001) / 1000 - 1;
}

static void **evaluate(const scene *s) {
    void **words = calloc(s->graph->values.count + 1, sizeof *words);
    for (ons_value_id id = 0; id < s->graph->values.count; ++id) {
        const ons_value *value = ons_graph_value(s->graph, id);
        if (value->producer != ONS_NONE || value->data != ONS_NO_DATA) continue;
        words[id] = calloc((size_t)ons_shape_elements(&value->type.shape) + 1, sizeof(double));
        fill(value, words[id]);
    }
    must(ons_evaluate(s->graph, &(ons_step){.step = 1, .counted_targets = 1, .sample_share = 1}, words));
    return words;
}

static void free_words(const scene *s, void **words) {
    for (size_t i = 0; i < s->graph->values.count; ++i) free(words[i]);
    free(words);
}

static void expect_same_results(network n) {
    network joined = n;
    scene *a = open_network(&n), *b = open_network(&joined);
    join(b, &joined);
    void **should = evaluate(a), **is = evaluate(b);
    for (int i = 0; i < results_of(&n); ++i) {
        const ons_value *value = ons_graph_value(a->graph, n.results[i]);
        cr_assert_neq(joined.results[i], ONS_NONE);
        cr_assert(ons_type_equal(&value->type, &ons_graph_value(b->graph, joined.results[i])->type));
        for (int64_t k = 0; k < ons_shape_elements(&value->type.shape); ++k) {
            double x = ((double *)is[joined.results[i]])[k], y = ((double *)should[n.results[i]])[k];
            cr_assert(fabs(x - y) <= 1e-12, "form %d, hidden %lld, result %d: %.17g instead of %.17g", n.form,
                      (long long)n.hidden, i, x, y);
        }
    }
    free_words(a, should);
    free_words(b, is);
    scene_close(a);
    scene_close(b);
}

Test(fuse_gemm, training) {
    for (int form = 0; form < FORM_COUNT; ++form) {
        network n = {.form = (layer_form)form, .hidden = 16, .approximate = "tanh", .trains = true};
        expect_same_results(n);
        scene *s = open_network(&n);
        join(s, &n);
        cr_expect_eq(count_nodes(s->graph, "LinearGelu"), 1, "form %d", form);
        cr_expect_eq(count_nodes(s->graph, "LinearGeluGradient"), 1, "form %d", form);
        cr_expect_eq(count_nodes(s->graph, "LinearWeightGradient"), 2, "form %d", form);
        cr_expect_eq(count_nodes(s->graph, "Gelu") + count_nodes(s->graph, "GeluGradient"), 0, "form %d", form);
        cr_expect_eq(count_nodes(s->graph, "ReduceSum"), 0, "form %d", form);
        scene_close(s);
    }
}

/* Each sum is joined with the product that comes last, forwards and backwards, whichever operand that is. What comes to
 * the first layer's result may serve weights alone, and the product inputs, too: these two stay apart. */
Test(fuse_gemm, residual_sums) {
    for (int form = 0; form < FORM_COUNT; ++form) {
        network n = {.form = (layer_form)form, .hidden = 6, .residuals = true, .trains = true};
        expect_same_results(n);
        scene *s = open_network(&n);
        join(s, &n);
        size_t joined = count_nodes(s->graph, "LinearAdd"), apart = count_nodes(s->graph, "Add");
        cr_expect_geq(joined, 2 * RESIDUALS - 1, "form %d: %zu", form, joined);
        cr_expect_eq(joined + apart, 2 * RESIDUALS, "form %d: %zu and %zu", form, joined, apart);
        scene_close(s);
    }
}

/* On a CPU a layer takes in what is added to its result, and nothing else is joined. */
Test(fuse_gemm, on_a_cpu) {
    for (int form = 0; form < FORM_COUNT; ++form)
        for (int residuals = 0; residuals < 2; ++residuals) {
            network n = {.form = (layer_form)form,
                         .hidden = 16,
                         .approximate = "tanh",
                         .residuals = residuals == 1,
                         .trains = true,
                         .on_cpu = true};
            expect_same_results(n);
            scene *s = open_network(&n);
            join(s, &n);
            cr_expect_eq(count_nodes(s->graph, "LinearAdd"), residuals * RESIDUALS, "form %d", form);
            cr_expect_eq(count_nodes(s->graph, "LinearGelu") + count_nodes(s->graph, "LinearGeluGradient") +
                             count_nodes(s->graph, "LinearWeightGradient"),
                         0, "form %d", form);
            scene_close(s);
        }
}

/* The gradient of Gelu stands for the next layer's node, since it is computed with what that hands back; what belongs
 * to the first layer stands for the node that layer and Gelu have become. */
Test(fuse_gemm, origins) {
    network n = {.form = GEMM, .hidden = 16, .approximate = "tanh", .trains = true};
    scene *s = open_network(&n);
    join(s, &n);
    for (ons_node_id id = 0; id < s->graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(s->graph, id), *origin = ons_graph_node(s->graph, node->origin);
        if (strcmp(node->op->name, "LinearGeluGradient") == 0) {
            cr_expect_str_eq(origin->op->name, "Gemm");
            cr_expect_eq(node->phase, ONS_INPUT_GRADIENT);
        }
        if (strcmp(node->op->name, "LinearWeightGradient") != 0) continue;
        bool first = node->outputs[0] == n.results[1];
        cr_expect_str_eq(origin->op->name, first ? "LinearGelu" : "Gemm");
        cr_expect_eq(node->phase, ONS_WEIGHT_GRADIENT);
    }
    scene_close(s);
}

/* Rows that the library does not take stay with kernels of their own; sums do not mind. */
Test(fuse_gemm, odd_rows) {
    network n = {.form = LINEAR, .hidden = 12, .approximate = "tanh", .trains = true};
    expect_same_results(n);
    scene *s = open_network(&n);
    join(s, &n);
    cr_expect_eq(count_nodes(s->graph, "LinearGelu") + count_nodes(s->graph, "LinearGeluGradient"), 0);
    cr_expect_eq(count_nodes(s->graph, "LinearWeightGradient"), 2);
    scene_close(s);
}

Test(fuse_gemm, exact_gelu_stays) {
    network n = {.form = LINEAR, .hidden = 16, .approximate = "none", .trains = true};
    expect_same_results(n);
    scene *s = open_network(&n);
    join(s, &n);
    cr_expect_eq(count_nodes(s->graph, "Gelu"), 1);
    cr_expect_eq(count_nodes(s->graph, "GeluGradient"), 1);
    scene_close(s);
}

static const ons_node *only_node(const scene *s, const char *op) {
    const ons_node *found = NULL;
    for (ons_node_id id = 0; id < s->graph->nodes.count; ++id)
        if (strcmp(ons_graph_node(s->graph, id)->op->name, op) == 0) found = ons_graph_node(s->graph, id);
    cr_assert_not_null(found);
    return found;
}

/* What goes into Gelu is kept where somebody reads it, and only there. */
Test(fuse_gemm, inference) {
    for (int form = 0; form < FORM_COUNT; ++form)
        for (int shows = 0; shows < 2; ++shows) {
            network n = {.form = (layer_form)form, .hidden = 16, .approximate = "tanh", .shows_inner = shows == 1};
            expect_same_results(n);
            scene *s = open_network(&n);
            join(s, &n);
            const ons_node *node = only_node(s, "LinearGelu");
            cr_expect_eq(node->output_count, shows == 1 ? 2 : 1, "form %d", form);
            cr_expect_eq(node->attributes[1].i, shows, "form %d", form);
            scene_close(s);
        }
}

/* A cotangent that others read has to be made. */
Test(fuse_gemm, gradient_with_another_reader) {
    network n = {.form = LINEAR, .hidden = 16, .approximate = "tanh", .trains = true};
    scene *s = open_network(&n);
    const ons_node *slope = only_node(s, "GeluGradient");
    add_output(s, slope->inputs[0]);
    join(s, &n);
    cr_expect_eq(count_nodes(s->graph, "LinearGelu"), 1);
    cr_expect_eq(count_nodes(s->graph, "GeluGradient"), 1);
    scene_close(s);
}
