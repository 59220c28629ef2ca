/* A schedule is what every device computes, in order: lists of actions, as data. What else is known of it (which device
 * holds a stage, how many micro-batches wait in it, how many versions its weights have) follows from the lists, by one
 * function for everybody: ons_schedule_take. Where lists come from does not matter: a generator (generators.inc), a
 * user's file, an edited plan.
 */
#ifndef ONSTAGE_PLANNER_SCHEDULE_SCHEDULE_H
#define ONSTAGE_PLANNER_SCHEDULE_SCHEDULE_H

#include "base/status.h"
#include "planner/schedule/action.h"
#include "planner/workload/workload.h"

typedef struct ons_generator ons_generator;
typedef struct ons_stage_grouping ons_stage_grouping;

/* What lists are wanted for. */
typedef struct ons_pipeline {
    const ons_generator *generator;
    uint32_t stages;
    uint32_t micro_batches; /* of a step; asynchronous: of the stretch that is looked at */
    uint32_t devices;       /* that the stages lie on; 0: as many as the generator takes where nothing is said */
    uint32_t replicas;      /* copies of all of it, each with its own samples; 0: one */
} ons_pipeline;

/* Another way to run the same micro-batches on as many replicas. */
static inline ons_pipeline ons_pipeline_by(const ons_pipeline *like, const ons_generator *generator, uint32_t stages,
                                           uint32_t devices) {
    ons_pipeline other = *like;
    other.generator = generator;
    other.stages = stages;
    other.devices = devices;
    return other;
}

/* `lists`: one for each of pipeline->devices, empty; the update of each stage comes behind its last gradient, or, where
 * the generator is asynchronous, behind each. Gradients are taken in ascending order of micro-batches. A number of
 * stages, devices or micro-batches with which there is no such schedule is ONS_INVALID_ARGUMENT, and says which there
 * are. */
typedef ons_status *ons_generate(const ons_pipeline *pipeline, ons_arena *arena, ons_action_list *lists);

struct ons_generator {
    const char *name;
    const char *summary; /* one line for --help and reports */
    ons_generate *generate;
    uint32_t chunks;                     /* stages on a device, where nothing is said */
    bool asynchronous;                   /* updates come between micro-batches, and the pipeline is never empty */
    const void *given;                   /* for `generate`: options, or lists; NULL: none */
    const ons_stage_grouping *groupings; /* [stage]: of the schedules that it makes (below); NULL: none */
    /* In the place of `groupings` where these follow from the pipeline: every stage has two copies, crosswise, whose
     * sums of gradients are others than one stage's. Such a schedule is taken where it is asked for. NULL: it has not.
     */
    ons_status *(*group)(const ons_pipeline *pipeline, ons_arena *arena, const ons_stage_grouping **groupings);
};

#define ONS_GENERATOR(name) extern const ons_generator ons_generator_##name;
#include "planner/schedule/generators.inc"
#undef ONS_GENERATOR
extern const ons_generator *const ons_generators[]; /* in the order of --help; ends with NULL */

/* NULL where there is none. */
const ons_generator *ons_generator_find(const char *name);
/* Finds a generator by its name; the failure lists all. */
ons_status *ons_generator_parse(const char *name, const ons_generator **generator);

static inline bool ons_pipeline_is_asynchronous(const ons_pipeline *p) { return p->generator->asynchronous; }
/* Counts how many devices the pipeline's stages lie on. */
uint32_t ons_pipeline_devices(const ons_pipeline *pipeline);
/* Makes the pipeline of one stage on one device, where nothing is gained by micro-batches that wait for each other. */
ons_pipeline ons_pipeline_of_one_stage(bool asynchronous, uint32_t micro_batches);

/* How a stage takes the samples of a step, where stages differ in it (GraphPipe, sections 3 and 6). A step consists of
 * units, which are the schedule's micro-batches; a stage's own micro-batch is `size` units in a row, computed at once.
 * Copies of a stage take its micro-batches in turn, and lie on as many devices, `stride` apart from device_of[stage]
 * on: in a row, or, of two copies, anywhere (Chimera's two directions). Actions count micro-batches by the copy that
 * computes them: number j of copy c is the stage's number j · copies + c, and has the units from (j · copies + c) ·
 * size on. `size` · `copies` divides the units of a step. A message between a copy and one of a neighbour has the units
 * that a micro-batch of the one and a micro-batch of the other have in common.
 *
 * So far a synchronous schedule alone has groupings, with whole forward and backward parts; stages on the same device
 * have the same size, and one copy; or there are two of them with two copies each, which lie crosswise on two devices:
 * the one's first copy with the other's second. */
