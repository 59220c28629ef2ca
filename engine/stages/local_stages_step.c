/* Steps and validations of all stages, and what they came to. */
#include <math.h>

#include "engine/stages/local_stages_state.h"

static ons_local_stage_work work_so_far(const ons_local_stage *r) {
    ons_worker_busy busy = ons_worker_get_busy(r->worker);
    ons_local_stage_work work = {
        .seconds = (double)ons_trace_now() * 1e-9,
        .update_seconds = (double)busy.of_part[ONS_PART_END] * 1e-9,
        .swapped_bytes = ons_worker_get_traffic(r->worker).swapped_out_bytes,
    };
    for (ons_part part = ONS_PART_BEGIN; part < ONS_PART_END; ++part)
        work.busy_seconds += (double)busy.of_part[part] * 1e-9;
    return work;
}

static void note_work(ons_local_stage *r, const ons_local_stage_work *before) {
    ons_local_stage_work after = work_so_far(r);
    if (!r->warm) {
        r->warm = true;
        return;
    }
    ++r->work.steps;
    r->work.samples += r->result.samples;
    r->work.seconds += after.seconds - before->seconds;
    r->work.update_seconds += after.update_seconds - before->update_seconds;
    r->work.busy_seconds += after.busy_seconds - before->busy_seconds;
    r->work.swapped_bytes += after.swapped_bytes - before->swapped_bytes;
}

/* A stage that fails ends what the others do, too: they would wait for it. */
void ons_local_stage_share_failure(ons_local_stage *r) {
    if (r->status == NULL || r->transport == NULL) return;
    ons_turns_give_up(&r->turns);
    if (r->rank_group.in_turn) r->status = ons_status_at(r->status, "copy %u", r->rank_group.own);
    r->status = ons_status_at(r->status, "stage %u", r->stage);
    if (r->reducer != NULL && !r->rank_group.in_turn) r->status = ons_status_at(r->status, "replica %u", r->replica);
    r->transport->fail(r->transport, r->status);
}

static void step_stage(void *argument, uintptr_t native) {
    (void)native;
    ons_local_stage *r = argument;
    ons_local_stage_work before = work_so_far(r);
    r->status = ons_stepper_run(r->stepper, r->step, r->rate, r->last_step, &r->result);
    if (r->status == NULL) note_work(r, &before);
    ons_local_stage_share_failure(r);
}

/* A task of all stages beside each other. */
void ons_local_stages_drive(ons_local_stages *local_stages, ons_task *task) {
    if (local_stages->drivers == NULL) {
        task(&local_stages->stages[0], 0);
        return;
    }
    for (uint32_t i = 0; i < local_stages->o.count; ++i) {
        local_stages->host->launch(local_stages->drivers[i], task, &local_stages->stages[i]);
        local_stages->host->event_record(local_stages->drivers[i], local_stages->done[i]);
    }
    for (uint32_t i = 0; i < local_stages->o.count; ++i) local_stages->host->event_synchronize(local_stages->done[i]);
}

/* The first failure: what the others report follows from it. */
ons_status *ons_local_stages_collect_failures(ons_local_stages *local_stages) {
    ons_status *first = NULL;
    ons_transport *transport = local_stages->stages[0].transport;
    for (uint32_t i = 0; i < local_stages->o.count; ++i) {
        ons_status *status = local_stages->stages[i].status;
        local_stages->stages[i].status = NULL;
        if (first == NULL && status != NULL && transport != NULL) {
            first = transport->failure(transport);
            if (first != NULL) {
                ons_status_free(status);
                continue;
            }
        }
        if (first == NULL)
            first = status;
        else
            ons_status_free(status);
    }
    return first;
}

/* Validation takes their places. NaN: another process has it. Of several stages that have it the first one's holds. */
static ons_status *keep_squares(const ons_local_stages *local_stages) {
    uint32_t count = local_stages->o.training->graphs[ONS_WHOLE].update.trained_count;
    if (local_stages->squares == NULL) return NULL;
    for (uint32_t i = 0; i < count; ++i) local_stages->squares[i] = NAN;
    for (uint32_t i = local_stages->o.count; i-- > 0;) {
        const ons_step_program *step_program = local_stages->stages[i].result.last;
        ONS_TRY(ons_device_context_scalars(local_stages->stages[i].device_context, step_program->program,
                                           step_program->squares, count, local_stages->squares));
    }
    return NULL;
}

