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

const ons_recorded_pass *ons_worker_find_kept(const ons_worker *w, const ons_pipeline_pass *f) {
    for (size_t i = 0; f->places != 0 && i < w->kept.count; ++i)
        if (same(&w->kept.items[i].pass, f)) return &w->kept.items[i];
    return NULL;
}

void ons_worker_choose_keeping(ons_worker *w) {
    const char *wish = ons_environment(ONS_ENV_ONSTAGE_CUDA_GRAPHS);
    bool can = w->device->record_begin != NULL && w->o.trace == NULL;
    if (!can || ons_environment_is_off(ONS_ENV_ONSTAGE_CUDA_GRAPHS))
        w->keeping = ONS_KEEP_NEVER;
    else if (wish != NULL && strcmp(wish, "on") == 0)
        w->keeping = ONS_KEEP_ALWAYS;
}

void ons_worker_free_kept(ons_worker *w) {
    for (size_t i = 0; i < w->kept.count; ++i) w->device->recording_free(w->kept.items[i].recording);
    ons_vector_free(&w->kept);
}

/* Where the host takes messages as they come, it must be there. NCCL's can be recorded, but whether what waits in one
 * branch of a graph may keep another waiting nobody promises: only where it is asked for. What replicas have for each
 * other depends on how many micro-batches each has in the step. */
static bool has_messages_of_the_host(const ons_worker *w) {
    if (w->o.reducer != NULL) return true;
    for (uint32_t i = 0; i < w->channel_count; ++i)
        if (w->channels[i].nccl == NULL) return true;
    return w->channel_count > 0 && w->keeping != ONS_KEEP_ALWAYS;
}

static bool can_be_kept(const ons_worker *w, const ons_pipeline_pass *f) {
    enum { MOST = 32 }; /* each takes some of the device's memory */
    return w->keeping != ONS_KEEP_NEVER && f->places != 0 && !has_messages_of_the_host(w) && w->kept.count < MOST &&
           ons_worker_find_kept(w, f) == NULL;
}

/* All streams that a pass may use begin behind the compute stream and end before it does. */
static void begin_behind(ons_worker *w, ons_stream *stream) {
    if (stream == NULL) return;
    w->device->event_record(w->compute, w->sync_event);
    w->device->stream_wait(stream, w->sync_event);
}

static void end_before(ons_worker *w, ons_stream *stream) {
    if (stream == NULL) return;
    w->device->event_record(stream, w->sync_event);
    w->device->stream_wait(w->compute, w->sync_event);
}

static ons_status *record(ons_worker *w, const ons_pipeline_pass *f, ons_recording **recording) {
    ONS_TRY(w->device->record_begin(w->compute));
    for (uint32_t i = 0; i < w->channel_count; ++i) begin_behind(w, w->channels[i].stream);
    begin_behind(w, w->swap_out);
    begin_behind(w, w->swap_in);
    ons_status *status = ons_worker_put(w, f);
    for (uint32_t i = 0; i < w->channel_count; ++i) end_before(w, w->channels[i].stream);
    end_before(w, w->swap_out);
    end_before(w, w->swap_in);
    ons_status *ended = w->device->record_end(w->compute, recording);
    if (status == NULL) return ended;
    if (ended == NULL) w->device->recording_free(*recording);
    ons_status_free(ended);
    return status;
}

/* Nothing more is recorded; what is there stays. Takes over the reason. */
static void give_up(ons_worker *w, ons_status *reason) {
    w->keeping = ONS_KEEP_NEVER;
    if (w->unkept == NULL)
        w->unkept = ons_arena_format(w->arena, "%s", ons_status_get_message(reason)); /* without memory: not told */
    ons_status_free(reason);
}

const char *ons_worker_unkept(const ons_worker *w, size_t *kept) {
    *kept = w->kept.count;
    return w->unkept;
}

/* What recordings take under the cap. Where that is too much they are given up one at a time, the last one first, and
 * so is the run where the device keeps their memory all the same. */
static ons_status *check_cap(ons_worker *w) {
    ons_status *status = ons_device_context_check_cap(w->o.device_context, "steps recorded as CUDA graphs");
    if (status == NULL || w->keeping == ONS_KEEP_ALWAYS) return status;
    give_up(w, status);
    for (status = NULL; w->kept.count > 0;) {
        ons_status_free(status);
        w->device->recording_free(w->kept.items[--w->kept.count].recording);
        status = ons_device_context_check_cap(w->o.device_context, "what was recorded and given up again");
        if (status == NULL) break;
    }
    return status;
}

ons_status *ons_worker_keep(ons_worker *w, const ons_pipeline_pass *f) {
    if (!can_be_kept(w, f)) return NULL;
    if (!ons_vector_reserve(&w->kept, 1)) return ons_status_out_of_memory();
    const ons_worker_busy busy = w->busy;
    const ons_worker_traffic before = w->traffic;
    ons_recording *recording = NULL;
    ons_status *status = record(w, f, &recording);
    w->jobs_used = 0;
    const ons_worker_traffic after = w->traffic;
    w->traffic = before;
    w->busy = busy;
    if (status != NULL && w->keeping == ONS_KEEP_WHERE_POSSIBLE) {
        give_up(w, status);
        return NULL;
    }
    ONS_TRY(status);
    ons_recorded_pass *kept = &w->kept.items[w->kept.count++];
    *kept = (ons_recorded_pass){.pass = *f,
                                .recording = recording,
                                .traffic = {.swapped_out_bytes = after.swapped_out_bytes - before.swapped_out_bytes,
                                            .swapped_in_bytes = after.swapped_in_bytes - before.swapped_in_bytes,
                                            .sent_bytes = after.sent_bytes - before.sent_bytes,
                                            .received_bytes = after.received_bytes - before.received_bytes}};
    kept->pass.context = NULL; /* the caller's, and gone soon */
    return check_cap(w);
}
