#include "planner/partition/beam.h"

#include <math.h>
#include <string.h>

#include "planner/partition/cuts.h"

enum { MOST_NODES_MOVED = 10 };

/* A split in the beam. */
typedef struct entry {
    uint32_t *first;
    double seconds;     /* of a step, estimated */
    int64_t over_bytes; /* by which the fullest device is above the capacity; 0: it fits */
    bool expanded;      /* its moves have been tried */
} entry;

typedef struct beam {
    const ons_planning_problem *p;
    const ons_beam_options *options;
    uint32_t stages, nodes;
    ons_step_walk walk;
    entry items[ONS_BEAM_WIDTH + 1]; /* the best first; one more for what comes in */
    uint32_t count;
    uint32_t *from, *trial;             /* cuts that are moved; what comes of it */
    ons_step_stage *from_times, *times; /* theirs */
    int64_t *bytes;                     /* [device] */
    uint64_t looked_at;
} beam;

/* -------------------------------------------------------------------------------------------------------- one split */

static ons_step_stage times_of(const beam *b, const uint32_t *first, uint32_t stage) {
    return ons_cuts_times(b->p, first, stage, b->options->part_seconds);
}

/* Of `trial`; stages that are those of `from` have its times. False: a forward part is too short. */
static bool set_times(beam *b) {
    for (uint32_t i = 0; i < b->stages; ++i) {
        bool same = b->trial[i] == b->from[i] && b->trial[i + 1] == b->from[i + 1];
        b->times[i] = same ? b->from_times[i] : times_of(b, b->trial, i);
        if (b->times[i].forward < b->options->least_forward) return false;
    }
    return true;
}

static int64_t over_bytes(const beam *b, const uint32_t *first) {
    int64_t capacity = b->p->capacity_bytes, fullest = capacity > 0 ? ons_cuts_bytes(b->p, first, b->bytes) : 0;
    return fullest > capacity ? fullest - capacity : 0;
}

/* What fits before what does not; then what is faster. */
static bool is_better(const entry *a, const entry *b) {
    if (a->over_bytes != b->over_bytes) return a->over_bytes < b->over_bytes;
    return a->seconds < b->seconds;
}

/* --------------------------------------------------------------------------------------------------------- the beam */

static bool is_known(const beam *b, const entry *e) {
    for (uint32_t i = 0; i < b->count; ++i)
        if (b->items[i].seconds == e->seconds &&
            memcmp(b->items[i].first, e->first, (b->stages + 1) * sizeof *e->first) == 0)
            return true;
    return false;
}

/* Into its place; the last one falls out of a full beam, and leaves its memory to the next. */
static void insert(beam *b, const entry *e) {
    uint32_t *room = b->items[b->count].first, i = b->count;
    memcpy(room, e->first, (b->stages + 1) * sizeof *room);
    for (; i > 0 && is_better(e, &b->items[i - 1]); --i) b->items[i] = b->items[i - 1];
    b->items[i] = *e;
    b->items[i].first = room;
    if (b->count < ONS_BEAM_WIDTH) ++b->count;
}

/* No slower than this is of interest; infinite while splits that do not fit are in the beam. */
static double to_beat(const beam *b) {
    const entry *last = b->count == ONS_BEAM_WIDTH ? &b->items[b->count - 1] : NULL;
    return last != NULL && last->over_bytes == 0 ? last->seconds : INFINITY;
}

/* A lower bound rules out most trials before the estimate, which walks all actions, is made. */
static void look_at_trial(beam *b) {
    double limit = to_beat(b);
    if (!set_times(b) || ons_step_bound(&b->walk, b->times) >= limit) return;
    entry e = {.first = b->trial, .seconds = ons_step_estimate(&b->walk, b->times)};
    ++b->looked_at;
    if (e.seconds >= limit || is_known(b, &e)) return;
    e.over_bytes = over_bytes(b, b->trial);
    if (b->count == ONS_BEAM_WIDTH && !is_better(&e, &b->items[b->count - 1])) return;
    insert(b, &e);
}

/* ------------------------------------------------------------------------------------------------------------ moves */

static bool rises(const beam *b) {
    for (uint32_t i = 0; i < b->stages; ++i)
        if (b->trial[i] >= b->trial[i + 1]) return false;
    return true;
}

static void try_single(beam *b, uint32_t cut, uint32_t place) {
    memcpy(b->trial, b->from, (b->stages + 1) * sizeof *b->trial);
    b->trial[cut] = place;
    if (rises(b)) look_at_trial(b);
}

/* The gaps in front of the cut are stretched alike, and so are those behind it. (The paper prints the second factor
 * upside down: with it the last gaps would grow where they have less room.) */
static void try_proportional(beam *b, uint32_t cut, uint32_t place) {
    double front = (double)place / b->from[cut], behind = (double)(b->nodes - place) / (b->nodes - b->from[cut]);
    for (uint32_t i = 0; i <= b->stages; ++i)
        b->trial[i] = i <= cut ? (uint32_t)lround(b->from[i] * front)
                               : b->nodes - (uint32_t)lround((b->nodes - b->from[i]) * behind);
    if (rises(b)) look_at_trial(b);
}

