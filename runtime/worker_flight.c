/* Putting a flight on the streams: parts are cut where something leaves, comes or is waited for. */
#include <inttypes.h>
#include <string.h>

#include "runtime/worker_state.h"

/* A flight as the micro-batches of one of its programs see it. */
typedef struct flight {
    ons_worker *w;
    const ons_flight *f;
    ons_worker_program *p;
    const ons_stage_program *stage;
    const ons_cut_stage *cut;
    uint32_t first, end;         /* its micro-batches */
    uint32_t *given_back;        /* [receive]: places released */
    const struct flight *halves; /* by program; itself is one of them */
    uint32_t half_count;
} flight;

/* What a part of a micro-batch is put on the streams by. */
static const flight *half_of(const flight *x, ons_part part, uint32_t micro_batch) {
    return &x->halves[ons_lineup_find(&x->f->lineup, part, micro_batch, x->f->micro_batches, x->f->asynchronous)];
}

/* ---------------------------------------------------------------------------------------------------------------- jobs
 */

/* Blocks stay from step to step. */
static ons_status *new_job(const flight *x, ons_job **job) {
    ons_worker *w = x->w;
    size_t block = w->jobs_used / ONS_JOBS_IN_BLOCK;
    if (block == w->blocks.count) {
        ons_job_block *added = malloc(sizeof *added);
        if (added == NULL || !ons_vector_push(&w->blocks, added)) {
            free(added);
            return ons_status_out_of_memory();
        }
    }
    *job = &w->blocks.items[block]->jobs[w->jobs_used++ % ONS_JOBS_IN_BLOCK];
    **job = (ons_job){.worker = w, .flight = x->f, .program = x->stage};
    return NULL;
}

/* The other stages are told at once: what they would get from here is worth nothing, and must bring nothing up to date.
 */
static void tell_fault(ons_worker *w, const ons_job *job) {
    const ons_fault *fault = &w->fault.fault;
    w->faulty = job->program;
    if (w->o.transport == NULL) return;
    const char *node = w->fault.node == ONS_NONE ? "" : ons_graph_node(job->program->cut->graph, w->fault.node)->name;
    ons_status *status =
        ons_status_new(ONS_INVALID_DATA, "step %" PRIu64 ", node '%s': %s (element %" PRId64 " is %" PRId64 ")",
                       job->step.step, node, fault->problem, fault->index, fault->value);
    status = ons_status_at(status, "stage %u", w->o.stage);
    w->o.transport->fail(w->o.transport, status);
    ons_status_free(status);
}

static void run_nodes(void *argument, uintptr_t native) {
    ons_job *job = argument;
    ons_worker *w = job->worker;
    if (w->fault.fault.problem != NULL || atomic_load(&w->cut_off)) return;
    bool far = job->device_step != NULL;
    const ons_run run = {
        .step = far ? job->device_step : &job->step,
        .turn = &job->turn,
        .observer = ons_worker_node_observer(w),
        .context = job,
        .fault = far ? NULL : &w->fault,
        .stream = native,
        .device_fault = w->control.fault,
    };
    int64_t begin = ons_trace_now();
    ons_worker_begin_nodes(job);
    ons_program_run_positions(job->program->program, job->first, job->end, &run);
    ons_worker_end_nodes(job, begin);
    if (w->fault.fault.problem != NULL) tell_fault(w, job);
}

static void load_data(void *argument, uintptr_t native) {
    (void)native;
    const ons_job *job = argument;
    job->flight->load(job->flight->context, job->micro_batch, job->part, &job->turn);
}

static void read_results(void *argument, uintptr_t native) {
    (void)native;
    const ons_job *job = argument;
    job->flight->read(job->flight->context, job->micro_batch, &job->turn);
}

/* That the world has failed is found at the end of the step. */
static void send_message(void *argument, uintptr_t native) {
    const ons_job *job = argument;
    if (job->nccl != NULL) {
        ons_nccl_send(job->nccl, native, job->address, job->bytes);
        return;
    }
    int64_t begin = ons_trace_now();
    if (!job->worker->o.transport->send(job->channel, job->address, job->bytes))
        atomic_store(&job->worker->cut_off, true);
    ons_worker_record(job, "send", begin);
}

