/* Models whose vocabularies are sharded, as the engine writes them: shards of a table, the sum of what they look up, a
 * row of layers, shards of a head, and what joins these. */
#ifndef ONSTAGE_TESTS_ROOMS_PLANNER_SHARD_WORK_H
#define ONSTAGE_TESTS_ROOMS_PLANNER_SHARD_WORK_H

#include "planner/search/planner.h"
#include "tests/rooms/planner/branch_work.h"

/* Seconds are those of a forward part; a backward part takes twice that. */
typedef struct shard_model {
    uint32_t shards; /* of each vocabulary; 1: one node each, of no shard */
    uint32_t layers;
    double layer_seconds;
    double table_seconds, head_seconds; /* of all shards together; 0: no such vocabulary */
    double tail_seconds;
    double unevenness;               /* of layers and shards: each takes up to so much more or less, relatively */
    int64_t layer_bytes, head_bytes; /* of a layer's result, and the logits of all shards together */
    int64_t weight_bytes;            /* of a layer; all shards of a vocabulary have ten times as much */
    uint64_t seed;
} shard_model;

typedef struct shard_work {
    ons_workload work;
    ons_node_shards shards; /* `of` in the arena */
} shard_work;

/* Twelve layers between a small table and a large head. */
shard_model shard_language_model(uint32_t shards, uint64_t seed);

/* In `arena`, for a micro-batch of one sample. The result's address must stay: problems point into it. */
ons_status *shard_work_make(const shard_model *model, ons_arena *arena, shard_work *made);

/* Poses it: 1F1B asked for, without links and capacity. */
ons_planning_problem shard_work_pose(const shard_work *made, uint32_t devices, uint32_t micro_batches);

/* The names of a stage's nodes, each with a blank behind it. In `arena`. */
const char *shard_names_of(const ons_planned *planned, uint32_t stage, ons_arena *arena);

#endif
