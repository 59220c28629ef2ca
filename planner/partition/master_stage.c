#include "planner/partition/master_stage.h"

#include <math.h>

ons_status *ons_master_stage_finder_make(uint32_t stages, uint32_t micro_batches, ons_arena *arena,
                                         ons_master_stage_finder *f) {
    size_t parts = (size_t)stages * micro_batches;
    *f = (ons_master_stage_finder){.stages = stages, .micro_batches = micro_batches};
    ONS_NEW(f->forward, arena, parts);
    ONS_NEW(f->backward, arena, parts);
    ONS_NEW(f->after_forward, arena, parts);
    ONS_NEW(f->after_back, arena, parts);
    return NULL;
}

static size_t at(const ons_master_stage_finder *f, uint32_t stage, uint32_t i) {
    return (size_t)stage * f->micro_batches + i;
}

/* Forward parts in front of the first backward part, which stands behind the last of them. */
static uint32_t ahead(const ons_master_stage_finder *f, uint32_t stage) {
    uint32_t most = f->stages - stage;
    return most < f->micro_batches ? most : f->micro_batches;
}

/* The k-th pair of a stage is forward part k + ahead - 1 and backward part k, in this order, as long as there are
 * forward parts. In rising order of k, and within it forward parts down the stages and backward parts up, everything
 * stands behind what it waits for. */
static void run_forward(const ons_master_stage_finder *f, const ons_master_stage_times *t, uint32_t stage, uint32_t i) {
    double begin = 0;
    uint32_t before = ahead(f, stage);
    if (i >= before)
        begin = f->backward[at(f, stage, i - before)];
    else if (i > 0)
        begin = f->forward[at(f, stage, i - 1)];
    if (stage > 0) begin = fmax(begin, f->forward[at(f, stage - 1, i)] + t[stage].arrive);
    f->forward[at(f, stage, i)] = begin + t[stage].forward;
}

static void run_backward(const ons_master_stage_finder *f, const ons_master_stage_times *t, uint32_t stage,
                         uint32_t i) {
    uint32_t last = i + ahead(f, stage) - 1, m = f->micro_batches; /* the forward part in front */
    double begin = last < m ? f->forward[at(f, stage, last)] : f->backward[at(f, stage, i - 1)];
    if (stage + 1 < f->stages) begin = fmax(begin, f->backward[at(f, stage + 1, i)] + t[stage + 1].back);
    f->backward[at(f, stage, i)] = begin + t[stage].backward;
}

static double simulate_parts(const ons_master_stage_finder *f, const ons_master_stage_times *t) {
    double seconds = 0;
    for (uint32_t i = 0; i < f->micro_batches; ++i) {
        for (uint32_t stage = 0; stage < f->stages; ++stage) {
            uint32_t from = i == 0 ? 0 : i + ahead(f, stage) - 1, to = i + ahead(f, stage);
            for (uint32_t k = from; k < to && k < f->micro_batches; ++k) run_forward(f, t, stage, k);
        }
        for (uint32_t stage = f->stages; stage-- > 0;) run_backward(f, t, stage, i);
    }
    for (uint32_t stage = 0; stage < f->stages; ++stage)
        seconds = fmax(seconds, f->backward[at(f, stage, f->micro_batches - 1)]);
    return seconds;
}

/* The longest chains behind parts, in the opposite order. */
static void look_back(const ons_master_stage_finder *f, const ons_master_stage_times *t) {
    uint32_t m = f->micro_batches;
    for (uint32_t i = m; i-- > 0;) {
        for (uint32_t stage = 0; stage < f->stages; ++stage) { /* of backward parts: what is above, and next */
            double after = 0;
            uint32_t next = i + ahead(f, stage);
            if (stage > 0) after = t[stage].back + t[stage - 1].backward + f->after_back[at(f, stage - 1, i)];
            if (next < m)
                after = fmax(after, t[stage].forward + f->after_forward[at(f, stage, next)]);
            else if (i + 1 < m)
                after = fmax(after, t[stage].backward + f->after_back[at(f, stage, i + 1)]);
            f->after_back[at(f, stage, i)] = after;
        }
        for (uint32_t stage = f->stages; stage-- > 0;) {
            uint32_t before = ahead(f, stage), from = i == 0 ? 0 : i + before - 1;
            for (uint32_t k = i + before; k-- > from;) {
                if (k >= m) continue;
                double after = 0;
                if (stage + 1 < f->stages)
                    after = t[stage + 1].arrive + t[stage + 1].forward + f->after_forward[at(f, stage + 1, k)];
                bool alternates = k + 1 >= before;
                if (alternates)
                    after = fmax(after, t[stage].backward + f->after_back[at(f, stage, k + 1 - before)]);
                else
                    after = fmax(after, t[stage].forward + f->after_forward[at(f, stage, k + 1)]);
                f->after_forward[at(f, stage, k)] = after;
            }
        }
    }
}

/* Tests whether a longest path goes from a backward part of the stage straight to its next forward part. */
static bool is_critical(const ons_master_stage_finder *f, const ons_master_stage_times *t, double seconds,
                        uint32_t stage) {
    uint32_t before = ahead(f, stage);
    for (uint32_t i = 0; i + before < f->micro_batches; ++i) {
        double chain = f->backward[at(f, stage, i)] + t[stage].forward + f->after_forward[at(f, stage, i + before)];
        if (chain >= seconds * (1 - 1e-9)) return true;
    }
    return false;
}

double ons_master_stage_find(const ons_master_stage_finder *f, const ons_master_stage_times *t, uint32_t *master) {
    double seconds = simulate_parts(f, t);
    look_back(f, t);
    for (*master = f->stages; (*master)-- > 0;)
        if (is_critical(f, t, seconds, *master)) return seconds;
    /* With so few micro-batches nothing alternates: the slowest stage, the last of equals. */
    *master = 0;
    for (uint32_t stage = 0; stage < f->stages; ++stage)
        if (t[stage].forward + t[stage].backward >= t[*master].forward + t[*master].backward) *master = stage;
    return seconds;
}
