/* The time of a plan's step, from the file alone: docs/plan.md, "How step_seconds follows", without a line of the
 * planner. */
#ifndef ONSTAGE_TESTS_ROOMS_PLANNER_PLAN_EVALUATION_H
#define ONSTAGE_TESTS_ROOMS_PLANNER_PLAN_EVALUATION_H

#include <stdbool.h>

enum { PLAN_EVALUATE_TEXT = 128 };

/* `json`: the file's text. False: it cannot be judged, and `why` says why. `predicted` is what the file says itself. */
bool plan_evaluate(const char *json, double *step_seconds, double *predicted, char why[static PLAN_EVALUATE_TEXT]);

#endif
