#include "tests/rooms/planner/stage_divisions.h"

#include <math.h>

#include "planner/workload/order.h"

enum { NODES_MOST = 16 };

/* --------------------------------------------------------------------------------------------- what the parts allow */

/* cut[i]: a stage begins at position i. */
typedef struct division {
    const ons_series_parallel *parts;
    bool cut[NODES_MOST + 1];
} division;

static const ons_composed *part_at(const division *d, const ons_composed *of, uint32_t child) {
    return &d->parts->parts[of->children[child]];
}

static uint32_t next_cut(const division *d, uint32_t position) {
    while (!d->cut[position]) ++position;
    return position;
}
static uint32_t last_cut(const division *d, uint32_t position) {
    while (!d->cut[position]) --position;
    return position;
}

static bool is_row_allowed(const division *d, const ons_composed *row, uint32_t from, uint32_t to);
static bool are_branches_allowed(const division *d, const ons_composed *branches, uint32_t from, uint32_t to);

static bool is_part_allowed(const division *d, const ons_composed *part) {
    if (part->kind == ONS_COMPOSED_NODE) return true;
    return part->kind == ONS_COMPOSED_ROW ? is_row_allowed(d, part, 0, part->child_count)
                                          : are_branches_allowed(d, part, 0, part->child_count);
}

/* Number of the child that begins at the position; child_count: none. */
static uint32_t child_beginning(const division *d, const ons_composed *part, uint32_t position) {
    uint32_t i = 0;
    while (i < part->child_count && part_at(d, part, i)->first != position) ++i;
    return i;
}

static bool are_branches_allowed(const division *d, const ons_composed *branches, uint32_t from, uint32_t to) {
    if (from == to) return true;
    const ons_composed *first = part_at(d, branches, from);
    uint32_t end = part_at(d, branches, to - 1)->end, cut = next_cut(d, first->first + 1);
    if (cut >= end) return true;
    if (d->cut[first->end]) return is_part_allowed(d, first) && are_branches_allowed(d, branches, from + 1, to);
    uint32_t next = child_beginning(d, branches, cut);
    return next < to && are_branches_allowed(d, branches, next, to);
}

/* A stage begins inside the row's branches `from` and ends behind child `to` - 1. */
static bool is_common_end_allowed(const division *d, const ons_composed *branches) {
    uint32_t begin = last_cut(d, branches->end - 1), last = branches->child_count - 1;
    uint32_t whole = child_beginning(d, branches, begin);
    if (whole < branches->child_count) return whole > 0 && are_branches_allowed(d, branches, 0, whole);
    const ons_composed *divided = part_at(d, branches, last);
    uint32_t inside = begin > divided->first ? child_beginning(d, divided, begin) : divided->child_count;
    return inside < divided->child_count && d->cut[divided->first] && are_branches_allowed(d, branches, 0, last) &&
           is_row_allowed(d, divided, 0, inside);
}

/* A stage ends at `cut` inside branches, and began in front of them. */
static bool is_common_beginning_allowed(const division *d, const ons_composed *branches, uint32_t cut) {
    const ons_composed *divided = part_at(d, branches, 0);
    if (!d->cut[branches->end]) return false;
    uint32_t whole = child_beginning(d, branches, cut);
    if (whole < branches->child_count) return are_branches_allowed(d, branches, whole, branches->child_count);
    uint32_t inside = cut < divided->end ? child_beginning(d, divided, cut) : divided->child_count;
    return inside < divided->child_count && d->cut[divided->end] &&
           is_row_allowed(d, divided, inside, divided->child_count) &&
           are_branches_allowed(d, branches, 1, branches->child_count);
}

static bool is_row_allowed(const division *d, const ons_composed *row, uint32_t from, uint32_t to) {
    if (from == to) return true;
    const ons_composed *first = part_at(d, row, from);
    uint32_t end = part_at(d, row, to - 1)->end, cut = next_cut(d, first->first + 1);
    if (cut >= end) return true;
    uint32_t next = child_beginning(d, row, cut);
    if (next < row->child_count && next > from) return is_row_allowed(d, row, next, to);
    if (cut < first->end) { /* inside the first child, which so is branches */
        if (d->cut[first->end]) return is_part_allowed(d, first) && is_row_allowed(d, row, from + 1, to);
        uint32_t behind = next_cut(d, first->end);
        next = behind >= end ? to : child_beginning(d, row, behind);
        return (behind >= end || next < to) && is_common_end_allowed(d, first) && is_row_allowed(d, row, next, to);
    }
    uint32_t at = from;
    while (part_at(d, row, at)->end <= cut) ++at;
    return is_common_beginning_allowed(d, part_at(d, row, at), cut) && is_row_allowed(d, row, at + 1, to);
}

