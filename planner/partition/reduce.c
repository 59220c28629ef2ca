#include "planner/partition/reduce.h"

#include <math.h>

#include "planner/partition/link.h"

static int64_t gradient_bytes(const ons_workload *work, uint32_t first, uint32_t end) {
    const ons_stage_load load = {.in_flight = 1, .versions = 1, .accumulates = true};
    ons_stage_memory memory;
    ons_work_stage_memory(work, first, end, &load, &memory);
    return memory.gradients;
}

double ons_reduce_bytes_seconds(const ons_planning_problem *p, int64_t bytes, double backward, uint32_t replicas) {
    if (bytes == 0 || replicas < 2 || p->link_bandwidth <= 0) return 0;
    double buckets = ceil((double)bytes / ONS_REDUCE_BUCKET_BYTES);
    int64_t message = (int64_t)((double)bytes / buckets / replicas);
    double each = 2.0 * (replicas - 1) * ons_link_seconds(p, message);
    /* The last bucket is complete at the end, the first one when its share of the backward part has run. */
    return fmax(each, buckets * each - backward * (1 - 1 / buckets));
}

double ons_reduce_seconds(const ons_planning_problem *p, uint32_t first, uint32_t end) {
    uint32_t replicas = p->pipeline.replicas;
    if (replicas < 2) return 0;
    double backward = ons_work_backward_seconds(p->work, first, end);
    return ons_reduce_bytes_seconds(p, gradient_bytes(p->work, first, end), backward, replicas);
}
