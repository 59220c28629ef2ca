/* A stage program is one device's share of a training graph, one stage of a pipeline or several, ready to run: its
 * program, and the sync points in it where something leaves the device, comes to it, or is waited for.
 *
 * What leaves (a message, a copy to the host) is read by others while the stage goes on. The bytes of a message stay
 * until the next part, those of a copy about as long as it takes; from there on the stage waits where something new
 * would overwrite them, which follows from the layout: ons_hazard.
 */
#ifndef ONSTAGE_RUNTIME_PROGRAM_STAGE_PROGRAM_H
#define ONSTAGE_RUNTIME_PROGRAM_STAGE_PROGRAM_H

#include "graph/passes/cut.h"
#include "planner/schedule/schedule.h"
#include "runtime/program/device_context.h"

/* A sync point is reached before the node at a position runs. Of several at one position those that are listed first
 * here come first. */
typedef enum ons_sync_kind {
    ONS_SYNC_SEND,    /* what send `index` sends is there */
    ONS_SYNC_OUT,     /* swap `index` may be copied to the host */
    ONS_SYNC_RELEASE, /* what receive `index` brought is read for the last time: its place is free */
    ONS_SYNC_GONE,    /* something is put where swap `index` lay: its copy to the host must have ended */
    ONS_SYNC_IN,      /* the copy back of swap `index` may start */
    ONS_SYNC_AWAIT,   /* what receive `index` brings is read */
    ONS_SYNC_BACK,    /* what swap `index` brings back is read */
} ons_sync_kind;

typedef struct ons_sync_point {
    uint32_t position;
    ons_sync_kind kind;
    uint32_t index;
} ons_sync_point;

enum { ONS_NO_POSITION = 0xffffffffu };

/* The write-after-read hazards of an outgoing transfer. Transfers are numbered: sends first, then swaps, in their
 * order. */
typedef struct ons_hazard {
    uint32_t *conflict; /* [part]: of a later part: the first position that overwrites its bytes; or ONS_NO_POSITION */
    bool conflicts;     /* in any part: messages out of rings and copies of what persists do not */
    uint32_t slots;     /* not 0: only by parts of a micro-batch in the same one of so many slots */
} ons_hazard;

typedef struct ons_stage_program_options {
    const ons_cut_stage *cut;
    const ons_registry *registry;
    bool repeats;
    const ons_value_id *kept; /* of the stage's graph; ONS_NONE is skipped */
    size_t kept_count;
    const ons_value_id *idle; /* see ons_program_options */
    size_t idle_count;
    int64_t scratch_limit;
    const ons_schedule *schedule; /* of a whole step: what waits on the device, and room for messages, follow from it;
                                     NULL: there is one stage, and one micro-batch at a time */
    uint32_t device;              /* of the schedule */
    uint32_t micro_batches;       /* at most, in one go; where stages' are units of the schedule, so many units */
    uint32_t versions;            /* of trained weights */
    bool joined;                  /* it is going to be joined with another one: ons_device_context_join */
    ons_update_shard shard;       /* of its updates */
    const ons_cut_stage *half[2]; /* the cut for half a micro-batch's samples, the first ones and the others: forward
                                     parts are computed in halves, too. NULL, both: they are not */
    int64_t half_rows[2];         /* samples of each */
} ons_stage_program_options;