static void receive_message(void *argument, uintptr_t native) {
    const ons_job *job = argument;
    if (job->nccl != NULL) {
        ons_nccl_receive(job->nccl, native, job->address, job->bytes);
        return;
    }
    int64_t begin = ons_trace_now();
    if (!job->worker->o.transport->receive(job->channel, job->address, job->bytes))
        atomic_store(&job->worker->cut_off, true);
    ons_worker_record(job, "receive", begin);
}

static void begin_copy(void *argument, uintptr_t native) {
    (void)native;
    const ons_job *job = argument;
    job->worker->copy_begin[job->first] = ons_trace_now();
}

static void end_copy(void *argument, uintptr_t native) {
    (void)native;
    const ons_job *job = argument;
    ons_worker_record(job, "swap", job->worker->copy_begin[job->first]);
}

/* --------------------------------------------------------------------------------------------------------------- turns
 */

static ons_turn turn_of(const flight *x, ons_part part, uint32_t micro_batch) {
    if (!x->f->asynchronous) return (ons_turn){.micro_batch = micro_batch};
    return ons_stage_program_turn(x->stage, part, micro_batch, x->f->version);
}

static void fill_job(const flight *x, ons_job *job, ons_part part, uint32_t micro_batch) {
    job->part = part;
    job->micro_batch = micro_batch;
    job->turn = turn_of(x, part, micro_batch);
    job->step = x->f->step;
    job->step.micro_batch += micro_batch;
    if (x != x->halves) job->step.sample_share = x->f->second_share;
    if (x->f->counted_targets != NULL) job->step.counted_targets = x->f->counted_targets[micro_batch];
    if (part == ONS_PART_END) job->step.step = x->f->update + (x->f->asynchronous ? micro_batch : 0);
}

/* The steps of updates lie behind those of the micro-batches. */
static uint32_t step_index(const flight *x, ons_part part, uint32_t micro_batch) {
    return part == ONS_PART_END ? x->f->micro_batches + micro_batch : micro_batch;
}

/* What kernels read of the steps of this flight goes to the device before all else of it. */
static ons_status *put_steps(const flight *x) {
    ons_worker *w = x->w;
    if (w->steps == NULL) return NULL;
    ONS_CHECK(w->flights < ONS_FLIGHTS_AT_ONCE && 2 * x->f->micro_batches <= w->control.count, ONS_DEFECT,
              "flight %u of %u micro-batches has no room for its steps", w->flights, x->f->micro_batches);
    ons_step *steps = w->steps + (size_t)w->control.count * w->flights++;
    for (uint32_t i = 0; i < 2 * x->f->micro_batches; ++i) {
        ons_job job;
        bool update = i >= x->f->micro_batches;
        ons_part part = update ? ONS_PART_END : ONS_PART_FORWARD;
        uint32_t micro_batch = update ? i - x->f->micro_batches : i;
        fill_job(half_of(x, part, micro_batch), &job, part, micro_batch);
        steps[i] = job.step;
    }
    w->device->copy(w->compute, w->control.steps, steps, 2 * x->f->micro_batches * sizeof *steps);
    return NULL;
}

static ons_status *put_task(const flight *x, ons_task *task, ons_part part, uint32_t micro_batch) {
    ons_job *job;
    ONS_TRY(new_job(x, &job));
    fill_job(x, job, part, micro_batch);
    x->w->device->launch(x->w->compute, task, job);
    return NULL;
}

static ons_status *put_nodes(const flight *x, ons_part part, uint32_t micro_batch, uint32_t first, uint32_t end) {
    ons_job *job;
    if (first >= end) return NULL;
    ONS_TRY(new_job(x, &job));
    fill_job(x, job, part, micro_batch);
    job->first = first;
    job->end = end;
    if (x->w->steps != NULL) job->device_step = x->w->control.steps + step_index(x, part, micro_batch);
    x->w->device->launch(x->w->compute, run_nodes, job);
    return NULL;
}

