/* What it costs to add gradients up over replicas, as the runtime does it (runtime/pipeline/reduction.h). */
#ifndef ONSTAGE_PLANNER_PARTITION_REDUCE_H
#define ONSTAGE_PLANNER_PARTITION_REDUCE_H

#include "planner/partition/partition.h"

/* Gives how many bytes a bucket of sums has, at most, where all have so many: nothing hides the last bucket, so a
 * sixteenth of them, but no more than is quick, and no less than a message is worth. */
int64_t ons_reduce_bucket_bytes(int64_t sum_bytes);

/* Gives the seconds between a stage's last backward part and its update in which nothing but the sum over replicas is
 * left to do, for nodes [first, end). Of every bucket a replica sends and receives (R - 1) / R of the bytes twice, in
 * R - 1 messages each time; buckets follow each other beside the last micro-batch's backward part as it completes them,
 * evenly. Where updates are divided sums go one way alone, unless norms are read of them, and behind the update
 * weights go the other way, which nothing hides. The slowest link between replicas counts. 0: one replica, or links
 * cost nothing. */
double ons_reduce_seconds(const ons_planning_problem *problem, uint32_t first, uint32_t end);

/* ons_reduce_seconds for so many bytes of gradients, which a backward part of so many seconds completes; of the problem
 * the links alone are looked at. */
double ons_reduce_bytes_seconds(const ons_planning_problem *problem, int64_t bytes, double backward_seconds,
                                uint32_t replicas);

/* ons_reduce_seconds for nodes [first, end) as the schedule's stage: over its own copies, where it has several, else
 * over replicas of the whole pipeline. */
double ons_reduce_stage_seconds(const ons_planning_problem *problem, const ons_schedule *schedule, uint32_t stage,
                                uint32_t first, uint32_t end);

#endif
