/* Float32 masters of half weights: which values change their type, what reads a cast, and what follows from it. */
#include <criterion/criterion.h>
#include <string.h>

#include "graph/operator.h"
#include "graph/passes/autograd.h"
#include "graph/passes/masters.h"
#include "graph/passes/precision.h"
#include "graph/passes/prune.h"
#include "graph/passes/update.h"
#include "tests/rooms/graph/fixture.h"

static ons_value *value_of(const scene *s, const char *name) {
    ons_value_id id = ons_graph_find_value(s->graph, name);
    cr_assert_neq(id, (ons_value_id)ONS_NONE, "there is no value '%s'", name);
    return ons_graph_value(s->graph, id);
}

/* A parameter that the file has in the half type. */
static ons_value_id add_half(scene *s, const char *name, ons_shape shape, ons_dtype dtype) {
    ons_type type = ons_type_make(dtype, shape);
    ons_value_id id = add_parameter(s, name, shape);
    ons_graph_value(s->graph, id)->type = type;
    must(ons_store_refer(&s->store, &type, NULL, &ons_graph_value(s->graph, id)->data));
    return id;
}

static ons_value_id cast_to(scene *s, ons_value_id value, ons_dtype dtype) {
    ons_value_id result =
        ons_build(&s->builder, find_operator(s, "Cast"), ONS_IN(value), ONS_WITH(ONS_AT_INT(0, dtype)));
    must(ons_builder_finish(&s->builder));
    return result;
}

enum { W, V, LOSS, TRACKED };

/* mean(w (w x) + v), of a half type until its end. */
static scene *open_network(ons_dtype dtype, ons_value_id ids[TRACKED]) {
    scene *s = scene_open();
    ons_value_id x = cast_to(s, add_input(s, "x", SHAPE(8, 8)), dtype);
    ids[W] = add_half(s, "w", SHAPE(8, 8), dtype);
    ids[V] = add_half(s, "v", SHAPE(8), dtype);
    ons_value_id product = apply2(s, "MatMul", ids[W], apply2(s, "MatMul", ids[W], x));
    ids[LOSS] = apply1(s, "ReduceMean", cast_to(s, apply2(s, "Add", product, ids[V]), ONS_FLOAT32));
    add_output(s, ids[LOSS]);
    return s;
}

static void hold(scene *s, ons_value_id ids[TRACKED], uint32_t count) {
    ons_tracked_values tracked = {ids, TRACKED};
    const ons_value_id masters[] = {ids[W], ids[V]};
    must(ons_hold_masters(s->graph, s->registry, masters, count, &tracked));
    must(ons_graph_verify(s->graph));
}

static size_t count_casts_of(const scene *s, const char *name) {
    size_t count = 0;
    for (size_t i = 0; i < s->graph->nodes.count; ++i) {
        const ons_node *node = &s->graph->nodes.items[i];
        count +=
            strcmp(node->op->name, "Cast") == 0 && strcmp(ons_graph_value(s->graph, node->inputs[0])->name, name) == 0;
    }
    return count;
}

static void train(scene *s, const ons_value_id ids[TRACKED], uint32_t count) {
    ons_parameter_gradient gradients[2];
    ons_update_result update;
    must(ons_differentiate(s->graph, s->registry, ids[LOSS], ONS_NONE, ids, count, NULL, gradients));
    must(ons_attach_update(s->graph, s->registry, gradients, count,
                           &(ons_optimizer_options){.role = ONS_ROLE_ADAM, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8},
                           true, &update));
    must(ons_graph_verify(s->graph));
}

Test(masters, a_master_is_float32_and_its_readers_read_the_half_type) {
    const ons_dtype dtypes[] = {ONS_FLOAT16, ONS_BFLOAT16};
    for (int i = 0; i < 2; ++i) {
        ons_value_id ids[TRACKED];
        scene *s = open_network(dtypes[i], ids);
        hold(s, ids, 2);
        cr_expect_eq(value_of(s, "w")->type.dtype, ONS_FLOAT32);
        cr_expect(ons_is_master(s->graph, value_of(s, "w")));
        cr_expect_eq(count_casts_of(s, "w"), 2, "each use has one, and so a gradient of its own");
        cr_expect_eq(count_casts_of(s, "v"), 1);
        cr_expect_eq(ids[W], ons_graph_find_value(s->graph, "w"));
        scene_close(s);
    }
}

