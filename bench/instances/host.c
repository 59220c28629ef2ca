/* Copies to the host and back, beside what the device computes (README.md, "Swapping"). */
#include "bench/instances/run.h"

static double later(double a, double b) { return a > b ? a : b; }

static double *gone_of(const run *r, const running *a, uint32_t swap) {
    uint32_t stage = a->action->stage;
    return &r->gone[stage][(size_t)a->number * r->s.stages[stage].swap_count + swap];
}

/* ---------------------------------------------------------------------------------------------------------- forward */

/* Where the node's forward part begins at the earliest: it waits for copies that have to be gone. */
static double wait_gone(const run *r, const running *a, uint32_t position, double now) {
    const solution_stage *stage = &r->s.stages[a->action->stage];
    for (uint32_t i = 0; i < stage->swap_count; ++i)
        if (stage->swaps[i].gone_before == position) now = later(now, *gone_of(r, a, i));
    return now;
}

static ons_status *begin_tensors(run *r, const running *a, uint32_t position, double now) {
    uint32_t stage = a->action->stage;
    for (uint32_t i = 0; i < r->s.stages[stage].swap_count; ++i) {
        const stage_swap *c = &r->costs[stage].swaps[i];
        if (c->made_by == position || (c->is_data && position == 0))
            ONS_TRY(run_note(r, now, a->device, a->place, 0, c->bytes));
    }
    return NULL;
}

/* A tensor has left when it is copied and the last forward part that reads it has ended. */
static void begin_copies_out(run *r, const running *a, uint32_t position, double now) {
    uint32_t stage = a->action->stage;
    for (uint32_t i = 0; i < r->s.stages[stage].swap_count; ++i) {
        const stage_swap *c = &r->costs[stage].swaps[i];
        double *gone = gone_of(r, a, i);
        if (r->s.stages[stage].swaps[i].out_after == position) {
            double *free = &r->out_free[a->device];
            *free = later(*free, now) + c->seconds;
            *gone = later(*gone, *free);
        }
        if (c->used_by == position) *gone = later(*gone, now);
    }
}

static ons_status *run_forward(run *r, running *a) {
    uint32_t stage = a->action->stage;
    const number_list *nodes = &r->s.stages[stage].nodes;
    double now = a->begin;
    for (uint32_t i = 0; i < nodes->count; ++i) {
        now = wait_gone(r, a, i, now);
        ONS_TRY(begin_tensors(r, a, i, now));
        now += r->scaled[stage]->nodes[nodes->items[i]].forward;
        begin_copies_out(r, a, i, now);
    }
    a->end = now;
    return NULL;
}

ons_status *run_let_go_swapped(run *r, const running *a) {
    uint32_t stage = a->action->stage;
    for (uint32_t i = 0; i < r->s.stages[stage].swap_count; ++i) {
        const stage_swap *c = &r->costs[stage].swaps[i];
        double gone = *gone_of(r, a, i);
        bool arrived = c->made_by == NOBODY && !c->is_data; /* the message's place has it until the part ends */
        if (c->is_sent) gone = later(gone, run_last_reader(r, stage, a->number, r->s.stages[stage].swaps[i].tensor));
        if (arrived && gone <= a->end) continue;
        if (arrived) ONS_TRY(run_note(r, a->end, a->device, a->place, 1, c->bytes));
        ONS_TRY(run_note(r, gone, a->device, a->place, 2, -c->bytes));
    }
    return NULL;
}

/* --------------------------------------------------------------------------------------------------------- backward */

/* `back`: [swap], when it is there again. */
static ons_status *begin_copies_back(run *r, const running *a, uint32_t position, double now, double *back) {
    uint32_t stage = a->action->stage;
    for (uint32_t i = 0; i < r->s.stages[stage].swap_count; ++i) {
        const stage_swap *c = &r->costs[stage].swaps[i];
        if (r->s.stages[stage].swaps[i].in_before != position) continue;
        double *free = &r->back_free[a->device];
        double begin = later(later(now, *free), *gone_of(r, a, i));
        back[i] = *free = begin + c->seconds;
        ONS_TRY(run_note(r, begin, a->device, a->place, 0, c->bytes));
    }
    return NULL;
}

static ons_status *run_backward(run *r, running *a) {
    uint32_t stage = a->action->stage, swaps = r->s.stages[stage].swap_count;
    const number_list *nodes = &r->s.stages[stage].nodes;
    const stage_costs *c = &r->costs[stage];
    double now = a->begin, *back;
    bool whole = a->action->kind == 'B';
    ONS_NEW(back, r->arena, (size_t)swaps + 1);
    for (uint32_t i = nodes->count; i-- > 0;) {
        const graph_node *n = &r->scaled[stage]->nodes[nodes->items[i]];
        ONS_TRY(begin_copies_back(r, a, i, now, back));
        for (uint32_t k = 0; k < swaps; ++k)
            if (c->swaps[k].needed_by == i) now = later(now, back[k]);
        now += c->again[i] + n->input_gradient + (whole ? n->weight_gradient : 0);
        for (uint32_t k = 0; k < swaps && whole; ++k)
            if (c->swaps[k].done_by == i) ONS_TRY(run_note(r, now, a->device, a->place, 1, -c->swaps[k].bytes));
    }
    a->end = now;
    return NULL;
}

ons_status *run_with_copies(run *r, running *a) {
    const stage_costs *c = &r->costs[a->action->stage];
    if (a->action->kind == 'F') return run_forward(r, a);
    if (a->action->kind != 'W') return run_backward(r, a);
    a->end = a->begin + c->weight;
    for (uint32_t i = 0; i < r->s.stages[a->action->stage].swap_count; ++i)
        ONS_TRY(run_note(r, a->end, a->device, a->place, 1, -c->swaps[i].bytes));
    return NULL;
}
