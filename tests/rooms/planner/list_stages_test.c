/* Lists that somebody wrote for stages that form a graph: the stages are found again, in whatever order their numbers
 * are, what the lists wait for is checked by the links of these stages, and lists that wait for ever are refused. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planner/schedule/csv.h"
#include "planner/search/graph_stages.h"
#include "tests/rooms/planner/branch_work.h"

enum { MICRO_BATCHES = 8, SEEDS = 60, DEVICES = 5 };

static ons_arena *arena;

static void make_arena(void) { arena = ons_arena_new(); }
static void free_arena(void) { ons_arena_free(arena); }

TestSuite(list_stages, .init = make_arena, .fini = free_arena);

static void expect_success(ons_status *status, uint64_t seed) {
    cr_assert(status == NULL, "seed %lu: %s", seed, status != NULL ? ons_status_get_message(status) : "");
}

static ons_planning_problem problem_of(const ons_workload *work, uint32_t stages) {
    return (ons_planning_problem){.work = work,
                                  .memory = ons_memory_strategy_find("capuchin"),
                                  .pipeline = {&ons_generator_one_f_one_b, stages, MICRO_BATCHES, 0, 1}};
}

/* The problem with lists that are asked for. */
static ons_planning_problem follow(const ons_planning_problem *p, ons_schedule *lists) {
    ons_planning_problem with = *p;
    expect_success(ons_generator_of_lists(lists, "a.csv", arena, &with.pipeline.generator), 0);
    with.pipeline.devices = lists->devices;
    with.follows_lists = true;
    return with;
}

static ons_schedule *read_again(const ons_schedule *lists) {
    char *text, *again;
    ons_schedule *read = ons_arena_allocate(arena, 1, sizeof *read);
    expect_success(ons_schedule_print_csv(lists, &text), 0);
    expect_success(ons_schedule_parse_csv(text, strlen(text), arena, read), 0);
    expect_success(ons_schedule_print_csv(read, &again), 0);
    cr_expect_str_eq(text, again);
    free(text);
    free(again);
    return read;
}

static bool hangs(const ons_schedule *s, const ons_stage_edges *edges) {
    ons_status *status = ons_schedule_verify(s, edges, arena);
    bool hung = status != NULL;
    ons_status_free(status);
    return hung;
}

/* ------------------------------------------------------------------------------------------------- written and read */

/* These lists, and no longer a step: other stages may be quicker with lists that were made for their like. */
static void expect_as_good(const ons_planned *planned, const ons_graph_stages *found, uint64_t seed) {
    ons_plan plan = {.partition = "graphpipe"};
    ons_planned own = *planned;
    plan.subject = (ons_plan_subject){.model = "m", .micro_batches = MICRO_BATCHES, .batch = MICRO_BATCHES};
    cr_expect(ons_schedule_equal(planned->problem.schedule, found->planned.problem.schedule), "seed %lu", seed);
    expect_success(ons_planner_fill(&own, arena, &plan), seed);
    cr_expect_leq(plan.step_seconds, found->step_seconds * (1 + 1e-9), "seed %lu", seed);
}

/* Lists that were written out find stages that run them as fast as those that they were written for, with GraphPipe's
 * search as with "auto", which takes them for a graph's where a line of stages cannot run them. */
Test(list_stages, what_was_written_for_a_graph_is_read_for_it) {
    static const char *const strategies[] = {"graphpipe", "auto"};
    uint32_t not_of_a_line = 0;
    for (uint64_t seed = 1; seed <= SEEDS; ++seed) {
        branch_graph g;
        ons_workload work;
        ons_graph_stages found;
        expect_success(random_series_parallel(seed, 16, arena, &g), seed);
        for (uint32_t i = 0; i < g.count; ++i) g.nodes[i].name = ons_arena_format(arena, "n%u", i);
        expect_success(branch_graph_work(&g, 1, &work), seed);
        const ons_planning_problem p = problem_of(&work, 4 + (uint32_t)(seed % DEVICES));
        expect_success(ons_graph_stages_search(&p, true, arena, &found), seed);
        ons_schedule *lists = read_again(found.planned.problem.schedule);
        const ons_planning_problem with = follow(&p, lists);
        bool line = !hangs(lists, NULL);
        for (size_t i = 0; i < 2; ++i) {
            ons_planned planned;
            if (i == 1 && line) continue; /* "auto" has a line's stages for them */
            expect_success(ons_planner_search(&with, ons_partition_strategy_find(strategies[i]), arena, &planned),
                           seed);
            expect_as_good(&planned, &found, seed);
        }
        not_of_a_line += !line;
        free_arena(), make_arena();
    }
    cr_expect_gt(not_of_a_line, 10, "only %u lists that a line cannot run", not_of_a_line);
}

/* ---------------------------------------------------------------------------------------------------- other numbers */

/* A tower of one stage beside one of three, and a head. */
enum { STAGES = 5 };

