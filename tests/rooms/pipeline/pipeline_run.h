/* Trains a model cut in any way and keeps all that must have the bits of the uncut run. Without Criterion, so that
 * plain programs use it too. */
#ifndef ONSTAGE_TESTS_ROOMS_PIPELINE_PIPELINE_RUN_H
#define ONSTAGE_TESTS_ROOMS_PIPELINE_PIPELINE_RUN_H

#include "planner/schedule/schedule.h"

typedef enum pipeline_eviction {
    PIPELINE_KEEPS,
    PIPELINE_SWAPS,
    PIPELINE_RECOMPUTES,
    PIPELINE_SWAPS_AND_RECOMPUTES,
    PIPELINE_EVICTIONS,
} pipeline_eviction;
const char *pipeline_eviction_name(pipeline_eviction eviction);

struct ons_config;
struct ons_local_stages;
struct ons_transport;

typedef struct pipeline_setting {
    const char *model;                      /* a folder of tests/agreement/golden */
    const char *const *options;             /* NAME, VALUE, …, NULL; or NULL */
    uint32_t batch, micro_batches, threads; /* batch 0: golden.json's for each micro-batch, … */
    uint32_t more; /* … and so many samples that do not come out even; not where the model's batch is fixed */
    uint32_t steps;
    uint32_t sliced; /* the first micro-batches whose forward parts are in halves, where no plan says it */
    /* how it is cut; one stage that keeps everything is what others are compared with */
    uint32_t stages, devices;  /* devices 0: as the schedule takes them */
    const ons_generator *kind; /* NULL: gpipe */
    pipeline_eviction eviction;
    uint32_t one_in;        /* a decision for one in so many values; 0: all of them */
    bool scattered;         /* nodes anywhere, not only intervals of them */
    uint32_t replicas;      /* 0: one */
    const uint32_t *copies; /* of each stage, each on a device of its own, by the lists of tests/rooms/pipeline/copies.h
                               in the place of `kind`: gpipe's order, or 1f1b's. NULL: none */
    bool grouped;           /* replicas or copies, but in sequence: tests/rooms/pipeline/grouped.h … */
    bool backwards;         /* … with sums from the last replica to the first */
    bool quiet;             /* nobody asks for gradients' norms */
    bool late;              /* every message waits for a random time, and a process before each step */
    bool nccl;              /* devices are GPUs of their own, with NCCL between them */
    const uint32_t *sizes;  /* [stage]: so many micro-batches are one of the stage's own, by lists made here
                               (tests/rooms/pipeline/stage_size_lists.h), for `copies`, too. NULL: one everywhere */
    uint32_t in_flight;     /* … of which so many wait in a copy at most, where that is enough; 0: all */
    bool replayed;          /* one thread runs the schedule's lists: tests/rooms/pipeline/replayed.h */
    bool delayed;           /* pipedream, but in sequence: tests/rooms/pipeline/delayed.h with the same cut */
    uint64_t seed;
    const char
        *plan;   /* or: a plan's file, which says all of that and what each device takes, to the byte. NULL: none */
    int64_t cap; /* of each device, in bytes; 0: none */
    /* This process is the stage of its rank, the others are in other processes; NULL: all are threads of this one. */
    struct ons_transport *transport;
    /* Called before the first step, where the run is ready to start; and behind the last one. NULL: nothing. */
    void (*look)(void *context, const struct ons_local_stages *local_stages, const ons_pipeline *pipeline);
    void (*look_back)(void *context, const struct ons_local_stages *local_stages, const ons_pipeline *pipeline);
    void *context;
} pipeline_setting;

/* What came out. */
typedef struct pipeline_record {
    ons_arena *arena; /* owned */
    double *losses, *norms;
    double *squares; /* of each step and trained weight */
    uint32_t steps, trained;
    struct pipeline_value {
        const char *name;
        void *data;
        size_t bytes;
    } * values; /* weights, states and statistics in the order of the training graph */
    uint32_t value_count;
    uint32_t swaps, clones; /* that were in the cut */
    bool fixed;             /* the model takes one size of micro-batch alone */
    int64_t memory;         /* of all stages in this process */
} pipeline_record;

/* Options of the model's run, as pipeline_run sets them: `more` is left to it. */
ons_status *pipeline_configure(const pipeline_setting *setting, struct ons_config *config);

/* Fails where the run does; where an arena is not as large as predicted, or as planned; where memory outside of it was
 * written; where copies of one value differ from stage to stage. */
ons_status *pipeline_run(const pipeline_setting *setting, pipeline_record *record);
/* Whether the cuts that the seed makes can be carried out with these sizes of micro-batches: what goes between stages
 * of different sizes has its samples outermost in memory. */
ons_status *pipeline_can_cut(pipeline_setting setting, bool *can);
/* Raises the seed to the first with which that is so. Cuts by a seed are others when a graph has other nodes. */
ons_status *pipeline_find_cut(pipeline_setting *setting);
void pipeline_record_free(pipeline_record *record); /* a zeroed one is fine */

/* Fails with the first difference, down to the bit. */
ons_status *pipeline_compare(const pipeline_record *whole, const pipeline_record *cut);

/* pipeline_parts.c: the records of stages that were processes. What each has is what the whole has, and all of it is
 * somewhere. */
ons_status *pipeline_compare_parts(const pipeline_record *whole, const pipeline_record *parts, uint32_t count);
ons_status *pipeline_record_write(const pipeline_record *record, const char *path);
ons_status *pipeline_record_read(const char *path, pipeline_record *record);

/* The largest difference of losses and of what was trained in float32, for runs that are the same but for roundings;
 * INFINITY where a value is missing. */
double pipeline_distance(const pipeline_record *a, const pipeline_record *b);

#endif
