/* From model and configuration to local stages: graphs, a plan where one is needed, programs, arenas. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "engine/config/conditions.h"
#include "engine/config/schedule_file.h"
#include "engine/model/exporter_calls.h"
#include "engine/model/loss_division.h"
#include "engine/model/notes.h"
#include "engine/model/results.h"
#include "engine/model/sample_axes.h"
#include "engine/train/trainer.h"
#include "onnx_import/export.h"

bool ons_trainer_repeats(const ons_trainer *t) {
    return ons_batching_micro_batches(&t->batching) > 1 && !ons_config_is_asynchronous(t->config);
}

/* A node whose running statistics move: it normalises by its micro-batch. NULL: there is none. */
static const ons_node *find_batch_normalisation(const ons_graph *graph) {
    for (ons_node_id id = 0; id < graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(graph, id);
        if (node->phase != ONS_FORWARD) continue;
        for (uint32_t i = 0; i < node->output_count; ++i) {
            const ons_value *value = node->outputs[i] == ONS_NONE ? NULL : ons_graph_value(graph, node->outputs[i]);
            if (value != NULL && value->kind == ONS_BUFFER && value->pair != ONS_NONE) return node;
        }
    }
    return NULL;
}

static ons_status *check_normalisation(ons_trainer *t) {
    const ons_batching *b = &t->batching;
    bool sync = t->config->sync_batchnorm;
    int64_t together = b->rows * (sync ? b->replicas : 1), parts = b->micro_batches * (sync ? 1 : b->replicas);
    const ons_node *node = parts == 1 ? NULL : find_batch_normalisation(t->training.graphs[ONS_WHOLE].graph);
    if (node == NULL) return NULL;
    ONS_CHECK(
        together > 1 || !b->fixed, ONS_UNSUPPORTED,
        "node '%s' normalises by the batch, and the model was exported for batches of one sample: it would normalise "
        "each by itself; export the model with a dynamic batch axis, or give --batchnorm eval",
        node->name);
    ONS_TRY(ons_note(&t->assumptions, t->arena, ons_note_batchnorm_by_micro_batches, node->name, together, b->batch,
                     b->replicas == 1 || sync ? "fewer --micro-batches"
                                              : "fewer --micro-batches or --replicas, "
                                                "--sync-batchnorm"));
    return ons_assumptions_check(t->config, &t->assumptions);
}

/* Why a batch is computed in more parts than were asked for. */
static ons_status *explain_micro_batches(ons_trainer *t) {
    const ons_batching *b = &t->batching;
    ons_blocker obstacle;
    if (!b->fixed || t->config->micro_batches > 0 || b->micro_batches == t->config->stages) return NULL;
    ONS_TRY(ons_find_batch_obstacle(t->model, t->config, t->arena, &obstacle));
    t->in_parts = ons_arena_format(
        t->arena,
        "the model was exported for batches of %" PRId64 ", and a batch is computed in %" PRId64
        " of them: what node '%s' (%s) would do with more samples is not known: %s; an export with a dynamic batch "
        "axis computes them at once",
        b->rows, b->micro_batches, obstacle.node, obstacle.operator_name, obstacle.reason);
    return t->in_parts == NULL ? ons_status_out_of_memory() : NULL;
}

/* Where a batch is computed at once, what its loss is divided by makes no difference. */
static ons_status *note_guessed_mean(ons_trainer *t) {
    const ons_blocker *guess = &t->training.graphs[ONS_WHOLE].loss_guess;
    if (guess->node == NULL || ons_batching_micro_batches(&t->batching) * t->batching.replicas == 1) return NULL;
    ONS_TRY(ons_note(&t->assumptions, t->arena, ons_note_guessed_mean, guess->node, guess->operator_name,
                     t->batching.rows));
    return ons_assumptions_check(t->config, &t->assumptions);
}

static ons_status *build_training(ons_trainer *t) {
    if (t->training.dataset == NULL) ONS_TRY(ons_open_training_data(t->model, t->config, &t->training.dataset));
    ONS_TRY(ons_choose_batching(t->model, t->config, &t->batching));
    ONS_TRY(explain_micro_batches(t));
    int64_t samples = (int64_t)ons_dataset_count(t->training.dataset);
    ONS_TRY(ons_check_samples(&t->batching, (uint64_t)samples, "training data", "--rows, --input or --tokens"));
    /* No memory for a batch that never comes; but a plan says what its batch is, and was made without these data. */
    bool never_full =
        !t->batching.fixed && ons_batching_micro_batches(&t->batching) == 1 && t->batching.batch > samples;
    if (never_full && t->config->plan == NULL) t->batching.batch = t->batching.rows = samples;
    ONS_TRY(ons_check_fed_once(t->model, t->config, t->training.dataset, &t->batching, true));
    const ons_dataset_graphs_options options =
        ons_training_graphs_options(t->model, t->config, &t->batching, samples, ons_trainer_repeats(t));
    ONS_TRY(ons_explain_part(t->model, t->config, t->batching.batch, ons_batching_micro_batches(&t->batching),
                             ons_dataset_graphs_build(&options, &t->training)));
    ONS_TRY(ons_trainer_tell_training(t, options.rows[ONS_REST]));
    ONS_TRY(note_guessed_mean(t));
    return check_normalisation(t);
}

