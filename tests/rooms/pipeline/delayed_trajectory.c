#include "tests/rooms/pipeline/delayed_trajectory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/data/order.h"
#include "tests/rooms/pipeline/delayed.h"

struct delayed_trajectory {
    const ons_model *model;
    const ons_config *config;
    ons_batching batching;
    ons_arena *arena;
    ons_dataset_graphs dataset_graphs; /* in one stage */
    ons_device_context *device_context;
    ons_share share;
    uint32_t *stages[ONS_BATCH_VARIANTS]; /* of each node */
    delayed *delayed;
    uint64_t usable, updates;     /* samples; updates so far */
    const ons_step_program *last; /* that has run */
};

/* --------------------------------------------------------------------------------------------------------- building */

static ons_status *build_graphs(delayed_trajectory *d) {
    ONS_TRY(ons_open_training_data(d->model, d->config, &d->dataset_graphs.dataset));
    int64_t samples = (int64_t)ons_dataset_count(d->dataset_graphs.dataset);
    const ons_dataset_graphs_options options =
        ons_training_graphs_options(d->model, d->config, &d->batching, samples, false);
    ONS_TRY(ons_dataset_graphs_build(&options, &d->dataset_graphs));
    d->usable = (uint64_t)(samples - (d->batching.fixed ? samples % d->batching.rows : 0));
    return ons_dataset_graphs_cut_whole(d->model, (ons_step_form){0}, &d->dataset_graphs);
}

static ons_status *build(delayed_trajectory *d, int threads) {
    ons_device *device;
    ONS_TRY(build_graphs(d));
    ONS_TRY(ons_cpu_device_new(0, false, &device));
    ONS_TRY(ons_device_context_new(device, d->model->registry, threads, &d->device_context));
    const ons_share_options options = {
        .model = d->model,
        .dataset_graphs = &d->dataset_graphs,
        .device_context = d->device_context,
        .batch = (size_t)d->batching.batch,
        .micro_batches = 1,
        .versions = 1,
    };
    ONS_TRY(ons_share_build(&options, &d->share));
    return ons_device_context_start(d->device_context);
}

ons_status *delayed_trajectory_new(const ons_model *model, const ons_config *config, const ons_batching *batching,
                                   int threads, delayed_trajectory **result) {
    delayed_trajectory *d = calloc(1, sizeof *d);
    if (d == NULL) return ons_status_out_of_memory();
    d->model = model;
    d->config = config;
    d->batching = *batching;
    d->arena = ons_arena_new();
    ons_status *status = d->arena == NULL ? ons_status_out_of_memory() : build(d, threads);
    if (status == NULL) status = delayed_new(d->device_context, &d->share.programs[ONS_WHOLE].stage, 1, &d->delayed);
    if (status != NULL) {
        delayed_trajectory_free(d);
        return status;
    }
    *result = d;
    return NULL;
}

void delayed_trajectory_free(delayed_trajectory *d) {
    if (d == NULL) return;
    delayed_free(d->delayed);
    ons_device_context_free(d->device_context);
    ons_share_free(&d->share);
    ons_dataset_graphs_free(&d->dataset_graphs);
    ons_arena_free(d->arena);
    free(d);
}

ons_status *delayed_trajectory_follow(delayed_trajectory *d, const ons_dataset_graphs *cut) {
    for (ons_batch_variant v = ONS_WHOLE; v < ONS_BATCH_VARIANTS; ++v)
        if (d->dataset_graphs.graphs[v].graph != NULL)
            ONS_TRY(delayed_find_stages(&cut->cuts[v], &d->dataset_graphs.cuts[v], d->arena, &d->stages[v]));
    delayed_set_stages(d->delayed, cut->cuts[ONS_WHOLE].stage_count);
    return NULL;
}

ons_device_context *delayed_trajectory_device_context(const delayed_trajectory *d) { return d->device_context; }

/* ------------------------------------------------------------------------------------------------------------ steps */

