/* From model and configuration to a crew: graphs, a plan where one is needed, programs, arenas. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/results.h"
#include "engine/trainer.h"

static bool is_asynchronous(const ons_trainer *t) { return strcmp(t->config->pipeline, "pipedream-async") == 0; }

/* Whether gradients are summed over micro-batches: not where each is an update of its own. */
static bool repeats(const ons_trainer *t) { return t->batching.micro_batches > 1 && !is_asynchronous(t); }

static ons_status *build_training(ons_trainer *t) {
    ONS_TRY(ons_open_training_data(t->model, t->config, &t->training.dataset));
    ONS_TRY(ons_choose_batching(t->model, t->config, &t->batching));
    int64_t samples = (int64_t)ons_dataset_count(t->training.dataset);
    if (!t->batching.fixed && t->batching.micro_batches == 1 && t->batching.batch > samples)
        t->batching.batch = t->batching.rows = samples; /* no memory for a batch that never comes */
    const ons_course_options options = {
        .model = t->model,
        .config = t->config,
        .rows = t->batching.rows,
        .rest = t->batching.fixed ? 0 : samples % t->batching.rows,
        .training = true,
        .repeats = repeats(t),
    };
    return ons_course_build(&options, &t->training);
}

static ons_status *build_validation(ons_trainer *t) {
    ONS_TRY(ons_open_validation_data(t->model, t->config, &t->validation.dataset));
    if (t->validation.dataset == NULL) return NULL;
    int64_t samples = (int64_t)ons_dataset_count(t->validation.dataset);
    int64_t rows = t->batching.fixed || t->batching.rows <= samples ? t->batching.rows : samples;
    const ons_course_options options = {
        .model = t->model,
        .config = t->config,
        .rows = rows,
        .rest = t->batching.fixed ? 0 : samples % rows,
    };
    return ons_course_build(&options, &t->validation);
}

/* ---------------------------------------------------------------------------------------------------------------
 * stages
 */

static void drop_crew(ons_trainer *t) {
    ons_crew_free(t->crew);
    t->crew = NULL;
    ons_cut_free(&t->training.full_cut);
    ons_cut_free(&t->training.rest_cut);
    ons_cut_free(&t->validation.full_cut);
    ons_cut_free(&t->validation.rest_cut);
}

static ons_status *make_crew(ons_trainer *t, int64_t cap) {
    ONS_TRY(ons_lowering_cut(&t->lowering, t->model, NULL, repeats(t), &t->training));
    ONS_TRY(ons_lowering_cut(&t->lowering, t->model, &t->training, false, &t->validation));
    ons_crew_options options = {
        .model = t->model,
        .config = t->config,
        .training = &t->training,
        .validation = &t->validation,
        .pipeline = {ONS_PIPELINE_1F1B, 1, (uint32_t)t->batching.micro_batches},
        .batching = t->batching,
        .threads = t->threads,
        .cap = cap,
        .count = 1,
        .trace = t->trace,
    };
    if (t->lowering.planned) {
        options.pipeline = t->lowering.pipeline;
        options.actions = t->lowering.plan.actions;
        options.count = t->lowering.pipeline.stages;
    }
    if (options.count > 1) {
        ONS_NEW(options.transports, t->arena, options.count);
        ONS_TRY(ons_local_transports_new(options.count, options.transports));
    }
    return ons_crew_new(&options, &t->crew);
}

/* One plan for devices of `capacity` bytes, made ready. *bytes: what its largest arena really takes. */
static ons_status *try_plan(ons_trainer *t, int64_t cap, int64_t capacity, int64_t *bytes) {
    ons_crew_memory memory;
    drop_crew(t);
    ons_lowering_free(&t->lowering);
    ONS_TRY(ons_lowering_make(t->model, t->config, &t->training.full, &t->batching, capacity, &t->lowering));
    ONS_TRY(make_crew(t, cap));
    ONS_TRY(ons_crew_get_memory(t->crew, &memory));
    *bytes = memory.largest;
    return NULL;
}

static ons_status *refuse(int64_t cap, int64_t least) {
    return ons_status_new(ONS_OUT_OF_MEMORY,
                          "--memory %" PRId64 " bytes is too little: %" PRId64
                          " are needed, with all that can be swapped or computed again; a larger --micro-batches or "
                          "--stages needs fewer",
                          cap, least);
}

