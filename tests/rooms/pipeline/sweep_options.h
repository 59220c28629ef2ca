/* What the sweep tries: lists of names and numbers, whose product it walks. */
#ifndef ONSTAGE_TESTS_ROOMS_PIPELINE_SWEEP_OPTIONS_H
#define ONSTAGE_TESTS_ROOMS_PIPELINE_SWEEP_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

typedef enum sweep_list {
    /* dimensions, those that change slowest first */
    SWEEP_MODELS,
    SWEEP_MICRO_BATCHES, /* "3+2": three, of which two have a sample more */
    SWEEP_THREADS,
    SWEEP_REPLICAS,
    SWEEP_PIPELINES,
    SWEEP_DEVICES,
    SWEEP_CHUNKS, /* stages on a device */
    SWEEP_CUTS,   /* see sweep_cut */
    SWEEP_ROUNDS, /* --rounds N: 0 to N - 1 */
    SWEEP_TRANSPORTS,
    SWEEP_DIMENSIONS,
    /* single numbers */
    SWEEP_STEPS = SWEEP_DIMENSIONS,
    SWEEP_SEED,   /* 0: by the clock */
    SWEEP_ONE_IN, /* a case in so many is tried, as the seed says */
    SWEEP_LISTS
} sweep_list;

/* Fails where something is unknown, and says on stderr what is known. */
bool sweep_parse(int argc, char **argv);

const char *sweep_item(sweep_list list, uint32_t index);
uint64_t sweep_number(sweep_list list, uint32_t index);
/* Of each dimension, and of all together. */
uint32_t sweep_count(sweep_list list);
uint64_t sweep_product(void);
/* at[dimension]: which item it is in the case of this number. */
void sweep_decode(uint64_t number, uint32_t at[SWEEP_DIMENSIONS]);

/* The decimal seed that was given, or that of the clock. */
uint64_t sweep_seed(void);
bool sweep_is_drawn(uint64_t number);

#endif