/* By the device's clock, where there is one: from `begin` to the end of what is on `stream`. */
static void record_span(const flight *x, ons_trace_track *track, const char *name, const char *category,
                        uint32_t micro_batch, int64_t bytes, uint32_t begin, ons_stream *stream) {
    const ons_span span = {
        .track = track,
        .begin = begin,
        .event = {.name = name,
                  .category = category,
                  .step = (int64_t)x->f->step.step,
                  .micro_batch = (int64_t)x->f->step.micro_batch + micro_batch,
                  .bytes = bytes},
    };
    ons_worker_record_span(x->w, &span, stream);
}

/* ------------------------------------------------------------------------------------------------------------ messages
 */

/* What waits on `stream` from here on waits for all that is on the compute stream so far. */
static void follow_compute(const flight *x, ons_stream *stream) {
    x->w->device->event_record(x->w->compute, x->w->mark);
    x->w->device->stream_wait(stream, x->w->mark);
}

static ons_status *put_message(const flight *x, const ons_cut_transfer *t, uint32_t channel, uint32_t micro_batch,
                               ons_task *task) {
    ons_job *job;
    const ons_worker_channel *c = &x->w->channels[channel];
    ONS_TRY(new_job(x, &job));
    fill_job(x, job, t->part, micro_batch);
    job->channel = c->channel;
    job->nccl = c->nccl;
    job->track = c->track;
    job->address = ons_program_address(x->stage->program, t->value, &job->turn);
    job->bytes = (size_t)ons_stage_program_bytes(x->stage, t->value);
    job->name = ons_graph_value(x->cut->graph, t->value)->name;
    *(c->sends ? &x->w->traffic.sent_bytes : &x->w->traffic.received_bytes) += (int64_t)job->bytes;
    uint32_t begin = c->nccl == NULL ? 0 : ons_worker_mark(x->w, c->stream);
    x->w->device->launch(c->stream, task, job);
    if (c->nccl != NULL) /* its wait for the other end is in it */
        record_span(x, c->track, job->name, c->sends ? "send" : "receive", micro_batch, (int64_t)job->bytes, begin,
                    c->stream);
    return NULL;
}

static ons_status *receive_ahead(const flight *x, uint32_t channel);

/* Whatever others have for this stage and it has places for. */
static ons_status *receive_all_ahead(const flight *x) {
    for (uint32_t i = 0; i < x->w->channel_count; ++i)
        if (!x->w->channels[i].sends) ONS_TRY(receive_ahead(x, i));
    return NULL;
}

/* Nothing but the clock's marks is on the stream of a sender with links: they tell when messages were gone. */
static void record_sent(const flight *any, const ons_pending *pending) {
    const flight *x = any->halves; /* the one that sent it */
    while (x->stage != pending->program) ++x;
    const ons_worker_channel *c = &x->w->channels[x->p->send_channel[pending->departure]];
    const ons_value_id value = x->cut->sends[pending->departure].value;
    if (x->w->clock == NULL) return;
    (void)ons_link_wait_gone(pending->link, c->stream, pending->ticket);
    record_span(x, c->track, ons_graph_value(x->cut->graph, value)->name, "send", pending->micro_batch,
                ons_stage_program_bytes(x->stage, value), pending->offered, c->stream);
}

/* What comes next on the compute stream waits until this has left. */
static ons_status *await_gone(const flight *x, const ons_pending *pending) {
    ons_worker *w = x->w;
    if (pending->link == NULL) {
        w->device->stream_wait(w->compute, pending->event);
        return NULL;
    }
    for (;;) {
        uint64_t seen = ons_links_news(w->o.links);
        ONS_TRY(receive_all_ahead(x));
        if (ons_link_wait_gone(pending->link, w->compute, pending->ticket)) {
            record_sent(x, pending);
            return NULL;
        }
        ONS_TRY(ons_links_await_news(w->o.links, seen, w->o.transport));
    }
}

static ons_status *forget_pending(const flight *x, uint32_t index) {
    ons_worker *w = x->w;
    const ons_pending pending = w->pending[index];
    memmove(w->pending + index, w->pending + index + 1, (--w->pending_count - index) * sizeof *w->pending);
    return await_gone(x, &pending);
}

