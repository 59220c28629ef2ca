#include "tests/rooms/planner/random_plan.h"

#include <criterion/criterion.h>
#include <string.h>

#include "tests/rooms/planner/planning_case.h"

ons_arena *plan_arena;

void plan_make_arena(void) { plan_arena = ons_arena_new(); }
void plan_free_arena(void) { ons_arena_free(plan_arena); }

void plan_expect_success(ons_status *status, uint64_t seed) {
    cr_assert(status == NULL, "seed %llu: %s", (unsigned long long)seed,
              status != NULL ? ons_status_get_message(status) : "");
}

ons_planning_problem plan_random_problem(uint64_t seed, uint32_t most_nodes) {
    ons_arena_free(plan_arena);
    plan_arena = ons_arena_new();
    planning_case c = {.seed = seed,
                       .least_nodes = 8,
                       .most_nodes = most_nodes,
                       .least_stages = 2,
                       .most_stages = most_nodes / 6,
                       .memory = ons_memory_strategy_find("capuchin")};
    ons_planning_problem problem;
    plan_expect_success(planning_case_make(&c, plan_arena, &problem), seed);
    return problem;
}

ons_planned plan_search(const ons_planning_problem *problem, uint64_t seed) {
    ons_planned planned;
    plan_expect_success(ons_planner_search(problem, ons_partition_strategy_find("auto"), plan_arena, &planned), seed);
    return planned;
}

static const char *maybe(random_source *random, const char *text) { return random_chance(random, 0.5) ? text : NULL; }

/* With whatever a file may hold, texts that must be escaped too. */
void plan_make_subject(uint64_t seed, const ons_planning_problem *problem, ons_plan *plan) {
    static ons_plan_setting dims[] = {{"batch", "8"}, {"sequence \"long\"", "512"}}, libraries[] = {{"oneDNN", "3.7"}};
    random_source random = {seed};
    plan->subject = (ons_plan_subject){.model = "folder/\xc3\xa9t\xc3\xa9 \\ \"net\".onnx",
                                       .digest = maybe(&random, "0123456789abcdef"),
                                       .dims = dims,
                                       .dim_count = random_below(&random, 3),
                                       .batch = 8 * (int64_t)problem->pipeline.micro_batches,
                                       .micro_batches = problem->pipeline.micro_batches,
                                       .loss = maybe(&random, "cross_entropy"),
                                       .optimizer = maybe(&random, "adamw"),
                                       .precision = maybe(&random, "fp32"),
                                       .device_profile = maybe(&random, "a100-40gb"),
                                       .threads = random_below(&random, 100),
                                       .trainable_elements = (int64_t)(random_next(&random) >> 12),
                                       .trainable_digest = maybe(&random, "fedcba9876543210"),
                                       .libraries = libraries,
                                       .library_count = random_below(&random, 2)};
    plan->reproducible = random_chance(&random, 0.5);
    plan->partition = "auto";
}

bool plan_make_random(uint64_t seed, ons_planning_problem *problem, ons_planned *planned, ons_plan *plan) {
    *problem = plan_random_problem(seed, 36);
    *planned = plan_search(problem, seed);
    if (!planned->partition.feasible) return false;
    *plan = (ons_plan){0};
    plan_make_subject(seed, problem, plan);
    plan_expect_success(ons_planner_fill(planned, plan_arena, plan), seed);
    return true;
}

char *plan_print(const ons_plan *plan, uint64_t seed) {
    char *text;
    plan_expect_success(ons_plan_print(plan, &text), seed);
    return text;
}

void plan_expect_refusal(const char *text, const char *part) {
    ons_plan plan;
    ons_status *status = ons_plan_parse(text, strlen(text), plan_arena, &plan);
    cr_assert_not_null(status, "expected a failure with '%s'", part);
    cr_expect(strstr(ons_status_get_message(status), part) != NULL, "'%s' lacks '%s'", ons_status_get_message(status),
              part);
    ons_status_free(status);
}
