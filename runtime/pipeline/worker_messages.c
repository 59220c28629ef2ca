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
    ons_program_revive(job->program->program, job->value, &job->turn);
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
static bool is_in_halves(const ons_program_pass *x, const ons_cut_transfer *t, uint32_t micro_batch) {
    return x->f->halved != NULL && t->kind == ONS_PART_FORWARD && ons_program_pass_is_halved(x, t->from, micro_batch) &&
           ons_program_pass_is_halved(x, t->to, micro_batch);
}

/* What is the same for all samples goes with the first half. */
static bool is_split(const ons_program_pass *x, const ons_cut_transfer *t) { return x->stage->halves->split[t->value]; }

/* Units of a micro-batch at the other end. */
static uint32_t other_size(const ons_program_pass *x, const ons_worker_channel *c) {
    return ons_worker_other_size(x->w, x->f, c);
}

/* The first unit of one of this stage's micro-batches. */
static uint64_t first_unit(const ons_program_pass *x, uint32_t micro_batch) {
    return ons_pipeline_pass_number(x->f, micro_batch) * ons_worker_size(x->w, x->f);
}

/* The micro-batch of the pass that has one of this copy's units. */
static uint32_t micro_batch_of(const ons_program_pass *x, uint64_t unit) {
    uint32_t stride = x->f->stride == 0 ? 1 : x->f->stride;
    return (uint32_t)((unit / ons_worker_size(x->w, x->f) - x->f->number) / stride);
}

/* The first unit from `unit` on that this copy and the one at the other end both have. */
static uint64_t next_common(const ons_program_pass *x, const ons_worker_channel *c, uint64_t unit) {
    const ons_unit_share own = {ons_worker_size(x->w, x->f), ons_worker_own_copies(x->w), ons_worker_own_copy(x->w)};
    const ons_unit_share other = {other_size(x, c), c->copies, c->copy};
    return ons_units_next_common(&own, &other, unit);
}

/* Some bytes of a message; the job has its address. */
static ons_status *put_job(const ons_program_pass *x, const ons_cut_transfer *t, const ons_worker_channel *c,
                           uint32_t micro_batch, ons_job *job, ons_task *task) {
    job->value = t->value;
    job->channel = c->channel;
    job->nccl = c->nccl;
    job->track = c->track;
    job->name = ons_graph_value(x->cut->graph, t->value)->name;
    *(c->sends ? &x->w->traffic.sent_bytes : &x->w->traffic.received_bytes) += (int64_t)job->bytes;
    uint32_t begin = c->nccl == NULL ? 0 : ons_worker_timestamp(x->w, c->stream);
    x->w->device->launch(c->stream, task, job);
    if (c->nccl != NULL) /* its wait for the other end is in it */
        ons_program_pass_record_span(x, c->track, job->name, c->sends ? "send" : "receive", micro_batch,
                                     (int64_t)job->bytes, begin, c->stream);
    return NULL;
}

static ons_status *put_message(const ons_program_pass *x, const ons_cut_transfer *t, uint32_t channel,
                               uint32_t micro_batch, ons_piece piece, ons_task *task) {
    ons_job *job;
    ONS_TRY(ons_program_pass_job(x, t->part, micro_batch, &job));
    job->address = ons_program_address(ons_stage_program_of(x->stage, piece), t->value, &job->turn);
    job->bytes = (size_t)ons_stage_program_piece_bytes(x->stage, t->value, piece);
    return put_job(x, t, &x->w->channels[channel], micro_batch, job, task);
}

/* The piece of a message that begins with unit `first`, of as many units as both ends' micro-batches have in common. */
static ons_status *put_piece(const ons_program_pass *x, const ons_cut_transfer *t, const ons_worker_channel *c,
                             uint64_t first, ons_task *task) {
    ons_job *job;
    uint32_t size = ons_worker_size(x->w, x->f), micro_batch = micro_batch_of(x, first);
    size_t unit_bytes = (size_t)ons_stage_program_bytes(x->stage, t->value) / size;
    ONS_CHECK(c->link == NULL, ONS_DEFECT, "a message between stages that share a GPU in pieces");
    ONS_TRY(ons_program_pass_job(x, t->part, micro_batch, &job));
    job->address = (char *)ons_program_address(x->stage->program, t->value, &job->turn) + first % size * unit_bytes;
    job->bytes = (ons_units_piece_end(first, size, other_size(x, c)) - first) * unit_bytes;
    return put_job(x, t, c, micro_batch, job, task);
}

