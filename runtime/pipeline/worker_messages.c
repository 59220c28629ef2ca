/* Messages of a pass, asked for as there are places; and what has left and is not gone. */
#include <string.h>

#include "runtime/pipeline/worker_pass.h"

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
    ons_program_revive(job->program->program, job->value, &job->part_place);
    if (job->nccl != NULL) {
        ons_nccl_receive(job->nccl, native, job->address, job->bytes);
        return;
    }
    int64_t begin = ons_trace_now();
    if (!job->worker->o.transport->receive(job->channel, job->address, job->bytes))
        atomic_store(&job->worker->cut_off, true);
    ons_worker_record(job, "receive", begin);
}

/* Whether a message comes in two: where both stages compute the micro-batch's forward part in halves. */
static bool is_in_halves(const ons_program_pass *share, const ons_cut_transfer *t, uint32_t micro_batch) {
    return share->pass->halved != NULL && t->kind == ONS_PART_FORWARD &&
           ons_program_pass_is_halved(share, t->from, micro_batch) &&
           ons_program_pass_is_halved(share, t->to, micro_batch);
}

/* What is the same for all samples goes with the first half. */
static bool is_split(const ons_program_pass *share, const ons_cut_transfer *t) {
    return share->stage->halves->split[t->value];
}

/* Units of a micro-batch at the other end. */
static uint32_t other_size(const ons_program_pass *share, const ons_worker_channel *c) {
    return ons_worker_other_size(share->worker, share->pass, c);
}

/* The first unit of one of this stage's micro-batches. */
static uint64_t first_unit(const ons_program_pass *share, uint32_t micro_batch) {
    return ons_pipeline_pass_number(share->pass, micro_batch) * ons_worker_size(share->worker, share->pass);
}

/* The micro-batch of the pass that has one of this copy's units. */
static uint32_t micro_batch_of(const ons_program_pass *share, uint64_t unit) {
    uint32_t stride = share->pass->stride == 0 ? 1 : share->pass->stride;
    return (uint32_t)((unit / ons_worker_size(share->worker, share->pass) - share->pass->number) / stride);
}

/* The first unit from `unit` on that this copy and the one at the other end both have. */
static uint64_t next_common(const ons_program_pass *share, const ons_worker_channel *c, uint64_t unit) {
    const ons_unit_share own = {ons_worker_size(share->worker, share->pass), ons_worker_own_copies(share->worker),
                                ons_worker_own_copy(share->worker)};
    const ons_unit_share other = {other_size(share, c), c->copies, c->copy};
    return ons_units_next_common(&own, &other, unit);
}

/* Some bytes of a message; the job has its address. */
static ons_status *put_job(const ons_program_pass *share, const ons_cut_transfer *t, const ons_worker_channel *c,
                           uint32_t micro_batch, ons_job *job, ons_task *task) {
    job->value = t->value;
    job->channel = c->channel;
    job->nccl = c->nccl;
    job->track = c->track;
    job->name = ons_graph_value(share->cut->graph, t->value)->name;
    *(c->sends ? &share->worker->traffic.sent_bytes : &share->worker->traffic.received_bytes) += (int64_t)job->bytes;
    uint32_t begin = c->nccl == NULL ? 0 : ons_worker_timestamp(share->worker, c->stream);
    share->worker->device->launch(c->stream, task, job);
    if (c->nccl != NULL) /* its wait for the other end is in it */
        ons_program_pass_record_span(share, c->track, job->name, c->sends ? "send" : "receive", micro_batch,
                                     (int64_t)job->bytes, begin, c->stream);
    return NULL;
}

static ons_status *put_message(const ons_program_pass *share, const ons_cut_transfer *t, uint32_t channel,
                               uint32_t micro_batch, ons_sample_half sample_half, ons_task *task) {
    ons_job *job;
    ONS_TRY(ons_program_pass_job(share, t->part, micro_batch, &job));
    job->address = ons_program_address(ons_stage_program_of(share->stage, sample_half), t->value, &job->part_place);
    job->bytes = (size_t)ons_stage_program_half_bytes(share->stage, t->value, sample_half);
    return put_job(share, t, &share->worker->channels[channel], micro_batch, job, task);
}

