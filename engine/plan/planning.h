/* What `onstage plan` does, from a model's or a cost graph's file to the text of a plan: the workload and its costs,
 * the problem for the planner, what the planner found, and the pages about it. `onstage train` that plans for itself
 * begins at the same problem (problem.h). */
#ifndef ONSTAGE_ENGINE_PLAN_PLANNING_H
#define ONSTAGE_ENGINE_PLAN_PLANNING_H

#include "engine/config/device_list.h"
#include "engine/plan/degree_choice.h"
#include "engine/plan/plan_input.h"
#include "planner/search/portfolio.h"

struct ons_planning {
    ons_arena *arena;
    ons_config *config;         /* a copy */
    ons_model *model;           /* NULL: planned from a cost graph */
    ons_device_profile profile; /* of all devices, or of the first */
    ons_device_list devices;    /* where they differ */
    const ons_partition_strategy *strategy;
    ons_planning_problem problem;
    ons_plan_input input; /* of a model */
    ons_workload file;    /* of a cost graph */
    ons_planned planned;
    ons_portfolio portfolio;   /* of --pipeline auto; count 0: the schedule was given */
    ons_degree_choice degrees; /* of --replicas auto */
    const char *division; /* of several --profile: which way the processors are divided, and why; NULL: one is given */
    ons_plan plan;
    int64_t least_bytes; /* nothing fits: the smallest --memory found that does; 0: not known */
    char *report_text;   /* NULL: no report was asked for */
    char *text;
};

/* Checks what is asked for, and plans; the number of replicas is given. Also where no plan fits there is a planning,
 * about which a report can be made; after other failures it may be NULL. The caller frees it. */
ons_status *ons_planning_make(const char *path, const ons_config *config, ons_planning **planning);

/* The problem for a batch of so many samples in so many micro-batches; frees the input of an earlier one. */
ons_status *ons_planning_pose(ons_planning *planning, int64_t batch, int64_t micro_batches);

/* Whether the plan is what `onstage train` would do on this machine, as far as memory goes; then
 * ons_planning_make_exact replaces the estimate of its memory by the arena that the trainer would take, to the byte. */
bool ons_planning_is_exact(const ons_planning *planning);
ons_status *ons_planning_make_exact(ons_planning *planning, int64_t *largest); /* the largest stage's arena */

/* Writes the page that --report asks for, also where nothing fits; its short form for the terminal in *text (where it
 * does not fit: what is to be added to the failure's message), to be freed with free(). */
ons_status *ons_planning_report(const ons_planning *planning, char **text);

/* The plan in words, and the report's; free with free(). */
ons_status *ons_planning_describe(const ons_planning *planning, char **text);

#endif
