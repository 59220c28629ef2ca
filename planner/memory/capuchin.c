/* MemOpt (DawnPiper, Algorithm 2; Capuchin, sections 4.3 and 4.4), made monotone: more memory never gives a slower
 * stage.
 *
 * A path starts with everything kept and decides one tensor after the other, whatever the capacity: swaps by falling
 * FreeTime as long as they are hidden, then what saves most memory for the time that it adds (MSPS, counted once for
 * each micro-batch in flight and updated after every choice). Every step adds time, or none. So of one path the first
 * level that fits is the fastest that fits, and a larger capacity finds a level before it or the same.
 *
 *   level      0 ──▶ 1 ──▶ 2 ──▶ 3 ──▶ 4         `reached`: the first level that fits
 *                      └─┬────────┴────┘
 *                   their neighbours are tried too: one decision more, one less, one changed or exchanged
 *
 * Greedy levels overshoot: the last step frees more than is missing, and what was decided first may no longer be
 * needed. So the neighbours of the levels around `reached` are evaluated as well. This keeps the property, as
 *   - the neighbours of a level do not depend on the capacity;
 *   - a neighbour counts only where it is no faster than the level before its own;
 *   - levels from `reached - BEFORE` to `reached + AFTER` are looked at, AFTER being 1:
 * what a smaller capacity finds at a level that a larger one does not look at is slower than the level that the larger
 * one reached. Of several paths (rules), the fastest result is taken; a minimum of monotone functions is monotone.
 *
 * Where there are many candidates, a path is laid in batches: several steps by estimates, one walk. Only the last batch
 * is then walked step by step.
 */
#include <math.h>
#include <string.h>

#include "planner/memory/search.h"

enum {
    BEFORE = 2,
    AFTER = 1,
    TRIALS = 3,          /* moves walked for a single step, best estimate first */
    MOST_TRIALS = 12,    /* where none of them saves anything */
    HIDDEN_FAILURES = 6, /* swaps in a row that are not hidden end the first phase */
    BATCHES = 32,        /* a path has about so many */
    LARGEST_BATCH = 512,
    FEW = 16,       /* candidates up to which all pairs of changes are tried */
    NEIGHBOURS = 4, /* changes of each kind that are tried where there are more */
};

/* ----------------------------------------------------------------------------------------------------------- a path */

typedef struct path {
    uint32_t depth;                         /* moves so far */
    uint32_t batch;                         /* most moves of a batch by estimates */
    uint32_t hidden_batch;                  /* and of hidden swaps: it grows as long as they are */
    uint32_t hidden, next_hidden, failures; /* candidates by FreeTime, and how far the first phase is */
    uint32_t reached;                       /* ONS_NO_NODE: nothing fits yet */
    bool slow;                              /* it was left where it became slower than the best, or the limit */
} path;

static void append(ons_search *s, path *p, ons_move move) {
    s->current[move.tensor] = move.decision;
    s->w->moves[p->depth++] = move;
}

static void take_back(ons_search *s, path *p, uint32_t depth) {
    while (p->depth > depth) s->current[s->w->moves[--p->depth].tensor] = ONS_KEEP;
}

/* Capuchin's first phase: swaps by falling FreeTime that add no time. A batch that adds some is halved. */
static bool extend_hidden(ons_search *s, path *p) {
    ons_memory_workspace *w = s->w;
    uint32_t depth = p->depth;
    while (p->next_hidden < p->hidden && p->failures < HIDDEN_FAILURES) {
        ons_walk walk;
        uint32_t next = p->next_hidden;
        for (; next < p->hidden && p->depth < depth + p->hidden_batch; ++next) {
            uint32_t t = w->order[next];
            if (ons_search_saving(s, t) > 0) append(s, p, (ons_move){t, ONS_SWAP});
        }
        uint32_t added = p->depth - depth;
        ons_stage_walk(w, s->current, s->rule->prefetch, &walk);
        bool hidden = added > 0 && walk.seconds == s->now.seconds && walk.total < s->now.total;
        if (hidden || added <= 1) p->next_hidden = next;
        if (hidden) {
            p->failures = 0;
            if (p->batch > 1 && p->hidden_batch < LARGEST_BATCH) p->hidden_batch *= 2;
            ons_search_adopt(s, &walk);
            return true;
        }
        take_back(s, p, depth);
        p->failures += added == 1;
        p->hidden_batch = (p->hidden_batch + 1) / 2;
    }
    return false;
}

/* The best of `count` options, scored again as the moves before it changed its estimate, comes first. */
static void bring_best(ons_search *s, ons_search_option *options, uint32_t count) {
    for (;;) {
        uint32_t i = 0;
        ons_search_option first = options[0];
        first.score = ons_search_score(s, first.move);
        for (; i + 1 < count && options[i + 1].score > first.score; ++i) options[i] = options[i + 1];
        options[i] = first;
        if (i == 0) return;
    }
}

