#include "engine/model/batching.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/model/data.h"
#include "engine/model/loss_division.h"
#include "graph/passes/batch.h"

static ons_status *try_batch(const ons_model *model, const ons_bind_options *options, ons_arena *arena,
                             ons_blocker *obstacle) {
    ons_graph *graph;
    ons_status *status = ons_bind(model->graph, model->registry, options, NULL, &graph);
    if (status != NULL && ons_status_get_code(status) != ONS_OUT_OF_MEMORY) {
        ons_status_free(status); /* the run binds the model again, and reports it */
        *obstacle = (ons_blocker){.node = model->path, .reason = "it cannot be bound"};
        return NULL;
    }
    ONS_TRY(status);
    status = ons_change_batch(graph, model->registry, options->batch, 2 * options->batch, obstacle);
    if (status == NULL && obstacle->node != NULL) {
        obstacle->node = ons_arena_copy_text(arena, obstacle->node);
        obstacle->reason = ons_arena_copy_text(arena, obstacle->reason);
        if (obstacle->node == NULL || obstacle->reason == NULL) status = ons_status_out_of_memory();
    }
    ons_graph_free(graph);
    return status;
}

ons_status *ons_find_batch_obstacle(const ons_model *model, const ons_config *config, ons_arena *arena,
                                    ons_blocker *obstacle) {
    ons_bind_options options = {.batch = ons_exported_batch(model->graph),
                                .fallback = ONS_ASSUMED_DIMENSION,
                                .folded_most = ons_model_file_budget(model->file)};
    ons_binding *bindings;
    *obstacle = (ons_blocker){0};
    if (options.batch == 0) return NULL;
    ONS_TRY(ons_config_mode(config, true, &options.mode));
    ONS_TRY(ons_make_bindings(model, config, NULL, options.batch, arena, &bindings, &options.binding_count));
    options.bindings = bindings;
    return try_batch(model, &options, arena, obstacle);
}

static ons_status *has_obstacle(const ons_model *model, const ons_config *config, bool *has) {
    ons_blocker obstacle = {0};
    ons_arena *arena = ons_arena_new();
    ons_status *status =
        arena == NULL ? ons_status_out_of_memory() : ons_find_batch_obstacle(model, config, arena, &obstacle);
    *has = obstacle.node != NULL;
    ons_arena_free(arena);
    return status;
}

/* --dim of the batch's symbol says the size of a micro-batch; 0: nobody does. */
static int64_t rows_by_symbol(const ons_model *model, const ons_config *config) {
    int64_t rows = 0;
    for (size_t i = 0; rows == 0 && i < config->dims.count; ++i)
        for (size_t k = 0; k < model->graph->inputs.count; ++k) {
            const char *symbol = model->graph->symbols == NULL ? NULL : model->graph->symbols[k][0];
            if (symbol != NULL && strcmp(symbol, config->dims.items[i].name) == 0)
                rows = strtoll(config->dims.items[i].value, NULL, 10);
        }
    return rows;
}

ons_status *ons_check_batch_symbol(const ons_model *model, const ons_config *config) {
    int64_t rows = config->batch == 0 ? 0 : rows_by_symbol(model, config);
    ONS_CHECK(rows == 0 || rows == config->batch, ONS_INVALID_ARGUMENT,
              "--batch %" PRId64 " beside a --dim %" PRId64
              " of the dimension that counts samples: leave one of them out",
              config->batch, rows);
    return NULL;
}

/* As many micro-batches as the batch that the model was exported for fits into the step's. */
static ons_status *fit_micro_batches(ons_batching *b, int64_t exported) {
    if (b->micro_batches == 1) {
        int64_t together = exported * b->replicas;
        ONS_CHECK(b->batch % together == 0, ONS_INVALID_ARGUMENT,
                  "--batch %lld is no multiple of %lld, the batch that the model was exported for%s; export it with a "
                  "dynamic batch axis, or choose another batch",
                  (long long)b->batch, (long long)together, b->replicas > 1 ? ", in each replica" : "");
        b->micro_batches = b->batch / together;
    }
    return NULL;
}

/* Samples of a step; beyond that sums over them would be no sums in float32 any more, and sizes would overflow. */
enum { BATCH_MAX = INT32_MAX };

static ons_status *multiply_batch(int64_t rows, int64_t micro_batches, int64_t *batch) {
    ONS_CHECK(!__builtin_mul_overflow(rows, micro_batches, batch) && *batch <= BATCH_MAX, ONS_INVALID_ARGUMENT,
              "%" PRId64 " micro-batches of %" PRId64 " samples are more than the %d samples that a step can have",
              micro_batches, rows, BATCH_MAX);
    return NULL;
}

