/* Half weights that updates write: which casts go, what stands in their place, and when an update may run. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "graph/operator.h"
#include "graph/passes/autograd.h"
#include "graph/passes/half_weights.h"
#include "graph/passes/precision.h"
#include "graph/passes/prune.h"
#include "graph/passes/update.h"
#include "graph/passes/update_in_backward.h"
#include "tests/rooms/graph/fixture.h"

static ons_node_id find_node(const scene *s, const char *name) {
    ons_node_id id = ons_graph_find_node(s->graph, name);
    cr_assert_neq(id, (ons_node_id)ONS_NONE, "there is no node '%s'", name);
    return id;
}

/* sum((x w) v) in a half type or in float32, trained: two weights of two products each way. `trained`: how many of w
 * and v. */
static scene *open_network_in(ons_dtype dtype, ons_role optimizer, uint32_t trained, bool several) {
    scene *s = scene_open();
    ons_value_id x = add_input(s, "x", SHAPE(4, 8));
    ons_value_id weights[] = {add_parameter(s, "w", SHAPE(8, 8)), add_parameter(s, "v", SHAPE(8, 8))};
    ons_value_id product = apply2(s, "MatMul", apply2(s, "MatMul", x, weights[0]), weights[1]);
    ons_value_id loss = apply1(s, "ReduceMean", product);
    add_output(s, loss);
    ons_value_id ids[] = {weights[0], weights[1], loss};
    ons_tracked_values tracked = {ids, 3};
    if (dtype != ONS_FLOAT32)
        must(ons_lower_precision(s->graph, s->registry, dtype, &tracked, &(ons_precision_table){0}));
    ons_parameter_gradient gradients[2];
    must(ons_differentiate(s->graph, s->registry, ids[2], ONS_NONE, ids, trained, NULL, gradients));
    ons_update_result update;
    must(ons_attach_update(s->graph, s->registry, gradients, trained,
                           &(ons_optimizer_options){.role = optimizer, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8},
                           several, &update));
    must(ons_share_weight_casts(s->graph, s->registry));
    return s;
}

static scene *open_network(ons_role optimizer, uint32_t trained, bool several) {
    return open_network_in(ONS_BFLOAT16, optimizer, trained, several);
}

static void keep_like(scene *s, const ons_graph *like) {
    must(ons_keep_half_weights(s->graph, s->registry, like));
    must(ons_graph_verify(s->graph));
    must(ons_prune(s->graph, NULL, NULL));
    must(ons_graph_verify(s->graph));
}

static void keep(scene *s) { keep_like(s, NULL); }

/* Nodes that cast a weight. */
static size_t count_casts(const scene *s) {
    size_t count = 0;
    for (size_t i = 0; i < s->graph->nodes.count; ++i) {
        const ons_node *node = &s->graph->nodes.items[i];
        count +=
            strcmp(node->op->name, "Cast") == 0 && ons_graph_value(s->graph, node->inputs[0])->kind == ONS_PARAMETER;
    }
    return count;
}

/* The update of a weight writes what its readers read, in its place. */
static void expect_half(const scene *s, const char *update, const char *weight) {
    const ons_node *node = ons_graph_node(s->graph, find_node(s, update));
    ons_value_id half = ons_update_half_of(node);
    cr_assert_neq(half, (ons_value_id)ONS_NONE, "%s writes no half weight", update);
    const ons_value *old = ons_graph_value(s->graph, half);
    ons_value_id next = node->outputs[ons_update_half_output(node->op)];
    cr_expect_str_eq(ons_graph_value(s->graph, node->inputs[ONS_UPDATE_PARAMETER])->name, weight);
    cr_expect(old->kind == ONS_PARAMETER && old->producer == ONS_NONE && old->data == ONS_NO_DATA);
    cr_expect_eq(old->type.dtype, ONS_BFLOAT16);
    cr_expect_eq(ons_graph_value(s->graph, next)->pair, half);
    size_t readers = 0;
    for (size_t i = 0; i < s->graph->nodes.count; ++i)
        for (uint32_t k = 0; k < s->graph->nodes.items[i].input_count; ++k)
            readers += s->graph->nodes.items[i].inputs[k] == half;
    cr_expect_geq(readers, 2, "%zu nodes read '%s'", readers, old->name);
}

