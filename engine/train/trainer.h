/* What a trainer consists of; its functions are spread over trainer*.c by purpose. */
#ifndef ONSTAGE_ENGINE_TRAIN_TRAINER_H
#define ONSTAGE_ENGINE_TRAIN_TRAINER_H

#include <unistd.h>

#include "engine/config/given.h"
#include "engine/model/assumptions.h"
#include "engine/plan/lowering.h"
#include "engine/stages/local_stages.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/checkpoint_lock.h"
#include "runtime/log/log_json.h"
#include "runtime/log/tensorboard.h"
#include "runtime/log/trace.h"

typedef struct ons_exchange ons_exchange;

/* A weight of the file that comes in shards, put together. */
typedef struct ons_whole_weight {
    const ons_sharded *of; /* NULL: none */
    void *contents;        /* owned */
} ons_whole_weight;

/* The best validation so far. */
typedef struct ons_best {
    double loss;
    int64_t step;                  /* 0: there was none */
    int64_t since;                 /* validations after it */
    struct ons_best_value *values; /* with --best: what this process owns, as it was then */
    size_t value_count;
    bool is_read; /* whoever reads weights gets these */
} ons_best;

/* A weight in the type that the file has it in. */
typedef struct ons_narrowed {
    const char *name; /* NULL: none */
    uint16_t *contents;
    size_t size; /* bytes */
} ons_narrowed;

struct ons_trainer {
    pid_t process; /* that has its threads */
    ons_model *model;
    ons_config *config; /* its own: a plan, or the number of processes, may change it */
    ons_arena *arena;
    ons_batching batching;
    ons_dataset_graphs training, validation; /* validation.dataset NULL: none */
    ons_lowering lowering;                   /* which stages there are, and what they keep */
    uint64_t plan_digest;                    /* of --plan's file; 0: there is none */
    ons_transport **transports;              /* of the stages in this process; NULL: there is one stage */
    uint32_t transport_count;
    bool remote; /* the other stages are in other processes */
    bool nccl;   /* each stage has a GPU of its own, `gpu` the first one here */
    int gpu;
    ons_local_stages *local_stages;
    ons_stage_report *stages; /* of all processes, but for what is measured; NULL: there is no plan */
    ons_rate_schedule rate_schedule;
    int threads;
    int64_t step, steps, steps_per_epoch, validate_every;
    ons_best best;
    uint64_t digest; /* of all that must stay the same for a resumed run to go on as before */
    /* Of all that must stay the same for a resumed run to go on with other numbers of replicas and copies, whose sums
     * are grouped otherwise. */
    uint64_t ungrouped_digest;
    const char *copies; /* of each stage: "3, 1, 2"; NULL: no stage has any */
    /* watching */
    ons_log_json *log;
    ons_tensorboard *board;
    ons_checkpoint_lock *lock; /* of the checkpoints' folder, by the process that leads; NULL: there is none */
    ons_status *log_failure;   /* the first; the run goes on without that log, and ends with it */
    bool room_told;            /* the user knows that there is no room for the next checkpoint */
    ons_trace *trace;
    ons_trace_clock clock;               /* rank 0's, by this process's */
    ons_channel **trace_in, **trace_out; /* between rank 0 and each other (these: at 0) */
    ons_host_copy looked_at;             /* what was read last from a device that the host cannot access */
    const char *looked_name;             /* its name, the graph's; NULL: nothing, or it may have changed */
    ons_whole_weight whole;              /* while weights are collected: the last one that comes in shards */
    ons_narrowed narrowed;               /* while weights are collected: the last master, as the file has it */
    ons_exchange *exchange;              /* NULL: nothing was collected from other processes yet */
    atomic_bool stop_requested;
    bool stopping;         /* all processes have agreed on it */
    double seconds_a_step; /* running mean; 0: no step yet */
    int64_t steps_here;    /* made by this process */
    int64_t begun;         /* ons_trace_now() before the first of them */
    int64_t free_early;    /* bytes of the device's memory after the second of them; 0: not known */
    char *notes;
    ons_assumptions assumptions;
    const char *division;    /* stages or threads, by which figures; NULL: there was nothing to choose */
    const char *unkept;      /* why steps are not recorded, or not all of them; NULL: nothing was refused */
    const char *libraries;   /* ons_libraries_text; of several processes the texts that differ, one behind the other */
    const char *in_parts;    /* why a batch takes more micro-batches than were asked for; NULL: it does not */
    const char *mixed;       /* that other processes compute with other kernels; NULL: they do not */
    const char *regrouped;   /* that the resumed checkpoint is another number of replicas'; NULL: it is not */
    const char *passed_over; /* which checkpoint could not be resumed, and why; NULL: none */
    const char
        *other_bits; /* that the resumed checkpoint's numbers were computed by other kernels; NULL: they were not */
};

