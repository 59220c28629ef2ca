/* The time of a step from the times of its stages, in closed form: a search looks at thousands of splits,
 * the simulator (planner/pipeline_simulation.h) has the last word on a few.
 */
#ifndef ONSTAGE_PLANNER_STEP_ESTIMATE_H
#define ONSTAGE_PLANNER_STEP_ESTIMATE_H

#include "planner/pipeline.h"

/* Seconds. */
typedef struct ons_step_stage {
    double forward, backward; /* of a micro-batch */
    double update;            /* of a step; asynchronous: of a micro-batch */
    double arrive, back;      /* over the cut in front of the stage: what it reads, and the gradients that it returns */
} ons_step_stage;

/* How many numbers of scratch memory the estimate takes. */
size_t ons_step_scratch(const ons_pipeline *pipeline);

/* As simulated where the stages are a chain and nothing is copied to the host: copies, values that skip stages and the
 * receiver's room are not looked at. Asynchronous: a step is as many micro-batches of the steady state, which some
 * pipelines take longer to reach than is looked at here. O(stages · micro-batches), asynchronous O(stages²). */
double ons_step_estimate(const ons_pipeline *pipeline, const ons_step_stage *stages, double *scratch);

/* The most that a micro-batch may take on stage `stage` for a step within `limit` seconds, whatever the rest of it is.
 */
double ons_step_most(const ons_pipeline *pipeline, const ons_step_stage *stages, uint32_t stage, double limit);

/* Never more than that: the first micro-batch's way to a stage, the stage's own work, and the last one's way back.
 * O(stages). */
double ons_step_bound(const ons_pipeline *pipeline, const ons_step_stage *stages);

#endif