static ons_status *leave(const flight *x, const ons_pending *pending) {
    ons_worker *w = x->w;
    if (w->pending_count == w->pending_capacity) /* more than are ever alive: the oldest is gone by now, nearly */
        ONS_TRY(forget_pending(x, 0));
    w->pending[w->pending_count++] = *pending;
    return NULL;
}

/* A link's ring of messages comes round: the place must be free. */
static ons_status *make_room(const flight *x, ons_link *link, uint64_t before) {
    ons_worker *w = x->w;
    for (uint32_t i = w->pending_count; i-- > 0;)
        if (w->pending[i].link == link && w->pending[i].ticket + ons_link_at_once(link) <= before)
            ONS_TRY(forget_pending(x, i));
    return NULL;
}

static ons_status *offer_value(const flight *x, uint32_t index, uint32_t micro_batch) {
    ons_worker *w = x->w;
    const ons_cut_transfer *t = &x->cut->sends[index];
    ons_turn turn = turn_of(x, t->part, micro_batch);
    size_t bytes = (size_t)ons_stage_program_bytes(x->stage, t->value);
    ons_pending pending = {x->stage, index, micro_batch, .link = w->channels[x->p->send_channel[index]].link};
    ONS_TRY(make_room(x, pending.link, ons_link_next(pending.link)));
    ons_link_offer(pending.link, w->compute, ons_program_address(x->stage->program, t->value, &turn), bytes,
                   &pending.ticket);
    w->traffic.sent_bytes += (int64_t)bytes;
    pending.offered = ons_worker_mark(w, w->compute);
    return leave(x, &pending);
}

static ons_status *send_value(const flight *x, uint32_t index, uint32_t micro_batch) {
    const ons_worker_channel *c = &x->w->channels[x->p->send_channel[index]];
    if (c->link != NULL) return offer_value(x, index, micro_batch);
    follow_compute(x, c->stream);
    ONS_TRY(put_message(x, &x->cut->sends[index], x->p->send_channel[index], micro_batch, send_message));
    x->w->device->event_record(c->stream, x->p->sent[index]);
    return leave(x, &(ons_pending){x->stage, index, micro_batch, x->p->sent[index], NULL, 0, 0});
}

static bool is_once(const flight *x, ons_part part) { return part == ONS_PART_END && !x->f->asynchronous; }

/* How many messages of each kind a channel's part brings to the micro-batches of this program. */
static uint32_t times(const flight *x, ons_part part) {
    if (part == ONS_PART_END && !x->f->updates) return 0;
    return is_once(x, part) ? half_of(x, part, 0) == x : x->end - x->first;
}

/* How many kinds of messages a channel brings. */
static uint32_t kinds_of(const flight *x, uint32_t channel) {
    uint32_t kinds = 0;
    for (uint32_t i = 0; i < x->cut->receive_count; ++i) kinds += x->p->receive_channel[i] == channel;
    return kinds;
}

/* How many messages of a channel come before those for this program. */
static uint32_t messages_before(const flight *x, uint32_t channel) {
    uint32_t before = 0;
    for (const flight *each = x->halves; each != x; ++each)
        before += kinds_of(each, channel) * times(each, x->w->channels[channel].part);
    return before;
}

static ons_status *take_value(const flight *x, uint32_t index, uint32_t micro_batch) {
    ons_worker *w = x->w;
    const ons_cut_transfer *t = &x->cut->receives[index];
    const ons_worker_channel *c = &w->channels[x->p->receive_channel[index]];
    ons_turn turn = turn_of(x, t->part, micro_batch);
    size_t bytes = (size_t)ons_stage_program_bytes(x->stage, t->value);
    bool taken;
    if (w->clock != NULL) ons_link_await(c->link, c->stream);
    uint32_t begin = ons_worker_mark(w, c->stream);
    ONS_TRY(ons_link_take(c->link, c->stream, ons_program_address(x->stage->program, t->value, &turn), bytes, &taken));
    ONS_CHECK(taken, ONS_DEFECT, "a message is taken that nobody has offered");
    record_span(x, c->track, ons_graph_value(x->cut->graph, t->value)->name, "receive", micro_batch, (int64_t)bytes,
                begin, c->stream);
    w->traffic.received_bytes += (int64_t)bytes;
    return NULL;
}

