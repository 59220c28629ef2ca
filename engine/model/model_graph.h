/* From an imported model to the graphs that run: one for training, one for inference, each for a number of samples. */
#ifndef ONSTAGE_ENGINE_MODEL_MODEL_GRAPH_H
#define ONSTAGE_ENGINE_MODEL_MODEL_GRAPH_H

#include "engine/model/data.h"
#include "engine/model/other_outputs.h"
#include "graph/passes/autograd.h"

typedef struct ons_model_graph {
    ons_graph *graph; /* owned */
    int64_t rows;
    ons_value_id *inputs; /* in the order of the model's inputs, then the target where there is one */
    uint32_t input_count;
    ons_value_id target;              /* ONS_NONE: none */
    ons_value_id loss;                /* ONS_NONE: none (inference without targets) */
    ons_value_id prediction;          /* inference; ONS_NONE: none */
    const char *loss_name;            /* training: as asked for, or the usual one */
    const char *prediction_name;      /* with a loss: of the output that it is taken of */
    ons_other_outputs other_outputs;  /* training with data: that could be meant as well */
    uint32_t class_axis;              /* of the prediction, where the targets are classes */
    int64_t classes;                  /* how many there are, where the targets are classes; 0: they are none */
    ons_target_weights class_weights; /* where the targets are classes: the loss's weights of them */
    ons_value_id *outputs;            /* inference: in the order of the model's outputs */
    uint32_t output_count;
    ons_value_id *totals; /* inputs that are numbers of the whole step: runtime/pipeline/step_totals.h */
    uint32_t total_count;
    bool loss_sums;            /* the model's own loss of a step is the sum of its micro-batches' as they are */
    ons_blocker loss_obstacle; /* where the model's own loss does not add up over parts; node NULL: it does, or there
                                  are none */
    ons_blocker loss_guess;    /* see ons_loss_parts.guessed */
    ons_update_result update;  /* training */
    ons_value_id *squares;     /* training with norms: square sums of gradients, one a trained weight */
    bool squares_idle;         /* this run neither computes nor reads them. The arena keeps a place for them, so that
                                  a log takes no more memory than planned */
    ons_value_id *kept;        /* what the host reads */
    size_t kept_count;
    uint64_t digest; /* training: of the graph before layouts are chosen, the same whatever kernels a machine has */
} ons_model_graph;

typedef struct ons_model_graph_options {
    const ons_model *model;
    const ons_config *config;
    const ons_dataset *dataset; /* for shapes; NULL: from the model and --dim alone */
    int64_t rows;
    int64_t fallback; /* for dimensions that nothing binds; 0: an error */
    bool training;
    bool repeats; /* more than one micro-batch a step */
    bool divides; /* inference: the loss is that of several batches together */
    bool unfused; /* operators stay as the file has them, for comparison with systems that run them so */
    bool for_gpu; /* elementwise operators are joined (graph/passes/fuse_elementwise.h), and layouts are chosen for
                     CUDA's kernels, from the model and the precision alone: the same graph wherever it is made */
    ons_blockers *blockers;
    const ons_graph *like; /* a graph that shares weights with this one, and has their layouts; NULL: there is none */
    /* Called after each pass that has run, with its name and seconds; NULL: nobody asks. */
    void (*observe)(void *context, const char *pass, double seconds, const ons_graph *graph);
    void *context;
} ons_model_graph_options;

/* The names of all passes, in order: "bind", "fuse", …; NULL behind the last one. */
const char *ons_model_graph_pass(size_t index);

/* Everything in *result lives in the graph's arena; on failure there is nothing to free. */
ons_status *ons_model_graph_build(const ons_model_graph_options *options, ons_model_graph *result);
void ons_model_graph_free(ons_model_graph *stage); /* a zeroed one is fine */

/* The weights of a bound graph that the globs leave trainable, in the order of the file; `reaches` from
 * ons_gradient_reaches. In `arena`. */
ons_status *ons_trainable_weights(const ons_model *model, const ons_config *config, const ons_graph *bound,
                                  const bool *reaches, ons_arena *arena, ons_value_id **weights, uint32_t *count);

#endif
