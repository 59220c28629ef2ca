/* What is made again for the backward part where nobody plans memory. */
#include "graph/passes/cheap_again.h"

#include <criterion/criterion.h>
#include <string.h>

#include "graph/passes/autograd.h"
#include "tests/rooms/graph/fixture.h"

enum { COLUMNS = 4096 };

/* y = norm(x p) w, or with an activation function in its place, whose result has a MiB for 64 rows. */
typedef struct network {
    scene *s;
    ons_value_id normal, y;
    ons_node_id product;
} network;

static network open_network_with(const char *function, int64_t rows) {
    network n = {.s = scene_open()};
    ons_value_id x = add_input(n.s, "x", SHAPE(rows, COLUMNS)), sum;
    ons_value_id weights[] = {add_parameter(n.s, "p", SHAPE(COLUMNS)), add_parameter(n.s, "w", SHAPE(COLUMNS, 2))};
    sum = apply2(n.s, "Mul", x, weights[0]);
    n.normal =
        strcmp(function, "LayerNormalization") == 0
            ? apply2(n.s, function, sum, add_parameter(n.s, "scale", SHAPE(COLUMNS)))
            : ons_build(&n.s->builder, ons_registry_find(n.s->registry, "", function, 28), ONS_IN(sum), ONS_DEFAULTS);
    n.y = apply2(n.s, "MatMul", n.normal, weights[1]);
    n.product = ons_graph_value(n.s->graph, n.y)->producer;
    ons_type type = ons_graph_value(n.s->graph, n.y)->type;
    ons_value_id cotangent;
    ons_parameter_gradient gradients[2];
    must(ons_graph_add_value(n.s->graph, "dy", ONS_INPUT, &type, &cotangent));
    cr_assert(ons_vector_push(&n.s->graph->inputs, cotangent));
    must(ons_differentiate(n.s->graph, n.s->registry, n.y, cotangent, weights, 2, NULL, gradients));
    for (int i = 0; i < 2; ++i) add_output(n.s, gradients[i].uses[0]);
    return n;
}

static network open_network(int64_t rows) { return open_network_with("LayerNormalization", rows); }

static uint32_t count_again(const network *n, ons_cut_decision *first) {
    ons_arena *arena = ons_arena_new();
    ons_cut_decision *decisions;
    uint32_t count;
    must(ons_find_cheap_again(n->s->graph, arena, &decisions, &count));
    if (count > 0) *first = decisions[0];
    ons_arena_free(arena);
    return count;
}

Test(cheap_again, norms_whose_operand_is_kept) {
    network n = open_network(64);
    ons_cut_decision decision;
    cr_assert_eq(count_again(&n, &decision), 1);
    cr_expect_eq(decision.eviction, ONS_EVICTION_RECOMPUTE);
    cr_expect_eq(decision.value, n.normal);
    cr_expect_eq(decision.in_before, n.product);
    scene_close(n.s);
}

Test(cheap_again, activation_functions) {
    static const char *const functions[] = {"Gelu", "Swish", "Relu"};
    for (int i = 0; i < 3; ++i) {
        network n = open_network_with(functions[i], 64);
        ons_cut_decision decision;
        /* Relu's gradient reads its result, not its operand. */
        cr_expect_eq(count_again(&n, &decision), i < 2, "%s", functions[i]);
        scene_close(n.s);
    }
}

Test(cheap_again, what_the_gradient_can_hand_back_is_not_computed_by_itself) {
    network n = open_network_with("Gelu", 64);
    ons_cut_decision decision = {.by = ONS_NONE};
    cr_assert_eq(count_again(&n, &decision), 1);
    cr_expect_eq(decision.eviction, ONS_EVICTION_HAND_BACK);
    cr_assert_neq(decision.by, ONS_NONE);
    cr_expect_str_eq(ons_graph_node(n.s->graph, decision.by)->op->name, "GeluGradient");
    scene_close(n.s);
}

/* Gradients of `y` by the weights become the graph's outputs. */
static network differentiate(scene *s, ons_value_id y, const ons_value_id *weights, uint32_t count) {
    ons_type type = ons_graph_value(s->graph, y)->type;
    ons_parameter_gradient gradients[4];
    ons_value_id cotangent;
    must(ons_graph_add_value(s->graph, "dy", ONS_INPUT, &type, &cotangent));
    cr_assert(ons_vector_push(&s->graph->inputs, cotangent));
    must(ons_differentiate(s->graph, s->registry, y, cotangent, weights, count, NULL, gradients));
    for (uint32_t i = 0; i < count; ++i) add_output(s, gradients[i].uses[0]);
    return (network){.s = s};
}

static ons_value_id gelu_of(scene *s, ons_value_id x) {
    return ons_build(&s->builder, ons_registry_find(s->registry, "", "Gelu", 28), ONS_IN(x), ONS_DEFAULTS);
}

static uint32_t count_handed_back(const network *n, uint32_t *all) {
    ons_arena *arena = ons_arena_new();
    ons_cut_decision *decisions;
    uint32_t handed = 0;
    must(ons_find_cheap_again(n->s->graph, arena, &decisions, all));
    for (uint32_t i = 0; i < *all; ++i) handed += decisions[i].eviction == ONS_EVICTION_HAND_BACK;
    ons_arena_free(arena);
    return handed;
}

