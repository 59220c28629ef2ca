#include "engine/runnable.h"

/* The first stage whose gradients are apart; as many as there are stages where there is none. */
static uint32_t find_apart(const ons_schedule *s) {
    uint32_t stage = 0;
    while (stage < s->stages && !s->loads[stage].apart) ++stage;
    return stage;
}

bool ons_schedule_is_runnable(const ons_schedule *s) { return s->devices == s->stages && find_apart(s) == s->stages; }

ons_status *ons_schedule_check_runnable(const ons_schedule *s) {
    ONS_CHECK(s->devices == s->stages, ONS_UNSUPPORTED,
              "training does not put several stages on a device yet, and the schedule has %u stages on %u; `onstage "
              "plan` and `onstage simulate` do; take --pipeline 1f1b, or as many devices as stages",
              s->stages, s->devices);
    uint32_t apart = find_apart(s);
    ONS_CHECK(apart == s->stages, ONS_UNSUPPORTED,
              "training does not compute input gradients (I) and weight gradients (W) apart yet, and the schedule does "
              "in stage %u; `onstage plan` and `onstage simulate` do; take --pipeline 1f1b",
              apart);
    return NULL;
}

ons_status *ons_pipeline_check_runnable(const ons_pipeline *pipeline) {
    ons_schedule schedule;
    ons_arena *arena = ons_arena_new();
    if (arena == NULL) return ons_status_out_of_memory();
    ons_status *status = ons_schedule_make(pipeline, arena, &schedule);
    if (status == NULL) status = ons_schedule_check_runnable(&schedule);
    ons_arena_free(arena);
    return status;
}