/* Whether both ends of a channel have micro-batches of different sizes. */
static bool is_in_pieces(const ons_program_pass *x, const ons_worker_channel *c) {
    return x->f->form == ONS_PASS_OF_STEP && ons_units_is_cut(c->kind) &&
           ons_worker_size(x->w, x->f) != other_size(x, c);
}

static ons_status *receive_ahead(const ons_program_pass *x, uint32_t channel);

ons_status *ons_program_pass_receive_ahead(const ons_program_pass *x) {
    for (uint32_t i = 0; i < x->w->channel_count; ++i)
        if (!x->w->channels[i].sends) ONS_TRY(receive_ahead(x, i));
    return NULL;
}

/* Nothing but the clock's timestamps is on the stream of a sender with links: they tell when messages were gone. */
static void record_sent(const ons_program_pass *any, const ons_pending *pending) {
    const ons_program_pass *x = any->shares; /* the one that sent it */
    while (x->stage != pending->program) ++x;
    const ons_worker_channel *c = &x->w->channels[pending->channel];
    const ons_value_id value = x->cut->sends[pending->transfer].value;
    if (x->w->clock == NULL) return;
    (void)ons_link_wait_gone(pending->link, c->stream, pending->ticket);
    ons_program_pass_record_span(x, c->track, ons_graph_value(x->cut->graph, value)->name, "send", pending->micro_batch,
                                 ons_stage_program_bytes(x->stage, value), pending->offered, c->stream);
}

ons_status *ons_program_pass_await_gone(const ons_program_pass *x, const ons_pending *pending) {
    ons_worker *w = x->w;
    if (pending->link == NULL) {
        w->device->stream_wait(w->compute, pending->event);
        return NULL;
    }
    for (;;) {
        uint64_t seen = ons_links_news(w->o.links);
        ONS_TRY(ons_program_pass_receive_ahead(x));
        if (ons_link_wait_gone(pending->link, w->compute, pending->ticket)) {
            record_sent(x, pending);
            return NULL;
        }
        ONS_TRY(ons_links_await_news(w->o.links, seen, w->o.transport));
    }
}

ons_status *ons_program_pass_forget(const ons_program_pass *x, uint32_t index) {
    ons_worker *w = x->w;
    const ons_pending pending = w->pending[index];
    memmove(w->pending + index, w->pending + index + 1, (--w->pending_count - index) * sizeof *w->pending);
    return ons_program_pass_await_gone(x, &pending);
}

ons_status *ons_program_pass_leave(const ons_program_pass *x, const ons_pending *pending) {
    ons_worker *w = x->w;
    if (w->pending_count == w->pending_capacity) /* more than are ever alive: the oldest is gone by now, nearly */
        ONS_TRY(ons_program_pass_forget(x, 0));
    w->pending[w->pending_count++] = *pending;
    return NULL;
}

/* A link's ring of messages comes round: the place must be free. */
static ons_status *make_room(const ons_program_pass *x, ons_link *link, uint64_t before) {
    ons_worker *w = x->w;
    for (uint32_t i = w->pending_count; i-- > 0;)
        if (w->pending[i].link == link && w->pending[i].ticket + ons_link_at_once(link) <= before)
            ONS_TRY(ons_program_pass_forget(x, i));
    return NULL;
}

static ons_status *offer_value(const ons_program_pass *x, uint32_t index, uint32_t channel, uint32_t micro_batch) {
    ons_worker *w = x->w;
    const ons_cut_transfer *t = &x->cut->sends[index];
    ons_turn turn = ons_program_pass_turn(x, t->part, micro_batch);
    size_t bytes = (size_t)ons_stage_program_bytes(x->stage, t->value);
    ons_pending pending = {x->stage, index, micro_batch, channel, .link = w->channels[channel].link};
    ONS_TRY(make_room(x, pending.link, ons_link_next(pending.link)));
    ons_link_offer(pending.link, w->compute, ons_program_address(x->stage->program, t->value, &turn), bytes,
                   &pending.ticket);
    w->traffic.sent_bytes += (int64_t)bytes;
    pending.offered = ons_worker_timestamp(w, w->compute);
    return ons_program_pass_leave(x, &pending);
}

