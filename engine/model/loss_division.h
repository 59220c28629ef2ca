/* The model's own loss (--loss graph) of a batch that is computed in parts: graph/passes/loss_parts.h, asked of a
 * model. */
#ifndef ONSTAGE_ENGINE_MODEL_LOSS_DIVISION_H
#define ONSTAGE_ENGINE_MODEL_LOSS_DIVISION_H

#include "engine/model/data.h"
#include "graph/passes/loss_parts.h"
#include "runtime/pipeline/step_totals.h"

/* How a model is bound. */
typedef struct ons_binding_options {
    const ons_model *model;
    const ons_config *config;
    const ons_dataset *dataset; /* for shapes; NULL: from the model and --dim alone */
    int64_t fallback;           /* for dimensions that nothing binds; 0: an error */
    bool training;
    ons_blockers *blockers; /* see ons_bind */
} ons_binding_options;

ons_status *ons_bind_model(const ons_binding_options *options, int64_t rows, ons_graph **graph);

/* Finds how the loss adds up, and opens the graph for it (ons_loss_parts_open). `graph`: fresh from ons_bind_model for
 * `rows` samples. *loss: ONS_NONE where the loss is not the model's own, or not one number; then there are no parts. */
ons_status *ons_divide_loss(const ons_binding_options *options, int64_t rows, ons_graph *graph, ons_arena *arena,
                            ons_value_id *loss, ons_loss_parts *parts);

/* The node at which the loss of a batch is not the sum of its parts; node NULL: there is none, or the loss is not the
 * model's own. Texts in `arena`. */
ons_status *ons_find_loss_obstacle(const ons_model *model, const ons_config *config, int64_t rows, ons_arena *arena,
                                   ons_blocker *obstacle);

/* Fails where the loss does not add up. */
ons_status *ons_refuse_loss_in_parts(const ons_model *model, const ons_config *config, const ons_blocker *obstacle);

/* Gives the failure to report if the graph of one of `parts` parts of a batch was not built: a loss that couples
 * samples may not even have shapes for fewer of them, and then the refusal names its node. Takes `failure`, which may
 * be NULL.
 */
ons_status *ons_explain_part(const ons_model *model, const ons_config *config, int64_t batch, int64_t parts,
                             ons_status *failure);

/* Makes the graphs that compute totals from samples: as many as `count`, of these types, as a graph of `rows` samples
 * has them. */
ons_status *ons_loss_totals_build(const ons_binding_options *options, int64_t rows, const ons_graph *like,
                                  const ons_value_id *totals, uint32_t count, ons_totals_graphs *result);

#endif
