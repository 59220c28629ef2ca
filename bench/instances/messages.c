#include "bench/instances/run.h"

ons_status *run_find_links(run *r) {
    uint32_t n = r->s.stage_count;
    int64_t *bytes, *back;
    ONS_NEW(bytes, r->arena, (size_t)n * n);
    ONS_NEW(back, r->arena, (size_t)n * n);
    for (uint32_t i = 0; i < r->in->tensor_count; ++i) {
        const graph_tensor *t = &r->in->tensors[i];
        uint32_t from = t->producer != NOBODY ? r->s.stage_of[t->producer] : 0;
        for (uint32_t to = 0; to < n && t->producer != NOBODY; ++to) {
            bool reads = stage_has_any(&r->s, to, &t->readers);
            if (to == from || (!reads && !stage_has_any(&r->s, to, &t->savers))) continue;
            bytes[(size_t)from * n + to] += r->scaled[from]->tensors[i].bytes;
            if (reads) back[(size_t)from * n + to] += r->scaled[to]->tensors[i].gradient_bytes;
        }
    }
    ONS_NEW(r->links, r->arena, (size_t)n * n);
    for (uint32_t from = 0; from < n; ++from)
        for (uint32_t to = 0; to < n; ++to) {
            size_t at = (size_t)from * n + to;
            if (bytes[at] + back[at] > 0) r->links[r->link_count++] = (value_link){from, to, bytes[at], back[at]};
        }
    return NULL;
}

double run_travel(const run *r, uint32_t from, uint32_t to, int64_t bytes) {
    if (r->in->link_bandwidth == 0 || from == to || bytes == 0) return 0;
    return (double)bytes / r->in->link_bandwidth + r->in->link_latency;
}

/* ------------------------------------------------------------------------------------------------------ one message */

/* What a micro-batch of the sender's and one of the receiver's have in common of the step's micro-batches. */
typedef struct message {
    uint32_t first, end;                                     /* of the step's */
    uint32_t sender_stage, sender, receiver_stage, receiver; /* numbers of micro-batches */
    int64_t bytes;
} message;

/* Finds the message that has the step's micro-batch `first`, from its first on. */
static message message_at(const run *r, const value_link *l, bool gradient, uint32_t first) {
    message m = {
        .first = first, .sender_stage = gradient ? l->to : l->from, .receiver_stage = gradient ? l->from : l->to};
    uint32_t sent = r->s.stages[m.sender_stage].at_once, taken = r->s.stages[m.receiver_stage].at_once;
    m.sender = first / sent;
    m.receiver = first / taken;
    uint32_t sender_end = (m.sender + 1) * sent, receiver_end = (m.receiver + 1) * taken;
    m.end = sender_end < receiver_end ? sender_end : receiver_end;
    m.bytes = (gradient ? l->gradient_bytes : l->bytes) * (m.end - first) / sent;
    return m;
}

static uint32_t device_of(const run *r, uint32_t stage, uint32_t number) {
    const solution_stage *s = &r->s.stages[stage];
    return s->device + number % s->copies;
}

static double *there_of(const run *r, uint32_t link, bool gradient, uint32_t micro_batch) {
    double *there = gradient ? r->gradient_there : r->value_there;
    return &there[(size_t)link * r->in->micro_batches + micro_batch];
}

/* Sends behind what goes the same way. */
static ons_status *send(run *r, const running *a, uint32_t link, bool gradient, const message *m) {
    uint32_t sender = a->device, reader = device_of(r, m->receiver_stage, m->receiver);
    const uint32_t *places = gradient ? r->backward_place : r->forward_place;
    uint32_t place = places[(size_t)m->receiver_stage * r->in->micro_batches + m->receiver];
    double *free = &r->pair_free[(size_t)sender * r->in->devices + reader];
    double begins = a->end > *free || sender == reader ? a->end : *free;
    double there = begins + run_travel(r, sender, reader, m->bytes);
    if (sender != reader) *free = there;
    for (uint32_t i = m->first; i < m->end; ++i) *there_of(r, link, gradient, i) = there;
    /* The sender has a gradient until it has arrived; the reader has a place from when it begins to go. */
    if (gradient) {
        ONS_TRY(run_note(r, a->end, sender, a->place, 1, m->bytes));
        ONS_TRY(run_note(r, there, sender, a->place, 2, -m->bytes));
    }
    return run_note(r, begins, reader, place, 0, m->bytes);
}