Test(masters, gradients_states_and_sums_are_float32) {
    ons_value_id ids[TRACKED];
    scene *s = open_network(ONS_FLOAT16, ids);
    hold(s, ids, 2);
    train(s, ids, 2);
    const char *const states[] = {"w/exp_avg", "w/exp_avg_sq", "v/exp_avg", "w/accumulator_0", "w/accumulator_1"};
    for (size_t i = 0; i < sizeof states / sizeof *states; ++i)
        cr_expect_eq(value_of(s, states[i])->type.dtype, ONS_FLOAT32, "%s", states[i]);
    scene_close(s);
}

Test(masters, what_is_not_listed_keeps_its_type_and_has_no_cast) {
    ons_value_id ids[TRACKED];
    scene *s = open_network(ONS_BFLOAT16, ids);
    hold(s, ids, 1);
    train(s, ids, 1);
    cr_expect_eq(value_of(s, "v")->type.dtype, ONS_BFLOAT16);
    cr_expect_not(ons_is_master(s->graph, value_of(s, "v")));
    cr_expect_eq(count_casts_of(s, "v"), 0);
    cr_expect_eq(ons_graph_find_value(s->graph, "v/exp_avg"), (ons_value_id)ONS_NONE);
    scene_close(s);
}

Test(masters, casts_of_masters_are_joined_and_run_once_a_step) {
    ons_value_id ids[TRACKED];
    scene *s = open_network(ONS_FLOAT16, ids);
    hold(s, ids, 2);
    train(s, ids, 2);
    must(ons_share_master_casts(s->graph, s->registry));
    must(ons_prune(s->graph, NULL, NULL));
    cr_expect_eq(count_casts_of(s, "w"), 1);
    for (size_t i = 0; i < s->graph->nodes.count; ++i) {
        const ons_node *node = &s->graph->nodes.items[i];
        if (strcmp(node->op->name, "Cast") != 0 || node->phase != ONS_FORWARD) continue;
        bool of_master = ons_is_master(s->graph, ons_graph_value(s->graph, node->inputs[0]));
        cr_expect_eq(node->per_step, of_master, "%s", node->name);
    }
    scene_close(s);
}

Test(masters, a_weight_that_the_model_hands_out_has_its_own_type) {
    ons_value_id ids[TRACKED];
    scene *s = open_network(ONS_FLOAT16, ids);
    add_output(s, ids[V]);
    hold(s, ids, 2);
    cr_expect_eq(ons_graph_value(s->graph, s->graph->outputs.items[1])->type.dtype, ONS_FLOAT16);
    scene_close(s);
}

Test(masters, another_graph_of_the_training_has_the_same_masters) {
    ons_value_id ids[TRACKED], other_ids[TRACKED], found[TRACKED];
    uint32_t count = 0;
    scene *s = open_network(ONS_FLOAT16, ids), *other = open_network(ONS_FLOAT16, other_ids);
    hold(s, ids, 1);
    ons_list_masters_of(other->graph, s->graph, found, &count);
    cr_assert_eq(count, 1);
    cr_expect_eq(found[0], other_ids[W]);
    scene_close(s);
    scene_close(other);
}

Test(masters, statistics_that_a_node_moves_are_float32_without_a_cast) {
    scene *s = scene_open();
    ons_value_id values[5] = {cast_to(s, add_input(s, "x", SHAPE(4, 3)), ONS_FLOAT16)}, made[3], found[8];
    const char *const names[] = {NULL, "scale", "bias", "mean", "variance"};
    for (int i = 1; i < 5; ++i) values[i] = add_half(s, names[i], SHAPE(3), ONS_FLOAT16);
    for (int i = 3; i < 5; ++i) ons_graph_value(s->graph, values[i])->kind = ONS_BUFFER;
    ons_build_node(&s->builder, ons_registry_find_name(s->registry, "onstage", "BatchNormalizationTraining"),
                   (ons_inputs){values, 5}, ONS_DEFAULTS, 3, NULL, made);
    must(ons_builder_finish(&s->builder));
    for (int i = 0; i < 2; ++i) {
        ons_graph_value(s->graph, made[1 + i])->kind = ONS_BUFFER;
        ons_graph_value(s->graph, made[1 + i])->pair = values[3 + i];
    }
    add_output(s, made[0]);
    uint32_t count = 0;
    must(ons_list_half_statistics(s->graph, found, &count));
    cr_assert_eq(count, 2);
    must(ons_hold_masters(s->graph, s->registry, found, count, NULL));
    must(ons_graph_verify(s->graph));
    cr_expect_eq(value_of(s, "mean")->type.dtype, ONS_FLOAT32);
    cr_expect_eq(count_casts_of(s, "mean"), 0);
    scene_close(s);
}
