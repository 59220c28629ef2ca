/* What ran when, for the timeline and for the sums of a stage's computing. Where tasks run on the streams' own threads,
 * these read the host's clock; where they only put work on the streams, timestamps among that work are read when it is
 * done.
 */
#include "graph/phase.h"
#include "runtime/pipeline/worker_pass.h"

static uint32_t begin_sum(void *context, ons_stream *stream) { return ons_worker_timestamp(context, stream); }

static void end_sum(void *context, ons_stream *stream, uint32_t begin, ons_trace_track *track,
                    const ons_trace_event *event) {
    const ons_timed_span span = {.track = track, .event = *event, .begin = begin};
    ons_worker_record_span(context, &span, stream);
}

ons_status *ons_worker_open_trace(ons_worker *worker) {
    if (worker->o.trace == NULL || worker->device->timed_event_new == NULL) return NULL;
    if (worker->o.reducer != NULL)
        ons_reducer_set_clock(worker->o.reducer, &(ons_reducer_clock){begin_sum, end_sum, worker});
    return ons_device_clock_new(worker->device, worker->compute, &worker->clock);
}

void ons_worker_close_trace(ons_worker *worker) {
    ons_device_clock_free(worker->clock);
    ons_vector_free(&worker->spans);
}

static ons_trace_event event_of_node(const ons_job *job, ons_node_id id) {
    const ons_node *node = ons_graph_node(job->program->cut->graph, id);
    return (ons_trace_event){
        .name = node->name,
        .category = job->program->cut->again[id] ? "recompute" : ons_phase_name(node->phase),
        .step = (int64_t)job->step.step,
        .micro_batch = (int64_t)ons_pipeline_pass_number(job->pass, job->micro_batch),
        .bytes = -1,
        .detail = node->op->name,
    };
}

static void record_node(void *context, const ons_observed *o) {
    const ons_job *job = context;
    ons_trace_event event = event_of_node(job, o->node);
    event.begin = o->start;
    event.end = o->end;
    ons_trace_record(job->worker->compute_track, &event);
}

/* From the node before, with nothing in between, to here. Nodes that ran together share the time between the
 * timestamps. */
static void timestamp_node(void *context, const ons_observed *o) {
    const ons_job *job = context;
    ons_worker *worker = job->worker;
    ons_timed_span span = {
        .track = worker->compute_track, .event = event_of_node(job, o->node), .from = o->from, .to = o->to};
    if (o->index > 0 && worker->spans.count > 0) {
        span.begin = worker->spans.items[worker->spans.count - 1].begin;
        span.end = worker->spans.items[worker->spans.count - 1].end;
        (void)ons_vector_push(&worker->spans, span);
        return;
    }
    span.begin = worker->last_node;
    ons_worker_record_span(worker, &span, worker->compute);
    if (worker->spans.count > 0) worker->last_node = worker->spans.items[worker->spans.count - 1].end;
}

ons_node_observer *ons_worker_node_observer(const ons_worker *worker) {
    if (worker->compute_track == NULL) return NULL;
    return worker->clock != NULL ? timestamp_node : record_node;
}

void ons_worker_begin_nodes(ons_job *job) {
    ons_worker *worker = job->worker;
    worker->first_node = worker->last_node = ons_worker_timestamp(worker, worker->compute);
}

/* On a device that runs it later, what the host's clock says is how long it takes to launch: no sum is better. */
void ons_worker_end_nodes(ons_job *job, int64_t begin) {
    ons_worker *worker = job->worker;
    const ons_timed_span all = {
        .kind = ons_stage_program_kind(job->program, job->part), .begin = worker->first_node, .end = worker->last_node};
    if (worker->device->timed_event_new == NULL)
        worker->busy.of_part[ons_stage_program_kind(job->program, job->part)] += ons_trace_now() - begin;
    else if (worker->clock != NULL)
        (void)ons_vector_push(&worker->spans, all);
}

void ons_worker_record(const ons_job *job, const char *category, int64_t begin) {
    if (job->track == NULL) return;
    const ons_trace_event event = {
        .name = job->name,
        .category = category,
        .begin = begin,
        .end = ons_trace_now(),
        .step = (int64_t)job->step.step,
        .micro_batch = (int64_t)ons_pipeline_pass_number(job->pass, job->micro_batch),
        .bytes = (int64_t)job->bytes,
    };
    ons_trace_record(job->track, &event);
}

uint32_t ons_worker_timestamp(ons_worker *worker, ons_stream *stream) {
    return worker->clock == NULL ? 0 : ons_device_clock_timestamp(worker->clock, stream);
}

void ons_worker_record_span(ons_worker *worker, const ons_timed_span *span, ons_stream *stream) {
    if (worker->clock == NULL || !ons_vector_push(&worker->spans, *span)) return; /* short of memory: it is missing */
    worker->spans.items[worker->spans.count - 1].end = ons_device_clock_timestamp(worker->clock, stream);
}

/* Messages that wait for each other are shown one behind the other: a row holds no two things at once. */
static void set_times(ons_worker *worker, ons_timed_span *span) {
    int64_t begin = ons_device_clock_time(worker->clock, span->begin),
            end = ons_device_clock_time(worker->clock, span->end);
    int64_t last = ons_trace_last_end(span->track);
    if (span->to > 0) {
        double length = (double)(end - begin);
        end = begin + (int64_t)(length * span->to);
        begin += (int64_t)(length * span->from);
    }
    span->event.begin = begin > last ? begin : last;
    span->event.end = end > span->event.begin ? end : span->event.begin;
}

void ons_program_pass_record_span(const ons_program_pass *share, ons_trace_track *track, const char *name,
                                  const char *category, uint32_t micro_batch, int64_t bytes, uint32_t begin,
                                  ons_stream *stream) {
    const ons_timed_span span = {
        .track = track,
        .begin = begin,
        .event = {.name = name,
                  .category = category,
                  .step = (int64_t)share->pass->step.step,
                  .micro_batch = (int64_t)ons_pipeline_pass_number(share->pass, micro_batch),
                  .bytes = bytes},
    };
    ons_worker_record_span(share->worker, &span, stream);
}

ons_status *ons_worker_settle_trace(ons_worker *worker) {
    if (worker->clock == NULL) return NULL;
    for (size_t i = 0; i < worker->spans.count; ++i) {
        ons_timed_span *span = &worker->spans.items[i];
        set_times(worker, span);
        ons_trace_record(span->track, &span->event);
        if (span->track == NULL) worker->busy.of_part[span->kind] += span->event.end - span->event.begin;
    }
    ons_worker_drop_spans(worker);
    return ons_device_clock_failure(worker->clock);
}

void ons_worker_drop_spans(ons_worker *worker) {
    worker->spans.count = 0;
    if (worker->clock != NULL) ons_device_clock_reset(worker->clock);
}
