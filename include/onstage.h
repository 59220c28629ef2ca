/* onstage: trains models exported to ONNX, without Python. The public C interface, and the only header that a program
 * using the library includes.
 */
#ifndef ONSTAGE_H
#define ONSTAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header; the library's is ons_version(). */
#define ONSTAGE_VERSION "0.2.0"

/* "0.2.0": differs from ONSTAGE_VERSION where a program runs with another library than it was compiled for. */
const char *ons_version(void);

/* For the first line of main; `arguments` are main's. OpenMP's threads (GCC's libgomp) look for work for milliseconds
 * before they sleep. Where other programs compute too that is as long as their turns, and steps take up to thirty times
 * as long. How long they look is read from the environment before main begins: where neither GOMP_SPINCOUNT nor
 * OMP_WAIT_POLICY says it, the program starts itself anew, in the same process, with GOMP_SPINCOUNT=3000 (tens of
 * microseconds). Set one of them under tools that do not follow a new program (valgrind, qemu-user). Returns where
 * there is nothing to do, or where a start fails. */
void ons_shorten_waits(char *const *arguments);

/* For a program that trains and does little else, when its trainer is built. Importing, planning and loading have read
 * much of the program's and its libraries' files that no step needs: symbols, relocations, code that runs once. It
 * stays in the process's resident memory though nobody reads it. This gives back what the process has mapped of files,
 * to read it alone, 5 to 7 MB beside models and data; what is needed again comes from the files, in some milliseconds
 * of the first steps. Mappings with pages that were changed stay, so breakpoints do. No other thread may unmap files
 * meanwhile. On Linux; elsewhere it does nothing. */
void ons_trim_resident(void);

/* What computes on this machine: "oneDNN 2.6.3, oneDNN's instructions …, compiler …, onstage's variant v3". Of the
 * variants baseline, v3 (AVX2) and v4 (AVX-512) the program takes the best that the processor has; ONSTAGE_CPU in the
 * environment takes less. Lasts as long as the program. */
const char *ons_kernels_version(void);

/* --------------------------------------------------------------------------------------------------------- failures */

/* What kind of failure; also the command's exit code. */
typedef enum ons_status_code {
    ONS_OK = 0,
    ONS_INVALID_ARGUMENT = 1, /* an option or a call that makes no sense */
    ONS_INVALID_MODEL = 2,    /* the file is not a valid ONNX model */
    ONS_UNSUPPORTED = 3,      /* valid, but not something onstage can train */
    ONS_INVALID_DATA = 4,     /* an array does not fit the model, or holds values that cannot be */
    ONS_IO_ERROR = 5,         /* a file could not be read or written */
    ONS_OUT_OF_MEMORY = 6,    /* the machine's memory, or the cap, is too small */
    ONS_DIVERGED = 7,         /* the loss is no longer a finite number */
    ONS_INTERRUPTED = 8,      /* stopped by the user */
    ONS_DEFECT = 9,           /* a defect in onstage */
} ons_status_code;

/* A failure. Functions return NULL on success; otherwise the caller frees what it got. */
typedef struct ons_status ons_status;

/* ONS_OK for NULL. */
ons_status_code ons_status_get_code(const ons_status *status);
/* One line that says what was wrong, where, and what to do. Lives as long as the status. "" for NULL. */
const char *ons_status_get_message(const ons_status *status);
/* NULL is fine. */
void ons_status_free(ons_status *status);

/* A pointer that is NULL is an invalid argument, which the message names, unless the comment of the function says what
 * it means. Questions about nothing are answered: it is done, it is not stopping, it has no stages, its text is "". */

/* ---------------------------------------------------------------------------------------------------- configuration */

/* Options by the names that the command has for them, without the dashes: ons_config_set(config, "batch", "32"). */
typedef struct ons_config ons_config;

ons_status *ons_config_new(ons_config **config);
void ons_config_free(ons_config *config); /* NULL is fine */

/* Sets an option, or adds to one that can be repeated ("input", "dim", "freeze", …). Switches take "true" or "false".
 * Fails where there is no such option or the value does not fit. `value` is copied. */
ons_status *ons_config_set(ons_config *config, const char *option, const char *value);

/* What an option of kind text was set to, or its default; NULL: neither. Lives as long as the configuration. */
const char *ons_config_get(const ons_config *config, const char *option);
/* Whether the option was set to something else than its default. */
bool ons_config_is_changed(const ons_config *config, const char *option);

