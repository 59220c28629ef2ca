/* MemOpt (DawnPiper, Algorithm 2; Capuchin, sections 4.3 and 4.4), made monotone: more memory never gives a slower
 * stage.
 *
 * A path starts with everything kept and decides one tensor after the other, whatever the capacity: swaps by falling
 * FreeTime as long as they are hidden, then what saves most memory for the time that it adds (MSPS, counted once for
 * each micro-batch in flight and updated after every choice). Every step adds time, or none. So of one path the first
 * point that fits is the fastest that fits, and a larger capacity finds a point before it or the same.
 *
 *   level      0 ──▶ 1 ──▶ 2 ──▶ 3 ──▶ 4         `reached`: the first level that fits
 *                      └─┬────────┴────┘
 *                   their neighbours are tried too: one decision more, one less, one changed or exchanged
 *
 * Greedy points overshoot: the last step frees more than is missing, and what was decided first may no longer be
 * needed. So the neighbours of the levels around `reached` are judged as well. This keeps the property, as
 *   - the neighbours of a level do not depend on the capacity;
 *   - a neighbour counts only where it is no faster than the level before its own;
 *   - levels from `reached - BEFORE` to `reached + AFTER` are looked at, AFTER being 1:
 * what a smaller capacity finds at a level that a larger one does not look at is slower than the level that the larger
 * one reached. Of several paths (rules), the fastest result is taken; a minimum of monotone functions is monotone.
 */
#include <math.h>
#include <string.h>

#include "planner/memory/stage.h"

enum {
    BEFORE = 2,
    AFTER = 1,
    TRIALS = 3,          /* moves walked for each step, best estimate first */
    MOST_TRIALS = 12,    /* where none of them saves anything */
    HIDDEN_FAILURES = 6, /* swaps in a row that are not hidden end the first phase */
    NEIGHBOURS = 16,     /* further decisions tried at a level */
    EXCHANGES = 16,      /* candidates up to which pairs of changes are tried */
};

typedef enum preference { BY_RATIO, BY_TIME, BY_SAVING } preference;

typedef struct rule {
    bool swaps, recomputes;
    bool hidden_first; /* Capuchin's first phase */
    preference preference;
    ons_prefetch prefetch;
} rule;

typedef struct search {
    ons_memory_workspace *w;
    const rule *rule;
    uint8_t *current, *trial, *best, *spare;
    ons_walk start, now; /* everything kept; `current` */
    /* Where `now` needs most. */
    bool peak_forward;
    uint32_t peak_position;
    double best_seconds;
    int64_t best_total, least;
    ons_prefetch best_prefetch;
    bool found;
} search;

/* ---------------------------------------------------------------------------------------------------------- judging */

static void note(search *s, const uint8_t *decisions, const ons_walk *walk, ons_prefetch prefetch) {
    if (walk->total < s->least) s->least = walk->total;
    if (walk->total > s->w->problem->capacity_bytes) return;
    bool better = !s->found || walk->seconds < s->best_seconds ||
                  (walk->seconds == s->best_seconds && walk->total < s->best_total);
    if (!better) return;
    s->found = true;
    s->best_seconds = walk->seconds;
    s->best_total = walk->total;
    s->best_prefetch = prefetch;
    memcpy(s->best, decisions, s->w->tensor_count);
}

/* Judges `decisions` with one more changed; the change stays. */
static void try_with(search *s, uint8_t *decisions, uint32_t tensor, uint8_t decision, ons_walk *walk) {
    decisions[tensor] = decision;
    ons_stage_walk(s->w, decisions, s->rule->prefetch, walk);
}

static bool is_allowed(const search *s, uint32_t tensor, uint8_t decision) {
    const ons_stage_tensor *t = &s->w->tensors[tensor];
    return decision == ONS_SWAP ? s->rule->swaps && t->can_swap : s->rule->recomputes && t->can_recompute;
}

