#include "engine/train/trainer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/text.h"

#include "engine/config/plan_libraries.h"
#include "runtime/checkpoint/removal.h"
#include "runtime/data/convert.h"

ons_status *ons_trainer_new(ons_model *model, const ons_config *config, ons_trainer **result) {
    ONS_IN_C_LOCALE;
    ONS_GIVEN(model, "model");
    ONS_GIVEN(config, "config");
    ONS_GIVEN(result, "trainer");
    ons_trainer *t = calloc(1, sizeof *t);
    if (t == NULL) return ons_status_out_of_memory();
    t->process = getpid();
    t->model = model;
    t->arena = ons_arena_new();
    ons_status *status = t->arena == NULL ? ons_status_out_of_memory() : ons_config_copy(config, &t->config);
    if (status == NULL) status = ons_trainer_build(t);
    if (status == NULL) status = ons_arena_check(t->arena); /* of what is told before the first step */
    if (status != NULL) {
        status = ons_trainer_share_failure(t, ons_status_at(status, "%s", model->path));
        ons_trainer_free(t);
        return status;
    }
    *result = t;
    return NULL;
}

void ons_trainer_free(ons_trainer *t) {
    ONS_IN_C_LOCALE;
    if (t == NULL || t->process != getpid()) return; /* all of it is the process's that made it */
    ons_trainer_close_exchange(t);
    ons_trainer_close_best(t);
    ons_host_copy_free(&t->looked_at);
    ons_local_stages_free(t->local_stages); /* its threads write the trace */
    ons_trainer_close_logs(t);
    ons_removal_wait(); /* the folder is ours as long as something is done to it */
    ons_checkpoint_lock_release(t->lock);
    ons_dataset_graphs_free(&t->training);
    ons_dataset_graphs_free(&t->validation);
    ons_lowering_free(&t->lowering);
    for (uint32_t i = 0; i < t->transport_count; ++i) t->transports[i]->free(t->transports[i]);
    ons_config_free(t->config);
    ons_arena_free(t->arena);
    free(t->notes);
    ons_vector_free(&t->assumptions);
    free(t);
}

/* --------------------------------------------------------------------------------------------------------- stepping */

bool ons_trainer_done(const ons_trainer *t) { return t == NULL || t->step >= t->steps || ons_trainer_stops_early(t); }

void ons_trainer_request_stop(ons_trainer *t) {
    if (t != NULL) atomic_store(&t->stop_requested, true);
}

bool ons_trainer_stopping(const ons_trainer *t) {
    if (t == NULL) return false;
    return t->stopping || (!t->remote && atomic_load(&t->stop_requested));
}

ons_status *ons_trainer_evaluate(ons_trainer *t, ons_evaluation *evaluation) {
    ONS_IN_C_LOCALE;
    ONS_GIVEN(t, "trainer");
    ONS_GIVEN(evaluation, "evaluation");
    ONS_TRAINER_IS_HERE(t);
    ONS_CHECK(t->validation.dataset != NULL, ONS_INVALID_ARGUMENT,
              "there is nothing to validate on; give --val-input and --val-target, --val-tokens or --val-rows");
    ons_evaluation_result result;
    int64_t start = ons_trace_now();
    ONS_TRY(ons_local_stages_evaluate(t->local_stages, &result));
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
    return ons_trainer_note_validation(t, evaluation.loss);
}

static ons_status *keep_checkpoint(ons_trainer *t, ons_step_report *report) {
    int64_t every = t->config->checkpoint_every;
    bool due = t->config->checkpoint != NULL && ((every > 0 && t->step % every == 0) || ons_trainer_done(t));
    if (!due) return NULL;
    report->checkpointed = true;
    return ons_trainer_checkpoint(t);
}

static ons_status *fill_report(ons_trainer *t, const ons_step_result *result, double rate, double seconds,
                               ons_step_report *report) {
    ons_local_stages_memory memory;
    ONS_TRY(ons_local_stages_get_memory(t->local_stages, &memory));
    /* The first steps fault pages in and warm caches: the mean forgets them soon. */
    t->seconds_a_step = t->seconds_a_step == 0 ? seconds : 0.95 * t->seconds_a_step + 0.05 * seconds;
    bool scaled = !isnan(result->scale), skipped = scaled && !isfinite(result->norm);
    *report = (ons_step_report){
        .step = t->step,
        .steps = t->steps,
        .epoch = (double)t->step / (double)t->steps_per_epoch,
        .loss = result->loss,
        .learning_rate = rate,
        .grad_norm = skipped ? NAN : result->norm,
        .loss_scale = scaled ? result->scale : 0,
        .skipped = skipped,
        .step_seconds = seconds,
        .samples_per_second = (double)result->samples / t->seconds_a_step,
        .seconds_left = t->seconds_a_step * (double)(t->steps - t->step),
        .memory_peak_bytes = memory.used,
        .resident_bytes = ons_resident_bytes(),
        .validation_loss = NAN,
        .validation_accuracy = NAN,
    };
    return NULL;
}