/* trainer_build.c: from model and configuration to local stages that are ready to start */
ons_status *ons_trainer_build(ons_trainer *trainer);

/* Note what the run's numbers depend on and the user may not know, once the graphs of training, or those of validation,
 * are built (trainer_notes.c). `rest`: samples that would be left of an epoch. With --strict a note is a failure. */
ons_status *ons_trainer_tell_training(ons_trainer *trainer, int64_t rest);
ons_status *ons_trainer_tell_validation(ons_trainer *trainer);

/* Refuses class targets of a set that are none of the model's classes, with the way out (trainer_labels.c). */
ons_status *ons_trainer_check_labels(const ons_trainer *trainer, const ons_dataset_graphs *set);

/* Whether gradients are summed over micro-batches: not where each is an update of its own. */
bool ons_trainer_repeats(const ons_trainer *trainer);

/* Whether this process writes the files and tells the user: of several the one with the first stage. */
bool ons_trainer_leads(const ons_trainer *trainer);
int64_t ons_trainer_processes(const ons_trainer *trainer);

/* The other processes, as this one reaches them; NULL: all stages are in this one. */
static inline ons_transport *ons_trainer_world(const ons_trainer *trainer) {
    return trainer->remote ? trainer->transports[0] : NULL;
}

/* Fails where the trainer was made before a fork. Its threads exist only in the process that made it, so a child that
 * waited for one of them would never return. */
#define ONS_TRAINER_IS_HERE(t)                                                                                         \
    ONS_CHECK((t)->process == getpid(), ONS_INVALID_ARGUMENT,                                                          \
              "%s: the trainer was made before a fork, and its threads are in the process that made it; make one in "  \
              "this process",                                                                                          \
              __func__)

/* The file's name of the output that --loss graph trains. */
const char *ons_trainer_own_loss(const ons_trainer *trainer);

/* trainer_division.c: with several --profile, sets what the fastest way to divide the processors is; first of all */
ons_status *ons_trainer_divide_processors(ons_trainer *trainer);
/* trainer_world.c: how many stages there are, and who talks to whom */
ons_status *ons_trainer_open_world(ons_trainer *trainer);
/* trainer_options.c: fails in all ranks where one was started with other options than rank 0 */
ons_status *ons_trainer_compare_options(ons_trainer *trainer);
/* trainer_alike.c: fails in all ranks where one has other data, another model or other weights than rank 0 */
ons_status *ons_trainer_check_alike(ons_trainer *trainer);
/* What `mine` is for everybody, as rank 0 has it. */
ons_status *ons_trainer_tell_all(const ons_trainer *trainer, void *mine, size_t bytes);
/* trainer_plan.c: the plan, and the stages of this process by it; once the graphs are there */
ons_status *ons_trainer_choose_local_stages(ons_trainer *trainer);
/* trainer_gpus.c: which GPU a stage takes, and whether messages go by NCCL; once the world is open */
ons_status *ons_trainer_choose_gpus(ons_trainer *trainer);
/* Ends the other processes where this one has failed. What is left to tell the user: of several processes one has the
 * message, the others' is empty. Takes over `status`; NULL stays NULL. */
ons_status *ons_trainer_share_failure(ons_trainer *trainer, ons_status *status);

/* trainer_state.c: checkpoints and export */
ons_status *ons_trainer_resume(ons_trainer *trainer, bool *resumed);

/* trainer_versions.c: checkpoints of other versions of onstage */
/* Notes the version among what a checkpoint has of its own. */
ons_status *ons_trainer_write_version(ons_json *more);
/* Fails where the checkpoint is of the same model, data and options, and yet does not fit: another version, which the
 * message names, made another training graph of the model. */
ons_status *ons_trainer_check_version(const ons_trainer *trainer, const ons_checkpoint *checkpoint);

/* trainer_stages.c: what the plan says beside what came; first, once the arenas are there, all processes tell each
 * other what they have */
ons_status *ons_trainer_gather_stages(ons_trainer *trainer);
/* All processes tell each other what computes in them: trainer->libraries. */
ons_status *ons_trainer_gather_libraries(ons_trainer *trainer);
void ons_trainer_fill_stages(const ons_trainer *trainer, ons_trainer_status *status);

