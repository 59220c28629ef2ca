#include "planner/schedule/rounds.h"

/* Interleaved 1F1B of Megatron-LM ("Efficient Large-Scale Language Model Training on GPU Clusters", Narayanan et al.,
 * 2021, section 2.2.2). There, the number of devices divides that of micro-batches; other numbers make larger rounds
 * here. */

/* A device runs ahead by the rounds that its other stages take, and by the way to the last device and back. With one
 * stage on a device nothing waits on the way back, and as in 1F1B half of it is enough. */
static uint32_t run_ahead(const ons_pipeline *p, uint32_t device, uint32_t rounds) {
    uint32_t chunks = p->stages / p->devices, way = p->devices - 1 - device;
    return chunks == 1 ? way : (chunks - 1) * ons_rounds_largest(p, rounds) + 2 * way;
}

static ons_status *generate(const ons_pipeline *p, ons_arena *arena, ons_action_list *lists) {
    uint32_t *ahead, rounds = ons_rounds_count(p, p->devices);
    ONS_TRY(ons_rounds_check(p));
    ONS_NEW(ahead, arena, p->devices);
    for (uint32_t device = 0; device < p->devices; ++device) ahead[device] = run_ahead(p, device, rounds);
    return ons_schedule_put_rounds(p, rounds, ahead, arena, lists);
}

const ons_generator ons_generator_interleaved = {
    .name = "interleaved",
    .summary = "1f1b with several stages on a device: a shorter warm-up, more messages",
    .generate = generate,
    .chunks = 2,
    .asynchronous = false,
};