/* Remembers what the estimates need of the walk of `current`. */
static void settle(search *s) {
    ons_memory_workspace *w = s->w;
    ons_stage_walk(w, s->current, s->rule->prefetch, &s->now);
    for (uint32_t i = 0; i < w->node_count; ++i) w->rerun_flag[i] = w->rerun_walk[i] == w->walk_number;
    s->peak_forward = s->now.peak_part < w->node_count;
    s->peak_position = s->now.peak_part;
    if (s->peak_forward) return;
    for (s->peak_position = w->node_count - 1; w->backward_part[s->peak_position] < s->now.peak_part;)
        --s->peak_position;
}

/* -------------------------------------------------------------------------------------------------------- estimates */

/* Whether the tensor, kept, is alive where most is needed, and would not be otherwise. */
static bool covers_peak(const search *s, const ons_stage_tensor *t) {
    return s->peak_forward ? t->last_use < s->peak_position : t->last_saver < s->peak_position;
}

static int64_t estimate_saving(const search *s, const ons_stage_tensor *t) {
    uint32_t in_flight = s->w->problem->load.in_flight, waiting = in_flight > 1 ? in_flight - 1 : 0;
    return t->bytes * ((int64_t)waiting + covers_peak(s, t));
}

/* Seconds of nodes that would run again besides those that do. */
static double estimate_recompute(search *s, uint32_t tensor) {
    ons_memory_workspace *w = s->w;
    uint32_t depth = 0;
    double seconds = 0;
    ++w->visit;
    w->stack[depth++] = w->tensors[tensor].producer;
    w->visited[w->tensors[tensor].producer] = w->visit;
    while (depth > 0) {
        uint32_t node = w->stack[--depth];
        if (w->rerun_flag[node]) continue;
        uint32_t position = w->problem->first + node;
        seconds += w->work->nodes[position].forward_seconds;
        ons_work_list reads = ons_work_reads(w->work, position);
        for (uint32_t i = 0; i < reads.count; ++i) {
            uint32_t source = w->local[reads.items[i]];
            const ons_stage_tensor *t = &w->tensors[source];
            bool again = s->current[source] == ONS_RECOMPUTE || (t->first_saver == ONS_NO_NODE && t->can_rerun);
            if (!again || w->visited[t->producer] == w->visit) continue;
            w->visited[t->producer] = w->visit;
            w->stack[depth++] = t->producer;
        }
    }
    return seconds;
}

/* Seconds that nothing hides of a copy back that starts with the backward part: -FreeTime where it has the link for
 * itself. */
static double estimate_swap(const search *s, uint32_t tensor) {
    const ons_memory_workspace *w = s->w;
    const ons_stage_tensor *t = &w->tensors[tensor];
    uint32_t first = w->problem->first;
    if (s->rule->prefetch == ONS_PREFETCH_NEVER) return t->copy_seconds;
    double available = ons_work_backward_seconds(w->work, first + t->last_saver + 1, first + w->node_count);
    double seconds = t->copy_seconds - available;
    return seconds > 0 ? seconds : 0;
}

static double rate(const search *s, int64_t saving, double seconds) {
    double floor = 1e-9 * s->start.seconds; /* so that what costs nothing is ordered by what it saves */
    switch (s->rule->preference) {
    case BY_TIME: return 1 / (seconds + floor);
    case BY_SAVING: return (double)saving;
    default: return (double)saving / (seconds + floor);
    }
}

/* ------------------------------------------------------------------------------------------------------------ a step
 */

typedef struct option {
    ons_move move;
    double score;
} option;

/* Keeps the `most` best options, best first. */
static void insert(option *options, uint32_t *count, uint32_t most, option added) {
    uint32_t i = *count < most ? (*count)++ : most;
    if (i == most) {
        if (most == 0 || options[most - 1].score >= added.score) return;
        i = most - 1;
    }
    for (; i > 0 && options[i - 1].score < added.score; --i) options[i] = options[i - 1];
    options[i] = added;
}