static void try_moves(beam *b, uint32_t cut) {
    for (int64_t k = -MOST_NODES_MOVED; k <= MOST_NODES_MOVED; ++k) {
        int64_t place = b->from[cut] + k;
        if (k == 0 || place < 1 || place >= b->nodes) continue;
        try_single(b, cut, (uint32_t)place);
        try_proportional(b, cut, (uint32_t)place);
    }
}

/* The best split whose moves have not been tried; NULL: the beam no longer changes, or enough was looked at. */
static entry *next_to_expand(beam *b) {
    uint64_t most = b->options->most_splits;
    if (most > 0 && b->looked_at >= most) return NULL;
    for (uint32_t i = 0; i < b->count; ++i)
        if (!b->items[i].expanded) return &b->items[i];
    return NULL;
}

static void expand(beam *b, entry *e) {
    e->expanded = true;
    memcpy(b->from, e->first, (b->stages + 1) * sizeof *b->from);
    for (uint32_t i = 0; i < b->stages; ++i) b->from_times[i] = times_of(b, b->from, i);
    for (uint32_t cut = 1; cut < b->stages; ++cut) try_moves(b, cut);
}

/* -------------------------------------------------------------------------------------------------------- beginning */

static void begin_with(beam *b, const uint32_t *first) {
    memcpy(b->trial, first, (b->stages + 1) * sizeof *b->trial);
    look_at_trial(b);
}

/* The search begins with even seconds; with even bytes of weights and saved activations; and, where the model's first
 * nodes need no backward part, with even seconds of the nodes behind them, as the frozen ones are no part of the
 * pipeline's back and forth. */
static ons_status *begin(beam *b, ons_arena *arena) {
    double *seconds, *bytes;
    uint32_t *first, frozen = ons_cuts_frozen(b->p->work);
    ONS_NEW(first, arena, (size_t)b->stages + 1);
    ONS_TRY(ons_cuts_seconds_before(b->p->work, arena, &seconds));
    ONS_TRY(ons_cuts_weights_before(b->p->work, true, arena, &bytes));
    ons_cuts_even(seconds, b->nodes, 0, b->stages, first);
    begin_with(b, first);
    ons_cuts_even(bytes, b->nodes, 0, b->stages, first);
    begin_with(b, first);
    if (frozen > 0 && frozen + b->stages <= b->nodes) {
        ons_cuts_even(seconds, b->nodes, frozen, b->stages, first);
        begin_with(b, first);
    }
    if (b->options->start != NULL) begin_with(b, b->options->start);
    return NULL;
}

static ons_status *open_beam(const ons_planning_problem *p, const ons_beam_options *options, ons_arena *arena,
                             beam *b) {
    *b = (beam){.p = p, .options = options, .stages = p->pipeline.stages, .nodes = p->work->node_count};
    size_t cuts = (size_t)b->stages + 1;
    ONS_CHECK(b->stages <= b->nodes, ONS_INVALID_ARGUMENT, "%u stages are more than the model's %u nodes; take fewer",
              b->stages, b->nodes);
    ONS_TRY(ons_step_walk_make(&p->pipeline, p->schedule, arena, &b->walk));
    for (uint32_t i = 0; i <= ONS_BEAM_WIDTH; ++i) ONS_NEW(b->items[i].first, arena, cuts);
    ONS_NEW(b->from, arena, cuts);
    ONS_NEW(b->trial, arena, cuts);
    ONS_NEW(b->from_times, arena, b->stages);
    ONS_NEW(b->times, arena, b->stages);
    ONS_NEW(b->bytes, arena, p->schedule->devices);
    return NULL;
}

static ons_status *search_beam(beam *b, ons_arena *scratch, ons_beam_split *best) {
    ONS_TRY(begin(b, scratch));
    for (entry *e = next_to_expand(b); e != NULL; e = next_to_expand(b)) expand(b, e);
    ONS_CHECK(b->count > 0, ONS_INVALID_ARGUMENT,
              "no split into %u stages has forward parts of %g s or longer; take fewer loops", b->stages,
              b->options->least_forward);
    memcpy(best->first, b->items[0].first, (b->stages + 1) * sizeof *best->first);
    best->seconds = b->items[0].seconds;
    best->over_bytes = b->items[0].over_bytes;
    best->looked_at = b->looked_at;
    return NULL;
}

ons_status *ons_beam_search(const ons_planning_problem *p, const ons_beam_options *options, ons_arena *arena,
                            ons_beam_split *best) {
    beam b;
    *best = (ons_beam_split){0};
    ONS_NEW(best->first, arena, (size_t)p->pipeline.stages + 1);
    ons_arena *scratch = ons_arena_new();
    if (scratch == NULL) return ons_status_out_of_memory();
    ons_status *status = open_beam(p, options, scratch, &b);
    if (status == NULL) status = search_beam(&b, scratch, best);
    ons_arena_free(scratch);
    return status;
}

ons_status *ons_beam_measure(const ons_planning_problem *p, const ons_beam_options *options, ons_arena *arena,
                             ons_beam_split *split) {
    beam b;
    ONS_TRY(open_beam(p, options, arena, &b));
    for (uint32_t i = 0; i < b.stages; ++i) b.times[i] = times_of(&b, split->first, i);
    split->seconds = ons_step_estimate(&b.walk, b.times);
    split->over_bytes = over_bytes(&b, split->first);
    split->looked_at = 1;
    return NULL;
}
