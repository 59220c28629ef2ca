#include "planner/partition/reduce.h"

#include <math.h>

#include "planner/partition/link.h"

enum { BUCKETS = 16, BUCKET_LEAST = 2 << 20, BUCKET_MOST = 4 << 20 };

int64_t ons_reduce_bucket_bytes(int64_t sum_bytes) {
    int64_t each = sum_bytes / BUCKETS;
    return each < BUCKET_LEAST ? BUCKET_LEAST : each > BUCKET_MOST ? BUCKET_MOST : each;
}

static int64_t gradient_bytes(const ons_workload *work, uint32_t first, uint32_t end) {
    const ons_stage_load load = {.in_flight = 1, .versions = 1, .accumulates = true};
    ons_stage_memory memory;
    ons_work_stage_memory(work, first, end, &load, &memory);
    return memory.gradients;
}

static double seconds_over(const ons_planning_problem *p, ons_link_cost link, int64_t bytes, double backward,
                           uint32_t replicas) {
    if (bytes == 0 || replicas < 2 || link.bandwidth <= 0) return 0;
    double buckets = ceil((double)bytes / (double)ons_reduce_bucket_bytes(bytes));
    int64_t message = (int64_t)((double)bytes / buckets / replicas);
    double way = (replicas - 1) * ons_link_seconds(link, message);
    double each = p->divides_updates && !p->reads_norms ? way : 2 * way;
    /* The last bucket is complete at the end, the first one when its share of the backward part has run. */
    double left = fmax(each, buckets * each - backward * (1 - 1 / buckets));
    return p->divides_updates ? left + buckets * way : left;
}

double ons_reduce_bytes_seconds(const ons_planning_problem *p, int64_t bytes, double backward, uint32_t replicas) {
    return seconds_over(p, ons_link_of_replicas(p), bytes, backward, replicas);
}

double ons_reduce_seconds(const ons_planning_problem *p, uint32_t first, uint32_t end) {
    uint32_t replicas = p->pipeline.replicas;
    if (replicas < 2) return 0;
    double backward = ons_work_backward_seconds(p->work, first, end);
    return ons_reduce_bytes_seconds(p, gradient_bytes(p->work, first, end), backward, replicas);
}

double ons_reduce_stage_seconds(const ons_planning_problem *p, const ons_schedule *s, uint32_t stage, uint32_t first,
                                uint32_t end) {
    uint32_t copies = ons_schedule_grouping(s, stage).copies;
    if (copies < 2) return ons_reduce_seconds(p, first, end);
    const ons_workload *work = p->stage_works != NULL ? p->stage_works[stage] : p->work;
    ons_link_cost link =
        ons_link_between(p, ons_schedule_device(s, stage, 0), ons_schedule_device(s, stage, copies - 1));
    return seconds_over(p, link, gradient_bytes(work, first, end), ons_work_backward_seconds(work, first, end), copies);
}
