#include "engine/trainer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/results.h"

/* ------------------------------------------------------------------------------------------------------------ building
 */

static ons_status *build_training(ons_trainer *t) {
    ONS_TRY(ons_open_training_data(t->model, t->config, &t->training.dataset));
    ONS_TRY(ons_choose_batching(t->model, t->config, &t->batching));
    int64_t samples = (int64_t)ons_dataset_count(t->training.dataset);
    if (!t->batching.fixed && t->batching.micro_batches == 1 && t->batching.batch > samples)
        t->batching.batch = t->batching.rows = samples; /* no memory for a batch that never comes */
    ons_course_options options = {
        .model = t->model,
        .config = t->config,
        .machine = t->machine,
        .rows = t->batching.rows,
        .rest = t->batching.fixed ? 0 : samples % t->batching.rows,
        .batch = (size_t)t->batching.batch,
        .training = true,
        .repeats = t->batching.micro_batches > 1,
    };
    return ons_course_build(&options, &t->training);
}

static ons_status *build_validation(ons_trainer *t) {
    ONS_TRY(ons_open_validation_data(t->model, t->config, &t->validation.dataset));
    if (t->validation.dataset == NULL) return NULL;
    int64_t samples = (int64_t)ons_dataset_count(t->validation.dataset);
    int64_t rows = t->batching.fixed || t->batching.rows <= samples ? t->batching.rows : samples;
    ons_course_options options = {
        .model = t->model,
        .config = t->config,
        .machine = t->machine,
        .rows = rows,
        .rest = t->batching.fixed ? 0 : samples % rows,
        .batch = (size_t)rows,
    };
    return ons_course_build(&options, &t->validation);
}

static ons_status *build_stepper(ons_trainer *t) {
    ons_course *c = &t->training;
    ons_stepper_options options = {
        .machine = t->machine,
        .feed = &c->feed,
        .full = c->full_unit,
        .rest = c->rest_unit,
        .batch = (size_t)t->batching.batch,
        .order = {ons_dataset_count(c->dataset), (uint64_t)t->config->seed, t->config->shuffle},
        .target_field = c->target_field,
        .counts_classes = c->counts_classes,
        .ignore_index = (int64_t)t->config->ignore_index.value,
        .observer = t->config->trace == NULL ? NULL : ons_trainer_observe,
        .observer_context = t,
    };
    ONS_TRY(ons_stepper_new(&options, &t->stepper));
    t->steps_per_epoch = (int64_t)ons_stepper_steps_per_epoch(t->stepper);
    t->steps = t->config->steps;
    if (t->steps == 0)
        ONS_CHECK(!__builtin_mul_overflow(t->config->epochs, t->steps_per_epoch, &t->steps), ONS_INVALID_ARGUMENT,
                  "--epochs %lld is too many", (long long)t->config->epochs);
    t->validate_every = t->config->val_every > 0 ? t->config->val_every : t->steps_per_epoch;
    return NULL;
}

/* FNV-1a over what decides the run's numbers: the training graph with all its attributes, and how samples are drawn. */
static ons_status *compute_digest(ons_trainer *t) {
    char *graph;
    ONS_TRY(ons_graph_print(t->training.full.graph, &graph));
    char run[160];
    snprintf(run, sizeof run, "%" PRId64 " %" PRId64 " %" PRId64 " %d %" PRIu64, t->batching.batch,
             t->batching.micro_batches, t->config->seed, t->config->shuffle, ons_dataset_count(t->training.dataset));
    uint64_t hash = 14695981039346656037u;
    for (const char *text = graph; *text != '\0'; ++text) hash = (hash ^ (unsigned char)*text) * 1099511628211u;
    for (const char *text = run; *text != '\0'; ++text) hash = (hash ^ (unsigned char)*text) * 1099511628211u;
    free(graph);
    t->digest = hash;
    return NULL;
}

