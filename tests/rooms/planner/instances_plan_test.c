/* The checker of the published problems and the planner's simulator know nothing of each other: with free links they
 * give the same step, whatever the graph, the cuts, the schedule and what is computed again. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "bench/instances/check.h"
#include "planner/cost/cost_file.h"
#include "planner/schedule/action_text.h"
#include "planner/search/graph_stages.h"
#include "planner/search/planner.h"
#include "planner/simulate/pipeline_simulation.h"
#include "tests/rooms/planner/branch_work.h"
#include "tests/rooms/planner/random_work.h"
#include "tests/rooms/planner/whole_parts.h"

enum { DEVICES = 3, MICRO_BATCHES = 6, SEEDS = 40 };

static void print_stage(FILE *out, const ons_planned *p, uint32_t stage) {
    const ons_stage_solution *s = &p->solutions[stage];
    const char *between = "";
    ons_stage_grouping g = ons_schedule_grouping(p->problem.schedule, stage);
    fprintf(out, "%s{\"device\": %u, \"micro_batch\": %u, \"replicas\": %u, \"names\": [", stage > 0 ? ", " : "",
            p->problem.schedule->device_of[stage], g.size, g.copies);
    for (uint32_t i = p->partition.first[stage]; i < p->partition.first[stage + 1]; ++i, between = ", ")
        fprintf(out, "%s\"%s\"", between, p->problem.work->nodes[i].name);
    fprintf(out, "], \"recompute\": [");
    between = "";
    for (uint32_t i = 0; i < s->decision_count; ++i, between = ", ")
        fprintf(out, "%s\"%s\"", between, p->problem.work->tensors[s->decisions[i].tensor].name);
    fprintf(out, "]}");
}

static char *print_solution(const ons_planned *p) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    fprintf(out, "{\"stages\": [");
    for (uint32_t i = 0; i < p->partition.stages; ++i) print_stage(out, p, i);
    fprintf(out, "], \"actions\": [");
    for (uint32_t d = 0; d < p->problem.schedule->devices; ++d) {
        const ons_action_list *list = &p->problem.schedule->lists[d];
        for (uint32_t i = 0; i < list->count; ++i) {
            char action[ONS_ACTION_TEXT];
            fprintf(out, "%s\"%s\"", i > 0 ? ", " : d > 0 ? "], [" : "[", ons_action_print(&list->items[i], action));
        }
    }
    fprintf(out, "]]}");
    cr_assert_null(ons_text_close(out, &text));
    return text;
}

static void expect(ons_status *status, uint64_t seed) {
    cr_assert(status == NULL, "seed %lu: %s", seed, status != NULL ? ons_status_get_message(status) : "");
}

static double simulate(const ons_planned *p, uint64_t seed, ons_arena *arena) {
    const ons_pipeline_setup setup = {.problem = &p->problem,
                                      .first = p->partition.first,
                                      .solutions = p->solutions,
                                      .schedule = p->problem.schedule};
    ons_pipeline_forecast forecast;
    expect(whole_parts_simulate(&setup, arena, &forecast), seed);
    ons_simulation_free(forecast.simulation);
    return forecast.iteration_seconds;
}

static const char PROBLEM[] =
    "{\"onstage_instance\": 1, \"name\": \"random\", \"graph\": \"\", \"devices\": 3, \"micro_batches\": 6,"
    " \"stages_of_a_device\": 1, \"memory_bytes\": 0, \"objective\": \"step_seconds\"}";

/* `at_once`: the graph of most_at_once micro-batches; NULL: the problem has none. */
static double judge(const ons_planned *p, const char *problem, const char *graph, const char *at_once, uint64_t seed,
                    ons_arena *arena) {
    instance in;
    check_result v;
    char *json = print_solution(p);
    expect(instance_parse(problem, strlen(problem), arena, &in), seed);
    expect(instance_parse_graph(graph, strlen(graph), arena, &in), seed);
    if (at_once != NULL) expect(instance_parse_graph_at_once(at_once, strlen(at_once), arena, &in), seed);
    expect(instance_check(&in, json, strlen(json), arena, &v), seed);
    instance_free(&in);
    free(json);
    return v.step_seconds;
}

