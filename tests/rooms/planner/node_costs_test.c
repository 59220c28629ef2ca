#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planner/cost/instructions.h"
#include "planner/cost/node_amount.h"
#include "planner/cost/node_costs.h"

static ons_cost cost_of(const ons_operands *o) {
    double elements = (double)ons_shape_elements(&o->outputs[0].shape);
    return (ons_cost){3 * elements, 8 * elements};
}

static const ons_operator scale = {.name = "Scale",
                                   .arity = ONS_ARITY(1, 1, 1, 1),
                                   .attributes = ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("by", 2)),
                                   .cost = cost_of,
                                   .aliases = ONS_NO_ALIASES};
static const ons_operator product = {.name = "Product",
                                     .arity = ONS_ARITY(1, 1, 1, 1),
                                     .attributes = ONS_NO_ATTRIBUTES,
                                     .cost = cost_of,
                                     .roles = ONS_DENSE_OPERATOR,
                                     .aliases = ONS_NO_ALIASES};
static const ons_operator view = {.name = "View",
                                  .arity = ONS_ARITY(1, 1, 1, 1),
                                  .attributes = ONS_NO_ATTRIBUTES,
                                  .cost = cost_of,
                                  .aliases = ONS_ALIASES({ONS_ALIAS_VIEW, 0, 0})};

static void expect_success(ons_status *status) { cr_assert_null(status, "%s", ons_status_get_message(status)); }

static ons_value_id add(ons_graph *graph, const ons_operator *op, const char *name, ons_value_id input) {
    ons_node_id node;
    ons_value_id value;
    ons_type type = ons_graph_value(graph, input)->type;
    expect_success(ons_graph_add_node(graph, op, name, NULL, &input, 1, 1, &node));
    expect_success(ons_graph_add_value(graph, name, ONS_ACTIVATION, &type, &value));
    ons_graph_set_output(graph, node, 0, value);
    return value;
}

/* a: Scale, b: View, c: Product, d: Scale, e: Scale of another size */
static ons_graph *make_graph(void) {
    ons_graph *graph;
    expect_success(ons_graph_new(NULL, "g", &graph));
    int64_t dims[] = {10, 10}, other[] = {7};
    ons_type type = ons_type_make(ONS_FLOAT32, ons_shape_make(2, dims));
    ons_type small = ons_type_make(ONS_FLOAT32, ons_shape_make(1, other));
    ons_value_id x, y;
    expect_success(ons_graph_add_value(graph, "x", ONS_INPUT, &type, &x));
    expect_success(ons_graph_add_value(graph, "y", ONS_INPUT, &small, &y));
    x = add(graph, &scale, "a", x);
    x = add(graph, &view, "b", x);
    x = add(graph, &product, "c", x);
    add(graph, &scale, "d", x);
    add(graph, &scale, "e", y);
    return graph;
}

static ons_device_profile simple_device(void) {
    return (ons_device_profile){
        .name = "d",
        .title = "",
        .memory_bytes = 100,
        .matrix_flops = 1000,
        .vector_flops = 100,
        .memory_bandwidth = 1e9,
        .launch_seconds = 1,
        .link_bandwidth = 1,
        .host_bandwidth = 1,
        .matrix = {1, 0},
        .vector = {1, 0},
        .memory = {1, 0},
        .sources = "",
        .matrix_flops_of = {1000},
    };
}

Test(node_costs, the_analytic_model_tells_products_from_the_rest_and_views_cost_nothing) {
    ons_arena *arena = ons_arena_new();
    ons_graph *graph = make_graph();
    ons_device_profile device = simple_device();
    ons_graph_cost cost;
    expect_success(ons_graph_cost_analytic(graph, &device, arena, &cost));
    cr_expect_float_eq(cost.seconds[0], 1 + 300 / 100.0, 1e-9);
    cr_expect_eq(cost.seconds[1], 0);
    cr_expect_float_eq(cost.seconds[2], 1 + 300 / 1000.0, 1e-9);
    cr_expect_float_eq(cost.seconds[4], 1 + 21 / 100.0, 1e-9);
    cr_expect_eq(cost.scratch_bytes[0], 0);
    ons_graph_free(graph);
    ons_arena_free(arena);
}

static const char *key_of(const ons_graph *graph, ons_node_id node, ons_arena *arena) {
    const char *key;
    expect_success(ons_node_key(graph, node, arena, &key));
    return key;
}