/* `turn`: how often this message has come before. */
static ons_status *receive_value(const flight *x, uint32_t index, uint32_t micro_batch, uint32_t turn) {
    ons_worker *w = x->w;
    uint32_t ring = x->stage->rings[index], place = x->p->ring_begin[index] + micro_batch % ring;
    const ons_worker_channel *c = &w->channels[x->p->receive_channel[index]];
    if (turn >= ring) {
        w->device->stream_wait(c->stream, x->p->released[place]);
        uint32_t swap = x->p->swap_of_receive[index];
        if (swap != ONS_NO_POSITION)
            w->device->stream_wait(c->stream,
                                   x->p->out[swap * x->stage->slots + (micro_batch - ring) % x->stage->slots]);
    }
    ONS_TRY(c->link != NULL
                ? take_value(x, index, micro_batch)
                : put_message(x, &x->cut->receives[index], x->p->receive_channel[index], micro_batch, receive_message));
    w->device->event_record(c->stream, x->p->arrived[place]);
    return NULL;
}

/* Those for this program, where all that come before them have been asked for. */
static ons_status *receive_for(const flight *x, uint32_t channel) {
    ons_part part = x->w->channels[channel].part;
    uint32_t *asked = &x->w->asked[channel];
    uint32_t kinds = kinds_of(x, channel), before = messages_before(x, channel), end = before + kinds * times(x, part);
    if (*asked < before) return NULL;
    for (uint32_t turn = kinds == 0 ? 0 : (*asked - before) / kinds; *asked < end; ++turn) {
        uint32_t number = before + turn * kinds, micro_batch = is_once(x, part) ? 0 : x->first + turn;
        for (uint32_t i = 0; i < x->cut->receive_count; ++i) {
            if (x->p->receive_channel[i] != channel) continue;
            if (number++ < *asked) continue;
            if (turn >= x->stage->rings[i] + x->given_back[i]) return NULL;
            const ons_link *link = x->w->channels[channel].link;
            if (link != NULL && !ons_link_offers(link)) return NULL;
            ONS_TRY(receive_value(x, i, micro_batch, turn));
            ++*asked;
        }
    }
    return NULL;
}

/* Asks for the messages of a channel in the order in which they are sent, as far as there are free places. */
static ons_status *receive_ahead(const flight *x, uint32_t channel) {
    for (uint32_t i = 0; i < x->half_count; ++i) ONS_TRY(receive_for(&x->halves[i], channel));
    return NULL;
}

static ons_status *release_value(const flight *x, uint32_t index, uint32_t micro_batch) {
    uint32_t place = x->p->ring_begin[index] + micro_batch % x->stage->rings[index];
    x->w->device->event_record(x->w->compute, x->p->released[place]);
    ++x->given_back[index];
    return receive_ahead(x, x->p->receive_channel[index]);
}

/* The number of a message among those of its channel in this flight. */
static uint32_t number_of(const flight *x, uint32_t index, uint32_t micro_batch) {
    uint32_t channel = x->p->receive_channel[index], number = messages_before(x, channel);
    for (uint32_t i = 0; i < index; ++i) number += x->p->receive_channel[i] == channel;
    bool once = is_once(x, x->cut->receives[index].part); /* whatever the update is named */
    return number + (once ? 0 : (micro_batch - x->first) * kinds_of(x, channel));
}

static ons_status *await_value(const flight *x, uint32_t index, uint32_t micro_batch) {
    ons_worker *w = x->w;
    uint32_t place = x->p->ring_begin[index] + micro_batch % x->stage->rings[index];
    uint32_t channel = x->p->receive_channel[index];
    while (w->channels[channel].link != NULL && w->asked[channel] <= number_of(x, index, micro_batch)) {
        uint64_t seen = ons_links_news(w->o.links);
        ONS_TRY(receive_all_ahead(x));
        if (w->asked[channel] <= number_of(x, index, micro_batch))
            ONS_TRY(ons_links_await_news(w->o.links, seen, w->o.transport));
    }
    w->device->stream_wait(w->compute, x->p->arrived[place]);
    return NULL;
}

