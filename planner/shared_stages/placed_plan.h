/* A plan whose stages may have several copies, on a device each:
 *
 *   together   every part runs on all copies at once, each with a shard of the weights, and collectives join what they
 *              made: a vocabulary's embedding and head over all devices (FlexPipe's shared stages)
 *   in turn    part i runs on copy i mod copies, each with all weights; their gradients are summed at the step's end
 *              (Chimera's two directions)
 *
 * A part is what one action of a stage takes: `samples` of the batch, part i those from i · samples on. A stage whose
 * parts take more samples than those of the stages before it is a barrier: a contrastive loss waits for all
 * micro-batches of its group, and their backward parts for the loss.
 *
 *   device 0   stage 0.0 ▏stage 3.1 ▏ shard 4.0          stage 0 on devices 0 and 3 in turn: copies 0.0 and 0.1,
 *   device 3   stage 3.0 ▏stage 0.1 ▏ shard 4.3          stage 4 on all devices together
 */
#ifndef ONSTAGE_PLANNER_SHARED_STAGES_PLACED_PLAN_H
#define ONSTAGE_PLANNER_SHARED_STAGES_PLACED_PLAN_H

#include "planner/partition/link.h"
#include "planner/schedule/schedule.h"

/* What the copies of a stage that work together exchange for each part. */
typedef enum ons_collective {
    ONS_BEFORE_FORWARD,
    ONS_AFTER_FORWARD,
    ONS_BEFORE_BACKWARD,
    ONS_AFTER_BACKWARD, /* behind the input gradients */
    ONS_COLLECTIVES
} ons_collective;

typedef struct ons_placed_stage {
    const uint32_t *devices; /* [copy] */
    uint32_t copies;
    bool together; /* else in turn */
    bool holds;    /* its copies begin each part with the collective before it at once, and hold their devices until the
                      one behind it is over; else collectives run beside, and copies at any time. Of stages together
                      alone */
    int64_t samples;
    double forward, input, weight;       /* seconds of a part on a copy; a whole backward part takes the last two */
    double collectives[ONS_COLLECTIVES]; /* seconds of each for a part; 0: none. Of stages together alone */
    double sum, update;                  /* seconds at the step's end: gradients over copies in turn or replicas */
    int64_t held_bytes;                  /* of a copy: weights, their gradients and states */
    int64_t saved_bytes;                 /* of a copy and part, from its forward part to the end of its gradients */
} ons_placed_stage;

/* The parts of `to` wait for those of `from` with the same samples, and back. Times count where devices differ; a stage
 * whose copies work together takes and gives what it needs in its collectives. */
typedef struct ons_placed_edge {
    uint32_t from, to; /* from < to */
    double seconds, gradient_seconds;
} ons_placed_edge;

typedef struct ons_placed_plan {
    int64_t batch; /* samples of a step */
    uint32_t devices;
    ons_placed_stage *stages;
    ons_placed_edge *edges;
    uint32_t stage_count, edge_count;
} ons_placed_plan;

static inline uint32_t ons_placed_parts(const ons_placed_plan *plan, uint32_t stage) {
    return (uint32_t)(plan->batch / plan->stages[stage].samples);
}

/* How many parts of the stage a copy of it runs. */
static inline uint32_t ons_placed_copy_parts(const ons_placed_plan *plan, uint32_t stage, uint32_t copy) {
    const ons_placed_stage *s = &plan->stages[stage];
    uint32_t parts = ons_placed_parts(plan, stage);
    return s->together ? parts : (parts + s->copies - 1 - copy) / s->copies;
}

/* The i-th part that a copy runs. */
static inline uint32_t ons_placed_part_of(const ons_placed_stage *s, uint32_t copy, uint32_t i) {
    return s->together ? i : i * s->copies + copy;
}

/* The device of a part, of a stage whose copies do not work together. */
static inline uint32_t ons_placed_device(const ons_placed_stage *s, uint32_t part) {
    return s->devices[part % s->copies];
}

/* The seconds of a message between the two parts; 0: none is sent. */
static inline double ons_placed_message(const ons_placed_plan *plan, const ons_placed_edge *e, bool gradient,
                                        uint32_t from_part, uint32_t to_part) {
    const ons_placed_stage *from = &plan->stages[e->from], *to = &plan->stages[e->to];
    if (from->together || to->together) return 0;
    if (ons_placed_device(from, from_part) == ons_placed_device(to, to_part)) return 0;
    return gradient ? e->gradient_seconds : e->seconds;
}

/* The seconds of a sum over so many devices in a ring, in one piece: what each gives and takes for a sum over replicas
 * (planner/partition/reduce.h), (n - 1) / n of the bytes twice, in n - 1 messages each time. To bring what one device
 * has to all others takes as long: scattered, then gathered. */
double ons_collective_sum_seconds(ons_link_cost link, int64_t bytes, uint32_t devices);
/* The seconds in which every device gets what all have, `bytes` together: one of these two ways. */
double ons_collective_gather_seconds(ons_link_cost link, int64_t bytes, uint32_t devices);

/* Checks a plan, whoever made it: samples divide the batch, every device is there and holds no two copies of a stage,
 * edges go to later stages, copies in turn have no collectives. The failure names the stage. */
ons_status *ons_placed_plan_check(const ons_placed_plan *plan);

#endif
