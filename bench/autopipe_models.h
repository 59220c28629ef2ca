/* The models of AutoPipe's tables as workloads of blocks, on its GPUs, with costs that are computed, not measured:
 *
 *   embedding, (attention, feed-forward) of each layer, head with the loss
 *
 * A block is a node, and two of them a layer. Each saves its input alone and computes its forward part again in front
 * of the backward part (activation checkpointing is always on, section IV-A). */
#ifndef ONSTAGE_BENCH_AUTOPIPE_MODELS_H
#define ONSTAGE_BENCH_AUTOPIPE_MODELS_H

#include "planner/partition/partition.h"

typedef struct autopipe_model {
    const char *name;
    uint32_t layers;
    int64_t hidden, heads, sequence, vocabulary;
    int64_t samples;     /* of a micro-batch */
    double flops;        /* a second, in matrix multiplications */
    int64_t score_bytes; /* that attention keeps of each score until its gradient */
    double head_share;   /* of the time that the head takes at this rate */
} autopipe_model;

/* 16-bit tensors: 2 bytes of an element; of a parameter 2 + 4 (gradient) + 14 (32-bit copy, Adam's two, gradient in 16
 * bits); of a logit 10: itself, a 32-bit copy, and its probability. */
enum {
    AUTOPIPE_PARAMETER_BYTES = 20,
    AUTOPIPE_LOGIT_BYTES = 10,
    AUTOPIPE_PROBABILITY_BYTES = 4, /* of these, what the head saves */
};
extern const double autopipe_memory_bandwidth; /* bytes a second of an RTX 3090 */
extern const double autopipe_link_bandwidth;   /* 100 Gbit/s; "almost identical" within a machine (section IV-D) */
extern const double autopipe_link_latency;
extern const int64_t autopipe_capacity;

autopipe_model autopipe_gpt2_345m(int64_t samples);
autopipe_model autopipe_gpt2_762m(int64_t samples);
autopipe_model autopipe_gpt2_1_3b(int64_t samples);
autopipe_model autopipe_bert_large(int64_t samples);

/* Everything in `arena`. The workload's layers are the embedding, the model's layers and the head. */
ons_status *autopipe_model_make(const autopipe_model *model, ons_arena *arena, ons_workload *work);

/* 1F1B on so many stages. */
ons_planning_problem autopipe_problem(const ons_workload *work, uint32_t stages, uint32_t micro_batches);

#endif