/* -------------------------------------------------------------------------------------------------------------- copies
 */

static ons_status *put_copy(const flight *x, uint32_t index, uint32_t micro_batch, bool out) {
    ons_worker *w = x->w;
    const ons_cut_swap *swap = &x->cut->swaps[index];
    ons_stream *stream = out ? w->swap_out : w->swap_in;
    ons_turn turn = turn_of(x, out ? ONS_PART_FORWARD : ONS_PART_BACKWARD, micro_batch);
    char *device = ons_program_address(x->stage->program, out ? swap->value : swap->back, &turn);
    int64_t bytes = ons_stage_program_bytes(x->stage, swap->value);
    char *host = (char *)w->host + micro_batch % x->stage->slots * w->slot_host_bytes + x->p->host_offset[index];
    const char *name = ons_graph_value(x->cut->graph, swap->value)->name;
    ons_job *job = NULL;
    uint32_t begin = ons_worker_mark(w, stream);
    if (w->o.trace != NULL && w->clock == NULL) {
        ONS_TRY(new_job(x, &job));
        fill_job(x, job, out ? ONS_PART_FORWARD : ONS_PART_BACKWARD, micro_batch);
        job->first = out ? 0 : 1;
        job->bytes = (size_t)bytes;
        job->name = name;
        job->track = out ? w->out_track : w->in_track;
        w->device->launch(stream, begin_copy, job);
    }
    w->device->copy(stream, out ? host : device, out ? device : host, (size_t)bytes);
    if (job != NULL) w->device->launch(stream, end_copy, job);
    record_span(x, out ? w->out_track : w->in_track, name, "swap", micro_batch, bytes, begin, stream);
    *(out ? &w->traffic.swapped_out_bytes : &w->traffic.swapped_in_bytes) += bytes;
    return NULL;
}

static ons_status *copy_out(const flight *x, uint32_t index, uint32_t micro_batch) {
    ons_event *event = x->p->out[index * x->stage->slots + micro_batch % x->stage->slots];
    follow_compute(x, x->w->swap_out);
    uint32_t receive = x->p->receive_of_swap[index]; /* nobody may have read it yet */
    if (receive != ONS_NO_POSITION)
        x->w->device->stream_wait(x->w->swap_out,
                                  x->p->arrived[x->p->ring_begin[receive] + micro_batch % x->stage->rings[receive]]);
    ONS_TRY(put_copy(x, index, micro_batch, true));
    x->w->device->event_record(x->w->swap_out, event);
    return leave(x, &(ons_pending){x->stage, x->cut->send_count + index, micro_batch, event, NULL, 0, 0});
}

static ons_status *copy_in(const flight *x, uint32_t index, uint32_t micro_batch) {
    follow_compute(x, x->w->swap_in);
    x->w->device->stream_wait(x->w->swap_in, x->p->out[index * x->stage->slots + micro_batch % x->stage->slots]);
    ONS_TRY(put_copy(x, index, micro_batch, false));
    x->w->device->event_record(x->w->swap_in, x->p->in[index]);
    return NULL;
}

/* --------------------------------------------------------------------------------------------------------------- parts
 */

/* From where on in this part something that has left must be gone: before all of it where another program put it there;
 * what only its ring's rules keep is nothing to wait for. */
static uint32_t conflict_of(const flight *x, const ons_pending *pending, ons_part part, uint32_t micro_batch) {
    const ons_departure *d = &pending->program->departures[pending->departure];
    uint32_t slots = x->stage->slots;
    if (d->of_slot && pending->micro_batch % slots != micro_batch % slots) return ONS_NO_POSITION;
    if (pending->program == x->stage) return d->conflict[part];
    return ons_departure_conflicts(d) ? 0 : ONS_NO_POSITION;
}

/* What has left in earlier parts and must be gone at some position of this one; it is forgotten then. */
static uint32_t collect_waits(const flight *x, ons_part part, uint32_t micro_batch) {
    ons_worker *w = x->w;
    uint32_t count = 0, kept = 0;
    for (uint32_t i = 0; i < w->pending_count; ++i) {
        const ons_pending *pending = &w->pending[i];
        uint32_t position = conflict_of(x, pending, part, micro_batch);
        if (position == ONS_NO_POSITION) {
            w->pending[kept++] = *pending;
            continue;
        }
        uint32_t at = count++;
        for (; at > 0 && w->waits[at - 1].position > position; --at) w->waits[at] = w->waits[at - 1];
        w->waits[at] = (ons_wait){position, *pending};
    }
    w->pending_count = kept;
    return count;
}