/* Element types of arrays, numbered as in ONNX. */
typedef enum ons_element_type {
    ONS_ELEMENT_FLOAT32 = 1,
    ONS_ELEMENT_UINT8 = 2,
    ONS_ELEMENT_INT8 = 3,
    ONS_ELEMENT_UINT16 = 4,
    ONS_ELEMENT_INT16 = 5,
    ONS_ELEMENT_INT32 = 6,
    ONS_ELEMENT_INT64 = 7,
    ONS_ELEMENT_BOOL = 9,
    ONS_ELEMENT_FLOAT64 = 11,
} ons_element_type;

/* An array in the caller's memory, row-major; axis 0 counts samples, unless the option batch-axis says otherwise. */
typedef struct ons_array_view {
    ons_element_type element_type;
    uint32_t rank;
    const int64_t *dims;
    const void *data;
} ons_array_view;

/* Data from memory instead of a file: `name` is the name of a model input, or "target"; `validation` chooses the set.
 * The data is not copied and must outlive every trainer and evaluation made from the configuration. Nor may it change
 * while one exists: a step's samples are read while the step before is computed, so new contents between two steps
 * would reach one step and miss another. For data that come bit by bit, make a trainer over all that there is, or a new
 * one for each part, with checkpoint and resume. */
ons_status *ons_config_array(ons_config *config, const char *name, bool validation, const ons_array_view *array);

/* The command's subcommands, as bits. */
typedef enum ons_command {
    ONS_COMMAND_CHECK = 1,
    ONS_COMMAND_INSPECT = 2,
    ONS_COMMAND_TRAIN = 4,
    ONS_COMMAND_EVAL = 8,
    ONS_COMMAND_PROFILE = 16,
    ONS_COMMAND_PLAN = 32,
    ONS_COMMAND_SIMULATE = 64,
} ons_command;

/* One option as the command describes it. */
typedef struct ons_option {
    const char *name;
    const char *argument;      /* NULL: a switch */
    const char *default_value; /* as text; NULL: none */
    const char *help;
    const char *group; /* "Data", "Loss", … */
    bool repeatable;
    unsigned commands; /* which subcommands read it; a configuration takes all options, whatever it is for */
} ons_option;

/* All options, in the order of the help; the array ends with a NULL name. */
const ons_option *ons_options(void);

/* The words that an option can be set to, from index 0 on, with what each means (`meaning` may be NULL; so may what it
 * gets). NULL behind the last, and where there is no list. Options whose `argument` has another word in capitals take
 * other texts as well. */
const char *ons_option_word(const ons_option *option, size_t index, const char **meaning);

/* ----------------------------------------------------------------------------------------------------------- models */

typedef struct ons_model ons_model;

/* Opens an ONNX file. `config` (NULL: none) matters for "tie" and "untie". */
ons_status *ons_model_load(const char *path, const ons_config *config, ons_model **model);
void ons_model_free(ons_model *model); /* NULL is fine; after everything that was made from it */

/* One thing that keeps a model from being trained. */
typedef struct ons_problem {
    const char *node;          /* "" where it is not a node's */
    const char *operator_name; /* "" where it is not a node's */
    const char *reason;
    const char *remedy; /* "" where there is none but to change the model */
} ons_problem;

/* Something that the file does not say, or says otherwise than the framework would train it. */
typedef struct ons_assumption {
    const char *what;
    const char *remedy;
} ons_assumption;

/* An input that a run asks data for. */
typedef struct ons_input_need {
    const char *name;
    const char *type; /* "float32[batch,10]": of the whole array */
    bool once;        /* it counts no samples: --input NAME=FILE,once */
    uint32_t axis;    /* which of the array's axes counts samples, unless it is fed once */
} ons_input_need;

typedef struct ons_check {
    const ons_problem *problems; /* owned by the check */
    size_t count;                /* 0: the model can be trained */
    const ons_assumption *assumptions;
    size_t assumption_count;
    const ons_input_need *inputs;
    size_t input_count;
} ons_check;

/* Every problem at once. A file that is not a model at all is a failure instead. Free with ons_check_free. */
ons_status *ons_model_check(const char *path, const ons_config *config, ons_check **check);
void ons_check_free(ons_check *check);

typedef struct ons_tensor_info {
    const char *name;
    const char *type; /* "float32[batch,10]" */
} ons_tensor_info;

typedef struct ons_parameter_info {
    const char *name;
    const char *type;
    int64_t elements;
    bool trainable;
    const char *reason; /* why, or why not */
} ons_parameter_info;

typedef struct ons_operator_info {
    const char *name;
    int64_t count;
    double forward_flops; /* of one micro-batch */
} ons_operator_info;