/* The piece of a message that begins with unit `first`, of as many units as both ends' micro-batches have in common. */
static ons_status *put_piece(const ons_program_pass *share, const ons_cut_transfer *t, const ons_worker_channel *c,
                             uint64_t first, ons_task *task) {
    ons_job *job;
    uint32_t size = ons_worker_size(share->worker, share->pass), micro_batch = micro_batch_of(share, first);
    size_t unit_bytes = (size_t)ons_stage_program_bytes(share->stage, t->value) / size;
    ONS_CHECK(c->link == NULL, ONS_DEFECT, "a message between stages that share a GPU in pieces");
    ONS_TRY(ons_program_pass_job(share, t->part, micro_batch, &job));
    job->address =
        (char *)ons_program_address(share->stage->program, t->value, &job->part_place) + first % size * unit_bytes;
    job->bytes = (ons_units_piece_end(first, size, other_size(share, c)) - first) * unit_bytes;
    return put_job(share, t, c, micro_batch, job, task);
}

/* Whether both ends of a channel have micro-batches of different sizes. */
static bool is_in_pieces(const ons_program_pass *share, const ons_worker_channel *c) {
    return share->pass->form == ONS_PASS_OF_STEP && ons_units_is_cut(c->kind) &&
           ons_worker_size(share->worker, share->pass) != other_size(share, c);
}

static ons_status *receive_ahead(const ons_program_pass *share, uint32_t channel);

ons_status *ons_program_pass_receive_ahead(const ons_program_pass *share) {
    for (uint32_t i = 0; i < share->worker->channel_count; ++i)
        if (!share->worker->channels[i].sends) ONS_TRY(receive_ahead(share, i));
    return NULL;
}

/* Nothing but the clock's timestamps is on the stream of a sender with links: they tell when messages were gone. */
static void record_sent(const ons_program_pass *any, const ons_pending *pending) {
    const ons_program_pass *share = any->shares; /* the one that sent it */
    while (share->stage != pending->program) ++share;
    const ons_worker_channel *c = &share->worker->channels[pending->channel];
    const ons_value_id value = share->cut->sends[pending->transfer].value;
    if (share->worker->clock == NULL) return;
    (void)ons_link_wait_gone(pending->link, c->stream, pending->ticket);
    ons_program_pass_record_span(share, c->track, ons_graph_value(share->cut->graph, value)->name, "send",
                                 pending->micro_batch, ons_stage_program_bytes(share->stage, value), pending->offered,
                                 c->stream);
}

ons_status *ons_program_pass_await_gone(const ons_program_pass *share, const ons_pending *pending) {
    ons_worker *worker = share->worker;
    if (pending->link == NULL) {
        worker->device->stream_wait(worker->compute, pending->event);
        return NULL;
    }
    for (;;) {
        uint64_t seen = ons_links_news(worker->o.links);
        ONS_TRY(ons_program_pass_receive_ahead(share));
        if (ons_link_wait_gone(pending->link, worker->compute, pending->ticket)) {
            record_sent(share, pending);
            return NULL;
        }
        ONS_TRY(ons_links_await_news(worker->o.links, seen, worker->o.transport));
    }
}

ons_status *ons_program_pass_forget(const ons_program_pass *share, uint32_t index) {
    ons_worker *worker = share->worker;
    const ons_pending pending = worker->pending[index];
    memmove(worker->pending + index, worker->pending + index + 1,
            (--worker->pending_count - index) * sizeof *worker->pending);
    return ons_program_pass_await_gone(share, &pending);
}