typedef struct trial {
    const ons_graph_problem *problem;
    ons_interval_costs *costs;
    ons_arena *arena;
    ons_stage_graph g;
    int64_t samples;
    double best;
} trial;

static ons_status *try_plan(trial *t) {
    ONS_TRY(ons_stage_graph_connect(&t->g, t->problem->work[0], false, t->arena));
    for (uint32_t i = 0; i < t->g.stage_count; ++i)
        if (t->g.stages[i].replicas > t->samples) return NULL;
    ONS_TRY(ons_stage_graph_predict(&t->g, t->costs));
    int64_t capacity = t->problem->hardware->capacity_bytes;
    if (capacity == 0 || t->g.memory_bytes <= capacity) t->best = fmin(t->best, t->g.seconds_per_sample);
    return NULL;
}

static ons_status *try_replicas(trial *t, uint32_t stage, uint32_t devices) {
    uint32_t left = t->g.stage_count - stage;
    if (left == 0) return devices == 0 ? try_plan(t) : NULL;
    for (uint32_t replicas = 1; replicas + left - 1 <= devices; replicas *= 2) {
        t->g.stages[stage].replicas = replicas;
        ONS_TRY(try_replicas(t, stage + 1, devices - replicas));
    }
    return NULL;
}

static ons_status *try_division(trial *t, const division *d) {
    t->g.stage_count = 0;
    for (uint32_t i = 0; i < t->g.node_count; ++i) {
        if (!d->cut[i]) continue;
        if (t->g.stage_count == t->problem->devices) return NULL;
        uint32_t end = next_cut(d, i + 1);
        t->g.stages[t->g.stage_count++] = (ons_graph_stage){.first = i, .end = end, .pace = {t->samples, 1}};
    }
    return try_replicas(t, 0, t->problem->devices);
}

static ons_status *try_divisions(trial *t, const ons_series_parallel *parts) {
    uint32_t count = t->g.node_count;
    ONS_NEW(t->g.stages, t->arena, count);
    for (uint32_t mask = 0; mask < 1u << (count - 1); ++mask) {
        division d = {.parts = parts};
        if ((uint32_t)__builtin_popcount(mask) >= t->problem->devices) continue;
        for (uint32_t i = 1; i < count; ++i) d.cut[i] = mask >> (i - 1) & 1;
        d.cut[0] = d.cut[count] = true;
        if (is_part_allowed(&d, &parts->parts[parts->part_count - 1])) ONS_TRY(try_division(t, &d));
    }
    return NULL;
}

static ons_status *try_arrangement(trial *t, ons_arrangement arrangement) {
    ons_series_parallel parts;
    ONS_TRY(ons_series_parallel_make(t->problem->work[0], arrangement, t->arena, &parts));
    t->g = (ons_stage_graph){.batch = t->problem->batch,
                             .devices = t->problem->devices,
                             .order = parts.order,
                             .node_count = t->problem->work[0]->node_count};
    ONS_TRY(ons_interval_costs_new(t->problem, parts.order, &t->costs));
    ons_status *status = try_divisions(t, &parts);
    ons_interval_costs_free(t->costs);
    return status;
}

ons_status *best_allowed_division(const ons_graph_problem *problem, int64_t samples, double *seconds) {
    trial t = {.problem = problem, .samples = samples, .best = INFINITY, .arena = ons_arena_new()};
    if (t.arena == NULL) return ons_status_out_of_memory();
    ons_status *status = NULL;
    for (ons_arrangement i = 0; i < ONS_ARRANGEMENTS && status == NULL; ++i) status = try_arrangement(&t, i);
    ons_arena_free(t.arena);
    *seconds = t.best;
    return status;
}

/* ------------------------------------------------------------------------------------------------------- any stages */

/* Sets of nodes are numbers, a bit for each. */
typedef struct sets {
    const ons_graph_problem *problem;
    ons_work_edges readers;
    int64_t samples;
    uint32_t before[NODES_MOST]; /* what precedes the node, by paths */
    double *best;                /* [set · (devices + 1) + devices]: of sets that hold what precedes their nodes */
} sets;

