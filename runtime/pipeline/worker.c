#include "runtime/pipeline/worker.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/pipeline/worker_state.h"

/* --------------------------------------------------------------------------------------------------------- channels */

static uint32_t find_channel(const ons_worker *w, const ons_worker_channel *like) {
    for (uint32_t i = 0; i < w->channel_count; ++i) {
        const ons_worker_channel *c = &w->channels[i];
        if (c->peer == like->peer && c->number == like->number && c->sends == like->sends && c->copy == like->copy)
            return i;
    }
    return ONS_NO_POSITION;
}

/* The first rank of this replica in the world of links, NCCL and traces. */
static uint32_t first_rank(const ons_worker *w) {
    return w->o.transport == NULL ? 0 : w->o.replica * w->o.transport->ranks;
}

static ons_device_group group_of(const ons_worker *w, uint32_t number) {
    return w->o.groups == NULL ? (ons_device_group){number, 1} : w->o.groups[number];
}

static ons_status *name_process(const ons_worker *w, const char **name) {
    *name = ons_arena_format(w->arena, "stage %u", w->o.stage);
    if (w->o.ring.in_turn)
        *name = ons_arena_format(w->arena, "stage %u, copy %u", w->o.stage, w->o.ring.own);
    else if (w->o.reducer != NULL)
        *name = ons_arena_format(w->arena, "replica %u, stage %u", w->o.replica, w->o.stage);
    return *name == NULL ? ons_status_out_of_memory() : NULL;
}

static ons_status *add_track(ons_worker *w, const char *name, ons_trace_track **track) {
    const char *process;
    if (w->o.trace == NULL) return NULL;
    ONS_TRY(name_process(w, &process));
    uint32_t device = w->o.transport == NULL ? w->o.stage : w->o.transport->rank;
    return ons_trace_add_track(w->o.trace, first_rank(w) + device, process, name, track);
}

static ons_status *name_channel(const ons_worker *w, const ons_worker_channel *c, const char **name) {
    const char *kind = ons_part_name(c->kind);
    *name = c->copies == 1
                ? ons_arena_format(w->arena, "%s %s %u", kind, c->sends ? "to" : "from", c->peer)
                : ons_arena_format(w->arena, "%s %s %u, copy %u", kind, c->sends ? "to" : "from", c->peer, c->copy);
    return *name == NULL ? ons_status_out_of_memory() : NULL;
}

static ons_status *open_way(ons_worker *w, ons_worker_channel *c) {
    uint32_t here = w->o.transport->rank, there = c->device, first = first_rank(w);
    uint32_t from = c->sends ? here : there, to = c->sends ? there : here;
    if (w->o.links != NULL)
        return ons_links_open(w->o.links, w->device, first + from, first + to, c->number, c->sends,
                              2 * w->pending_capacity + 2, &c->link);
    if (w->o.nccl != NULL) return ons_nccl_open(w->o.nccl, first + from, first + to, c->number, c->stream, &c->nccl);
    return w->o.transport->open(w->o.transport, from, to, c->number, &c->channel);
}

static ons_status *open_channel(ons_worker *w, const ons_worker_channel *wanted, uint32_t *index) {
    const char *name;
    *index = find_channel(w, wanted);
    if (*index != ONS_NO_POSITION) return NULL;
    ONS_CHECK(w->o.transport != NULL, ONS_DEFECT, "a stage that is alone sends to stage %u", wanted->peer);
    ons_worker_channel *c = &w->channels[w->channel_count];
    *c = *wanted;
    ONS_TRY(name_channel(w, c, &name));
    ONS_TRY(w->device->stream_new(w->device, c->sends ? "send" : "receive", 1, &c->stream));
    *index = w->channel_count++; /* from here on it is freed */
    ONS_TRY(open_way(w, c));
    return add_track(w, name, &c->track);
}

/* After how many of its own micro-batches a copy meets the same one of so many others again. */
static uint32_t period_of(uint32_t own, uint32_t others) {
    uint32_t period = 1;
    while ((uint64_t)period * own % others != 0) ++period;
    return period;
}