/* trainer_best.c: --early-stop and --best. Open once the arenas are there. */
ons_status *ons_trainer_open_best(ons_trainer *trainer);
void ons_trainer_close_best(ons_trainer *trainer);
/* After a validation: the weights as they are now may be the best. Allocates nothing. */
ons_status *ons_trainer_note_validation(ons_trainer *trainer, double loss);
bool ons_trainer_stops_early(const ons_trainer *trainer);
/* With --best, from read(true) to read(false), the best's weights stand for those of now. */
void ons_trainer_read_best(ons_trainer *trainer, bool read);
bool ons_trainer_find_best(const ons_trainer *trainer, const char *name, ons_type *type, const void **contents);
/* What a checkpoint has of it: tensors NAME#best, and {"best": {"step", "since", "loss", "kept"}}. */
size_t ons_trainer_best_count(const ons_trainer *trainer);
ons_named_tensor ons_trainer_best_tensor(const ons_trainer *trainer, size_t index);
ons_status *ons_trainer_write_best(const ons_trainer *trainer, ons_json *more);
ons_status *ons_trainer_restore_best(ons_trainer *trainer, const ons_checkpoint *checkpoint);

/* trainer_finite.c: fails with ONS_DIVERGED if one of `count` numbers of the value that are about to be written is not
 * finite and the file's own number there is. They are the value's elements from `place` on; -1: in another order. */
ons_status *ons_trainer_check_finite(const ons_trainer *trainer, const char *name, ons_dtype dtype,
                                     const void *contents, int64_t place, int64_t count);

/* trainer_exchange.c: stages in other processes. After a failure of any of them all that meet fail, with the same
 * message. */
/* Gives the rank of the lowest stage that has a persistent value of the whole training graph, of its first copy in the
 * first replica; ONS_NONE: none has. */
uint32_t ons_trainer_owner(const ons_trainer *trainer, ons_value_id value);
/* Whether this process is the one that saves a persistent value: it has that stage, of the first replica. */
bool ons_trainer_owns(const ons_trainer *trainer, ons_value_id value);
/* Why the processes cannot go on: the first failure of all. */
ons_status *ons_trainer_failure(const ons_trainer *trainer);
/* What the tensors of a checkpoint take, those of all processes. */
uint64_t ons_trainer_checkpoint_bytes(const ons_trainer *trainer);
/* A meeting of all processes; `mine`: this one's failure so far, taken over. Everybody's record comes to everybody. */
ons_status *ons_trainer_meet(const ons_trainer *trainer, ons_status *mine, const void *record, void *all, size_t bytes);

/* The process that leads calls collect as often as it likes and then collected (with its own status, taken over); at
 * the same time the others call hand_over. */
/* The contents of a persistent value, wherever it lies; valid until the next call. `type` may be NULL. */
ons_status *ons_trainer_collect(ons_trainer *trainer, const char *name, ons_type *type, const void **contents);
ons_status *ons_trainer_collected(ons_trainer *trainer, ons_status *status);

/* trainer_masters.c: weights that are held in float32 and have a half type in the file (graph/passes/masters.h) */
/* Collects a value as the file has it: a master is rounded to the nearest number of that type. Fails with its name
 * where it holds a number that the type does not have. Valid until the next call. */
ons_status *ons_trainer_collect_for_file(ons_trainer *trainer, const char *name, const void **contents);
void ons_trainer_drop_narrowed(ons_trainer *trainer);
/* Gives what helps where gradients of a file's float16 overflow, ending in a comma; "" where that cannot be. */
const char *ons_trainer_overflow_remedy(const ons_trainer *trainer);
/* Fails where the checkpoint was written without masters. */
ons_status *ons_trainer_check_masters(const ons_trainer *trainer, const ons_checkpoint *checkpoint);
ons_status *ons_trainer_hand_over(ons_trainer *trainer);
void ons_trainer_close_exchange(ons_trainer *trainer);

/* trainer_trace.c: the timeline of all processes, written by the one that leads. Both are meetings of all. */
ons_status *ons_trainer_open_trace(ons_trainer *trainer);
ons_status *ons_trainer_write_trace(ons_trainer *trainer);

/* trainer_watch.c: logs */
ons_status *ons_trainer_open_logs(ons_trainer *trainer, bool resumed);
/* Warns, once, where steps are not repeated as the device's recordings for a reason that nobody has asked for. */
void ons_trainer_watch_recordings(ons_trainer *trainer, ons_step_report *report);
/* Writes the step to the logs; what fails is given up, and the report says so. */
void ons_trainer_log_step(ons_trainer *trainer, ons_step_report *report);

/* All lines of the log are on the disk. A log that fails is given up: it costs no run and no checkpoint. */
void ons_trainer_sync_log(ons_trainer *trainer);
/* Warns, once, where the disk has no room for the checkpoint that comes next. */
void ons_trainer_watch_room(ons_trainer *trainer, ons_step_report *report);
void ons_trainer_close_logs(ons_trainer *trainer);
/* Bytes of this process in memory. */
int64_t ons_resident_bytes(void);

#endif
