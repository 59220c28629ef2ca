#include "engine/plan/plan_trials.h"

#include <math.h>

#include "engine/plan/planning.h"

double ons_trial_speed(const ons_trial *t) {
    return isfinite(t->step_seconds) ? (double)t->batch / t->step_seconds : 0;
}

/* What another way may do better. */
static bool is_own(ons_status_code code) {
    return code == ONS_OUT_OF_MEMORY || code == ONS_INVALID_ARGUMENT || code == ONS_UNSUPPORTED;
}

static ons_status *note(const ons_trials *trials, const ons_planning *p, const ons_status *status, ons_trial *trial) {
    *trial = (ons_trial){.step_seconds = INFINITY};
    if (status == NULL) {
        trial->micro_batches = p->plan.subject.micro_batches;
        trial->batch = p->plan.subject.batch;
        trial->step_seconds = p->plan.step_seconds;
        trial->memory_bytes = ons_plan_fullest_bytes(&p->plan);
        return NULL;
    }
    trial->memory_bytes = p == NULL ? 0 : p->least_bytes;
    if (trial->memory_bytes > 0) return NULL;
    trial->why = ons_arena_copy_text(trials->arena, ons_status_get_message(status));
    return trial->why == NULL ? ons_status_out_of_memory() : NULL;
}

/* The faster one; without a plan that which lacks least. */
static bool is_better(const ons_trial *a, const ons_trial *b) {
    double speed = ons_trial_speed(a), other = ons_trial_speed(b);
    if (speed != other) return speed > other;
    return speed == 0 && a->memory_bytes > 0 && (b->memory_bytes == 0 || a->memory_bytes < b->memory_bytes);
}

ons_status *ons_trials_add(ons_trials *trials, ons_planning *p, ons_status *status, ons_trial *trial) {
    if (status != NULL && !is_own(ons_status_get_code(status))) {
        ons_planning_free(p);
        return status;
    }
    ons_status *failure = note(trials, p, status, trial);
    uint32_t index = trials->count++;
    if (index > 0 && !is_better(trial, &trials->best)) {
        ons_planning_free(p);
        ons_status_free(status);
        return failure;
    }
    ons_trials_free(trials);
    trials->planning = p;
    trials->failure = status;
    trials->taken = index;
    trials->best = *trial;
    return failure;
}

void ons_trials_free(ons_trials *trials) {
    ons_planning_free(trials->planning);
    ons_status_free(trials->failure);
    trials->planning = NULL;
    trials->failure = NULL;
}