/* A batch by estimates, each move after those before it. */
static bool extend_by_estimates(ons_search *s, path *p) {
    ons_search_option options[2 * LARGEST_BATCH];
    ons_walk walk;
    uint32_t depth = p->depth, count = ons_search_options(s, false, options, 2 * p->batch);
    for (uint32_t i = 0; i < count && p->depth < depth + p->batch; ++i) {
        bring_best(s, options + i, count - i);
        ons_move move = options[i].move;
        if (s->current[move.tensor] != ONS_KEEP) continue;
        append(s, p, move);
        ons_search_expect(s, move);
    }
    ons_stage_walk(s->w, s->current, s->rule->prefetch, &walk);
    if (p->depth > depth && walk.seconds >= s->now.seconds && walk.total < s->now.total) {
        ons_search_adopt(s, &walk);
        return true;
    }
    take_back(s, p, depth);
    ons_search_settle(s);
    return false;
}

/* Of the best estimates, the move that really is best. A move that saves nothing by itself, as several parts need the
 * most, is taken where no other is left. */
static bool extend_by_one(ons_search *s, path *p) {
    ons_search_option options[MOST_TRIALS];
    ons_move move;
    uint32_t count = ons_search_options(s, false, options, MOST_TRIALS);
    double best = -1;
    bool level = false;
    for (uint32_t i = 0; i < count && (i < TRIALS || best < 0); ++i) {
        ons_walk walk;
        uint32_t t = options[i].move.tensor;
        s->current[t] = options[i].move.decision;
        ons_stage_walk(s->w, s->current, s->rule->prefetch, &walk);
        s->current[t] = ONS_KEEP;
        if (walk.seconds < s->now.seconds || walk.total > s->now.total) continue;
        bool saves = walk.total < s->now.total;
        double score = ons_search_rate(s, s->now.total - walk.total, walk.seconds - s->now.seconds);
        if (saves ? score <= best : level || best >= 0) continue;
        if (saves) best = score;
        level |= !saves;
        move = options[i].move;
    }
    if (best < 0 && !level) return false;
    append(s, p, move);
    ons_search_settle(s);
    return true;
}

/* One batch more, settled at its end. False: nothing saves any more. */
static bool extend(ons_search *s, path *p) {
    if (!extend_hidden(s, p) && !(p->batch > 1 && extend_by_estimates(s, p)) && !extend_by_one(s, p)) return false;
    ons_search_note(s, s->current, &s->now, s->rule->prefetch);
    return true;
}

/* Walks the levels after `from` one by one, to the first that fits and AFTER more, or to the first that is slower than
 * what was found: all that follow are slower still. True: the path ends there. */
static bool step_through(ons_search *s, path *p, uint32_t from) {
    ons_memory_workspace *w = s->w;
    uint32_t depth = p->depth;
    take_back(s, p, from);
    while (p->depth < depth) {
        ons_walk walk;
        append(s, p, w->moves[p->depth]);
        ons_stage_walk(w, s->current, s->rule->prefetch, &walk);
        ons_search_note(s, s->current, &walk, s->rule->prefetch);
        p->slow = walk.seconds > s->best_seconds;
        if (p->slow) return true;
        if (p->reached == ONS_NO_NODE && walk.total <= w->problem->capacity_bytes) p->reached = p->depth;
        if (p->reached != ONS_NO_NODE && p->depth >= p->reached + AFTER) return true;
    }
    ons_search_settle(s);
    return false;
}

static void lay_path(ons_search *s, path *p) {
    ons_memory_workspace *w = s->w;
    uint32_t batch = (w->candidate_count + BATCHES - 1) / BATCHES;
    if (batch > LARGEST_BATCH) batch = LARGEST_BATCH;
    *p = (path){.batch = batch, .hidden_batch = batch, .reached = ONS_NO_NODE};
    memset(s->current, ONS_KEEP, w->tensor_count);
    ons_search_settle(s);
    p->hidden = ons_search_order_hidden(s);
    for (bool done = false; !done;) {
        uint32_t depth = p->depth;
        if (!extend(s, p)) return;
        bool fits = s->now.total <= w->problem->capacity_bytes;
        if (fits || p->reached != ONS_NO_NODE || s->now.seconds > s->best_seconds) done = step_through(s, p, depth);
    }
}

/* ------------------------------------------------------------------------------------------------------- neighbours */

typedef struct level {
    uint32_t moves; /* decided at it */
    double floor;   /* seconds of the level before: a faster neighbour does not count */
} level;

/* Any solution was asked for, and there is one. */
static bool is_answered(const ons_search *s) { return s->found && s->w->problem->any_solution; }

