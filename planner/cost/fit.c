#include "planner/cost/fit.h"

#include <math.h>
#include <stdlib.h>

#include "base/philox.h"

/* ---------------------------------------------------------------------------------------------------------- medians */

typedef struct weighted {
    double value, weight;
} weighted;

static int by_value(const void *left, const void *right) {
    const weighted *a = left, *b = right;
    return (a->value > b->value) - (a->value < b->value);
}

/* The least value that at least half of the weight is not above. Sorts. */
static double weighted_median(weighted *items, uint32_t count) {
    qsort(items, count, sizeof *items, by_value);
    double all = 0, below = 0;
    for (uint32_t i = 0; i < count; ++i) all += items[i].weight;
    for (uint32_t i = 0; i < count; ++i) {
        below += items[i].weight;
        if (below >= all / 2) return items[i].value;
    }
    return 0;
}

/* ----------------------------------------------------------------------------------------------------------- search */

/* Seven numbers: the launch, and share and half of three curves. The error is a median, so it has no gradient worth
 * following: each number in turn is multiplied and divided by a factor, what helps is kept, and the factor shrinks
 * where nothing does. Medians have many local minima, hence several starts; and they do not feel a curve that less than
 * half of the samples lie on, hence several more in which a curve alone begins anew.
 */

enum { PARAMETERS = 7, STARTS = 24, ROUNDS = 60, CURVES = 3, CURVE_STARTS = 8 };

/* How much a number's distance from where the search began counts: what the samples say nothing about (the launch,
 * where all operators are large) stays what it was. */
#define PULL 0.002

typedef struct search {
    const ons_fit_sample *samples;
    weighted *errors; /* room for one a sample */
    uint32_t count;
    const ons_device_profile *device; /* peaks */
    double from[PARAMETERS];
} search;

static const struct limits {
    double least, most;
} limits[PARAMETERS] = {{1e-9, 1e-3}, {1e-3, 2}, {1, 1e12}, {1e-3, 2}, {1, 1e12}, {1e-3, 10}, {1, 1e12}};

static void set_parameters(ons_device_profile *p, const double x[static PARAMETERS]) {
    p->launch_seconds = x[0];
    p->matrix = (ons_efficiency){x[1], x[2]};
    p->vector = (ons_efficiency){x[3], x[4]};
    p->memory = (ons_efficiency){x[5], x[6]};
}

static void get_parameters(const ons_device_profile *p, double x[static PARAMETERS]) {
    const double now[PARAMETERS] = {p->launch_seconds, p->matrix.share, p->matrix.half, p->vector.share,
                                    p->vector.half,    p->memory.share, p->memory.half};
    for (int i = 0; i < PARAMETERS; ++i) x[i] = fmin(fmax(now[i], limits[i].least), limits[i].most);
}

/* In log space, so that half and twice are as bad as each other. Small operators are many and large ones decide how
 * long a step takes: both count. A little of the mean error points the way where the medians stand still. */
static double loss(const search *s, const double x[static PARAMETERS]) {
    ons_device_profile p = *s->device;
    set_parameters(&p, x);
    double mean = 0, pull = 0;
    for (int i = 0; i < PARAMETERS; ++i) pull += PULL * fabs(log(x[i] / s->from[i]));
    for (uint32_t i = 0; i < s->count; ++i) {
        const ons_fit_sample *each = &s->samples[i];
        double predicted = ons_device_profile_seconds(&p, each->flops, each->bytes, each->matrix);
        s->errors[i] = (weighted){fabs(log(predicted / each->seconds)), each->seconds};
        mean += s->errors[i].value / s->count;
    }
    double by_time = weighted_median(s->errors, s->count);
    double median = s->errors[s->count / 2].value; /* they are sorted now */
    return 0.6 * median + 0.3 * by_time + 0.1 * mean + pull;
}

/* The factor begins at 4 and shrinks to half a per cent, so that coarse steps leave small local minima and fine ones
 * end the search. */
static double minimise_loss(const search *s, double x[static PARAMETERS]) {
    double best = loss(s, x), factor = 4;
    for (int round = 0; round < ROUNDS && factor > 1.005; ++round) {
        bool better = false;
        for (int i = 0; i < PARAMETERS; ++i)
            for (int down = 0; down < 2; ++down) {
                double before = x[i];
                x[i] = fmin(fmax(down ? before / factor : before * factor, limits[i].least), limits[i].most);
                double now = loss(s, x);
                if (now < best) {
                    best = now;
                    better = true;
                } else {
                    x[i] = before;
                }
            }
        if (!better) factor = sqrt(factor);
    }
    return best;
}