struct ons_stage_grouping {
    uint32_t size, copies;
    int32_t stride; /* in devices, from a copy to the next one; 0: 1 */
};

static inline int64_t ons_grouping_stride(ons_stage_grouping g) { return g.stride == 0 ? 1 : g.stride; }

typedef struct ons_schedule {
    uint32_t stages, devices, micro_batches;
    bool asynchronous;
    const ons_stage_grouping *groupings; /* [stage]; NULL: size and copies are 1 everywhere */
    ons_action_list *lists;              /* [device] */
    uint32_t *device_of;                 /* [stage]: of its first copy */
    ons_stage_load *loads;               /* [stage] */
    /* [stage · micro_batches + unit]: the tick at which forward parts, and input gradients, run in lockstep
     * (planner/schedule/lockstep.h), from 1; 0: never */
    uint32_t *forward_ticks, *backward_ticks;
} ons_schedule;

static inline ons_stage_grouping ons_schedule_grouping(const ons_schedule *schedule, uint32_t stage) {
    return schedule->groupings == NULL ? (ons_stage_grouping){1, 1, 1} : schedule->groupings[stage];
}
/* Counts the micro-batches that a copy of the stage computes in a step. */
static inline uint32_t ons_schedule_copy_micro_batches(const ons_schedule *schedule, uint32_t stage) {
    ons_stage_grouping g = ons_schedule_grouping(schedule, stage);
    return schedule->micro_batches / (g.size * g.copies);
}
/* Gives the first unit of a copy's micro-batch. */
static inline uint32_t ons_schedule_first_unit(const ons_schedule *schedule, uint32_t stage, uint32_t copy,
                                               uint32_t micro_batch) {
    ons_stage_grouping g = ons_schedule_grouping(schedule, stage);
    return (micro_batch * g.copies + copy) * g.size;
}

/* Numbers a copy's micro-batch among all of the stage. */
static inline uint32_t ons_schedule_number(const ons_schedule *schedule, uint32_t stage, uint32_t copy,
                                           uint32_t micro_batch) {
    return micro_batch * ons_schedule_grouping(schedule, stage).copies + copy;
}
/* Gives the device of one of the stage's copies. */
static inline uint32_t ons_schedule_device(const ons_schedule *schedule, uint32_t stage, uint32_t copy) {
    return (uint32_t)(schedule->device_of[stage] + copy * ons_grouping_stride(ons_schedule_grouping(schedule, stage)));
}
/* Finds which of the stage's copies lies on the device; ONS_NO_COPY: none. */
#define ONS_NO_COPY UINT32_MAX
uint32_t ons_schedule_copy_on(const ons_schedule *schedule, uint32_t stage, uint32_t device);
/* Tests whether a copy of the stage lies on the device. */
static inline bool ons_schedule_holds(const ons_schedule *schedule, uint32_t stage, uint32_t device) {
    return ons_schedule_copy_on(schedule, stage, device) != ONS_NO_COPY;
}
/* Finds the first stage that the device holds a copy of; there is one. */
uint32_t ons_schedule_first_stage(const ons_schedule *schedule, uint32_t device);
/* Tests whether some stage has larger micro-batches than a unit, or several copies. */
bool ons_schedule_is_grouped(const ons_schedule *schedule);
/* Tests whether devices hold copies of two stages crosswise. */
bool ons_schedule_is_crossed(const ons_schedule *schedule);
/* Checks sizes and copies; ONS_INVALID_DATA and ONS_UNSUPPORTED name the stage or the action. */
ons_status *ons_schedule_check_groupings(const ons_schedule *schedule);

/* Puts updates last: a device updates its stages together, when all their gradients are there: those of weights that
 * two stages share are. For synchronous lists; new ones in `arena`. */
ons_status *ons_schedule_put_updates_last(ons_schedule *schedule, ons_arena *arena);

/* Asks the pipeline's generator, and takes what it says. Everything in `arena`. */
ons_status *ons_schedule_make(const ons_pipeline *pipeline, ons_arena *arena, ons_schedule *schedule);

/* Stages of the device that has most. */
uint32_t ons_schedule_most_local_stages(const ons_schedule *schedule);

/* Most versions that a stage of the device has of its weights. */
uint32_t ons_schedule_versions(const ons_schedule *schedule, uint32_t device);