static bool have_common(const ons_worker *w, uint32_t size, const ons_unit_share *other) {
    const ons_unit_share own = {size, ons_worker_own_copies(w), ons_worker_own_copy(w)};
    return ons_units_next_common(&own, other, 0) != UINT64_MAX;
}

/* What micro-batches send goes to copies that have the same samples, in steps or, of validation, in batches; what a
 * step sends once comes to each copy from one of the senders, which all have the same. */
static bool goes_there(const ons_worker *w, const ons_worker_channel *c) {
    uint32_t own = ons_worker_own_copy(w);
    if (c->kind == ONS_PART_END)
        return c->sends ? c->copy % ons_worker_own_copies(w) == own : own % c->copies == c->copy;
    const ons_unit_share of_step = {ons_units_size(w->o.sizes, c->device), c->copies, c->copy};
    const ons_unit_share of_batches = {1, c->copies, c->copy};
    return have_common(w, ons_units_size(w->o.sizes, ons_worker_device(w)), &of_step) || have_common(w, 1, &of_batches);
}

static ons_status *open_transfer(ons_worker *w, const ons_cut_transfer *t, bool sends, uint32_t *channels) {
    uint32_t copies = group_of(w, t->peer).copies;
    for (uint32_t copy = 0; copy < copies; ++copy) {
        const ons_worker_channel wanted = {.peer = t->peer,
                                           .number = t->channel,
                                           .copy = copy,
                                           .copies = copies,
                                           .device = group_of(w, t->peer).first + copy,
                                           .period = period_of(ons_worker_own_copies(w), copies),
                                           .kind = t->kind,
                                           .sends = sends};
        channels[copy] = ONS_NO_POSITION;
        if (goes_there(w, &wanted)) ONS_TRY(open_channel(w, &wanted, &channels[copy]));
    }
    return NULL;
}

/* Where the channels of each transfer begin, one for each copy of the other end. */
static ons_status *place_channels(const ons_worker *w, const ons_cut_transfer *transfers, uint32_t count,
                                  uint32_t **begin, uint32_t **channels) {
    ONS_NEW(*begin, w->arena, (size_t)count + 1);
    for (uint32_t i = 0; i < count; ++i) (*begin)[i + 1] = (*begin)[i] + group_of(w, transfers[i].peer).copies;
    ONS_NEW(*channels, w->arena, (size_t)(*begin)[count] + 1);
    return NULL;
}

static ons_status *open_channels(ons_worker *w, ons_worker_program *p) {
    const ons_cut_stage *cut = p->stage->cut;
    ONS_TRY(place_channels(w, cut->sends, cut->send_count, &p->send_begin, &p->send_channel));
    ONS_TRY(place_channels(w, cut->receives, cut->receive_count, &p->receive_begin, &p->receive_channel));
    for (int kind = ONS_PART_FORWARD; kind < ONS_PART_KINDS; ++kind) { /* as rows of a trace: by kind */
        for (uint32_t i = 0; i < cut->receive_count; ++i)
            if ((int)cut->receives[i].kind == kind)
                ONS_TRY(open_transfer(w, &cut->receives[i], false, &p->receive_channel[p->receive_begin[i]]));
        for (uint32_t i = 0; i < cut->send_count; ++i)
            if ((int)cut->sends[i].kind == kind)
                ONS_TRY(open_transfer(w, &cut->sends[i], true, &p->send_channel[p->send_begin[i]]));
    }
    return NULL;
}

/* ----------------------------------------------------------------------------------------------------------- events */

static ons_status *new_events(ons_worker *w, size_t count, ons_event ***events) {
    ONS_NEW(*events, w->arena, count + 1);
    for (size_t i = 0; i < count; ++i) ONS_TRY(w->device->event_new(w->device, &(*events)[i]));
    return NULL;
}

static void free_events(ons_worker *w, ons_event **events) {
    for (size_t i = 0; events != NULL && events[i] != NULL; ++i) w->device->event_free(events[i]);
}

static uint32_t swap_of(const ons_cut_stage *cut, ons_value_id value) {
    for (uint32_t i = 0; i < cut->swap_count; ++i)
        if (cut->swaps[i].value == value) return i;
    return ONS_NO_POSITION;
}

