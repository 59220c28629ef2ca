#include "planner/schedule/chimera.h"

#include <stdlib.h>

/* An action at its place in time. Forward and backward parts take a slot each: the order is that of the paper, whatever
 * they take in seconds. */
typedef struct slot {
    uint32_t at; /* slots from the step's beginning */
    ons_action action;
} slot;

static int by_slot(const void *a, const void *b) {
    const slot *x = a, *y = b;
    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    return x->action.stage < y->action.stage ? -1 : x->action.stage > y->action.stage;
}

/* In either direction the micro-batches of a stage are two slots apart, and the other direction's, whose stages are an
 * odd number of devices away, take the slots between. A stage has as many slots, every second one of 2 · devices in a
 * row, for its forward parts and the other stage's backward parts: the next unit follows so many slots later. */
static uint32_t put_copy(uint32_t devices, uint32_t units, uint32_t stage, uint32_t copy, slot *slots) {
    uint32_t half = devices / 2, count = 0;
    for (uint32_t i = 0; i < units * half; ++i) {
        uint32_t at = stage + i / half * 2 * devices + 2 * (i % half);
        slots[count++] = (slot){at, {ONS_ACTION_FORWARD, stage, copy, i, false}};
        slots[count++] = (slot){at + 2 * (devices - stage) - 1, {ONS_ACTION_BACKWARD, stage, copy, i, false}};
    }
    slots[count++] = (slot){UINT32_MAX, {ONS_ACTION_UPDATE, stage, copy, units * half - 1, false}};
    return count;
}

ons_status *ons_chimera_put_device(uint32_t devices, uint32_t units, uint32_t device, ons_arena *arena,
                                   ons_action_list *list) {
    slot *slots;
    ONS_NEW(slots, arena, 2 * (size_t)units * devices + 2);
    uint32_t count = put_copy(devices, units, device, 0, slots);
    count += put_copy(devices, units, devices - 1 - device, 1, slots + count);
    qsort(slots, count, sizeof *slots, by_slot);
    for (uint32_t i = 0; i < count; ++i) list->items[i] = slots[i].action;
    list->count = count;
    return NULL;
}

static ons_status *check(const ons_pipeline *p) {
    ONS_CHECK(p->devices == p->stages && p->stages % 2 == 0, ONS_INVALID_ARGUMENT,
              "schedule %s has an even number of stages, and as many devices, each with a stage of either direction; "
              "it cannot put %u stages on %u devices: take %u --stages, or another --pipeline",
              p->generator->name, p->stages, p->devices, p->devices + p->devices % 2);
    ONS_CHECK(p->micro_batches % p->stages == 0, ONS_INVALID_ARGUMENT,
              "schedule %s has as many micro-batches as stages, %u, half of them each way, or a multiple of that, and "
              "not %u; take %u --micro-batches, or another --pipeline",
              p->generator->name, p->stages, p->micro_batches,
              (p->micro_batches + p->stages - 1) / p->stages * p->stages);
    ONS_CHECK(p->replicas <= 1, ONS_INVALID_ARGUMENT,
              "schedule %s has two copies of every stage, and no %u replicas of the pipeline beside them; leave "
              "--replicas out, or take another --pipeline",
              p->generator->name, p->replicas);
    return NULL;
}

static ons_status *generate(const ons_pipeline *p, ons_arena *arena, ons_action_list *lists) {
    ONS_TRY(check(p));
    for (uint32_t device = 0; device < p->devices; ++device) {
        ONS_NEW(lists[device].items, arena, 2 * (size_t)p->micro_batches + 2);
        ONS_TRY(ons_chimera_put_device(p->devices, p->micro_batches / p->devices, device, arena, &lists[device]));
    }
    return NULL;
}

/* Two copies of each stage, the second on the device that lies opposite: so its distance from the first, the stride, is
 * negative in the second half. */
static ons_status *group(const ons_pipeline *p, ons_arena *arena, const ons_stage_grouping **groupings) {
    ons_stage_grouping *items;
    ONS_NEW(items, arena, p->stages);
    for (uint32_t stage = 0; stage < p->stages; ++stage)
        items[stage] = (ons_stage_grouping){1, 2, (int32_t)p->devices - 1 - 2 * (int32_t)stage};
    *groupings = items;
    return NULL;
}

const ons_generator ons_generator_chimera = {
    .name = "chimera",
    .summary = "two pipelines in opposite directions over the same devices, with the weights twice",
    .generate = generate,
    .chunks = 1,
    .asynchronous = false,
    .group = group,
};
