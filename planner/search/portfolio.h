/* Which schedule, with which split and which memory decisions: every schedule that is known, each planned for the
 * model, and the fastest step by simulation of those that fit. What lost says why.
 *
 *   schedules: generators, FlexPipe's and Pfeife's searches, weight gradients apart
 *     ──▶ a beam of cuts without a cap, with free links: what the step may be at best
 *     ──▶ in that order: planned under the cap, simulated
 *     ──▶ what may at best be slower than the fastest so far is not planned
 *
 * 1F1B is always planned, so what is chosen is never slower than it.
 */
#ifndef ONSTAGE_PLANNER_SEARCH_PORTFOLIO_H
#define ONSTAGE_PLANNER_SEARCH_PORTFOLIO_H

#include "planner/search/planner.h"

typedef struct ons_portfolio_options {
    const ons_partition_strategy
        *strategy; /* of those that are planned; Pfeife's own cuts are tried with its lists, too */
    bool straight; /* no device is to hold several stages */
} ons_portfolio_options;

typedef enum ons_candidate_outcome {
    ONS_TAKEN,
    ONS_SLOWER,     /* simulated, and slower, or as fast with no less memory */
    ONS_HOPELESS,   /* not planned: at best as slow */
    ONS_TOO_LARGE,  /* does not fit the devices */
    ONS_IMPOSSIBLE, /* there is no such schedule here, or it hangs */
    ONS_REPEATED,   /* the lists of a candidate in front */
} ons_candidate_outcome;

typedef struct ons_portfolio_candidate {
    const char *name;     /* of the schedule: "v, weight gradients apart" */
    const char *strategy; /* of partition */
    ons_pipeline pipeline;
    ons_schedule *schedule;  /* NULL where there is none */
    double estimate;         /* of a step without a cap and with free links, by the beam; infinite: not known */
    ons_planned planned;     /* where it was planned */
    double step_seconds;     /* simulated; infinite: it was not */
    double bubble_share;     /* of the devices' time, where it was simulated */
    int64_t memory_bytes;    /* of the fullest device, all its stages; 0: not known. Of what does not fit, the least
                                capacity found to do */
    double planning_seconds; /* its share of the search */
    ons_candidate_outcome outcome;
    const char *why; /* the reason of the outcome, without the candidate's name */
} ons_portfolio_candidate;

typedef struct ons_portfolio {
    ons_portfolio_candidate *candidates;
    uint32_t count, taken; /* taken == count: nothing fits */
    double seconds;        /* of the search */
} ons_portfolio;

/* Gives the candidate that comes first: 1F1B, or what comes nearest to it where devices hold several stages. `devices`
 * 0: as many as stages. */
const ons_generator *ons_portfolio_first(uint32_t stages, uint32_t devices);

/* Searches all schedules. Of the problem's pipeline, micro-batches, stages and devices are looked at: where it says
 * both, and more stages than devices, schedules have that many; otherwise it says how many devices there are, and they
 * hold one stage or two. Schedules are synchronous. Everything in `arena`. */
ons_status *ons_portfolio_search(const ons_planning_problem *problem, const ons_portfolio_options *options,
                                 ons_arena *arena, ons_portfolio *portfolio);

/* Ranks the candidates that fit, the fastest first, as numbers of candidates; the first candidate is the last of them
 * where it is not among them: whoever finds that something does not fit after all goes on with the next. In `arena`. */
ons_status *ons_portfolio_rank(const ons_portfolio *portfolio, ons_arena *arena, uint32_t **order, uint32_t *count);

/* Excludes a candidate that was found not to fit after all. */
ons_status *ons_portfolio_exclude(ons_portfolio *portfolio, uint32_t candidate, int64_t memory_bytes,
                                  int64_t capacity_bytes, ons_arena *arena);
/* Takes a candidate (portfolio->count: none): the reasons are written anew. */
ons_status *ons_portfolio_take(ons_portfolio *portfolio, uint32_t candidate, ons_arena *arena);

#endif
