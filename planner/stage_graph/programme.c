#include "planner/stage_graph/programme.h"

#include <math.h>
#include <stdlib.h>

#include "planner/stage_graph/programme_states.h"

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

struct ons_programme {
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

static ons_found solve(ons_programme *p, const ons_state *s);

/* ---------------------------------------------------------------------------------------------------------- helpers */

static const ons_composed *part_of(const ons_programme *p, uint32_t part) { return &p->graph->parts[part]; }
static const ons_composed *child_of(const ons_programme *p, const ons_composed *part, uint32_t i) {
    return part_of(p, part->children[i]);
}

static uint32_t state_first(const ons_programme *p, const ons_state *s) {
    const ons_composed *part = part_of(p, s->part);
    return part->kind == ONS_COMPOSED_NODE ? part->first : child_of(p, part, s->from)->first;
}
static uint32_t state_end(const ons_programme *p, const ons_state *s) {
    const ons_composed *part = part_of(p, s->part);
    return part->kind == ONS_COMPOSED_NODE ? part->end : child_of(p, part, s->to - 1)->end;
}

/* The state of a whole part. */
static ons_state whole(const ons_programme *p, uint32_t part, const ons_state *like, uint32_t devices) {
    ons_state s = *like;
    s.part = part;
    s.from = 0;
    s.to = part_of(p, part)->child_count;
    s.devices = devices;
    return s;
}

static ons_state between(const ons_state *like, uint32_t part, uint32_t from, uint32_t to, uint32_t devices) {
    ons_state s = *like;
    s.part = part;
    s.from = from;
    s.to = to;
    s.devices = devices;
    return s;
}

static void follow(ons_state *s, follower next) {
    s->next_in_flight = next.in_flight;
    s->next_pace = next.pace;
}

/* Seconds for a sample that these nodes take at least, of all devices together. */
static double work_between(const ons_programme *p, uint32_t first, uint32_t end) {
    return p->least[end] - p->least[first];
}
static bool is_too_much(const ons_programme *p, uint32_t first, uint32_t end, uint32_t devices) {
    return work_between(p, first, end) > devices * p->limit * (1 + 1e-12);
}

static uint32_t in_flight_for(const ons_programme *p, uint32_t pace, follower next) {
    int64_t most = p->problem->batch;
    int64_t samples = next.pace == ONS_ANY ? ons_in_flight_last(p->paces[pace])
                                           : ons_in_flight_before(p->paces[pace], p->paces[next.pace], next.in_flight);
    return (uint32_t)(samples < most ? samples : most);
}

static bool is_better(const ons_programme *p, ons_found a, ons_found b) {
    if (a.in_flight != b.in_flight) return a.in_flight < b.in_flight;
    return p->least_memory && a.bytes < b.bytes;
}

static ons_found join(ons_found a, ons_found b) {
    if (a.in_flight == ONS_NOT_FOUND || b.in_flight == ONS_NOT_FOUND) return (ons_found){ONS_NOT_FOUND, 0};
    return (ons_found){a.in_flight > b.in_flight ? a.in_flight : b.in_flight, a.bytes > b.bytes ? a.bytes : b.bytes};
}

static uint32_t first_pace(uint32_t own) { return own == ONS_ANY ? 0 : own; }
static uint32_t end_pace(const ons_programme *p, uint32_t own) { return own == ONS_ANY ? p->pace_count : own + 1; }

/* ------------------------------------------------------------------------------------------------------------ stages
 */

/* What is left to know of a stage once its time is within the limit. */
static bool is_quick(const ons_programme *p, const ons_interval_way *way) {
    return ons_interval_computing(p->costs, way) <= p->limit;
}

/* Bytes of the stage; -1: it takes too long or does not fit. */
static int64_t stage_bytes(ons_programme *p, const ons_interval_way *way, uint32_t in_flight) {
    if (!is_quick(p, way) || !(ons_interval_seconds(p->costs, way) <= p->limit)) return -1;
    int64_t bytes = ons_interval_bytes(p->costs, way, in_flight), capacity = p->problem->machine->capacity_bytes;
    return capacity != 0 && bytes > capacity ? -1 : bytes;
}

static ons_interval_way way_of(const ons_programme *p, uint32_t first, uint32_t end, uint32_t pace, uint32_t doubled) {
    return (ons_interval_way){first, end, p->paces[pace].samples, doubled};
}

/* The whole state as one stage. */
static void try_one_stage(ons_programme *p, const ons_state *s, choice *best) {
    if ((s->devices & (s->devices - 1)) != 0) return;
    uint32_t doubled = 31u - (uint32_t)__builtin_clz(s->devices);
    for (uint32_t pace = first_pace(s->own_pace); pace < end_pace(p, s->own_pace); ++pace) {
        choice c = {.has_stage = true, .pace = pace};
        c.way = way_of(p, state_first(p, s), state_end(p, s), pace, doubled);
        c.found.in_flight = in_flight_for(p, pace, (follower){s->next_in_flight, s->next_pace});
        if (!is_better(p, c.found, best->found) && !p->least_memory) continue;
        c.found.bytes = stage_bytes(p, &c.way, c.found.in_flight);
        if (c.found.bytes >= 0 && is_better(p, c.found, best->found)) *best = c;
    }
}

/* The fewest samples in flight that any division into more than one stage can have at its beginning. */
static bool is_settled(const ons_programme *p, const ons_state *s, const choice *best) {
    if (p->least_memory || p->pace_count != 1) return false;
    follower next = {s->next_in_flight, s->next_pace};
    next.in_flight = in_flight_for(p, 0, next);
    next.pace = 0;
    return best->found.in_flight <= in_flight_for(p, 0, next);
}

/* ------------------------------------------------------------------------------------------------------------ a row */

/* What stands behind child `to` of a row, divided; nothing where the state ends there. */
typedef struct behind {
    bool there;
    ons_state state;
    ons_found found;
    follower next; /* what stages in front of it see */
} behind;

/* With `devices`, and stages of that pace at its beginning (where it is there). False: it cannot be done. */
static bool look_behind(ons_programme *p, const ons_state *s, uint32_t to, uint32_t devices, uint32_t pace, behind *b) {
    *b = (behind){.there = to < s->to, .next = {s->next_in_flight, s->next_pace}};
    if (!b->there) return devices == 0 && pace == 0;
    if (devices == 0) return false;
    b->state = between(s, s->part, to, s->to, devices);
    b->state.own_pace = pace;
    b->found = solve(p, &b->state);
    b->next = (follower){b->found.in_flight, pace};
    return b->found.in_flight != ONS_NOT_FOUND;
}

static void add_behind(const behind *b, choice *c) {
    if (!b->there) return;
    c->rest[c->rest_count++] = b->state;
    if (b->found.bytes > c->found.bytes) c->found.bytes = b->found.bytes;
}

/* A stage of the children [from, to), and what is behind it. */
static void try_first_stage(ons_programme *p, const ons_state *s, uint32_t to, uint32_t doubled, choice *best) {
    uint32_t first = state_first(p, s), end = child_of(p, part_of(p, s->part), to - 1)->end;
    for (uint32_t pace = first_pace(s->own_pace); pace < end_pace(p, s->own_pace); ++pace) {
        ons_interval_way way = way_of(p, first, end, pace, doubled);
        if (!is_quick(p, &way)) continue;
        for (uint32_t next = 0; next < p->pace_count; ++next) {
            behind b;
            choice c = {.has_stage = true, .way = way, .pace = pace};
            if (!look_behind(p, s, to, s->devices - (1u << doubled), next, &b)) continue;
            c.found.in_flight = in_flight_for(p, pace, b.next);
            if (!is_better(p, c.found, best->found) && !p->least_memory) continue;
            c.found.bytes = stage_bytes(p, &way, c.found.in_flight);
            if (c.found.bytes < 0) continue;
            add_behind(&b, &c);
            if (is_better(p, c.found, best->found)) *best = c;
        }
    }
}

static void try_first_stages(ons_programme *p, const ons_state *s, choice *best) {
    const ons_composed *row = part_of(p, s->part);
    uint32_t end = state_end(p, s);
    for (uint32_t doubled = 0; 1u << doubled < s->devices; ++doubled)
        for (uint32_t to = s->to - 1; to > s->from; --to) {
            if (is_too_much(p, child_of(p, row, to)->first, end, s->devices - (1u << doubled))) break;
            try_first_stage(p, s, to, doubled, best);
            if (is_settled(p, s, best)) return;
        }
}

/* The first child, branches, divided by itself. */
static void try_first_child(ons_programme *p, const ons_state *s, choice *best) {
    uint32_t child = part_of(p, s->part)->children[s->from];
    if (part_of(p, child)->kind != ONS_COMPOSED_BRANCHES) return;
    bool last = s->from + 1 == s->to;
    for (uint32_t devices = last ? s->devices : 2; devices <= s->devices; ++devices) {
        if (is_too_much(p, part_of(p, child)->first, part_of(p, child)->end, devices)) continue;
        for (uint32_t next = 0; next < (last ? 1 : p->pace_count); ++next) {
            behind b;
            choice c = {0};
            if (!look_behind(p, s, s->from + 1, s->devices - devices, next, &b)) continue;
            ons_state own = whole(p, child, s, devices);
            follow(&own, b.next);
            c.found = solve(p, &own);
            c.rest[c.rest_count++] = own;
            if (c.found.in_flight == ONS_NOT_FOUND) continue;
            add_behind(&b, &c);
            if (is_better(p, c.found, best->found)) *best = c;
        }
    }
}

/* ---------------------------------------------------------------------------------- stages at the ends of branches */

/* A border inside branches: whole branches on one side of it, and perhaps a row that it divides. The branches [0,
 * whole) are in front of it, or, at the beginning, [whole, count) behind it; `inside` > 0: of the one at the border the
 * children [0, inside) are in front of it. */
typedef struct border {
    uint32_t branches; /* part */
    uint32_t whole, inside;
} border;

/* What branches leave on the other side of a stage that takes in one of their ends: states for whole branches and for
 * the rest of a divided one, sharing `devices`. */
typedef struct leftover {
    ons_state states[2];
    uint32_t count;
} leftover;

static leftover in_front(const ons_programme *p, const border *b, const ons_state *like) {
    leftover r = {.count = 0};
    if (b->whole > 0) r.states[r.count++] = between(like, b->branches, 0, b->whole, 0);
    if (b->inside > 0) {
        uint32_t divided = part_of(p, b->branches)->children[b->whole];
        r.states[r.count++] = between(like, divided, 0, b->inside, 0);
    }
    return r;
}

static leftover behind_it(const ons_programme *p, const border *b, const ons_state *like) {
    const ons_composed *branches = part_of(p, b->branches);
    leftover r = {.count = 0};
    if (b->whole < branches->child_count)
        r.states[r.count++] = between(like, b->branches, b->whole, branches->child_count, 0);
    if (b->inside > 0) {
        uint32_t divided = branches->children[b->whole - 1];
        r.states[r.count++] = between(like, divided, b->inside, part_of(p, divided)->child_count, 0);
    }
    return r;
}

static uint32_t border_position(const ons_programme *p, const border *b, bool at_end) {
    const ons_composed *branches = part_of(p, b->branches);
    uint32_t which = at_end ? b->whole : b->whole - 1;
    const ons_composed *at = child_of(p, branches, which);
    if (b->inside > 0) return child_of(p, at, b->inside)->first;
    return at_end ? at->first : at->end;
}

static bool fits_devices(const ons_programme *p, const ons_state *s) {
    return s->devices > 0 && !is_too_much(p, state_first(p, s), state_end(p, s), s->devices);
}

/* The best way to share devices between the states of a leftover. */
typedef struct shared {
    ons_found found; /* the most of both */
    ons_state states[2];
} shared;

static ons_found solve_with(ons_programme *p, ons_state *s, uint32_t devices) {
    s->devices = devices;
    return fits_devices(p, s) ? solve(p, s) : (ons_found){ONS_NOT_FOUND, 0};
}

static bool share(ons_programme *p, const leftover *r, uint32_t devices, shared *best) {
    best->found = (ons_found){ONS_NOT_FOUND, 0};
    for (uint32_t given = r->count == 1 ? devices : 1; given <= (r->count == 1 ? devices : devices - 1); ++given) {
        ons_state a = r->states[0], b = r->states[1];
        ons_found found = solve_with(p, &a, given);
        if (found.in_flight == ONS_NOT_FOUND) continue;
        if (r->count == 2) found = join(found, solve_with(p, &b, devices - given));
        if (!is_better(p, found, best->found)) continue;
        *best = (shared){found, {a, b}};
    }
    return best->found.in_flight != ONS_NOT_FOUND;
}

static void add_shared(const shared *x, uint32_t count, choice *c) {
    for (uint32_t i = 0; i < count; ++i) c->rest[c->rest_count++] = x->states[i];
    if (x->found.bytes > c->found.bytes) c->found.bytes = x->found.bytes;
}

/* A stage from a border in the state's first child, branches, to child `to` of the row. */
static void try_common_end(ons_programme *p, const ons_state *s, const border *at, uint32_t to, uint32_t doubled,
                           uint32_t pace, choice *best) {
    uint32_t used = 1u << doubled, end = child_of(p, part_of(p, s->part), to - 1)->end;
    ons_interval_way way = way_of(p, border_position(p, at, true), end, pace, doubled);
    if (used >= s->devices || !is_quick(p, &way)) return;
    uint32_t most = to == s->to ? 0 : s->devices - used - 1;
    for (uint32_t devices = to == s->to ? 0 : 1; devices <= most; ++devices)
        for (uint32_t next = 0; next < p->pace_count; ++next) {
            behind b;
            shared x;
            if (!look_behind(p, s, to, devices, next, &b)) continue;
            choice c = {.has_stage = true, .way = way, .pace = pace};
            follower stage = {in_flight_for(p, pace, b.next), pace};
            c.found.bytes = stage_bytes(p, &way, stage.in_flight);
            if (c.found.bytes < 0) continue;
            leftover r = in_front(p, at, s);
            for (uint32_t i = 0; i < r.count; ++i) follow(&r.states[i], stage);
            if (!share(p, &r, s->devices - used - devices, &x)) continue;
            c.found.in_flight = x.found.in_flight;
            add_shared(&x, r.count, &c);
            add_behind(&b, &c);
            if (is_better(p, c.found, best->found)) *best = c;
        }
}

/* A stage from the state's beginning to a border in child `at_child` of the row, branches. */
static void try_common_beginning(ons_programme *p, const ons_state *s, const border *at, uint32_t at_child,
                                 uint32_t doubled, uint32_t pace, choice *best) {
    uint32_t used = 1u << doubled, to = at_child + 1;
    ons_interval_way way = way_of(p, state_first(p, s), border_position(p, at, false), pace, doubled);
    if (used >= s->devices || !is_quick(p, &way)) return;
    uint32_t most = to == s->to ? 0 : s->devices - used - 1;
    for (uint32_t devices = to == s->to ? 0 : 1; devices <= most; ++devices)
        for (uint32_t next = 0; next < p->pace_count; ++next) {
            behind b;
            if (!look_behind(p, s, to, devices, next, &b)) continue;
            leftover r = behind_it(p, at, s);
            for (uint32_t i = 0; i < r.count; ++i) follow(&r.states[i], b.next);
            for (uint32_t reader = 0; reader < p->pace_count; ++reader) {
                shared x;
                choice c = {.has_stage = true, .way = way, .pace = pace};
                for (uint32_t i = 0; i < r.count; ++i) r.states[i].own_pace = reader;
                if (!share(p, &r, s->devices - used - devices, &x)) continue;
                c.found.in_flight = in_flight_for(p, pace, (follower){x.found.in_flight, reader});
                c.found.bytes = stage_bytes(p, &way, c.found.in_flight);
                if (c.found.bytes < 0) continue;
                add_shared(&x, r.count, &c);
                add_behind(&b, &c);
                if (is_better(p, c.found, best->found)) *best = c;
            }
        }
}

typedef void try_border(ons_programme *p, const ons_state *s, const border *at, uint32_t child, uint32_t doubled,
                        uint32_t pace, choice *best);

static void try_paces(ons_programme *p, const ons_state *s, const border *at, uint32_t child, uint32_t own,
                      try_border *try, choice *best) {
    for (uint32_t doubled = 0; 1u << doubled < s->devices; ++doubled)
        for (uint32_t pace = first_pace(own); pace < end_pace(p, own); ++pace)
            try(p, s, at, child, doubled, pace, best);
}

static void try_common_ends(ons_programme *p, const ons_state *s, choice *best) {
    const ons_composed *row = part_of(p, s->part), *branches = child_of(p, row, s->from);
    if (branches->kind != ONS_COMPOSED_BRANCHES) return;
    uint32_t last = branches->child_count - 1;
    const ons_composed *divided = child_of(p, branches, last);
    for (uint32_t to = s->from + 2; to <= s->to; ++to) {
        for (uint32_t whole = 1; whole <= last; ++whole)
            try_paces(p, s, &(border){row->children[s->from], whole, 0}, to, ONS_ANY, try_common_end, best);
        for (uint32_t inside = 1; inside < divided->child_count; ++inside)
            try_paces(p, s, &(border){row->children[s->from], last, inside}, to, ONS_ANY, try_common_end, best);
    }
}

static void try_common_beginnings(ons_programme *p, const ons_state *s, choice *best) {
    const ons_composed *row = part_of(p, s->part);
    for (uint32_t at = s->from + 1; at < s->to; ++at) {
        const ons_composed *branches = child_of(p, row, at);
        if (branches->kind != ONS_COMPOSED_BRANCHES) continue;
        const ons_composed *divided = child_of(p, branches, 0);
        for (uint32_t whole = 1; whole < branches->child_count; ++whole)
            try_paces(p, s, &(border){row->children[at], whole, 0}, at, s->own_pace, try_common_beginning, best);
        for (uint32_t inside = 1; inside < divided->child_count; ++inside)
            try_paces(p, s, &(border){row->children[at], 1, inside}, at, s->own_pace, try_common_beginning, best);
    }
}

/* --------------------------------------------------------------------------------------------------------- branches */

/* The first branch by itself. */
static void try_first_branch(ons_programme *p, const ons_state *s, choice *best) {
    uint32_t branch = part_of(p, s->part)->children[s->from];
    bool last = s->from + 1 == s->to;
    for (uint32_t devices = last ? s->devices : 1; devices <= (last ? s->devices : s->devices - 1); ++devices) {
        choice c = {0};
        ons_state own = whole(p, branch, s, devices);
        if (!fits_devices(p, &own)) continue;
        c.rest[c.rest_count++] = own;
        if (!last) {
            c.rest[c.rest_count] = between(s, s->part, s->from + 1, s->to, s->devices - devices);
            if (!fits_devices(p, &c.rest[c.rest_count++])) continue;
        }
        c.found = solve(p, &own);
        if (!last && is_better(p, c.found, best->found)) c.found = join(c.found, solve(p, &c.rest[1]));
        if (is_better(p, c.found, best->found)) *best = c;
    }
}

/* The first branches, but not all, as one stage. */
static void try_neighbours(ons_programme *p, const ons_state *s, choice *best) {
    for (uint32_t doubled = 0; 1u << doubled < s->devices; ++doubled)
        for (uint32_t to = s->from + 2; to < s->to; ++to) {
            ons_state own = between(s, s->part, s->from, to, 1u << doubled);
            choice c = {.found = {ONS_NOT_FOUND, 0}};
            if (!fits_devices(p, &own)) break;
            try_one_stage(p, &own, &c);
            if (!is_better(p, c.found, best->found)) continue;
            c.rest[c.rest_count++] = between(s, s->part, to, s->to, s->devices - own.devices);
            if (!fits_devices(p, &c.rest[0])) continue;
            c.found = join(c.found, solve(p, &c.rest[0]));
            if (is_better(p, c.found, best->found)) *best = c;
        }
}

/* ----------------------------------------------------------------------------------------------------------- states */

static void look_for(ons_programme *p, const ons_state *s, choice *best) {
    *best = (choice){.found = {ONS_NOT_FOUND, 0}};
    ons_composition kind = part_of(p, s->part)->kind;
    try_one_stage(p, s, best);
    if (kind == ONS_COMPOSED_NODE || s->devices == 1 || is_settled(p, s, best)) return;
    if (kind == ONS_COMPOSED_BRANCHES) {
        try_first_branch(p, s, best);
        try_neighbours(p, s, best);
        return;
    }
    try_first_stages(p, s, best);
    try_first_child(p, s, best);
    try_common_ends(p, s, best);
    try_common_beginnings(p, s, best);
}

static ons_found solve(ons_programme *p, const ons_state *s) {
    const ons_found none = {ONS_NOT_FOUND, 0};
    ons_found found;
    choice best;
    if (is_too_much(p, state_first(p, s), state_end(p, s), s->devices)) return none;
    if (ons_states_get(&p->states, s, &found)) return found;
    look_for(p, s, &best);
    if (!ons_states_put(&p->states, s, best.found)) p->short_of_memory = true;
    return best.found;
}

/* --------------------------------------------------------------------------------------------------------- the plan */

static void write_stages(ons_programme *p, const ons_state *s, ons_stage_graph *g) {
    choice c;
    look_for(p, s, &c);
    if (c.has_stage)
        g->stages[g->stage_count++] = (ons_graph_stage){
            .first = c.way.first, .end = c.way.end, .replicas = 1u << c.way.doubled, .pace = p->paces[c.pace]};
    for (uint32_t i = 0; i < c.rest_count; ++i) write_stages(p, &c.rest[i], g);
}

static int by_position(const void *a, const void *b) {
    const ons_graph_stage *x = a, *y = b;
    return x->first < y->first ? -1 : x->first > y->first;
}

static ons_status *write_plan(ons_programme *p, const ons_state *all, ons_arena *arena, ons_stage_graph *g) {
    const ons_graph_problem *problem = p->problem;
    uint32_t device = 0;
    ONS_NEW(g->stages, arena, problem->devices);
    write_stages(p, all, g);
    qsort(g->stages, g->stage_count, sizeof *g->stages, by_position);
    for (uint32_t i = 0; i < g->stage_count; ++i) {
        g->stages[i].first_device = device;
        device += g->stages[i].replicas;
    }
    ONS_TRY(ons_stage_graph_connect(g, problem->work[0], false, arena));
    return ons_stage_graph_predict(g, p->costs);
}

ons_status *ons_programme_search(ons_programme *p, double limit, bool least_memory, ons_arena *arena,
                                 ons_stage_graph *g) {
    const ons_graph_problem *problem = p->problem;
    uint32_t root = p->graph->part_count - 1;
    ons_state all = {.part = root,
                     .to = part_of(p, root)->child_count,
                     .devices = problem->devices,
                     .next_pace = ONS_ANY,
                     .own_pace = ONS_ANY};
    *g = (ons_stage_graph){.batch = problem->batch,
                           .devices = problem->devices,
                           .order = p->graph->order,
                           .node_count = problem->work[0]->node_count};
    p->limit = limit;
    p->least_memory = least_memory;
    p->short_of_memory = false;
    ons_states_forget(&p->states);
    ons_found found = solve(p, &all);
    if (p->short_of_memory) return ons_status_out_of_memory();
    return found.in_flight == ONS_NOT_FOUND ? NULL : write_plan(p, &all, arena, g);
}

/* -------------------------------------------------------------------------------------------------- the least seconds
 */

/* Per node the least over all ways that a pace allows; of nodes together no way is faster than that. */
static double least_of_node(const ons_programme *p, uint32_t node, bool of_one_stage) {
    double least = INFINITY;
    for (uint32_t i = 0; i < p->pace_count; ++i)
        for (uint32_t doubled = 0; 1u << doubled <= p->problem->devices; ++doubled) {
            ons_interval_way way = way_of(p, node, node + 1, i, doubled);
            double seconds = ons_interval_computing(p->costs, &way);
            least = fmin(least, of_one_stage ? seconds : seconds * (1u << doubled));
        }
    return least;
}

void ons_programme_set_paces(ons_programme *p, const ons_stage_pace *paces, uint32_t count) {
    p->paces = paces;
    p->pace_count = count;
    p->least[0] = 0;
    for (uint32_t i = 0; i < p->problem->work[0]->node_count; ++i)
        p->least[i + 1] = p->least[i] + least_of_node(p, i, false);
}

double ons_programme_least_seconds(const ons_programme *p) {
    uint32_t count = p->problem->work[0]->node_count;
    double least = p->least[count] / p->problem->devices;
    for (uint32_t i = 0; i < count; ++i) least = fmax(least, least_of_node(p, i, true));
    return least;
}

ons_status *ons_programme_new(const ons_series_parallel *graph, ons_interval_costs *costs, ons_programme **programme) {
    const ons_graph_problem *problem = ons_interval_costs_problem(costs);
    *programme = NULL;
    ONS_CHECK(problem->devices < ONS_STATE_DEVICES, ONS_UNSUPPORTED,
              "%u devices: stages are searched for fewer than %u", problem->devices, ONS_STATE_DEVICES);
    ons_programme *p = calloc(1, sizeof *p);
    if (p == NULL) return ons_status_out_of_memory();
    *p = (ons_programme){.graph = graph, .costs = costs, .problem = problem};
    p->least = calloc((size_t)problem->work[0]->node_count + 1, sizeof *p->least);
    if (p->least == NULL || !ons_states_make(&p->states)) {
        ons_programme_free(p);
        return ons_status_out_of_memory();
    }
    *programme = p;
    return NULL;
}

void ons_programme_free(ons_programme *p) {
    if (p == NULL) return;
    ons_states_free(&p->states);
    free(p->least);
    free(p);
}