/* The planner estimates what kernels need beside tensors, and does not know how well the arena packs: where the real
 * arena is larger than the cap, it plans again for less, at last for the least that it knows a plan for. `whole`: what
 * one stage takes that keeps everything; 0: not tried. */
enum { ATTEMPTS = 6 };

static ons_status *plan_crew(ons_trainer *t, int64_t cap, int64_t whole) {
    int64_t capacity = cap, bytes = 0, least;
    ONS_TRY(ons_lowering_least(t->model, t->config, &t->training.full, &t->batching, &least));
    for (int attempt = 0; attempt < ATTEMPTS && (cap == 0 || capacity > least); ++attempt) {
        ONS_TRY(try_plan(t, cap, capacity, &bytes));
        if (cap == 0 || bytes <= cap) return NULL;
        capacity -= bytes - cap;
    }
    ONS_TRY(try_plan(t, cap, least, &bytes));
    if (bytes <= cap) return NULL;
    return refuse(cap, whole > 0 && whole < bytes ? whole : bytes);
}

static ons_status *choose_crew(ons_trainer *t) {
    int64_t cap;
    ONS_TRY(ons_config_memory(t->config, &cap));
    if (t->config->stages > 1) return plan_crew(t, cap, 0);
    ONS_TRY(make_crew(t, cap));
    ons_crew_memory memory;
    ONS_TRY(ons_crew_get_memory(t->crew, &memory));
    return cap == 0 || memory.largest <= cap ? NULL : plan_crew(t, cap, memory.largest);
}

/* -------------------------------------------------------------------------------------------------------------- course
 */

static ons_status *count_steps(ons_trainer *t) {
    t->steps_per_epoch = (int64_t)ons_stepper_steps_per_epoch(ons_crew_rank(t->crew, 0)->stepper);
    t->steps = t->config->steps;
    if (t->steps == 0)
        ONS_CHECK(!__builtin_mul_overflow(t->config->epochs, t->steps_per_epoch, &t->steps), ONS_INVALID_ARGUMENT,
                  "--epochs %lld is too many", (long long)t->config->epochs);
    t->validate_every = t->config->val_every > 0 ? t->config->val_every : t->steps_per_epoch;
    return NULL;
}

/* FNV-1a over what decides the run's numbers: the training graph with all its attributes, and how samples are drawn. */
static ons_status *compute_digest(ons_trainer *t) {
    char *graph;
    ONS_TRY(ons_graph_print(t->training.full.graph, &graph));
    char run[160];
    snprintf(run, sizeof run, "%" PRId64 " %" PRId64 " %" PRId64 " %d %" PRIu64, t->batching.batch,
             t->batching.micro_batches, t->config->seed, t->config->shuffle, ons_dataset_count(t->training.dataset));
    uint64_t hash = 14695981039346656037u;
    for (const char *text = graph; *text != '\0'; ++text) hash = (hash ^ (unsigned char)*text) * 1099511628211u;
    for (const char *text = run; *text != '\0'; ++text) hash = (hash ^ (unsigned char)*text) * 1099511628211u;
    free(graph);
    t->digest = hash;
    return NULL;
}

ons_status *ons_trainer_build(ons_trainer *t) {
    ONS_TRY(ons_config_check_supported(t->config));
    ONS_CHECK(t->config->outputs.count == 0, ONS_INVALID_ARGUMENT,
              "--output: training writes no outputs; `onstage eval` does");
    ONS_TRY(ons_check_results(t->model, t->config));
    ONS_TRY(ons_config_schedule(t->config, &t->schedule));
    ONS_TRY(ons_config_threads(t->config, &t->threads));
    ONS_TRY(ons_trainer_open_trace(t));
    ONS_TRY(build_training(t));
    ONS_TRY(build_validation(t));
    ONS_TRY(choose_crew(t));
    ONS_TRY(ons_crew_start(t->crew));
    ONS_TRY(count_steps(t));
    ONS_TRY(compute_digest(t));
    bool resumed;
    ONS_TRY(ons_trainer_resume(t, &resumed));
    return ons_trainer_open_logs(t, resumed);
}
