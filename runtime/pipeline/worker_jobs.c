/* The jobs of a pass: what each holds, and the functions that carry it out on the compute stream. */
#include <inttypes.h>

#include "graph/evaluate.h"
#include "runtime/pipeline/worker_pass.h"

/* Takes the next free job. Blocks stay from step to step: the streams read jobs until all that was launched has run. */
static ons_status *take_job(const ons_program_pass *share, ons_job **job) {
    ons_worker *worker = share->worker;
    size_t block = worker->jobs_used / ONS_JOBS_IN_BLOCK;
    if (block == worker->blocks.count) {
        ons_job_block *added = malloc(sizeof *added);
        if (added == NULL || !ons_vector_push(&worker->blocks, added)) {
            free(added);
            return ons_status_out_of_memory();
        }
    }
    *job = &worker->blocks.items[block]->jobs[worker->jobs_used++ % ONS_JOBS_IN_BLOCK];
    **job = (ons_job){.worker = worker, .pass = share->pass, .program = share->stage};
    return NULL;
}

ons_part_place ons_program_pass_place(const ons_program_pass *share, ons_part part, uint32_t micro_batch) {
    if (!share->pass->asynchronous) return (ons_part_place){.micro_batch = micro_batch};
    return ons_stage_program_place(share->stage, ons_stage_program_kind(share->stage, part), micro_batch,
                                   share->pass->version);
}

static void fill_job(const ons_program_pass *share, ons_job *job, ons_part part, uint32_t micro_batch) {
    job->part = part;
    job->micro_batch = micro_batch;
    job->part_place = ons_program_pass_place(share, part, micro_batch);
    job->step = share->pass->step;
    job->step.micro_batch += (uint32_t)(ons_pipeline_pass_number(share->pass, micro_batch) - share->pass->number) *
                             ons_worker_size(share->worker, share->pass);
    if (share != share->shares) job->step.sample_share = share->pass->second_share;
    if (share->pass->counted_targets != NULL) job->step.counted_targets = share->pass->counted_targets[micro_batch];
    if (ons_program_pass_is_end(share, part))
        job->step.step = share->pass->update + (share->pass->asynchronous ? micro_batch : 0);
}

