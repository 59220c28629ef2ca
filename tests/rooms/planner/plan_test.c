/* Plans as files: they come back as they were and simulate to what they predict; and what is said where nothing fits
 * is true. Random problems; a failure names the seed. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "planner/plan/plan_replay.h"
#include "planner/search/least_memory.h"
#include "planner/search/slices.h"
#include "tests/rooms/planner/random_plan.h"
#include "tests/rooms/planner/random_work.h"

TestSuite(plan, .init = plan_make_arena, .fini = plan_free_arena);

static ons_plan parse(const char *text, uint64_t seed) {
    ons_plan plan;
    plan_expect_success(ons_plan_parse(text, strlen(text), plan_arena, &plan), seed);
    return plan;
}

static double replay(const ons_plan *plan, uint64_t seed) {
    ons_pipeline_forecast f;
    plan_expect_success(ons_plan_replay(plan, plan_arena, &f), seed);
    ons_simulation_free(f.simulation);
    return f.iteration_seconds;
}

enum { PLANS = 100, REFUSALS = 12 };

/* Property 14 of a plan. */
Test(plan, survives_write_read_write) {
    uint32_t made = 0, swaps = 0;
    for (uint64_t seed = 1; seed <= PLANS; ++seed) {
        ons_planning_problem problem;
        ons_planned planned;
        ons_plan plan;
        if (!plan_make_random(seed, &problem, &planned, &plan)) continue;
        ++made;
        if (!plan.schedule.asynchronous) plan_expect_success(ons_plan_slice(&plan, seed % 4, plan_arena), seed);
        char *first = plan_print(&plan, seed);
        ons_plan again = parse(first, seed);
        cr_assert_eq(ons_plan_count_slices(&plan), ons_plan_count_slices(&again));
        char *second = plan_print(&again, seed);
        cr_assert_str_eq(first, second, "seed %llu", (unsigned long long)seed);
        for (uint32_t i = 0; i < plan.pipeline.stages; ++i) swaps += plan.stages[i].decision_count;
        free(first);
        free(second);
    }
    cr_expect_gt(made, PLANS / 4);
    cr_expect_gt(swaps, 100);
}

/* The file says all that the simulator needs: what was planned, what the plan says and what is read back from it take
 * the same time, with swap, recompute and every schedule. */
Test(plan, simulates_to_what_it_predicts) {
    for (uint64_t seed = 1; seed <= PLANS; ++seed) {
        ons_planning_problem problem;
        ons_planned planned;
        ons_plan plan;
        if (!plan_make_random(seed, &problem, &planned, &plan)) continue;
        ons_pipeline_setup setup = {
            .problem = &planned.problem, .first = planned.partition.first, .solutions = planned.solutions};
        ons_pipeline_forecast whole, f;
        plan_expect_success(ons_pipeline_simulate(&setup, plan_arena, &whole), seed);
        char *text = plan_print(&plan, seed);
        ons_plan again = parse(text, seed);
        free(text);
        plan_expect_success(ons_plan_replay(&again, plan_arena, &f), seed);
        cr_expect(f.iteration_seconds == plan.step_seconds, "seed %llu: %.17g, not %.17g", (unsigned long long)seed,
                  f.iteration_seconds, plan.step_seconds);
        cr_expect(whole.iteration_seconds == plan.step_seconds, "seed %llu: planned %.17g, not %.17g",
                  (unsigned long long)seed, whole.iteration_seconds, plan.step_seconds);
        for (uint32_t i = 0; i < plan.pipeline.stages; ++i) {
            cr_expect(f.devices[i].peak_bytes == whole.devices[i].peak_bytes, "seed %llu: peak of device %u",
                      (unsigned long long)seed, i);
            cr_expect(f.devices[i].swapped_out_bytes == whole.devices[i].swapped_out_bytes, "seed %llu: copies of %u",
                      (unsigned long long)seed, i);
        }
        ons_simulation_free(f.simulation);
        ons_simulation_free(whole.simulation);
    }
}

/* A person may edit the order of actions: what is simulated is what stands there. */
Test(plan, follows_edited_actions) {
    for (uint64_t seed = 1;; ++seed) {
        ons_planning_problem problem;
        ons_planned planned;
        ons_plan plan;
        cr_assert_leq(seed, PLANS);
        if (!plan_make_random(seed, &problem, &planned, &plan)) continue;
        if (plan.pipeline.generator != &ons_generator_one_f_one_b || plan.pipeline.micro_batches < 4) continue;
        ons_pipeline gpipe = plan.pipeline;
        gpipe.generator = &ons_generator_gpipe;
        double before = replay(&plan, seed);
        plan_expect_success(ons_schedule_make(&gpipe, plan_arena, &plan.schedule), seed);
        plan.pipeline = gpipe;
        cr_expect(replay(&plan, seed) != before, "seed %llu", (unsigned long long)seed);
        return;
    }
}

