#include "planner/plan/plan_replay.h"

/* The file may say anything: what memory changes by must add up. */
static ons_status *check_bytes(const ons_plan *plan) {
    int64_t sum = 0, all, micro_batches = plan->pipeline.micro_batches;
    int64_t longest = 512 * ((int64_t)plan->pipeline.stages + 1); /* stretch of an asynchronous schedule */
    bool fits = true;
    for (uint32_t i = 0; i < plan->pipeline.stages; ++i) {
        const ons_stage_tasks *t = &plan->parts.stages[i];
        fits &= !__builtin_add_overflow(sum, t->held_bytes, &sum);
        for (uint32_t k = 0; k < t->forward_count + t->backward_count; ++k) {
            const ons_stage_piece *p = k < t->forward_count ? &t->forward[k] : &t->backward[k - t->forward_count];
            fits &= !__builtin_add_overflow(sum, p->start_bytes, &sum);
            fits &= !__builtin_sub_overflow(sum, p->end_bytes, &sum);
            fits &= !__builtin_add_overflow(sum, p->kept_start_bytes, &sum);
            fits &= !__builtin_add_overflow(sum, p->freed_bytes, &sum);
        }
        for (uint32_t k = 0; k < t->copy_count; ++k) fits &= !__builtin_add_overflow(sum, 2 * t->copies[k].bytes, &sum);
    }
    for (uint32_t i = 0; i < plan->parts.link_count; ++i) {
        const ons_stage_link *l = &plan->parts.links[i];
        fits &= !__builtin_add_overflow(sum, l->bytes + 2 * l->gradient_bytes + l->freed_bytes, &sum);
        fits &= !__builtin_add_overflow(sum, l->taken_bytes + l->taken_gradient_bytes, &sum);
    }
    for (uint32_t i = 0; i < plan->parts.tie_count; ++i)
        fits &= !__builtin_add_overflow(sum, 2 * plan->parts.ties[i].bytes, &sum);
    fits = fits && !__builtin_mul_overflow(sum, micro_batches > longest ? micro_batches : longest, &all);
    ONS_CHECK(fits, ONS_INVALID_DATA, "costs: the bytes of parts and links do not add up within 64 bits");
    return NULL;
}

ons_status *ons_plan_replay(const ons_plan *plan, ons_arena *arena, ons_pipeline_forecast *forecast) {
    ons_workload work = {0}; /* times and bytes are the plan's parts' */
    ons_planning_problem problem = {
        .work = &work,
        .batch = plan->subject.batch,
        .pipeline = plan->pipeline,
        .link_bandwidth = plan->link_bandwidth,
        .link_latency = plan->link_latency,
        .link_eager_bytes = plan->link_eager_bytes,
        .node_devices = plan->node_devices,
        .network_bandwidth = plan->network_bandwidth,
        .network_latency = plan->network_latency,
        .network_eager_bytes = plan->network_eager_bytes,
    };
    ons_pipeline_setup setup = {.problem = &problem, .parts = &plan->parts};
    ONS_TRY(check_bytes(plan));
    if (plan->pipeline.generator->given != NULL || !plan->schedule.asynchronous) setup.schedule = &plan->schedule;
    return ons_pipeline_simulate(&setup, arena, forecast);
}
