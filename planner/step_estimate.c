#include "planner/step_estimate.h"

#include <math.h>
#include <string.h>

/* Of each stage: when its device, its link forward and its link back are free; how many forward parts it has run. */
enum { DEVICE, LINK, LINK_BACK, FORWARDS, STAGE_NUMBERS };

size_t ons_step_scratch(const ons_pipeline *p) {
    return (size_t)p->stages * STAGE_NUMBERS + (size_t)p->stages * p->micro_batches;
}

typedef struct estimate {
    const ons_pipeline *p;
    const ons_step_stage *stages;
    double *free; /* [stage · STAGE_NUMBERS + …] */
    double *sent; /* [stage · micro_batches + micro-batch]: when the next stage has what the forward part made */
} estimate;

/* The forward parts of a stage that come before its backward part of `backward`: see put_step in schedule.c. */
static void run_forward(const estimate *e, uint32_t stage, uint32_t backward) {
    const ons_step_stage *s = &e->stages[stage];
    uint32_t m = e->p->micro_batches;
    uint32_t ahead = e->p->kind == ONS_PIPELINE_GPIPE ? m : e->p->stages - stage - 1;
    double *free = e->free + (size_t)stage * STAGE_NUMBERS;
    const double *arrives = stage > 0 ? e->sent + (size_t)(stage - 1) * m : NULL;
    uint32_t next = (uint32_t)free[FORWARDS];
    for (; next < m && next <= backward + ahead; ++next) {
        if (arrives != NULL && arrives[next] > free[DEVICE]) free[DEVICE] = arrives[next];
        free[DEVICE] += s->forward;
        if (stage + 1 == e->p->stages) continue;
        free[LINK] = fmax(free[LINK], free[DEVICE]) + s[1].arrive;
        e->sent[(size_t)stage * m + next] = free[LINK];
    }
    free[FORWARDS] = next;
}

double ons_step_estimate(const ons_pipeline *p, const ons_step_stage *stages, double *scratch) {
    estimate e = {p, stages, scratch, scratch + (size_t)p->stages * STAGE_NUMBERS};
    double seconds = 0;
    memset(scratch, 0, (size_t)p->stages * STAGE_NUMBERS * sizeof *scratch);
    for (uint32_t i = 0; i < p->micro_batches; ++i) {
        double returned = 0;
        for (uint32_t stage = 0; stage < p->stages; ++stage) run_forward(&e, stage, i);
        for (uint32_t stage = p->stages; stage-- > 0;) {
            double *free = e.free + (size_t)stage * STAGE_NUMBERS;
            free[DEVICE] = fmax(free[DEVICE], returned) + stages[stage].backward;
            returned = free[LINK_BACK] = fmax(free[LINK_BACK], free[DEVICE]) + stages[stage].back;
        }
    }
    for (uint32_t stage = 0; stage < p->stages; ++stage)
        seconds = fmax(seconds, e.free[(size_t)stage * STAGE_NUMBERS + DEVICE] + stages[stage].update);
    return seconds;
}

double ons_step_bound(const ons_pipeline *p, const ons_step_stage *stages) {
    double there = 0, most = 0;
    for (uint32_t stage = 0; stage < p->stages; ++stage) {
        const ons_step_stage *s = &stages[stage];
        double own = p->micro_batches * (s->forward + s->backward);
        if (stage > 0) there += s->arrive + s->back;
        most = fmax(most, there + own + (stage == 0 ? s->update : stages[0].update));
        there += s->forward + s->backward;
    }
    return most * (1 - 1e-12);
}