/* The first forward parts of the first device as one entry: "0F0", "0F1", ... */
static char *join_forward_parts(const char *text, uint32_t count, const char *joined) {
    const char *first = strstr(text, "\"0F0\""), *end = first;
    for (uint32_t i = 0; i < count; ++i) end = strchr(strchr(end, '"') + 1, '"') + 1;
    char *edited = ons_arena_format(plan_arena, "%.*s\"%s\"%s", (int)(first - text), text, joined, end);
    cr_assert_not_null(edited);
    return edited;
}

/* An entry may stand for several micro-batches, and names a copy of its stage. */
Test(plan, an_entry_of_several_micro_batches) {
    for (uint64_t seed = 1;; ++seed) {
        ons_planning_problem problem;
        ons_planned planned;
        ons_plan plan, again;
        char *text;
        cr_assert_leq(seed, PLANS);
        if (!plan_make_random(seed, &problem, &planned, &plan)) continue;
        if (plan.pipeline.generator != &ons_generator_gpipe || plan.pipeline.micro_batches < 3) continue;
        plan_expect_success(ons_plan_print(&plan, &text), seed);
        char *edited = join_forward_parts(text, 3, "0.0F0-2");
        plan_expect_success(ons_plan_parse(edited, strlen(edited), plan_arena, &again), seed);
        cr_expect(ons_schedule_equal(&plan.schedule, &again.schedule), "seed %llu", (unsigned long long)seed);
        edited = join_forward_parts(text, 3, "0F2-0");
        plan_expect_refusal(edited, "actions[0][0]");
        edited = join_forward_parts(text, 3, "0F0-4000000000");
        plan_expect_refusal(edited, "there is no such stage or micro-batch");
        edited = join_forward_parts(text, 3, "0.1F0-2");
        plan_expect_refusal(edited, "stage 0 has one copy, number 0, and no number 1");
        free(text);
        return;
    }
}

/* Every backward action as two: input gradients, and weight gradients right behind them. */
static void divide_backward(ons_plan *plan) {
    for (uint32_t i = 0; i < plan->pipeline.stages; ++i) {
        ons_action_list *list = &plan->schedule.lists[i],
                        divided = {ons_arena_allocate(plan_arena, 2 * list->count, sizeof(ons_action)), 0};
        for (uint32_t k = 0; k < list->count; ++k) {
            ons_action a = list->items[k];
            bool backward = a.kind == ONS_ACTION_BACKWARD;
            if (backward) a.kind = ONS_ACTION_INPUT_GRADIENT;
            divided.items[divided.count++] = a;
            if (backward) a.kind = ONS_ACTION_WEIGHT_GRADIENT, divided.items[divided.count++] = a;
        }
        *list = divided;
    }
    plan_expect_success(ons_schedule_take(&plan->schedule, plan_arena), 0);
    plan_expect_success(ons_generator_of_lists(&plan->schedule, "apart", plan_arena, &plan->pipeline.generator), 0);
}

/* Input and weight gradients may be put apart in the file: it says what of each part is the one and the other. */
Test(plan, follows_gradients_apart) {
    uint32_t divided = 0, kept = 0, faster = 0;
    for (uint64_t seed = 1; seed <= PLANS; ++seed) {
        ons_planning_problem problem;
        ons_planned planned;
        ons_plan plan;
        if (!plan_make_random(seed, &problem, &planned, &plan) || ons_pipeline_is_asynchronous(&plan.pipeline))
            continue;
        ons_pipeline_forecast together, apart, direct;
        plan_expect_success(ons_plan_replay(&plan, plan_arena, &together), seed);
        divide_backward(&plan);
        ons_pipeline_setup setup = {.problem = &planned.problem,
                                    .first = planned.partition.first,
                                    .solutions = planned.solutions,
                                    .schedule = &plan.schedule};
        plan_expect_success(ons_pipeline_simulate(&setup, plan_arena, &direct), seed);
        char *text = plan_print(&plan, seed);
        ons_plan again = parse(text, seed);
        free(text);
        plan_expect_success(ons_plan_replay(&again, plan_arena, &apart), seed);
        cr_expect_eq(apart.iteration_seconds, direct.iteration_seconds, "seed %llu", (unsigned long long)seed);
        for (uint32_t i = 0; i < plan.pipeline.stages; ++i) {
            double busy = together.devices[i].busy_seconds;
            cr_expect_eq(apart.devices[i].peak_bytes, direct.devices[i].peak_bytes, "seed %llu: peak of device %u",
                         (unsigned long long)seed, i);
            cr_expect_float_eq(apart.devices[i].busy_seconds, busy, 1e-9 * busy, "seed %llu: device %u",
                               (unsigned long long)seed, i);
        }
        uint32_t decisions = 0;
        for (uint32_t i = 0; i < plan.pipeline.stages; ++i) decisions += plan.stages[i].decision_count;
        ++divided;
        kept += decisions == 0; /* copies back have less to hide behind */
        faster += decisions == 0 && apart.iteration_seconds < together.iteration_seconds * (1 - 1e-6);
        ons_simulation_free(together.simulation);
        ons_simulation_free(apart.simulation);
        ons_simulation_free(direct.simulation);
    }
    cr_expect_gt(divided, PLANS / 8);
    cr_expect_gt(kept, 0u);
    cr_expect_gt(faster, kept / 2, "the stage in front waits for input gradients alone: %u of %u", faster, kept);
}

