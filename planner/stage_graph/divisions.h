/* What the dynamic program (division_search.h) looks at: the ways to divide a state (a subproblem,
 * division_search_states.h) into one stage or none and smaller states. */
#ifndef ONSTAGE_PLANNER_STAGE_GRAPH_DIVISIONS_H
#define ONSTAGE_PLANNER_STAGE_GRAPH_DIVISIONS_H

#include "planner/stage_graph/division_search.h"
#include "planner/stage_graph/division_search_states.h"

/* A division that is looked at: one stage or none, and the states that the rest of it leaves. */
enum { REST_MOST = 3 };
typedef struct choice {
    ons_found found;
    bool has_stage;
    ons_interval_way way;
    uint32_t pace;
    uint32_t rest_count;
    ons_state rest[REST_MOST];
} choice;

/* One of several readers of a stage's results, or what it sees of the end of the model. */
typedef struct follower {
    uint32_t in_flight, pace; /* pace ONS_ANY: nobody */
} follower;

struct ons_division_search {
    const ons_series_parallel *graph;
    ons_interval_costs *costs;
    const ons_graph_problem *problem;
    const ons_stage_pace *paces;
    uint32_t pace_count;
    double limit;
    bool least_memory, short_of_memory;
    double *least; /* [position]: the seconds for a sample that nodes before it take on one device */
    ons_states states;
};

/* Finds the best division of a state, or remembers it. */
ons_found ons_division_search_solve(ons_division_search *search, const ons_state *state);

/* Tries stages that take in the end of a row's first child, branches, and what stands behind them; and stages that take
 * in the beginning of one of its branches, and what stands in front of them. `best`: taken where it is better. */
void ons_division_search_try_common_ends(ons_division_search *search, const ons_state *state, choice *best);
void ons_division_search_try_common_beginnings(ons_division_search *search, const ons_state *state, choice *best);

static inline const ons_composed *part_of(const ons_division_search *p, uint32_t part) {
    return &p->graph->parts[part];
}
static inline const ons_composed *child_of(const ons_division_search *p, const ons_composed *part, uint32_t i) {
    return part_of(p, part->children[i]);
}

static inline uint32_t state_first(const ons_division_search *p, const ons_state *s) {
    const ons_composed *part = part_of(p, s->part);
    return part->kind == ONS_COMPOSED_NODE ? part->first : child_of(p, part, s->from)->first;
}
static inline uint32_t state_end(const ons_division_search *p, const ons_state *s) {
    const ons_composed *part = part_of(p, s->part);
    return part->kind == ONS_COMPOSED_NODE ? part->end : child_of(p, part, s->to - 1)->end;
}

/* The state of a whole part. */
static inline ons_state whole(const ons_division_search *p, uint32_t part, const ons_state *like, uint32_t devices) {
    ons_state s = *like;
    s.part = part;
    s.from = 0;
    s.to = part_of(p, part)->child_count;
    s.devices = devices;
    return s;
}

static inline ons_state between(const ons_state *like, uint32_t part, uint32_t from, uint32_t to, uint32_t devices) {
    ons_state s = *like;
    s.part = part;
    s.from = from;
    s.to = to;
    s.devices = devices;
    return s;
}

static inline void set_follower(ons_state *s, follower next) {
    s->next_in_flight = next.in_flight;
    s->next_pace = next.pace;
}

/* Seconds for a sample that these nodes take at least, of all devices together. */
static inline double work_between(const ons_division_search *p, uint32_t first, uint32_t end) {
    return p->least[end] - p->least[first];
}
static inline bool is_too_much(const ons_division_search *p, uint32_t first, uint32_t end, uint32_t devices) {
    return work_between(p, first, end) > devices * p->limit * (1 + 1e-12);
}

static inline bool fits_devices(const ons_division_search *p, const ons_state *s) {
    return s->devices > 0 && !is_too_much(p, state_first(p, s), state_end(p, s), s->devices);
}

/* More than the batch where a step is short: what counts is still how many stages stand in a row. */
static inline uint32_t in_flight_for(const ons_division_search *p, uint32_t pace, follower next) {
    int64_t samples = next.pace == ONS_ANY ? ons_in_flight_last(p->paces[pace])
                                           : ons_in_flight_before(p->paces[pace], p->paces[next.pace], next.in_flight);
    return samples < ONS_NOT_FOUND ? (uint32_t)samples : ONS_NOT_FOUND - 1;
}

static inline bool is_better(const ons_division_search *p, ons_found a, ons_found b) {
    if (a.in_flight != b.in_flight) return a.in_flight < b.in_flight;
    return p->least_memory && a.bytes < b.bytes;
}

static inline ons_found join(ons_found a, ons_found b) {
    if (a.in_flight == ONS_NOT_FOUND || b.in_flight == ONS_NOT_FOUND) return (ons_found){ONS_NOT_FOUND, 0};
    return (ons_found){a.in_flight > b.in_flight ? a.in_flight : b.in_flight, a.bytes > b.bytes ? a.bytes : b.bytes};
}

static inline uint32_t first_pace(uint32_t own) { return own == ONS_ANY ? 0 : own; }
static inline uint32_t end_pace(const ons_division_search *p, uint32_t own) {
    return own == ONS_ANY ? p->pace_count : own + 1;
}

/* What is left to know of a stage once its time is within the limit. */
static inline bool is_quick(const ons_division_search *p, const ons_interval_way *way) {
    return ons_interval_computing(p->costs, way) <= p->limit;
}

/* Bytes of the stage; -1: it takes too long or does not fit. */
static inline int64_t stage_bytes(ons_division_search *p, const ons_interval_way *way, uint32_t in_flight) {
    if (!is_quick(p, way) || !(ons_interval_seconds(p->costs, way) <= p->limit)) return -1;
    int64_t samples = in_flight < p->problem->batch ? in_flight : p->problem->batch;
    int64_t bytes = ons_interval_bytes(p->costs, way, samples), capacity = p->problem->hardware->capacity_bytes;
    return capacity != 0 && bytes > capacity ? -1 : bytes;
}

static inline ons_interval_way way_of(const ons_division_search *p, uint32_t first, uint32_t end, uint32_t pace,
                                      uint32_t doubled) {
    return (ons_interval_way){first, end, p->paces[pace].samples, doubled};
}

/* What stands behind child `to` of a row, divided; nothing where the state ends there. */
typedef struct behind {
    bool there;
    ons_state state;
    ons_found found;
    follower next; /* what stages in front of it see */
} behind;

/* With `devices`, and stages of that pace at its beginning (where it is there). False: it cannot be done. */
static inline bool look_behind(ons_division_search *p, const ons_state *s, uint32_t to, uint32_t devices, uint32_t pace,
                               behind *b) {
    *b = (behind){.there = to < s->to, .next = {s->next_in_flight, s->next_pace}};
    if (!b->there) return devices == 0 && pace == 0;
    if (devices == 0) return false;
    b->state = between(s, s->part, to, s->to, devices);
    b->state.own_pace = pace;
    b->found = ons_division_search_solve(p, &b->state);
    b->next = (follower){b->found.in_flight, pace};
    return b->found.in_flight != ONS_NOT_FOUND;
}

static inline void add_behind(const behind *b, choice *c) {
    if (!b->there) return;
    c->rest[c->rest_count++] = b->state;
    if (b->found.bytes > c->found.bytes) c->found.bytes = b->found.bytes;
}

#endif
