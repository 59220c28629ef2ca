/* Fits the analytic model of a device profile to measured operators. */
#ifndef ONSTAGE_PLANNER_COST_FIT_H
#define ONSTAGE_PLANNER_COST_FIT_H

#include "planner/cost/device_profile.h"

/* Operators that differ: of several with the same shapes, one. */
typedef struct ons_fit_sample {
    double flops, bytes, seconds; /* seconds > 0 */
    bool matrix;
    bool held_out; /* the fit does not see it */
} ons_fit_sample;

typedef struct ons_fit_error {
    uint32_t count;         /* samples that it is over; 0: none, and the others are 0 */
    double median;          /* of |predicted - measured| / measured, every sample the same */
    double weighted_median; /* the median error, each sample with its seconds as weight: half of the time lies below */
    double total;           /* predicted ÷ measured, of the sums */
} ons_fit_error;

enum { ONS_FIT_LEAST = 8 }; /* samples that a fit needs */

/* Sets launch_seconds and the three efficiencies of `profile` (its peaks stay) so that the samples that are not held
 * out are met best, and fit_error to the median on those that are. Of a kind (matrix or not) that no sample has,
 * the curve stays. The same samples give the same fit. Fails where fewer than ONS_FIT_LEAST samples are left. */
ons_status *ons_device_profile_fit(ons_device_profile *profile, const ons_fit_sample *samples, uint32_t count,
                                   ons_arena *arena);

/* Finds the error over the samples whose held_out is `held_out`. */
ons_status *ons_fit_error_find(const ons_device_profile *profile, const ons_fit_sample *samples, uint32_t count,
                               bool held_out, ons_arena *arena, ons_fit_error *error);

#endif
