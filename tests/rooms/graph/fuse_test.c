/* Matching of patterns: either way round where an operator commutes, and only where nobody else needs an inner result.
 * The patterns themselves are tested with their operators. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "graph/passes/fuse.h"
#include "tests/rooms/graph/fixture.h"

static void fuse(scene *s) {
    must(ons_fuse(&s->graph, s->registry));
    must(ons_graph_verify(s->graph));
}

/* x · w + b, with the bias first or last. */
static scene *linear(bool bias_first, ons_value_id *product) {
    scene *s = scene_open();
    ons_value_id x = add_input(s, "x", SHAPE(2, 3)), w = add_parameter(s, "w", SHAPE(3, 4)),
                 b = add_parameter(s, "b", SHAPE(4));
    *product = apply2(s, "MatMul", x, w);
    ons_value_id y = bias_first ? apply2(s, "Add", b, *product) : apply2(s, "Add", *product, b);
    ons_graph_value(s->graph, y)->name = "y";
    add_output(s, y);
    return s;
}

Test(fuse, either_way_round) {
    for (int bias_first = 0; bias_first < 2; ++bias_first) {
        ons_value_id product;
        scene *s = linear(bias_first, &product);
        fuse(s);
        cr_assert_eq(s->graph->nodes.count, 1, "bias first: %d", bias_first);
        cr_assert_eq(count_nodes(s->graph, "MatMul") + count_nodes(s->graph, "Add"), 0);
        cr_assert_str_eq(ons_graph_value(s->graph, s->graph->outputs.items[0])->name, "y", "the output keeps its name");
        cr_assert_neq(ons_graph_find_value(s->graph, "w"), ONS_NONE);
        cr_assert_neq(ons_graph_find_value(s->graph, "b"), ONS_NONE);
        scene_close(s);
    }
}

/* MatMul does not commute: w · x + b is another product. */
Test(fuse, operands_of_matmul_stay) {
    scene *s = scene_open();
    ons_value_id x = add_input(s, "x", SHAPE(3, 3)), w = add_parameter(s, "w", SHAPE(3, 3)),
                 b = add_parameter(s, "b", SHAPE(3));
    add_output(s, apply2(s, "Add", apply2(s, "MatMul", w, x), b));
    fuse(s);
    const ons_node *node = ons_graph_node(s->graph, 0);
    cr_assert_eq(node->inputs[0], ons_graph_find_value(s->graph, "w"));
    cr_assert_eq(node->inputs[1], ons_graph_find_value(s->graph, "x"));
    scene_close(s);
}

Test(fuse, inner_result_with_another_reader) {
    ons_value_id product;
    scene *s = linear(false, &product);
    add_output(s, apply1(s, "Exp", product));
    fuse(s);
    cr_assert_eq(count_nodes(s->graph, "MatMul"), 1);
    cr_assert_eq(count_nodes(s->graph, "Add"), 1);
    scene_close(s);
}

Test(fuse, inner_result_that_is_an_output) {
    ons_value_id product;
    scene *s = linear(true, &product);
    add_output(s, product);
    fuse(s);
    cr_assert_eq(count_nodes(s->graph, "MatMul"), 1);
    cr_assert_eq(count_nodes(s->graph, "Add"), 1);
    scene_close(s);
}

/* x/√2 · … with the constants and factors in different places: all are the one Gelu. */
static ons_value_id build_gelu(scene *s, ons_value_id x, int spelling) {
    ons_builder *b = &s->builder;
    ons_value_id root = ons_build_scalar(b, ONS_FLOAT32, 1.4142135623730951), one = ons_build_scalar(b, ONS_FLOAT32, 1),
                 half = ons_build_scalar(b, ONS_FLOAT32, 0.5);
    ons_value_id erf = apply1(s, "Erf", apply2(s, "Div", x, root));
    ons_value_id sum = spelling & 1 ? apply2(s, "Add", one, erf) : apply2(s, "Add", erf, one);
    if (spelling & 4)
        return spelling & 2 ? apply2(s, "Mul", half, apply2(s, "Mul", sum, x))
                            : apply2(s, "Mul", apply2(s, "Mul", x, sum), half);
    ons_value_id halved = spelling & 2 ? apply2(s, "Mul", half, x) : apply2(s, "Mul", x, half);
    return apply2(s, "Mul", halved, sum);
}

Test(fuse, captures_and_constants) {
    for (int spelling = 0; spelling < 8; ++spelling) {
        scene *s = scene_open();
        add_output(s, build_gelu(s, add_input(s, "x", SHAPE(4)), spelling));
        fuse(s);
        cr_assert_eq(count_nodes(s->graph, "Gelu"), 1, "spelling %d", spelling);
        cr_assert_eq(s->graph->nodes.count, 1, "spelling %d", spelling);
        scene_close(s);
    }
}

/* A word that a pattern has twice stands for one value: a · (1 + erf(b/√2)) · 0.5 is no Gelu. Neither is a constant a
 * little off. */
Test(fuse, captures_must_agree) {
    scene *s = scene_open();
    ons_value_id a = add_input(s, "a", SHAPE(4)), c = add_input(s, "c", SHAPE(4));
    ons_builder *b = &s->builder;
    ons_value_id erf = apply1(s, "Erf", apply2(s, "Div", c, ons_build_scalar(b, ONS_FLOAT32, 1.4142135623730951)));
    ons_value_id sum = apply2(s, "Add", erf, ons_build_scalar(b, ONS_FLOAT32, 1));
    add_output(s, apply2(s, "Mul", apply2(s, "Mul", a, sum), ons_build_scalar(b, ONS_FLOAT32, 0.5)));
    fuse(s);
    cr_assert_eq(count_nodes(s->graph, "Gelu"), 0);
    scene_close(s);

    s = scene_open();
    a = add_input(s, "a", SHAPE(4));
    b = &s->builder;
    erf = apply1(s, "Erf", apply2(s, "Div", a, ons_build_scalar(b, ONS_FLOAT32, 1.42)));
    sum = apply2(s, "Add", erf, ons_build_scalar(b, ONS_FLOAT32, 1));
    add_output(s, apply2(s, "Mul", apply2(s, "Mul", a, sum), ons_build_scalar(b, ONS_FLOAT32, 0.5)));
    fuse(s);
    cr_assert_eq(count_nodes(s->graph, "Gelu"), 0);
    scene_close(s);
}

/* Two matches in a row; the second reads what the first has replaced. */
Test(fuse, matches_follow_each_other) {
    scene *s = scene_open();
    ons_value_id h = add_input(s, "x", SHAPE(2, 4));
    for (int layer = 0; layer < 3; ++layer) {
        ons_value_id w = add_parameter(s, "w", SHAPE(4, 4)), b = add_parameter(s, "b", SHAPE(4));
        h = build_gelu(s, apply2(s, "Add", apply2(s, "MatMul", h, w), b), layer);
    }
    add_output(s, h);
    fuse(s);
    cr_assert_eq(count_nodes(s->graph, "Gelu"), 3);
    cr_assert_eq(s->graph->nodes.count, 6);
    scene_close(s);
}
