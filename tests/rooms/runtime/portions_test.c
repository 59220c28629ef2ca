/* Ranks of a group share a step's micro-batches: each is one rank's, in ranges or in turn, and so are the samples. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "runtime/data/portions.h"

enum { MOST = 64 };

/* Which rank has each of the step's micro-batches. */
static void share_out(const ons_rank_group *rank_group, uint64_t micro_batches, uint32_t owners[static MOST]) {
    uint64_t taken = 0;
    for (uint32_t rank = 0; rank < rank_group->count; ++rank) {
        ons_numbers numbers = ons_rank_group_numbers(rank_group, rank, micro_batches);
        for (uint64_t i = 0; i < numbers.count; ++i, ++taken) {
            uint64_t number = numbers.first + i * numbers.stride;
            cr_assert_lt(number, micro_batches);
            owners[number] = rank;
            cr_assert_eq(ons_numbers_before(&numbers, number), i);
            cr_assert_eq(ons_numbers_before(&numbers, number + 1), i + 1);
        }
    }
    cr_assert_eq(taken, micro_batches, "%u ranks have %llu of %llu micro-batches", rank_group->count,
                 (unsigned long long)taken, (unsigned long long)micro_batches);
}

static void check_owners(const ons_rank_group *rank_group, uint64_t micro_batches) {
    uint32_t owners[MOST] = {0};
    share_out(rank_group, micro_batches, owners);
    for (uint64_t i = 0; i < micro_batches; ++i) {
        if (rank_group->in_turn) cr_assert_eq(owners[i], i % rank_group->count);
        if (!rank_group->in_turn && i > 0) cr_assert_geq(owners[i], owners[i - 1], "ranges follow each other");
    }
}

/* What all ranks have is the step, variant by variant, and each micro-batch begins where those before it end. */
static void check_portions(const ons_rank_group *rank_group, const ons_portions *p) {
    uint64_t counts[ONS_BATCH_VARIANTS] = {0}, total = ons_portions_total(p), sample = 0;
    for (uint32_t rank = 0; rank < rank_group->count; ++rank) {
        ons_numbers numbers = ons_rank_group_numbers(rank_group, rank, total);
        ons_portions own = ons_portions_of_numbers(*p, &numbers);
        cr_assert_eq(ons_portions_total(&own), numbers.count);
        for (int v = 0; v < ONS_BATCH_VARIANTS; ++v) counts[v] += own.count[v];
    }
    for (int v = 0; v < ONS_BATCH_VARIANTS; ++v) cr_assert_eq(counts[v], p->count[v]);
    for (uint64_t number = 0, variant = 0, of_variant = 0; number < total; ++number, ++of_variant) {
        for (; of_variant == p->count[variant]; of_variant = 0) ++variant;
        cr_assert_eq(ons_portions_first_sample(p, number), sample);
        sample += p->rows[variant];
    }
    cr_assert_eq(sample, ons_portions_samples(p));
}

Test(portions, of_a_ring_are_the_step) {
    const char *given = getenv("SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    fprintf(stderr, "SEED=%llu\n", (unsigned long long)seed);
    srandom((unsigned)seed);
    for (int round = 0; round < 2000; ++round) {
        const ons_rank_group rank_group = {0, 1 + (uint32_t)random() % 7, random() % 2 == 0};
        uint64_t micro_batches = 1 + (uint64_t)random() % (MOST - 1), batch = micro_batches + (uint64_t)random() % 100;
        check_owners(&rank_group, micro_batches);
        cr_assert_gt(micro_batches, 0);
        ons_portions p = ons_portions_make(batch, micro_batches, 1 + (uint64_t)random() % batch);
        check_portions(&rank_group, &p);
    }
}
