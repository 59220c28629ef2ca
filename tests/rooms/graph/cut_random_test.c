/* Random training graphs, cut anywhere, with random decisions: views of views, nodes of several outputs, weights and
 * branches shared, statistics, dropout, what the host reads from any place. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "tests/rooms/graph/cut_check.h"
#include "tests/rooms/graph/cut_random.h"
#include "tests/rooms/graph/cut_run.h"

static size_t try_graph(uint64_t seed) {
    static const uint32_t counts[] = {1, 2, 3, 4, 8};
    cut_random m = cut_random_open(seed);
    char where[64];
    snprintf(where, sizeof where, "seed %llu", (unsigned long long)seed);
    ons_cut_options options = {
        .whole = m.s->graph,
        .registry = m.s->registry,
        .repeats = m.c.repeats,
        .stage_of_node = m.c.stage_of_node,
        .stages = counts[cut_case_random(&m.c, 5)],
        .kept = m.kept,
        .kept_count = m.kept_count,
    };
    cut_random_choose_stages(&m, options.stages);
    ons_cut plain, cut;
    must(ons_cut_make(&options, &plain));
    cut_check(&options, &plain, where);
    cut_case_decide(&m.c, &plain, 1 + cut_case_random(&m.c, 3), &options);
    ons_cut_free(&plain);
    must(ons_cut_make(&options, &cut));
    cut_check(&options, &cut, where);
    size_t second = cut_run(&options, &cut, where);
    ons_cut_free(&cut);
    cut_random_close(&m);
    return second;
}

Test(cut_random, stages_make_the_bits_of_the_whole_graph) {
    size_t second = 0;
    for (uint64_t seed = 1; seed <= 300; ++seed) second += try_graph(seed);
    cr_assert_gt(second, 3000u, "hardly anything came back or was made again: %zu values", second);
}

/* ----------------------------------------------------------------------------------------------------------- states */

static ons_node_id phase(scene *s, ons_value_id value, ons_phase phase) {
    ons_node_id id = ons_graph_value(s->graph, value)->producer;
    ons_graph_node(s->graph, id)->phase = phase;
    ons_graph_node(s->graph, id)->per_step = phase == ONS_UPDATE;
    return id;
}

/* Two nodes that read a state, and one that replaces it, each asked for in another stage. */
Test(cut_random, a_state_is_in_one_stage) {
    scene *s = scene_open();
    ons_type type = ons_type_make(ONS_FLOAT32, SHAPE(2));
    ons_value_id x = add_input(s, "x", SHAPE(2)), state;
    must(ons_graph_add_value(s->graph, "state", ONS_STATE, &type, &state));
    ons_value_id early = apply2(s, "Add", x, state), last = apply1(s, "Tanh", early);
    ons_node_id reader = phase(s, apply2(s, "Mul", last, state), ONS_FORWARD);
    ons_value_id fresh =
        ons_build(&s->builder, ons_registry_role(s->registry, ONS_ROLE_ACCUMULATE), ONS_IN(state, last), ONS_DEFAULTS);
    must(ons_builder_finish(&s->builder));
    ons_graph_value(s->graph, fresh)->pair = state;
    ons_graph_value(s->graph, fresh)->kind = ONS_STATE;
    ons_node_id writer = phase(s, fresh, ONS_FORWARD), first = phase(s, early, ONS_FORWARD);
    uint32_t stages[4] = {0};
    ons_cut_options options = {
        .whole = s->graph, .registry = s->registry, .repeats = true, .stage_of_node = stages, .stages = 3};
    ons_cut cut;
    stages[first] = 0, stages[reader] = 2, stages[writer] = 1;
    must(ons_cut_make(&options, &cut));
    cut_check(&options, &cut, "a state of the forward part");
    cr_assert_eq(cut.stages[2].graph->nodes.count, 4u, "all go to the last of them, for data flow on from there");
    ons_cut_free(&cut);

    /* The end of a step has no direction, so whoever replaces the state goes where it is. */
    phase(s, fresh, ONS_UPDATE);
    stages[first] = stages[reader] = 2, stages[writer] = 0;
    must(ons_cut_make(&options, &cut));
    cut_check(&options, &cut, "a state of the end");
    cr_assert_neq(ons_graph_find_node(cut.stages[2].graph, ons_graph_node(s->graph, writer)->name), ONS_NONE);
    ons_cut_free(&cut);

    /* Forward nodes go to later stages and backward ones to earlier ones: they cannot meet. */
    phase(s, fresh, ONS_INPUT_GRADIENT);
    stages[first] = stages[reader] = 2, stages[writer] = 0;
    must_fail(ons_cut_make(&options, &cut), ONS_UNSUPPORTED, "'state' is kept in stage");
    scene_close(s);
}
