/* Random workloads, and the random numbers that made them: the same seed gives the same workload everywhere. A test
 * that uses them prints the seed with what it found (random_work_name holds it). */
#ifndef ONSTAGE_TESTS_ROOMS_PLANNER_RANDOM_WORK_H
#define ONSTAGE_TESTS_ROOMS_PLANNER_RANDOM_WORK_H

#include "planner/workload/workload.h"

/* SplitMix64: small, and good enough to choose test data with. */
typedef struct random_source {
    uint64_t state;
} random_source;

uint64_t random_next(random_source *random);
uint32_t random_below(random_source *random, uint32_t bound); /* bound > 0 */
double random_unit(random_source *random);                    /* [0, 1) */
bool random_chance(random_source *random, double probability);
/* Between low and high; heavy-tailed: most values near low, a few near high (uniform in the logarithm's square). */
double random_between(random_source *random, double low, double high, bool heavy_tailed);

/* Probabilities are per node. All zero but `seed` and `nodes` is a plain chain: each node reads the one before it and
 * saves what it reads, node 0 reads the data. */
typedef struct random_work_options {
    uint64_t seed;
    uint32_t nodes; /* > 0 */
    bool heavy_tailed;
    double skips;          /* reads one more, earlier tensor */
    double branches;       /* makes a second tensor */
    double unsaved;        /* a read is not saved for backward */
    double saves_output;   /* saves what it makes as well */
    double tied;           /* uses the weight of an earlier node instead of one of its own */
    double outside;        /* reads data of its own (masks, positions) */
    double frozen;         /* its weight is not trained */
    double not_repeatable; /* its forward part may not run again */
} random_work_options;

/* Everything at once: a graph as training graphs are, with skips, ties and data in the middle. */
random_work_options random_work_graph(uint64_t seed, uint32_t nodes);

/* In `arena`; finished (ons_workload_finish). The name tells the seed. Bytes are multiples of 64 from 64 up to some
 * 64 KiB, seconds between 1e-5 and 1e-3 for a forward part. */
ons_status *random_work_make(const random_work_options *options, ons_arena *arena, ons_workload *work);

/* A workload of fixed numbers: a chain of `nodes`, each with one tensor of 1000 bytes that the next node reads and
 * saves, 1 ms forward, 1 ms for each gradient, a weight of 100 bytes (gradient 100, state 200). No data. */
ons_status *uniform_work_make(uint32_t nodes, ons_arena *arena, ons_workload *work);

#endif
