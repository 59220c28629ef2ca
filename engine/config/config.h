/* The configuration, parsed. */
#ifndef ONSTAGE_ENGINE_CONFIG_CONFIG_H
#define ONSTAGE_ENGINE_CONFIG_CONFIG_H

#include "base/arena.h"
#include "base/vector.h"
#include "engine/config/config_words.h"
#include "graph/passes/loss.h"
#include "graph/passes/replacement.h"
#include "graph/passes/update.h"
#include "planner/cost/device_profile.h"
#include "planner/schedule/schedule.h"
#include "planner/schedule/slicer.h"

/* NAME=VALUE */
typedef struct ons_pair {
    const char *name;
    const char *value;
    bool once; /* NAME=FILE,once */
} ons_pair;

/* --train and --freeze, in the order given */
typedef struct ons_choice {
    const char *glob;
    bool train;
} ons_choice;

typedef struct ons_memory_array {
    const char *name;
    bool validation;
    ons_array_view view;
    int64_t dims[ONS_RANK_MAX];
} ons_memory_array;

typedef struct ons_number { /* a number that may be left to a default of its context */
    bool given;
    double value;
} ons_number;

typedef ONS_VECTOR(ons_pair) ons_pairs;

typedef enum ons_rate_schedule { ONS_RATE_CONSTANT, ONS_RATE_LINEAR, ONS_RATE_COSINE } ons_rate_schedule;

/* No number of replicas: see ons_config_chooses_replicas. */
enum { ONS_REPLICAS_AUTO = 0 };

struct ons_config {
    ons_arena *arena;
    int holders;               /* the caller, and who was made from it */
    struct ons_config *origin; /* of a copy: has the texts; held. NULL: it is none */
    bool given[112];           /* by option: it was set, and is no default */
    const char *texts[112];    /* what it was set to, its default included; all that was, where it is repeatable */
    int64_t processes;         /* that were started together; 0: not known */
    int64_t stages_here;       /* that run on one machine, as is known once the processes are; 0: not known */
    /* data */
    ons_pairs inputs, val_inputs, normalize, outputs;
    ons_pairs batch_axes; /* input, or target, and the axis that counts samples */
    ONS_VECTOR(ons_memory_array) arrays;
    const char *target, *val_target, *tokens, *val_tokens, *rows, *val_rows;
    ons_number val_split; /* a share of the samples, above 0 and below 1 */
    int64_t seq;
    bool shuffle;
    /* model */
    ons_pairs dims, ties, new_heads;
    ONS_VECTOR(const char *) untie;
    ONS_VECTOR(ons_choice) choices;
    int64_t batch, micro_batches;
    ons_word batchnorm;
    ons_pairs batchnorm_of; /* glob and one of ons_batchnorm_words */
    const char *dropout;
    bool strict;
    /* loss */
    ons_word loss, metric; /* no text: not given */
    const char *loss_output, *class_weights;
    const char *after; /* a pass */
    ons_number class_axis, ignore_index, delta, label_smoothing;
    /* optimiser */
    ons_word optimizer, lr_schedule;
    ons_pairs lr_of;
    ons_number lr, momentum, beta1, beta2, alpha, eps, weight_decay, clip_norm;
    bool nesterov;
    int64_t warmup;
    /* run */
    int64_t steps, epochs, seed, threads, stages;
    int64_t devices; /* 0: as the schedule takes them */
    int64_t vocabulary_shards;
    int64_t replicas; /* ONS_REPLICAS_AUTO: the planner chooses */
    bool shard_optimizer, sync_batchnorm;
    ons_number loss_scale;
    const char *memory, *device, *pipeline, *partition, *memory_strategy, *plan;
    ons_word precision, transport;
    const char *slices; /* a number, or auto */
    ons_word stage_sizes, stage_replicas;
    const char *schedule;           /* a file */
    const ons_generator *generator; /* of the plan or schedule that is followed; NULL: `pipeline` names it */
    bool pin;
    /* planning */
    const char *device_profile, *profile, *cost_graph, *report, *prices;
    int64_t samples; /* of an epoch; 0: as the data hold */
    const char *goal, *disk_bandwidth;
    ons_number device_failure_hours;
    bool max_batch, reproducible;
    /* profiling */
    int64_t repetitions;
    bool cache;
    bool links; /* are measured, and no model */
    /* results */
    const char *out, *checkpoint;
    ons_word export_form;
    int64_t checkpoint_every, val_every, early_stop;
    bool resume, best, cut_outputs;
    /* watching */
    const char *log_json, *tensorboard, *trace, *svg, *written_schedule;
    bool log_grad_norms;
};

/* Keeps the configuration alive until one more ons_config_free. Not for several threads. */
ons_config *ons_config_hold(const ons_config *config);

/* One that the caller's does not change any more, nor the other way round. */
ons_status *ons_config_copy(const ons_config *config, ons_config **copy);

/* What the option (by its place in ons_options()) was set to, as text, or its default; "" where it has neither. */
const char *ons_config_text(const ons_config *config, size_t option);