/* What a stage has of a step's results. */
static void merge_result(ons_local_stage_record *record, const ons_local_stage *r, ons_step_result *result) {
    *record = (ons_local_stage_record){
        .has_loss = r->training.programs[ONS_WHOLE].step_program.loss != ONS_NONE,
        .has_norm = r->training.programs[ONS_WHOLE].step_program.norm != ONS_NONE,
        .loss = r->result.loss,
        .norm = r->result.norm,
        .scale = r->result.scale,
        .stop = result->stop,
        .used_bytes = ons_device_context_used(r->device_context),
        .work = r->work,
    };
    if (record->has_loss) result->loss = record->loss;
    if (record->has_norm) result->norm = record->norm, result->scale = record->scale;
}

/* The stages of other processes, which have come to the end of the step, too. */
static ons_status *merge_remote(ons_local_stages *local_stages, ons_step_result *result) {
    ons_transport *t = local_stages->stages[0].world;
    ons_local_stage_record own = local_stages->records[0];
    if (!t->gather(t, &own, local_stages->records, sizeof own)) return t->failure(t);
    local_stages->used_bytes = 0;
    for (uint32_t i = 0; i < ons_local_stages_world(local_stages); ++i) {
        if (local_stages->records[i].has_loss) result->loss = local_stages->records[i].loss;
        if (local_stages->records[i].has_norm)
            result->norm = local_stages->records[i].norm, result->scale = local_stages->records[i].scale;
        result->stop = result->stop || local_stages->records[i].stop;
        local_stages->used_bytes += local_stages->records[i].used_bytes;
    }
    uint32_t squares = local_stages->o.training->graphs[ONS_WHOLE].update.trained_count;
    if (local_stages->squares == NULL) return NULL;
    if (!t->gather(t, local_stages->squares, local_stages->all_squares, squares * sizeof *local_stages->squares))
        return t->failure(t);
    for (uint32_t device = 0; device < ons_local_stages_world(local_stages); ++device)
        for (uint32_t i = 0; i < squares; ++i) {
            double each = local_stages->all_squares[(size_t)device * squares + i];
            if (!isnan(each)) local_stages->squares[i] = each;
        }
    return NULL;
}

/* In the order of the file, whichever stage has what. */
static ons_status *add_up_norm(ons_local_stages *local_stages, ons_step_result *result) {
    double sum = 0, square;
    for (uint32_t i = 0; i < local_stages->o.training->graphs[ONS_WHOLE].update.trained_count; ++i) {
        ONS_TRY(ons_local_stages_square(local_stages, i, &square));
        sum += square;
    }
    result->norm = sqrt(sum);
    return NULL;
}

ons_status *ons_local_stages_step(ons_local_stages *local_stages, uint64_t number, ons_rate rate, bool last_step,
                                  ons_step_result *result) {
    for (uint32_t i = 0; i < local_stages->o.count; ++i) {
        ons_local_stage *r = &local_stages->stages[i];
        r->step = number;
        r->rate = rate;
        r->last_step = last_step;
    }
    ons_local_stages_drive(local_stages, step_stage);
    ONS_TRY(ons_local_stages_collect_failures(local_stages));
    *result = local_stages->stages[0].result;
    result->stop = local_stages->o.stop_requested != NULL && atomic_load(local_stages->o.stop_requested);
    for (uint32_t i = 0; i < local_stages->o.count; ++i)
        merge_result(&local_stages->records[i], &local_stages->stages[i], result);
    ONS_TRY(keep_squares(local_stages));
    if (!ons_local_stages_are_all_here(local_stages)) ONS_TRY(merge_remote(local_stages, result));
    /* A norm that nothing is clipped by is no stage's. */
    bool adds_up = ons_local_stages_read_squares(local_stages) &&
                   local_stages->o.training->graphs[ONS_WHOLE].update.norm == ONS_NONE;
    return adds_up ? add_up_norm(local_stages, result) : NULL;
}

static void evaluate(void *argument, uintptr_t native) {
    (void)native;
    ons_local_stage *r = argument;
    r->status = ons_status_at(ons_evaluator_run(&r->evaluator, &r->evaluation), "validation");
    ons_local_stage_share_failure(r);
}

