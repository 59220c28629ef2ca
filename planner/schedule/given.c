#include "planner/schedule/schedule.h"

/* Lists that somebody wrote, in a file or in a plan, in the place of a generator. */
static ons_status *generate(const ons_pipeline *p, ons_arena *arena, ons_action_list *lists) {
    const ons_schedule *given = p->generator->given;
    ons_schedule shorter = *given;
    ONS_CHECK(p->stages == given->stages && p->devices == given->devices && p->micro_batches <= given->micro_batches,
              ONS_INVALID_ARGUMENT,
              "schedule %s is written for %u stages on %u devices and %u micro-batches; asked for are %u, %u and %u",
              p->generator->name, given->stages, given->devices, given->micro_batches, p->stages, p->devices,
              p->micro_batches);
    if (p->micro_batches < given->micro_batches)
        ONS_TRY(ons_schedule_shorten(given, p->micro_batches, arena, &shorter));
    for (uint32_t i = 0; i < p->devices; ++i) lists[i] = shorter.lists[i];
    return NULL;
}

ons_status *ons_generator_of_lists(const ons_schedule *schedule, const char *name, ons_arena *arena,
                                   const ons_generator **generator) {
    ons_generator *made;
    ONS_NEW(made, arena, 1);
    *made = (ons_generator){.name = name,
                            .summary = "lists that are given",
                            .generate = generate,
                            .chunks = 1,
                            .asynchronous = schedule->asynchronous,
                            .given = schedule,
                            .groupings = schedule->groupings};
    *generator = made;
    return NULL;
}

ons_status *ons_generator_recognise(ons_schedule *schedule, const char *name, ons_arena *arena,
                                    const ons_generator **generator) {
    const ons_generator *named = ons_generator_find(name);
    if (named != NULL) {
        const ons_pipeline p = {named, schedule->stages, schedule->micro_batches, schedule->devices, 1};
        ons_schedule own;
        ons_status *status = ons_schedule_make(&p, arena, &own);
        *generator = named;
        if (status == NULL && ons_schedule_equal(&own, schedule)) {
            schedule->loads = own.loads;
            return NULL;
        }
        ons_status_free(status); /* it has no such schedule */
    }
    return ons_generator_of_lists(schedule, name, arena, generator);
}
