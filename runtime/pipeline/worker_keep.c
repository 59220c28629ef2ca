/* Passes that are recorded once and repeated by one call. */
#include <stdlib.h>
#include <string.h>

#include "base/environment.h"
#include "runtime/pipeline/worker_state.h"

/* Data, steps and results pass through places that stay, so all else of a pass is the same each time. */
static bool same(const ons_pipeline_pass *a, const ons_pipeline_pass *b) {
    const ons_lineup *p = &a->lineup, *q = &b->lineup;
    return p->programs[0] == q->programs[0] && p->programs[1] == q->programs[1] && p->first_count == q->first_count &&
           a->actions.items == b->actions.items && a->actions.count == b->actions.count &&
           a->micro_batches == b->micro_batches && a->form == b->form && a->begins == b->begins &&
           a->updates == b->updates && a->asynchronous == b->asynchronous && a->version == b->version &&
           a->number == b->number && a->stride == b->stride && a->places == b->places;
}

const ons_recorded_pass *ons_worker_find_kept(const ons_worker *worker, const ons_pipeline_pass *pass) {
    for (size_t i = 0; pass->places != 0 && i < worker->kept.count; ++i)
        if (same(&worker->kept.items[i].pass, pass)) return &worker->kept.items[i];
    return NULL;
}

void ons_worker_choose_keeping(ons_worker *worker) {
    const char *wish = ons_environment(ONS_ENV_ONSTAGE_CUDA_GRAPHS);
    bool can = worker->device->record_begin != NULL && worker->o.trace == NULL;
    if (!can || ons_environment_is_off(ONS_ENV_ONSTAGE_CUDA_GRAPHS))
        worker->keeping = ONS_KEEP_NEVER;
    else if (wish != NULL && strcmp(wish, "on") == 0)
        worker->keeping = ONS_KEEP_ALWAYS;
}

void ons_worker_free_kept(ons_worker *worker) {
    for (size_t i = 0; i < worker->kept.count; ++i) worker->device->recording_free(worker->kept.items[i].recording);
    ons_vector_free(&worker->kept);
}

/* Where the host takes messages as they come, it must be there. NCCL's can be recorded, but whether what waits in one
 * branch of a graph may keep another waiting nobody promises: only where it is asked for. What replicas have for each
 * other depends on how many micro-batches each has in the step. */
static bool has_messages_of_the_host(const ons_worker *worker) {
    if (worker->o.reducer != NULL) return true;
    for (uint32_t i = 0; i < worker->channel_count; ++i)
        if (worker->channels[i].nccl == NULL) return true;
    return worker->channel_count > 0 && worker->keeping != ONS_KEEP_ALWAYS;
}

static bool can_be_kept(const ons_worker *worker, const ons_pipeline_pass *pass) {
    enum { MOST = 32 }; /* each takes some of the device's memory */
    return worker->keeping != ONS_KEEP_NEVER && pass->places != 0 && !has_messages_of_the_host(worker) &&
           worker->kept.count < MOST && ons_worker_find_kept(worker, pass) == NULL;
}

/* All streams that a pass may use begin behind the compute stream and end before it does. */
static void begin_behind(ons_worker *worker, ons_stream *stream) {
    if (stream == NULL) return;
    worker->device->event_record(worker->compute, worker->sync_event);
    worker->device->stream_wait(stream, worker->sync_event);
}

static void end_before(ons_worker *worker, ons_stream *stream) {
    if (stream == NULL) return;
    worker->device->event_record(stream, worker->sync_event);
    worker->device->stream_wait(worker->compute, worker->sync_event);
}

static ons_status *record(ons_worker *worker, const ons_pipeline_pass *pass, ons_recording **recording) {
    ONS_TRY(worker->device->record_begin(worker->compute));
    for (uint32_t i = 0; i < worker->channel_count; ++i) begin_behind(worker, worker->channels[i].stream);
    begin_behind(worker, worker->swap_out);
    begin_behind(worker, worker->swap_in);
    ons_status *status = ons_worker_put(worker, pass);
    for (uint32_t i = 0; i < worker->channel_count; ++i) end_before(worker, worker->channels[i].stream);
    end_before(worker, worker->swap_out);
    end_before(worker, worker->swap_in);
    ons_status *ended = worker->device->record_end(worker->compute, recording);
    if (status == NULL) return ended;
    if (ended == NULL) worker->device->recording_free(*recording);
    ons_status_free(ended);
    return status;
}

/* Nothing more is recorded; what is there stays. Takes over the reason. */
static void give_up(ons_worker *worker, ons_status *reason) {
    worker->keeping = ONS_KEEP_NEVER;
    if (worker->unkept == NULL)
        worker->unkept =
            ons_arena_format(worker->arena, "%s", ons_status_get_message(reason)); /* without memory: not told */
    ons_status_free(reason);
}

const char *ons_worker_unkept(const ons_worker *worker, size_t *kept) {
    *kept = worker->kept.count;
    return worker->unkept;
}

/* What recordings take under the cap. Where that is too much they are given up one at a time, the last one first, and
 * so is the run where the device keeps their memory all the same. */
static ons_status *check_cap(ons_worker *worker) {
    ons_status *status = ons_device_context_check_cap(worker->o.device_context, "steps recorded as CUDA graphs");
    if (status == NULL || worker->keeping == ONS_KEEP_ALWAYS) return status;
    give_up(worker, status);
    for (status = NULL; worker->kept.count > 0;) {
        ons_status_free(status);
        worker->device->recording_free(worker->kept.items[--worker->kept.count].recording);
        status = ons_device_context_check_cap(worker->o.device_context, "what was recorded and given up again");
        if (status == NULL) break;
    }
    return status;
}

ons_status *ons_worker_keep(ons_worker *worker, const ons_pipeline_pass *pass) {
    if (!can_be_kept(worker, pass)) return NULL;
    if (!ons_vector_reserve(&worker->kept, 1)) return ons_status_out_of_memory();
    const ons_worker_busy busy = worker->busy;
    const ons_worker_traffic before = worker->traffic;
    ons_recording *recording = NULL;
    ons_status *status = record(worker, pass, &recording);
    worker->jobs_used = 0;
    const ons_worker_traffic after = worker->traffic;
    worker->traffic = before;
    worker->busy = busy;
    if (status != NULL && worker->keeping == ONS_KEEP_WHERE_POSSIBLE) {
        give_up(worker, status);
        return NULL;
    }
    ONS_TRY(status);
    ons_recorded_pass *kept = &worker->kept.items[worker->kept.count++];
    *kept = (ons_recorded_pass){.pass = *pass,
                                .recording = recording,
                                .traffic = {.swapped_out_bytes = after.swapped_out_bytes - before.swapped_out_bytes,
                                            .swapped_in_bytes = after.swapped_in_bytes - before.swapped_in_bytes,
                                            .sent_bytes = after.sent_bytes - before.sent_bytes,
                                            .received_bytes = after.received_bytes - before.received_bytes}};
    kept->pass.context = NULL; /* the caller's, and gone soon */
    return check_cap(worker);
}

void ons_worker_repeat(ons_worker *worker, const ons_recorded_pass *kept) {
    worker->device->recording_repeat(worker->compute, kept->recording);
    worker->traffic.swapped_out_bytes += kept->traffic.swapped_out_bytes;
    worker->traffic.swapped_in_bytes += kept->traffic.swapped_in_bytes;
    worker->traffic.sent_bytes += kept->traffic.sent_bytes;
    worker->traffic.received_bytes += kept->traffic.received_bytes;
}
