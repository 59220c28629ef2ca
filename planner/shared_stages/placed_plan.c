#include "planner/shared_stages/placed_plan.h"

static double ring_way(ons_link_cost link, int64_t bytes, uint32_t devices) {
    if (devices < 2 || bytes == 0) return 0;
    return (devices - 1) * ons_link_seconds(link, bytes / devices);
}

double ons_collective_sum_seconds(ons_link_cost link, int64_t bytes, uint32_t devices) {
    return 2 * ring_way(link, bytes, devices);
}

double ons_collective_gather_seconds(ons_link_cost link, int64_t bytes, uint32_t devices) {
    return ring_way(link, bytes, devices);
}

static ons_status *check_stage(const ons_placed_plan *plan, uint32_t stage) {
    const ons_placed_stage *s = &plan->stages[stage];
    ONS_CHECK(s->samples > 0 && plan->batch % s->samples == 0 && plan->batch / s->samples < UINT32_MAX,
              ONS_INVALID_DATA, "stage %u: parts of %lld samples do not divide the batch of %lld", stage,
              (long long)s->samples, (long long)plan->batch);
    ONS_CHECK(s->copies > 0, ONS_INVALID_DATA, "stage %u lies on no device", stage);
    ONS_CHECK(s->together || s->copies <= ons_placed_parts(plan, stage), ONS_INVALID_DATA,
              "stage %u: %u copies take turns over %u parts; some would have none", stage, s->copies,
              ons_placed_parts(plan, stage));
    for (uint32_t i = 0; i < s->copies; ++i) {
        ONS_CHECK(s->devices[i] < plan->devices, ONS_INVALID_DATA, "stage %u, copy %u: device %u, but there are %u",
                  stage, i, s->devices[i], plan->devices);
        for (uint32_t k = 0; k < i; ++k)
            ONS_CHECK(s->devices[i] != s->devices[k], ONS_INVALID_DATA,
                      "stage %u: copies %u and %u are both on device %u", stage, k, i, s->devices[i]);
    }
    ONS_CHECK(s->together || !s->holds, ONS_INVALID_DATA, "stage %u: copies that take turns hold no device", stage);
    for (uint32_t i = 0; i < ONS_COLLECTIVES; ++i)
        ONS_CHECK(s->together || s->collectives[i] == 0, ONS_INVALID_DATA,
                  "stage %u: copies that take turns have no collective for each part", stage);
    return NULL;
}

/* Numbers of actions, parts and copies have 32 bits. */
static ons_status *check_size(const ons_placed_plan *plan) {
    enum { ACTIONS = 4 }; /* of a part: forward, two gradients, and the update behind the last one */
    double actions = 0;
    for (uint32_t i = 0; i < plan->stage_count; ++i)
        actions += (double)ACTIONS * ons_placed_parts(plan, i) * plan->stages[i].copies;
    ONS_CHECK(actions < UINT32_MAX, ONS_INVALID_DATA, "the devices would have %.0f actions, more than can be numbered",
              actions);
    return NULL;
}

ons_status *ons_placed_plan_check(const ons_placed_plan *plan) {
    for (uint32_t i = 0; i < plan->stage_count; ++i) ONS_TRY(check_stage(plan, i));
    ONS_TRY(check_size(plan));
    for (uint32_t i = 0; i < plan->edge_count; ++i)
        ONS_CHECK(plan->edges[i].from < plan->edges[i].to && plan->edges[i].to < plan->stage_count, ONS_INVALID_DATA,
                  "an edge goes from stage %u to stage %u; of %u stages, edges go to later ones", plan->edges[i].from,
                  plan->edges[i].to, plan->stage_count);
    return NULL;
}