ons_status *ons_program_pass_leave(const ons_program_pass *share, const ons_pending *pending) {
    ons_worker *worker = share->worker;
    if (worker->pending_count ==
        worker->pending_capacity) /* more than are ever alive: the oldest is gone by now, nearly */
        ONS_TRY(ons_program_pass_forget(share, 0));
    worker->pending[worker->pending_count++] = *pending;
    return NULL;
}

/* A link's ring of messages comes round: the place must be free. */
static ons_status *make_room(const ons_program_pass *share, ons_link *link, uint64_t before) {
    ons_worker *worker = share->worker;
    for (uint32_t i = worker->pending_count; i-- > 0;)
        if (worker->pending[i].link == link && worker->pending[i].ticket + ons_link_at_once(link) <= before)
            ONS_TRY(ons_program_pass_forget(share, i));
    return NULL;
}

static ons_status *offer_value(const ons_program_pass *share, uint32_t index, uint32_t channel, uint32_t micro_batch) {
    ons_worker *worker = share->worker;
    const ons_cut_transfer *t = &share->cut->sends[index];
    ons_part_place part_place = ons_program_pass_place(share, t->part, micro_batch);
    size_t bytes = (size_t)ons_stage_program_bytes(share->stage, t->value);
    ons_pending pending = {share->stage, index, micro_batch, channel, .link = worker->channels[channel].link};
    ONS_TRY(make_room(share, pending.link, ons_link_next(pending.link)));
    ons_link_offer(pending.link, worker->compute, ons_program_address(share->stage->program, t->value, &part_place),
                   bytes, &pending.ticket);
    worker->traffic.sent_bytes += (int64_t)bytes;
    pending.offered = ons_worker_timestamp(worker, worker->compute);
    return ons_program_pass_leave(share, &pending);
}

static ons_status *send_pieces(const ons_program_pass *share, const ons_cut_transfer *t, const ons_worker_channel *c,
                               uint32_t micro_batch) {
    uint32_t size = ons_worker_size(share->worker, share->pass), other = other_size(share, c);
    uint64_t begin = first_unit(share, micro_batch), first = next_common(share, c, begin);
    for (; first < begin + size; first = next_common(share, c, ons_units_piece_end(first, size, other)))
        ONS_TRY(put_piece(share, t, c, first, send_message));
    return NULL;
}

static bool is_once(const ons_program_pass *share, ons_part_kind kind) {
    return kind == ONS_PART_END && !share->pass->asynchronous;
}

/* Whether a message of the micro-batch, or a piece of it, goes this way: to or from a copy that has the same samples.
 * What a step sends once goes every way that there is. */
static bool goes_by(const ons_program_pass *share, uint32_t channel, uint32_t micro_batch) {
    if (channel == ONS_NO_POSITION) return false;
    const ons_worker_channel *c = &share->worker->channels[channel];
    uint64_t first = first_unit(share, micro_batch),
             units = is_in_pieces(share, c) ? ons_worker_size(share->worker, share->pass) : 1;
    return is_once(share, c->kind) || next_common(share, c, first) < first + units;
}

/* `way`: the place of channel and event among those of the program's sends. */
static ons_status *send_by(const ons_program_pass *share, uint32_t index, uint32_t way, uint32_t micro_batch,
                           ons_sample_half sample_half) {
    const ons_cut_transfer *t = &share->cut->sends[index];
    uint32_t channel = share->program->send_channel[way];
    const ons_worker_channel *c = &share->worker->channels[channel];
    bool halved = sample_half != ONS_ALL_SAMPLES && is_in_halves(share, t, micro_batch);
    if (sample_half == ONS_FIRST_HALF && !halved) return NULL; /* it goes with the second one */
    if (sample_half == ONS_SECOND_HALF && halved && !is_split(share, t)) return NULL;
    if (!halved) sample_half = ONS_ALL_SAMPLES;
    if (c->link != NULL) return offer_value(share, index, channel, micro_batch);
    ons_program_pass_follow_compute(share, c->stream);
    ONS_TRY(is_in_pieces(share, c) ? send_pieces(share, t, c, micro_batch)
                                   : put_message(share, t, channel, micro_batch, sample_half, send_message));
    share->worker->device->event_record(c->stream, share->program->sent[way]);
    return ons_program_pass_leave(
        share, &(ons_pending){share->stage, index, micro_batch, channel, share->program->sent[way], NULL, 0, 0});
}