static void merge_evaluation(const ons_evaluation_result *of_stage, ons_evaluation_result *result) {
    if (!isnan(of_stage->loss)) result->loss = of_stage->loss;
    if (!isnan(of_stage->accuracy)) result->accuracy = of_stage->accuracy;
}

/* What is known of a batch goes where it is not. */
static void merge_batch(const ons_evaluation_sums *from, ons_evaluation_sums *to) {
    if (!isnan(from->loss)) to->loss = from->loss;
    if (!isnan(from->right)) to->right = from->right;
    if (!isnan(from->targets)) to->targets = from->targets;
    if (!isnan(from->weight)) to->weight = from->weight;
}

/* Every replica has some of the batches. */
static ons_status *join_batches(ons_local_stages *local_stages, ons_evaluation_result *result) {
    for (size_t k = 0; k < local_stages->batch_count; ++k) {
        local_stages->batches[k] = (ons_evaluation_sums){NAN, NAN, NAN, NAN};
        for (uint32_t i = 0; i < local_stages->o.count; ++i)
            merge_batch(&local_stages->stages[i].evaluator.batches[k], &local_stages->batches[k]);
    }
    if (!ons_local_stages_are_all_here(local_stages)) {
        ons_transport *t = local_stages->stages[0].world;
        if (!t->gather(t, local_stages->batches, local_stages->all_batches,
                       local_stages->batch_count * sizeof *local_stages->batches))
            return t->failure(t);
        for (size_t i = 0; i < ons_local_stages_world(local_stages) * local_stages->batch_count; ++i)
            merge_batch(&local_stages->all_batches[i], &local_stages->batches[i % local_stages->batch_count]);
    }
    ons_evaluator_options all = local_stages->stages[0].evaluator;
    all.batches = local_stages->batches;
    return ons_status_at(ons_evaluator_join(&all, result), "validation");
}

ons_status *ons_local_stages_evaluate(ons_local_stages *local_stages, ons_evaluation_result *result) {
    ONS_TRY(ons_local_stages_settle_versions(local_stages)); /* inference graphs know of one version */
    ons_local_stages_drive(local_stages, evaluate);
    ONS_TRY(ons_local_stages_collect_failures(local_stages));
    *result = local_stages->stages[0].evaluation;
    if (ons_local_stages_have_rank_groups(local_stages)) return join_batches(local_stages, result);
    for (uint32_t i = 1; i < local_stages->o.count; ++i) merge_evaluation(&local_stages->stages[i].evaluation, result);
    if (ons_local_stages_are_all_here(local_stages)) return NULL;
    ons_transport *t = local_stages->stages[0].world;
    ons_evaluation_result own = *result;
    if (!t->gather(t, &own, local_stages->evaluations, sizeof own)) return t->failure(t);
    for (uint32_t i = 0; i < ons_local_stages_world(local_stages); ++i)
        merge_evaluation(&local_stages->evaluations[i], result);
    return NULL;
}

/* ---------------------------------------------------------------------------------------------------------- looking */

/* The versions of a weight lie behind each other, aligned. */
static ons_status *copy_newest_version(ons_local_stage *r, uint32_t version) {
    const ons_program *program = r->training.programs[ONS_WHOLE].step_program.program;
    const ons_graph *graph = ons_program_graph(program);
    const ons_liveness *liveness = ons_program_liveness(program);
    for (ons_value_id id = 0; id < graph->values.count; ++id) {
        const ons_value *value = ons_graph_value(graph, id);
        if (value->kind != ONS_PARAMETER || value->producer != ONS_NONE || !ons_program_is_versioned(program, id))
            continue;
        size_t bytes = (size_t)liveness->buffers[liveness->buffer_of_value[id]].bytes;
        char *first = ons_device_context_find(r->device_context, value->name, NULL);
        if (first != NULL)
            ONS_TRY(ons_device_context_copy(r->device_context, first,
                                            first + (size_t)ons_arena_align((int64_t)bytes) * version, bytes));
    }
    return NULL;
}

ons_status *ons_local_stages_settle_versions(ons_local_stages *local_stages) {
    for (uint32_t i = 0; i < local_stages->o.count; ++i) {
        ons_local_stage *r = &local_stages->stages[i];
        uint32_t version = ons_stepper_version(r->stepper);
        if (version == 0) continue;
        ONS_TRY(copy_newest_version(r, version));
        ons_stepper_rewind(r->stepper);
    }
    return NULL;
}