Test(half_weights, every_optimizer_writes_them) {
    for (ons_role role = ONS_ROLE_SGD; role <= ONS_ROLE_RMSPROP; ++role)
        for (int several = 0; several < 2; ++several) {
            scene *s = open_network(role, 2, several == 1);
            cr_expect_eq(count_casts(s), 2);
            keep(s);
            cr_expect_eq(count_casts(s), 0);
            expect_half(s, "w/update", "w");
            expect_half(s, "v/update", "v");
            scene_close(s);
        }
}

Test(half_weights, what_is_not_trained_is_cast) {
    scene *s = open_network(ONS_ROLE_ADAMW, 1, false);
    keep(s);
    cr_expect_eq(count_casts(s), 1, "v's");
    expect_half(s, "w/update", "w");
    scene_close(s);
}

Test(half_weights, what_the_host_reads_is_cast) {
    scene *s = open_network(ONS_ROLE_ADAMW, 2, false);
    for (ons_node_id id = 0; id < s->graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(s->graph, id);
        if (strcmp(node->op->name, "Cast") != 0 || node->inputs[0] != ons_graph_find_value(s->graph, "w")) continue;
        add_output(s, node->outputs[0]);
        break;
    }
    keep(s);
    cr_expect_eq(count_casts(s), 1);
    expect_half(s, "v/update", "v");
    scene_close(s);
}

/* The gradient of the first product's result reads v, so v's update waits for it, though v's gradient is there before.
 */
Test(half_weights, an_update_waits_for_the_last_reader) {
    scene *s = open_network(ONS_ROLE_ADAMW, 2, false);
    keep(s);
    ons_arena *arena = ons_arena_new();
    ons_node_id *after, update = find_node(s, "v/update"), last = ONS_NONE;
    must(ons_find_updates_in_backward(s->graph, arena, &after));
    ons_value_id half = ons_update_half_of(ons_graph_node(s->graph, update));
    for (ons_node_id id = 0; id < s->graph->nodes.count; ++id)
        for (uint32_t k = 0; k < ons_graph_node(s->graph, id)->input_count && id != update; ++k)
            if (ons_graph_node(s->graph, id)->inputs[k] == half) last = id;
    cr_assert_neq(last, (ons_node_id)ONS_NONE);
    cr_expect_neq(ons_graph_node(s->graph, last)->phase, ONS_FORWARD, "this test tries nothing");
    cr_assert_neq(after[update], (ons_node_id)ONS_NONE, "it can run before the end of the backward part");
    cr_expect_geq(after[update], last);
    ons_arena_free(arena);
    scene_close(s);
}

/* Graphs of one training may cast different weights (a class token is repeated for several samples, and is not for
 * one). A half that one of them reads has to be right whoever made the last update. */
Test(half_weights, what_the_first_graph_casts_goes_for_all) {
    scene *first = open_network(ONS_ROLE_ADAMW, 1, false), *more = open_network(ONS_ROLE_ADAMW, 2, false);
    scene *none = open_network_in(ONS_FLOAT32, ONS_ROLE_ADAMW, 2, false);
    keep(first);
    keep_like(more, first->graph);
    cr_expect_eq(count_casts(more), 1, "v's");
    expect_half(more, "w/update", "w");
    cr_expect_eq(ons_update_half_of(ons_graph_node(more->graph, find_node(more, "v/update"))), (ons_value_id)ONS_NONE);
    keep_like(none, more->graph);
    const ons_node *update = ons_graph_node(none->graph, find_node(none, "w/update"));
    cr_assert_neq(ons_update_half_of(update), (ons_value_id)ONS_NONE, "nobody reads it here, but others do");
    cr_expect_eq(ons_graph_value(none->graph, ons_update_half_of(update))->type.dtype, ONS_BFLOAT16);
    scene_close(first);
    scene_close(more);
    scene_close(none);
}

/* A second run of the pass finds nothing to do. */
Test(half_weights, once) {
    scene *s = open_network(ONS_ROLE_SGD, 2, false);
    keep(s);
    char *once, *twice;
    must(ons_graph_print(s->graph, &once));
    must(ons_keep_half_weights(s->graph, s->registry, NULL));
    must(ons_graph_print(s->graph, &twice));
    cr_expect_str_eq(twice, once);
    free(once);
    free(twice);
    scene_close(s);
}
