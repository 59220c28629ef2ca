/* How graphs for a GPU are laid out: convolutions channels last, and what lies between them in that order too, so that
 * pictures are reordered where they come in and filters once a step. */
#include <criterion/criterion.h>

#include "engine/plan/plan_input.h"

static void must(ons_status *status) { cr_assert(status == NULL, "%s", ons_status_get_message(status)); }

typedef struct made {
    ons_config *config;
    ons_model *model;
    ons_arena *arena;
    ons_plan_input input;
} made;

static made make(const char *path, const char *precision) {
    made m = {.arena = ons_arena_new()};
    ons_device_profile profile;
    must(ons_config_new(&m.config));
    must(ons_config_set(m.config, "precision", precision));
    must(ons_device_profile_load("h200-141gb", m.arena, &profile));
    must(ons_model_open(path, m.config, true, NULL, &m.model));
    ons_plan_input_options options = {
        .model = m.model, .config = m.config, .profile = &profile, .batch = 4, .micro_batches = 2, .accumulates = true};
    must(ons_plan_input_make(&options, &m.input));
    must(ons_graph_verify(m.input.stage.graph));
    return m;
}

static void release(made *m) {
    ons_plan_input_free(&m->input);
    ons_model_free(m->model);
    ons_config_free(m->config);
    ons_arena_free(m->arena);
}

/* Reorders of a graph: once a step (of filters), of filters' gradients, and of everything else, forwards and backwards.
 */
typedef struct reorders {
    uint32_t filters, filter_gradients, forwards, backwards;
} reorders;

static reorders count(const made *m) {
    const ons_graph *graph = m->input.stage.graph;
    reorders r = {0};
    for (ons_node_id id = 0; id < graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(graph, id);
        if (node->op != ons_registry_role(m->model->registry, ONS_ROLE_REORDER)) continue;
        if (node->per_step)
            r.filters += node->phase == ONS_FORWARD;
        else if (node->phase == ONS_WEIGHT_GRADIENT)
            r.filter_gradients += 1;
        else if (node->phase == ONS_FORWARD)
            r.forwards += 1;
        else
            r.backwards += 1;
    }
    return r;
}

static uint32_t count_laid_out(const ons_graph *graph) {
    uint32_t found = 0;
    for (ons_value_id id = 0; id < graph->values.count; ++id)
        found += ons_graph_value(graph, id)->type.layout != ONS_LAYOUT_ONNX;
    return found;
}

/* Apart from filters. */
static void expect_between(const char *path, const char *precision, uint32_t forwards, uint32_t backwards) {
    made m = make(path, precision);
    reorders is = count(&m);
    cr_expect_eq(is.forwards, forwards, "%s in %s: %u forwards", path, precision, is.forwards);
    cr_expect_eq(is.backwards, backwards, "%s in %s: %u backwards", path, precision, is.backwards);
    release(&m);
}

static void expect(const char *path, const char *precision, const reorders *should) {
    made m = make(path, precision);
    reorders is = count(&m);
    cr_expect_eq(is.filters, should->filters, "%s in %s: %u filters", path, precision, is.filters);
    cr_expect_eq(is.filter_gradients, should->filter_gradients, "%s in %s: %u gradients of filters", path, precision,
                 is.filter_gradients);
    release(&m);
    expect_between(path, precision, should->forwards, should->backwards);
}

/* The pictures alone are reordered, and filters of more than one tap; where a mean over all positions is no pooling
 * (ResNet-50 as PyTorch writes it), so is its gradient, behind the cast to a half type. */
Test(channels_last, residual_networks_are_reordered_at_their_ends_alone) {
    static const reorders resnet50 = {17, 17, 1, 1}, resnet18 = {17, 17, 1, 0}, small = {2, 2, 1, 0};
    expect("tests/rooms/planner/resnet50.onnx", "bf16", &resnet50);
    expect_between("tests/rooms/planner/resnet50.onnx", "tf32", 1, 0);
    expect("tests/agreement/golden/resnet18/model.onnx", "bf16", &resnet18);
    expect("tests/agreement/golden/resnet18/model.onnx", "fp16", &resnet18);
    expect("tests/agreement/golden/cnn_dynamic/model.onnx", "bf16", &small);
}

/* Branches are joined, cut and shuffled, blocks squeezed and scaled, in the order in which convolutions leave them. */
Test(channels_last, branches_and_scales_change_nothing) {
    static const char *const paths[] = {
        "tests/agreement/families/mobilenet_v2/model.onnx", "tests/agreement/families/mobilenet_v3/model.onnx",
        "tests/agreement/families/densenet/model.onnx",     "tests/agreement/families/efficientnet/model.onnx",
        "tests/agreement/families/squeezenet/model.onnx",   "tests/agreement/families/regnet/model.onnx",
        "tests/agreement/families/resnext/model.onnx",      "tests/agreement/families/shufflenet/model.onnx",
    };
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; ++i) expect_between(paths[i], "tf32", 1, 0);
}

/* Norms over neighbouring channels want ONNX's order. */
Test(channels_last, other_networks_go_back_where_they_must) {
    expect_between("tests/agreement/families/inception/model.onnx", "tf32", 3, 3);
}

/* Our own kernels and the library's exact ones have no need of it. */
Test(channels_last, full_precision_keeps_the_order_of_the_file) {
    static const reorders none = {0};
    expect("tests/agreement/golden/resnet18/model.onnx", "fp32", &none);
    made m = make("tests/agreement/golden/resnet18/model.onnx", "fp32");
    cr_expect_eq(count_laid_out(m.input.stage.graph), 0u);
    release(&m);
}