/* Derives what follows from lists; of `schedule` all but device_of, loads and ticks is given, and stays, but for this:
 * in a stage that has gradients apart (I, W), a whole backward part (B) is replaced by the two of them. An action of a
 * stage or micro-batch that is not there, a stage on two devices and one on none are ONS_INVALID_DATA and named;
 * whether the lists can run is not looked at (ons_schedule_verify). Loads are those of a copy, in its micro-batches. */
ons_status *ons_schedule_take(ons_schedule *schedule, ons_arena *arena);

/* Makes a shorter schedule, of fewer micro-batches: what belongs to the others is left out, and a synchronous update
 * comes behind the last gradient that is left. Where the whole step can run so can this one, in the same memory. A
 * number that not all stages can divide into their micro-batches, and these among their copies, is
 * ONS_INVALID_ARGUMENT. */
ons_status *ons_schedule_shorten(const ons_schedule *schedule, uint32_t micro_batches, ons_arena *arena,
                                 ons_schedule *shorter);

bool ons_schedule_equal(const ons_schedule *a, const ons_schedule *b); /* the same lists */

/* Makes a generator that has but these lists, for as many micro-batches and fewer. `schedule` outlives it. */
ons_status *ons_generator_of_lists(const ons_schedule *schedule, const char *name, ons_arena *arena,
                                   const ons_generator **generator);
/* Finds a generator that makes the schedule, in other lengths too where it can: the named one where these are its
 * lists, which gives it its loads (an asynchronous pipeline's are those of a longer one), else ons_generator_of_lists.
 */
ons_status *ons_generator_recognise(ons_schedule *schedule, const char *name, ons_arena *arena,
                                    const ons_generator **generator);

/* A stage's result that a later stage reads. */
typedef struct ons_stage_edge {
    uint32_t from, to; /* stages */
    bool gradient;     /* the way back is used too */
    bool detached;  /* the sender's compute goes on before the value is taken, as over connections that skip stages */
    uint32_t ahead; /* units each way that the receiver has room for behind those that it has come to reading: a copy
                       that comes next to unit u has room for its own below u + ahead; 0: a message is taken when both
                       its ends have come to it */
} ons_stage_edge;

/* Gives the room for messages ahead of their use between two stages, in units of a step: the difference of what they
 * have in flight, which is how far one may run before the other; as much as ever lies there where devices run in
 * lockstep; and what all copies of either stage take at once at the least. */
uint32_t ons_schedule_ahead(const ons_schedule *schedule, uint32_t from, uint32_t to);
/* Counts the micro-batches of a copy of the stage in which so many units of a step lie, rounded up. */
static inline uint32_t ons_schedule_in_micro_batches(const ons_schedule *schedule, uint32_t stage, uint32_t units) {
    ons_stage_grouping g = ons_schedule_grouping(schedule, stage);
    return (units + g.size * g.copies - 1) / (g.size * g.copies);
}
/* Gives the room ahead as micro-batches of a copy of the receiving stage. */
static inline uint32_t ons_schedule_room(const ons_schedule *schedule, uint32_t sender, uint32_t receiver) {
    return ons_schedule_in_micro_batches(schedule, receiver, ons_schedule_ahead(schedule, sender, receiver));
}

/* Which stages feed which; NULL: each stage feeds the next one, with the room of ons_schedule_ahead. */
typedef struct ons_stage_edges {
    const ons_stage_edge *items;
    uint32_t count;
} ons_stage_edges;

/* Checks whether the schedule can run; what is true of it is said by its lists, nothing is assumed:
 * - each action of a stage and micro-batch exactly once, each copy of a stage on one device;
 * - forward before its gradient, input gradient before weight gradient, each in ascending order of micro-batches (the
 *   order in which gradients are added decides the bits of the result; the others take places in turn);
 * - every gradient is followed by an update, and a synchronous step has one, at the stage's end;
 * - lists either name no send and receive, which then follow their action and precede their reader, or name all: a send
 *   stands for all values that leave the stage, a receive for all that come;
 * - no deadlock: what is sent and received between two computations of a device is begun together, and a device goes
 *   on when all that it sent has room at the other end, and all that it reads has come.
 * The failure names the action that is wrong, or the first one that is stuck. Scratch memory comes from `arena`. */
ons_status *ons_schedule_verify(const ons_schedule *schedule, const ons_stage_edges *edges, ons_arena *arena);

#endif