/* The best moves from `current` by estimate. */
static uint32_t find_options(search *s, option *options, uint32_t most) {
    ons_memory_workspace *w = s->w;
    uint32_t count = 0;
    for (uint32_t i = 0; i < w->candidate_count; ++i) {
        uint32_t t = w->candidates[i];
        if (s->current[t] != ONS_KEEP) continue;
        int64_t saving = estimate_saving(s, &w->tensors[t]);
        if (saving == 0) continue;
        for (uint8_t decision = ONS_SWAP; decision <= ONS_RECOMPUTE; ++decision) {
            if (!is_allowed(s, t, decision)) continue;
            double seconds = decision == ONS_SWAP ? estimate_swap(s, t) : estimate_recompute(s, t);
            insert(options, &count, most, (option){{t, decision}, rate(s, saving, seconds)});
        }
    }
    return count;
}

/* Of the best estimates, the move that really is best. False: none saves memory. A move that saves nothing by itself,
 * as several parts need the most, is taken where no other is left. */
static bool find_move(search *s, ons_move *move, ons_walk *result) {
    option options[MOST_TRIALS];
    uint32_t count = find_options(s, options, MOST_TRIALS);
    double best = -1;
    bool level = false;
    for (uint32_t i = 0; i < count && (i < TRIALS || best < 0); ++i) {
        ons_walk walk;
        uint32_t t = options[i].move.tensor;
        try_with(s, s->current, t, options[i].move.decision, &walk);
        s->current[t] = ONS_KEEP;
        if (walk.seconds < s->now.seconds || walk.total > s->now.total) continue;
        bool saves = walk.total < s->now.total;
        double score = rate(s, s->now.total - walk.total, walk.seconds - s->now.seconds);
        if (saves ? score <= best : level || best >= 0) continue;
        if (saves) best = score;
        level |= !saves;
        *move = options[i].move;
        *result = walk;
    }
    return best >= 0 || level;
}

/* ---------------------------------------------------------------------------------------------------------- FreeTime
 */

/* Between the end of the copy out and the latest start of the copy back. */
static double free_time(const ons_memory_workspace *w, uint32_t tensor) {
    const ons_stage_tensor *t = &w->tensors[tensor];
    uint32_t first = w->problem->first, end = w->problem->end, in_flight = w->problem->load.in_flight;
    double period = w->compute_seconds > w->problem->period_seconds ? w->compute_seconds : w->problem->period_seconds;
    double between = ons_work_forward_seconds(w->work, first + t->last_use + 1, end) +
                     ons_work_backward_seconds(w->work, first + t->last_saver + 1, end) +
                     (in_flight > 1 ? (double)(in_flight - 1) * period : 0);
    return between - 2 * t->copy_seconds;
}

/* Candidates by falling FreeTime, those that have some. */
static uint32_t order_by_free_time(search *s) {
    ons_memory_workspace *w = s->w;
    uint32_t count = 0;
    for (uint32_t i = 0; i < w->candidate_count; ++i) {
        uint32_t t = w->candidates[i];
        w->score[t] = w->tensors[t].can_swap ? free_time(w, t) : -1;
        if (w->score[t] < 0) continue;
        uint32_t j = count++;
        for (; j > 0 && w->score[w->order[j - 1]] < w->score[t]; --j) w->order[j] = w->order[j - 1];
        w->order[j] = t;
    }
    return count;
}

/* The next swap that adds no time. */
static bool find_hidden_swap(search *s, uint32_t *next, uint32_t count, uint32_t *failures, ons_move *move,
                             ons_walk *result) {
    ons_memory_workspace *w = s->w;
    while (*next < count && *failures < HIDDEN_FAILURES) {
        uint32_t t = w->order[(*next)++];
        if (estimate_saving(s, &w->tensors[t]) == 0) continue;
        try_with(s, s->current, t, ONS_SWAP, result);
        s->current[t] = ONS_KEEP;
        if (result->seconds == s->now.seconds && result->total < s->now.total) {
            *move = (ons_move){t, ONS_SWAP};
            *failures = 0;
            return true;
        }
        ++*failures;
    }
    return false;
}

