/* A dataset with the graphs that run over it, one for each variant of its (micro-)batches (runtime/data/portions.h). */
#ifndef ONSTAGE_ENGINE_STAGES_DATASET_GRAPHS_H
#define ONSTAGE_ENGINE_STAGES_DATASET_GRAPHS_H

#include "engine/model/batching.h"
#include "engine/model/layer_forms.h"
#include "engine/model/model_graph.h"
#include "graph/passes/cut.h"
#include "planner/schedule/schedule.h"
#include "runtime/data/portions.h"
#include "runtime/pipeline/evaluator.h"

/* What stages run whose micro-batches are `size` units of the step (runtime/program/units.h). */
typedef struct ons_grouped_graphs {
    uint32_t size;
    ons_model_graph graph;
    ons_cut cut;
} ons_grouped_graphs;

typedef struct ons_dataset_graphs {
    ons_dataset *dataset;
    ons_model_graph graphs[ONS_BATCH_VARIANTS]; /* .graph NULL: no micro-batch is of this variant */
    ons_cut cuts[ONS_BATCH_VARIANTS];           /* of each graph, one a stage */
    bool counts_classes;
    ons_totals_graphs totals; /* what the graphs take of a whole step, or dataset; zeroed: nothing */
    bool bounds_targets;      /* targets outside of [0, 1] are refused */
    ons_lone_values left_out; /* layers for which graphs[ONS_REST] is left out; count 0: there are none */
    /* Where the schedule has forward parts in halves: the graphs of half a micro-batch's samples, the first ones and
     * the others, and how they are cut; else zeroed. */
    ons_model_graph half_graphs[ONS_REST][2];
    ons_cut half_cuts[ONS_REST][2];
    /* Where stages have micro-batches of several units; else zeroed. graphs[ONS_WHOLE] is that of one unit, whether or
     * not any stage runs it. */
    ons_arena *grouping_arena;   /* owned: what follows */
    uint32_t *sizes;             /* [device of the cuts]: units in a micro-batch; NULL: one everywhere */
    ons_grouped_graphs *grouped; /* of each size above one */
    uint32_t grouped_count;
} ons_dataset_graphs;

typedef struct ons_dataset_graphs_options {
    const ons_model *model;
    const ons_config *config;
    int64_t rows[ONS_BATCH_VARIANTS]; /* samples of a micro-batch; 0: none is of this variant, or it is dropped */
    bool training, repeats;
    bool divides;          /* see ons_model_graph_options */
    const ons_graph *like; /* see ons_model_graph_options */
} ons_dataset_graphs_options;
/* Gives the options of training: `samples` is that of its dataset. */
ons_dataset_graphs_options ons_training_graphs_options(const ons_model *model, const ons_config *config,
                                                       const ons_batching *batching, int64_t samples, bool repeats);
ons_status *ons_dataset_graphs_build(const ons_dataset_graphs_options *options,
                                     ons_dataset_graphs *graphs); /* `dataset` is set */
/* Builds the graphs of halves where the schedule has any and they are not there yet: each as `whole` says, of training,
 * for fewer rows. A micro-batch of one sample has no halves: ONS_INVALID_ARGUMENT. */
ons_status *ons_dataset_graphs_build_halves(const ons_model_graph_options *whole, const ons_schedule *schedule,
                                            ons_dataset_graphs *graphs);
/* Builds the graphs of micro-batches of several units, where the schedule has stages with such, and that of the rest of
 * an epoch, which all stages compute at once: as `whole` says, of training, for other rows. `samples`: of the dataset;
 * 0: there is no rest. What was built for another schedule goes. ONS_UNSUPPORTED where such micro-batches cannot be. */
ons_status *ons_dataset_graphs_build_groups(const ons_model_graph_options *whole, const ons_schedule *schedule,
                                            const ons_batching *batching, int64_t samples, ons_dataset_graphs *graphs);
void ons_dataset_graphs_drop_groups(ons_dataset_graphs *graphs);
/* Checks, once all graphs are cut, that stages of different sizes can send each other what they do. */
ons_status *ons_dataset_graphs_check_groups(const ons_model *model, const ons_dataset_graphs *graphs);

/* Whether one stage, or each that has a part of the loss or of its obstacle, takes all units of a step at once, so that
 * a loss which does not add up is computed as a whole. Once all graphs are cut. */
bool ons_dataset_graphs_keep_loss_whole(const ons_dataset_graphs *graphs, int64_t units);

