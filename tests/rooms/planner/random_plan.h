/* Plans of random problems, for tests of their files; with Criterion. */
#ifndef ONSTAGE_TESTS_ROOMS_PLANNER_RANDOM_PLAN_H
#define ONSTAGE_TESTS_ROOMS_PLANNER_RANDOM_PLAN_H

#include "planner/plan/plan_replay.h"
#include "planner/search/least_memory.h"

/* All that a test makes lies in it; new with each problem. A suite's .init and .fini. */
extern ons_arena *plan_arena;
void plan_make_arena(void);
void plan_free_arena(void);

/* Asserts it. */
void plan_expect_success(ons_status *status, uint64_t seed);
/* Expects that the text is no plan, and that the message has `part` in it. */
void plan_expect_refusal(const char *text, const char *part);

ons_planning_problem plan_random_problem(uint64_t seed, uint32_t most_nodes);
ons_planned plan_search(const ons_planning_problem *problem, uint64_t seed);
/* Sets whom the plan is for. */
void plan_make_subject(uint64_t seed, const ons_planning_problem *problem, ons_plan *plan);
/* Makes all of it; false: nothing fits. */
bool plan_make_random(uint64_t seed, ons_planning_problem *problem, ons_planned *planned, ons_plan *plan);
/* The plan's file; the caller frees it. */
char *plan_print(const ons_plan *plan, uint64_t seed);

#endif
