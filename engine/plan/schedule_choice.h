/* --pipeline auto: schedules of the portfolio that fit as estimated, the fastest first, for whoever finds out what
 * their memory really is. */
#ifndef ONSTAGE_ENGINE_PLAN_SCHEDULE_CHOICE_H
#define ONSTAGE_ENGINE_PLAN_SCHEDULE_CHOICE_H

#include "planner/search/portfolio.h"

typedef struct ons_schedule_choice {
    ons_pipeline pipeline;
    const ons_partition_strategy *strategy;
} ons_schedule_choice;

typedef struct ons_schedule_choices {
    ons_schedule_choice *items; /* 1F1B, or what comes nearest to it, stands last where it does not fit */
    uint32_t count;
} ons_schedule_choices;

/* Searches; nothing of the choices lies elsewhere than in `arena`. */
ons_status *ons_schedule_choices_find(const ons_planning_problem *problem, const ons_partition_strategy *strategy,
                                      ons_arena *arena, ons_schedule_choices *choices);

#endif
