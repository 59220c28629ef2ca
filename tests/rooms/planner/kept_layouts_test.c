/* How what a step brings up to date lies from step to step: as its gradient comes, so that neither is reordered; and
 * that gradients of activations go from convolution to convolution without a reorder. Which layouts there are is the
 * machine's. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "engine/plan/plan_input.h"

static void must(ons_status *status) { cr_assert(status == NULL, "%s", ons_status_get_message(status)); }

typedef struct made {
    ons_config *config;
    ons_model *model;
    ons_arena *arena;
    ons_plan_input input;
} made;

static made make(const char *path, const char *optimizer, bool sharded) {
    made m = {.arena = ons_arena_new()};
    ons_device_profile profile;
    must(ons_config_new(&m.config));
    must(ons_config_set(m.config, "optimizer", optimizer));
    must(ons_config_set(m.config, "clip-norm", "1"));
    if (sharded) must(ons_config_set(m.config, "replicas", "2"));
    if (sharded) must(ons_config_set(m.config, "shard-optimizer", "true"));
    must(ons_device_profile_load("cpu", m.arena, &profile));
    must(ons_model_open(path, m.config, true, NULL, &m.model));
    ons_plan_input_options options = {
        .model = m.model, .config = m.config, .profile = &profile, .batch = 4, .micro_batches = 2, .accumulates = true};
    must(ons_plan_input_make(&options, &m.input));
    return m;
}

static void release(made *m) {
    ons_plan_input_free(&m->input);
    ons_model_free(m->model);
    ons_config_free(m->config);
    ons_arena_free(m->arena);
}

static bool is_dense(const made *m, const ons_type *type) {
    return ons_registry_type_bytes(m->model->registry, type) == ons_type_dense_bytes(type);
}

/* Every result that takes the place of something lies as that does. */
static void expect_places(const ons_graph *graph) {
    for (ons_value_id id = 0; id < graph->values.count; ++id) {
        const ons_value *value = ons_graph_value(graph, id);
        if (value->pair == ONS_NONE || value->producer == ONS_NONE) continue;
        const ons_value *place = ons_graph_value(graph, value->pair);
        cr_expect_eq(value->type.layout, place->type.layout, "'%s' and '%s'", value->name, place->name);
    }
}

/* Counts the reorders of gradients; one is right where the gradient comes with padding. */
static uint32_t count_gradient_reorders(const made *m) {
    const ons_graph *graph = m->input.stage.graph;
    uint32_t found = 0;
    for (ons_node_id id = 0; id < graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(graph, id);
        bool late = node->phase == ONS_WEIGHT_GRADIENT || node->phase == ONS_UPDATE;
        if (!late || node->op != ons_registry_role(m->model->registry, ONS_ROLE_REORDER)) continue;
        found += is_dense(m, &ons_graph_value(graph, node->inputs[0])->type);
    }
    return found;
}

static bool reads_any(const ons_node *node, const bool *marked) {
    for (uint32_t i = 0; i < node->input_count; ++i)
        if (node->inputs[i] != ONS_NONE && marked[node->inputs[i]]) return true;
    return false;
}

/* Counts the reorders of gradients that come from a convolution, by whatever way. One is right where the gradient comes
 * from elsewhere, as from the classifier behind all convolutions. */
static uint32_t count_reorders_behind_convolutions(const made *m) {
    const ons_graph *graph = m->input.stage.graph;
    bool *from_convolution = calloc(graph->values.count + 1, sizeof *from_convolution);
    cr_assert_not_null(from_convolution);
    uint32_t found = 0, convolutions = 0;
    for (ons_node_id id = 0; id < graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(graph, id);
        bool is_convolution = strcmp(node->op->name, "ConvInputGradient") == 0;
        if (node->phase != ONS_INPUT_GRADIENT || !(is_convolution || reads_any(node, from_convolution))) continue;
        convolutions += is_convolution;
        found += node->op == ons_registry_role(m->model->registry, ONS_ROLE_REORDER);
        for (uint32_t i = 0; i < node->output_count; ++i)
            if (node->outputs[i] != ONS_NONE) from_convolution[node->outputs[i]] = true;
    }
    free(from_convolution);
    cr_expect_gt(convolutions, 0u);
    return found;
}

static uint32_t count_kept(const ons_graph *graph) {
    uint32_t found = 0;
    for (ons_value_id id = 0; id < graph->values.count; ++id) {
        const ons_value *value = ons_graph_value(graph, id);
        bool persists = value->kind == ONS_PARAMETER || value->kind == ONS_STATE;
        found += persists && value->producer == ONS_NONE && value->type.layout != ONS_LAYOUT_ONNX;
    }
    return found;
}

static const char *const paths[] = {"tests/rooms/planner/resnet50.onnx", "tests/agreement/golden/resnet18/model.onnx",
                                    "tests/agreement/golden/lenet/model.onnx",
                                    "tests/agreement/families/mobilenet_v2/model.onnx"};

Test(kept_layouts, gradients_of_filters_are_not_reordered) {
    static const char *const optimizers[] = {"adamw", "sgd", "adam", "adagrad", "rmsprop"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; ++i)
        for (size_t k = 0; k < sizeof optimizers / sizeof *optimizers; ++k) {
            made m = make(paths[i], optimizers[k], false);
            expect_places(m.input.stage.graph);
            cr_expect_eq(count_gradient_reorders(&m), 0u, "%s with %s", paths[i], optimizers[k]);
            release(&m);
        }
}

Test(kept_layouts, gradients_between_convolutions_are_not_reordered) {
    for (size_t i = 0; i < sizeof paths / sizeof *paths; ++i) {
        made m = make(paths[i], "sgd", false);
        cr_expect_eq(count_reorders_behind_convolutions(&m), 0u, "%s", paths[i]);
        release(&m);
    }
}

/* A slice of a weight is one of its elements in ONNX's order. */
Test(kept_layouts, divided_updates_keep_the_order_of_the_file) {
    made m = make("tests/rooms/planner/resnet50.onnx", "adamw", true);
    expect_places(m.input.stage.graph);
    cr_expect_eq(count_kept(m.input.stage.graph), 0u);
    release(&m);
}

/* Graphs of other numbers of samples, and of inference, share the weights' memory. */
Test(kept_layouts, graphs_that_share_weights_have_them_alike) {
    made m = make("tests/rooms/planner/resnet50.onnx", "adamw", false);
    for (int training = 0; training < 2; ++training) {
        ons_model_graph other;
        const ons_model_graph_options options = {.model = m.model,
                                                 .config = m.config,
                                                 .rows = 1,
                                                 .training = training == 1,
                                                 .repeats = training == 1,
                                                 .like = m.input.stage.graph};
        must(ons_model_graph_build(&options, &other));
        expect_places(other.graph);
        for (ons_value_id id = 0; id < other.graph->values.count; ++id) {
            const ons_value *value = ons_graph_value(other.graph, id);
            ons_value_id same = value->kind == ONS_PARAMETER || value->kind == ONS_STATE
                                    ? ons_graph_find_value(m.input.stage.graph, value->name)
                                    : ONS_NONE;
            if (same == ONS_NONE || value->producer != ONS_NONE) continue;
            cr_expect(ons_type_equal(&value->type, &ons_graph_value(m.input.stage.graph, same)->type), "'%s'",
                      value->name);
        }
        ons_model_graph_free(&other);
    }
    release(&m);
}
