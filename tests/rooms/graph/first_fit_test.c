/* Against a plain walk over all buffers, as many as fill several blocks. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>

#include "graph/first_fit.h"
#include "tests/rooms/graph/fixture.h"

enum { SPOTS = 4000, POSITIONS = 300 };

static int by_offset(const void *left, const void *right) {
    const ons_spot *a = left, *b = right;
    return a->offset < b->offset ? -1 : a->offset > b->offset;
}

/* The lowest offset at or above `from` that is free; nothing lies across `slot`. */
static int64_t walk(ons_spot *spots, uint32_t count, const ons_spot *wanted, int64_t bytes, int64_t from,
                    int64_t slot) {
    qsort(spots, count, sizeof *spots, by_offset);
    int64_t offset = from;
    for (bool moved = true; moved;) {
        moved = false;
        if (offset < slot && offset + bytes > slot) offset = slot;
        for (uint32_t i = 0; i < count && spots[i].offset < offset + bytes; ++i)
            if (spots[i].first <= wanted->last && wanted->first <= spots[i].last && spots[i].end > offset) {
                offset = spots[i].end;
                moved = true;
            }
    }
    return offset;
}

/* `nested`: as values that are kept for the backward part; else short lives. */
static void check(bool nested, int64_t slot, uint64_t seed) {
    static ons_spot spots[SPOTS];
    uint64_t random = seed * 7919;
    ons_arena *arena = ons_arena_new();
    ons_first_fit *fit;
    ons_status *status = ons_first_fit_new(SPOTS, slot, arena, &fit);
    cr_assert_null(status);
    for (uint32_t i = 0; i < SPOTS; ++i) {
        uint32_t at = (uint32_t)(next_random(&random) % POSITIONS);
        uint32_t length = (uint32_t)(next_random(&random) % 6);
        bool kept = nested && next_random(&random) % 2 == 0;
        ons_spot spot = {.first = at, .last = kept && at < POSITIONS - at ? POSITIONS - at : at + length};
        int64_t bytes = 64 * (1 + (int64_t)(next_random(&random) % (i % 7 == 0 ? 40 : 3)));
        int64_t from = next_random(&random) % 4 == 0 ? slot : 0;
        int64_t expected = walk(spots, i, &spot, bytes, from, slot);
        spot.offset = ons_first_fit_find(fit, spot.first, spot.last, bytes, from);
        cr_assert_eq(spot.offset, expected, "seed %" PRIu64 ", buffer %u: %" PRId64 " instead of %" PRId64, seed, i,
                     spot.offset, expected);
        spot.end = spot.offset + bytes;
        ons_first_fit_add(fit, spot);
        spots[i] = spot;
    }
    ons_arena_free(arena);
}

Test(first_fit, short_lives) { check(false, 0, 1); }
Test(first_fit, nested_lives) { check(true, 0, 2); }
Test(first_fit, beside_a_slot) { check(true, 64 * 500, 3); }

Test(first_fit, cleared) {
    ons_arena *arena = ons_arena_new();
    ons_first_fit *fit;
    cr_assert_null(ons_first_fit_new(10, 0, arena, &fit));
    cr_expect_eq(ons_first_fit_find(fit, 0, 9, 64, 0), 0);
    ons_first_fit_add(fit, (ons_spot){0, 64, 0, 5});
    cr_expect_eq(ons_first_fit_find(fit, 5, 9, 64, 0), 64);
    cr_expect_eq(ons_first_fit_find(fit, 6, 9, 64, 0), 0);
    ons_first_fit_clear(fit);
    cr_expect_eq(ons_first_fit_find(fit, 5, 9, 64, 0), 0);
    ons_arena_free(arena);
}