static bool is_closed(const sets *x, uint32_t set) {
    for (uint32_t i = 0; i < x->problem->work[0]->node_count; ++i)
        if (set >> i & 1 && (x->before[i] & ~set) != 0) return false;
    return true;
}

/* The costs of the stage whose nodes are in `all` and not in `front`: both closed, the stage stands between. */
static ons_status *stage_costs(const sets *x, uint32_t front, uint32_t all, ons_arena *arena, double *seconds,
                               uint32_t ways) {
    uint32_t *order, at = 0, count = x->problem->work[0]->node_count, first = (uint32_t)__builtin_popcount(front);
    ons_interval_costs *costs;
    ONS_NEW(order, arena, count);
    for (uint32_t i = 0; i < count; ++i)
        if (front >> i & 1) order[at++] = i;
    for (uint32_t i = 0; i < count; ++i)
        if ((all & ~front) >> i & 1) order[at++] = i;
    for (uint32_t i = 0; i < count; ++i)
        if (!(all >> i & 1)) order[at++] = i;
    ONS_TRY(ons_interval_costs_new(x->problem, order, &costs));
    for (uint32_t i = 0; i < ways; ++i) {
        const ons_interval_way way = {first, (uint32_t)__builtin_popcount(all), x->samples, i};
        seconds[i] = ons_interval_seconds(costs, &way);
    }
    ons_interval_costs_free(costs);
    return NULL;
}

static ons_status *add_stage(const sets *x, uint32_t front, uint32_t all, ons_arena *arena) {
    uint32_t devices = x->problem->devices, ways = 0;
    double seconds[32];
    while (1u << ways <= devices) ++ways;
    ONS_TRY(stage_costs(x, front, all, arena, seconds, ways));
    for (uint32_t i = 0; i < ways; ++i)
        for (uint32_t used = 0; used + (1u << i) <= devices; ++used) {
            double *to = &x->best[(size_t)all * (devices + 1) + used + (1u << i)];
            *to = fmin(*to, fmax(x->best[(size_t)front * (devices + 1) + used], seconds[i]));
        }
    return NULL;
}

static ons_status *fill_sets(sets *x, ons_arena *arena) {
    uint32_t count = x->problem->work[0]->node_count, full = (1u << count) - 1;
    size_t row = x->problem->devices + 1;
    ONS_TRY(ons_work_edges_make(x->problem->work[0], true, arena, &x->readers));
    for (uint32_t i = 0; i < count; ++i)
        for (uint32_t e = x->readers.begin[i]; e < x->readers.begin[i + 1]; ++e)
            x->before[x->readers.next[e]] |= x->before[i] | 1u << i;
    ONS_NEW(x->best, arena, ((size_t)full + 1) * row);
    for (size_t i = 1; i < ((size_t)full + 1) * row; ++i) x->best[i] = INFINITY;
    for (uint32_t all = 1; all <= full; ++all) {
        if (!is_closed(x, all)) continue;
        for (uint32_t front = (all - 1) & all;; front = (front - 1) & all) {
            if (is_closed(x, front)) {
                ons_arena *scratch = ons_arena_new();
                if (scratch == NULL) return ons_status_out_of_memory();
                ons_status *status = add_stage(x, front, all, scratch);
                ons_arena_free(scratch);
                ONS_TRY(status);
            }
            if (front == 0) break;
        }
    }
    return NULL;
}

ons_status *best_division(const ons_graph_problem *problem, int64_t samples, double *seconds) {
    sets x = {.problem = problem, .samples = samples};
    ons_arena *arena = ons_arena_new();
    if (arena == NULL) return ons_status_out_of_memory();
    ons_status *status = fill_sets(&x, arena);
    size_t row = problem->devices + 1;
    if (status == NULL) *seconds = x.best[(((size_t)1 << problem->work[0]->node_count) - 1) * row + problem->devices];
    ons_arena_free(arena);
    return status;
}

/* ----------------------------------------------------------------------------------------------------------- a line */

typedef struct line {
    const ons_graph_problem *problem;
    ons_interval_costs *costs;
    int64_t samples;
    uint32_t count, ways;
    double *best;     /* of the nodes from `first` on, with so many devices, in so many stages */
    uint32_t *end;    /* of the first of these stages */
    uint8_t *doubled; /* and its replicas */
} line;

