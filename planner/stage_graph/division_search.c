#include "planner/stage_graph/division_search.h"

#include <math.h>
#include <stdlib.h>

#include "planner/stage_graph/divisions.h"

/* ----------------------------------------------------------------------------------------------------------- stages */

/* The whole state as one stage. */
static void try_one_stage(ons_division_search *p, const ons_state *s, choice *best) {
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
static bool is_settled(const ons_division_search *p, const ons_state *s, const choice *best) {
    if (p->least_memory || p->pace_count != 1) return false;
    follower next = {s->next_in_flight, s->next_pace};
    next.in_flight = in_flight_for(p, 0, next);
    next.pace = 0;
    return best->found.in_flight <= in_flight_for(p, 0, next);
}

/* ------------------------------------------------------------------------------------------------------------ a row */

/* A stage of the children [from, to), and what is behind it. */
static void try_first_stage(ons_division_search *p, const ons_state *s, uint32_t to, uint32_t doubled, choice *best) {
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

/* Makes the first stage of ever fewer children. The rest behind it grows, and once that is too much for the devices
 * that are left, it stays so. */
static void try_first_stages(ons_division_search *p, const ons_state *s, choice *best) {
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
static void try_first_child(ons_division_search *p, const ons_state *s, choice *best) {
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
            set_follower(&own, b.next);
            c.found = ons_division_search_solve(p, &own);
            c.rest[c.rest_count++] = own;
            if (c.found.in_flight == ONS_NOT_FOUND) continue;
            add_behind(&b, &c);
            if (is_better(p, c.found, best->found)) *best = c;
        }
    }
}

/* --------------------------------------------------------------------------------------------------------- branches */

/* The first branch by itself. */
static void try_first_branch(ons_division_search *p, const ons_state *s, choice *best) {
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
        c.found = ons_division_search_solve(p, &own);
        if (!last && is_better(p, c.found, best->found))
            c.found = join(c.found, ons_division_search_solve(p, &c.rest[1]));
        if (is_better(p, c.found, best->found)) *best = c;
    }
}

/* The first branches, but not all, as one stage. */
static void try_neighbours(ons_division_search *p, const ons_state *s, choice *best) {
    for (uint32_t doubled = 0; 1u << doubled < s->devices; ++doubled)
        for (uint32_t to = s->from + 2; to < s->to; ++to) {
            ons_state own = between(s, s->part, s->from, to, 1u << doubled);
            choice c = {.found = {ONS_NOT_FOUND, 0}};
            if (!fits_devices(p, &own)) break;
            try_one_stage(p, &own, &c);
            if (!is_better(p, c.found, best->found)) continue;
            c.rest[c.rest_count++] = between(s, s->part, to, s->to, s->devices - own.devices);
            if (!fits_devices(p, &c.rest[0])) continue;
            c.found = join(c.found, ons_division_search_solve(p, &c.rest[0]));
            if (is_better(p, c.found, best->found)) *best = c;
        }
}

/* ----------------------------------------------------------------------------------------------------------- states */

/* Tries every division of a state. Each leaves smaller states, which ons_division_search_solve answers from memory
 * where it has met them before. */
static void look_for(ons_division_search *p, const ons_state *s, choice *best) {
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
    ons_division_search_try_common_ends(p, s, best);
    ons_division_search_try_common_beginnings(p, s, best);
}

ons_found ons_division_search_solve(ons_division_search *p, const ons_state *s) {
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

/* Only what was found is remembered of a state, and not how: each state on the way to the plan is looked at once more.
 * That is cheap, as its own smaller states are remembered. */
static void write_stages(ons_division_search *p, const ons_state *s, ons_stage_graph *g) {
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

/* Devices are given away in the order of the stages' first nodes. */
static ons_status *write_plan(ons_division_search *p, const ons_state *all, ons_arena *arena, ons_stage_graph *g) {
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

ons_status *ons_division_search_run(ons_division_search *p, double limit, bool least_memory, ons_arena *arena,
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
    ons_found found = ons_division_search_solve(p, &all);
    if (p->short_of_memory) return ons_status_out_of_memory();
    return found.in_flight == ONS_NOT_FOUND ? NULL : write_plan(p, &all, arena, g);
}

/* ------------------------------------------------------------------------------------------------ the least seconds */

/* Per node the least over all ways that a pace allows; of nodes together no way is faster than that. */
static double least_of_node(const ons_division_search *p, uint32_t node, bool of_one_stage) {
    double least = INFINITY;
    for (uint32_t i = 0; i < p->pace_count; ++i)
        for (uint32_t doubled = 0; 1u << doubled <= p->problem->devices; ++doubled) {
            ons_interval_way way = way_of(p, node, node + 1, i, doubled);
            double seconds = ons_interval_computing(p->costs, &way);
            least = fmin(least, of_one_stage ? seconds : seconds * (1u << doubled));
        }
    return least;
}

void ons_division_search_set_paces(ons_division_search *p, const ons_stage_pace *paces, uint32_t count) {
    p->paces = paces;
    p->pace_count = count;
    p->least[0] = 0;
    for (uint32_t i = 0; i < p->problem->work[0]->node_count; ++i)
        p->least[i + 1] = p->least[i] + least_of_node(p, i, false);
}

double ons_division_search_least_seconds(const ons_division_search *p) {
    uint32_t count = p->problem->work[0]->node_count;
    double least = p->least[count] / p->problem->devices;
    for (uint32_t i = 0; i < count; ++i) least = fmax(least, least_of_node(p, i, true));
    return least;
}

ons_status *ons_division_search_new(const ons_series_parallel *graph, ons_interval_costs *costs,
                                    ons_division_search **search) {
    const ons_graph_problem *problem = ons_interval_costs_problem(costs);
    *search = NULL;
    ONS_CHECK(problem->devices < ONS_STATE_DEVICES, ONS_UNSUPPORTED,
              "%u devices: stages are searched for fewer than %u", problem->devices, ONS_STATE_DEVICES);
    ons_division_search *p = calloc(1, sizeof *p);
    if (p == NULL) return ons_status_out_of_memory();
    *p = (ons_division_search){.graph = graph, .costs = costs, .problem = problem};
    p->least = calloc((size_t)problem->work[0]->node_count + 1, sizeof *p->least);
    if (p->least == NULL || !ons_states_make(&p->states)) {
        ons_division_search_free(p);
        return ons_status_out_of_memory();
    }
    *search = p;
    return NULL;
}

void ons_division_search_free(ons_division_search *p) {
    if (p == NULL) return;
    ons_states_free(&p->states);
    free(p->least);
    free(p);
}
