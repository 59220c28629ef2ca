/* From a model and options to what the planner plans. */
#ifndef ONSTAGE_ENGINE_PLAN_PLAN_INPUT_H
#define ONSTAGE_ENGINE_PLAN_PLAN_INPUT_H

#include "engine/model/model.h"
#include "engine/model/model_graph.h"
#include "planner/cost/graph_work.h"
#include "planner/cost/node_costs.h"
#include "planner/plan/plan.h"

/* What the nodes of a training graph cost. */
typedef struct ons_plan_costs {
    ons_graph_cost cost;
    ons_node_costs_use measured; /* with --profile: nodes whose time was measured, and others */
    ons_graph_work graph_work;   /* graph_work.work is what is planned */
} ons_plan_costs;

/* Measured, where --profile gives a file (carried over to `profile`, where --device-profile names it), otherwise by the
 * device's analytic model. Results in `arena`. */
ons_status *ons_plan_costs_find(const ons_model *model, const ons_config *config, const ons_device_profile *profile,
                                const ons_model_graph *stage, bool updates_in_backward, ons_arena *arena,
                                ons_plan_costs *costs);

typedef struct ons_plan_input {
    ons_arena *arena;      /* owned */
    ons_model_graph stage; /* of the largest micro-batch, which is what is planned */
    ons_model_graph less;  /* of those that have one sample less; .graph NULL: there are none, or nobody asked */
    ons_plan_costs costs;
    int64_t batch, micro_batches;
} ons_plan_input;

typedef struct ons_plan_input_options {
    const ons_model *model;
    const ons_config *config;
    const ons_device_profile *profile; /* of a CPU: with the blocked layouts of this machine's kernels */
    int64_t batch, micro_batches;
    bool accumulates; /* gradients are summed over micro-batches: always so in a pipeline */
    int64_t replicas; /* that share the batch, each with so many micro-batches; 0: one */
    bool one_stage;   /* nothing else is planned with this input than one stage */
    bool unfused;     /* see ons_model_graph_options */
    bool exact;       /* all graphs of a whole step are wanted */
} ons_plan_input_options;

ons_status *ons_plan_input_make(const ons_plan_input_options *options, ons_plan_input *input);
void ons_plan_input_free(ons_plan_input *input); /* a zeroed one is fine */

#endif