static int64_t try_trial(ons_search *s, const level *l) {
    ons_walk walk;
    if (is_answered(s)) return s->now.total;
    ons_stage_walk(s->w, s->trial, s->rule->prefetch, &walk);
    if (walk.seconds >= l->floor) ons_search_note(s, s->trial, &walk, s->rule->prefetch);
    return walk.total;
}

/* No decision about the tensor frees more than it takes in all micro-batches. */
static bool may_fit_without(const ons_search *s, int64_t bytes) {
    uint32_t in_flight = s->w->problem->load.in_flight;
    return s->now.total - bytes * (in_flight > 1 ? in_flight : 1) <= s->w->problem->capacity_bytes;
}

/* `trial` with each of the options on top. */
static void try_options(ons_search *s, const level *l, const ons_search_option *options, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
        ons_move m = options[i].move;
        if (s->trial[m.tensor] != ONS_KEEP) continue;
        s->trial[m.tensor] = m.decision;
        try_trial(s, l);
        s->trial[m.tensor] = ONS_KEEP;
    }
}

/* One decision changed: taken back, the other one, and (`options`) another tensor in its stead. */
static void try_changes(ons_search *s, const level *l, ons_move m, const ons_search_option *options, uint32_t count) {
    uint8_t other = m.decision == ONS_SWAP ? ONS_RECOMPUTE : ONS_SWAP;
    s->trial[m.tensor] = ONS_KEEP;
    try_trial(s, l);
    try_options(s, l, options, count);
    if (ons_search_allows(s, m.tensor, other)) {
        s->trial[m.tensor] = other;
        try_trial(s, l);
    }
    s->trial[m.tensor] = m.decision;
}

/* Takes back one decision after the other, the oldest first, as long as no more memory is needed than at the level. */
static void try_without(ons_search *s, const level *l, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
        ons_move m = s->w->moves[i];
        s->trial[m.tensor] = ONS_KEEP;
        if (try_trial(s, l) > s->now.total) s->trial[m.tensor] = m.decision;
    }
}

/* Whether neighbours of the level may fit: where a path is left before it fits, most of them are too large by far. */
static bool is_near(const ons_search *s) {
    const ons_memory_workspace *w = s->w;
    int64_t largest = 0;
    if (w->candidate_count <= FEW) return true;
    for (uint32_t i = 0; i < w->candidate_count; ++i) {
        uint32_t t = w->candidates[i];
        if (s->current[t] == ONS_KEEP && w->tensors[t].bytes > largest) largest = w->tensors[t].bytes;
    }
    return may_fit_without(s, largest);
}

/* `current`, settled, holds the level. */
static void try_neighbours(ons_search *s, const level *l) {
    ons_memory_workspace *w = s->w;
    ons_search_option options[2 * FEW];
    bool few = w->candidate_count <= FEW;
    uint32_t count = ons_search_options(s, few, options, few ? 2 * FEW : NEIGHBOURS), pairs = few ? count : 0;
    memcpy(s->trial, s->current, w->tensor_count);
    try_options(s, l, options, count);
    for (uint32_t i = 0; i < pairs; ++i) {
        s->trial[options[i].move.tensor] = options[i].move.decision;
        try_options(s, l, options, i);
        s->trial[options[i].move.tensor] = ONS_KEEP;
    }
    uint32_t changed = few || l->moves < NEIGHBOURS ? l->moves : NEIGHBOURS;
    for (uint32_t i = l->moves - changed; i < l->moves; ++i) try_changes(s, l, w->moves[i], options, pairs);
    try_without(s, l, changed);
}

/* True: the path was left as it became too slow. */
static bool follow_path(ons_search *s, const ons_search_rule *rule) {
    ons_memory_workspace *w = s->w;
    path p;
    double floor = 0;
    s->rule = rule;
    lay_path(s, &p);
    bool neighbours = s->found || p.slow || w->candidate_count <= FEW;
    if (!neighbours || (w->problem->any_solution && (s->found || w->problem->limit_seconds == 0))) return p.slow;
    uint32_t reached = p.reached == ONS_NO_NODE ? p.depth : p.reached, end = p.depth;
    uint32_t from = reached > BEFORE ? reached - BEFORE : 0;
    take_back(s, &p, from > 0 ? from - 1 : 0);
    if (from > 0) {
        ons_search_settle(s);
        floor = s->now.seconds;
        append(s, &p, w->moves[p.depth]);
    }
    for (;;) {
        if (floor > s->best_seconds || (s->found && floor == s->best_seconds) || is_answered(s)) return p.slow;
        ons_search_settle(s);
        if (!p.slow || is_near(s)) try_neighbours(s, &(level){p.depth, floor});
        floor = s->now.seconds;
        if (p.depth == end) return p.slow;
        append(s, &p, w->moves[p.depth]);
    }
}