ons_status *ons_program_pass_send(const ons_program_pass *share, uint32_t index, uint32_t micro_batch,
                                  ons_sample_half sample_half) {
    for (uint32_t way = share->program->send_begin[index]; way < share->program->send_begin[index + 1]; ++way)
        if (goes_by(share, share->program->send_channel[way], micro_batch))
            ONS_TRY(send_by(share, index, way, micro_batch, sample_half));
    return NULL;
}

/* The first micro-batch of this program whose messages come by the channel; the others follow at its period. */
static uint32_t first_by(const ons_program_pass *share, uint32_t channel) {
    uint32_t first = share->first;
    while (first < share->end && !goes_by(share, channel, first)) ++first;
    return first;
}

/* How many messages of each kind a channel brings to the micro-batches of this program. */
static uint32_t times(const ons_program_pass *share, uint32_t channel) {
    const ons_worker_channel *c = &share->worker->channels[channel];
    if (c->kind == ONS_PART_END && !share->pass->updates) return 0;
    if (is_once(share, c->kind)) return ons_program_pass_of(share, ons_part_last(share->cut->chunks), 0) == share;
    uint32_t first = first_by(share, channel);
    return first < share->end ? (share->end - first - 1) / c->period + 1 : 0;
}

/* Whether the channel is one of those that bring message `index`. */
static bool brings(const ons_program_pass *share, uint32_t channel, uint32_t index) {
    const ons_worker_channel *c = &share->worker->channels[channel];
    return c->copy < share->program->receive_begin[index + 1] - share->program->receive_begin[index] &&
           share->program->receive_channel[share->program->receive_begin[index] + c->copy] == channel;
}

/* How many kinds of messages a channel brings. */
static uint32_t kinds_of(const ons_program_pass *share, uint32_t channel) {
    uint32_t kinds = 0;
    for (uint32_t i = 0; i < share->cut->receive_count; ++i) kinds += brings(share, channel, i);
    return kinds;
}

/* How many messages more come where micro-batches are in halves. */
static uint32_t second_halves(const ons_program_pass *share, uint32_t channel) {
    uint32_t count = 0;
    for (uint32_t i = 0; share->pass->halved != NULL && i < share->cut->receive_count; ++i) {
        const ons_cut_transfer *t = &share->cut->receives[i];
        if (!brings(share, channel, i)) continue;
        for (uint32_t k = share->first; k < share->end; ++k) count += is_in_halves(share, t, k) && is_split(share, t);
    }
    return count;
}

/* How many messages of a channel come before those for this program. */
static uint32_t messages_before(const ons_program_pass *share, uint32_t channel) {
    uint32_t before = 0;
    for (const ons_program_pass *each = share->shares; each != share; ++each)
        before += kinds_of(each, channel) * times(each, channel) + second_halves(each, channel);
    return before;
}

static ons_status *take_value(const ons_program_pass *share, uint32_t index, const ons_worker_channel *c,
                              uint32_t micro_batch) {
    ons_worker *worker = share->worker;
    const ons_cut_transfer *t = &share->cut->receives[index];
    ons_part_place part_place = ons_program_pass_place(share, t->part, micro_batch);
    size_t bytes = (size_t)ons_stage_program_bytes(share->stage, t->value);
    bool taken;
    if (worker->clock != NULL) ons_link_await(c->link, c->stream);
    uint32_t begin = ons_worker_timestamp(worker, c->stream);
    ONS_TRY(ons_link_take(c->link, c->stream, ons_program_address(share->stage->program, t->value, &part_place), bytes,
                          &taken));
    ONS_CHECK(taken, ONS_DEFECT, "a message is taken that nobody has offered");
    ons_program_pass_record_span(share, c->track, ons_graph_value(share->cut->graph, t->value)->name, "receive",
                                 micro_batch, (int64_t)bytes, begin, c->stream);
    worker->traffic.received_bytes += (int64_t)bytes;
    return NULL;
}

