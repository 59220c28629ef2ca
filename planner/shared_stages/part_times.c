#include "planner/shared_stages/part_times.h"

#include <math.h>

static ons_status *number_all(ons_part_times *t, ons_arena *arena) {
    const ons_placed_plan *p = t->plan;
    ONS_NEW(t->first_copy, arena, (size_t)p->stage_count + 1);
    ONS_NEW(t->first_part, arena, (size_t)p->stage_count + 1);
    for (uint32_t i = 0; i < p->stage_count; ++i) {
        t->first_copy[i + 1] = t->first_copy[i] + p->stages[i].copies;
        t->first_part[i + 1] = t->first_part[i] + ons_placed_parts(p, i);
    }
    return NULL;
}

/* Sorts the edges by the stage at one of their ends. It sorts by counting, so that the edges of a stage keep their
 * order. */
static ons_status *sort_edges(const ons_placed_plan *p, bool into, ons_arena *arena, uint32_t **list,
                              uint32_t **first) {
    ONS_NEW(*list, arena, p->edge_count);
    ONS_NEW(*first, arena, (size_t)p->stage_count + 2);
    uint32_t *begin = *first;
    for (uint32_t i = 0; i < p->edge_count; ++i) ++begin[(into ? p->edges[i].to : p->edges[i].from) + 2];
    for (uint32_t i = 2; i <= p->stage_count; ++i) begin[i] += begin[i - 1];
    for (uint32_t i = 0; i < p->edge_count; ++i) (*list)[begin[(into ? p->edges[i].to : p->edges[i].from) + 1]++] = i;
    return NULL;
}

ons_status *ons_part_times_make(const ons_placed_plan *plan, ons_arena *arena, ons_part_times *t) {
    *t = (ons_part_times){.plan = plan};
    ONS_TRY(number_all(t, arena));
    ONS_TRY(sort_edges(plan, true, arena, &t->into, &t->into_first));
    ONS_TRY(sort_edges(plan, false, arena, &t->out, &t->out_first));
    for (uint32_t type = 0; type < ONS_PART_TYPES; ++type) {
        ONS_NEW(t->done[type], arena, t->first_copy[plan->stage_count]);
        ONS_NEW(t->left[type], arena, t->first_part[plan->stage_count]);
        ONS_NEW(t->end[type], arena, t->first_part[plan->stage_count]);
        for (uint32_t i = 0; i < plan->stage_count; ++i)
            for (uint32_t part = t->first_part[i]; part < t->first_part[i + 1]; ++part)
                t->left[type][part] = plan->stages[i].together ? plan->stages[i].copies : 1;
    }
    return NULL;
}

static uint32_t done(const ons_part_times *t, ons_part_type type, uint32_t stage, uint32_t copy) {
    return t->done[type][t->first_copy[stage] + copy];
}

uint32_t ons_part_next(const ons_part_times *t, ons_part_type type, uint32_t stage, uint32_t copy) {
    return ons_placed_part_of(&t->plan->stages[stage], copy, done(t, type, stage, copy));
}

bool ons_part_is_left(const ons_part_times *t, ons_part_type type, uint32_t stage, uint32_t copy) {
    return done(t, type, stage, copy) < ons_placed_copy_parts(t->plan, stage, copy);
}

/* Both stages cut the same batch into parts, of `own` and `taken` samples: the range is rounded outwards. */
void ons_part_range(const ons_placed_plan *plan, uint32_t stage, uint32_t part, uint32_t other, uint32_t *first,
                    uint32_t *end) {
    int64_t own = plan->stages[stage].samples, taken = plan->stages[other].samples;
    *first = (uint32_t)(part * own / taken);
    *end = (uint32_t)(((part + 1) * own + taken - 1) / taken);
}

/* When all copies have run the part and its collective is over. */
static double finished(const ons_part_times *t, ons_part_type type, uint32_t stage, uint32_t part) {
    uint32_t number = t->first_part[stage] + part;
    if (t->left[type][number] > 0) return INFINITY;
    return t->end[type][number] +
           t->plan->stages[stage].collectives[type == ONS_PART_FORWARD ? ONS_AFTER_FORWARD : ONS_AFTER_BACKWARD];
}

/* When all that comes to the part over an edge is there; `gradient`: from the later stage. */
static double arrived(const ons_part_times *t, const ons_placed_edge *e, bool gradient, uint32_t part) {
    uint32_t here = gradient ? e->from : e->to, there = gradient ? e->to : e->from, first, end;
    double last = 0;
    ons_part_range(t->plan, here, part, there, &first, &end);
    for (uint32_t i = first; i < end; ++i) {
        double at = finished(t, gradient ? ONS_PART_INPUT : ONS_PART_FORWARD, there, i) +
                    ons_placed_message(t->plan, e, gradient, i, part);
        if (at > last) last = at;
    }
    return last;
}

/* Where a part holds its devices, the collective before it is part of that. */
static double before(const ons_placed_stage *s, ons_collective collective) {
    return s->holds ? 0 : s->collectives[collective];
}

/* A forward part is ready when everything that the stages in front send for the part has come, and the collective in
 * front of it is over. */
static double forward_ready(const ons_part_times *t, uint32_t stage, uint32_t part) {
    double ready = 0;
    for (uint32_t i = t->into_first[stage]; i < t->into_first[stage + 1]; ++i)
        ready = fmax(ready, arrived(t, &t->plan->edges[t->into[i]], false, part));
    return ready + before(&t->plan->stages[stage], ONS_BEFORE_FORWARD);
}

/* An input gradient is ready when the part's own forward part is over on all copies, and every later stage has sent its
 * gradient. */
static double input_ready(const ons_part_times *t, uint32_t stage, uint32_t part) {
    double ready = finished(t, ONS_PART_FORWARD, stage, part);
    for (uint32_t i = t->out_first[stage]; i < t->out_first[stage + 1] && ready < INFINITY; ++i)
        ready = fmax(ready, arrived(t, &t->plan->edges[t->out[i]], true, part));
    return ready + before(&t->plan->stages[stage], ONS_BEFORE_BACKWARD);
}

double ons_part_ready(const ons_part_times *t, ons_part_type type, uint32_t stage, uint32_t copy) {
    if (!ons_part_is_left(t, type, stage, copy)) return INFINITY;
    uint32_t part = ons_part_next(t, type, stage, copy);
    if (type == ONS_PART_FORWARD) return forward_ready(t, stage, part);
    if (type == ONS_PART_INPUT) return input_ready(t, stage, part);
    return done(t, ONS_PART_INPUT, stage, copy) > done(t, type, stage, copy) ? 0 : INFINITY;
}

void ons_part_take(ons_part_times *t, ons_part_type type, uint32_t stage, uint32_t copy, double end) {
    uint32_t part = t->first_part[stage] + ons_part_next(t, type, stage, copy);
    ++t->done[type][t->first_copy[stage] + copy];
    --t->left[type][part];
    if (end > t->end[type][part]) t->end[type][part] = end;
}