Test(node_costs, keys_tell_operators_shapes_attributes_and_layouts_apart) {
    ons_arena *arena = ons_arena_new();
    ons_graph *graph = make_graph();
    const char *a = key_of(graph, 0, arena);
    cr_expect_str_eq(a, key_of(graph, 3, arena));
    cr_expect_str_neq(a, key_of(graph, 2, arena));
    cr_expect_str_neq(a, key_of(graph, 4, arena));
    ons_attribute three = {.kind = ONS_ATTRIBUTE_INT, .i = 3};
    const ons_attribute *before = ons_graph_node(graph, 3)->attributes;
    ons_graph_node(graph, 3)->attributes = &three;
    cr_expect_str_neq(a, key_of(graph, 3, arena));
    ons_graph_node(graph, 3)->attributes = before;
    ons_graph_value(graph, ons_graph_node(graph, 3)->outputs[0])->type.layout = 5;
    cr_expect_str_neq(a, key_of(graph, 3, arena));
    ons_graph_free(graph);
    ons_arena_free(arena);
}

/* What a profiler would make of the graph, but for node e. */
static ons_node_costs make_costs(const ons_graph *graph, ons_arena *arena) {
    ons_node_costs costs = {.device = simple_device(), .model = "m.onnx", .samples = 4, .step_seconds = 0.5};
    costs.nodes = ons_arena_allocate(arena, 8, sizeof *costs.nodes);
    static const ons_node_id measured[] = {0, 2, 3};
    static const double seconds[] = {0.25, 0.5, 0.75};
    for (int i = 0; i < 3; ++i)
        costs.nodes[costs.count++] = (ons_node_cost){
            .key = key_of(graph, measured[i], arena),
            .name = ons_graph_node(graph, measured[i])->name,
            .operator_name = ons_graph_node(graph, measured[i])->op->name,
            .implementation = "",
            .phase = ONS_WEIGHT_GRADIENT,
            .seconds = seconds[i],
            .scratch_bytes = 64 * i,
        };
    expect_success(ons_node_costs_index(&costs, arena));
    return costs;
}

Test(node_costs, measured_nodes_are_found_by_key_the_others_by_the_model) {
    ons_arena *arena = ons_arena_new();
    ons_graph *graph = make_graph();
    ons_node_costs costs = make_costs(graph, arena);
    ons_graph_cost cost;
    ons_node_costs_use use;
    expect_success(ons_node_costs_apply(&costs, graph, 4, arena, &cost, &use));
    cr_expect_eq(use.measured, 3);
    cr_expect_eq(use.analytic, 1);
    cr_expect_eq(cost.seconds[0], 0.25);
    cr_expect_eq(cost.seconds[1], 0); /* a view */
    cr_expect_eq(cost.seconds[2], 0.5);
    cr_expect_eq(cost.seconds[3], 0.75);
    cr_expect_eq(cost.scratch_bytes[2], 64);
    cr_expect_float_eq(cost.seconds[4], 1 + 21 / 100.0, 1e-9);
    costs.nodes[0].name = costs.nodes[2].name = "of another graph"; /* now the mean of both is what is known */
    expect_success(ons_node_costs_apply(&costs, graph, 4, arena, &cost, &use));
    cr_expect_eq(cost.seconds[0], 0.5);
    cr_expect_eq(cost.seconds[3], 0.5);
    ons_graph_free(graph);
    ons_arena_free(arena);
}

/* A device with twice the rates takes half as long, whatever was measured; one with twice the memory's rate alone is
 * faster by the share that memory has of both. */
Test(node_costs, costs_are_carried_over_to_another_device) {
    ons_arena *arena = ons_arena_new();
    ons_graph *graph = make_graph();
    ons_node_costs costs = make_costs(graph, arena);
    ons_graph_cost cost;
    ons_device_profile device = costs.device;
    expect_success(ons_node_costs_apply(&costs, graph, 4, arena, &cost, NULL));
    expect_success(ons_node_costs_carry(&costs, graph, &device, arena, &cost));
    cr_expect_eq(cost.seconds[0], 0.25, "the same device");
    device.matrix_flops *= 2;
    device.vector_flops *= 2;
    device.memory_bandwidth *= 2;
    expect_success(ons_node_costs_carry(&costs, graph, &device, arena, &cost));
    cr_expect_float_eq(cost.seconds[0], 0.125, 1e-12);
    cr_expect_eq(cost.seconds[1], 0, "a view");
    cr_expect_float_eq(cost.seconds[3], 0.375, 1e-12);
    device.matrix_flops = costs.device.matrix_flops;
    device.vector_flops = costs.device.vector_flops;
    expect_success(ons_node_costs_apply(&costs, graph, 4, arena, &cost, NULL));
    expect_success(ons_node_costs_carry(&costs, graph, &device, arena, &cost));
    cr_expect(cost.seconds[0] > 0.125 && cost.seconds[0] < 0.25, "%g", cost.seconds[0]);
    ons_graph_free(graph);
    ons_arena_free(arena);
}