/* What has left in this part must be gone before the part ends; it is forgotten. */
static ons_status *await_departure(const flight *x, uint32_t departure, uint32_t micro_batch) {
    ons_worker *w = x->w;
    for (uint32_t i = w->pending_count; i-- > 0;)
        if (w->pending[i].program == x->stage && w->pending[i].departure == departure &&
            w->pending[i].micro_batch == micro_batch)
            return forget_pending(x, i);
    return NULL;
}

static ons_status *carry_out(const flight *x, const ons_mark *mark, uint32_t micro_batch) {
    switch (mark->kind) {
    case ONS_MARK_SEND: return send_value(x, mark->index, micro_batch);
    case ONS_MARK_OUT: return copy_out(x, mark->index, micro_batch);
    case ONS_MARK_GONE: return await_departure(x, x->cut->send_count + mark->index, micro_batch);
    case ONS_MARK_RELEASE: return release_value(x, mark->index, micro_batch);
    case ONS_MARK_IN: return copy_in(x, mark->index, micro_batch);
    case ONS_MARK_AWAIT: return await_value(x, mark->index, micro_batch);
    case ONS_MARK_BACK: x->w->device->stream_wait(x->w->compute, x->p->in[mark->index]); return NULL;
    }
    return NULL;
}

static void share_fault(void *argument, uintptr_t native) { ons_nccl_share_fault(argument, native); }

/* No stage updates where another has found something wrong with the data; what this one has found goes to the host
 * first. (Asynchronous updates are not the same step's in all stages, so they cannot wait for each other.) */
static void share_faults(const flight *x) {
    ons_worker *w = x->w;
    if (w->o.nccl == NULL || x->f->asynchronous) return;
    w->device->copy(w->compute, w->own, w->control.fault, sizeof *w->own);
    w->device->launch(w->compute, share_fault, w->o.nccl);
}

static ons_status *put_part(const flight *any, ons_part part, uint32_t micro_batch) {
    const flight *x = part == ONS_PART_BEGIN ? any : half_of(any, part, micro_batch);
    const ons_stage_program *s = x->stage;
    if (part == ONS_PART_END) share_faults(x);
    uint32_t position = part == ONS_PART_BEGIN ? 0 : x->cut->end[part - 1], end = x->cut->end[part];
    uint32_t mark = part == ONS_PART_BEGIN ? 0 : s->mark_end[part - 1], wait = 0;
    uint32_t waits = collect_waits(x, part, micro_batch);
    /* Data is put in before the first node: not over something that has not left yet. */
    for (; wait < waits && x->w->waits[wait].position <= position; ++wait)
        ONS_TRY(await_gone(x, &x->w->waits[wait].pending));
    bool loads = x->f->load != NULL && (part == ONS_PART_FORWARD || part == ONS_PART_BACKWARD);
    if (loads) ONS_TRY(put_task(x, load_data, part, micro_batch));
    while (wait < waits || mark < s->mark_end[part]) {
        bool waiting =
            wait < waits && (mark == s->mark_end[part] || x->w->waits[wait].position <= s->marks[mark].position);
        uint32_t next = waiting ? x->w->waits[wait].position : s->marks[mark].position;
        ONS_TRY(put_nodes(x, part, micro_batch, position, next));
        position = next > position ? next : position;
        if (waiting)
            ONS_TRY(await_gone(x, &x->w->waits[wait++].pending));
        else
            ONS_TRY(carry_out(x, &s->marks[mark++], micro_batch));
    }
    return put_nodes(x, part, micro_batch, position, end);
}