/* The message before it in the same place must have been read, and copied where it is. */
static void await_place(const ons_program_pass *share, const ons_worker_channel *c, uint32_t index,
                        uint32_t micro_batch) {
    ons_worker *worker = share->worker;
    uint32_t ring = share->stage->rings[index], swap = share->program->swap_of_receive[index],
             slots = share->stage->slots;
    worker->device->stream_wait(c->stream,
                                share->program->released[share->program->ring_begin[index] + micro_batch % ring]);
    if (swap != ONS_NO_POSITION)
        worker->device->stream_wait(c->stream, share->program->out[swap * slots + (micro_batch - ring) % slots]);
}

/* What comes of a message from one of the other end's copies is there. */
static ons_event *arrival_of(const ons_program_pass *share, uint32_t index, uint32_t copy, uint32_t micro_batch) {
    uint32_t way = share->program->receive_begin[index] + copy;
    return share->program->arrived[share->program->arrived_begin[way] + micro_batch % share->stage->rings[index]];
}

/* `part_place`: how often this message has come before, by any channel. */
static ons_status *receive_value(const ons_program_pass *share, uint32_t index, uint32_t channel, uint32_t micro_batch,
                                 uint32_t turn, ons_sample_half sample_half) {
    ons_worker *worker = share->worker;
    uint32_t ring = share->stage->rings[index], place = share->program->ring_begin[index] + micro_batch % ring;
    const ons_worker_channel *c = &worker->channels[channel];
    if (turn >= ring && sample_half != ONS_SECOND_HALF) await_place(share, c, index, micro_batch);
    ONS_TRY(c->link != NULL
                ? take_value(share, index, c, micro_batch)
                : put_message(share, &share->cut->receives[index], channel, micro_batch, sample_half, receive_message));
    if (sample_half == ONS_FIRST_HALF) worker->device->event_record(c->stream, share->program->first_arrived[place]);
    if (sample_half != ONS_FIRST_HALF || !is_split(share, &share->cut->receives[index]))
        worker->device->event_record(c->stream, arrival_of(share, index, c->copy, micro_batch));
    return NULL;
}

/* One way of a micro-batch's messages, all of it or a half: those that have not been asked for, as far as there are
 * places. *number: of the first one; of the next ones when it returns. *full: there was no place. */
static ons_status *receive_half(const ons_program_pass *share, uint32_t channel, uint32_t micro_batch,
                                ons_sample_half sample_half, uint32_t *number, bool *full) {
    bool once = is_once(share, share->worker->channels[channel].kind);
    uint32_t turn = once ? 0 : micro_batch - share->first;
    uint32_t *asked = &share->worker->asked[channel];
    const ons_link *link = share->worker->channels[channel].link;
    for (uint32_t i = 0; i < share->cut->receive_count; ++i) {
        if (!brings(share, channel, i)) continue;
        if (sample_half == ONS_SECOND_HALF && !is_split(share, &share->cut->receives[i])) continue;
        if ((*number)++ < *asked) continue;
        *full = turn >= share->stage->rings[i] + share->given_back[i] || (link != NULL && !ons_link_offers(link));
        if (*full) return NULL;
        ONS_TRY(receive_value(share, i, channel, once ? 0 : micro_batch, turn, sample_half));
        ++*asked;
    }
    return NULL;
}