static ons_status *build_validation(ons_trainer *t) {
    ONS_TRY(ons_open_validation_data(t->model, t->config, &t->validation.dataset));
    if (t->validation.dataset == NULL) return NULL;
    int64_t samples = (int64_t)ons_dataset_count(t->validation.dataset);
    /* Now, not after the steps before the first validation. */
    ONS_TRY(ons_check_samples(&t->batching, (uint64_t)samples, "validation data",
                              "--val-rows, --val-input or --val-tokens"));
    int64_t rows = t->batching.fixed || t->batching.rows <= samples ? t->batching.rows : samples;
    const ons_batching whole = {
        .batch = rows, .micro_batches = 1, .replicas = 1, .rows = rows, .fixed = t->batching.fixed};
    ONS_TRY(ons_check_fed_once(t->model, t->config, t->validation.dataset, &whole, false));
    const ons_dataset_graphs_options options = {
        .model = t->model,
        .config = t->config,
        .rows = {[ONS_WHOLE] = rows, [ONS_REST] = t->batching.fixed ? 0 : samples % rows},
        .like = t->training.graphs[ONS_WHOLE].graph,
        .divides = samples > rows,
    };
    ONS_TRY(ons_dataset_graphs_build(&options, &t->validation));
    const ons_blocker *obstacle = &t->validation.graphs[ONS_WHOLE].loss_obstacle;
    if (obstacle->node != NULL)
        ONS_TRY(ons_note(&t->assumptions, t->arena, ons_note_validated_in_parts, samples, obstacle->node,
                         obstacle->operator_name, obstacle->reason, rows, samples));
    ONS_TRY(ons_assumptions_check(t->config, &t->assumptions));
    return ons_trainer_tell_validation(t);
}

/* ----------------------------------------------------------------------------------------------------------- stages */

static ons_status *count_steps(ons_trainer *t) {
    t->steps_per_epoch = (int64_t)ons_stepper_steps_per_epoch(ons_local_stages_get(t->local_stages, 0)->stepper);
    t->steps = t->config->steps;
    if (t->steps == 0)
        ONS_CHECK(!__builtin_mul_overflow(t->config->epochs, t->steps_per_epoch, &t->steps), ONS_INVALID_ARGUMENT,
                  "--epochs %lld is too many", (long long)t->config->epochs);
    t->validate_every = t->config->val_every > 0 ? t->config->val_every : t->steps_per_epoch;
    return NULL;
}

/* What a run computes but for how a step's samples are grouped: of the model, and not of the graphs that run. */
static ons_status *compute_ungrouped_digest(ons_trainer *t) {
    char run[160], *text;
    snprintf(run, sizeof run, "%" PRId64 " %" PRId64 " %d %" PRIu64, t->batching.batch, t->config->seed,
             t->config->shuffle, ons_dataset_count(t->training.dataset));
    ONS_TRY(ons_graph_print(t->model->graph, &text));
    const ons_target_weights *weights = &t->training.graphs[ONS_WHOLE].class_weights;
    uint64_t digest = ons_hash_text(ONS_HASH_BASIS, text);
    free(text);
    digest = ons_hash_bytes(digest, weights->of_class, (size_t)weights->count * sizeof *weights->of_class);
    digest = ons_dataset_hash_left_out(t->training.dataset, digest);
    t->ungrouped_digest = ons_hash_bytes(digest, run, strlen(run));
    return NULL;
}

/* How many copies of their stages add up what is kept, value by value; the same digest where none are. */
static uint64_t hash_copies(const ons_trainer *t, uint64_t digest) {
    const ons_graph *graph = t->training.graphs[ONS_WHOLE].graph;
    const ons_device_groups *groups = ons_local_stages_groups(t->local_stages);
    for (ons_value_id id = 0; groups->most_copies > 1 && id < graph->values.count; ++id) {
        uint32_t owner = ons_graph_value(graph, id)->producer == ONS_NONE ? ons_trainer_owner(t, id) : ONS_NONE;
        uint32_t copies = owner == ONS_NONE ? 1 : groups->items[groups->of_device[owner]].copies;
        digest = ons_hash_bytes(digest, &copies, sizeof copies);
    }
    return digest;
}

/* Units that stages take at once, node by node: over what the gradients of a weight are summed in one go. The same
 * digest where they take one everywhere. */
static uint64_t hash_sizes(const ons_trainer *t, uint64_t digest) {
    const ons_dataset_graphs *g = &t->training;
    for (uint32_t device = 0; g->sizes != NULL && device < g->cuts[ONS_WHOLE].stage_count; ++device) {
        const ons_cut_stage *cut = &g->cuts[ONS_WHOLE].stages[device];
        for (ons_node_id id = 0; id < cut->graph->nodes.count; ++id)
            if (!cut->again[id]) digest = ons_hash_bytes(digest, &cut->original[id], sizeof cut->original[id]);
        digest = ons_hash_bytes(digest, &g->sizes[device], sizeof g->sizes[device]);
    }
    return digest;
}

