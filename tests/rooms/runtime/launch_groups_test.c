/* Which nodes can be one launch, by what they read and write. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "runtime/program/launch_groups.h"

enum { BYTES = 64, NODES = 12, EXTENTS = 4 };

static char memory[BYTES];

static ons_extent extent(uint32_t first, uint32_t end) { return (ons_extent){memory + first, memory + end}; }

Test(launch_groups, what_one_writes_no_other_touches) {
    const ons_extent in_place[] = {extent(0, 8), extent(0, 8)}, beside[] = {extent(8, 16), extent(8, 16)};
    const ons_extent reads_first[] = {extent(4, 5), extent(16, 24)}, shared[] = {extent(32, 40), extent(24, 32)};
    const ons_extent shared_too[] = {extent(32, 40), extent(40, 48)};
    const ons_touched apart[] = {{in_place, 1, 2}, {beside, 1, 2}, {shared, 1, 2}, {shared_too, 1, 2}};
    cr_expect_eq(ons_launch_group_count(apart, 4), 4, "both may read the same");
    const ons_touched after_a_write[] = {{in_place, 1, 2}, {shared, 1, 2}, {reads_first, 1, 2}, {beside, 1, 2}};
    cr_expect_eq(ons_launch_group_count(after_a_write, 4), 2);
    const ons_touched over_what_was_read[] = {{reads_first, 1, 2}, {in_place, 1, 2}};
    cr_expect_eq(ons_launch_group_count(over_what_was_read, 2), 1);
    const ons_touched twice[] = {{shared, 1, 2}, {shared, 1, 2}};
    cr_expect_eq(ons_launch_group_count(twice, 2), 1);
    cr_expect_eq(ons_launch_group_count(twice, 1), 1);
}

static uint32_t draw(uint64_t *random, uint32_t below) {
    *random = *random * 6364136223846793005U + 1442695040888963407U;
    return (uint32_t)(*random >> 33) % below;
}

typedef struct scene {
    ons_extent extents[NODES][EXTENTS];
    ons_touched nodes[NODES];
} scene;

static void build(scene *s, uint64_t *random) {
    for (int i = 0; i < NODES; ++i) {
        uint32_t count = 1 + draw(random, EXTENTS);
        s->nodes[i] = (ons_touched){s->extents[i], draw(random, count + 1), count};
        for (uint32_t k = 0; k < count; ++k) {
            uint32_t first = draw(random, BYTES - 3);
            s->extents[i][k] = extent(first, first + 1 + draw(random, 3));
        }
    }
}

/* Byte by byte: what node `i` writes (or touches) of a byte that an earlier one has touched (or written). */
static bool fits(const scene *s, uint32_t first, uint32_t node) {
    bool read[BYTES] = {false}, written[BYTES] = {false};
    for (uint32_t i = first; i < node; ++i)
        for (uint32_t k = 0; k < s->nodes[i].count; ++k)
            for (const char *at = s->extents[i][k].first; at < s->extents[i][k].end; ++at)
                (k < s->nodes[i].reads ? read : written)[at - memory] = true;
    for (uint32_t k = 0; k < s->nodes[node].count; ++k)
        for (const char *at = s->extents[node][k].first; at < s->extents[node][k].end; ++at)
            if (written[at - memory] || (k >= s->nodes[node].reads && read[at - memory])) return false;
    return true;
}

Test(launch_groups, random_nodes) {
    uint32_t longest = 0;
    for (uint64_t seed = 1; seed <= 500; ++seed) {
        uint64_t random = seed * 7919;
        scene s;
        build(&s, &random);
        for (uint32_t first = 0; first < NODES; ++first) {
            uint32_t end = first + 1;
            while (end < NODES && fits(&s, first, end)) ++end;
            cr_expect_eq(ons_launch_group_count(s.nodes + first, NODES - first), end - first, "seed %llu, from %u",
                         (unsigned long long)seed, first);
            longest = end - first > longest ? end - first : longest;
        }
    }
    cr_expect_gt(longest, 2);
}