static ons_status *send_pieces(const ons_program_pass *x, const ons_cut_transfer *t, const ons_worker_channel *c,
                               uint32_t micro_batch) {
    uint32_t size = ons_worker_size(x->w, x->f), other = other_size(x, c);
    uint64_t begin = first_unit(x, micro_batch), first = next_common(x, c, begin);
    for (; first < begin + size; first = next_common(x, c, ons_units_piece_end(first, size, other)))
        ONS_TRY(put_piece(x, t, c, first, send_message));
    return NULL;
}

static bool is_once(const ons_program_pass *x, ons_part_kind kind) {
    return kind == ONS_PART_END && !x->f->asynchronous;
}

/* Whether a message of the micro-batch, or a piece of it, goes this way: to or from a copy that has the same samples.
 * What a step sends once goes every way that there is. */
static bool goes_by(const ons_program_pass *x, uint32_t channel, uint32_t micro_batch) {
    if (channel == ONS_NO_POSITION) return false;
    const ons_worker_channel *c = &x->w->channels[channel];
    uint64_t first = first_unit(x, micro_batch), units = is_in_pieces(x, c) ? ons_worker_size(x->w, x->f) : 1;
    return is_once(x, c->kind) || next_common(x, c, first) < first + units;
}

/* `way`: the place of channel and event among those of the program's sends. */
static ons_status *send_by(const ons_program_pass *x, uint32_t index, uint32_t way, uint32_t micro_batch,
                           ons_piece piece) {
    const ons_cut_transfer *t = &x->cut->sends[index];
    uint32_t channel = x->p->send_channel[way];
    const ons_worker_channel *c = &x->w->channels[channel];
    bool halved = piece != ONS_ALL_SAMPLES && is_in_halves(x, t, micro_batch);
    if (piece == ONS_FIRST_HALF && !halved) return NULL; /* it goes with the second one */
    if (piece == ONS_SECOND_HALF && halved && !is_split(x, t)) return NULL;
    if (!halved) piece = ONS_ALL_SAMPLES;
    if (c->link != NULL) return offer_value(x, index, channel, micro_batch);
    ons_program_pass_follow_compute(x, c->stream);
    ONS_TRY(is_in_pieces(x, c) ? send_pieces(x, t, c, micro_batch)
                               : put_message(x, t, channel, micro_batch, piece, send_message));
    x->w->device->event_record(c->stream, x->p->sent[way]);
    return ons_program_pass_leave(x,
                                  &(ons_pending){x->stage, index, micro_batch, channel, x->p->sent[way], NULL, 0, 0});
}

ons_status *ons_program_pass_send(const ons_program_pass *x, uint32_t index, uint32_t micro_batch, ons_piece piece) {
    for (uint32_t way = x->p->send_begin[index]; way < x->p->send_begin[index + 1]; ++way)
        if (goes_by(x, x->p->send_channel[way], micro_batch)) ONS_TRY(send_by(x, index, way, micro_batch, piece));
    return NULL;
}

/* The first micro-batch of this program whose messages come by the channel; the others follow at its period. */
static uint32_t first_by(const ons_program_pass *x, uint32_t channel) {
    uint32_t first = x->first;
    while (first < x->end && !goes_by(x, channel, first)) ++first;
    return first;
}

/* How many messages of each kind a channel brings to the micro-batches of this program. */
static uint32_t times(const ons_program_pass *x, uint32_t channel) {
    const ons_worker_channel *c = &x->w->channels[channel];
    if (c->kind == ONS_PART_END && !x->f->updates) return 0;
    if (is_once(x, c->kind)) return ons_program_pass_of(x, ons_part_last(x->cut->chunks), 0) == x;
    uint32_t first = first_by(x, channel);
    return first < x->end ? (x->end - first - 1) / c->period + 1 : 0;
}

/* Whether the channel is one of those that bring message `index`. */
static bool brings(const ons_program_pass *x, uint32_t channel, uint32_t index) {
    const ons_worker_channel *c = &x->w->channels[channel];
    return c->copy < x->p->receive_begin[index + 1] - x->p->receive_begin[index] &&
           x->p->receive_channel[x->p->receive_begin[index] + c->copy] == channel;
}

/* How many kinds of messages a channel brings. */
static uint32_t kinds_of(const ons_program_pass *x, uint32_t channel) {
    uint32_t kinds = 0;
    for (uint32_t i = 0; i < x->cut->receive_count; ++i) kinds += brings(x, channel, i);
    return kinds;
}

