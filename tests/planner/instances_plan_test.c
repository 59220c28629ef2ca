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
#include "planner/search/planner.h"
#include "planner/simulate/pipeline_simulation.h"
#include "tests/planner/random_work.h"
#include "tests/planner/whole_parts.h"

enum { DEVICES = 3, MICRO_BATCHES = 6, SEEDS = 40 };

static void print_stage(FILE *out, const ons_planned *p, uint32_t stage) {
    const ons_stage_solution *s = &p->solutions[stage];
    const char *between = "";
    fprintf(out, "%s{\"device\": %u, \"names\": [", stage > 0 ? ", " : "", p->problem.schedule->device_of[stage]);
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
    for (uint32_t d = 0; d < DEVICES; ++d) {
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

static double judge(const ons_planned *p, const char *graph, uint64_t seed, ons_arena *arena) {
    static const char problem[] =
        "{\"onstage_instance\": 1, \"name\": \"random\", \"graph\": \"\", \"devices\": 3, \"micro_batches\": 6,"
        " \"stages_of_a_device\": 1, \"memory_bytes\": 0, \"objective\": \"step_seconds\"}";
    instance in;
    verdict v;
    char *json = print_solution(p);
    expect(instance_parse(problem, strlen(problem), arena, &in), seed);
    expect(instance_parse_graph(graph, strlen(graph), arena, &in), seed);
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
        double ours = simulate(&planned, seed, arena), theirs = judge(&planned, graph, seed, arena);
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