/* What is loaded when it first runs has been loaded by the end of the second step. */
static ons_status *watch_memory(ons_trainer *t, ons_step_report *report) {
    ons_device *device = ons_device_context_device(ons_local_stages_get(t->local_stages, 0)->device_context);
    bool second = ++t->steps_here == 2;
    if (device->measure_memory == NULL || (!second && t->log == NULL)) return NULL;
    ONS_TRY(device->measure_memory(device, &report->free_bytes));
    if (second) t->free_early = report->free_bytes;
    return NULL;
}

/* Whether a step's forward part changes what is kept from step to step. */
static bool moves_statistics(const ons_trainer *t) {
    const ons_graph *graph = t->training.graphs[ONS_WHOLE].graph;
    bool any = false;
    for (ons_value_id id = 0; id < graph->values.count; ++id) {
        const ons_value *value = ons_graph_value(graph, id);
        any |= value->kind == ONS_BUFFER && value->pair != ONS_NONE;
    }
    return any;
}

/* Data are read before a step begins, and numbers that a node cannot take end it before the weights change. The steps
 * so far are good then, and a checkpoint keeps them; of several stages, some may have worked on the step already. Takes
 * over the failure, and says so in it. */
static ons_status *keep_steps(ons_trainer *t, ons_status *failure) {
    ons_status_code code = ons_status_get_code(failure);
    bool before_update = code == ONS_IO_ERROR || (code == ONS_INVALID_DATA && !moves_statistics(t));
    bool untouched = before_update && t->transports == NULL;
    if (!untouched || t->config->checkpoint == NULL) return failure;
    ons_status *kept = ons_trainer_checkpoint(t);
    if (kept == NULL)
        failure = ons_status_at(failure, "the run ends after step %lld, which --checkpoint %s --resume goes on from",
                                (long long)t->step, t->config->checkpoint);
    ons_status_free(kept);
    return failure;
}

ons_status *ons_trainer_step(ons_trainer *t, ons_step_report *report) {
    ONS_IN_C_LOCALE;
    ONS_GIVEN(t, "trainer");
    ONS_GIVEN(report, "report");
    ONS_TRAINER_IS_HERE(t);
    ONS_CHECK(t->step < t->steps, ONS_INVALID_ARGUMENT, "all %lld steps are done", (long long)t->steps);
    ONS_CHECK(!ons_trainer_stops_early(t), ONS_INVALID_ARGUMENT, "--early-stop %lld: the run has ended after step %lld",
              (long long)t->config->early_stop, (long long)t->step);
    int64_t step = t->step + 1;
    ons_rate rate = {ons_config_base_rate(t->config),
                     ons_rate_share(t->rate_schedule, t->config->warmup, step, t->steps)};
    ons_step_result result;
    int64_t start = ons_trace_now();
    if (t->begun == 0) t->begun = start;
    t->looked_name = NULL;
    ons_status *status = ons_local_stages_step(t->local_stages, (uint64_t)step, rate, step == t->steps, &result);
    ONS_TRY(keep_steps(t, ons_trainer_share_failure(t, status)));
    t->step = step;
    t->stopping = t->stopping || result.stop;
    ONS_TRY(fill_report(t, &result, rate.base * rate.share, (double)(ons_trace_now() - start) * 1e-9, report));
    ONS_TRY(watch_memory(t, report));
    ONS_CHECK(
        isfinite(result.loss), ONS_DIVERGED,
        "step %lld: the loss is %s; lower --lr, add --warmup or --clip-norm, %sor look for inputs that are not finite",
        (long long)step, isnan(result.loss) ? "no longer a number" : "infinite", ons_trainer_overflow_remedy(t));
    ONS_TRY(validate(t, report));
    ons_trainer_watch_recordings(t, report);
    ons_trainer_log_step(t, report);
    ONS_TRY(keep_checkpoint(t, report));
    ons_trainer_watch_room(t, report);
    return NULL;
}

/* ----------------------------------------------------------------------------------------------------------- status */

static ons_status *write_notes(ons_trainer *t) {
    free(t->notes);
    t->notes = NULL;
    size_t size;
    FILE *out = open_memstream(&t->notes, &size);
    if (out == NULL) return ons_status_out_of_memory();
    uint64_t dropped = ons_stepper_dropped(ons_local_stages_get(t->local_stages, 0)->stepper);
    if (t->training.left_out.count > 0) dropped = 0; /* a note says so */
    if (dropped > 0 && t->batching.fixed)
        fprintf(out,
                "samples left out at the end of every epoch: %" PRIu64 "; the model was exported for batches of %lld\n",
                dropped, (long long)t->batching.rows);
    else if (dropped > 0)
        fprintf(out,
                "samples left out at the end of every epoch: %" PRIu64
                "; --sync-batchnorm computes no micro-batch that "
                "replicas do not have alike\n",
                dropped);
    if (t->division != NULL) fprintf(out, "%s\n", t->division);
    if (t->in_parts != NULL) fprintf(out, "%s\n", t->in_parts);
    if (t->mixed != NULL) fprintf(out, "%s\n", t->mixed);
    if (t->passed_over != NULL) fprintf(out, "%s\n", t->passed_over);
    if (t->regrouped != NULL) fprintf(out, "%s\n", t->regrouped);
    if (t->other_bits != NULL) fprintf(out, "%s\n", t->other_bits);
    if (t->unkept != NULL) fprintf(out, "%s\n", t->unkept);
    if (t->config->plan != NULL) ons_plan_libraries_compare(&t->lowering.plan.subject, out);
    return ons_text_close(out, &t->notes);
}

