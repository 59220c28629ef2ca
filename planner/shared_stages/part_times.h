/* When a part of a plan could begin, by when those before it ended. Of a copy's parts of one type the earlier one
 * always comes first, so a count says which is next. Generator and check ask the same questions. */
#ifndef ONSTAGE_PLANNER_SHARED_STAGES_PART_TIMES_H
#define ONSTAGE_PLANNER_SHARED_STAGES_PART_TIMES_H

#include "planner/shared_stages/placed_plan.h"

typedef enum ons_part_type {
    ONS_PART_FORWARD,
    ONS_PART_INPUT, /* gradients of what it reads */
    ONS_PART_WEIGHT,
    ONS_PART_TYPES
} ons_part_type;

typedef struct ons_part_times {
    const ons_placed_plan *plan;
    uint32_t *first_copy, *first_part; /* [stage], and behind the last: numbers over all stages */
    uint32_t *into, *into_first;       /* edges that end at a stage: into[into_first[stage]] and on */
    uint32_t *out, *out_first;         /* that begin there */
    uint32_t *done[ONS_PART_TYPES];    /* [copy]: parts that it has run */
    uint32_t *left[ONS_PART_TYPES];    /* [part]: copies that have not run it */
    double *end[ONS_PART_TYPES];       /* [part]: of the copies that have, the last one's end */
} ons_part_times;

/* In `arena`; `plan` outlives it, and has been checked. */
ons_status *ons_part_times_make(const ons_placed_plan *plan, ons_arena *arena, ons_part_times *times);

/* The part of that type that the copy runs next; only where some are left. */
uint32_t ons_part_next(const ons_part_times *times, ons_part_type type, uint32_t stage, uint32_t copy);
bool ons_part_is_left(const ons_part_times *times, ons_part_type type, uint32_t stage, uint32_t copy);

/* When the copy's next part could begin, were its device free; infinite: something before it has not run, or none is
 * left. */
double ons_part_ready(const ons_part_times *times, ons_part_type type, uint32_t stage, uint32_t copy);

/* The copy has run its next part, and ended then. */
void ons_part_take(ons_part_times *times, ons_part_type type, uint32_t stage, uint32_t copy, double end);

/* The parts of `other` that share samples with a part of `stage`: [*first, *end). */
void ons_part_range(const ons_placed_plan *plan, uint32_t stage, uint32_t part, uint32_t other, uint32_t *first,
                    uint32_t *end);

#endif