/* What all nodes take when they are carried from the costs' device to one of other rates and instructions. */
static double carried(const char *from, const char *to, double rates, double launch, double seconds[static 5]) {
    ons_arena *arena = ons_arena_new();
    ons_graph *graph = make_graph();
    ons_node_costs costs = make_costs(graph, arena);
    costs.device.instructions = from;
    costs.launch_seconds = launch;
    ons_device_profile device = costs.device;
    device.instructions = to;
    ons_instruction_change change;
    cr_assert(ons_instruction_change_find("v3", "v4", 2, &change));
    const ons_instruction_set *sets[] = {change.from, change.to};
    ons_device_profile *devices[] = {&costs.device, &device};
    for (int i = 0; i < 2; ++i) {
        devices[i]->matrix_flops = devices[i]->vector_flops = sets[i]->matrix_flops * (i == 1 ? rates : 1);
        devices[i]->memory_bandwidth = sets[i]->memory_bandwidth * (i == 1 ? rates : 1);
    }
    ons_node_amount amount;
    ons_graph_cost cost;
    expect_success(ons_node_amount_find(graph, 2, arena, &amount));
    expect_success(ons_node_costs_apply(&costs, graph, 4, arena, &cost, NULL));
    expect_success(ons_node_costs_carry(&costs, graph, &device, arena, &cost));
    for (int i = 0; i < 5; ++i) seconds[i] = cost.seconds[i];
    double factor = ons_instruction_change_factor(&change, "Product", &amount);
    ons_graph_free(graph);
    ons_arena_free(arena);
    return factor;
}

/* Node 2 took half a second. On the machine that was surveyed it gains what the survey says, on one of twice its rates
 * twice that; where instructions are the same or not known, what the rates say. */
Test(node_costs, other_instructions_gain_what_the_survey_says) {
    double seconds[5], factor = carried("v3", "v4", 1, 0, seconds), faster[5], alike[5], unknown[5];
    cr_expect_float_eq(seconds[2], 0.5 * factor, 1e-9);
    cr_expect_eq(seconds[1], 0, "a view");
    carried("v3", "v4", 2, 0, faster);
    for (int i = 0; i < 5; ++i) cr_expect_float_eq(faster[i], seconds[i] / 2, 1e-9);
    carried("v3", "v3", 1, 0, alike);
    carried("v3", NULL, 1, 0, unknown);
    for (int i = 0; i < 5; ++i) cr_expect_eq(alike[i], unknown[i]);
    cr_expect(fabs(alike[2] - seconds[2]) > 1e-6, "the survey says what the rates do not");
}

Test(node_costs, from_a_node_to_the_next_it_takes_as_long_on_the_other_device) {
    double seconds[5], factor = carried("v3", "v4", 1, 0.125, seconds);
    cr_expect_float_eq(seconds[2], 0.125 + 0.5 * factor, 1e-9);
}

Test(node_costs, what_is_beside_the_nodes_is_counted) {
    ons_arena *arena = ons_arena_new();
    ons_graph *graph = make_graph();
    ons_node_costs costs = make_costs(graph, arena);
    costs.launch_seconds = 0.125;
    costs.feed_seconds = 2; /* of 4 samples */
    costs.handover_seconds = 3;
    ons_graph_cost cost;
    expect_success(ons_node_costs_apply(&costs, graph, 6, arena, &cost, NULL));
    cr_expect_eq(cost.seconds[0], 0.375);
    cr_expect_eq(cost.seconds[1], 0, "a view is not launched");
    cr_expect_float_eq(cost.seconds[4], 1 + 21 / 100.0, 1e-9, "the device profile's launch is in the model");
    cr_expect_eq(cost.feed_seconds, 3);
    cr_expect_eq(cost.handover_seconds, 3);
    ons_graph_free(graph);
    ons_arena_free(arena);
}