/* Whether the model's own loss may be what is trained: asked for, or, where nothing is, its first output. */
static bool may_be_own_loss(const ons_model *model, const ons_config *config) {
    if (config->loss.text != NULL) return (ons_role)config->loss.value == ONS_ROLE_SAMPLE_MEAN;
    if (model->graph->outputs.count == 0) return false;
    const ons_type *type = &ons_graph_value(model->graph, model->graph->outputs.items[0])->type;
    return ons_shape_elements(&type->shape) == 1;
}

/* Without --micro-batches, a loss that does not add up over parts is computed in one micro-batch. */
static ons_status *keep_loss_whole(const ons_model *model, const ons_config *config, ons_batching *b) {
    if (config->micro_batches > 0 || b->micro_batches == 1 || b->fixed || b->replicas > 1) return NULL;
    if (config->stage_sizes.value == ONS_STAGES_BARRIER) return NULL; /* the stage of the loss takes them all at once */
    if (ons_config_is_asynchronous(config) || !may_be_own_loss(model, config)) return NULL;
    ons_blocker obstacle = {0};
    ons_arena *arena = ons_arena_new();
    if (arena == NULL) return ons_status_out_of_memory();
    ons_status *status = ons_find_loss_obstacle(model, config, b->batch, arena, &obstacle);
    if (obstacle.node != NULL) b->micro_batches = 1;
    ons_arena_free(arena);
    return status;
}

ons_status *ons_choose_batching(const ons_model *model, const ons_config *config, ons_batching *b) {
    int64_t exported = ons_exported_batch(model->graph);
    ONS_CHECK(config->batch <= BATCH_MAX, ONS_INVALID_ARGUMENT,
              "--batch %" PRId64 " is more than the %d samples that a step can have", config->batch, BATCH_MAX);
    ONS_CHECK(exported <= BATCH_MAX, ONS_UNSUPPORTED,
              "the model was exported for batches of %" PRId64 " samples; a step can have %d", exported, BATCH_MAX);
    *b = (ons_batching){config->batch, config->micro_batches > 0 ? config->micro_batches : config->stages,
                        config->replicas, 0, false};
    int64_t together;
    ONS_CHECK(!__builtin_mul_overflow(b->micro_batches, b->replicas, &together) && together <= BATCH_MAX,
              ONS_INVALID_ARGUMENT,
              "%" PRId64 " micro-batches in each of %" PRId64
              " replicas are more than the %d samples that a step can have",
              b->micro_batches, b->replicas, BATCH_MAX);
    if (b->batch == 0 && exported == 0) ONS_TRY(multiply_batch(rows_by_symbol(model, config), together, &b->batch));
    if (b->batch == 0) ONS_TRY(multiply_batch(exported > 0 ? exported : 32, exported > 0 ? together : 1, &b->batch));
    if (exported > 0) ONS_TRY(has_obstacle(model, config, &b->fixed));
    if (b->fixed && exported > 0) ONS_TRY(fit_micro_batches(b, exported));
    ONS_TRY(keep_loss_whole(model, config, b));
    together = ons_batching_micro_batches(b);
    ONS_CHECK(together <= b->batch, ONS_INVALID_ARGUMENT,
              "--batch %lld has too few samples for %lld micro-batches%s, one of which is for each stage where "
              "--micro-batches does not say otherwise; choose a smaller --micro-batches or a larger --batch",
              (long long)b->batch, (long long)together, b->replicas > 1 ? " in all replicas" : "");
    b->rows = (b->batch + together - 1) / together;
    if (!b->fixed) return NULL;
    int64_t wanted;
    ONS_TRY(multiply_batch(exported, together, &wanted));
    ONS_CHECK(
        b->batch == wanted, ONS_INVALID_ARGUMENT,
        "--batch %lld in %lld micro-batches makes %s%lld sample%s each, but the model was exported for %lld; choose "
        "--batch %lld, or export it with a dynamic batch axis",
        (long long)b->batch, (long long)together, ons_batching_is_uneven(b) ? "up to " : "", (long long)b->rows,
        b->rows == 1 ? "" : "s", (long long)exported, (long long)wanted);
    return NULL;
}

ons_status *ons_check_samples(const ons_batching *b, uint64_t samples, const char *kind, const char *options) {
    ONS_CHECK(!b->fixed || samples >= (uint64_t)b->rows, ONS_INVALID_DATA,
              "the model was exported for batches of %" PRId64 " samples, and the %s has only %" PRIu64
              "; give at least %" PRId64 " with %s, or export the model with a dynamic batch axis",
              b->rows, kind, samples, b->rows, options);
    return NULL;
}
