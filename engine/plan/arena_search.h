/* The fastest plan whose real arenas fit.
 *
 * The planner estimates what kernels need beside tensors, counts what one node makes in another's place twice, and does
 * not know how well an arena packs: a plan that it makes for some capacity takes more or less than that. The planner is
 * asked for the largest capacity whose plan still fits, since more memory never makes a plan slower. */
#ifndef ONSTAGE_ENGINE_PLAN_ARENA_SEARCH_H
#define ONSTAGE_ENGINE_PLAN_ARENA_SEARCH_H

#include <stdint.h>

#include "base/status.h"

/* Makes the plan for devices of `capacity` bytes as estimated. *bytes: what its largest arena really takes; INT64_MAX:
 * there is no such plan. */
typedef ons_status *ons_arena_attempt(void *context, int64_t capacity, int64_t *bytes);

/* The smallest capacity for which the planner knows a plan. Asked at most once, and where caps are tight alone: it
 * takes long. */
typedef ons_status *ons_arena_least(void *context, int64_t *capacity);

typedef struct ons_arena_search_options {
    ons_arena_attempt *attempt;
    ons_arena_least *least;
    void *context;
    int64_t cap; /* bytes; more than 0 */
} ons_arena_search_options;

/* The plan that was made last is the best one. *bytes: what it takes; more than the cap where nothing that fits was
 * found, and then it is the plan of the smallest capacity. */
ons_status *ons_arena_search(const ons_arena_search_options *options, int64_t *bytes);

#endif