typedef struct ons_inspection {
    const char *producer, *graph_name;
    int64_t ir_version, opset;
    const ons_tensor_info *inputs, *outputs;
    size_t input_count, output_count;
    const ons_parameter_info *parameters; /* every initialiser */
    size_t parameter_count;
    int64_t trainable_elements, frozen_elements;
    const ons_operator_info *operators; /* of the bound graph, by falling FLOPs */
    size_t operator_count;
    double forward_flops;    /* of one micro-batch */
    const char *assumptions; /* one line each: dimensions that were assumed, weights taken as tied; "" where none */
    const char *graph_text;  /* the bound graph, printed; with the option "after", the training graph after that pass */
    const char *passes;      /* one line a pass, with its time; NULL without the option "after" */
    const char *precision;   /* one line an operator: what runs in which precision; NULL where all is in float32 */
} ons_inspection;

ons_status *ons_model_inspect(ons_model *model, const ons_config *config, ons_inspection **inspection);
void ons_inspection_free(ons_inspection *inspection);

/* --------------------------------------------------------------------------------------------------------- training */

typedef struct ons_trainer ons_trainer;

/* Builds the training program, opens the data, takes the memory, and resumes where the configuration says so. `model`
 * and the arrays of `config` must outlive the trainer; `config` itself need not. The trainer belongs to this process:
 * after a fork, a child that uses it gets ONS_INVALID_ARGUMENT, and may make one of its own. */
ons_status *ons_trainer_new(ons_model *model, const ons_config *config, ons_trainer **trainer);
void ons_trainer_free(ons_trainer *trainer); /* NULL is fine; after a fork, the child's call does nothing */

typedef struct ons_step_report {
    int64_t step; /* from 1 */
    int64_t steps;
    double epoch; /* 1.5: half of the second is done */
    double loss;
    double learning_rate;
    double grad_norm;          /* before clipping; NaN where it is not computed */
    const char *warning;       /* what has failed without ending the run; NULL: nothing; until the next call */
    double step_seconds;       /* this step alone, without validation and checkpoint */
    double samples_per_second; /* averaged over the last steps */
    double seconds_left;
    int64_t memory_peak_bytes; /* the arena */
    int64_t resident_bytes;    /* of the process */
    bool validated;            /* the two below are of this step */
    double validation_loss;
    double validation_accuracy; /* NaN where the targets are no classes */
    bool checkpointed;
    double loss_scale;  /* fp16: what this step's gradients were multiplied by; 0 elsewhere */
    bool skipped;       /* fp16: they were not finite, and nothing was updated */
    int64_t free_bytes; /* of a GPU's memory, where log-json asks for it; 0: not looked at */
} ons_step_report;

/* One optimiser step, with what the configuration asks for at this step: validation, checkpoint, logs. Fails with
 * ONS_DIVERGED where the loss is not finite: the weights in memory were updated by this step and are of no use; good
 * ones are in the last checkpoint on disk, if any (option "checkpoint"). */
ons_status *ons_trainer_step(ons_trainer *trainer, ons_step_report *report);

/* Whether all steps are done, or the validation loss has not improved for as long as the option "early-stop" says. */
bool ons_trainer_done(const ons_trainer *trainer);

/* Asks for an end in good order after the step that runs. May be called by any thread, and by a signal handler. With
 * stages in other processes, a request to one of them ends all of them, after the same step. */
void ons_trainer_request_stop(ons_trainer *trainer);
/* Whether no further step should be made: somebody has asked, and where there are other processes they agree. */
bool ons_trainer_stopping(const ons_trainer *trainer);

typedef struct ons_evaluation {
    int64_t samples;
    double loss;     /* NaN without targets */
    double accuracy; /* share of right classes; NaN where the targets are no classes */
    double seconds;
    int64_t dropped; /* samples left over that make no whole batch of a model exported for batches of a fixed size */
} ons_evaluation;

/* The mean over the validation set, with the weights as they are. */
ons_status *ons_trainer_evaluate(ons_trainer *trainer, ons_evaluation *evaluation);

/* Writes the model with the weights as they are, or with those of the best validation where the option "best" is given
 * and there was one; whole or not at all. `path` NULL: where the option "out" says. */
ons_status *ons_trainer_save(ons_trainer *trainer, const char *path);

/* Writes a checkpoint now; needs the option "checkpoint". */
ons_status *ons_trainer_checkpoint(ons_trainer *trainer);

/* Writes a checkpoint beside OUT where steps would be lost: the option "out" is given and "checkpoint" is not, and
 * steps were made for a minute or more (ONSTAGE_KEEP_SECONDS in the environment). *folder: where, for the options
 * "checkpoint" and "resume"; NULL: there was nothing to keep, or the run has other processes. Valid as long as the
 * configuration. */