static ons_status *describe_copies(ons_trainer *t) {
    const ons_device_groups *groups = ons_local_stages_groups(t->local_stages);
    for (uint32_t i = 0; groups->most_copies > 1 && i < groups->count; ++i) {
        t->copies = i == 0 ? ons_arena_format(t->arena, "%u", groups->items[i].copies)
                           : ons_arena_format(t->arena, "%s, %u", t->copies, groups->items[i].copies);
        if (t->copies == NULL) return ons_status_out_of_memory();
    }
    return NULL;
}

/* Of what decides the run's numbers beside the kernels: the training graph, and how samples are drawn. */
static ons_status *compute_digests(ons_trainer *t) {
    char run[160];
    snprintf(run, sizeof run, "%" PRId64 " %" PRId64 " %" PRId64 " %d %" PRIu64, t->batching.batch,
             t->batching.micro_batches, t->config->seed, t->config->shuffle, ons_dataset_count(t->training.dataset));
    if (t->batching.replicas > 1)
        snprintf(run + strlen(run), sizeof run - strlen(run), " %" PRId64, t->batching.replicas);
    t->digest = ons_hash_bytes(t->training.graphs[ONS_WHOLE].digest, run, strlen(run));
    t->digest = ons_dataset_hash_left_out(t->training.dataset, t->digest);
    t->digest = hash_sizes(t, hash_copies(t, t->digest));
    ONS_TRY(describe_copies(t));
    return compute_ungrouped_digest(t);
}

/* Training makes no plan for one stage without a cap, so nothing else opens these files then. They are read here, so
 * that a wrong name or a file that is no profile fails all the same. */
static ons_status *read_profiles(const ons_trainer *t) {
    const ons_config *c = t->config;
    const char *const names[] = {c->profile, c->device_profile};
    bool planned = c->stages > 1 || c->memory != NULL || c->plan != NULL || t->remote;
    for (size_t i = 0; i < sizeof names / sizeof *names && !planned; ++i) {
        ons_device_profile profile;
        if (names[i] != NULL) ONS_TRY(ons_device_profile_load(names[i], t->arena, &profile));
    }
    return NULL;
}

/* What options say against each other, or against the model, before anything is built. */
static ons_status *check_options(ons_trainer *t) {
    ONS_TRY(ons_config_follow_schedule(t->config, t->arena));
    ons_config_load_early(t->config);
    ONS_TRY(ons_config_check_supported(t->config));
    ONS_CHECK(t->config->outputs.count == 0, ONS_INVALID_ARGUMENT,
              "--output: training writes no outputs; `onstage eval` does");
    ONS_TRY(ons_check_results(t->model, t->config));
    ONS_TRY(read_profiles(t));
    if (t->config->cut_outputs) ONS_TRY(ons_export_check_cut(t->model->file, ons_trainer_own_loss(t)));
    t->rate_schedule = ons_config_rate_schedule(t->config);
    ONS_TRY(ons_assumptions_find(t->model, t->config, t->arena, &t->assumptions));
    return ons_assumptions_check(t->config, &t->assumptions);
}

const char *ons_trainer_own_loss(const ons_trainer *t) {
    const ons_graph *graph = t->model->graph;
    return t->config->loss_output != NULL ? t->config->loss_output
                                          : ons_value_name_in_file(ons_graph_value(graph, graph->outputs.items[0]));
}

/* What the first batch shows. */
static ons_status *judge_data(ons_trainer *t) {
    ONS_TRY(ons_assume_padding(t->model, t->config, t->training.dataset, t->batching.batch, t->arena, &t->assumptions));
    return ons_assumptions_check(t->config, &t->assumptions);
}

ons_status *ons_trainer_build(ons_trainer *t) {
    uint32_t processes = 1;
    if (ons_mpi_is_launched(&processes)) t->config->processes = processes;
    ONS_TRY(ons_config_check_conditions(t->config, ONS_COMMAND_TRAIN));
    ONS_TRY(ons_trainer_divide_processors(t));
    ONS_TRY(check_options(t));
    ONS_TRY(ons_trainer_open_world(t));
    ONS_TRY(ons_config_threads(t->config, &t->threads));
    ONS_TRY(ons_trainer_open_trace(t));
    ONS_TRY(build_training(t));
    ONS_TRY(judge_data(t));
    ONS_TRY(build_validation(t));
    ONS_TRY(ons_trainer_choose_local_stages(t));
    ONS_TRY(ons_local_stages_start(t->local_stages));
    ONS_TRY(ons_trainer_open_best(t));
    ONS_TRY(ons_trainer_gather_stages(t));
    ONS_TRY(ons_trainer_gather_libraries(t));
    ONS_TRY(count_steps(t));
    ONS_TRY(compute_digests(t));
    ONS_TRY(ons_trainer_check_alike(t));
    bool resumed;
    ONS_TRY(ons_trainer_resume(t, &resumed));
    ons_model_file_give_back(t->model->file); /* weights lie in the arena */
    return ons_trainer_open_logs(t, resumed);
}