typedef struct ons_stage_program {
    ons_arena *arena; /* owned */
    const ons_cut_stage *cut;
    ons_program *program; /* the device context's */
    ons_update_shard shard;
    uint32_t slots; /* micro-batches that wait for anything at once, at most */
    uint32_t versions;
    ons_action_list forward; /* the forward parts of one micro-batch: an inference */
    uint32_t *rings;         /* of each receive: places that it is received into in turn */
    uint32_t *arrives;       /* of each value that is put in from outside: the position before which it must be there */
    ons_sync_point *sync_points;
    uint32_t *sync_point_end; /* of each part */
    /* [receive · micro-batches + micro-batch]: the parts that read it first and last, where the device's list decides
     * which those are; each that may be has a sync point. NULL: a receive has one sync point of each kind, which says
     * so */
    ons_part *first_part, *last_part;
    uint32_t micro_batches; /* that first_part and last_part have for each receive */
    ons_hazard *hazards;
    int64_t swapped_bytes; /* of one micro-batch */
    ons_halves *halves;    /* NULL: forward parts are never computed in halves */
    ons_program *half[2];  /* the device context's */
} ons_stage_program;

/* What of a micro-batch's samples is meant: all, or a half of them. */
typedef enum ons_sample_half { ONS_ALL_SAMPLES, ONS_FIRST_HALF, ONS_SECOND_HALF } ons_sample_half;

/* The program that computes those samples. */
static inline ons_program *ons_stage_program_of(const ons_stage_program *stage, ons_sample_half sample_half) {
    return sample_half == ONS_ALL_SAMPLES ? stage->program : stage->half[sample_half - ONS_FIRST_HALF];
}

/* Prepares the program and adds it to the device context. `cut` outlives it. */
ons_status *ons_stage_program_make(ons_device_context *device_context, const ons_stage_program_options *options,
                                   ons_stage_program *result);
void ons_stage_program_free(ons_stage_program *stage); /* a zeroed one is fine */

/* A lineup holds the programs of a pass through a stage: the first `first_count` micro-batches run the first one, those
 * behind them the second, with fewer rows, beside which it lies in one arena. An update after all micro-batches runs
 * the last one's. */
typedef struct ons_lineup {
    const ons_stage_program *programs[2]; /* the second is NULL where all run the first */
    uint32_t first_count;                 /* not looked at where all run the first program */
} ons_lineup;

/* Says which of the two programs, 0 or 1, a part runs; `micro_batches`: of the pass. */
static inline uint32_t ons_lineup_find(const ons_lineup *lineup, ons_part_kind kind, uint32_t micro_batch,
                                       uint32_t micro_batches, bool asynchronous) {
    if (kind == ONS_PART_END && !asynchronous) micro_batch = micro_batches - 1;
    return lineup->programs[1] != NULL && micro_batch >= lineup->first_count;
}

static inline ons_part_kind ons_stage_program_kind(const ons_stage_program *stage, ons_part part) {
    return ons_part_kind_of(stage->cut->chunks, part);
}

/* Finds the part that the device's action number `i` is; false: it is none. The end of a synchronous step comes once,
 * with the device's last update. */
bool ons_stage_program_part(const ons_stage_program *stage, const ons_action_list *list, uint32_t i, bool asynchronous,
                            ons_part *part);

/* Tests whether the sync point applies to this part of the micro-batch. */
bool ons_stage_program_applies(const ons_stage_program *stage, const ons_sync_point *sync_point, ons_part part,
                               uint32_t micro_batch);

/* Tests whether data for this input of the model is loaded before the part. */
bool ons_stage_program_loads(const ons_stage_program *stage, ons_value_id input, ons_part part);

/* Says which weights a part of a micro-batch works with where updates are asynchronous: those that were newest when its
 * forward part ran, the same in its backward part. An update takes the newest and makes the next ones in the place that
 * its micro-batch has just left. `version`: the place of the newest when the pass began. */
ons_part_place ons_stage_program_place(const ons_stage_program *stage, ons_part_kind kind, uint32_t micro_batch,
                                       uint32_t version);

/* Gives the bytes of a value's buffer. */
int64_t ons_stage_program_bytes(const ons_stage_program *stage, ons_value_id value);
/* Gives the bytes of those samples of a value; ons_program_address of its program says where it lies. */
int64_t ons_stage_program_half_bytes(const ons_stage_program *stage, ons_value_id value, ons_sample_half sample_half);

#endif