ons_status *ons_trainer_keep(ons_trainer *trainer, const char **folder);

/* Closes the logs: everything that was recorded is on disk afterwards. */
ons_status *ons_trainer_finish(ons_trainer *trainer);

typedef struct ons_trainer_status {
    int64_t step, steps, steps_per_epoch, samples;
    int64_t batch, micro_batches; /* micro-batches: of each replica */
    int64_t replicas;
    int threads;
    int64_t trainable_elements;
    int64_t arena_bytes;     /* taken on the device */
    int64_t predicted_bytes; /* by the layout: the same */
    int64_t parameter_bytes, state_bytes, buffer_bytes, constant_bytes, transient_bytes, transient_lower_bound;
    int64_t resident_bytes; /* of the process */
    /* On a GPU; 0 elsewhere: what context and libraries take there beside the arenas, and what of its memory is free,
     * after the second step of this process (0: there was none yet) and now. */
    int64_t reserve_bytes, free_bytes_early, free_bytes;
    const ons_assumption *assumptions; /* about the model; a run with the option "strict" has none */
    size_t assumption_count;
    const char *notes;      /* one line each: samples that are dropped, and the like; "" where none */
    const char *out;        /* the option; NULL: not given */
    bool training_form;     /* what is written to `out` normalises by the batch, or drops, wherever it runs */
    const char *checkpoint; /* the option; NULL: not given */
    /* of a planned run: see ons_trainer_stage_count */
    int64_t stages;                                       /* of the whole run */
    const char *pipeline;                                 /* "1f1b", …; NULL: there is no plan */
    double predicted_step_seconds, measured_step_seconds; /* of a whole step; measured: NaN before the second one */
    int64_t processes;                                    /* of the whole run */
    bool is_root; /* false: another process of the run writes files and tells the user */
    /* The validation with the smallest loss so far. */
    int64_t best_step; /* 0: there was none */
    double best_loss;  /* NaN: there was none */
    int64_t validations_since_best;
    bool stops_early; /* by the option "early-stop" */
    bool writes_best; /* ons_trainer_save writes the weights of best_step, by the option "best" */
} ons_trainer_status;

/* Texts live until the next call. */
ons_status *ons_trainer_get_status(ons_trainer *trainer, ons_trainer_status *status);

/* One stage of a run that was planned, as predicted and as it came. */
typedef struct ons_stage_report {
    int64_t stage;             /* from 0; of a stage with copies each has a report */
    const char *first_node;    /* the stage begins with it, in the plan's order */
    int64_t planned_bytes;     /* the planner's estimate */
    int64_t arena_bytes;       /* as laid out, before anything is taken */
    int64_t taken_bytes;       /* on the device */
    int64_t swapped_values;    /* for each micro-batch copied to the host and back */
    int64_t swapped_bytes;     /* of those values, one way */
    int64_t recomputed_values; /* computed again for each micro-batch */
    int64_t recomputed_bytes;
    double predicted_seconds, measured_seconds; /* computing for a micro-batch, without updates; measured: NaN before
                                                   the second step */
    double predicted_idle, measured_idle;       /* share of a step in which the stage computes nothing */
} ons_stage_report;

/* Stages of the run, in all its processes; 0: there is no plan, since one stage keeps everything. */
int64_t ons_trainer_stage_count(const ons_trainer *trainer);
/* `index` from 0. Texts live as long as the trainer. */
ons_status *ons_trainer_get_stage(const ons_trainer *trainer, int64_t index, ons_stage_report *report);

/* A trainable weight as it is now; `values` must hold its elements as float32. Fails where there is none of that name.
 */
ons_status *ons_trainer_read(ons_trainer *trainer, const char *initialiser, float *values, size_t count);

/* --------------------------------------------------------------------------------------------------------- planning */

typedef struct ons_planning ons_planning;

/* Plans how a model is trained: stages, swap, recompute, memory and time, as the configuration asks (stages, memory,
 * pipeline, partition, device-profile, …). Weights in external files may be missing. `path` NULL: the option
 * "cost-graph" names a profile to plan instead. Fails with ONS_OUT_OF_MEMORY where nothing fits, saying what would. */
ons_status *ons_planning_new(const char *path, const ons_config *config, ons_planning **planning);
void ons_planning_free(ons_planning *planning); /* NULL is fine */
/* The plan as text for people; lives as long as the planning. */
const char *ons_planning_text(const ons_planning *planning);
/* Writes the plan file, whole or not at all. */
ons_status *ons_planning_write(const ons_planning *planning, const char *path);