/* --------------------------------------------------------------------------------------------------------- strategy */

typedef struct path_rule {
    ons_search_rule rule;
    bool for_swaps; /* does nothing of its own without a link to the host */
    bool for_few;   /* worth its time where candidates are few alone */
} path_rule;

static const path_rule rules[] = {
    {{true, true, ONS_HIDDEN_BY_FREE_TIME, ONS_BY_RATE, ONS_PREFETCH_HIDDEN}, false, false},
    {{true, true, ONS_HIDDEN_AS_RATED, ONS_BY_TIME, ONS_PREFETCH_HIDDEN}, false, false},
    {{true, true, ONS_HIDDEN_BY_NEED, ONS_BY_RATE, ONS_PREFETCH_HIDDEN}, true, false},
    {{true, true, ONS_HIDDEN_AS_RATED, ONS_BY_SAVING, ONS_PREFETCH_HIDDEN}, false, true},
    {{false, true, ONS_HIDDEN_AS_RATED, ONS_BY_RATE, ONS_PREFETCH_HIDDEN}, true, true},
    {{true, true, ONS_HIDDEN_AS_RATED, ONS_BY_RATE, ONS_PREFETCH_NEVER}, true, true},
};

/* What needs least: everything swapped, everything recomputed, and both. */
static void try_ends(ons_search *s) {
    ons_memory_workspace *w = s->w;
    ons_walk walk;
    ons_stage_recompute_all(w, false, ONS_PREFETCH_HIDDEN, s->current, s->trial, &walk);
    ons_search_note(s, s->current, &walk, ONS_PREFETCH_HIDDEN);
    if (w->problem->host_bandwidth <= 0) return;
    for (ons_prefetch prefetch = ONS_PREFETCH_HIDDEN; prefetch <= ONS_PREFETCH_NEVER; ++prefetch) {
        ons_stage_recompute_all(w, true, prefetch, s->current, s->trial, &walk);
        ons_search_note(s, s->current, &walk, prefetch);
        for (uint32_t i = 0; i < w->tensor_count; ++i) s->current[i] = w->tensors[i].can_swap ? ONS_SWAP : ONS_KEEP;
        ons_stage_walk(w, s->current, prefetch, &walk);
        ons_search_note(s, s->current, &walk, prefetch);
    }
}

/* Nothing better is to be found, or wanted. */
static bool is_enough(const ons_search *s) {
    return is_answered(s) || (s->found && s->best_seconds <= s->start_seconds);
}

/* True: what follows is slower than the best. */
static bool note_layers(void *context, const uint8_t *decisions, const ons_walk *walk) {
    ons_search *s = context;
    ons_search_note(s, decisions, walk, ONS_PREFETCH_HIDDEN);
    return walk->seconds > s->best_seconds || is_answered(s);
}

/* All that the strategy knows. Where candidates are many, what neither the first path nor the ends can fit is given up:
 * they need least, whatever the capacity. The ends are the slowest of all: where the first path was too slow already,
 * under a limit, they are left out. */
static void search_paths(ons_search *s) {
    ons_memory_workspace *w = s->w;
    bool few = w->candidate_count <= FEW, swaps = w->problem->host_bandwidth > 0;
    bool limited = w->problem->limit_seconds > 0, ends_first = w->problem->any_solution && !limited;
    if (ends_first) try_ends(s);
    if (is_enough(s)) return;
    bool slow = follow_path(s, &rules[0].rule);
    if (is_enough(s)) return;
    if (!ends_first && !(limited && slow)) try_ends(s);
    ons_stage_try_layers(w, s->current, note_layers, s);
    if (!few && !s->found && !slow) return;
    for (size_t i = 1; i < sizeof rules / sizeof *rules; ++i) {
        if ((swaps || !rules[i].for_swaps) && (few || !rules[i].for_few)) (void)follow_path(s, &rules[i].rule);
        if (is_enough(s)) return;
    }
}

ons_status *ons_memory_solve_capuchin(const ons_stage_problem *problem, ons_memory_workspace *w, ons_arena *arena,
                                      ons_stage_solution *solution) {
    if (ons_stage_fits(w, problem, solution)) return NULL;
    ons_search s = {.w = w,
                    .current = w->decisions[1],
                    .trial = w->decisions[2],
                    .best = w->decisions[3],
                    .best_seconds = problem->limit_seconds > 0 ? problem->limit_seconds : INFINITY,
                    .least = solution->memory.total};
    s.start_seconds = solution->seconds;
    search_paths(&s);
    if (!s.found) {
        ons_stage_refuse(w, s.least, solution);
        return NULL;
    }
    return ons_stage_close(w, s.best, s.best_prefetch, arena, solution);
}
