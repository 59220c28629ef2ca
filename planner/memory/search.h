/* The state of a greedy search over decisions, and estimates of what one decision more saves and costs. */
#ifndef ONSTAGE_PLANNER_MEMORY_SEARCH_H
#define ONSTAGE_PLANNER_MEMORY_SEARCH_H

#include "planner/memory/stage.h"

typedef enum ons_preference { ONS_BY_RATE, ONS_BY_TIME, ONS_BY_SAVING } ons_preference;

typedef enum ons_hidden {
    ONS_HIDDEN_AS_RATED,     /* no phase of their own */
    ONS_HIDDEN_BY_FREE_TIME, /* Capuchin's first phase: by falling FreeTime */
    ONS_HIDDEN_BY_NEED,      /* first what takes longest to compute again for the time on the link */
} ons_hidden;

/* What a path may decide, and what it decides first. */
typedef struct ons_search_rule {
    bool swaps, recomputes;
    ons_hidden hidden; /* swaps that nothing waits for, before all else */
    ons_preference preference;
    ons_prefetch prefetch;
} ons_search_rule;

typedef struct ons_search {
    ons_memory_workspace *w;
    const ons_search_rule *rule;
    uint8_t *current, *trial, *best; /* decisions */
    double start_seconds;            /* everything kept */
    ons_walk now;                    /* of `current` when it was settled */
    bool peak_forward;               /* where that needs most: a forward part, or what belongs to a backward part */
    uint32_t peak_position;
    bool found;
    double best_seconds; /* of the best; before there is one, what it may take at most */
    int64_t best_total, least;
    ons_prefetch best_prefetch;
} ons_search;

/* A decision more, and how good it is estimated to be. */
typedef struct ons_search_option {
    ons_move move;
    double score;
} ons_search_option;

/* Remembers the decisions where they fit and are the best so far. */
void ons_search_note(ons_search *s, const uint8_t *decisions, const ons_walk *walk, ons_prefetch prefetch);

/* Walks `current`, for the estimates that follow. */
void ons_search_settle(ons_search *s);
/* Takes the result of the last walk, which was one of `current`, for the estimates that follow. */
void ons_search_adopt(ons_search *s, const ons_walk *walk);
/* Carries the estimates on over one decision more, without a walk. */
void ons_search_expect(ons_search *s, ons_move move);

bool ons_search_allows(const ons_search *s, uint32_t tensor, uint8_t decision);
int64_t ons_search_saving(const ons_search *s, uint32_t tensor); /* bytes where most is needed */
double ons_search_rate(const ons_search *s, int64_t saving, double seconds);
double ons_search_score(ons_search *s, ons_move move);

/* Lists the best options from `current` by estimate, best first; with `idle` those too that save nothing by themselves.
 */
uint32_t ons_search_options(ons_search *s, bool idle, ons_search_option *options, uint32_t most);

/* Candidates with FreeTime, in the rule's order, in workspace.order. Returns how many. */
uint32_t ons_search_order_hidden(ons_search *s);

#endif
