#include "planner/schedule/rounds.h"

#include "planner/schedule/writer.h"

ons_status *ons_rounds_check(const ons_pipeline *p) {
    uint32_t rest = p->stages % p->devices;
    ONS_CHECK(rest == 0, ONS_INVALID_ARGUMENT,
              "schedule %s puts equally many stages on every device, and cannot put %u stages on %u devices; take "
              "%u or %u --stages, or a number of --devices that divides them",
              p->generator->name, p->stages, p->devices, p->stages - rest, p->stages - rest + p->devices);
    return NULL;
}

uint32_t ons_rounds_count(const ons_pipeline *p, uint32_t size) {
    return p->micro_batches > size ? p->micro_batches / size : 1;
}

uint32_t ons_rounds_largest(const ons_pipeline *p, uint32_t rounds) { return (p->micro_batches - 1) / rounds + 1; }

/* A part of a device's work: which of its stages, counted in the order of the forward way, and which micro-batch. */
typedef struct part {
    uint32_t chunk, micro_batch;
} part;

static uint32_t round_begin(const ons_pipeline *p, uint32_t rounds, uint32_t round) {
    return (uint32_t)((uint64_t)p->micro_batches * round / rounds);
}

/* In the order of the forward way. On the way back each round takes the stages in the opposite order. */
static void order_parts(const ons_pipeline *p, uint32_t rounds, part *parts) {
    uint32_t chunks = p->stages / p->devices;
    for (uint32_t round = 0; round < rounds; ++round)
        for (uint32_t chunk = 0; chunk < chunks; ++chunk)
            for (uint32_t i = round_begin(p, rounds, round); i < round_begin(p, rounds, round + 1); ++i)
                *parts++ = (part){chunk, i};
}

static void put_backward(const ons_pipeline *p, uint32_t device, part done, ons_action_list *list) {
    uint32_t stage = p->stages - (done.chunk + 1) * p->devices + device;
    ons_schedule_put(list, ONS_ACTION_BACKWARD, stage, done.micro_batch);
    if (done.micro_batch + 1 == p->micro_batches) ons_schedule_put(list, ONS_ACTION_UPDATE, stage, done.micro_batch);
}

static void put_device(const ons_pipeline *p, uint32_t device, uint32_t ahead, const part *parts,
                       ons_action_list *list) {
    uint32_t count = p->stages / p->devices * p->micro_batches, forward = 0;
    for (uint32_t backward = 0; backward < count; ++backward) {
        for (; forward < count && forward <= (uint64_t)backward + ahead; ++forward)
            ons_schedule_put(list, ONS_ACTION_FORWARD, parts[forward].chunk * p->devices + device,
                             parts[forward].micro_batch);
        put_backward(p, device, parts[backward], list);
    }
}

ons_status *ons_schedule_put_rounds(const ons_pipeline *p, uint32_t rounds, const uint32_t *ahead, ons_arena *arena,
                                    ons_action_list *lists) {
    part *parts;
    ONS_NEW(parts, arena, (size_t)(p->stages / p->devices) * p->micro_batches);
    ONS_TRY(ons_schedule_reserve(p, 2, arena, lists));
    order_parts(p, rounds, parts);
    for (uint32_t device = 0; device < p->devices; ++device)
        put_device(p, device, ahead[device], parts, &lists[device]);
    return NULL;
}