static ons_status *build(ons_trainer *t) {
    ONS_TRY(ons_config_check_supported(t->config));
    ONS_CHECK(t->config->outputs.count == 0, ONS_INVALID_ARGUMENT,
              "--output: training writes no outputs; `onstage eval` does");
    ONS_TRY(ons_check_results(t->model, t->config));
    ONS_TRY(ons_config_schedule(t->config, &t->schedule));
    ONS_TRY(ons_config_threads(t->config, &t->threads));
    int64_t cap;
    ONS_TRY(ons_config_memory(t->config, &cap));
    ons_device *device;
    ONS_TRY(ons_cpu_device_new(cap, t->config->pin, &device));
    ONS_TRY(ons_machine_new(device, t->model->registry, t->threads, &t->machine));
    ONS_TRY(build_training(t));
    ONS_TRY(build_validation(t));
    ONS_TRY(ons_check_memory_cap(t->machine, cap));
    ONS_TRY(ons_machine_start(t->machine));
    ONS_TRY(build_stepper(t));
    ONS_TRY(compute_digest(t));
    bool resumed;
    ONS_TRY(ons_trainer_resume(t, &resumed));
    return ons_trainer_open_logs(t, resumed);
}

ons_status *ons_trainer_new(ons_model *model, const ons_config *config, ons_trainer **result) {
    ons_trainer *t = calloc(1, sizeof *t);
    if (t == NULL) return ons_status_out_of_memory();
    t->model = model;
    t->config = ons_config_hold(config);
    t->arena = ons_arena_new();
    ons_status *status = t->arena == NULL ? ons_status_out_of_memory() : build(t);
    if (status != NULL) {
        ons_trainer_free(t);
        return ons_status_at(status, "%s", model->path);
    }
    *result = t;
    return NULL;
}

void ons_trainer_free(ons_trainer *t) {
    if (t == NULL) return;
    ons_trainer_close_logs(t);
    ons_stepper_free(t->stepper);
    ons_machine_free(t->machine);
    ons_course_free(&t->training);
    ons_course_free(&t->validation);
    ons_config_free(t->config);
    ons_arena_free(t->arena);
    free(t->notes);
    free(t);
}

/* ------------------------------------------------------------------------------------------------------------ stepping
 */

bool ons_trainer_done(const ons_trainer *t) { return t->step >= t->steps; }

ons_status *ons_trainer_evaluate(ons_trainer *t, ons_evaluation *evaluation) {
    ONS_CHECK(t->validation.dataset != NULL, ONS_INVALID_ARGUMENT,
              "there is nothing to validate on; give --val-input and --val-target, --val-tokens or --val-rows");
    ons_evaluator_options options = ons_course_evaluator(&t->validation, t->machine, t->config);
    ons_evaluation_result result;
    int64_t start = ons_trace_now();
    ONS_TRY(ons_evaluator_run(&options, &result));
    *evaluation = (ons_evaluation){(int64_t)result.samples, result.loss, result.accuracy,
                                   (double)(ons_trace_now() - start) * 1e-9, (int64_t)result.dropped};
    return NULL;
}

static ons_status *validate(ons_trainer *t, ons_step_report *report) {
    bool due = t->validation.dataset != NULL && (t->step % t->validate_every == 0 || ons_trainer_done(t));
    if (!due) return NULL;
    ons_evaluation evaluation;
    ONS_TRY(ons_trainer_evaluate(t, &evaluation));
    report->validated = true;
    report->validation_loss = evaluation.loss;
    report->validation_accuracy = evaluation.accuracy;
    return NULL;
}

static ons_status *keep_checkpoint(ons_trainer *t, ons_step_report *report) {
    int64_t every = t->config->checkpoint_every;
    bool due = t->config->checkpoint != NULL && ((every > 0 && t->step % every == 0) || ons_trainer_done(t));
    if (!due) return NULL;
    report->checkpointed = true;
    return ons_trainer_checkpoint(t);
}

static void fill_report(ons_trainer *t, const ons_step_result *result, double rate, double seconds,
                        ons_step_report *report) {
    /* The first steps fault pages in and warm caches: the mean forgets them soon. */
    t->seconds_a_step = t->seconds_a_step == 0 ? seconds : 0.95 * t->seconds_a_step + 0.05 * seconds;
    *report = (ons_step_report){
        .step = t->step,
        .steps = t->steps,
        .epoch = (double)t->step / (double)t->steps_per_epoch,
        .loss = result->loss,
        .learning_rate = rate,
        .grad_norm = result->norm,
        .samples_per_second = (double)result->samples / t->seconds_a_step,
        .seconds_left = t->seconds_a_step * (double)(t->steps - t->step),
        .memory_peak_bytes = ons_machine_used(t->machine),
        .resident_bytes = ons_resident_bytes(),
        .validation_loss = NAN,
        .validation_accuracy = NAN,
    };
}

