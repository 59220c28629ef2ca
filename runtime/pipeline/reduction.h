/* What replicas of a stage have to add up before an update, and how that is divided among them. Its copies, which take
 * micro-batches in turn, are replicas here.
 *
 * Every replica has the same program over other samples. What its micro-batches add up over a step (gradients, the
 * loss) is summed over the replicas before the part of the end reads it; running means of the forward part are joined
 * as if one replica had computed all micro-batches one after the other. Sums are taken in buckets, in the order in
 * which the backward part makes them. Of every sum each replica owns a slice (graph/slice.h): it receives the others'
 * pieces of the slice, adds them in the order of the replicas, and hands the result back. So every element is summed in
 * one order, whatever the buckets are and whoever is late, and each replica sends and receives what a ring does:
 * 2 · (R - 1) / R of the bytes.
 *
 * Where updates are divided (runtime/program/update_shard.h) a sum that updates alone read is not handed back: its
 * owner brings its slice of the weight up to date, and hands that to the others when all updates have run.
 */
#ifndef ONSTAGE_RUNTIME_PIPELINE_REDUCTION_H
#define ONSTAGE_RUNTIME_PIPELINE_REDUCTION_H

#include "runtime/program/stage_program.h"

/* Something that is summed, by the name of the persistent value in whose place it lies. */
typedef struct ons_sum {
    const char *name;
    const char *node; /* that adds it up, the first program's */
    ons_dtype dtype;
    int64_t elements; /* as it lies in memory */
    bool is_mean;     /* a running mean: the sum of all, each decayed by the micro-batches behind it */
    double decay;     /* of a micro-batch */
    bool is_common;   /* … that replicas keep together: the first one's, which has had all micro-batches */
    bool stays;       /* with the owners of its slices */
} ons_sum;

/* A weight of which each replica brings a slice up to date. */
typedef struct ons_divided_weight {
    const char *name;
    ons_dtype dtype;
    int64_t elements;
} ons_divided_weight;

/* Elements of a sum that one slice of a bucket has. */
typedef struct ons_sum_piece {
    uint32_t sum;
    int64_t first, count;
} ons_sum_piece;

typedef struct ons_sum_bucket {
    const ons_sum_piece *pieces; /* slice by slice */
    const uint32_t *begin;       /* of each replica's slice, and the end of the last one */
    const int64_t *bytes;        /* of each replica's slice */
    bool stays;                  /* all sums in the bucket stay: see ons_sum.stays */
} ons_sum_bucket;

/* Buckets on their way at once, so that a link is not idle while the ends of a message find each other. Each has a
 * place for what comes from others: bucket b has place b % ONS_REDUCTION_IN_FLIGHT. */
enum { ONS_REDUCTION_IN_FLIGHT = 4 };

typedef struct ons_reduction {
    uint32_t replicas;
    const ons_sum *sums;
    uint32_t sum_count;
    const ons_sum_bucket *buckets;
    uint32_t bucket_count;
    const ons_divided_weight *weights;
    uint32_t weight_count;
    int64_t staging_bytes; /* of the device: `in_flight` times the others' pieces of the largest slice */
    uint32_t in_flight;    /* no more than buckets */
    bool meets;            /* kernels meet the same nodes of other replicas */
    const ons_stage_program *const *programs;
    uint32_t program_count;
    /* [program][bucket]: the position in front of which, in the last micro-batch, a bucket's sums are complete */
    const uint32_t *const *ready;
} ons_reduction;

/* Says how many bytes a bucket has, at most, where all sums have so many. */
typedef int64_t ons_bucket_rule(int64_t sum_bytes);

/* `programs`: of a training step, in any order; all have the same sums (ONS_DEFECT otherwise), whose order is the first
 * one's, and the same shard. Everything in `arena`; `programs` stays the caller's and outlives the result. */
ons_status *ons_reduction_plan(const ons_stage_program *const *programs, uint32_t program_count, uint32_t replicas,
                               ons_bucket_rule *bucket_bytes, ons_arena *arena, ons_reduction *reduction);

#endif
