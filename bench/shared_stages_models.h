/* The models of FlexPipe's evaluation (its tables 3 and 4) as stages with costs, from what its paper says of them; what
 * it does not say is in bench/results/shared_stages.md, with the results. For //bench:shared_stages. */
#ifndef ONSTAGE_BENCH_SHARED_STAGES_MODELS_H
#define ONSTAGE_BENCH_SHARED_STAGES_MODELS_H

#include "planner/cost/device_profile.h"
#include "planner/shared_stages/placed_plan.h"

/* Nodes of eight A800s. */
typedef struct shared_machine {
    ons_device_profile profile;
    ons_link_cost node, network;
    int64_t node_devices, capacity;
} shared_machine;

/* A stack of transformer layers, with a vocabulary at both ends or, 0, none. */
typedef struct shared_model {
    int64_t layers, hidden, tokens, vocabulary;
} shared_model;

enum {
    SHARED_WEIGHT_BYTES = 16, /* of a weight in 16 bits: itself, its gradient, and 12 in 32 bits */
    SHARED_ELEMENT_BYTES = 2,
};

ons_status *shared_machine_load(ons_arena *arena, shared_machine *machine);

/* How a line of stages is run: each stage by so many replicas, a part of so many samples of one. */
typedef struct shared_way {
    uint32_t devices, replicas; /* of the line; of each stage */
    int64_t samples;
    bool recompute; /* layers save what they read, and compute the rest again */
    bool both_ways;
} shared_way;

/* Seconds and bytes of a stage of so many layers. */
ons_placed_stage shared_layers(const shared_machine *machine, const shared_model *model, const shared_way *way,
                               int64_t layers);
/* Of a shard of the embedding, or of the head with its loss, over so many devices; 1: all of it. */
ons_placed_stage shared_embedding(const shared_machine *machine, const shared_model *model, const shared_way *way,
                                  uint32_t shards);
ons_placed_stage shared_head(const shared_machine *machine, const shared_model *model, const shared_way *way,
                             uint32_t shards);
/* Adds a second stage's work to a stage that runs both. */
void shared_add(ons_placed_stage *stage, const ons_placed_stage *more);

/* The link between devices of a line, and the seconds of a message of what stages pass on. */
ons_link_cost shared_link(const shared_machine *machine, const shared_way *way);
double shared_message(const shared_machine *machine, const shared_model *model, const shared_way *way);

#endif
