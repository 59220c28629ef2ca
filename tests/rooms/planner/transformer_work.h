/* A workload as a transformer's training graph gives it, of any size, without a model: for measuring how planning time
 * grows. An encoder layer is 51 nodes, with four large tensors that attention saves, dropout masks, and residual
 * connections; a mask made at the start is read by every layer. Costs follow from FLOPs and bytes on a device of
 * 60 TFLOP/s and 1.5 TB/s.
 */
#ifndef ONSTAGE_TESTS_ROOMS_PLANNER_TRANSFORMER_WORK_H
#define ONSTAGE_TESTS_ROOMS_PLANNER_TRANSFORMER_WORK_H

#include "planner/schedule/schedule.h"
#include "planner/workload/workload.h"

typedef struct transformer_work_options {
    uint32_t layers;
    int64_t hidden, heads, sequence, samples, vocabulary;
} transformer_work_options;

/* 24 layers of 1024, 16 heads, 512 tokens: 340 million parameters, as BERT-large. */
transformer_work_options transformer_work_bert(int64_t samples);
/* 96 layers of 12288, 96 heads, 2048 tokens: 175 billion parameters, as GPT-3. */
transformer_work_options transformer_work_gpt3(int64_t samples);

/* In `arena`, finished. */
ons_status *transformer_work_make(const transformer_work_options *options, ons_arena *arena, ons_workload *work);

/* Bytes of a device between what the weights take and what all of an even split takes, at most `share` of the way. */
int64_t transformer_work_capacity(const ons_workload *work, const ons_pipeline *pipeline, double share);

#endif
