#include "engine/report/timeline.h"

#include <math.h>

static ons_status *find_chunks(ons_timeline *t, ons_arena *arena) {
    const ons_schedule *s = t->schedule;
    uint32_t *held; /* [device]: stages so far */
    ONS_NEW(held, arena, s->devices);
    ONS_NEW(t->chunk_of, arena, s->stages);
    for (uint32_t i = 0; i < s->stages; ++i) {
        t->chunk_of[i] = held[s->device_of[i]];
        for (uint32_t copy = 0; copy < ons_schedule_grouping(s, i).copies; ++copy)
            ++held[ons_schedule_device(s, i, copy)];
    }
    t->chunks = ons_schedule_most_local_stages(s);
    return NULL;
}

ons_status *ons_timeline_make(const ons_pipeline_forecast *f, const ons_schedule *schedule, ons_arena *arena,
                              ons_timeline *t) {
    *t = (ons_timeline){
        .simulation = f->simulation, .schedule = schedule, .seconds = ons_simulation_seconds(f->simulation)};
    if (schedule->asynchronous && f->iteration_seconds < t->seconds) {
        t->start = (t->seconds - f->iteration_seconds) / 2;
        t->seconds = f->iteration_seconds;
    }
    return find_chunks(t, arena);
}

double ons_timeline_place(const ons_timeline *t, double seconds) {
    double share = t->seconds > 0 ? (seconds - t->start) / t->seconds : 0;
    return ONS_TIMELINE_LEFT + ONS_TIMELINE_WIDTH * fmin(fmax(share, 0), 1);
}