static ons_status *set_up_program(ons_worker *w, const ons_stage_program *stage, ons_worker_program *p) {
    const ons_cut_stage *cut = stage->cut;
    p->stage = stage;
    ONS_TRY(open_channels(w, p));
    ONS_NEW(p->ring_begin, w->arena, cut->receive_count + 1);
    ONS_NEW(p->arrived_begin, w->arena, (size_t)p->receive_begin[cut->receive_count] + 1);
    ONS_NEW(p->swap_of_receive, w->arena, cut->receive_count + 1);
    ONS_NEW(p->host_offset, w->arena, cut->swap_count + 1);
    ONS_NEW(p->receive_of_swap, w->arena, cut->swap_count + 1);
    for (uint32_t i = 0; i < cut->swap_count; ++i) p->receive_of_swap[i] = ONS_NO_POSITION;
    for (uint32_t i = 0; i < cut->receive_count; ++i) {
        p->ring_begin[i + 1] = p->ring_begin[i] + stage->rings[i];
        for (uint32_t way = p->receive_begin[i]; way < p->receive_begin[i + 1]; ++way)
            p->arrived_begin[way + 1] =
                p->arrived_begin[way] + (p->receive_channel[way] == ONS_NO_POSITION ? 0 : stage->rings[i]);
        p->swap_of_receive[i] = swap_of(cut, cut->receives[i].value);
        if (p->swap_of_receive[i] != ONS_NO_POSITION) p->receive_of_swap[p->swap_of_receive[i]] = i;
    }
    ONS_TRY(new_events(w, p->send_begin[cut->send_count], &p->sent));
    ONS_TRY(new_events(w, p->arrived_begin[p->receive_begin[cut->receive_count]], &p->arrived));
    if (stage->halves != NULL) ONS_TRY(new_events(w, p->ring_begin[cut->receive_count], &p->first_arrived));
    ONS_TRY(new_events(w, p->ring_begin[cut->receive_count], &p->released));
    ONS_TRY(new_events(w, (size_t)cut->swap_count * stage->slots, &p->out));
    ONS_TRY(new_events(w, cut->swap_count, &p->in));
    int64_t bytes = 0;
    for (uint32_t i = 0; i < cut->swap_count; ++i) {
        p->host_offset[i] = bytes;
        bytes += ons_arena_align(ons_stage_program_bytes(stage, cut->swaps[i].value));
    }
    w->slot_host_bytes = bytes > w->slot_host_bytes ? bytes : w->slot_host_bytes;
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------- life */

/* Where the device has no access to the host's jobs: what kernels read of steps goes there, faults come back. */
static ons_status *set_up_control(ons_worker *w) {
    void *block;
    w->control = ons_device_context_get_control(w->o.device_context);
    if (w->o.fault != NULL) w->control.fault = w->o.fault;
    if (w->control.count == 0) return NULL;
    size_t steps = (size_t)w->control.count * ONS_PASSES_AT_ONCE * sizeof *w->steps;
    w->control_bytes = (int64_t)(steps + 2 * sizeof *w->found);
    ONS_TRY(w->device->allocate_host(w->device, w->control_bytes, &block));
    memset(block, 0, (size_t)w->control_bytes);
    w->steps = block;
    w->found = (ons_fault *)(void *)((char *)block + steps);
    w->own = w->found + 1;
    return ons_device_context_copy(w->o.device_context, w->control.fault, w->found, sizeof *w->found);
}

/* What all programs together need at the most. */
typedef struct needs {
    uint32_t transfers, outgoing;
    uint32_t slots; /* of those that swap; 0: nothing is swapped */
} needs;

/* One for each copy of the other end, at most. */
static uint32_t count_channels(const ons_worker *w, const ons_cut_transfer *transfers, uint32_t count) {
    uint32_t channels = 0;
    for (uint32_t i = 0; i < count; ++i) channels += group_of(w, transfers[i].peer).copies;
    return channels;
}

static needs count_needs(ons_worker *w) {
    needs n = {0};
    for (uint32_t i = 0; i < w->o.program_count; ++i) {
        const ons_stage_program *p = w->o.programs[i];
        uint32_t sends = count_channels(w, p->cut->sends, p->cut->send_count);
        n.transfers += sends + count_channels(w, p->cut->receives, p->cut->receive_count);
        w->most_receives = p->cut->receive_count > w->most_receives ? p->cut->receive_count : w->most_receives;
        n.slots = p->cut->swap_count > 0 && p->slots > n.slots ? p->slots : n.slots;
        uint32_t pieces = p->halves != NULL ? 2 : 1;
        uint32_t leaving = (pieces * sends + p->cut->swap_count) * (p->slots + 2);
        n.outgoing = leaving > n.outgoing ? leaving : n.outgoing;
    }
    return n;
}

static ons_status *set_up_swaps(ons_worker *w, uint32_t slots) {
    ONS_TRY(w->device->stream_new(w->device, "swap out", 1, &w->swap_out));
    ONS_TRY(w->device->stream_new(w->device, "swap in", 1, &w->swap_in));
    w->traffic.host_bytes = w->host_bytes = slots * w->slot_host_bytes;
    return w->device->allocate_host(w->device, w->host_bytes, &w->host);
}

static ons_status *set_up(ons_worker *w) {
    needs n = count_needs(w);
    w->pending_capacity = n.outgoing;
    ons_worker_choose_keeping(w);
    ONS_NEW(w->programs, w->arena, w->o.program_count + 1);
    ONS_NEW(w->channels, w->arena, n.transfers + 1);
    ONS_NEW(w->asked, w->arena, n.transfers + 1);
    ONS_NEW(w->given_back, w->arena, 2 * (size_t)w->most_receives + 1);
    ONS_NEW(w->pending, w->arena, n.outgoing + 1);
    ONS_NEW(w->waits, w->arena, n.outgoing + 1);
    ONS_TRY(add_track(w, "compute", &w->compute_track));
    if (n.slots > 0) ONS_TRY(add_track(w, "swap out", &w->out_track));
    if (n.slots > 0) ONS_TRY(add_track(w, "swap in", &w->in_track));
    ONS_TRY(ons_worker_open_trace(w));
    ONS_TRY(set_up_control(w));
    ONS_TRY(w->device->event_new(w->device, &w->sync_event));
    ONS_TRY(w->device->event_new(w->device, &w->idle));
    for (uint32_t i = 0; i < w->o.program_count; ++i) ONS_TRY(set_up_program(w, w->o.programs[i], &w->programs[i]));
    return n.slots > 0 ? set_up_swaps(w, n.slots) : NULL;
}

ons_status *ons_worker_new(const ons_worker_options *options, ons_worker **result) {
    ons_worker *w = calloc(1, sizeof *w);
    if (w == NULL) return ons_status_out_of_memory();
    w->o = *options;
    w->device = ons_device_context_device(options->device_context);
    w->compute = ons_device_context_compute(options->device_context);
    w->fault.node = ONS_NONE;
    w->arena = ons_arena_new();
    ons_status *status = w->arena == NULL ? ons_status_out_of_memory() : set_up(w);
    if (status != NULL) {
        ons_worker_free(w);
        return status;
    }
    *result = w;
    return NULL;
}

ons_status *ons_worker_connect(ons_worker *w) {
    if (w->o.nccl == NULL) return NULL;
    ONS_CHECK(w->control.count > 0, ONS_DEFECT, "NCCL between stages whose memory is the host's");
    ONS_TRY(ons_nccl_connect(w->o.nccl, w->compute, w->control.fault, w->control.steps));
    return ons_device_context_check_cap(w->o.device_context, "NCCL's connections");
}

static void drain(ons_worker *w, ons_stream *stream) {
    if (stream == NULL) return;
    w->device->event_record(stream, w->idle);
    w->device->event_synchronize(w->idle);
}

void ons_worker_drain(ons_worker *w) {
    if (w == NULL || w->idle == NULL) return;
    for (uint32_t i = 0; i < w->channel_count; ++i) drain(w, w->channels[i].stream);
    drain(w, w->swap_out);
    drain(w, w->swap_in);
    drain(w, w->compute);
}

void ons_worker_free(ons_worker *w) {
    if (w == NULL) return;
    ons_worker_free_kept(w);
    for (uint32_t i = 0; i < w->channel_count; ++i) {
        w->device->stream_free(w->channels[i].stream);
        ons_link_close(w->channels[i].link, w->channels[i].sends);
    }
    w->device->stream_free(w->swap_out);
    w->device->stream_free(w->swap_in);
    for (uint32_t i = 0; w->programs != NULL && i < w->o.program_count; ++i) {
        free_events(w, w->programs[i].sent);
        free_events(w, w->programs[i].arrived);
        free_events(w, w->programs[i].first_arrived);
        free_events(w, w->programs[i].released);
        free_events(w, w->programs[i].out);
        free_events(w, w->programs[i].in);
    }
    ons_worker_close_trace(w);
    w->device->event_free(w->sync_event);
    w->device->event_free(w->idle);
    if (w->steps != NULL) w->device->release_host(w->device, w->steps, w->control_bytes);
    if (w->host != NULL) w->device->release_host(w->device, w->host, w->host_bytes);
    for (size_t i = 0; i < w->blocks.count; ++i) free(w->blocks.items[i]);
    ons_vector_free(&w->blocks);
    ons_arena_free(w->arena);
    free(w);
}

ons_worker_program *ons_worker_find_program(ons_worker *w, const ons_stage_program *stage) {
    for (uint32_t i = 0; i < w->o.program_count; ++i)
        if (w->programs[i].stage == stage) return &w->programs[i];
    return NULL;
}

ons_worker_traffic ons_worker_get_traffic(const ons_worker *w) { return w->traffic; }

ons_worker_busy ons_worker_get_busy(const ons_worker *w) { return w->busy; }

ons_device_context *ons_worker_device_context(const ons_worker *w) { return w->o.device_context; }

void ons_worker_transfer(ons_worker *w, void *to, const void *from, size_t bytes) {
    if (w->device->host_can_access)
        memcpy(to, from, bytes);
    else
        w->device->copy(w->compute, to, from, bytes);
}

/* What the device says of the data, and a clean page for the next time. Of a fault that has come from another process
 * nothing is looked at but that it is there. */
static ons_status *take_fault(ons_worker *w) {
    const ons_fault *fault = w->shared ? w->own : w->found;
    bool stays = w->o.fault != NULL || w->o.nccl != NULL; /* updates of other stages may still come to it */
    if (fault->problem == NULL) return NULL;
    ons_node_id node = ONS_NONE;
    for (uint32_t i = 0; i < w->o.program_count && node == ONS_NONE; ++i) {
        w->faulty = w->programs[i].stage;
        node = ons_program_find_fault(w->programs[i].stage->program, fault, w->o.ring.own);
    }
    if (node == ONS_NONE && stays) return NULL; /* another one's, which tells */
    w->fault = (ons_program_fault){*fault, node};
    if (stays) return NULL;
    *w->found = (ons_fault){0};
    return ons_device_context_copy(w->o.device_context, w->control.fault, w->found, sizeof *w->found);
}

ons_status *ons_worker_wait(ons_worker *w, ons_program_fault *fault, const ons_stage_program **where) {
    if (w->steps != NULL) w->device->copy(w->compute, w->found, w->control.fault, sizeof *w->found);
    w->device->event_record(w->compute, w->idle);
    w->device->event_synchronize(w->idle);
    w->jobs_used = w->passes = 0;
    *fault = (ons_program_fault){.node = ONS_NONE};
    ons_status *failure = w->device->failure(w->device);
    if (failure != NULL) {
        ons_worker_drop_spans(w);
        return failure;
    }
    ONS_TRY(ons_worker_settle_trace(w));
    if (w->o.nccl != NULL) ONS_TRY(w->o.transport->failure(w->o.transport)); /* faults of an earlier step, too */
    if (w->steps != NULL) ONS_TRY(take_fault(w));
    w->shared = false;
    *fault = w->fault;
    *where = w->faulty;
    w->fault = (ons_program_fault){.node = ONS_NONE};
    w->faulty = NULL;
    return w->o.transport == NULL ? NULL : w->o.transport->failure(w->o.transport);
}