/* Find what a device runs of a variant: the graph, which may be absent, and the device's part of its cut. */
const ons_model_graph *ons_dataset_graphs_of(const ons_dataset_graphs *graphs, ons_batch_variant variant,
                                             uint32_t device);
const ons_cut_stage *ons_dataset_graphs_cut_of(const ons_dataset_graphs *graphs, ons_batch_variant variant,
                                               uint32_t device);
void ons_dataset_graphs_drop_cuts(ons_dataset_graphs *graphs);
void ons_dataset_graphs_free(ons_dataset_graphs *graphs); /* after all that was made from it; a zeroed one is fine */

/* How updates stand to micro-batches; inference has a zeroed one. */
typedef struct ons_step_form {
    bool repeats;             /* several micro-batches to one update: see graph/execution_order.h */
    bool updates_in_backward; /* one stage, one micro-batch: updates run as soon as they can, see
                                 graph/passes/update_in_backward.h */
    bool makes_again;         /* one stage, nobody plans its memory: what is as cheaply made again as kept is
                                 (graph/passes/cheap_again.h) */
} ons_step_form;
ons_step_form ons_step_form_of(const ons_pipeline *pipeline);

/* Cuts the graphs as one stage: everything on one device. */
ons_status *ons_dataset_graphs_cut_whole(const ons_model *model, ons_step_form form, ons_dataset_graphs *graphs);

/* ----------------------------------------------------------------------------------------------------------- shares */

/* What one stage has of the graphs of a dataset: its programs in a device context, and the data that they read. */
typedef struct ons_share_program {
    ons_stage_program stage;
    ons_step_program step_program; /* .program NULL: there is none */
    ons_value_id *outputs; /* of the stage's graph, in the order of the model's; ONS_NONE: another stage's. Inference */
} ons_share_program;

typedef struct ons_share {
    ons_feed feed;           /* the fields that this stage reads */
    uint32_t target_field;   /* of the feed; ONS_NO_FIELD: it has none */
    ons_step_totals *totals; /* NULL: this stage reads none */
    ons_share_program programs[ONS_BATCH_VARIANTS];
} ons_share;

typedef struct ons_share_options {
    const ons_model *model;
    const ons_dataset_graphs *dataset_graphs; /* cut */
    ons_device_context *device_context;
    size_t batch;      /* samples that the feed holds */
    size_t step_batch; /* samples of a step, whoever computes them; 0: no more */
    bool repeats;
    uint32_t stage;               /* number of the device in the cuts */
    uint32_t device;              /* of the schedule */
    const ons_schedule *schedule; /* of a whole step */
    uint32_t micro_batches;       /* of a step, at most */
    uint32_t versions;            /* of this device's weights */
    ons_update_shard shard;       /* of their updates */
} ons_share_options;

/* Adds the programs of a whole step to the device context; only .stage of them is set. Data is not looked at. */
ons_status *ons_share_prepare(const ons_share_options *options, ons_share *share);
/* Adds the programs to the device context, which is not started yet. */
ons_status *ons_share_build(const ons_share_options *options, ons_share *share);
/* Lets a step's samples come to the device before it begins (runtime/pipeline/samples_ahead.h), where their places fit
 * into `room` bytes of it beside all that has been added: the last thing before the arena is taken. */
ons_status *ons_share_reserve_samples(const ons_share_options *options, int64_t room);
/* Gives back what lies in the device's host memory: before the device context. */
void ons_share_drop_samples(ons_share *share);
void ons_share_free(ons_share *share); /* after device context and worker; a zeroed one is fine */

/* Appends the share's programs to those that a worker will run: ONS_BATCH_VARIANTS at most. */
void ons_share_list_programs(const ons_share *share, const ons_stage_program **programs, uint32_t *count);

/* Gives the evaluator of a stage's share of inference graphs, but for reader and progress. */
ons_evaluator_options ons_share_evaluator(const ons_share *share, const ons_dataset_graphs *graphs, ons_worker *worker,
                                          const ons_config *config);

/* Gives the target's field of the dataset, and what a sample of it is; ONS_NO_FIELD: the graphs have no targets. */
uint32_t ons_dataset_graphs_target(const ons_dataset_graphs *graphs, ons_type *sample);

/* A cap that does not hold is refused with what would be needed. */
ons_status *ons_check_memory_cap(const ons_device_context *device_context, int64_t cap);

#endif