Test(node_costs, earlier_profiles_say_nothing_of_what_is_beside_the_nodes) {
    ons_arena *arena = ons_arena_new();
    ons_graph *graph = make_graph();
    ons_node_costs costs = make_costs(graph, arena);
    costs.handover_seconds = 0.0625;
    char *text, *place;
    expect_success(ons_node_costs_print(&costs, &text));
    place = strstr(text, "\"handover_seconds\":\t0.0625,");
    cr_assert_not_null(place, "%s", text);
    memset(place, ' ', strlen("\"handover_seconds\":\t0.0625,"));
    expect_success(ons_node_costs_parse(text, strlen(text), arena, &costs));
    cr_expect_eq(costs.handover_seconds, 0);
    free(text);
    ons_graph_free(graph);
    ons_arena_free(arena);
}

Test(node_costs, a_node_may_say_its_attributes) {
    ons_arena *arena = ons_arena_new();
    ons_graph *graph = make_graph();
    ons_node_costs costs = make_costs(graph, arena), again;
    char *text, *attributes;
    expect_success(ons_node_print_attributes(ons_graph_node(graph, 0), &attributes));
    cr_expect_str_eq(attributes, "by=2");
    costs.nodes[0].attributes = attributes;
    costs.nodes[1].attributes = "";
    expect_success(ons_node_costs_print(&costs, &text));
    expect_success(ons_node_costs_parse(text, strlen(text), arena, &again));
    cr_expect_str_eq(again.nodes[0].attributes, "by=2");
    cr_expect_str_eq(again.nodes[1].attributes, "");
    cr_expect_null(again.nodes[2].attributes, "earlier profiles do not say them");
    free(text);
    free(attributes);
    expect_success(ons_node_print_attributes(ons_graph_node(graph, 2), &attributes));
    cr_expect_str_eq(attributes, "", "it has none");
    free(attributes);
    ons_graph_free(graph);
    ons_arena_free(arena);
}

Test(node_costs, survive_write_read_write) {
    ons_arena *arena = ons_arena_new();
    ons_graph *graph = make_graph();
    ons_node_costs costs = make_costs(graph, arena), again;
    char *text, *second;
    expect_success(ons_node_costs_print(&costs, &text));
    expect_success(ons_node_costs_parse(text, strlen(text), arena, &again));
    expect_success(ons_node_costs_print(&again, &second));
    cr_expect_str_eq(text, second);
    cr_expect_eq(again.count, 3);
    cr_expect_eq(again.nodes[1].seconds, 0.5);
    cr_expect_eq(again.nodes[1].phase, ONS_WEIGHT_GRADIENT);
    cr_expect_eq(again.samples, 4);
    free(text);
    free(second);
    ons_graph_free(graph);
    ons_arena_free(arena);
}

static void refuse(const char *piece, const char *replacement, const char *expected) {
    ons_arena *arena = ons_arena_new();
    ons_graph *graph = make_graph();
    ons_node_costs costs = make_costs(graph, arena);
    char *text, *changed;
    expect_success(ons_node_costs_print(&costs, &text));
    char *place = strstr(text, piece);
    cr_assert_not_null(place, "no %s in %s", piece, text);
    cr_assert_gt(asprintf(&changed, "%.*s%s%s", (int)(place - text), text, replacement, place + strlen(piece)), 0);
    ons_status *status = ons_node_costs_parse(changed, strlen(changed), arena, &costs);
    cr_expect_not_null(strstr(ons_status_get_message(status), expected), "%s: %s", replacement,
                       ons_status_get_message(status));
    ons_status_free(status);
    free(text);
    free(changed);
    ons_graph_free(graph);
    ons_arena_free(arena);
}

Test(node_costs, failures_name_the_field) {
    refuse("\"onstage_profile\":\t1", "\"onstage_profile\":\t9", "knows version 1");
    refuse("\"weight_gradient\"", "\"sideways\"", "'nodes', number 0: 'phase': 'sideways'");
    refuse("\"seconds\":\t0.5", "\"seconds\":\t-0.5", "'nodes', number 1: 'seconds'");
    refuse("\"samples\":\t4", "\"samples\":\t-4", "'run': 'samples'");
    refuse("\"scratch_bytes\":\t64", "\"scratch_bytes\":\t\"x\"", "number 1: 'scratch_bytes'");
    refuse("\"vector_flops\"", "\"vector\"", "'device'");
}
