#include "runtime/pipeline/worker.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/pipeline/worker_state.h"

/* --------------------------------------------------------------------------------------------------------- channels */

static uint32_t find_channel(const ons_worker *worker, const ons_worker_channel *like) {
    for (uint32_t i = 0; i < worker->channel_count; ++i) {
        const ons_worker_channel *c = &worker->channels[i];
        if (c->peer == like->peer && c->number == like->number && c->sends == like->sends && c->copy == like->copy)
            return i;
    }
    return ONS_NO_POSITION;
}

/* The first rank of this replica in the world of links, NCCL and traces. */
static uint32_t first_rank(const ons_worker *worker) {
    return worker->o.transport == NULL ? 0 : worker->o.replica * worker->o.transport->ranks;
}

static ons_device_group group_of(const ons_worker *worker, uint32_t number) {
    return worker->o.groups == NULL ? (ons_device_group){number, 1} : worker->o.groups[number];
}

static ons_status *name_process(const ons_worker *worker, const char **name) {
    *name = ons_arena_format(worker->arena, "stage %u", worker->o.stage);
    if (worker->o.rank_group.in_turn)
        *name = ons_arena_format(worker->arena, "stage %u, copy %u", worker->o.stage, worker->o.rank_group.own);
    else if (worker->o.reducer != NULL)
        *name = ons_arena_format(worker->arena, "replica %u, stage %u", worker->o.replica, worker->o.stage);
    return *name == NULL ? ons_status_out_of_memory() : NULL;
}

static ons_status *add_track(ons_worker *worker, const char *name, ons_trace_track **track) {
    const char *process;
    if (worker->o.trace == NULL) return NULL;
    ONS_TRY(name_process(worker, &process));
    uint32_t device = worker->o.transport == NULL ? worker->o.stage : worker->o.transport->rank;
    return ons_trace_add_track(worker->o.trace, first_rank(worker) + device, process, name, track);
}

static ons_status *name_channel(const ons_worker *worker, const ons_worker_channel *c, const char **name) {
    const char *kind = ons_part_name(c->kind);
    *name = c->copies == 1 ? ons_arena_format(worker->arena, "%s %s %u", kind, c->sends ? "to" : "from", c->peer)
                           : ons_arena_format(worker->arena, "%s %s %u, copy %u", kind, c->sends ? "to" : "from",
                                              c->peer, c->copy);
    return *name == NULL ? ons_status_out_of_memory() : NULL;
}

static ons_status *open_way(ons_worker *worker, ons_worker_channel *c) {
    uint32_t here = worker->o.transport->rank, there = c->device, first = first_rank(worker);
    uint32_t from = c->sends ? here : there, to = c->sends ? there : here;
    if (worker->o.links != NULL)
        return ons_links_open(worker->o.links, worker->device, first + from, first + to, c->number, c->sends,
                              2 * worker->pending_capacity + 2, &c->link);
    if (worker->o.nccl != NULL)
        return ons_nccl_open(worker->o.nccl, first + from, first + to, c->number, c->stream, &c->nccl);
    return worker->o.transport->open(worker->o.transport, from, to, c->number, &c->channel);
}

static ons_status *open_channel(ons_worker *worker, const ons_worker_channel *wanted, uint32_t *index) {
    const char *name;
    *index = find_channel(worker, wanted);
    if (*index != ONS_NO_POSITION) return NULL;
    ONS_CHECK(worker->o.transport != NULL, ONS_DEFECT, "a stage that is alone sends to stage %u", wanted->peer);
    ons_worker_channel *c = &worker->channels[worker->channel_count];
    *c = *wanted;
    ONS_TRY(name_channel(worker, c, &name));
    ONS_TRY(worker->device->stream_new(worker->device, c->sends ? "send" : "receive", 1, &c->stream));
    *index = worker->channel_count++; /* from here on it is freed */
    ONS_TRY(open_way(worker, c));
    return add_track(worker, name, &c->track);
}

/* After how many of its own micro-batches a copy meets the same one of so many others again. */
static uint32_t period_of(uint32_t own, uint32_t others) {
    uint32_t period = 1;
    while ((uint64_t)period * own % others != 0) ++period;
    return period;
}