ons_status *ons_program_pass_job(const ons_program_pass *share, ons_part part, uint32_t micro_batch, ons_job **job) {
    ONS_TRY(take_job(share, job));
    fill_job(share, *job, part, micro_batch);
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------ steps */

/* The steps of updates lie behind those of the micro-batches. */
static uint32_t step_index(const ons_program_pass *share, ons_part part, uint32_t micro_batch) {
    return ons_program_pass_is_end(share, part) ? share->pass->micro_batches + micro_batch : micro_batch;
}

ons_status *ons_program_pass_put_steps(const ons_program_pass *share) {
    ons_worker *worker = share->worker;
    if (worker->steps == NULL) return NULL;
    ONS_CHECK(worker->passes < ONS_PASSES_AT_ONCE && 2 * share->pass->micro_batches <= worker->control.count,
              ONS_DEFECT, "pass %u of %u micro-batches has no room for its steps", worker->passes,
              share->pass->micro_batches);
    ons_step *steps = worker->steps + (size_t)worker->control.count * worker->passes++;
    uint32_t count =
        share->pass->micro_batches == 0 ? 1 : 2 * share->pass->micro_batches; /* a replica without a sample updates */
    for (uint32_t i = 0; i < count; ++i) {
        ons_job job;
        bool update = i >= share->pass->micro_batches;
        ons_part part = update ? ons_part_last(share->cut->chunks) : ONS_PART_FORWARD;
        uint32_t micro_batch = update ? i - share->pass->micro_batches : i;
        fill_job(ons_program_pass_of(share, part, micro_batch), &job, part, micro_batch);
        steps[i] = job.step;
    }
    worker->device->copy(worker->compute, worker->control.steps, steps, count * sizeof *steps);
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------ nodes */

/* The other stages are told at once: what they would get from here is worth nothing, and must bring nothing up to date.
 */
static void tell_fault(ons_worker *worker, const ons_job *job) {
    char text[ONS_FAULT_TEXT];
    worker->faulty = job->program;
    if (worker->o.transport == NULL) return;
    const char *node =
        worker->fault.node == ONS_NONE ? "" : ons_graph_node(job->program->cut->graph, worker->fault.node)->name;
    ons_status *status = ons_status_new(ONS_INVALID_DATA, "step %" PRIu64 ", node '%s': %s", job->step.step, node,
                                        ons_fault_print(&worker->fault.fault, text));
    if (worker->o.rank_group.in_turn) status = ons_status_at(status, "copy %u", worker->o.rank_group.own);
    status = ons_status_at(status, "stage %u", worker->o.stage);
    if (worker->o.reducer != NULL && !worker->o.rank_group.in_turn)
        status = ons_status_at(status, "replica %u", worker->o.replica);
    worker->o.transport->fail(worker->o.transport, status);
    ons_status_free(status);
}

/* The replicas that a job's kernels meet. */
static ons_replicas replicas_of(const ons_job *job) {
    const ons_reducer *reducer = job->worker->o.reducer;
    if (reducer == NULL) return (ons_replicas){0};
    return ons_reducer_replicas(reducer, job->step.micro_batch - job->step.first_micro_batch);
}

static void run_nodes(void *argument, uintptr_t native) {
    ons_job *job = argument;
    ons_worker *worker = job->worker;
    if (worker->fault.fault.problem != NULL || atomic_load(&worker->cut_off)) {
        ons_program_revive_all(job->program->program); /* copies and messages of what was not made go on */
        return;
    }
    bool discrete_memory = job->device_step != NULL;
    const ons_replicas replicas = replicas_of(job);
    const ons_run run = {
        .step = discrete_memory ? job->device_step : &job->step,
        .part_place = &job->part_place,
        .observer = ons_worker_node_observer(worker),
        .context = job,
        .fault = discrete_memory ? NULL : &worker->fault,
        .replicas = replicas.gather == NULL ? NULL : &replicas,
        .stream = native,
        .device_fault = worker->control.fault,
        .finder = worker->o.rank_group.own,
    };
    int64_t begin = ons_trace_now();
    ons_worker_begin_nodes(job);
    ons_program_run_positions(ons_stage_program_of(job->program, job->sample_half), job->first, job->end, &run);
    ons_worker_end_nodes(job, begin);
    if (worker->fault.fault.problem != NULL) tell_fault(worker, job);
}

ons_status *ons_program_pass_compute(const ons_program_pass *share, ons_part part, uint32_t micro_batch, uint32_t first,
                                     uint32_t end, ons_sample_half sample_half) {
    ons_job *job;
    if (first >= end) return NULL;
    ONS_TRY(ons_program_pass_job(share, part, micro_batch, &job));
    job->sample_half = sample_half;
    job->first = first;
    job->end = end;
    if (share->worker->steps != NULL)
        job->device_step = share->worker->control.steps + step_index(share, part, micro_batch);
    share->worker->device->launch(share->worker->compute, run_nodes, job);
    return NULL;
}

/* ------------------------------------------------------------------------------------------------- data and results */

static ons_status *put_task(const ons_program_pass *share, ons_task *task, ons_part part, uint32_t micro_batch) {
    ons_job *job;
    ONS_TRY(ons_program_pass_job(share, part, micro_batch, &job));
    share->worker->device->launch(share->worker->compute, task, job);
    return NULL;
}

static void load_data(void *argument, uintptr_t native) {
    (void)native;
    const ons_job *job = argument;
    job->pass->load(job->pass->context, job->micro_batch, job->part, &job->part_place);
}

static void read_results(void *argument, uintptr_t native) {
    (void)native;
    const ons_job *job = argument;
    job->pass->read(job->pass->context, job->micro_batch, &job->part_place);
}

ons_status *ons_program_pass_put_load(const ons_program_pass *share, ons_part part, uint32_t micro_batch) {
    return put_task(share, load_data, part, micro_batch);
}

ons_status *ons_program_pass_put_read(const ons_program_pass *share, ons_part part, uint32_t micro_batch) {
    return put_task(share, read_results, part, micro_batch);
}

/* ------------------------------------------------------------------------------------------------------------ turns */

static void await_turn(void *argument, uintptr_t native) {
    (void)native;
    const ons_job *job = argument;
    ons_turns_await(&job->worker->o.turns, job->moment);
}

static void leave_turns(void *argument, uintptr_t native) {
    (void)native;
    const ons_job *job = argument;
    ons_turns_reach(&job->worker->o.turns, job->moment);
}

/* A training pass comes to a part in its turn; updates of a device's workers may run beside each other. */
ons_status *ons_program_pass_put_turn(const ons_program_pass *share, ons_part part, uint32_t micro_batch) {
    const ons_turn_end *end = &share->worker->o.turns;
    ons_job *job;
    if (end->turns == NULL || share->pass->form == ONS_PASS_OF_BATCH || part == ONS_PART_BEGIN) return NULL;
    ONS_TRY(take_job(share, &job));
    bool leaves = ons_program_pass_is_end(share, part);
    bool backward = ons_stage_program_kind(share->stage, part) != ONS_PART_FORWARD;
    uint64_t step = share->pass->step.step;
    job->moment = leaves ? ons_turn_moment(step + 1, false, 0)
                         : ons_turn_moment(step, share->pass->form == ONS_PASS_OF_REST,
                                           end->places[2 * (size_t)micro_batch + backward]);
    share->worker->device->launch(share->worker->compute, leaves ? leave_turns : await_turn, job);
    return NULL;
}
