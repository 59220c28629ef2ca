#include "planner/step_estimate.h"

#include <math.h>
#include <string.h>

/* Of each stage: when its device, its link forward and its link back are free; how many forward parts it has run. */
enum { DEVICE, LINK, LINK_BACK, FORWARDS, STAGE_NUMBERS };

/* Micro-batches that are walked through. Without end, a pipeline is steady after it has been filled, mostly, and then
 * as many more tell its period; at the end forward parts have run out. */
static uint32_t length_of(const ons_pipeline *p) {
    return ons_pipeline_is_asynchronous(p) ? 4 * p->stages + 2 : p->micro_batches;
}

size_t ons_step_scratch(const ons_pipeline *p) {
    return (size_t)p->stages * STAGE_NUMBERS + (size_t)p->stages * length_of(p);
}

typedef struct estimate {
    const ons_pipeline *p;
    const ons_step_stage *stages;
    uint32_t micro_batches;
    double *free; /* [stage · STAGE_NUMBERS + …] */
    double *sent; /* [stage · micro_batches + micro-batch]: when the next stage has what the forward part made */
} estimate;

/* The forward parts of a stage that come before its backward part of `backward`: see put_step in schedule.c. */
static void run_forward(const estimate *e, uint32_t stage, uint32_t backward) {
    const ons_step_stage *s = &e->stages[stage];
    uint32_t m = e->micro_batches;
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

/* Returns when the first stage has finished the micro-batch. */
static double run_micro_batch(const estimate *e, uint32_t micro_batch, bool updates) {
    double returned = 0;
    uint32_t stages = e->p->stages;
    for (uint32_t stage = 0; stage < stages; ++stage) run_forward(e, stage, micro_batch);
    for (uint32_t stage = stages; stage-- > 0;) {
        const ons_step_stage *s = &e->stages[stage];
        double *free = e->free + (size_t)stage * STAGE_NUMBERS;
        free[DEVICE] = fmax(free[DEVICE], returned) + s->backward;
        returned = free[LINK_BACK] = fmax(free[LINK_BACK], free[DEVICE]) + s->back;
        if (updates) free[DEVICE] += s->update;
    }
    return e->free[DEVICE];
}

static double estimate_steady(const estimate *e) {
    uint32_t from = 2 * e->p->stages, to = 3 * e->p->stages;
    double began = 0, ended = 0;
    for (uint32_t i = 0; i <= to; ++i) {
        ended = run_micro_batch(e, i, true);
        if (i == from) began = ended;
    }
    double period = (ended - began) / (to - from);
    return fmax(period * e->p->micro_batches, ons_step_bound(e->p, e->stages));
}

double ons_step_estimate(const ons_pipeline *p, const ons_step_stage *stages, double *scratch) {
    estimate e = {p, stages, length_of(p), scratch, scratch + (size_t)p->stages * STAGE_NUMBERS};
    double seconds = 0;
    memset(scratch, 0, (size_t)p->stages * STAGE_NUMBERS * sizeof *scratch);
    if (ons_pipeline_is_asynchronous(p)) return estimate_steady(&e);
    for (uint32_t i = 0; i < p->micro_batches; ++i) (void)run_micro_batch(&e, i, false);
    for (uint32_t stage = 0; stage < p->stages; ++stage)
        seconds = fmax(seconds, e.free[(size_t)stage * STAGE_NUMBERS + DEVICE] + stages[stage].update);
    return seconds;
}

/* A stage's device and links have so much to do for each micro-batch; and with l - x in flight, a micro-batch's way
 * from stage x on and back to it may take no longer than as many periods. */
static double bound_steady(const ons_pipeline *p, const ons_step_stage *stages) {
    double period = 0, way = 0;
    for (uint32_t stage = p->stages; stage-- > 0;) {
        const ons_step_stage *s = &stages[stage];
        way += s->forward + s->backward;
        period = fmax(period, s->forward + s->backward + s->update);
        period = fmax(period, fmax(s->arrive, s->back));
        period = fmax(period, (way + s->update) / (p->stages - stage));
        way += s->arrive + s->back;
    }
    return p->micro_batches * period * (1 - 1e-12);
}

double ons_step_bound(const ons_pipeline *p, const ons_step_stage *stages) {
    double there = 0, most = 0;
    if (ons_pipeline_is_asynchronous(p)) return bound_steady(p, stages);
    for (uint32_t stage = 0; stage < p->stages; ++stage) {
        const ons_step_stage *s = &stages[stage];
        double own = p->micro_batches * (s->forward + s->backward);
        if (stage > 0) there += s->arrive + s->back;
        most = fmax(most, there + own + (stage == 0 ? s->update : stages[0].update));
        there += s->forward + s->backward;
    }
    return most * (1 - 1e-12);
}

double ons_step_most(const ons_pipeline *p, const ons_step_stage *stages, uint32_t stage, double limit) {
    bool without_end = ons_pipeline_is_asynchronous(p);
    double beside = without_end ? p->micro_batches * stages[stage].update : stages[0].update;
    for (uint32_t i = 0; i < stage && !without_end; ++i)
        beside += stages[i].forward + stages[i].backward + stages[i + 1].arrive + stages[i + 1].back;
    return fmax((limit - beside) / p->micro_batches, 0) * (1 + 1e-9);
}
