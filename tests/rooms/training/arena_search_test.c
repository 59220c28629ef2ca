/* The search for the plan whose real arenas fit, against a planner whose estimates are off by as much as one likes. */
#include "engine/plan/arena_search.h"

#include <criterion/criterion.h>
#include <stdio.h>

typedef struct planner {
    int64_t least;           /* estimated: below it there is no plan */
    int64_t off, step, most; /* a plan for C takes C - off, in steps, at most this */
    int64_t above;           /* and this much more */
    int64_t made;            /* the last plan's bytes */
    int attempts, asked;
} planner;

static int64_t takes(const planner *p, int64_t capacity) {
    int64_t bytes = (capacity - p->off) / p->step * p->step + p->above;
    return bytes < p->most ? bytes : p->most;
}

static ons_status *attempt(void *context, int64_t capacity, int64_t *bytes) {
    planner *p = context;
    ++p->attempts;
    *bytes = p->made = capacity < p->least ? INT64_MAX : takes(p, capacity);
    return NULL;
}

static ons_status *least(void *context, int64_t *capacity) {
    planner *p = context;
    ++p->asked;
    *capacity = p->least;
    return NULL;
}

static int64_t search(planner *p, int64_t cap) {
    const ons_arena_search_options options = {.attempt = attempt, .least = least, .context = p, .cap = cap};
    int64_t bytes;
    cr_assert_null(ons_arena_search(&options, &bytes));
    cr_assert_eq(bytes, p->made, "the last plan is the one that counts");
    cr_assert_leq(p->asked, 1);
    return bytes;
}

Test(arena_search, an_estimate_that_is_right_is_taken_at_once) {
    planner p = {.least = 100, .step = 1, .most = 10000};
    cr_assert_eq(search(&p, 5000), 5000);
    cr_assert_eq(p.attempts, 1);
    cr_assert_eq(p.asked, 0);
}

Test(arena_search, an_estimate_that_is_too_high_does_not_cost_memory) {
    planner p = {.least = 6000, .off = 3000, .step = 1, .most = 10000};
    cr_assert_geq(search(&p, 5000), 4900);
}

Test(arena_search, an_estimate_that_is_too_low_is_made_up_for) {
    planner p = {.least = 1000, .off = -2000, .step = 1, .most = 10000};
    int64_t bytes = search(&p, 5000);
    cr_assert(bytes <= 5000 && bytes >= 4900);
}

Test(arena_search, what_cannot_fit_ends_with_the_smallest_plan) {
    planner p = {.least = 4000, .off = -3000, .step = 1, .most = 10000};
    cr_assert_eq(search(&p, 5000), 7000);
}

/* splitmix64 */
static uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* Plans change in steps: a little less capacity makes the same plan again. */
Test(arena_search, a_plan_that_is_a_little_too_large_is_not_followed_by_the_smallest) {
    planner p = {.least = 1000, .off = -400, .step = 800, .most = 20000, .above = 10};
    int64_t bytes = search(&p, 8805); /* between 8400 and 9199 the plan takes 8810 */
    cr_assert_geq(bytes, 6000, "%lld", (long long)bytes);
    cr_assert_leq(bytes, 8805);
}

Test(arena_search, whatever_the_estimates_a_plan_that_fits_is_found_where_there_is_one) {
    uint64_t seed = 20261122;
    fprintf(stderr, "seed %llu\n", (unsigned long long)seed);
    for (uint64_t i = 0; i < 2000; ++i) {
        uint64_t draw = mix((seed + i) * 0x9e3779b97f4a7c15u);
        planner p = {.least = 1000 + (int64_t)(draw % 4000),
                     .off = (int64_t)(draw >> 12) % 4000 - 2000,
                     .step = 1 + (int64_t)(draw >> 24) % 500,
                     .most = 12000};
        if (p.least - p.off <= 0) continue;
        int64_t cap = 500 + (int64_t)(draw >> 36) % 9000, smallest = takes(&p, p.least), bytes = search(&p, cap);
        cr_assert_eq(bytes <= cap, smallest <= cap, "case %llu: %lld of %lld", (unsigned long long)i, (long long)bytes,
                     (long long)cap);
    }
}
