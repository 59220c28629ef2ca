/* What if: the same training on other devices, on more or fewer of them, with another batch. */
#ifndef ONSTAGE_PLANNER_REPORT_WHAT_IF_H
#define ONSTAGE_PLANNER_REPORT_WHAT_IF_H

#include "planner/cost/device_profile.h"
#include "planner/search/planner.h"

/* Two sizes of one model's micro-batch; others are drawn from them (planner/workload/workload_scale.h). */
typedef struct ons_what_if_work {
    const ons_workload *low, *high; /* high NULL: no other size than low's can be estimated */
} ons_what_if_work;

/* A device with what the model costs on it. */
typedef struct ons_what_if_device {
    const ons_device_profile *profile;
    int64_t capacity_bytes;   /* after what its libraries take */
    double money_per_hour;    /* 0: not known */
    ons_what_if_work single;  /* one micro-batch on one stage: gradients are not added up */
    ons_what_if_work summed;  /* all others */
    uint32_t charged_devices; /* so many of them or more leave no processor for copies to the host: host_share of
                                 ons_planning_problem is 1; 0: copies never cost computing */
} ons_what_if_device;

typedef struct ons_question {
    const ons_what_if_device *device;
    const ons_partition_strategy *partition;
    const ons_memory_strategy *memory;
    /* The node at each position, for workloads whose nodes are those of `ordered`, which is in that order already;
     * NULL: as the workloads have them. Graphs for another device may have other nodes. */
    const uint32_t *order;
    const ons_workload *ordered;
    const ons_generator *generator;
    bool follows_lists;       /* the generator has lists that are asked for: see ons_planning_problem */
    uint32_t stages, devices; /* devices 0: the generator's own number; of one replica */
    uint32_t replicas;        /* copies of all stages, each with its share of the batch; 0: one */
    int64_t batch;            /* samples of all replicas */
    int64_t micro_batches;    /* of each replica */
    int64_t capacity_bytes;   /* of each device; 0: no limit */
    bool without_host;        /* nothing can be swapped */
} ons_question;

typedef struct ons_answer {
    bool known;     /* false: there are more micro-batches than samples, costs of its size cannot be estimated, the
                       generator has no schedule of these stages and devices, or none that they can run, or it updates
                       between micro-batches, in which replicas cannot */
    bool feasible;  /* the rest holds where it is */
    bool optimised; /* fits only with swap or recompute */
    double step_seconds, samples_per_second;
    double reduce_seconds;                   /* of a step, what the sum over replicas adds to it */
    double recompute_seconds, stall_seconds; /* of all stages, for one micro-batch */
    int64_t fullest_bytes;                   /* of the fullest device */
    int64_t least_bytes;                     /* where not feasible: the smallest capacity that would do */
} ons_answer;

static inline uint32_t ons_question_replicas(const ons_question *q) { return q->replicas > 1 ? q->replicas : 1; }
/* Counts how many devices the stages of a replica lie on. */
uint32_t ons_question_devices(const ons_question *question);
/* Counts the devices of all replicas. */
static inline int64_t ons_question_all_devices(const ons_question *q) {
    return (int64_t)ons_question_devices(q) * ons_question_replicas(q);
}
/* Asks for so many devices, with as many stages on each as before; one alone has one stage. */
void ons_question_set_devices(ons_question *question, uint32_t devices);
/* Asks for another number of stages, with as many on each device as before where that was said; where it cannot be, the
 * generator's own number of devices is asked for. */
void ons_question_set_stages(ons_question *question, uint32_t stages);

/* Gives the samples of the largest micro-batch, which costs and memory are asked for. */
static inline int64_t ons_question_rows(const ons_question *q) {
    int64_t parts = q->micro_batches * ons_question_replicas(q);
    return (q->batch + parts - 1) / parts;
}

/* Answers the question by one search and one simulation. */
ons_status *ons_what_if(const ons_question *question, ons_answer *answer);

enum { ONS_WHAT_IF_ROWS = 1 << 16 }; /* the largest micro-batch that is tried */
/* Finds the largest batch with the question's number of micro-batches that fits, and the answer for it; 0: none, or it
 * cannot be estimated. */
ons_status *ons_what_if_largest(const ons_question *question, int64_t *batch, ons_answer *answer);

/* Money for a million samples; 0: not known. */
double ons_what_if_money(const ons_question *question, const ons_answer *answer);

#endif