/* ------------------------------------------------------------------------------------------------------- neighbours */

typedef struct level {
    uint32_t moves; /* decided at it */
    double floor;   /* seconds of the level before: a faster neighbour does not count */
} level;

static void note_neighbour(search *s, const level *l, const uint8_t *decisions) {
    ons_walk walk;
    ons_stage_walk(s->w, decisions, s->rule->prefetch, &walk);
    if (walk.seconds >= l->floor) note(s, decisions, &walk, s->rule->prefetch);
}

/* `trial` with each of the options on top. */
static void try_options(search *s, const level *l, const option *options, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
        uint32_t t = options[i].move.tensor;
        uint8_t before = s->trial[t];
        if (before != ONS_KEEP) continue;
        s->trial[t] = options[i].move.decision;
        note_neighbour(s, l, s->trial);
        s->trial[t] = before;
    }
}

/* Takes back one decision after the other, the oldest first, as long as no more memory is needed than at the level. */
static void clean(search *s, const level *l, int64_t total) {
    ons_memory_workspace *w = s->w;
    memcpy(s->trial, s->current, w->tensor_count);
    for (uint32_t i = 0; i + 1 < l->moves; ++i) {
        ons_walk walk;
        uint32_t t = w->moves[i].tensor;
        uint8_t before = s->trial[t];
        try_with(s, s->trial, t, ONS_KEEP, &walk);
        if (walk.total > total) {
            s->trial[t] = before;
            continue;
        }
        if (walk.seconds >= l->floor) note(s, s->trial, &walk, s->rule->prefetch);
    }
}

/* The neighbours of a level: `current` holds its decisions. */
static void try_neighbours(search *s, const level *l) {
    ons_memory_workspace *w = s->w;
    option options[2 * NEIGHBOURS];
    bool thorough = w->candidate_count <= EXCHANGES;
    settle(s);
    uint32_t count = find_options(s, options, thorough ? 2 * NEIGHBOURS : NEIGHBOURS);
    memcpy(s->trial, s->current, w->tensor_count);
    try_options(s, l, options, count);
    for (uint32_t i = 0; thorough && i < count; ++i) {
        s->trial[options[i].move.tensor] = options[i].move.decision;
        try_options(s, l, options, i);
        s->trial[options[i].move.tensor] = ONS_KEEP;
    }
    for (uint32_t i = 0; i < l->moves; ++i) {
        ons_move m = w->moves[i];
        uint8_t other = m.decision == ONS_SWAP ? ONS_RECOMPUTE : ONS_SWAP;
        s->trial[m.tensor] = ONS_KEEP;
        note_neighbour(s, l, s->trial);
        if (thorough) try_options(s, l, options, count);
        if (is_allowed(s, m.tensor, other)) {
            s->trial[m.tensor] = other;
            note_neighbour(s, l, s->trial);
        }
        s->trial[m.tensor] = m.decision;
    }
    clean(s, l, s->now.total);
}

/* ------------------------------------------------------------------------------------------------------------ a path
 */

static uint32_t walk_path(search *s, uint32_t *reached) {
    ons_memory_workspace *w = s->w;
    uint32_t depth = 0, next = 0, failures = 0, hidden = 0;
    memset(s->current, ONS_KEEP, w->tensor_count);
    *reached = ONS_NO_NODE;
    settle(s);
    w->move_seconds[0] = s->now.seconds;
    if (s->rule->hidden_first) hidden = order_by_free_time(s);
    while (*reached == ONS_NO_NODE || depth < *reached + AFTER) {
        ons_move move;
        ons_walk walk;
        if (!find_hidden_swap(s, &next, hidden, &failures, &move, &walk) && !find_move(s, &move, &walk)) break;
        s->current[move.tensor] = move.decision;
        w->moves[depth++] = move;
        w->move_seconds[depth] = walk.seconds;
        note(s, s->current, &walk, s->rule->prefetch);
        if (*reached == ONS_NO_NODE && walk.total <= w->problem->capacity_bytes) *reached = depth;
        /* All that follows is slower. */
        if (s->found && walk.seconds > s->best_seconds) break;
        settle(s);
    }
    return depth;
}