static ons_status *send_link(run *r, const running *a, uint32_t link, bool gradient) {
    uint32_t at_once = r->s.stages[a->action->stage].at_once, first = a->number * at_once, end = first + at_once;
    while (first < end) {
        message m = message_at(r, &r->links[link], gradient, first);
        ONS_TRY(send(r, a, link, gradient, &m));
        first = m.end;
    }
    return NULL;
}

/* -------------------------------------------------------------------------------------------------------- an action */

static bool takes_gradients(const solution_action *a) { return a->kind == 'B' || a->kind == 'I'; }

/* Whether the action reads what comes over the link, and which way. */
static bool reads(const value_link *l, const solution_action *a, bool *gradient) {
    *gradient = takes_gradients(a);
    if (*gradient) return l->from == a->stage && l->gradient_bytes > 0;
    return a->kind == 'F' && l->to == a->stage;
}

double run_arrival(const run *r, const solution_action *a) {
    uint32_t at_once = r->s.stages[a->stage].at_once, first = solution_number(&r->s, a) * at_once;
    double last = 0;
    bool gradient;
    for (uint32_t l = 0; l < r->link_count; ++l)
        for (uint32_t i = first; reads(&r->links[l], a, &gradient) && i < first + at_once; ++i) {
            double there = *there_of(r, l, gradient, i);
            if (there < 0) return -1;
            if (there > last) last = there;
        }
    return last;
}

int64_t run_arrived_bytes(const run *r, const solution_action *a) {
    uint32_t at_once = r->s.stages[a->stage].at_once, first = solution_number(&r->s, a) * at_once;
    int64_t bytes = 0;
    bool gradient;
    for (uint32_t l = 0; l < r->link_count; ++l)
        for (uint32_t i = first; reads(&r->links[l], a, &gradient) && i < first + at_once;) {
            message m = message_at(r, &r->links[l], gradient, i);
            bytes += m.bytes;
            i = m.end;
        }
    return bytes;
}

double run_last_reader(const run *r, uint32_t stage, uint32_t number, uint32_t tensor) {
    const graph_tensor *t = &r->in->tensors[tensor];
    uint32_t at_once = r->s.stages[stage].at_once, first = number * at_once;
    double last = -1;
    for (uint32_t l = 0; l < r->link_count; ++l) {
        uint32_t to = r->links[l].to;
        if (r->links[l].from != stage) continue;
        if (!stage_has_any(&r->s, to, &t->readers) && !stage_has_any(&r->s, to, &t->savers)) continue;
        for (uint32_t i = first; i < first + at_once; ++i) {
            double there = *there_of(r, l, false, i);
            if (there > last) last = there;
        }
    }
    return last;
}

/* Tensors that the stage does not keep itself stay until the last of their readers has them. */
static ons_status *let_go(run *r, const running *a) {
    uint32_t stage = a->action->stage;
    for (uint32_t i = 0; i < r->in->tensor_count; ++i) {
        const graph_tensor *t = &r->in->tensors[i];
        int64_t bytes = r->scaled[stage]->tensors[i].bytes;
        bool kept = stage_has_any(&r->s, stage, &t->savers) && !r->s.recomputed[i];
        if (!stage_has(&r->s, stage, t->producer) || kept) continue;
        double there = run_last_reader(r, stage, a->number, i);
        if (there < 0) continue;
        ONS_TRY(run_note(r, a->end, a->device, a->place, 1, bytes));
        ONS_TRY(run_note(r, there, a->device, a->place, 2, -bytes));
    }
    return NULL;
}

ons_status *run_send(run *r, const running *a) {
    bool backward = takes_gradients(a->action);
    uint32_t stage = a->action->stage;
    for (uint32_t l = 0; l < r->link_count; ++l) {
        const value_link *link = &r->links[l];
        if (a->action->kind == 'F' && link->from == stage) ONS_TRY(send_link(r, a, l, false));
        if (backward && link->to == stage && link->gradient_bytes > 0) ONS_TRY(send_link(r, a, l, true));
    }
    if (a->action->kind != 'F') return NULL;
    ONS_TRY(let_go(r, a));
    return run_let_go_swapped(r, a);
}

void run_add_messages(const run *r, double *seconds) {
    size_t devices = r->in->devices;
    for (uint32_t l = 0; l < r->link_count; ++l)
        for (int gradient = 0; gradient < 2; ++gradient)
            for (uint32_t i = 0; i < r->in->micro_batches;) {
                message m = message_at(r, &r->links[l], gradient, i);
                uint32_t from = device_of(r, m.sender_stage, m.sender);
                uint32_t to = device_of(r, m.receiver_stage, m.receiver);
                seconds[from * devices + to] += run_travel(r, from, to, m.bytes);
                i = m.end;
            }
}