/* Data of the model's inputs, and what a flight makes that the host reads. */
static ons_status *put_action(const flight *x, const ons_action *action) {
    const ons_flight *f = x->f;
    switch (action->kind) {
    case ONS_ACTION_FORWARD: return put_part(x, ONS_PART_FORWARD, action->micro_batch);
    case ONS_ACTION_BACKWARD:
        ONS_TRY(put_part(x, ONS_PART_BACKWARD, action->micro_batch));
        if (f->read == NULL) return NULL;
        return put_task(half_of(x, ONS_PART_BACKWARD, action->micro_batch), read_results, ONS_PART_BACKWARD,
                        action->micro_batch);
    case ONS_ACTION_UPDATE: return f->updates ? put_part(x, ONS_PART_END, action->micro_batch) : NULL;
    default:
        return ons_status_new(ONS_UNSUPPORTED, "stage %u: the runtime does not carry out '%s' as an action of its own",
                              action->stage, ons_action_name(action->kind));
    }
}

/* Before another program uses the same memory everything of the last flight is gone. */
static ons_status *settle(const flight *x) {
    ons_status *status = NULL;
    for (uint32_t i = 0; status == NULL && i < x->w->pending_count; ++i) status = await_gone(x, &x->w->pending[i]);
    x->w->pending_count = 0;
    return status;
}

static ons_status *put_actions(const flight *x) {
    ons_worker *w = x->w;
    memset(w->asked, 0, w->channel_count * sizeof *w->asked);
    memset(w->given_back, 0, 2 * (size_t)w->most_receives * sizeof *w->given_back);
    for (uint32_t i = 0; i < w->channel_count; ++i) {
        if (w->channels[i].sends) continue;
        follow_compute(x, w->channels[i].stream);
        ONS_TRY(receive_ahead(x, i));
    }
    for (uint32_t i = 0; x->f->begins && i < x->half_count; ++i) ONS_TRY(put_part(&x->halves[i], ONS_PART_BEGIN, 0));
    for (uint32_t i = 0; i < x->f->actions.count; ++i) ONS_TRY(put_action(x, &x->f->actions.items[i]));
    return NULL;
}

/* The flight by its programs, which is one or two. */
static ons_status *split_in_halves(ons_worker *w, const ons_flight *f, flight halves[2]) {
    uint32_t count = f->lineup.programs[1] == NULL ? 1 : 2;
    for (uint32_t i = 0; i < count; ++i) {
        const ons_stage_program *stage = f->lineup.programs[i];
        halves[i] = (flight){
            .w = w,
            .f = f,
            .p = ons_worker_find_program(w, stage),
            .stage = stage,
            .cut = stage->cut,
            .first = i == 0 ? 0 : f->lineup.first_count,
            .end = i + 1 == count ? f->micro_batches : f->lineup.first_count,
            .given_back = w->given_back + (size_t)i * w->most_receives,
            .halves = halves,
            .half_count = count,
        };
        ONS_CHECK(halves[i].p != NULL, ONS_DEFECT, "a program runs that the worker does not know");
    }
    return NULL;
}

ons_status *ons_worker_put(ons_worker *w, const ons_flight *f) {
    flight halves[2];
    ONS_TRY(split_in_halves(w, f, halves));
    ons_status *status = put_actions(halves);
    ons_status *settled = settle(halves);
    if (status != NULL) ons_status_free(settled);
    return status != NULL ? status : settled;
}

static void repeat(ons_worker *w, const ons_kept_flight *kept) {
    w->device->recording_repeat(w->compute, kept->recording);
    w->traffic.swapped_out_bytes += kept->traffic.swapped_out_bytes;
    w->traffic.swapped_in_bytes += kept->traffic.swapped_in_bytes;
    w->traffic.sent_bytes += kept->traffic.sent_bytes;
    w->traffic.received_bytes += kept->traffic.received_bytes;
}

ons_status *ons_worker_launch(ons_worker *w, const ons_flight *f) {
    flight halves[2];
    ONS_TRY(split_in_halves(w, f, halves));
    const ons_kept_flight *kept = ons_worker_find_kept(w, f);
    ONS_TRY(put_steps(halves));
    w->shared = w->shared || (w->o.nccl != NULL && f->updates && !f->asynchronous);
    if (kept == NULL) return ons_worker_put(w, f);
    repeat(w, kept);
    return NULL;
}
