#include "engine/profile/profile_program.h"

#include "engine/model/layer_forms.h"

ons_status *ons_profile_program_build(const ons_profile_program_options *o, ons_profile_program *program) {
    ons_step_form form = ons_step_form_of(&o->pipeline);
    ons_dataset_graphs *dataset_graphs = &program->dataset_graphs;
    /* Not by ons_dataset_graphs_build: nobody needs to say the loss of a model that is only measured. */
    const ons_model_graph_options graph = {.model = o->model,
                                           .config = o->config,
                                           .dataset = dataset_graphs->dataset,
                                           .rows = o->rows,
                                           .training = true,
                                           .repeats = form.repeats,
                                           .for_gpu = ons_config_uses_cuda(o->config)};
    const ons_model_graph *whole = &dataset_graphs->graphs[ONS_WHOLE];
    ONS_TRY(ons_model_graph_build(&graph, &dataset_graphs->graphs[ONS_WHOLE]));
    ONS_TRY(ons_lone_values_refuse(o->config, whole->graph, whole->rows));
    if (ons_config_uses_cuda(o->config))
        ONS_TRY(ons_program_check(dataset_graphs->graphs[ONS_WHOLE].graph, ons_backend_find("cuda"), "--device cuda"));
    return ons_dataset_graphs_cut_whole(o->model, form, dataset_graphs);
}

ons_status *ons_profile_program_add(const ons_profile_program_options *o, ons_device_context *device_context,
                                    ons_profile_program *program) {
    const ons_pipeline alone = {&ons_generator_gpipe, 1, o->slots, 1, 1};
    ons_schedule schedule;
    ONS_TRY(ons_schedule_make(&alone, program->dataset_graphs.cuts[ONS_WHOLE].arena, &schedule));
    const ons_share_options share = {
        .model = o->model,
        .dataset_graphs = &program->dataset_graphs,
        .device_context = device_context,
        .repeats = ons_step_form_of(&o->pipeline).repeats,
        .schedule = &schedule,
        .micro_batches = o->slots,
        .versions = 1,
    };
    ONS_TRY(ons_share_prepare(&share, &program->trained));
    if (!program->dataset_graphs.graphs[ONS_WHOLE].squares_idle) return NULL;
    program->dataset_graphs.graphs[ONS_WHOLE].squares_idle = false;
    ons_status *status = ons_share_prepare(&share, &program->complete);
    program->dataset_graphs.graphs[ONS_WHOLE].squares_idle = true;
    return status;
}

void ons_profile_program_free(ons_profile_program *program) {
    ons_share_free(&program->trained);
    ons_share_free(&program->complete);
    ons_dataset_graphs_free(&program->dataset_graphs);
}
