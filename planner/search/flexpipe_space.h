/* What FlexPipe's tuner chooses from ("A Flexible Programmable Pipeline Parallelism Framework for Efficient DNN
 * Training", Jiang et al., 2025, section 6): a grid over
 *
 *   (pp, mbs, placement, order of stages on the forward way, the same on the way back, type of computation)
 *
 * pp, the devices of a pipeline, and mbs, the samples of a micro-batch, are powers of two. Orders of stages are breadth
 * or depth first, and each of them with an interval of pp where the placement is circular; types are backward first or
 * interleaved, unless forward first is asked for, with units of 1. So a pair of pp and mbs has
 *
 *   circular  4 * 4 * 2 = 32      V  2 * 2 * 2 = 8      one to one  2 * 2 * 2 = 8
 *
 * schedules. (The paper has two bidirectional placements besides, 8 each, in which a device holds stages of two copies
 * of the model.) Limits of micro-batches in flight, which it lets users set, can be a dimension here.
 */
#ifndef ONSTAGE_PLANNER_SEARCH_FLEXPIPE_SPACE_H
#define ONSTAGE_PLANNER_SEARCH_FLEXPIPE_SPACE_H

#include "planner/schedule/flexpipe.h"

enum { ONS_PLACEMENTS = 3 };

/* Micro-batches in flight on stage s of S. */
typedef enum ons_flexpipe_limit {
    ONS_LIMIT_NONE,
    ONS_LIMIT_STRAIGHT, /* S - s, as 1F1B with a stage on each device */
    ONS_LIMIT_HALF,     /* half as many */
    ONS_FLEXPIPE_LIMITS
} ons_flexpipe_limit;

typedef struct ons_flexpipe_space {
    uint32_t least_devices, most_devices; /* pp: powers of two among these */
    int64_t batch;                        /* samples of a step */
    int64_t least_samples, most_samples;  /* mbs: powers of two among these that divide the batch */
    uint32_t chunks;                      /* stages on a device of a circular or V placement */
    bool copies;        /* devices beside a pipeline hold copies of it, each with its share of the batch */
    bool forward_first; /* as a type, too */
    bool intervals;     /* with every placement, not the circular one alone */
    bool limits;        /* each of ons_flexpipe_limit; else none */
} ons_flexpipe_space;

/* The sizes of a run: a pair of pp and mbs. */
typedef struct ons_flexpipe_sizes {
    uint32_t devices, copies, micro_batches;
    int64_t samples;
} ons_flexpipe_sizes;

typedef struct ons_flexpipe_type {
    ons_flexpipe_options options; /* without limits */
    ons_flexpipe_limit limit;
} ons_flexpipe_type;

/* Lists the pairs in which each copy has at least one micro-batch. In `arena`. */
ons_status *ons_flexpipe_list_sizes(const ons_flexpipe_space *space, ons_arena *arena, ons_flexpipe_sizes **list,
                                    uint32_t *count);

/* Schedules of a placement for one pair, and the one of that number. */
uint32_t ons_flexpipe_types(const ons_flexpipe_space *space, ons_placement placement);
ons_flexpipe_type ons_flexpipe_type_at(const ons_flexpipe_space *space, ons_placement placement, uint32_t devices,
                                       uint32_t index);

/* Stages that the placement lays on so many devices. */
uint32_t ons_flexpipe_stages(const ons_flexpipe_space *space, ons_placement placement, uint32_t devices);

/* "circular, interleaved, forward depth first by 4, back breadth first, half in flight" */
const char *ons_flexpipe_name(const ons_flexpipe_type *type, ons_arena *arena);

#endif
