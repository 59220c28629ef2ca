#include "engine/profile_program.h"

ons_status *ons_profile_program_build(const ons_profile_program_options *o, ons_profile_program *program) {
    ons_step_form form = ons_step_form_of(&o->pipeline);
    ons_course *course = &program->course;
    /* Not by ons_course_build: nobody needs to say the loss of a model that is only measured. */
    const ons_stage_graph_options graph = {.model = o->model,
                                           .config = o->config,
                                           .dataset = course->dataset,
                                           .rows = o->rows,
                                           .training = true,
                                           .repeats = form.repeats,
                                           .for_gpu = ons_config_uses_cuda(o->config)};
    ONS_TRY(ons_stage_graph_build(&graph, &course->graphs[ONS_WHOLE]));
    if (ons_config_uses_cuda(o->config))
        ONS_TRY(ons_program_check(course->graphs[ONS_WHOLE].graph, ons_backend_find("cuda"), "--device cuda"));
    return ons_course_cut_whole(o->model, form, course);
}

ons_status *ons_profile_program_add(const ons_profile_program_options *o, ons_machine *machine,
                                    ons_profile_program *program) {
    const ons_pipeline alone = {&ons_generator_gpipe, 1, o->slots, 1, 1};
    ons_schedule schedule;
    ONS_TRY(ons_schedule_make(&alone, program->course.cuts[ONS_WHOLE].arena, &schedule));
    const ons_share_options share = {
        .model = o->model,
        .course = &program->course,
        .machine = machine,
        .repeats = ons_step_form_of(&o->pipeline).repeats,
        .schedule = &schedule,
        .micro_batches = o->slots,
        .versions = 1,
    };
    ONS_TRY(ons_share_prepare(&share, &program->trained));
    if (!program->course.graphs[ONS_WHOLE].squares_idle) return NULL;
    program->course.graphs[ONS_WHOLE].squares_idle = false;
    ons_status *status = ons_share_prepare(&share, &program->complete);
    program->course.graphs[ONS_WHOLE].squares_idle = true;
    return status;
}

void ons_profile_program_free(ons_profile_program *program) {
    ons_share_free(&program->trained);
    ons_share_free(&program->complete);
    ons_course_free(&program->course);
}