static bool have_common(const ons_worker *worker, uint32_t size, const ons_unit_share *other) {
    const ons_unit_share own = {size, ons_worker_own_copies(worker), ons_worker_own_copy(worker)};
    return ons_units_next_common(&own, other, 0) != UINT64_MAX;
}

/* What micro-batches send goes to copies that have the same samples, in steps or, of validation, in batches; what a
 * step sends once comes to each copy from one of the senders, which all have the same. */
static bool goes_there(const ons_worker *worker, const ons_worker_channel *c) {
    uint32_t own = ons_worker_own_copy(worker);
    if (c->kind == ONS_PART_END)
        return c->sends ? c->copy % ons_worker_own_copies(worker) == own : own % c->copies == c->copy;
    const ons_unit_share of_step = {ons_units_size(worker->o.sizes, c->device), c->copies, c->copy};
    const ons_unit_share of_batches = {1, c->copies, c->copy};
    return have_common(worker, ons_units_size(worker->o.sizes, ons_worker_device(worker)), &of_step) ||
           have_common(worker, 1, &of_batches);
}

static ons_status *open_transfer(ons_worker *worker, const ons_cut_transfer *t, bool sends, uint32_t *channels) {
    uint32_t copies = group_of(worker, t->peer).copies;
    for (uint32_t copy = 0; copy < copies; ++copy) {
        const ons_worker_channel wanted = {.peer = t->peer,
                                           .number = t->channel,
                                           .copy = copy,
                                           .copies = copies,
                                           .device = group_of(worker, t->peer).first + copy,
                                           .period = period_of(ons_worker_own_copies(worker), copies),
                                           .kind = t->kind,
                                           .sends = sends};
        channels[copy] = ONS_NO_POSITION;
        if (goes_there(worker, &wanted)) ONS_TRY(open_channel(worker, &wanted, &channels[copy]));
    }
    return NULL;
}

/* Where the channels of each transfer begin, one for each copy of the other end. */
static ons_status *place_channels(const ons_worker *worker, const ons_cut_transfer *transfers, uint32_t count,
                                  uint32_t **begin, uint32_t **channels) {
    ONS_NEW(*begin, worker->arena, (size_t)count + 1);
    for (uint32_t i = 0; i < count; ++i) (*begin)[i + 1] = (*begin)[i] + group_of(worker, transfers[i].peer).copies;
    ONS_NEW(*channels, worker->arena, (size_t)(*begin)[count] + 1);
    return NULL;
}

static ons_status *open_channels(ons_worker *worker, ons_worker_program *p) {
    const ons_cut_stage *cut = p->stage->cut;
    ONS_TRY(place_channels(worker, cut->sends, cut->send_count, &p->send_begin, &p->send_channel));
    ONS_TRY(place_channels(worker, cut->receives, cut->receive_count, &p->receive_begin, &p->receive_channel));
    for (int kind = ONS_PART_FORWARD; kind < ONS_PART_KINDS; ++kind) { /* as rows of a trace: by kind */
        for (uint32_t i = 0; i < cut->receive_count; ++i)
            if ((int)cut->receives[i].kind == kind)
                ONS_TRY(open_transfer(worker, &cut->receives[i], false, &p->receive_channel[p->receive_begin[i]]));
        for (uint32_t i = 0; i < cut->send_count; ++i)
            if ((int)cut->sends[i].kind == kind)
                ONS_TRY(open_transfer(worker, &cut->sends[i], true, &p->send_channel[p->send_begin[i]]));
    }
    return NULL;
}

/* ----------------------------------------------------------------------------------------------------------- events */

static ons_status *new_events(ons_worker *worker, size_t count, ons_event ***events) {
    ONS_NEW(*events, worker->arena, count + 1);
    for (size_t i = 0; i < count; ++i) ONS_TRY(worker->device->event_new(worker->device, &(*events)[i]));
    return NULL;
}

static void free_events(ons_worker *worker, ons_event **events) {
    for (size_t i = 0; events != NULL && events[i] != NULL; ++i) worker->device->event_free(events[i]);
}

static uint32_t swap_of(const ons_cut_stage *cut, ons_value_id value) {
    for (uint32_t i = 0; i < cut->swap_count; ++i)
        if (cut->swaps[i].value == value) return i;
    return ONS_NO_POSITION;
}

