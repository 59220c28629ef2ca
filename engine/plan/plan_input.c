#include "engine/plan/plan_input.h"

#include <inttypes.h>

#include "engine/config/config_words.h"
#include "engine/model/loss_division.h"

ons_status *ons_plan_costs_find(const ons_model *model, const ons_config *config, const ons_device_profile *profile,
                                const ons_model_graph *stage, bool updates_in_backward, ons_arena *arena,
                                ons_plan_costs *costs) {
    *costs = (ons_plan_costs){0};
    if (config->profile == NULL) {
        ONS_TRY(ons_graph_cost_analytic(stage->graph, profile, arena, &costs->cost));
    } else {
        ons_node_costs measured;
        ONS_TRY(ons_node_costs_load(config->profile, arena, &measured));
        ONS_TRY(ons_node_costs_apply(&measured, stage->graph, stage->rows, arena, &costs->cost, &costs->measured));
        if (config->device_profile != NULL)
            ONS_TRY(ons_node_costs_carry(&measured, stage->graph, profile, arena, &costs->cost));
    }
    const ons_graph_work_options options = {
        .graph = stage->graph,
        .registry = model->registry,
        .cost = &costs->cost,
        .samples = stage->rows,
        .updates_in_backward = updates_in_backward,
        .owners = ons_config_update_owners(config),
    };
    return ons_graph_work_make(&options, arena, &costs->graph_work);
}

static ons_status *make(const ons_plan_input_options *o, ons_plan_input *in) {
    in->arena = ons_arena_new();
    if (in->arena == NULL) return ons_status_out_of_memory();
    int64_t together = o->micro_batches * (o->replicas > 1 ? o->replicas : 1);
    ONS_CHECK(together <= o->batch, ONS_INVALID_ARGUMENT,
              "--batch %" PRId64 " has too few samples for %" PRId64 " micro-batches", o->batch, together);
    in->batch = o->batch;
    in->micro_batches = o->micro_batches;
    ons_model_graph_options graph = {
        .model = o->model,
        .config = o->config,
        .rows = (o->batch + together - 1) / together,
        .training = true,
        .repeats = o->accumulates,
        .unfused = o->unfused,
        .for_gpu = !o->profile->processor,
    };
    ONS_TRY(ons_explain_part(o->model, o->config, o->batch, together, ons_model_graph_build(&graph, &in->stage)));
    if (o->config->stage_sizes.value != ONS_STAGES_BARRIER)
        ONS_TRY(ons_refuse_loss_in_parts(o->model, o->config, &in->stage.loss_obstacle));
    ons_model_graph_options less = graph;
    less.rows = graph.rows - 1;
    less.like = in->stage.graph;
    if (o->exact && o->batch % together != 0) ONS_TRY(ons_model_graph_build(&less, &in->less));
    return ons_plan_costs_find(o->model, o->config, o->profile, &in->stage, o->one_stage && !o->accumulates, in->arena,
                               &in->costs);
}

ons_status *ons_plan_input_make(const ons_plan_input_options *options, ons_plan_input *input) {
    *input = (ons_plan_input){0};
    ons_status *status = make(options, input);
    if (status != NULL) ons_plan_input_free(input);
    return status;
}

void ons_plan_input_free(ons_plan_input *input) {
    ons_model_graph_free(&input->stage);
    ons_model_graph_free(&input->less);
    ons_arena_free(input->arena);
    *input = (ons_plan_input){0};
}