/* How many messages more come where micro-batches are in halves. */
static uint32_t second_halves(const ons_program_pass *x, uint32_t channel) {
    uint32_t count = 0;
    for (uint32_t i = 0; x->f->halved != NULL && i < x->cut->receive_count; ++i) {
        const ons_cut_transfer *t = &x->cut->receives[i];
        if (!brings(x, channel, i)) continue;
        for (uint32_t k = x->first; k < x->end; ++k) count += is_in_halves(x, t, k) && is_split(x, t);
    }
    return count;
}

/* How many messages of a channel come before those for this program. */
static uint32_t messages_before(const ons_program_pass *x, uint32_t channel) {
    uint32_t before = 0;
    for (const ons_program_pass *each = x->shares; each != x; ++each)
        before += kinds_of(each, channel) * times(each, channel) + second_halves(each, channel);
    return before;
}

static ons_status *take_value(const ons_program_pass *x, uint32_t index, const ons_worker_channel *c,
                              uint32_t micro_batch) {
    ons_worker *w = x->w;
    const ons_cut_transfer *t = &x->cut->receives[index];
    ons_turn turn = ons_program_pass_turn(x, t->part, micro_batch);
    size_t bytes = (size_t)ons_stage_program_bytes(x->stage, t->value);
    bool taken;
    if (w->clock != NULL) ons_link_await(c->link, c->stream);
    uint32_t begin = ons_worker_timestamp(w, c->stream);
    ONS_TRY(ons_link_take(c->link, c->stream, ons_program_address(x->stage->program, t->value, &turn), bytes, &taken));
    ONS_CHECK(taken, ONS_DEFECT, "a message is taken that nobody has offered");
    ons_program_pass_record_span(x, c->track, ons_graph_value(x->cut->graph, t->value)->name, "receive", micro_batch,
                                 (int64_t)bytes, begin, c->stream);
    w->traffic.received_bytes += (int64_t)bytes;
    return NULL;
}

/* The message before it in the same place must have been read, and copied where it is. */
static void await_place(const ons_program_pass *x, const ons_worker_channel *c, uint32_t index, uint32_t micro_batch) {
    ons_worker *w = x->w;
    uint32_t ring = x->stage->rings[index], swap = x->p->swap_of_receive[index], slots = x->stage->slots;
    w->device->stream_wait(c->stream, x->p->released[x->p->ring_begin[index] + micro_batch % ring]);
    if (swap != ONS_NO_POSITION)
        w->device->stream_wait(c->stream, x->p->out[swap * slots + (micro_batch - ring) % slots]);
}

/* What comes of a message from one of the other end's copies is there. */
static ons_event *arrival_of(const ons_program_pass *x, uint32_t index, uint32_t copy, uint32_t micro_batch) {
    uint32_t way = x->p->receive_begin[index] + copy;
    return x->p->arrived[x->p->arrived_begin[way] + micro_batch % x->stage->rings[index]];
}

/* `turn`: how often this message has come before, by any channel. */
static ons_status *receive_value(const ons_program_pass *x, uint32_t index, uint32_t channel, uint32_t micro_batch,
                                 uint32_t turn, ons_piece piece) {
    ons_worker *w = x->w;
    uint32_t ring = x->stage->rings[index], place = x->p->ring_begin[index] + micro_batch % ring;
    const ons_worker_channel *c = &w->channels[channel];
    if (turn >= ring && piece != ONS_SECOND_HALF) await_place(x, c, index, micro_batch);
    ONS_TRY(c->link != NULL ? take_value(x, index, c, micro_batch)
                            : put_message(x, &x->cut->receives[index], channel, micro_batch, piece, receive_message));
    if (piece == ONS_FIRST_HALF) w->device->event_record(c->stream, x->p->first_arrived[place]);
    if (piece != ONS_FIRST_HALF || !is_split(x, &x->cut->receives[index]))
        w->device->event_record(c->stream, arrival_of(x, index, c->copy, micro_batch));
    return NULL;
}

/* One way of a micro-batch's messages, all of it or a half: those that have not been asked for, as far as there are
 * places. *number: of the first one; of the next ones when it returns. *full: there was no place. */