/* Another start: the profile's own numbers, each up to 30 times larger or smaller. The key is constant. */
static void scatter(const double from[static PARAMETERS], int start, double x[static PARAMETERS]) {
    for (int i = 0; i < PARAMETERS; ++i) {
        ons_philox random = ons_philox_draw(4, (uint64_t)start, (uint64_t)i);
        double factor = pow(30, 2 * (double)ons_uniform_float(random.words[0]) - 1);
        x[i] = fmin(fmax(from[i] * (start == 0 ? 1 : factor), limits[i].least), limits[i].most);
    }
}

static void keep_if_better(double now, const double x[static PARAMETERS], double *least,
                           double best[static PARAMETERS]) {
    if (!(now < *least)) return;
    *least = now;
    for (int i = 0; i < PARAMETERS; ++i) best[i] = x[i];
}

/* Begins with all seven numbers from scattered starts, then with one curve at a time from the best. Curve c has the
 * numbers 2c + 1 and 2c + 2, so (i + 1) / 2 is c + 1. */
static void find_best(const search *s, double best[static PARAMETERS]) {
    double least = INFINITY, x[PARAMETERS], scattered[PARAMETERS];
    for (int start = 0; start < STARTS; ++start) {
        scatter(s->from, start, x);
        keep_if_better(minimise_loss(s, x), x, &least, best);
    }
    for (int start = 1; start <= CURVE_STARTS; ++start)
        for (int curve = 0; curve < CURVES; ++curve) {
            scatter(s->from, start, scattered);
            for (int i = 0; i < PARAMETERS; ++i) x[i] = (i + 1) / 2 == curve + 1 ? scattered[i] : best[i];
            keep_if_better(minimise_loss(s, x), x, &least, best);
        }
}

/* Samples that are held out have no part in the fit, so that the error that is noted is one of operators that the fit
 * has not seen. */
ons_status *ons_device_profile_fit(ons_device_profile *profile, const ons_fit_sample *samples, uint32_t count,
                                   ons_arena *arena) {
    ons_fit_sample *seen;
    search s = {.device = profile};
    bool matrix[2] = {false, false};
    ONS_NEW(seen, arena, count + 1);
    ONS_NEW(s.errors, arena, count + 1);
    for (uint32_t i = 0; i < count; ++i) {
        if (samples[i].held_out || !(samples[i].seconds > 0)) continue;
        seen[s.count++] = samples[i];
        matrix[samples[i].matrix] = true;
    }
    ONS_CHECK(s.count >= ONS_FIT_LEAST, ONS_INVALID_DATA,
              "%u different operators were measured: too few to fit the efficiency to, %d are needed", s.count,
              ONS_FIT_LEAST);
    s.samples = seen;
    double best[PARAMETERS];
    ons_efficiency kept[2] = {profile->vector, profile->matrix};
    get_parameters(profile, s.from);
    find_best(&s, best);
    set_parameters(profile, best);
    if (!matrix[0]) profile->vector = kept[0];
    if (!matrix[1]) profile->matrix = kept[1];
    ons_fit_error error;
    ONS_TRY(ons_fit_error_find(profile, samples, count, true, arena, &error));
    profile->fit_error = error.median;
    return NULL;
}

ons_status *ons_fit_error_find(const ons_device_profile *profile, const ons_fit_sample *samples, uint32_t count,
                               bool held_out, ons_arena *arena, ons_fit_error *error) {
    weighted *errors;
    double predicted = 0, measured = 0;
    ONS_NEW(errors, arena, count + 1);
    *error = (ons_fit_error){0};
    for (uint32_t i = 0; i < count; ++i) {
        const ons_fit_sample *each = &samples[i];
        if (each->held_out != held_out || !(each->seconds > 0)) continue;
        double seconds = ons_device_profile_seconds(profile, each->flops, each->bytes, each->matrix);
        errors[error->count++] = (weighted){fabs(seconds - each->seconds) / each->seconds, each->seconds};
        predicted += seconds;
        measured += each->seconds;
    }
    if (error->count == 0) return NULL;
    error->weighted_median = weighted_median(errors, error->count);
    error->median = errors[error->count / 2].value;
    error->total = predicted / measured;
    return NULL;
}
