#include "engine/plan_input.h"

#include <inttypes.h>

/* Measured, where a profile is given, otherwise by the device's analytic model. */
static ons_status *find_costs(const ons_plan_input_options *o, ons_plan_input *in) {
    if (o->config->profile == NULL) return ons_graph_cost_analytic(in->stage.graph, o->profile, in->arena, &in->cost);
    ons_node_costs costs;
    ONS_TRY(ons_node_costs_load(o->config->profile, in->arena, &costs));
    return ons_node_costs_apply(&costs, in->stage.graph, in->stage.rows, in->arena, &in->cost, &in->measured);
}

static ons_status *make(const ons_plan_input_options *o, ons_plan_input *in) {
    in->arena = ons_arena_new();
    if (in->arena == NULL) return ons_status_out_of_memory();
    ONS_CHECK(o->micro_batches <= o->batch, ONS_INVALID_ARGUMENT,
              "--batch %" PRId64 " has too few samples for %" PRId64 " micro-batches", o->batch, o->micro_batches);
    in->batch = o->batch;
    in->micro_batches = o->micro_batches;
    ons_stage_graph_options graph = {
        .model = o->model,
        .config = o->config,
        .rows = (o->batch + o->micro_batches - 1) / o->micro_batches,
        .training = true,
        .repeats = o->accumulates,
        .unfused = o->unfused,
        .laid_out_as_in_file = !o->profile->processor,
        .joins_elementwise = !o->profile->processor,
    };
    ONS_TRY(ons_stage_graph_build(&graph, &in->stage));
    ons_stage_graph_options less = graph;
    less.rows = graph.rows - 1;
    if (o->exact && o->batch % o->micro_batches != 0) ONS_TRY(ons_stage_graph_build(&less, &in->less));
    ONS_TRY(find_costs(o, in));
    ons_graph_work_options work = {
        .graph = in->stage.graph,
        .registry = o->model->registry,
        .cost = &in->cost,
        .samples = graph.rows,
        .early_updates = o->one_stage && !o->accumulates,
    };
    return ons_graph_work_make(&work, in->arena, &in->graph_work);
}

ons_status *ons_plan_input_make(const ons_plan_input_options *options, ons_plan_input *input) {
    *input = (ons_plan_input){0};
    ons_status *status = make(options, input);
    if (status != NULL) ons_plan_input_free(input);
    return status;
}

void ons_plan_input_free(ons_plan_input *input) {
    ons_stage_graph_free(&input->stage);
    ons_stage_graph_free(&input->less);
    ons_arena_free(input->arena);
    *input = (ons_plan_input){0};
}