static ons_status *receive_piece(const ons_program_pass *x, uint32_t channel, uint32_t micro_batch, ons_piece piece,
                                 uint32_t *number, bool *full) {
    bool once = is_once(x, x->w->channels[channel].kind);
    uint32_t turn = once ? 0 : micro_batch - x->first;
    uint32_t *asked = &x->w->asked[channel];
    const ons_link *link = x->w->channels[channel].link;
    for (uint32_t i = 0; i < x->cut->receive_count; ++i) {
        if (!brings(x, channel, i)) continue;
        if (piece == ONS_SECOND_HALF && !is_split(x, &x->cut->receives[i])) continue;
        if ((*number)++ < *asked) continue;
        *full = turn >= x->stage->rings[i] + x->given_back[i] || (link != NULL && !ons_link_offers(link));
        if (*full) return NULL;
        ONS_TRY(receive_value(x, i, channel, once ? 0 : micro_batch, turn, piece));
        ++*asked;
    }
    return NULL;
}

/* Any of its receives says it. */
static bool comes_in_halves(const ons_program_pass *x, uint32_t channel, uint32_t micro_batch) {
    for (uint32_t i = 0; x->f->halved != NULL && i < x->cut->receive_count; ++i)
        if (brings(x, channel, i)) return is_in_halves(x, &x->cut->receives[i], micro_batch);
    return false;
}

/* Those for this program, where all that come before them have been asked for. */
static ons_status *receive_for(const ons_program_pass *x, uint32_t channel) {
    uint32_t asked = x->w->asked[channel], period = x->w->channels[channel].period;
    uint32_t kinds = kinds_of(x, channel), before = messages_before(x, channel), end = times(x, channel);
    if (asked < before || kinds == 0) return NULL;
    uint32_t turn = x->f->halved == NULL ? (asked - before) / kinds : 0, number = before + turn * kinds;
    uint32_t first = first_by(x, channel);
    bool full = false;
    for (; turn < end && !full; ++turn) {
        uint32_t micro_batch = first + turn * period;
        bool halves = comes_in_halves(x, channel, micro_batch);
        ONS_TRY(receive_piece(x, channel, micro_batch, halves ? ONS_FIRST_HALF : ONS_ALL_SAMPLES, &number, &full));
        if (halves && !full) ONS_TRY(receive_piece(x, channel, micro_batch, ONS_SECOND_HALF, &number, &full));
    }
    return NULL;
}

static uint32_t next_receive(const ons_program_pass *x, uint32_t channel, uint32_t index) {
    while (index < x->cut->receive_count && !brings(x, channel, index)) ++index;
    return index;
}

/* The sender's micro-batches come one by one, of each all messages of the channel, and of a message all pieces. `next`:
 * the unit of the next piece, whichever micro-batch has it. */
static void move_on(const ons_program_pass *x, uint32_t channel, uint64_t next) {
    ons_worker_channel *c = &x->w->channels[channel];
    uint64_t other = other_size(x, c), begin = c->next_unit / other * other;
    c->next_unit = next;
    if (next < begin + other) return;
    c->next_receive = next_receive(x, channel, c->next_receive + 1);
    if (c->next_receive < x->cut->receive_count)
        c->next_unit = next_common(x, c, begin);
    else
        c->next_receive = next_receive(x, channel, 0);
}

static ons_status *receive_pieces(const ons_program_pass *x, uint32_t channel) {
    const ons_worker_channel *c = &x->w->channels[channel];
    uint64_t size = ons_worker_size(x->w, x->f);
    while (c->next_receive < x->cut->receive_count && c->next_unit != UINT64_MAX &&
           micro_batch_of(x, c->next_unit) < x->f->micro_batches) {
        uint32_t index = c->next_receive, micro_batch = micro_batch_of(x, c->next_unit), ring = x->stage->rings[index];
        uint64_t end = ons_units_piece_end(c->next_unit, (uint32_t)size, other_size(x, c));
        uint64_t next = next_common(x, c, end);
        if (micro_batch >= ring + x->given_back[index]) return NULL;
        if (micro_batch >= ring) await_place(x, c, index, micro_batch);
        ONS_TRY(put_piece(x, &x->cut->receives[index], c, c->next_unit, receive_message));
        if (next / size != c->next_unit / size)
            x->w->device->event_record(c->stream, arrival_of(x, index, c->copy, micro_batch));
        move_on(x, channel, next);
    }
    return NULL;
}