static ons_status *fill_device(const ons_trainer *t, ons_trainer_status *status) {
    ons_device *device = ons_device_context_device(ons_local_stages_get(t->local_stages, 0)->device_context);
    status->free_bytes_early = t->free_early;
    if (device->measure_memory != NULL) ONS_TRY(device->measure_memory(device, &status->free_bytes));
    status->reserve_bytes = device->reserve_bytes;
    return NULL;
}

ons_status *ons_trainer_get_status(ons_trainer *t, ons_trainer_status *status) {
    ONS_IN_C_LOCALE;
    ONS_GIVEN(t, "trainer");
    ONS_GIVEN(status, "status");
    ONS_TRAINER_IS_HERE(t);
    ons_local_stages_memory memory;
    ONS_TRY(ons_local_stages_get_memory(t->local_stages, &memory));
    ONS_TRY(write_notes(t));
    int64_t trainable = 0;
    for (uint32_t i = 0; i < t->training.graphs[ONS_WHOLE].update.trained_count; ++i) {
        const ons_trained *each = &t->training.graphs[ONS_WHOLE].update.trained[i];
        trainable +=
            ons_shape_elements(&ons_graph_value(t->training.graphs[ONS_WHOLE].graph, each->parameter)->type.shape);
    }
    *status = (ons_trainer_status){
        .step = t->step,
        .steps = t->steps,
        .steps_per_epoch = t->steps_per_epoch,
        .samples = (int64_t)ons_dataset_count(t->training.dataset),
        .batch = t->batching.batch,
        .micro_batches = t->batching.micro_batches,
        .replicas = t->batching.replicas,
        .threads = t->threads,
        .trainable_elements = trainable,
        .arena_bytes = memory.used,
        .predicted_bytes = memory.sum.total,
        .parameter_bytes = memory.sum.parameters,
        .state_bytes = memory.sum.states,
        .buffer_bytes = memory.sum.buffers,
        .constant_bytes = memory.sum.constants,
        .transient_bytes = memory.sum.transient,
        .transient_lower_bound = memory.sum.lower_bound,
        .resident_bytes = ons_resident_bytes(),
        .assumptions = t->assumptions.items,
        .assumption_count = t->assumptions.count,
        .notes = t->notes,
        .out = t->config->out,
        .training_form = t->config->export_form.value == ONS_EXPORT_SAME && ons_is_in_training_form(t->model->graph),
        .checkpoint = t->config->checkpoint,
        .stages = t->config->stages,
        .processes = ons_trainer_processes(t),
        .is_root = ons_trainer_leads(t),
        .best_step = t->best.step,
        .best_loss = t->best.step > 0 ? t->best.loss : NAN,
        .validations_since_best = t->best.since,
        .stops_early = ons_trainer_stops_early(t),
        .writes_best = t->config->best && t->best.step > 0,
    };
    ons_trainer_fill_stages(t, status);
    return fill_device(t, status);
}

static ons_status *read_values(ons_trainer *t, const char *initialiser, float *values, size_t count) {
    ons_type type;
    const void *contents;
    ONS_TRY(ons_trainer_collect(t, initialiser, &type, &contents));
    ONS_CHECK(type.dtype == ONS_FLOAT32 || ons_dtype_is_half(type.dtype), ONS_INVALID_ARGUMENT,
              "there is no float32 weight named '%s'", initialiser);
    ONS_CHECK(count == (size_t)ons_shape_elements(&type.shape), ONS_INVALID_ARGUMENT, "'%s' has %lld elements, not %zu",
              initialiser, (long long)ons_shape_elements(&type.shape), count);
    ons_convert(type.dtype, contents, ONS_FLOAT32, values, count);
    return NULL;
}

ons_status *ons_trainer_read(ons_trainer *t, const char *initialiser, float *values, size_t count) {
    ONS_GIVEN(t, "trainer");
    ONS_GIVEN(initialiser, "initialiser");
    ONS_GIVEN(values, "values");
    ONS_TRAINER_IS_HERE(t);
    ONS_TRY(ons_local_stages_settle_versions(t->local_stages));
    ons_status *status = ons_trainer_leads(t) ? ons_trainer_collected(t, read_values(t, initialiser, values, count))
                                              : ons_trainer_hand_over(t);
    return ons_trainer_share_failure(t, status);
}
