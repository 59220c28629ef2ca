/* Which units of a step copies of two stages have in common: as a list of all units has it. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "runtime/program/units.h"

enum { UNITS = 1200, SIZES = 8, COPIES = 6 };

static bool has(const ons_unit_share *share, uint64_t unit) {
    return unit / share->size % share->copies == share->copy;
}

static ons_unit_share draw_share(void) {
    uint32_t copies = 1 + (uint32_t)random() % COPIES;
    return (ons_unit_share){1 + (uint32_t)random() % SIZES, copies, (uint32_t)random() % copies};
}

static void check(const ons_unit_share *a, const ons_unit_share *b, uint64_t from) {
    uint64_t own = from, common = from;
    while (!has(a, own)) ++own;
    while (common < UNITS && (!has(a, common) || !has(b, common))) ++common;
    cr_expect_eq(ons_unit_share_next(a, from), own);
    uint64_t found = ons_units_next_common(a, b, from);
    cr_expect_eq(
        found, common == UNITS ? UINT64_MAX : common,
        "copy %u of %u that take %u, copy %u of %u that take %u: from unit %llu on %llu is found, and not %llu",
        a->copy, a->copies, a->size, b->copy, b->copies, b->size, (unsigned long long)from, (unsigned long long)found,
        (unsigned long long)common);
}

/* A step of fewer than half of the units has each unit again that two copies ever have in common. */
Test(units, that_copies_have_in_common) {
    const char *given = getenv("SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    srandom((unsigned)seed);
    fprintf(stderr, "SEED=%llu\n", (unsigned long long)seed);
    for (int i = 0; i < 2000; ++i) {
        const ons_unit_share a = draw_share(), b = draw_share();
        uint64_t period = (uint64_t)a.size * a.copies * b.size * b.copies;
        if (2 * period > UNITS) continue;
        check(&a, &b, (uint64_t)random() % (UNITS / 2));
    }
}

Test(units, of_copies_that_never_meet) {
    const ons_unit_share even = {2, 2, 0}, odd = {2, 2, 1}, all = {3, 1, 0};
    cr_expect_eq(ons_units_next_common(&even, &odd, 5), UINT64_MAX);
    cr_expect_eq(ons_units_next_common(&odd, &all, 4), 6);
    cr_expect_eq(ons_units_next_common(&even, &even, 6), 8);
}