/* Whether the user has set the option, be it to its default. */
bool ons_config_is_given(const ons_config *config, const char *option);

/* Sets an option to a whole number. */
ons_status *ons_config_set_count(ons_config *config, const char *option, int64_t value);

/* A finite number in full; fails with a message that names the option. */
ons_status *ons_config_parse_number(const char *option, const char *text, ons_number *number);

/* Derived settings (config_settings.c); each fails with a message that names the option. */
ons_status *ons_config_loss(const ons_config *config, ons_loss_options *loss);
/* Planning and profiling need no --loss: without one it follows from the type of the output that it is computed from.
 */
const char *ons_config_loss_name(const ons_config *config, const ons_type *output);
ons_status *ons_config_loss_or_usual(const ons_config *config, const ons_type *output, ons_loss_options *loss);
ons_status *ons_config_optimizer(const ons_config *config, ons_optimizer_options *optimizer);
ons_status *ons_config_mode(const ons_config *config, bool training, ons_mode *mode);
ons_status *ons_config_memory(const ons_config *config, int64_t *bytes);         /* 0: no cap */
ons_status *ons_config_disk_bandwidth(const ons_config *config, int64_t *bytes); /* a second; 0: not given */
ons_status *ons_config_threads(const ons_config *config, int *threads);
ons_rate_schedule ons_config_rate_schedule(const ons_config *config);
/* Whether somebody reads the norms of gradients. */
bool ons_config_logs_norms(const ons_config *config);
double ons_config_base_rate(const ons_config *config);
/* --device-profile, or this machine's; with --device cuda an H200's. */
const char *ons_config_device_profile(const ons_config *config);
ons_precision ons_config_precision(const ons_config *config);
/* What nodes that may compute in less than float32 compute in; ONS_FLOAT32: nothing does. */
ons_dtype ons_config_low_type(const ons_config *config);
/* Whether a GPU may round what products of float32 read. */
bool ons_config_takes_tf32(const ons_config *config);
/* --pipeline auto: the planner chooses. */
extern const char ons_any_schedule[];
bool ons_config_chooses_schedule(const ons_config *config);
/* Schedule, stages and devices; how many micro-batches is the caller's to know. Where the planner is to choose, the
 * schedule that it compares others with. Fails where the schedule is not known, or stages are fewer than devices. */
ons_status *ons_config_pipeline(const ons_config *config, ons_pipeline *pipeline);
/* --slices; ONS_SLICES_AUTO (planner/schedule/slicer.h): as many as shorten the start. Fails where the pipeline has
 * nothing to win by it. */
ons_status *ons_config_slices(const ons_config *config, uint32_t *count);
/* How many devices the stages lie on. */
int64_t ons_config_devices(const ons_config *config);
/* How many stages lie on so many devices, as many on each as the schedule puts there; one device alone has one. */
int64_t ons_config_stages_on(const ons_config *config, int64_t devices);
/* --replicas auto: `onstage plan` finds the number (engine/plan/degree_choice.h), and nothing else can be done with
 * such a configuration. */
static inline bool ons_config_chooses_replicas(const ons_config *config) {
    return config->replicas == ONS_REPLICAS_AUTO;
}
/* Counts the lanes of these devices (planner/schedule/lanes.h): what a replica has ranks for, where there is no plan.
 */
int64_t ons_config_lanes(const ons_config *config);
/* Counts the replicas among which updates are divided; 1: they are not. */
static inline uint32_t ons_config_update_owners(const ons_config *config) {
    return config->shard_optimizer ? (uint32_t)config->replicas : 1;
}
/* Whether updates come between micro-batches. */
bool ons_config_is_asynchronous(const ons_config *config);
/* --device cuda */
bool ons_config_uses_cuda(const ons_config *config);
/* Fails where one replica is to do what takes several, and where there are too many. */
ons_status *ons_config_check_replicas(const ons_config *config);
/* Loads before any other use of the device what would make others wait later (ons_device_kind.load_early), where
 * devices may exchange messages. */
void ons_config_load_early(const ons_config *config);
/* What this version cannot do is refused here (stages, devices, precisions). */
ons_status *ons_config_check_supported(const ons_config *config);

/* What is left of a learning rate in step `step` (from 1) of `steps`: rises linearly to 1 over the warm-up, then
 * follows the schedule down to 0. */
double ons_rate_share(ons_rate_schedule schedule, int64_t warmup, int64_t step, int64_t steps);

/* Fails where a --train or --freeze matches no initialiser of the imported graph: most likely a typing error. */
ons_status *ons_config_check_choices(const ons_config *config, const ons_graph *graph);

/* Whether the glob matches the initialiser's own name, or that of the parameter that the exporter renamed. */
bool ons_glob_names(const char *glob, const ons_value *initialiser);

/* Whether the globs leave the initialiser trainable. */
bool ons_config_trains(const ons_config *config, const ons_value *initialiser);
/* Whether a --train names it in full (a pattern does not), so that it counts as a weight though it does not look like
 * one. */
bool ons_config_insists(const ons_config *config, const char *initialiser);

#endif
