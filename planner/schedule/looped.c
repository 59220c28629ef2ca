#include "planner/schedule/looped.h"

#include "planner/schedule/rounds.h"

/* ------------------------------------------------------------------------------------------------------------ rules */

static ons_status *check_shape(const ons_pipeline *p, const ons_looped_vectors *v) {
    ONS_CHECK(p->devices == v->devices && p->stages == (uint64_t)v->loops * v->devices, ONS_INVALID_ARGUMENT,
              "schedule %s: N_l = %u loops over %u devices take %u stages; asked for are %u stages on %u devices",
              p->generator->name, v->loops, v->devices, v->loops * v->devices, p->stages, p->devices);
    ONS_CHECK(v->micro_batches == 0 || p->micro_batches == v->micro_batches, ONS_INVALID_ARGUMENT,
              "schedule %s is for B = %u micro-batches; asked for are %u", p->generator->name, v->micro_batches,
              p->micro_batches);
    ONS_CHECK(v->loop_micro_batches >= p->devices && p->micro_batches % v->loop_micro_batches == 0,
              ONS_INVALID_ARGUMENT,
              "schedule %s: B_l = %u must divide the %u micro-batches and be at least the number of devices, %u",
              p->generator->name, v->loop_micro_batches, p->micro_batches, p->devices);
    return NULL;
}

/* A device can run no further ahead than its forward parts reach. */
static uint32_t run_ahead(const ons_pipeline *p, const ons_looped_vectors *v, uint32_t device) {
    uint64_t all = (uint64_t)v->loops * p->micro_batches - 1;
    uint64_t ahead = (uint64_t)(v->loops - 1) * v->loop_micro_batches + (p->devices - 1 - device);
    ahead += v->prefetch[device];
    return (uint32_t)(ahead < all ? ahead : all);
}

/* A device that waits for more forward parts than the one before it makes hangs. So does the first device where it
 * wants to run ahead of the last one by more than two rounds: each turn from a stage to the next needs the last device,
 * which waits for gradients by then. */
static ons_status *check_prefetch(const ons_pipeline *p, const ons_looped_vectors *v, const uint32_t *ahead) {
    for (uint32_t i = 0; i + 1 < p->devices; ++i)
        ONS_CHECK(
            ahead[i + 1] <= ahead[i], ONS_INVALID_ARGUMENT,
            "schedule %s: device %u with B_f = %u waits for forward parts that device %u with B_f = %u makes only "
            "after gradients; from a device to the next B_f rises by 1 at most",
            p->generator->name, i + 1, v->prefetch[i + 1], i, v->prefetch[i]);
    bool turns = v->loops > 1 && v->loop_micro_batches < p->micro_batches;
    uint32_t lead = ahead[0] - ahead[p->devices - 1], most = 2 * v->loop_micro_batches;
    ONS_CHECK(
        !turns || lead <= most, ONS_INVALID_ARGUMENT,
        "schedule %s: B_f = %u lets device 0 run %u forward parts ahead of the last device, which B_l = %u allows "
        "up to %u; take less prefetch on device 0",
        p->generator->name, v->prefetch[0], lead, v->loop_micro_batches, most);
    return NULL;
}

static ons_status *generate_given(const ons_pipeline *p, ons_arena *arena, ons_action_list *lists) {
    const ons_looped_vectors *v = p->generator->given;
    uint32_t *ahead;
    ONS_TRY(check_shape(p, v));
    ONS_NEW(ahead, arena, p->devices);
    for (uint32_t device = 0; device < p->devices; ++device) ahead[device] = run_ahead(p, v, device);
    ONS_TRY(check_prefetch(p, v, ahead));
    return ons_schedule_put_rounds(p, p->micro_batches / v->loop_micro_batches, ahead, arena, lists);
}

ons_status *ons_generator_of_vectors(const ons_looped_vectors *vectors, const char *name, ons_arena *arena,
                                     const ons_generator **generator) {
    ons_generator *made;
    ONS_NEW(made, arena, 1);
    *made = (ons_generator){.name = name,
                            .summary = "loops with prefetch, from vectors that are given",
                            .generate = generate_given,
                            .chunks = vectors->loops,
                            .given = vectors};
    *generator = made;
    return NULL;
}

/* -------------------------------------------------------------------------------------------------- without vectors */

/* B_l is the number of devices, the least that keeps them busy; B_f is that of figure 3, (2, 2, 1, 0) for four devices:
 * half the devices, and towards the last device what Megatron's schedule has. B_l need not divide B here. */
static uint32_t prefetch(const ons_pipeline *p, uint32_t device) {
    uint32_t way = p->devices - 1 - device, half = (p->devices + 1) / 2;
    return way < half ? way : half;
}

static ons_status *generate(const ons_pipeline *p, ons_arena *arena, ons_action_list *lists) {
    ONS_TRY(ons_rounds_check(p));
    uint32_t *ahead, rounds = ons_rounds_count(p, p->devices), loops = p->stages / p->devices;
    ONS_NEW(ahead, arena, p->devices);
    for (uint32_t i = 0; i < p->devices; ++i)
        ahead[i] = (loops - 1) * ons_rounds_largest(p, rounds) + (p->devices - 1 - i) + prefetch(p, i);
    return ons_schedule_put_rounds(p, rounds, ahead, arena, lists);
}

const ons_generator ons_generator_looped = {
    .name = "looped",
    .summary = "loops over the devices, some forward parts fetched before the first backward part",
    .generate = generate,
    .chunks = 2,
    .asynchronous = false,
};
