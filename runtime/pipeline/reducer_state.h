/* What a reducer consists of: shared by reducer.c (its life, the order of buckets) and what carries buckets out,
 * reducer_host.c and reducer_gpu.c. */
#ifndef ONSTAGE_RUNTIME_PIPELINE_REDUCER_STATE_H
#define ONSTAGE_RUNTIME_PIPELINE_REDUCER_STATE_H

#include "runtime/pipeline/reducer.h"

/* Who sends, receives and adds. */
typedef struct ons_reducer_medium {
    ons_status *(*set_up)(ons_reducer *r);
    void (*tear_down)(ons_reducer *r); /* also of what is half set up */
    void (*drain)(ons_reducer *r);     /* NULL: nothing of the streams' outlives the transport */
    /* A running mean begins at 0, before the pass. */
    void (*begin_mean)(ons_reducer *r, uint32_t sum, int64_t bytes);
    /* A running mean in float32 is multiplied by ons_reducer_skipped, behind what is on `compute`. NULL: that is not
     * done here. */
    void (*skip_turns)(ons_reducer *r, uint32_t sum, ons_stream *compute);
    /* What is on `compute` completes the bucket. */
    void (*complete)(ons_reducer *r, uint32_t bucket, ons_stream *compute);
    /* Begins the sum of a bucket that is complete; in the order of buckets. */
    ons_status *(*launch)(ons_reducer *r, uint32_t bucket);
    /* All buckets are complete: `compute` waits for their sums. */
    ons_status *(*finish)(ons_reducer *r, ons_stream *compute);
    /* There are weights; `compute` waits until they are whole. */
    ons_status *(*hand_over_weights)(ons_reducer *r, ons_stream *compute);
} ons_reducer_medium;

extern const ons_reducer_medium ons_reducer_by_host, ons_reducer_by_gpu;

typedef struct ons_reducer_host ons_reducer_host;
typedef struct ons_reducer_gpu ons_reducer_gpu;

struct ons_reducer {
    ons_reducer_options o;
    const ons_reducer_medium *medium;
    ons_reducer_host *host; /* the medium's own: one of the two */
    ons_reducer_gpu *gpu;
    ons_device *device;
    ons_arena *arena;
    ons_reducer_clock clock; /* begin NULL: there is none */
    ons_replicas replicas;   /* gather NULL: kernels do not meet */
    char **sums, **weights;  /* of each: where it lies */
    bool *is_complete;       /* [bucket] */
    uint32_t next;           /* bucket that is begun next */
    ons_meanwhile meanwhile; /* of meetings */
    /* the step that runs */
    ons_replica_work work;
    uint64_t step;
    atomic_bool *cut_off;
};

/* Channels' numbers, above those of the pipeline's own messages, and of the engine's between two ranks. */
enum { ONS_REDUCER_MEETINGS = 1000007, ONS_REDUCER_SUMS = 1000008 };

static inline size_t ons_reducer_element_bytes(const ons_reducer *r, const ons_sum_piece *piece) {
    return ons_dtype_size(r->o.reduction->sums[piece->sum].dtype);
}

static inline char *ons_reducer_address(const ons_reducer *r, const ons_sum_piece *piece) {
    return r->sums[piece->sum] + (size_t)piece->first * ons_reducer_element_bytes(r, piece);
}

/* How many bytes behind each other's pieces of the own slice lie that have come. */
static inline int64_t ons_reducer_stride(const ons_reducer *r, const ons_sum_bucket *bucket) {
    return ons_arena_align(bucket->bytes[r->o.rank_group.own]);
}

/* Where in the staging memory of a place for buckets a replica's pieces of the own slice come to. */
static inline size_t ons_reducer_staged_at(const ons_reducer *r, const ons_sum_bucket *bucket, uint32_t replica) {
    uint32_t own = r->o.rank_group.own, place = replica < own ? replica : replica - 1;
    return (size_t)place * (size_t)ons_reducer_stride(r, bucket);
}

/* How many replicas have a micro-batch of that number: the first ones, which have most. */
uint32_t ons_reducer_present(const ons_reducer *r, uint32_t micro_batch);

/* The staging memory of a place for buckets, of which there are as many as buckets in flight. */
char *ons_reducer_staging(const ons_reducer *r, uint32_t bucket_place);

/* The replica whose part of a sum comes first; the other active ones follow in their order, and in a circle. Sums begin
 * with the first replica. So do running means, but where micro-batches are taken in turn: there they begin with the one
 * whose last micro-batch has most behind it. */
uint32_t ons_reducer_first(const ons_reducer *r, const ons_sum *sum);

/* What a running mean is multiplied by for the others' micro-batches, between two of this rank's. */
double ons_reducer_skipped(const ons_reducer *r, const ons_sum *sum);

/* What is there is multiplied by before a replica's part is added. */
double ons_reducer_factor(const ons_reducer *r, const ons_sum *sum, uint32_t replica);

#endif
