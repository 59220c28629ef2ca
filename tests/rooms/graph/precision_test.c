/* What computes in which type, and where casts are put. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "graph/operator.h"
#include "graph/passes/precision.h"
#include "tests/rooms/graph/fixture.h"

static ons_dtype type_of(const scene *s, ons_value_id value) { return ons_graph_value(s->graph, value)->type.dtype; }

/* The node that makes `value`. */
static const ons_node *maker(const scene *s, ons_value_id value) {
    return ons_graph_node(s->graph, ons_graph_value(s->graph, value)->producer);
}

static const ons_node *only(const scene *s, const char *op) {
    const ons_node *found = NULL;
    for (size_t i = 0; i < s->graph->nodes.count; ++i)
        if (strcmp(s->graph->nodes.items[i].op->name, op) == 0) {
            cr_assert_null(found, "two nodes are %s", op);
            found = &s->graph->nodes.items[i];
        }
    cr_assert_not_null(found, "no node is %s", op);
    return found;
}

static ons_precision_table lower(scene *s, ons_dtype low, ons_tracked_values *tracked) {
    ons_precision_table table;
    must(ons_lower_precision(s->graph, s->registry, low, tracked, &table));
    must(ons_graph_verify(s->graph));
    return table;
}

/* exp(softmax(x w + b)), an output; the product of it by w, another. */
Test(precision, classes_decide) {
    scene *s = scene_open();
    ons_value_id x = add_input(s, "x", SHAPE(4, 8)), w = add_parameter(s, "w", SHAPE(8, 8));
    ons_value_id b = add_parameter(s, "b", SHAPE(8));
    ons_value_id added = apply2(s, "Add", apply2(s, "MatMul", x, w), b);
    ons_value_id exponential = apply1(s, "Exp", apply1(s, "Softmax", added));
    add_output(s, exponential);
    add_output(s, apply2(s, "MatMul", exponential, w));
    ons_precision_table table = lower(s, ONS_BFLOAT16, NULL);
    cr_expect_eq(type_of(s, only(s, "Add")->outputs[0]), ONS_BFLOAT16, "it follows the product");
    cr_expect_eq(type_of(s, only(s, "Softmax")->outputs[0]), ONS_BFLOAT16);
    cr_expect_eq(type_of(s, only(s, "Exp")->inputs[0]), ONS_FLOAT32);
    for (size_t i = 0; i < s->graph->outputs.count; ++i)
        cr_expect_eq(type_of(s, s->graph->outputs.items[i]), ONS_FLOAT32, "output %zu", i);
    cr_expect_eq(table.weight_casts, 3, "w twice, for a gradient of each use, and b");
    cr_expect_eq(table.casts, 7, "and x, the softmax, the exponential, the second output");
    cr_expect_eq(count_nodes(s->graph, "Cast"), 7);
    scene_close(s);
}

Test(precision, elementwise_operators_of_float32_stay) {
    scene *s = scene_open();
    ons_value_id x = add_input(s, "x", SHAPE(4, 8)), w = add_parameter(s, "w", SHAPE(8));
    add_output(s, apply2(s, "Mul", x, w));
    ons_precision_table table = lower(s, ONS_FLOAT16, NULL);
    cr_expect_eq(table.casts, 0);
    cr_expect_eq(table.count, 1);
    cr_expect(table.rows[0].low == 0 && table.rows[0].full == 1);
    scene_close(s);
}

/* Its reader in float32 takes what the low value was cast from, and not that cast back. */
Test(precision, nothing_is_cast_to_and_fro) {
    scene *s = scene_open();
    ons_value_id x = add_input(s, "x", SHAPE(4, 4));
    ons_value_id e = apply1(s, "Exp", x);
    ons_value_id product = apply2(s, "MatMul", e, e);
    add_output(s, apply2(s, "MatMul", product, product));
    add_output(s, apply1(s, "Log", e));
    lower(s, ONS_BFLOAT16, NULL);
    cr_expect_eq(count_nodes(s->graph, "Cast"), 2, "the exponential once for both operands, and an output");
    cr_expect_str_eq(maker(s, only(s, "Log")->inputs[0])->op->name, "Exp");
    scene_close(s);
}

Test(precision, constants_stay_finite) {
    scene *s = scene_open();
    ons_value_id x = add_input(s, "x", SHAPE(2, 2));
    ons_value_id mask = ons_build_scalar(&s->builder, ONS_FLOAT32, -3.4e38);
    ons_value_id infinite = ons_build_scalar(&s->builder, ONS_FLOAT32, -INFINITY);
    add_output(s, apply2(s, "Add", apply2(s, "Add", apply2(s, "MatMul", x, x), mask), infinite));
    lower(s, ONS_FLOAT16, NULL);
    int finite = 0, infinities = 0;
    for (ons_value_id id = 0; id < s->graph->values.count; ++id) {
        const ons_tensor *known = ons_graph_constant(s->graph, id);
        if (known == NULL) continue;
        cr_assert_eq(known->type.dtype, ONS_FLOAT16);
        finite += *(const uint16_t *)known->data == 0xfbff; /* -65504 */
        infinities += *(const uint16_t *)known->data == 0xfc00;
    }
    cr_expect(finite == 1 && infinities == 1, "%d finite, %d infinite", finite, infinities);
    scene_close(s);
}

Test(precision, what_is_tracked_keeps_its_type) {
    scene *s = scene_open();
    ons_value_id x = add_input(s, "x", SHAPE(2, 2));
    ons_value_id tracked = apply2(s, "MatMul", x, x);
    add_output(s, apply1(s, "Exp", x));
    lower(s, ONS_BFLOAT16, &(ons_tracked_values){&tracked, 1});
    cr_assert_neq(tracked, ONS_NONE);
    cr_expect_eq(type_of(s, tracked), ONS_FLOAT32);
    cr_expect_eq(s->graph->outputs.count, 1);
    scene_close(s);
}

Test(precision, casts_of_a_weight_are_shared) {
    scene *s = scene_open();
    ons_value_id x = add_input(s, "x", SHAPE(4, 8)), w = add_parameter(s, "w", SHAPE(8, 8));
    add_output(s, apply2(s, "MatMul", apply2(s, "MatMul", x, w), w));
    lower(s, ONS_BFLOAT16, NULL);
    must(ons_share_weight_casts(s->graph, s->registry));
    must(ons_graph_verify(s->graph));
    ons_value_id read = ONS_NONE;
    for (size_t i = 0; i < s->graph->nodes.count; ++i) {
        const ons_node *node = &s->graph->nodes.items[i];
        if (strcmp(node->op->name, "MatMul") != 0) continue;
        cr_expect(read == ONS_NONE || read == node->inputs[1]);
        read = node->inputs[1];
        cr_expect(maker(s, read)->per_step);
    }
    scene_close(s);
}