static void follow(search *s, const rule *r) {
    ons_memory_workspace *w = s->w;
    uint32_t reached;
    s->rule = r;
    uint32_t depth = walk_path(s, &reached);
    if (reached == ONS_NO_NODE) reached = depth;
    uint32_t from = reached > BEFORE ? reached - BEFORE : 0;
    memset(s->current, ONS_KEEP, w->tensor_count);
    for (uint32_t i = 0; i <= depth; ++i) {
        if (i > 0) s->current[w->moves[i - 1].tensor] = w->moves[i - 1].decision;
        level l = {i, i > 0 ? w->move_seconds[i - 1] : 0};
        if (i >= from && !(s->found && l.floor >= s->best_seconds)) try_neighbours(s, &l);
    }
}

/* --------------------------------------------------------------------------------------------------------- strategy */

static const rule rules[] = {
    {true, true, true, BY_RATIO, ONS_PREFETCH_HIDDEN}, {false, true, false, BY_RATIO, ONS_PREFETCH_HIDDEN},
    {true, true, false, BY_TIME, ONS_PREFETCH_HIDDEN}, {true, true, false, BY_SAVING, ONS_PREFETCH_HIDDEN},
    {true, true, false, BY_RATIO, ONS_PREFETCH_NEVER},
};

/* What needs least: everything swapped, everything recomputed, and both. */
static void try_everything(search *s) {
    ons_memory_workspace *w = s->w;
    bool swaps = w->problem->host_bandwidth > 0;
    for (ons_prefetch prefetch = ONS_PREFETCH_HIDDEN; prefetch <= (swaps ? ONS_PREFETCH_NEVER : ONS_PREFETCH_HIDDEN);
         ++prefetch) {
        ons_walk walk;
        ons_stage_recompute_all(w, swaps, prefetch, s->current, s->trial, &walk);
        note(s, s->current, &walk, prefetch);
        for (uint32_t i = 0; i < w->tensor_count; ++i) s->current[i] = w->tensors[i].can_swap ? ONS_SWAP : ONS_KEEP;
        ons_stage_walk(w, s->current, prefetch, &walk);
        note(s, s->current, &walk, prefetch);
    }
    ons_walk walk;
    ons_stage_recompute_all(w, false, ONS_PREFETCH_HIDDEN, s->current, s->trial, &walk);
    note(s, s->current, &walk, ONS_PREFETCH_HIDDEN);
}

ons_status *ons_memory_solve_capuchin(const ons_stage_problem *problem, ons_memory_workspace *w, ons_arena *arena,
                                      ons_stage_solution *solution) {
    if (ons_stage_fits(w, problem, solution)) return NULL;
    search s = {.w = w,
                .current = w->decisions[1],
                .trial = w->decisions[2],
                .best = w->decisions[3],
                .spare = w->decisions[4],
                .least = solution->memory.total};
    s.start.seconds = solution->seconds;
    bool swaps = problem->host_bandwidth > 0;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; ++i) {
        if (swaps || (rules[i].recomputes && rules[i].prefetch == ONS_PREFETCH_HIDDEN)) follow(&s, &rules[i]);
    }
    try_everything(&s);
    if (!s.found) {
        ons_stage_refuse(w, s.least, solution);
        return NULL;
    }
    return ons_stage_close(w, s.best, s.best_prefetch, arena, solution);
}
