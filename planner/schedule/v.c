#include "planner/schedule/flexpipe.h"
#include "planner/schedule/rounds.h"

/* V placement: of D devices, device d holds stages d and 2D - 1 - d, half as large each as those of 1F1B. Limits are
 * those of 1F1B in a pipeline of 2D stages, 2D - s for stage s. On every device they sum up to 2D + 1 halves, of which
 * later stages first takes no more than 2D: what 1F1B holds on its first device alone. Where forward and backward parts
 * take the same time and D divides m, a step takes (2m + D - 1)(f + b) / 2 per full stage, as interleaved 1F1B does. */
static ons_status *generate(const ons_pipeline *p, ons_arena *arena, ons_action_list *lists) {
    uint32_t *limits;
    ons_flexpipe_options options = {.placement = ONS_PLACEMENT_V,
                                    .type = ONS_BACKWARD_FIRST,
                                    .forward = {.depth_first = true},
                                    .backward = {.depth_first = false}};
    ONS_TRY(ons_rounds_check(p));
    ONS_CHECK(p->stages <= 2 * (uint64_t)p->devices, ONS_INVALID_ARGUMENT,
              "schedule %s puts two stages on a device, and cannot put %u stages on %u devices; take %u --stages",
              p->generator->name, p->stages, p->devices, 2 * p->devices);
    ONS_NEW(limits, arena, p->stages);
    for (uint32_t stage = 0; stage < p->stages; ++stage) limits[stage] = p->stages - stage;
    options.stage_limits = limits;
    return ons_flexpipe_schedule(&options, p, arena, lists);
}

const ons_generator ons_generator_v = {
    .name = "v",
    .summary = "the way forth and back over the devices, in the memory of 1f1b's first stage on each",
    .generate = generate,
    .chunks = 2,
    .asynchronous = false,
};
