/* From a plan to stages: which node of a training graph runs where, what is swapped or computed again.
 *
 * The plan speaks in names of forward nodes and tensors; the graphs of a run are several, one for each variant of its
 * micro-batches, which differ in shapes and, here and there, in layouts.
 */
#ifndef ONSTAGE_ENGINE_PLAN_LOWERING_H
#define ONSTAGE_ENGINE_PLAN_LOWERING_H

#include "engine/plan/schedule_choice.h"
#include "engine/stages/dataset_graphs.h"
#include "planner/plan/plan.h"
#include "planner/schedule/lanes.h"

typedef struct ons_lowering {
    ons_arena *arena; /* owned */
    bool planned;     /* false: one stage, whose memory nobody plans; the rest is not set */
    ons_pipeline pipeline;
    ons_plan plan;
    ons_schedule_lanes lanes; /* of the plan's schedule: what its devices carry out, each with one cut of the graphs */
    ons_map names;            /* of forward nodes of the planned graph */
    uint32_t *stage_of_name;
    uint32_t name_count;
} ons_lowering;

typedef struct ons_lowering_request {
    const ons_model *model;
    const ons_config *config;
    const ons_model_graph *graph; /* of training */
    const ons_batching *batching;
    const ons_schedule_choice *choice; /* NULL: the schedule is as the configuration says */
} ons_lowering_request;

/* Makes a plan by the configuration (--stages, --pipeline, --partition, …). `capacity`: of each device in bytes; 0:
 * none. Fails where nothing fits, with what would. */
ons_status *ons_lowering_make(const ons_lowering_request *request, int64_t capacity, ons_lowering *lowering);
/* The smallest capacity that a plan is known for. */
ons_status *ons_lowering_least(const ons_lowering_request *request, int64_t *bytes);
/* Which schedules may be tried. In `arena`. */
ons_status *ons_lowering_choose(const ons_lowering_request *request, int64_t capacity, ons_arena *arena,
                                ons_schedule_choices *choices);
/* The plan of a file's text; nothing is placed yet. */
ons_status *ons_lowering_parse(const char *text, size_t size, ons_lowering *lowering);
/* ONS_INVALID_ARGUMENT where the plan was made for another model, batch, loss, …: with what differs. */
ons_status *ons_lowering_check(const ons_model *model, const ons_config *config, const ons_model_graph *graph,
                               const ons_batching *batching, const ons_lowering *lowering);
/* Which stage each forward node of the planned graph is in; ons_lowering_make has done so. */
ons_status *ons_lowering_place(const ons_graph *graph, ons_lowering *lowering);

/* Whether what the file decides can be done: each action, with no more micro-batches between their forward and backward
 * parts than the schedule's places hold; each swap and recomputation, of a tensor and at nodes that the graph has. */
ons_status *ons_lowering_check_decisions(const ons_graph *graph, const ons_lowering *lowering);
void ons_lowering_free(ons_lowering *lowering); /* a zeroed one is fine */

/* Cuts a dataset's graphs (none: there is nothing to cut). What is swapped and computed again is said of training
 * graphs alone. `trained`: of validation graphs, the training graphs, which are cut already; NULL: these are the
 * training graphs. Validation reads each weight where it is trained; where it cannot, the failure names it. */
ons_status *ons_lowering_cut(const ons_lowering *lowering, const ons_model *model, const ons_dataset_graphs *trained,
                             ons_step_form form, ons_dataset_graphs *dataset_graphs);

#endif