/* Asks for the messages of a channel in the order in which they are sent, as far as there are free places. */
static ons_status *receive_ahead(const ons_program_pass *x, uint32_t channel) {
    if (is_in_pieces(x, &x->w->channels[channel])) return receive_pieces(x->shares, channel);
    for (uint32_t i = 0; i < x->share_count; ++i) ONS_TRY(receive_for(&x->shares[i], channel));
    return NULL;
}

ons_status *ons_program_pass_release(const ons_program_pass *x, uint32_t index, uint32_t micro_batch) {
    uint32_t place = x->p->ring_begin[index] + micro_batch % x->stage->rings[index];
    if (x->p->swap_of_receive[index] == ONS_NO_POSITION) /* else the copy may not have ended */
        ONS_TRY(ons_program_pass_bury(x, x->cut->receives[index].value, micro_batch));
    x->w->device->event_record(x->w->compute, x->p->released[place]);
    ++x->given_back[index];
    for (uint32_t way = x->p->receive_begin[index]; way < x->p->receive_begin[index + 1]; ++way)
        if (x->p->receive_channel[way] != ONS_NO_POSITION) ONS_TRY(receive_ahead(x, x->p->receive_channel[way]));
    return NULL;
}

/* The channel by which a message comes that is not in pieces. */
static uint32_t channel_of(const ons_program_pass *x, uint32_t index, uint32_t micro_batch) {
    uint32_t way = x->p->receive_begin[index];
    while (!goes_by(x, x->p->receive_channel[way], micro_batch)) ++way;
    return x->p->receive_channel[way];
}

/* The number of a message among those of its channel in this pass. */
static uint32_t number_of(const ons_program_pass *x, uint32_t index, uint32_t channel, uint32_t micro_batch) {
    uint32_t number = messages_before(x, channel), period = x->w->channels[channel].period;
    for (uint32_t i = 0; i < index; ++i) number += brings(x, channel, i);
    bool once = is_once(x, x->cut->receives[index].kind); /* whatever the update is named */
    return number + (once ? 0 : (micro_batch - first_by(x, channel)) / period * kinds_of(x, channel));
}

void ons_program_pass_follow_message(const ons_program_pass *x, uint32_t index, uint32_t micro_batch,
                                     ons_stream *stream) {
    for (uint32_t way = x->p->receive_begin[index]; way < x->p->receive_begin[index + 1]; ++way)
        if (goes_by(x, x->p->receive_channel[way], micro_batch))
            x->w->device->stream_wait(stream, arrival_of(x, index, way - x->p->receive_begin[index], micro_batch));
}

ons_status *ons_program_pass_await(const ons_program_pass *x, uint32_t index, uint32_t micro_batch, ons_piece piece) {
    ons_worker *w = x->w;
    uint32_t place = x->p->ring_begin[index] + micro_batch % x->stage->rings[index];
    uint32_t channel = channel_of(x, index, micro_batch);
    while (w->channels[channel].link != NULL && w->asked[channel] <= number_of(x, index, channel, micro_batch)) {
        uint64_t seen = ons_links_news(w->o.links);
        ONS_TRY(ons_program_pass_receive_ahead(x));
        if (w->asked[channel] <= number_of(x, index, channel, micro_batch))
            ONS_TRY(ons_links_await_news(w->o.links, seen, w->o.transport));
    }
    if (piece == ONS_FIRST_HALF && is_in_halves(x, &x->cut->receives[index], micro_batch))
        w->device->stream_wait(w->compute, x->p->first_arrived[place]);
    else
        ons_program_pass_follow_message(x, index, micro_batch, w->compute);
    return NULL;
}

ons_status *ons_program_pass_begin_messages(const ons_program_pass *x) {
    ons_worker *w = x->w;
    memset(w->asked, 0, w->channel_count * sizeof *w->asked);
    memset(w->given_back, 0, 2 * (size_t)w->most_receives * sizeof *w->given_back);
    for (uint32_t i = 0; i < w->channel_count; ++i) {
        if (w->channels[i].sends) continue;
        w->channels[i].next_receive = next_receive(x, i, 0);
        w->channels[i].next_unit = next_common(x, &w->channels[i], first_unit(x, 0));
        ons_program_pass_follow_compute(x, w->channels[i].stream);
        ONS_TRY(receive_ahead(x, i));
    }
    return NULL;
}