ons_status *ons_trainer_step(ons_trainer *t, ons_step_report *report) {
    ONS_CHECK(!ons_trainer_done(t), ONS_INVALID_ARGUMENT, "all %lld steps are done", (long long)t->steps);
    int64_t step = t->step + 1;
    double rate = ons_learning_rate(t->schedule, ons_config_base_rate(t->config), t->config->warmup, step, t->steps);
    ons_step_result result;
    int64_t start = ons_trace_now();
    ONS_TRY(ons_stepper_run(t->stepper, (uint64_t)step, rate, step == t->steps, &result));
    t->step = step;
    fill_report(t, &result, rate, (double)(ons_trace_now() - start) * 1e-9, report);
    ONS_CHECK(
        isfinite(result.loss), ONS_DIVERGED,
        "step %lld: the loss is %s; lower --lr, add --warmup or --clip-norm, or look for inputs that are not finite",
        (long long)step, isnan(result.loss) ? "no longer a number" : "infinite");
    ONS_TRY(validate(t, report));
    ONS_TRY(ons_trainer_log_step(t, report, result.last));
    return keep_checkpoint(t, report);
}

/* -------------------------------------------------------------------------------------------------------------- status
 */

static ons_status *write_notes(ons_trainer *t) {
    free(t->notes);
    t->notes = NULL;
    size_t size;
    FILE *out = open_memstream(&t->notes, &size);
    if (out == NULL) return ons_status_out_of_memory();
    uint64_t dropped = ons_stepper_dropped(t->stepper);
    if (dropped > 0)
        fprintf(out,
                "samples left out at the end of every epoch: %" PRIu64 "; the model was exported for batches of %lld\n",
                dropped, (long long)t->batching.rows);
    return fclose(out) == 0 ? NULL : ons_status_out_of_memory();
}

ons_status *ons_trainer_get_status(ons_trainer *t, ons_trainer_status *status) {
    ons_machine_memory memory;
    ONS_TRY(ons_machine_predict(t->machine, &memory));
    ONS_TRY(write_notes(t));
    int64_t trainable = 0;
    for (uint32_t i = 0; i < t->training.full.update.trained_count; ++i) {
        const ons_trained *each = &t->training.full.update.trained[i];
        trainable += ons_shape_elements(&ons_graph_value(t->training.full.graph, each->parameter)->type.shape);
    }
    *status = (ons_trainer_status){
        .step = t->step,
        .steps = t->steps,
        .steps_per_epoch = t->steps_per_epoch,
        .samples = (int64_t)ons_dataset_count(t->training.dataset),
        .batch = t->batching.batch,
        .micro_batches = t->batching.micro_batches,
        .threads = t->threads,
        .trainable_elements = trainable,
        .arena_bytes = ons_machine_used(t->machine),
        .predicted_bytes = memory.total,
        .parameter_bytes = memory.parameters,
        .state_bytes = memory.states,
        .buffer_bytes = memory.buffers,
        .constant_bytes = memory.constants,
        .transient_bytes = memory.transient,
        .transient_lower_bound = memory.lower_bound,
        .resident_bytes = ons_resident_bytes(),
        .notes = t->notes,
        .out = t->config->out,
        .checkpoint = t->config->checkpoint,
    };
    return NULL;
}

ons_status *ons_trainer_read(ons_trainer *t, const char *initialiser, float *values, size_t count) {
    ons_type type;
    const void *address = ons_machine_find(t->machine, initialiser, &type);
    ONS_CHECK(address != NULL && type.dtype == ONS_FLOAT32, ONS_INVALID_ARGUMENT,
              "there is no float32 weight named '%s'", initialiser);
    ONS_CHECK(count == (size_t)ons_shape_elements(&type.shape), ONS_INVALID_ARGUMENT, "'%s' has %lld elements, not %zu",
              initialiser, (long long)ons_shape_elements(&type.shape), count);
    memcpy(values, address, count * sizeof *values);
    return NULL;
}