static void make_towers(ons_workload *work) {
    branch_graph g;
    uint32_t number, before = 0, alone;
    branch_node node = {.fixed_seconds = 0.001, .backward = 2, .output_bytes = 1000};
    expect_success(branch_graph_new("towers", STAGES, arena, &g), 0);
    for (uint32_t i = 0; i < STAGES - 1; ++i) {
        node.name = ons_arena_format(arena, "n%u", i);
        node.inputs = &before;
        node.input_count = i > 1;
        expect_success(branch_graph_add(&g, &node, &number), 0);
        if (i == 0) alone = number;
        before = number;
    }
    uint32_t ends[] = {alone, before};
    node = (branch_node){
        .name = "head", .fixed_seconds = 0.001, .backward = 2, .output_bytes = 8, .inputs = ends, .input_count = 2};
    expect_success(branch_graph_add(&g, &node, &number), 0);
    expect_success(branch_graph_work(&g, 1, work), 0);
}

/* Of the towers' stages: the short one's has 2 micro-batches in flight, the long one's 4, 3 and 2. `alone`: the number
 * of the short one. */
static ons_schedule *lists_of(uint32_t alone) {
    char text[4096] = "";
    for (uint32_t stage = 0, flight = 4; stage < STAGES; ++stage) {
        uint32_t most = stage + 1 == STAGES ? 1 : stage == alone ? 2 : flight--;
        for (uint32_t i = 0, back = 0; back < MICRO_BATCHES; ++i) {
            char cell[32];
            if (i < MICRO_BATCHES) {
                snprintf(cell, sizeof cell, "%uF%u,", stage, i);
                strcat(text, cell);
            }
            if (i + 1 < most) continue;
            snprintf(cell, sizeof cell, "%uB%u,", stage, back++);
            strcat(text, cell);
        }
        strcat(text, "\n");
    }
    ons_schedule *s = ons_arena_allocate(arena, 1, sizeof *s);
    expect_success(ons_schedule_parse_csv(text, strlen(text), arena, s), alone);
    return s;
}

Test(list_stages, branches_may_be_numbered_in_any_order) {
    ons_workload work;
    make_towers(&work);
    const ons_planning_problem p = problem_of(&work, STAGES);
    for (uint32_t alone = 0; alone + 1 < STAGES; ++alone) {
        ons_schedule *lists = lists_of(alone);
        const ons_planning_problem with = follow(&p, lists);
        ons_graph_stages found;
        cr_expect(alone > 1 || hangs(lists, NULL), "the short tower is stage %u", alone);
        expect_success(ons_graph_stages_search(&with, true, arena, &found), alone);
        const ons_workload *ordered = found.planned.problem.work;
        /* The long one's last stage has 2 in flight as well, so 2 and 3 are the same lists. */
        cr_expect(alone > 1 || strcmp(ordered->nodes[found.planned.partition.first[alone]].name, "n0") == 0, "stage %u",
                  alone);
        cr_expect(ons_schedule_equal(found.planned.problem.schedule, lists));
        cr_expect_float_eq(found.step_seconds, (MICRO_BATCHES + 3) * 0.003, 1e-9, "%.15g", found.step_seconds);
    }
}

/* ---------------------------------------------------------------------------------------------------------- refused */

static void expect_refusal(const ons_planning_problem *p, const char *strategy, const char *part) {
    ons_planned planned;
    ons_status *status = ons_planner_search(p, ons_partition_strategy_find(strategy), arena, &planned);
    cr_assert_not_null(status, "%s takes it", strategy);
    cr_expect_not_null(strstr(ons_status_get_message(status), part), "'%s' lacks '%s'", ons_status_get_message(status),
                       part);
    ons_status_free(status);
}

static ons_schedule *read(const char *text) {
    ons_schedule *s = ons_arena_allocate(arena, 1, sizeof *s);
    expect_success(ons_schedule_parse_csv(text, strlen(text), arena, s), 0);
    return s;
}

/* Two stages beside each other and a head; whatever the numbers, the head's gradient does not come before both. */
Test(list_stages, lists_that_no_order_of_the_stages_can_run_are_refused) {
    static const char order[] = "0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n2F0,2F1,2B0,2B1\n";
    ons_workload work;
    branch_graph g;
    expect_success(two_towers(1, 0.001, arena, &g), 0);
    for (uint32_t i = 0; i < g.count; ++i) g.nodes[i].name = ons_arena_format(arena, "n%u", i);
    expect_success(branch_graph_work(&g, 1, &work), 0);
    ons_planning_problem p = problem_of(&work, 3);
    p.pipeline.micro_batches = 2;
    const ons_planning_problem with = follow(&p, read(order));
    expect_refusal(&with, "graphpipe", "a.csv: the schedule hangs");
    expect_refusal(&with, "auto", "waiting to receive the gradient of micro-batch 0 from stage 2");
}

Test(list_stages, lists_say_nothing_of_sizes_and_replicas) {
    ons_workload work;
    make_towers(&work);
    const ons_planning_problem p = problem_of(&work, STAGES);
    ons_planning_problem with = follow(&p, lists_of(0));
    const ons_workload *works[] = {&work};
    const ons_stage_choice choice = {.replicas = true, .works = works, .work_count = 1};
    with.choice = &choice;
    expect_refusal(&with, "graphpipe", "say nothing of either");
}

/* Two stages on a device are no graph's: what hangs as a line does so. */
Test(list_stages, lists_with_several_stages_on_a_device_are_a_lines) {
    ons_workload work;
    make_towers(&work);
    ons_planning_problem p = problem_of(&work, 3);
    p.pipeline.micro_batches = 1;
    const ons_planning_problem with = follow(&p, read("0F0,0B0,2F0,2B0\n1F0,1B0\n"));
    expect_refusal(&with, "auto", "a.csv: the schedule hangs");
}