/* `share`: of what the stages take as they are, that the devices have; 0: all. Tells whether anything runs again. */
static bool compare(uint64_t seed, const ons_generator *generator, double share) {
    ons_arena *arena = ons_arena_new();
    const random_work_options options = random_work_graph(seed, 24);
    ons_workload work;
    ons_schedule schedule;
    ons_planned planned;
    char *graph;
    bool again = false;
    expect(random_work_make(&options, arena, &work), seed);
    expect(ons_cost_file_print(&work, &graph), seed);
    ons_planning_problem p = {
        .work = &work,
        .pipeline = {.generator = generator, .stages = DEVICES, .devices = DEVICES, .micro_batches = MICRO_BATCHES},
        .memory = ons_memory_strategy_find("capuchin")};
    expect(ons_schedule_make(&p.pipeline, arena, &schedule), seed);
    p.schedule = &schedule;
    expect(ons_planner_search(&p, ons_partition_strategy_find("dawnpiper"), arena, &planned), seed);
    if (share > 0) {
        int64_t *bytes, most = 0;
        expect(ons_planned_sum_devices(&planned, arena, &bytes), seed);
        for (uint32_t d = 0; d < DEVICES; ++d) most = bytes[d] > most ? bytes[d] : most;
        p.capacity_bytes = (int64_t)(share * (double)most);
        expect(ons_planner_search(&p, ons_partition_strategy_find("dawnpiper"), arena, &planned), seed);
    }
    if (planned.partition.feasible) {
        double ours = simulate(&planned, seed, arena), theirs = judge(&planned, PROBLEM, graph, NULL, seed, arena);
        cr_assert(fabs(ours - theirs) <= 1e-9 * ours, "seed %lu, %s: simulated %.15g, judged %.15g", seed,
                  generator->name, ours, theirs);
        for (uint32_t i = 0; i < DEVICES; ++i) again = again || planned.solutions[i].recompute_seconds > 0;
    }
    free(graph);
    ons_arena_free(arena);
    return again;
}

Test(instances_plan, steps_are_those_that_the_simulator_gives) {
    static const ons_generator *const generators[] = {&ons_generator_one_f_one_b, &ons_generator_gpipe,
                                                      &ons_generator_zero_bubble};
    for (uint64_t seed = 1; seed <= SEEDS; ++seed)
        for (size_t g = 0; g < 3; ++g) compare(seed, generators[g], 0);
}

Test(instances_plan, steps_with_what_runs_again_are_those_that_the_simulator_gives) {
    uint32_t count = 0;
    for (uint64_t seed = 1; seed <= SEEDS; ++seed) count += compare(seed, &ons_generator_one_f_one_b, 0.9);
    cr_assert_gt(count, 0, "nothing ran again");
}

/* -------------------------------------------------------------------------------------- copies, and several at once */

enum { SIZES = 3, GROUP_DEVICES = 5, UNITS = 8 };

static const char GROUPED[] =
    "{\"onstage_instance\": 1, \"name\": \"random\", \"graph\": \"\", \"devices\": 5, \"micro_batches\": 8,"
    " \"stages_of_a_device\": 1, \"memory_bytes\": 0, \"copies_of_a_stage\": 5,"
    " \"at_once\": {\"micro_batches\": 4, \"graph\": \"\"}, \"objective\": \"step_seconds\"}";

/* Of 1, 2 and 4 samples, of which a micro-batch has one. */
static void make_works(uint64_t seed, ons_arena *arena, const ons_workload *const **works) {
    branch_graph graph;
    expect(random_series_parallel(seed, 16, arena, &graph), seed);
    for (uint32_t i = 0; i < graph.count; ++i) {
        graph.nodes[i].name = ons_arena_format(arena, "n%u", i);
        graph.nodes[i].update_seconds = 1e-3 * (1 + i % 3);
    }
    expect(branch_graph_works(&graph, SIZES, works), seed);
    for (uint32_t k = 0; k < SIZES; ++k)
        for (uint32_t i = 0; i < (*works)[k]->tensor_count; ++i)
            (*works)[k]->tensors[i].name = ons_arena_format(arena, "t%u", i);
}

/* Tells how many stages have copies, or take several at once. */
static uint32_t compare_groups(uint64_t seed, bool sizes) {
    ons_arena *arena = ons_arena_new();
    const ons_workload *const *works;
    ons_graph_stages found;
    char *one, *most;
    uint32_t grouped = 0;
    make_works(seed, arena, &works);
    const ons_stage_choice choice = {.sizes = sizes, .replicas = true, .works = works, .work_count = SIZES};
    const ons_planning_problem p = {
        .work = works[0],
        .pipeline = {.generator = &ons_generator_one_f_one_b, .stages = GROUP_DEVICES, .micro_batches = UNITS},
        .choice = &choice,
        .memory = ons_memory_strategy_find("capuchin")};
    expect(ons_graph_stages_search(&p, true, arena, &found), seed);
    expect(ons_cost_file_print(works[0], &one), seed);
    expect(ons_cost_file_print(works[SIZES - 1], &most), seed);
    double ours = simulate(&found.planned, seed, arena);
    double theirs = judge(&found.planned, GROUPED, one, most, seed, arena);
    cr_assert(fabs(ours - theirs) <= 1e-9 * ours, "seed %lu: simulated %.15g, judged %.15g", seed, ours, theirs);
    for (uint32_t i = 0; i < found.planned.partition.stages; ++i) {
        ons_stage_grouping g = ons_schedule_grouping(found.planned.problem.schedule, i);
        grouped += g.size * g.copies > 1;
    }
    free(one);
    free(most);
    ons_arena_free(arena);
    return grouped;
}

Test(instances_plan, steps_of_stages_with_copies_are_those_that_the_simulator_gives) {
    uint32_t count = 0;
    for (uint64_t seed = 1; seed <= SEEDS; ++seed) count += compare_groups(seed, seed % 2 == 0);
    cr_assert_gt(count, SEEDS, "only %u stages had copies, or took several at once", count);
}