/* Any of its receives says it. */
static bool comes_in_halves(const ons_program_pass *share, uint32_t channel, uint32_t micro_batch) {
    for (uint32_t i = 0; share->pass->halved != NULL && i < share->cut->receive_count; ++i)
        if (brings(share, channel, i)) return is_in_halves(share, &share->cut->receives[i], micro_batch);
    return false;
}

/* Those for this program, where all that come before them have been asked for. */
static ons_status *receive_for(const ons_program_pass *share, uint32_t channel) {
    uint32_t asked = share->worker->asked[channel], period = share->worker->channels[channel].period;
    uint32_t kinds = kinds_of(share, channel), before = messages_before(share, channel), end = times(share, channel);
    if (asked < before || kinds == 0) return NULL;
    uint32_t turn = share->pass->halved == NULL ? (asked - before) / kinds : 0, number = before + turn * kinds;
    uint32_t first = first_by(share, channel);
    bool full = false;
    for (; turn < end && !full; ++turn) {
        uint32_t micro_batch = first + turn * period;
        bool halves = comes_in_halves(share, channel, micro_batch);
        ONS_TRY(receive_half(share, channel, micro_batch, halves ? ONS_FIRST_HALF : ONS_ALL_SAMPLES, &number, &full));
        if (halves && !full) ONS_TRY(receive_half(share, channel, micro_batch, ONS_SECOND_HALF, &number, &full));
    }
    return NULL;
}

static uint32_t next_receive(const ons_program_pass *share, uint32_t channel, uint32_t index) {
    while (index < share->cut->receive_count && !brings(share, channel, index)) ++index;
    return index;
}

/* The sender's micro-batches come one by one, of each all messages of the channel, and of a message all pieces. `next`:
 * the unit of the next piece, whichever micro-batch has it. */
static void move_on(const ons_program_pass *share, uint32_t channel, uint64_t next) {
    ons_worker_channel *c = &share->worker->channels[channel];
    uint64_t other = other_size(share, c), begin = c->next_unit / other * other;
    c->next_unit = next;
    if (next < begin + other) return;
    c->next_receive = next_receive(share, channel, c->next_receive + 1);
    if (c->next_receive < share->cut->receive_count)
        c->next_unit = next_common(share, c, begin);
    else
        c->next_receive = next_receive(share, channel, 0);
}

static ons_status *receive_pieces(const ons_program_pass *share, uint32_t channel) {
    const ons_worker_channel *c = &share->worker->channels[channel];
    uint64_t size = ons_worker_size(share->worker, share->pass);
    while (c->next_receive < share->cut->receive_count && c->next_unit != UINT64_MAX &&
           micro_batch_of(share, c->next_unit) < share->pass->micro_batches) {
        uint32_t index = c->next_receive, micro_batch = micro_batch_of(share, c->next_unit),
                 ring = share->stage->rings[index];
        uint64_t end = ons_units_piece_end(c->next_unit, (uint32_t)size, other_size(share, c));
        uint64_t next = next_common(share, c, end);
        if (micro_batch >= ring + share->given_back[index]) return NULL;
        if (micro_batch >= ring) await_place(share, c, index, micro_batch);
        ONS_TRY(put_piece(share, &share->cut->receives[index], c, c->next_unit, receive_message));
        if (next / size != c->next_unit / size)
            share->worker->device->event_record(c->stream, arrival_of(share, index, c->copy, micro_batch));
        move_on(share, channel, next);
    }
    return NULL;
}

/* Asks for the messages of a channel in the order in which they are sent, as far as there are free places. */
static ons_status *receive_ahead(const ons_program_pass *share, uint32_t channel) {
    if (is_in_pieces(share, &share->worker->channels[channel])) return receive_pieces(share->shares, channel);
    for (uint32_t i = 0; i < share->share_count; ++i) ONS_TRY(receive_for(&share->shares[i], channel));
    return NULL;
}