static ons_status *set_up_program(ons_worker *worker, const ons_stage_program *stage, ons_worker_program *p) {
    const ons_cut_stage *cut = stage->cut;
    p->stage = stage;
    ONS_TRY(open_channels(worker, p));
    ONS_NEW(p->ring_begin, worker->arena, cut->receive_count + 1);
    ONS_NEW(p->arrived_begin, worker->arena, (size_t)p->receive_begin[cut->receive_count] + 1);
    ONS_NEW(p->swap_of_receive, worker->arena, cut->receive_count + 1);
    ONS_NEW(p->host_offset, worker->arena, cut->swap_count + 1);
    ONS_NEW(p->receive_of_swap, worker->arena, cut->swap_count + 1);
    for (uint32_t i = 0; i < cut->swap_count; ++i) p->receive_of_swap[i] = ONS_NO_POSITION;
    for (uint32_t i = 0; i < cut->receive_count; ++i) {
        p->ring_begin[i + 1] = p->ring_begin[i] + stage->rings[i];
        for (uint32_t way = p->receive_begin[i]; way < p->receive_begin[i + 1]; ++way)
            p->arrived_begin[way + 1] =
                p->arrived_begin[way] + (p->receive_channel[way] == ONS_NO_POSITION ? 0 : stage->rings[i]);
        p->swap_of_receive[i] = swap_of(cut, cut->receives[i].value);
        if (p->swap_of_receive[i] != ONS_NO_POSITION) p->receive_of_swap[p->swap_of_receive[i]] = i;
    }
    ONS_TRY(new_events(worker, p->send_begin[cut->send_count], &p->sent));
    ONS_TRY(new_events(worker, p->arrived_begin[p->receive_begin[cut->receive_count]], &p->arrived));
    if (stage->halves != NULL) ONS_TRY(new_events(worker, p->ring_begin[cut->receive_count], &p->first_arrived));
    ONS_TRY(new_events(worker, p->ring_begin[cut->receive_count], &p->released));
    ONS_TRY(new_events(worker, (size_t)cut->swap_count * stage->slots, &p->out));
    ONS_TRY(new_events(worker, cut->swap_count, &p->in));
    int64_t bytes = 0;
    for (uint32_t i = 0; i < cut->swap_count; ++i) {
        p->host_offset[i] = bytes;
        bytes += ons_arena_align(ons_stage_program_bytes(stage, cut->swaps[i].value));
    }
    worker->slot_host_bytes = bytes > worker->slot_host_bytes ? bytes : worker->slot_host_bytes;
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------- life */

/* Where the device has no access to the host's jobs: what kernels read of steps goes there, faults come back. */
static ons_status *set_up_control(ons_worker *worker) {
    void *block;
    worker->control = ons_device_context_get_control(worker->o.device_context);
    if (worker->o.fault != NULL) worker->control.fault = worker->o.fault;
    if (worker->control.count == 0) return NULL;
    size_t steps = (size_t)worker->control.count * ONS_PASSES_AT_ONCE * sizeof *worker->steps;
    worker->control_bytes = (int64_t)(steps + 2 * sizeof *worker->found);
    ONS_TRY(worker->device->allocate_host(worker->device, worker->control_bytes, &block));
    memset(block, 0, (size_t)worker->control_bytes);
    worker->steps = block;
    worker->found = (ons_fault *)(void *)((char *)block + steps);
    worker->own = worker->found + 1;
    return ons_device_context_copy(worker->o.device_context, worker->control.fault, worker->found,
                                   sizeof *worker->found);
}

/* What all programs together need at the most. */
typedef struct needs {
    uint32_t transfers, outgoing;
    uint32_t slots; /* of those that swap; 0: nothing is swapped */
} needs;

/* One for each copy of the other end, at most. */
static uint32_t count_channels(const ons_worker *worker, const ons_cut_transfer *transfers, uint32_t count) {
    uint32_t channels = 0;
    for (uint32_t i = 0; i < count; ++i) channels += group_of(worker, transfers[i].peer).copies;
    return channels;
}

static needs count_needs(ons_worker *worker) {
    needs n = {0};
    for (uint32_t i = 0; i < worker->o.program_count; ++i) {
        const ons_stage_program *p = worker->o.programs[i];
        uint32_t sends = count_channels(worker, p->cut->sends, p->cut->send_count);
        n.transfers += sends + count_channels(worker, p->cut->receives, p->cut->receive_count);
        worker->most_receives =
            p->cut->receive_count > worker->most_receives ? p->cut->receive_count : worker->most_receives;
        n.slots = p->cut->swap_count > 0 && p->slots > n.slots ? p->slots : n.slots;
        uint32_t pieces = p->halves != NULL ? 2 : 1;
        uint32_t leaving = (pieces * sends + p->cut->swap_count) * (p->slots + 2);
        n.outgoing = leaving > n.outgoing ? leaving : n.outgoing;
    }
    return n;
}

static ons_status *set_up_swaps(ons_worker *worker, uint32_t slots) {
    ONS_TRY(worker->device->stream_new(worker->device, "swap out", 1, &worker->swap_out));
    ONS_TRY(worker->device->stream_new(worker->device, "swap in", 1, &worker->swap_in));
    worker->traffic.host_bytes = worker->host_bytes = slots * worker->slot_host_bytes;
    return worker->device->allocate_host(worker->device, worker->host_bytes, &worker->host);
}

static ons_status *set_up(ons_worker *worker) {
    needs n = count_needs(worker);
    worker->pending_capacity = n.outgoing;
    ons_worker_choose_keeping(worker);
    ONS_NEW(worker->programs, worker->arena, worker->o.program_count + 1);
    ONS_NEW(worker->channels, worker->arena, n.transfers + 1);
    ONS_NEW(worker->asked, worker->arena, n.transfers + 1);
    ONS_NEW(worker->given_back, worker->arena, 2 * (size_t)worker->most_receives + 1);
    ONS_NEW(worker->pending, worker->arena, n.outgoing + 1);
    ONS_NEW(worker->waits, worker->arena, n.outgoing + 1);
    ONS_TRY(add_track(worker, "compute", &worker->compute_track));
    if (n.slots > 0) ONS_TRY(add_track(worker, "swap out", &worker->out_track));
    if (n.slots > 0) ONS_TRY(add_track(worker, "swap in", &worker->in_track));
    ONS_TRY(ons_worker_open_trace(worker));
    ONS_TRY(set_up_control(worker));
    ONS_TRY(worker->device->event_new(worker->device, &worker->sync_event));
    ONS_TRY(worker->device->event_new(worker->device, &worker->idle));
    for (uint32_t i = 0; i < worker->o.program_count; ++i)
        ONS_TRY(set_up_program(worker, worker->o.programs[i], &worker->programs[i]));
    return n.slots > 0 ? set_up_swaps(worker, n.slots) : NULL;
}

ons_status *ons_worker_new(const ons_worker_options *options, ons_worker **result) {
    ons_worker *worker = calloc(1, sizeof *worker);
    if (worker == NULL) return ons_status_out_of_memory();
    worker->o = *options;
    worker->device = ons_device_context_device(options->device_context);
    worker->compute = ons_device_context_compute(options->device_context);
    worker->fault.node = ONS_NONE;
    worker->arena = ons_arena_new();
    ons_status *status = worker->arena == NULL ? ons_status_out_of_memory() : set_up(worker);
    if (status != NULL) {
        ons_worker_free(worker);
        return status;
    }
    *result = worker;
    return NULL;
}

ons_status *ons_worker_connect(ons_worker *worker) {
    if (worker->o.nccl == NULL) return NULL;
    ONS_CHECK(worker->control.count > 0, ONS_DEFECT, "NCCL between stages whose memory is the host's");
    ONS_TRY(ons_nccl_connect(worker->o.nccl, worker->compute, worker->control.fault, worker->control.steps));
    return ons_device_context_check_cap(worker->o.device_context, "NCCL's connections");
}

static void drain(ons_worker *worker, ons_stream *stream) {
    if (stream == NULL) return;
    worker->device->event_record(stream, worker->idle);
    worker->device->event_synchronize(worker->idle);
}

void ons_worker_drain(ons_worker *worker) {
    if (worker == NULL || worker->idle == NULL) return;
    for (uint32_t i = 0; i < worker->channel_count; ++i) drain(worker, worker->channels[i].stream);
    drain(worker, worker->swap_out);
    drain(worker, worker->swap_in);
    drain(worker, worker->compute);
}

void ons_worker_free(ons_worker *worker) {
    if (worker == NULL) return;
    ons_worker_free_kept(worker);
    for (uint32_t i = 0; i < worker->channel_count; ++i) {
        worker->device->stream_free(worker->channels[i].stream);
        ons_link_close(worker->channels[i].link, worker->channels[i].sends);
    }
    worker->device->stream_free(worker->swap_out);
    worker->device->stream_free(worker->swap_in);
    for (uint32_t i = 0; worker->programs != NULL && i < worker->o.program_count; ++i) {
        free_events(worker, worker->programs[i].sent);
        free_events(worker, worker->programs[i].arrived);
        free_events(worker, worker->programs[i].first_arrived);
        free_events(worker, worker->programs[i].released);
        free_events(worker, worker->programs[i].out);
        free_events(worker, worker->programs[i].in);
    }
    ons_worker_close_trace(worker);
    worker->device->event_free(worker->sync_event);
    worker->device->event_free(worker->idle);
    if (worker->steps != NULL) worker->device->release_host(worker->device, worker->steps, worker->control_bytes);
    if (worker->host != NULL) worker->device->release_host(worker->device, worker->host, worker->host_bytes);
    for (size_t i = 0; i < worker->blocks.count; ++i) free(worker->blocks.items[i]);
    ons_vector_free(&worker->blocks);
    ons_arena_free(worker->arena);
    free(worker);
}

ons_worker_program *ons_worker_find_program(ons_worker *worker, const ons_stage_program *stage) {
    for (uint32_t i = 0; i < worker->o.program_count; ++i)
        if (worker->programs[i].stage == stage) return &worker->programs[i];
    return NULL;
}

ons_worker_traffic ons_worker_get_traffic(const ons_worker *worker) { return worker->traffic; }

ons_worker_busy ons_worker_get_busy(const ons_worker *worker) { return worker->busy; }

ons_device_context *ons_worker_device_context(const ons_worker *worker) { return worker->o.device_context; }

void ons_worker_transfer(ons_worker *worker, void *to, const void *from, size_t bytes) {
    if (worker->device->host_can_access)
        memcpy(to, from, bytes);
    else
        worker->device->copy(worker->compute, to, from, bytes);
}

/* What the device says of the data, and a clean page for the next time. Of a fault that has come from another process
 * nothing is looked at but that it is there. */
static ons_status *take_fault(ons_worker *worker) {
    const ons_fault *fault = worker->shared ? worker->own : worker->found;
    bool stays = worker->o.fault != NULL || worker->o.nccl != NULL; /* updates of other stages may still come to it */
    if (fault->problem == NULL) return NULL;
    ons_node_id node = ONS_NONE;
    for (uint32_t i = 0; i < worker->o.program_count && node == ONS_NONE; ++i) {
        worker->faulty = worker->programs[i].stage;
        node = ons_program_find_fault(worker->programs[i].stage->program, fault, worker->o.rank_group.own);
    }
    if (node == ONS_NONE && stays) return NULL; /* another one's, which tells */
    worker->fault = (ons_program_fault){*fault, node};
    if (stays) return NULL;
    *worker->found = (ons_fault){0};
    return ons_device_context_copy(worker->o.device_context, worker->control.fault, worker->found,
                                   sizeof *worker->found);
}

ons_status *ons_worker_wait(ons_worker *worker, ons_program_fault *fault, const ons_stage_program **where) {
    if (worker->steps != NULL)
        worker->device->copy(worker->compute, worker->found, worker->control.fault, sizeof *worker->found);
    worker->device->event_record(worker->compute, worker->idle);
    worker->device->event_synchronize(worker->idle);
    worker->jobs_used = worker->passes = 0;
    *fault = (ons_program_fault){.node = ONS_NONE};
    ons_status *failure = worker->device->failure(worker->device);
    if (failure != NULL) {
        ons_worker_drop_spans(worker);
        return failure;
    }
    ONS_TRY(ons_worker_settle_trace(worker));
    if (worker->o.nccl != NULL)
        ONS_TRY(worker->o.transport->failure(worker->o.transport)); /* faults of an earlier step, too */
    if (worker->steps != NULL) ONS_TRY(take_fault(worker));
    worker->shared = false;
    *fault = worker->fault;
    *where = worker->faulty;
    worker->fault = (ons_program_fault){.node = ONS_NONE};
    worker->faulty = NULL;
    return worker->o.transport == NULL ? NULL : worker->o.transport->failure(worker->o.transport);
}
