#include "planner/stage_graph/divisions.h"

/* ----------------------------------------------------------------------------------- stages at the ends of branches */

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

/* Gives what is left in front of a stage that takes in the common end of branches. */
static leftover in_front(const ons_division_search *p, const border *b, const ons_state *like) {
    leftover r = {.count = 0};
    if (b->whole > 0) r.states[r.count++] = between(like, b->branches, 0, b->whole, 0);
    if (b->inside > 0) {
        uint32_t divided = part_of(p, b->branches)->children[b->whole];
        r.states[r.count++] = between(like, divided, 0, b->inside, 0);
    }
    return r;
}

/* Gives what is left behind a stage that takes in the common beginning of branches. */
static leftover behind_it(const ons_division_search *p, const border *b, const ons_state *like) {
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

/* Gives where the border lies in the decomposition's order: the first position of a stage that has it at its beginning
 * (`at_end`: it takes in the branches' end), or the end of one that takes in their beginning. */
static uint32_t border_position(const ons_division_search *p, const border *b, bool at_end) {
    const ons_composed *branches = part_of(p, b->branches);
    uint32_t which = at_end ? b->whole : b->whole - 1;
    const ons_composed *at = child_of(p, branches, which);
    if (b->inside > 0) return child_of(p, at, b->inside)->first;
    return at_end ? at->first : at->end;
}

/* The best way to share devices between the states of a leftover. */
typedef struct shared {
    ons_found found; /* the most of both */
    ons_state states[2];
} shared;

static ons_found solve_with(ons_division_search *p, ons_state *s, uint32_t devices) {
    s->devices = devices;
    return fits_devices(p, s) ? ons_division_search_solve(p, s) : (ons_found){ONS_NOT_FOUND, 0};
}

/* Tries all numbers of devices for the first state, and gives the rest to the second one. Both stand beside each other,
 * so what counts of the pair is the one with more samples in flight, and the fuller device. */
static bool share(ons_division_search *p, const leftover *r, uint32_t devices, shared *best) {
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
static void try_common_end(ons_division_search *p, const ons_state *s, const border *at, uint32_t to, uint32_t doubled,
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
            for (uint32_t i = 0; i < r.count; ++i) set_follower(&r.states[i], stage);
            if (!share(p, &r, s->devices - used - devices, &x)) continue;
            c.found.in_flight = x.found.in_flight;
            add_shared(&x, r.count, &c);
            add_behind(&b, &c);
            if (is_better(p, c.found, best->found)) *best = c;
        }
}

/* A stage from the state's beginning to a border in child `at_child` of the row, branches. */
static void try_common_beginning(ons_division_search *p, const ons_state *s, const border *at, uint32_t at_child,
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
            for (uint32_t i = 0; i < r.count; ++i) set_follower(&r.states[i], b.next);
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

typedef void try_border(ons_division_search *p, const ons_state *s, const border *at, uint32_t child, uint32_t doubled,
                        uint32_t pace, choice *best);

/* Replicas are a power of two, and leave at least a device to what the stage does not take. */
static void try_paces(ons_division_search *p, const ons_state *s, const border *at, uint32_t child, uint32_t own,
                      try_border *try, choice *best) {
    for (uint32_t doubled = 0; 1u << doubled < s->devices; ++doubled)
        for (uint32_t pace = first_pace(own); pace < end_pace(p, own); ++pace)
            try(p, s, at, child, doubled, pace, best);
}

/* The border lies between two branches, or in the last one, of which the stage then has only the last children. */
void ons_division_search_try_common_ends(ons_division_search *p, const ons_state *s, choice *best) {
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

/* The border lies between two branches, or in the first one, of which the stage then has only the first children. */
void ons_division_search_try_common_beginnings(ons_division_search *p, const ons_state *s, choice *best) {
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