ons_status *ons_program_pass_release(const ons_program_pass *share, uint32_t index, uint32_t micro_batch) {
    uint32_t place = share->program->ring_begin[index] + micro_batch % share->stage->rings[index];
    if (share->program->swap_of_receive[index] == ONS_NO_POSITION) /* else the copy may not have ended */
        ONS_TRY(ons_program_pass_bury(share, share->cut->receives[index].value, micro_batch));
    share->worker->device->event_record(share->worker->compute, share->program->released[place]);
    ++share->given_back[index];
    for (uint32_t way = share->program->receive_begin[index]; way < share->program->receive_begin[index + 1]; ++way)
        if (share->program->receive_channel[way] != ONS_NO_POSITION)
            ONS_TRY(receive_ahead(share, share->program->receive_channel[way]));
    return NULL;
}

/* The channel by which a message comes that is not in pieces. */
static uint32_t channel_of(const ons_program_pass *share, uint32_t index, uint32_t micro_batch) {
    uint32_t way = share->program->receive_begin[index];
    while (!goes_by(share, share->program->receive_channel[way], micro_batch)) ++way;
    return share->program->receive_channel[way];
}

/* The number of a message among those of its channel in this pass. */
static uint32_t number_of(const ons_program_pass *share, uint32_t index, uint32_t channel, uint32_t micro_batch) {
    uint32_t number = messages_before(share, channel), period = share->worker->channels[channel].period;
    for (uint32_t i = 0; i < index; ++i) number += brings(share, channel, i);
    bool once = is_once(share, share->cut->receives[index].kind); /* whatever the update is named */
    return number + (once ? 0 : (micro_batch - first_by(share, channel)) / period * kinds_of(share, channel));
}

void ons_program_pass_follow_message(const ons_program_pass *share, uint32_t index, uint32_t micro_batch,
                                     ons_stream *stream) {
    for (uint32_t way = share->program->receive_begin[index]; way < share->program->receive_begin[index + 1]; ++way)
        if (goes_by(share, share->program->receive_channel[way], micro_batch))
            share->worker->device->stream_wait(
                stream, arrival_of(share, index, way - share->program->receive_begin[index], micro_batch));
}

ons_status *ons_program_pass_await(const ons_program_pass *share, uint32_t index, uint32_t micro_batch,
                                   ons_sample_half sample_half) {
    ons_worker *worker = share->worker;
    uint32_t place = share->program->ring_begin[index] + micro_batch % share->stage->rings[index];
    uint32_t channel = channel_of(share, index, micro_batch);
    while (worker->channels[channel].link != NULL &&
           worker->asked[channel] <= number_of(share, index, channel, micro_batch)) {
        uint64_t seen = ons_links_news(worker->o.links);
        ONS_TRY(ons_program_pass_receive_ahead(share));
        if (worker->asked[channel] <= number_of(share, index, channel, micro_batch))
            ONS_TRY(ons_links_await_news(worker->o.links, seen, worker->o.transport));
    }
    if (sample_half == ONS_FIRST_HALF && is_in_halves(share, &share->cut->receives[index], micro_batch))
        worker->device->stream_wait(worker->compute, share->program->first_arrived[place]);
    else
        ons_program_pass_follow_message(share, index, micro_batch, worker->compute);
    return NULL;
}

ons_status *ons_program_pass_begin_messages(const ons_program_pass *share) {
    ons_worker *worker = share->worker;
    memset(worker->asked, 0, worker->channel_count * sizeof *worker->asked);
    memset(worker->given_back, 0, 2 * (size_t)worker->most_receives * sizeof *worker->given_back);
    for (uint32_t i = 0; i < worker->channel_count; ++i) {
        if (worker->channels[i].sends) continue;
        worker->channels[i].next_receive = next_receive(share, i, 0);
        worker->channels[i].next_unit = next_common(share, &worker->channels[i], first_unit(share, 0));
        ons_program_pass_follow_compute(share, worker->channels[i].stream);
        ONS_TRY(receive_ahead(share, i));
    }
    return NULL;
}
