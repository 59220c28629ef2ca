/* Pruning keeps what outputs and states need, puts nodes into a given order and renumbers what the caller holds. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "graph/operator.h"
#include "graph/passes/autograd.h"
#include "graph/passes/prune.h"
#include "tests/rooms/graph/fixture.h"

static void expect_text(const scene *s, const char *should) {
    must(ons_graph_verify(s->graph));
    char *text;
    must(ons_graph_print(s->graph, &text));
    cr_assert_str_eq(text, should, "the graph is\n%s", text);
    free(text);
}

static void rename_value(scene *s, ons_value_id id, const char *name) { ons_graph_value(s->graph, id)->name = name; }

Test(prune, drops_what_nobody_needs) {
    scene *s = scene_open();
    ons_value_id x = add_input(s, "x", SHAPE(2));
    ons_value_id unused_input = add_input(s, "y", SHAPE(2));
    ons_value_id unused_weight = add_parameter(s, "v", SHAPE(2)), held_weight = add_parameter(s, "u", SHAPE(2));
    ons_value_id dead = apply2(s, "Mul", x, unused_weight), deader = apply1(s, "Exp", dead);
    ons_value_id out = apply1(s, "Relu", x);
    rename_value(s, out, "out");
    add_output(s, out);
    ons_value_id ids[] = {x, unused_input, unused_weight, held_weight, deader, out};
    must(ons_prune(s->graph, NULL, &(ons_tracked_values){ids, sizeof ids / sizeof ids[0]}));
    expect_text(s, "graph test {\n"
                   "  input x : float32[2]\n"
                   "  input y : float32[2]\n"
                   "  parameter v : float32[2]\n"
                   "  parameter u : float32[2]\n"
                   "  out = Relu(x) : float32[2] @forward\n"
                   "  return out\n"
                   "}\n");
    cr_assert_eq(ids[4], ONS_NONE);
    cr_assert_eq(ons_graph_find_value(s->graph, "u"), ids[3]);
    cr_assert_eq(ons_graph_find_value(s->graph, "x"), ids[0]);
    cr_assert_eq(s->graph->outputs.items[0], ids[5]);
    cr_assert_eq(ons_graph_value(s->graph, ids[5])->producer, 0);
    scene_close(s);
}

Test(prune, a_weight_that_nobody_holds_goes) {
    scene *s = scene_open();
    ons_value_id x = add_input(s, "x", SHAPE(2));
    add_parameter(s, "v", SHAPE(2));
    add_output(s, apply1(s, "Relu", x));
    must(ons_prune(s->graph, NULL, NULL));
    cr_assert_eq(ons_graph_find_value(s->graph, "v"), ONS_NONE);
    cr_assert_eq(s->graph->values.count, 2);
    scene_close(s);
}

/* Two chains that do not depend on each other, in another order. */
Test(prune, puts_nodes_in_order) {
    scene *s = scene_open();
    ons_value_id x = add_input(s, "x", SHAPE(2));
    ons_value_id a = apply1(s, "Relu", x), b = apply1(s, "Exp", a), c = apply1(s, "Tanh", x),
                 dead = apply1(s, "Neg", c);
    ons_value_id d = apply2(s, "Add", b, c);
    (void)dead;
    rename_value(s, a, "a"), rename_value(s, b, "b"), rename_value(s, c, "c"), rename_value(s, d, "d");
    add_output(s, d);
    const ons_node_id order[] = {2, 3, 0, 1, 4};
    must(ons_prune(s->graph, order, &(ons_tracked_values){&d, 1}));
    expect_text(s, "graph test {\n"
                   "  input x : float32[2]\n"
                   "  c = Tanh(x) : float32[2] @forward\n"
                   "  a = Relu(x) : float32[2] @forward\n"
                   "  b = Exp(a) : float32[2] @forward\n"
                   "  d = Add(b, c) : float32[2] @forward\n"
                   "  return d\n"
                   "}\n");
    for (ons_node_id id = 0; id < s->graph->nodes.count; ++id)
        cr_assert_eq(ons_graph_node(s->graph, id)->origin, id, "the origin moves with the node");
    cr_assert_eq(ons_graph_value(s->graph, d)->producer, 3);
    scene_close(s);
}

/* What replaces a state matters though no output depends on it. */
Test(prune, keeps_new_states) {
    scene *s = scene_open();
    ons_value_id x = add_input(s, "x", SHAPE(2));
    ons_type type = ons_type_make(ONS_FLOAT32, SHAPE(2));
    ons_value_id state;
    must(ons_graph_add_value(s->graph, "state", ONS_STATE, &type, &state));
    ons_value_id fresh = apply2(s, "Add", state, x), out = apply1(s, "Relu", x);
    ons_graph_value(s->graph, fresh)->pair = state;
    ons_graph_value(s->graph, fresh)->kind = ONS_STATE;
    add_output(s, out);
    ons_value_id ids[] = {state, fresh};
    must(ons_prune(s->graph, NULL, &(ons_tracked_values){ids, 2}));
    cr_assert_eq(count_nodes(s->graph, "Add"), 1);
    cr_assert_eq(ons_graph_value(s->graph, ids[1])->pair, ids[0]);
    scene_close(s);
}

/* The gradient of a recurrent layer makes all that is wanted in its first output, which nobody reads. */
Test(prune, where_a_node_works_stays) {
    enum { HIDDEN_SIZE = 5 };
    scene *s = scene_open();
    ons_value_id x = add_input(s, "x", SHAPE(3, 2, 4)), w = add_parameter(s, "w", SHAPE(1, 20, 4));
    ons_value_id r = add_parameter(s, "r", SHAPE(1, 20, 5)), made[4], cotangent;
    ons_build_node(&s->builder, find_operator(s, "LSTM"), ONS_IN(x, w, r), ONS_WITH(ONS_AT_INT(HIDDEN_SIZE, 5)), 4,
                   (const bool[4]){true, false, false, true}, made);
    ons_type type = ons_graph_value(s->graph, made[0])->type;
    must(ons_graph_add_value(s->graph, "dy", ONS_INPUT, &type, &cotangent));
    cr_assert(ons_vector_push(&s->graph->inputs, cotangent));
    ons_parameter_gradient gradient;
    must(ons_differentiate(s->graph, s->registry, made[0], cotangent, &w, 1, NULL, &gradient));
    add_output(s, gradient.uses[0]);
    must(ons_prune(s->graph, NULL, NULL));
    must(ons_graph_verify(s->graph));
    const ons_node *node = ons_graph_node(s->graph, ons_graph_value(s->graph, s->graph->outputs.items[0])->producer);
    cr_assert_str_eq(node->op->name, "RecurrentGradient");
    cr_expect_neq(node->outputs[0], (ons_value_id)ONS_NONE);
    cr_expect_eq(node->outputs[1], (ons_value_id)ONS_NONE, "the gradient of x");
    scene_close(s);
}
