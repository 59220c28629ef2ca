#include <stdlib.h>
#include <string.h>

#include "engine/trainer.h"

/* The dataset field that feeds input `index` of a stage graph, and the sample that the model wants of it. */
static ons_status *describe_field(const ons_model *model, const ons_course *course, uint32_t index,
                                  ons_feed_field *field) {
    const ons_stage_graph *stage = &course->full;
    bool target = index >= model->graph->inputs.count;
    const char *name =
        target ? ONS_TARGET_FIELD : ons_graph_value(model->graph, model->graph->inputs.items[index])->name;
    ons_type type = ons_graph_value(stage->graph, stage->inputs[index])->type;
    ONS_CHECK(type.shape.rank > 0, ONS_UNSUPPORTED, "model input '%s' is a scalar: it has no axis for samples", name);
    field->field = ons_dataset_find(course->dataset, name);
    field->sample = (ons_type){.dtype = type.dtype, .shape = ons_shape_make(type.shape.rank - 1, type.shape.dims + 1)};
    return NULL;
}

static ons_status *build_feed(const ons_course_options *o, ons_course *course) {
    uint32_t count = course->full.input_count;
    ons_feed_field *fields = calloc(count + 1, sizeof *fields);
    if (fields == NULL) return ons_status_out_of_memory();
    ons_status *status = NULL;
    for (uint32_t i = 0; status == NULL && i < count; ++i) status = describe_field(o->model, course, i, &fields[i]);
    if (status == NULL) status = ons_feed_init(&course->feed, course->dataset, fields, count, o->batch);
    free(fields);
    course->target_field = course->full.target == ONS_NONE ? ONS_NO_FIELD : count - 1;
    return status;
}

static ons_status *build_unit(const ons_course_options *o, const ons_course *course, int64_t rows,
                              ons_stage_graph *stage, ons_unit *unit) {
    ons_stage_graph_options options = {
        .model = o->model,
        .config = o->config,
        .dataset = course->dataset,
        .rows = rows,
        .training = o->training,
        .repeats = o->repeats,
    };
    ONS_TRY(ons_stage_graph_build(&options, stage));
    ons_program_options program = {.repeats = o->repeats, .kept = stage->kept, .kept_count = stage->kept_count};
    *unit = (ons_unit){.rows = (size_t)rows};
    ONS_TRY(ons_machine_add(o->machine, stage->graph, &program, &unit->program));
    unit->inputs = stage->inputs;
    unit->loss = stage->loss;
    unit->norm = stage->update.norm;
    unit->squares = stage->squares;
    return NULL;
}

ons_status *ons_course_build(const ons_course_options *o, ons_course *course) {
    ONS_TRY(build_unit(o, course, o->rows, &course->full, &course->full_unit));
    if (o->rest > 0) ONS_TRY(build_unit(o, course, o->rest, &course->rest, &course->rest_unit));
    ONS_TRY(build_feed(o, course));
    if (course->full.loss != ONS_NONE) {
        ons_loss_options loss;
        ONS_TRY(ons_config_loss(o->config, &loss));
        course->counts_classes = ons_loss_counts_classes(loss.role);
    }
    return NULL;
}

void ons_course_free(ons_course *course) {
    ons_stage_graph_free(&course->full);
    ons_stage_graph_free(&course->rest);
    ons_feed_free(&course->feed);
    ons_dataset_free(course->dataset);
    *course = (ons_course){0};
}

ons_evaluator_options ons_course_evaluator(const ons_course *course, ons_machine *machine, const ons_config *config) {
    return (ons_evaluator_options){
        .machine = machine,
        .feed = (ons_feed *)&course->feed,
        .full = course->full_unit,
        .rest = course->rest_unit,
        .samples = ons_dataset_count(course->dataset),
        .target_field = course->target_field,
        .counts_classes = course->counts_classes,
        .ignore_index = (int64_t)config->ignore_index.value,
        .full_prediction = course->full.prediction,
        .rest_prediction = course->rest.prediction,
        .class_axis = course->full.class_axis,
    };
}

ons_status *ons_check_memory_cap(const ons_machine *machine, int64_t cap) {
    ons_machine_memory memory;
    ONS_TRY(ons_machine_predict(machine, &memory));
    ONS_CHECK(
        cap == 0 || memory.total <= cap, ONS_OUT_OF_MEMORY,
        "--memory %lld bytes is too little: %lld are needed (weights %lld, optimiser and accumulators %lld, constants "
        "%lld, activations and gradients %lld); a larger --micro-batches needs fewer",
        (long long)cap, (long long)memory.total, (long long)(memory.parameters + memory.buffers),
        (long long)memory.states, (long long)memory.constants, (long long)memory.transient);
    return NULL;
}