typedef struct ons_replay ons_replay;

/* Reads a plan file and simulates it again, without the model: its own times, bytes and actions are all it takes. With
 * the option "trace" a timeline for Perfetto is written, with "svg" a picture, with "write-schedule" the
 * schedule alone. A damaged plan fails with the field that is wrong. */
ons_status *ons_replay_new(const char *path, const ons_config *config, ons_replay **replay);
void ons_replay_free(ons_replay *replay); /* NULL is fine */
/* Time of a step, bubbles, traffic, memory and critical path as text for people; lives as long as the replay. */
const char *ons_replay_text(const ons_replay *replay);
/* A line for each device with what it does when, so many columns wide; lives until the next call, or as long as the
 * replay. */
ons_status *ons_replay_draw(ons_replay *replay, size_t columns, const char **chart);

/* ------------------------------------------------------------------------------------------------------- evaluation */

/* Called after every batch; return false to stop. */
typedef bool ons_progress(void *context, int64_t samples_done, int64_t samples);

/* Runs a model over data: loss, metric, and outputs written to files, as configured. `progress` may be NULL. */
ons_status *ons_model_evaluate(ons_model *model, const ons_config *config, ons_progress *progress, void *context,
                               ons_evaluation *evaluation);

/* -------------------------------------------------------------------------------------------------------- profiling */

typedef struct ons_node_profile {
    const char *name, *operator_name;
    const char *implementation; /* of its kernel; "" where it says nothing */
    const char *phase;          /* "forward", "input gradient", "weight gradient", "update" */
    double seconds;             /* the median */
    double flops;
    int64_t saved_bytes; /* of its outputs, those that wait for the backward pass */
    int64_t scratch_bytes;
} ons_node_profile;

/* How far predicted times are from measured ones, over operators that differ. */
typedef struct ons_model_error {
    size_t operators;       /* 0: not known */
    double median;          /* of |predicted - measured| / measured */
    double weighted_median; /* the median error, weighted by the time that nodes take */
    double total;           /* predicted / measured, of the sums */
} ons_model_error;

typedef struct ons_profile {
    const char *device; /* processor and threads */
    int64_t samples;    /* of the micro-batch */
    int64_t repetitions;
    const ons_node_profile *nodes; /* those that run, by falling time */
    size_t node_count;
    size_t nodes_from_cache;    /* all or none */
    const char *phase_names[4]; /* as for a node */
    double phase_seconds[4], phase_flops[4];
    double step_seconds; /* the median of whole steps; 0: all times come from the cache */
    /* What a step takes beside its nodes: from a node to the next; to copy the data of a micro-batch in; once a step,
     * from the host's thread to the compute stream's and back. */
    double launch_seconds, feed_seconds, handover_seconds;
    int64_t saved_bytes, scratch_bytes /* the largest */, arena_bytes;
    double peak_flops, memory_bandwidth; /* by micro-benchmark */
    double link_bandwidth, link_latency, host_bandwidth, host_latency;
    ons_model_error fit;      /* of the analytic model fitted to half of the operators, on the other half */
    ons_model_error compared; /* of the one that the option "device-profile" names, on all */
    const char *compared_with;
    const char *notes; /* one line each; "" where none */
} ons_profile;

/* Measures a training step of the model, node by node, on the data that is given or on made-up data, as the options
 * "batch", "repetitions" and "cache" say. `progress` (may be NULL) counts repetitions. */
ons_status *ons_model_profile(ons_model *model, const ons_config *config, ons_progress *progress, void *context,
                              ons_profile **profile);
/* Writes it as docs/device_profile.md describes, whole or not at all. */
ons_status *ons_profile_write(const ons_profile *profile, const char *path);
void ons_profile_free(ons_profile *profile); /* NULL is fine */

typedef struct ons_link_profile ons_link_profile;
/* Measures messages between the processes that mpirun (or Slurm) has started, on one host and between hosts; every
 * process calls it once. The device profile is that of the option "profile" or "device-profile", with these links. */
ons_status *ons_link_profile_measure(const ons_config *config, ons_link_profile **profile);
/* What was measured, in words; "" in every process but one. */
const char *ons_link_profile_text(const ons_link_profile *profile);
/* Writes the profile, whole or not at all, from the process that has the words; the others do nothing. */
ons_status *ons_link_profile_write(const ons_link_profile *profile, const char *path);
void ons_link_profile_free(ons_link_profile *profile); /* NULL is fine */

#ifdef __cplusplus
}
#endif

#endif