static size_t place(const line *x, uint32_t first, uint32_t devices, uint32_t stages) {
    return ((size_t)first * (x->problem->devices + 1) + devices) * (x->problem->devices + 1) + stages;
}

/* The stage fits with a micro-batch in flight for each stage from it on. */
static bool fits(const line *x, const ons_interval_way *way, uint32_t stages) {
    int64_t in_flight = stages * x->samples, capacity = x->problem->hardware->capacity_bytes;
    if (in_flight > x->problem->batch) in_flight = x->problem->batch;
    return capacity == 0 || ons_interval_bytes(x->costs, way, in_flight) <= capacity;
}

static void add_first(line *x, uint32_t first, uint32_t end, uint32_t doubled) {
    const ons_interval_way way = {first, end, x->samples, doubled};
    double seconds = ons_interval_seconds(x->costs, &way);
    if (isinf(seconds)) return;
    uint32_t used = 1u << doubled, most = 1; /* stages with which it fits, and one */
    while (most <= x->problem->devices && fits(x, &way, most)) ++most;
    for (uint32_t devices = used; devices <= x->problem->devices; ++devices)
        for (uint32_t stages = 1; stages < most && stages <= devices - used + 1; ++stages) {
            size_t at = place(x, first, devices, stages);
            double bottleneck = fmax(seconds, x->best[place(x, end, devices - used, stages - 1)]);
            if (!(bottleneck < x->best[at])) continue;
            x->best[at] = bottleneck;
            x->end[at] = end;
            x->doubled[at] = (uint8_t)doubled;
        }
}

static void write_line(const line *x, uint32_t stages, ons_stage_graph *g) {
    uint32_t devices = x->problem->devices, first = 0, device = 0;
    for (; stages > 0; --stages) {
        size_t at = place(x, first, devices, stages);
        uint32_t replicas = 1u << x->doubled[at];
        g->stages[g->stage_count++] = (ons_graph_stage){
            .first = first, .end = x->end[at], .first_device = device, .replicas = replicas, .pace = {x->samples, 1}};
        first = x->end[at];
        device += replicas;
        devices -= replicas;
    }
}

static ons_status *fill_line(line *x, ons_arena *scratch) {
    size_t places = place(x, x->count + 1, 0, 0);
    ONS_NEW(x->best, scratch, places);
    ONS_NEW(x->end, scratch, places);
    ONS_NEW(x->doubled, scratch, places);
    for (size_t i = 0; i < places; ++i) x->best[i] = INFINITY;
    x->best[place(x, x->count, 0, 0)] = 0;
    for (uint32_t first = x->count; first-- > 0;)
        for (uint32_t end = first + 1; end <= x->count; ++end)
            for (uint32_t doubled = 0; 1u << doubled <= x->problem->devices; ++doubled)
                add_first(x, first, end, doubled);
    return NULL;
}

static ons_status *find_line(line *x, ons_arena *scratch, ons_arena *arena, ons_stage_graph *g) {
    uint32_t devices = x->problem->devices, stages = 1, *order;
    *g = (ons_stage_graph){.batch = x->problem->batch, .devices = devices, .node_count = x->count};
    ONS_NEW(order, arena, x->count);
    for (uint32_t i = 0; i < x->count; ++i) order[i] = i;
    g->order = order;
    ONS_NEW(g->stages, arena, devices);
    ONS_TRY(ons_interval_costs_new(x->problem, order, &x->costs));
    ONS_TRY(fill_line(x, scratch));
    for (uint32_t i = 2; i <= devices; ++i)
        if (x->best[place(x, 0, devices, i)] < x->best[place(x, 0, devices, stages)]) stages = i;
    if (isinf(x->best[place(x, 0, devices, stages)])) return NULL;
    write_line(x, stages, g);
    ONS_TRY(ons_stage_graph_connect(g, x->problem->work[0], true, arena));
    return ons_stage_graph_predict(g, x->costs);
}

ons_status *best_line(const ons_graph_problem *problem, int64_t samples, ons_arena *arena, ons_stage_graph *graph) {
    line x = {.problem = problem, .samples = samples, .count = problem->work[0]->node_count};
    ons_arena *scratch = ons_arena_new();
    if (scratch == NULL) return ons_status_out_of_memory();
    ons_status *status = find_line(&x, scratch, arena, graph);
    ons_interval_costs_free(x.costs);
    ons_arena_free(scratch);
    return status;
}
