/* What it costs to add gradients up over replicas, as the runtime does it (runtime/pipeline/reduction.h). */
#ifndef ONSTAGE_PLANNER_PARTITION_REDUCE_H
#define ONSTAGE_PLANNER_PARTITION_REDUCE_H

#include "planner/partition/partition.h"

/* Gradients are added up in buckets of so many bytes, at most. */
enum { ONS_REDUCE_BUCKET_BYTES = 4 << 20 };

/* Gives the seconds between a stage's last backward part and its update in which nothing but the sum over replicas is
 * left to do, for nodes [first, end). Of every bucket a replica sends and receives (R - 1) / R of the bytes twice, in
 * R - 1 messages each time; buckets follow each other beside the last micro-batch's backward part as it completes them,
 * evenly. 0: one replica, or links cost nothing. */
double ons_reduce_seconds(const ons_planning_problem *problem, uint32_t first, uint32_t end);

/* The same for so many bytes of gradients that a backward part of so many seconds completes; of the problem the links
 * alone are looked at. */
double ons_reduce_bytes_seconds(const ons_planning_problem *problem, int64_t bytes, double backward_seconds,
                                uint32_t replicas);

#endif