Test(plan, of_an_earlier_version_does_not_take_gradients_apart) {
    ons_planning_problem problem;
    ons_planned planned;
    ons_plan plan;
    uint64_t seed = 1;
    while (!plan_make_random(seed, &problem, &planned, &plan) || ons_pipeline_is_asynchronous(&plan.pipeline)) ++seed;
    divide_backward(&plan);
    for (uint32_t i = 0; i < plan.pipeline.stages; ++i) plan.parts.stages[i].divisible = false;
    char *text = plan_print(&plan, seed), *second;
    cr_expect_null(strstr(text, "weight_gradient_seconds"));
    ons_plan again = parse(text, seed);
    second = plan_print(&again, seed);
    cr_expect_str_eq(text, second);
    free(text);
    free(second);
    ons_pipeline_forecast f;
    ons_status *status = ons_plan_replay(&again, plan_arena, &f);
    cr_assert_not_null(status);
    cr_expect_not_null(strstr(ons_status_get_message(status), "plan again"), "%s", ons_status_get_message(status));
    ons_status_free(status);
}

/* Bytes that do not add up in 64 bits. */
Test(plan, sums_of_bytes_are_checked) {
    ons_planning_problem problem;
    ons_planned planned;
    ons_plan plan;
    uint64_t seed = 1;
    while (!plan_make_random(seed, &problem, &planned, &plan)) ++seed;
    ons_stage_tasks *t = &plan.parts.stages[0];
    ons_stage_piece *many;
    many = ons_arena_allocate(plan_arena, 2000, sizeof *many);
    for (uint32_t i = 0; i < 2000; ++i)
        many[i] = (ons_stage_piece){.kind = ONS_ACTION_FORWARD,
                                    .seconds = 1e-3,
                                    .start_bytes = INT64_C(1) << 53,
                                    .end_bytes = -(INT64_C(1) << 53)};
    t->forward = many;
    t->forward_count = 2000;
    ons_pipeline_forecast f;
    ons_status *status = ons_plan_replay(&plan, plan_arena, &f);
    cr_assert_not_null(status);
    cr_expect(strstr(ons_status_get_message(status), "do not add up") != NULL, "%s", ons_status_get_message(status));
    ons_status_free(status);
}

/* -------------------------------------------------------------------------------------------------- impossible caps */

/* What the refusal names does, to the byte, and costs what it says. */
Test(plan, smallest_memory_that_is_named_works) {
    uint32_t refused = 0;
    for (uint64_t seed = 1; seed <= REFUSALS; ++seed) {
        ons_planning_problem problem = plan_random_problem(seed, 18);
        random_source random = {seed};
        problem.capacity_bytes = 1 + (int64_t)((double)problem.capacity_bytes * random_unit(&random));
        ons_planned planned = plan_search(&problem, seed);
        if (planned.partition.feasible) continue;
        ++refused;
        ons_least_memory least;
        plan_expect_success(ons_least_memory_find(&problem, ons_partition_strategy_find("auto"), &planned, &least),
                            seed);
        cr_expect_gt(least.capacity_bytes, problem.capacity_bytes, "seed %llu", (unsigned long long)seed);
        problem.capacity_bytes = least.capacity_bytes;
        planned = plan_search(&problem, seed);
        cr_assert(planned.partition.feasible, "seed %llu: %lld bytes do not do", (unsigned long long)seed,
                  (long long)least.capacity_bytes);
        ons_plan plan = {0};
        plan_make_subject(seed, &problem, &plan);
        plan_expect_success(ons_planner_fill(&planned, plan_arena, &plan), seed);
        cr_expect(plan.step_seconds == least.step_seconds, "seed %llu", (unsigned long long)seed);
        for (uint32_t i = 0; i < plan.pipeline.stages; ++i)
            cr_expect_leq(plan.stages[i].memory_bytes, least.capacity_bytes, "seed %llu", (unsigned long long)seed);
        cr_expect_gt(least.uncapped_seconds, 0);
    }
    cr_expect_gt(refused, REFUSALS / 3);
}
