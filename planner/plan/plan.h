/* A plan: what is decided before anything runs. In memory as below, on disk as JSON (docs/plan.schema.json). */
#ifndef ONSTAGE_PLANNER_PLAN_PLAN_H
#define ONSTAGE_PLANNER_PLAN_PLAN_H

#include "planner/memory/memory.h"
#include "planner/simulate/pipeline_tasks.h"

enum { ONS_PLAN_VERSION = 2 };

/* A shape binding, and any other NAME=VALUE setting that the plan was made for. */
typedef struct ons_plan_setting {
    const char *name, *value;
} ons_plan_setting;

/* What the plan is for; a plan made for something else is refused with the field that differs. */
typedef struct ons_plan_subject {
    const char *model; /* file name, for people */
    const char
        *digest; /* of the graph's structure: nodes, attributes, types, initialisers' names, not their contents */
    ons_plan_setting *dims;
    uint32_t dim_count;
    int64_t batch;         /* of all replicas */
    int64_t micro_batches; /* of each replica */
    int64_t replicas;
    bool shard_optimizer; /* they divide updates among them */
    const char *loss, *optimizer, *precision;
    const char *device_profile; /* "a100-40gb", or the path of a measured one */
    int64_t threads;            /* per stage */
    int64_t trainable_elements;
    const char *trainable_digest;
    ons_plan_setting *libraries; /* versions that kernels were chosen with */
    uint32_t library_count;
} ons_plan_subject;

/* Swap or recompute of one tensor, in the names of the graph. */
typedef struct ons_plan_decision {
    const char *tensor;
    ons_decision decision;
    const char *out_after;   /* node; NULL where it does not apply */
    const char *in_before;   /* node */
    const char *gone_before; /* node before whose forward part a copy to the host has ended; NULL: it outlasts the
                                forward part, or does not apply */
} ons_plan_decision;

/* What a stage's costs follow from, beside the schedule. */
typedef enum ons_plan_field {
    ONS_PLAN_NODES, /* first_node, nodes, names */
    ONS_PLAN_TENSOR,
    ONS_PLAN_OUT_AFTER,
    ONS_PLAN_IN_BEFORE,
    ONS_PLAN_GONE_BEFORE,
    ONS_PLAN_FIELDS
} ons_plan_field;
extern const char *const ons_plan_field_names[ONS_PLAN_FIELDS]; /* "nodes", "tensor", "out_after", … */

typedef struct ons_plan_stage {
    const char
        *first_node; /* in planning order; every forward node up to the next stage's first belongs to the stage */
    uint32_t node_count;
    const char **names;          /* of its forward nodes, where the planning order is not the file's; NULL: it is */
    uint32_t device;             /* of its first copy */
    ons_stage_grouping grouping; /* as in the schedule; 0, 0: not said, which is 1, 1 */
    ons_stage_load load;
    ons_plan_decision *decisions;
    uint32_t decision_count;
    const char *made_for[ONS_PLAN_FIELDS]; /* digests of what all below is of (plan_check.h); NULL, all: not said */
    /* predicted */
    double seconds; /* of one micro-batch: forward, backward, what memory optimisation adds */
    double forward_seconds, backward_seconds, recompute_seconds, stall_seconds, update_seconds;
    double reduce_seconds; /* of a step, in front of the update: sums over replicas that nothing hides */
    double send_seconds;   /* activations to later stages */
    int64_t send_bytes, receive_bytes;
    ons_stage_memory memory;
    int64_t memory_bytes;        /* the arena: memory.total, or what the layout took */
    int64_t fragmentation_bytes; /* of memory_bytes, those over the lower bound of lifetimes */
} ons_plan_stage;

/* A split is chosen for the fastest step, as simulated, or for the fastest slowest stage. */
extern const char ons_plan_by_step[], ons_plan_by_bottleneck[];

typedef struct ons_plan {
    ons_plan_subject subject;
    const char *partition, *memory; /* strategies that made it */
    const char *order;              /* of the nodes that stages are intervals of: "file", "depth", … */
    const char *objective;          /* what decided: ons_plan_by_step or ons_plan_by_bottleneck; NULL: not said */
    ons_pipeline pipeline;          /* its generator makes `schedule`, or has nothing but its lists */
    int64_t capacity_bytes;         /* the cap; 0: none */
    int64_t *capacities; /* [device]: where they differ, and capacity_bytes is the largest; NULL: they do not */
    ons_plan_stage *stages;
    ons_schedule schedule; /* what every device computes, in order */
    /* What the simulator runs (planner/plan/plan_replay.h): the times and bytes of the stages' parts, what stages send
     * each other, and over which links. */
    ons_pipeline_parts parts;
    double link_bandwidth, link_latency; /* bytes a second, 0: transfers take no time; seconds */
    int64_t link_eager_bytes;            /* see planner/partition/link.h */
    int64_t node_devices;                /* 0: all devices are in one node, and the rest is 0 */
    double network_bandwidth, network_latency;
    int64_t network_eager_bytes;
    double step_seconds, bottleneck_seconds, planning_seconds;
    bool reproducible; /* planning_seconds is left out of the file */
} ons_plan;

/* Notes what the arena of a lane takes (planner/schedule/lanes.h), with the first of its stages, and nothing with the
 * others. */
void ons_plan_note_arena(ons_plan *plan, const ons_schedule *lanes, uint32_t lane, int64_t bytes);
/* Gives the cap of a device; 0: none. */
static inline int64_t ons_plan_capacity(const ons_plan *plan, uint32_t device) {
    return plan->capacities == NULL ? plan->capacity_bytes : plan->capacities[device];
}

/* Text of the file; free with free(). Writing, reading and writing again gives the same bytes. */
ons_status *ons_plan_print(const ons_plan *plan, char **text);
/* Reads a plan into `arena`, and checks version, fields, ranges, and what plan_check.h says of stages and actions; a
 * failure names the field ("decisions.stages[2].device: …"). */
ons_status *ons_plan_parse(const char *text, size_t size, ons_arena *arena, ons_plan *plan);

/* Sums the memory of the stages that the device holds, whichever of their copies it has. */
static inline int64_t ons_plan_device_bytes(const ons_plan *plan, uint32_t device) {
    int64_t bytes = 0;
    for (uint32_t i = 0; i < plan->pipeline.stages; ++i)
        if (ons_schedule_holds(&plan->schedule, i, device)) bytes += plan->stages[i].memory_bytes;
    return bytes;
}

/* Gives the memory of the device that holds most. */
static inline int64_t ons_plan_fullest_bytes(const ons_plan *plan) {
    int64_t most = 0;
    for (uint32_t device = 0; device < plan->schedule.devices; ++device) {
        int64_t bytes = ons_plan_device_bytes(plan, device);
        if (bytes > most) most = bytes;
    }
    return most;
}

#endif