/* The gradient of either reads the other's result: only one of them can come first. */
Test(cheap_again, of_two_results_that_wait_for_each_other_one_is_handed_back) {
    scene *s = scene_open();
    ons_value_id x = add_input(s, "x", SHAPE(64, COLUMNS));
    const ons_value_id weights[] = {add_parameter(s, "p", SHAPE(COLUMNS)), add_parameter(s, "q", SHAPE(COLUMNS))};
    ons_value_id left = gelu_of(s, apply2(s, "Mul", x, weights[0])),
                 right = gelu_of(s, apply2(s, "Mul", x, weights[1]));
    network n = differentiate(s, apply2(s, "Mul", left, right), weights, 2);
    uint32_t all;
    cr_expect_eq(count_handed_back(&n, &all), 1u);
    cr_expect_eq(all, 2u);
    scene_close(s);
}

/* Gradients of all its readers would wait for the last. */
Test(cheap_again, what_several_layers_read_is_not_handed_back) {
    scene *s = scene_open();
    ons_value_id x = add_input(s, "x", SHAPE(64, COLUMNS));
    const ons_value_id weights[] = {add_parameter(s, "p", SHAPE(COLUMNS)), add_parameter(s, "w", SHAPE(COLUMNS, 2)),
                                    add_parameter(s, "v", SHAPE(COLUMNS, 2))};
    ons_value_id gelu = gelu_of(s, apply2(s, "Mul", x, weights[0]));
    ons_value_id y = apply2(s, "Mul", apply2(s, "MatMul", gelu, weights[1]), apply2(s, "MatMul", gelu, weights[2]));
    network n = differentiate(s, y, weights, 3);
    uint32_t all;
    cr_expect_eq(count_handed_back(&n, &all), 0u);
    cr_expect_eq(all, 1u);
    scene_close(s);
}

/* The gradient of the sine reads what it is the sine of, and Gelu's waits for that. */
Test(cheap_again, a_gradient_that_needs_the_result_cannot_hand_it_back) {
    scene *s = scene_open();
    ons_value_id x = add_input(s, "x", SHAPE(64, COLUMNS)), p = add_parameter(s, "p", SHAPE(COLUMNS));
    ons_value_id gelu = gelu_of(s, apply2(s, "Mul", x, p));
    network n = differentiate(s, apply1(s, "Sin", gelu), &p, 1);
    uint32_t all;
    cr_expect_eq(count_handed_back(&n, &all), 0u);
    cr_expect_eq(all, 1u);
    scene_close(s);
}

Test(cheap_again, small_values_stay) {
    network n = open_network(63);
    ons_cut_decision decision;
    cr_expect_eq(count_again(&n, &decision), 0);
    scene_close(n.s);
}

Test(cheap_again, what_the_host_reads_stays) {
    network n = open_network(64);
    ons_cut_decision decision;
    add_output(n.s, n.normal);
    cr_expect_eq(count_again(&n, &decision), 0);
    scene_close(n.s);
}

/* While training, with the statistics of the batch; what is added is ONS_NONE or another value. */
static ons_value_id normalise(scene *s, ons_value_id x, ons_value_id added) {
    static const char *const names[] = {"scale", "bias", "mean", "variance"};
    ons_value_id inputs[6] = {x}, made[6];
    for (int i = 0; i < 4; ++i) inputs[1 + i] = add_parameter(s, names[i], SHAPE(COLUMNS));
    inputs[5] = added;
    ons_build_node(&s->builder, ons_registry_find_name(s->registry, "onstage", "BatchNormalizationTraining"),
                   (ons_inputs){inputs, added == ONS_NONE ? 5 : 6}, ONS_DEFAULTS, 6,
                   (const bool[6]){true, true, true, true, true}, made);
    ons_graph_value(s->graph, made[1])->pair = inputs[3];
    ons_graph_value(s->graph, made[2])->pair = inputs[4];
    return made[0];
}

/* The second adds the first's result, which would have to be made again before it; the third adds that of the second,
 * which is there. */
Test(cheap_again, normalisations_that_add_up_are_made_again_by_turns) {
    scene *s = scene_open();
    ons_value_id w = add_parameter(s, "w", SHAPE(COLUMNS, COLUMNS)), normal[3];
    ons_value_id x = add_input(s, "x", SHAPE(64, COLUMNS)), cotangent;
    for (int i = 0; i < 3; ++i)
        x = normal[i] = normalise(s, apply2(s, "MatMul", x, w), i == 0 ? ONS_NONE : normal[i - 1]);
    ons_value_id y = apply2(s, "MatMul", x, w);
    ons_type type = ons_graph_value(s->graph, y)->type;
    ons_parameter_gradient gradient;
    must(ons_graph_add_value(s->graph, "dy", ONS_INPUT, &type, &cotangent));
    cr_assert(ons_vector_push(&s->graph->inputs, cotangent));
    must(ons_differentiate(s->graph, s->registry, y, cotangent, &w, 1, NULL, &gradient));
    add_output(s, gradient.uses[0]);

    ons_arena *arena = ons_arena_new();
    ons_cut_decision *decisions;
    uint32_t count;
    must(ons_find_cheap_again(s->graph, arena, &decisions, &count));
    cr_assert_eq(count, 2);
    cr_expect_eq(decisions[0].value, normal[0]);
    cr_expect_eq(decisions[1].value, normal[2]);
    ons_arena_free(arena);
    scene_close(s);
}