static ons_status *fetch(delayed_trajectory *d, uint64_t step, size_t *samples) {
    uint64_t batch = (uint64_t)d->batching.batch, steps = (d->usable + batch - 1) / batch;
    uint64_t position = (step - 1) % steps * batch;
    const ons_order order = {ons_dataset_count(d->dataset_graphs.dataset), (uint64_t)d->config->seed,
                             d->config->shuffle};
    *samples = d->usable - position < batch ? d->usable - position : batch;
    ons_order_rows(&order, (step - 1) / steps, position, *samples, d->share.feed.rows[0]);
    return ons_feed_fill(&d->share.feed, 0, 0, *samples, 0);
}

/* Targets of these rows that count. */
static ons_status *count_targets(const delayed_trajectory *d, size_t first, size_t rows, double *counted) {
    ons_type sample;
    uint32_t field = ons_dataset_graphs_target(&d->dataset_graphs, &sample);
    *counted = (double)rows;
    if (field == ONS_NO_FIELD) return NULL;
    if (!d->dataset_graphs.counts_classes) {
        *counted *= (double)ons_shape_elements(&sample.shape);
        return NULL;
    }
    uint64_t count;
    ONS_TRY(ons_dataset_count_targets(d->dataset_graphs.dataset, field, d->share.feed.rows[0] + first, rows,
                                      (int64_t)d->config->ignore_index.value, &count));
    *counted = (double)count;
    return NULL;
}

static void put_data(const delayed_trajectory *d, const ons_step_program *step_program, size_t first) {
    for (uint32_t i = 0; i < d->share.feed.field_count; ++i) {
        void *place = step_program->inputs[i] == ONS_NONE
                          ? NULL
                          : ons_program_address_to_write(step_program->program, step_program->inputs[i], NULL);
        if (place != NULL)
            memcpy(place, ons_feed_sample(&d->share.feed, 0, i, first),
                   step_program->rows * d->share.feed.fields[i].bytes);
    }
}

double delayed_trajectory_square(const delayed_trajectory *d, uint32_t index) {
    return *(const double *)ons_program_address(d->last->program, d->last->squares[index], NULL);
}

static double norm_of(const delayed_trajectory *d) {
    double sum = 0;
    if (d->last->squares == NULL) return NAN;
    for (uint32_t i = 0; i < d->dataset_graphs.graphs[ONS_WHOLE].update.trained_count; ++i)
        sum += delayed_trajectory_square(d, i);
    return sqrt(sum);
}

/* Of the micro-batch of this number in a step that has so many samples left; the first ones may have one more. */
static ons_batch_variant variant_of(const delayed_trajectory *d, size_t number, size_t left) {
    size_t larger = (size_t)(d->batching.batch - d->batching.micro_batches * (d->batching.rows - 1));
    if (number < larger && left >= d->share.programs[ONS_WHOLE].step_program.rows) return ONS_WHOLE;
    bool shorter =
        d->dataset_graphs.graphs[ONS_SHORTER].graph != NULL && left >= d->share.programs[ONS_SHORTER].step_program.rows;
    return shorter ? ONS_SHORTER : ONS_REST;
}

ons_status *delayed_trajectory_step(delayed_trajectory *d, uint64_t step, double rate, double *loss, double *norm) {
    size_t samples, rows;
    double sum = 0, all = 0;
    ONS_TRY(fetch(d, step, &samples));
    for (size_t first = 0, i = 0; first < samples; first += rows, ++i) {
        ons_batch_variant variant = variant_of(d, i, samples - first);
        const ons_share_program *u = &d->share.programs[variant];
        rows = u->step_program.rows;
        delayed_turn turn = {
            .whole = &u->stage,
            .stage_of_node = d->stages[variant],
            .micro_batch = variant != ONS_REST ? (uint32_t)i : 0, /* the pipeline is emptied before the rest */
            .step = {.seed = (uint64_t)d->config->seed,
                     .step = step,
                     .micro_batch = (uint32_t)i,
                     .learning_rate = (float)rate,
                     .rate_share = 1,
                     .sample_share = 1},
            .update = ++d->updates,
        };
        ONS_TRY(count_targets(d, first, rows, &turn.step.counted_targets));
        put_data(d, &u->step_program, first);
        ONS_TRY(delayed_run(d->delayed, &turn));
        d->last = &u->step_program;
        sum += ons_program_scalar(u->step_program.program, u->step_program.loss, NULL) * turn.step.counted_targets;
        all += turn.step.counted_targets;
    }
    *loss = sum / all;
    *norm = norm_of(d);
    return NULL;
}
