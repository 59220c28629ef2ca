/* The models of GraphPipe's evaluation as workloads for V100s, from what its paper says of them (sections 7.2, 7.5 and
 * A.2); what it does not say is in bench/results/stage_graphs.md, with the results. For //bench:stage_graphs. */
#ifndef ONSTAGE_BENCH_STAGE_GRAPH_MODELS_H
#define ONSTAGE_BENCH_STAGE_GRAPH_MODELS_H

#include "planner/cost/device_profile.h"
#include "planner/stage_graph/interval_costs.h"
#include "tests/rooms/planner/branch_work.h"

enum { MODEL_SIZES = 16, MODEL_DEVICE_COUNTS = 4 };
extern const uint32_t model_devices[MODEL_DEVICE_COUNTS]; /* 4, 8, 16, 32 */

/* A V100 of Summit. */
typedef struct model_machine {
    ons_device_profile profile;
    double half;    /* FLOPs at which a matrix product reaches half of the speed of large ones */
    uint32_t share; /* GPUs that use the node's link to others at the same time */
} model_machine;

typedef ons_status *model_make(const model_machine *hardware, uint32_t branches, ons_arena *arena, branch_graph *graph);
model_make model_multi_modal, model_dlrm, model_candle, model_sequential;
/* Section 7.5's: two branches of four layers, a multi-head attention and two linear layers each. */
model_make model_case_study;

typedef struct model {
    const char *name;
    model_make *make;
    uint32_t branches[2]; /* by section 7.2, by A.2; DLRM: dense ones, and as many sparse ones */
    const char *shapes[2];
    int64_t batch[MODEL_DEVICE_COUNTS];        /* A.2 */
    double paper_seconds[MODEL_DEVICE_COUNTS]; /* Table 1 */
} model;
enum { MODELS = 3 };
extern const model models[MODELS];

/* Sets the efficiency curve: section 7.5's stage, with micro-batches of 4 samples instead of 2, takes `ratio` times as
 * long. */
void model_calibrate(model_machine *hardware, double ratio);

/* Makes the problem of a model on so many devices; up to four are a node. `hardware`, `problem`: the problem points to
 * the first. Everything in the graph's arena. */
ons_status *model_problem(const model_machine *hardware, const branch_graph *graph, uint32_t devices, int64_t batch,
                          ons_planning_problem *links, ons_graph_problem *problem);

#endif
