/* What is derived from a workload so that a stage can be evaluated without walking its nodes. */
#ifndef ONSTAGE_PLANNER_WORKLOAD_WORKLOAD_INDEX_H
#define ONSTAGE_PLANNER_WORKLOAD_WORKLOAD_INDEX_H

#include "planner/workload/workload.h"

/* Lists by node or cut: those of i are items[begin[i]] to items[begin[i + 1] - 1]. */
typedef struct ons_work_lists {
    uint32_t *begin;
    uint32_t *items;
} ons_work_lists;

/* Largest of any interval in O(1): row r holds the largest of 2^r neighbours. */
typedef struct ons_range_maximum {
    int64_t **rows;
} ons_range_maximum;

struct ons_work_index {
    double *forward_seconds, *backward_seconds, *weight_seconds, *update_seconds; /* [i]: of nodes before i */
    int64_t *saved_by_producer;                      /* [i]: bytes of saved tensors made before i */
    int64_t *gradients_by_producer;                  /* [i]: bytes of gradients of tensors made before i */
    int64_t *saved_by_saver;                         /* [i]: bytes of tensors whose first saver stands before i */
    int64_t *weights, *gradients, *states, *trained; /* [i]: of weights whose first user stands before i */
    int64_t *cut_bytes, *cut_gradient_bytes;         /* [i]: over the cut in front of i */
    ons_range_maximum forward_alive, backward_alive; /* bytes alive while a part of node i runs, in an unsplit run */
    ons_work_lists produces, reads, saves, uses;
    uint32_t *outside; /* tensors that no node makes: every stage that uses one is sent its own */
    uint32_t outside_count;
    ons_work_lists crossing;         /* tensors over each cut */
    ons_work_lists crossing_weights; /* weights with users on both sides of each cut */
};

/* Makes the table of `count` values, which must stay. In `arena`: count · log2(count) numbers. */
ons_status *ons_range_maximum_make(ons_range_maximum *m, int64_t *values, uint32_t count, ons_arena *arena);
int64_t ons_range_maximum_find(const ons_range_maximum *m, uint32_t first, uint32_t end); /* first < end */

#endif
