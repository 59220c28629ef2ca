#include "tests/rooms/pipeline/pipeline_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "tests/rooms/pipeline/guarded.h"
#include "tests/rooms/pipeline/pipeline_trial.h"

enum { LATE_MESSAGE = 400, LATE_RANK = 20000 }; /* microseconds at most */

const char *pipeline_eviction_name(pipeline_eviction eviction) {
    static const char *const names[] = {"none", "swap", "recompute", "both"};
    return names[eviction];
}

/* ----------------------------------------------------------------------------------------------------------- graphs */

static ons_status *parse_plan(pipeline_trial *t) {
    ons_mapping file;
    ONS_TRY(ons_mapping_open(t->s->plan, &file));
    ons_status *status = ons_lowering_parse((const char *)file.bytes, file.size, &t->lowering);
    ons_mapping_close(&file);
    t->pipeline = t->lowering.pipeline;
    return status;
}

/* The plan decides, as it does for a trainer. */
static ons_status *follow_plan(pipeline_trial *t) {
    ONS_TRY(parse_plan(t));
    t->config->stages = t->pipeline.stages;
    t->config->devices = t->pipeline.devices;
    t->config->pipeline = t->pipeline.generator->name;
    t->config->generator = t->pipeline.generator;
    return NULL;
}

static ons_status *configure(pipeline_trial *t) {
    ONS_TRY(ons_config_new(&t->config));
    ONS_TRY(pipeline_configure(t->s, t->config));
    if (t->s->plan != NULL) return follow_plan(t);
    t->pipeline.generator = t->s->kind != NULL ? t->s->kind : &ons_generator_gpipe;
    t->pipeline.stages = t->s->stages;
    t->pipeline.devices = t->s->devices;
    return NULL;
}

static ons_status *set_batch(pipeline_trial *t, int64_t batch) {
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)batch);
    return ons_config_set(t->config, "batch", text);
}

static ons_status *build_graphs(pipeline_trial *t) {
    char path[512];
    snprintf(path, sizeof path, "tests/agreement/golden/%s/model.onnx", t->s->model);
    ONS_TRY(ons_model_open(path, t->config, false, NULL, &t->model));
    ONS_TRY(ons_open_training_data(t->model, t->config, &t->dataset_graphs.dataset));
    ONS_TRY(ons_choose_batching(t->model, t->config, &t->batching));
    t->r->fixed = t->batching.fixed;
    if (t->s->more > 0 && !t->batching.fixed) {
        ONS_TRY(set_batch(t, t->batching.batch + t->s->more));
        ONS_TRY(ons_choose_batching(t->model, t->config, &t->batching));
    }
    int64_t samples = (int64_t)ons_dataset_count(t->dataset_graphs.dataset);
    const ons_dataset_graphs_options options =
        ons_training_graphs_options(t->model, t->config, &t->batching, samples, pipeline_trial_repeats(t));
    return ons_dataset_graphs_build(&options, &t->dataset_graphs);
}

static int threads_of(const pipeline_trial *t) { return t->s->threads > 0 ? (int)t->s->threads : 1; }

static ons_status *build_delayed(pipeline_trial *t) {
    ONS_TRY(delayed_trajectory_new(t->model, t->config, &t->batching, threads_of(t), &t->delayed));
    return delayed_trajectory_follow(t->delayed, &t->dataset_graphs);
}

static ons_status *build_replayed(pipeline_trial *t) {
    const replayed_options options = {
        .model = t->model,
        .config = t->config,
        .batching = t->batching,
        .dataset_graphs = &t->dataset_graphs,
        .schedule = &t->schedule,
        .threads = threads_of(t),
    };
    return replayed_new(&options, &t->replayed);
}

static uint32_t world_size(const pipeline_trial *t) { return t->schedule.devices * (uint32_t)t->batching.replicas; }

/* Messages, each after a random time. */
static bool (*send_at_once)(ons_channel *channel, const void *data, size_t bytes);
static bool (*send_parts_at_once)(ons_channel *channel, const ons_message_part *parts, size_t count);

static void wait_at_random(uint32_t microseconds) { usleep((useconds_t)(random() % microseconds)); }

static bool send_late(ons_channel *channel, const void *data, size_t bytes) {
    wait_at_random(LATE_MESSAGE);
    return send_at_once(channel, data, bytes);
}

static bool send_parts_late(ons_channel *channel, const ons_message_part *parts, size_t count) {
    wait_at_random(LATE_MESSAGE);
    return send_parts_at_once(channel, parts, count);
}

static void make_late(ons_transport *transport) {
    if (transport->send == send_late) return;
    send_at_once = transport->send;
    send_parts_at_once = transport->send_parts;
    transport->send = send_late;
    transport->send_parts = send_parts_late;
}

static ons_status *build_local_stages(pipeline_trial *t) {
    const ons_schedule *schedule = &t->schedule;
    ons_local_stages_options options = {
        .model = t->model,
        .config = t->config,
        .training = &t->dataset_graphs,
        .validation = &t->validation,
        .pipeline = t->pipeline,
        .schedule = schedule,
        .lanes = &t->lanes,
        .batching = t->batching,
        .threads = threads_of(t),
        .cap = t->s->cap,
        .count = world_size(t),
        .nccl = t->s->nccl,
    };
    if (t->s->transport != NULL) {
        if (t->s->late) make_late(t->s->transport);
        options.transports = &t->s->transport;
        options.first = t->s->transport->rank;
        options.count = 1;
    } else if (schedule->stages > 1 || world_size(t) > 1) {
        ONS_NEW(t->transports, t->arena, world_size(t));
        if (world_size(t) > 1) ONS_TRY(ons_local_transports_new(world_size(t), t->transports));
        for (uint32_t i = 0; t->s->late && i < world_size(t); ++i) make_late(t->transports[i]);
        options.transports = t->transports;
    }
    ONS_TRY(ons_local_stages_new(&options, &t->local_stages));
    if (t->s->look != NULL) t->s->look(t->s->context, t->local_stages, &options.pipeline);
    return ons_local_stages_start(t->local_stages);
}

/* ------------------------------------------------------------------------------------------------------------ steps */

static uint32_t device_context_count(const pipeline_trial *t) {
    if (t->replayed != NULL) return t->schedule.devices;
    return t->local_stages == NULL || t->s->transport != NULL ? 1 : world_size(t);
}

static ons_device_context *device_context_of(const pipeline_trial *t, uint32_t index) {
    if (t->grouped != NULL) return grouped_device_context(t->grouped);
    if (t->replayed != NULL) return replayed_device_context(t->replayed, index);
    return t->delayed != NULL ? delayed_trajectory_device_context(t->delayed)
                              : ons_local_stages_get(t->local_stages, index)->device_context;
}

static ons_status *poison(const pipeline_trial *t) {
    if (t->local_stages == NULL) return NULL;
    for (uint32_t i = 0; i < device_context_count(t); ++i) ONS_TRY(guarded_poison(device_context_of(t, i)));
    return NULL;
}

static ons_status *run_step(pipeline_trial *t, uint32_t index, ons_step_result *result) {
    static const double rate = 0.01;
    pipeline_record *r = t->r;
    if (t->s->late && t->s->transport != NULL) wait_at_random(LATE_RANK);
    if (t->delayed != NULL)
        return delayed_trajectory_step(t->delayed, index + 1, rate, &r->losses[index], &r->norms[index]);
    if (t->replayed != NULL) return replayed_step(t->replayed, index + 1, rate, &r->losses[index], &r->norms[index]);
    if (t->grouped != NULL) return grouped_step(t->grouped, index + 1, rate, &r->losses[index], &r->norms[index]);
    ONS_TRY(ons_local_stages_step(t->local_stages, index + 1, (ons_rate){rate, 1}, index + 1 == r->steps, result));
    r->losses[index] = result->loss;
    r->norms[index] = result->norm;
    return NULL;
}

static ons_status *find_square(const pipeline_trial *t, uint32_t index, double *square) {
    if (t->local_stages != NULL) return ons_local_stages_square(t->local_stages, index, square);
    if (t->grouped != NULL) return grouped_square(t->grouped, index, square);
    if (t->replayed != NULL) return replayed_square(t->replayed, index, square);
    *square = delayed_trajectory_square(t->delayed, index);
    return NULL;
}

static ons_status *run_steps(pipeline_trial *t) {
    pipeline_record *r = t->r;
    uint32_t trained = t->dataset_graphs.graphs[ONS_WHOLE].update.trained_count;
    r->steps = t->s->steps;
    r->trained = trained;
    ONS_NEW(r->losses, r->arena, r->steps + 1);
    ONS_NEW(r->norms, r->arena, r->steps + 1);
    ONS_NEW(r->squares, r->arena, (size_t)r->steps * trained + 1);
    for (uint32_t i = 0; i < r->steps; ++i) {
        ons_step_result result;
        ONS_TRY(poison(t));
        ONS_TRY(run_step(t, i, &result));
        bool squares =
            t->dataset_graphs.graphs[ONS_WHOLE].squares != NULL && !t->dataset_graphs.graphs[ONS_WHOLE].squares_idle;
        for (uint32_t k = 0; squares && k < trained; ++k)
            ONS_TRY(find_square(t, k, &r->squares[(size_t)i * trained + k]));
        ONS_CHECK(!isnan(r->losses[i]), ONS_DEFECT, "step %u: the loss is no number", i + 1);
    }
    return t->local_stages == NULL ? NULL : ons_local_stages_settle_versions(t->local_stages);
}

static bool is_sum(const ons_value *value) { return strstr(value->name, "/accumulator_") != NULL; }

/* Which elements of a value are a device's own: of sums, all where norms are asked for. */
static ons_slice slice_of(const pipeline_trial *t, const ons_value *value, uint32_t index) {
    bool divided = t->local_stages != NULL && t->config->shard_optimizer && value->kind == ONS_STATE;
    bool is_loss = strcmp(value->name, "loss/sum") == 0;
    if (!divided || is_loss || (is_sum(value) && !t->s->quiet))
        return (ons_slice){0, ons_shape_elements(&value->type.shape)};
    const ons_rank_group *rank_group = &ons_local_stages_get(t->local_stages, index)->rank_group;
    return ons_slice_of(ons_shape_elements(&value->type.shape), rank_group->own, rank_group->count);
}

/* Every stage's copy of a value must be the same. */
static ons_status *keep_value(pipeline_trial *t, const ons_value *value, ons_host_copy *copy) {
    struct pipeline_value *kept = NULL;
    int64_t size = (int64_t)ons_dtype_size(value->type.dtype), known = 0, all = ons_shape_elements(&value->type.shape);
    for (uint32_t i = 0; i < device_context_count(t); ++i) {
        ons_type type;
        const void *place_there = ons_device_context_find(device_context_of(t, i), value->name, &type), *contents;
        ons_slice slice = slice_of(t, value, i);
        if (place_there == NULL) continue;
        ONS_TRY(ons_device_context_read(device_context_of(t, i), place_there, (size_t)ons_type_dense_bytes(&type), copy,
                                        &contents));
        const char *data = contents;
        int64_t held = ons_shape_elements(&type.shape);
        ONS_CHECK(held == (is_sum(value) ? all : slice.count), ONS_DEFECT, "'%s' of stage %u has %lld elements",
                  value->name, i, (long long)held);
        if (is_sum(value)) data += slice.first * size;
        if (kept == NULL) {
            kept = &t->r->values[t->r->value_count++];
            kept->name = ons_arena_copy_text(t->r->arena, value->name);
            kept->bytes = (size_t)(all * size);
            ONS_CHECK((kept->data = ons_arena_allocate(t->r->arena, kept->bytes + 1, 1)) != NULL, ONS_OUT_OF_MEMORY,
                      "no memory");
        }
        char *place = (char *)kept->data + slice.first * size;
        bool fresh = slice.first >= known;
        if (fresh) memcpy(place, data, (size_t)(slice.count * size));
        if (fresh) known = slice.first + slice.count;
        ONS_CHECK(memcmp(place, data, (size_t)(slice.count * size)) == 0, ONS_DEFECT,
                  "'%s' of stage %u differs from another stage's", value->name, i);
    }
    ONS_CHECK(kept == NULL || known == all, ONS_DEFECT, "of '%s' there are %lld elements", value->name,
              (long long)known);
    return NULL;
}

static ons_status *keep_each(pipeline_trial *t, ons_host_copy *copy) {
    const ons_graph *graph = t->dataset_graphs.graphs[ONS_WHOLE].graph;
    ONS_NEW(t->r->values, t->r->arena, graph->values.count + 1);
    for (ons_value_id id = 0; id < graph->values.count; ++id) {
        const ons_value *v = ons_graph_value(graph, id);
        if (v->producer == ONS_NONE && v->kind != ONS_CONSTANT && ons_is_persistent(v)) ONS_TRY(keep_value(t, v, copy));
    }
    return NULL;
}

static ons_status *keep_values(pipeline_trial *t) {
    ons_host_copy copy = {0};
    ons_status *status = keep_each(t, &copy);
    ons_host_copy_free(&copy);
    return status;
}

/* To the byte. */
static ons_status *check_plan(const pipeline_trial *t, uint32_t index, int64_t taken) {
    if (t->s->plan == NULL || t->local_stages == NULL) return NULL;
    const ons_plan *plan = &t->lowering.plan;
    uint32_t device = ons_local_stages_get(t->local_stages, index)->device;
    int64_t planned = plan->stages[ons_schedule_first_stage(&t->schedule, device)].memory_bytes;
    ONS_CHECK(taken == planned, ONS_DEFECT, "device %u: %lld bytes are planned, %lld taken", device, (long long)planned,
              (long long)taken);
    ONS_CHECK(t->s->cap == 0 || taken <= t->s->cap, ONS_DEFECT, "device %u: %lld bytes are taken, and %lld allowed",
              device, (long long)taken, (long long)t->s->cap);
    return NULL;
}

static ons_status *check_memory(pipeline_trial *t) {
    for (uint32_t i = 0; i < device_context_count(t); ++i) {
        const ons_device_context *device_context = device_context_of(t, i);
        ONS_TRY_AT(guarded_check(device_context), "stage %u", i);
        t->r->memory += ons_device_context_used(device_context);
        ONS_TRY(check_plan(t, i, ons_device_context_used(device_context)));
    }
    return NULL;
}

static ons_status *build(pipeline_trial *t) {
    if (t->s->delayed) return build_delayed(t);
    if (t->s->replayed) return build_replayed(t);
    if (!t->s->grouped) return build_local_stages(t);
    ONS_TRY(grouped_new(t->model, t->config, &t->batching, threads_of(t), t->s->backwards, &t->grouped));
    if (t->s->copies == NULL) return NULL;
    return grouped_follow(t->grouped, &t->dataset_graphs.graphs[ONS_WHOLE], &t->dataset_graphs.cuts[ONS_WHOLE],
                          t->s->copies);
}

static ons_status *run(pipeline_trial *t) {
    ONS_TRY(configure(t));
    ONS_TRY(build_graphs(t));
    ONS_TRY(pipeline_trial_cut(t));
    ONS_TRY(build(t));
    ONS_TRY(run_steps(t));
    if (t->s->look_back != NULL) t->s->look_back(t->s->context, t->local_stages, &t->pipeline);
    ONS_TRY(keep_values(t));
    return check_memory(t);
}

ons_status *pipeline_run(const pipeline_setting *setting, pipeline_record *record) {
    pipeline_trial t = {.s = setting, .r = record, .arena = ons_arena_new()};
    *record = (pipeline_record){.arena = ons_arena_new()};
    t.choice.arena = t.arena;
    t.choice.random = setting->seed;
    ons_status *status = t.arena == NULL || record->arena == NULL ? ons_status_out_of_memory() : run(&t);
    ons_local_stages_free(t.local_stages);
    delayed_trajectory_free(t.delayed);
    grouped_free(t.grouped);
    replayed_free(t.replayed);
    for (uint32_t i = 0; t.transports != NULL && i < world_size(&t); ++i)
        if (t.transports[i] != NULL) t.transports[i]->free(t.transports[i]);
    ons_dataset_graphs_free(&t.dataset_graphs);
    ons_model_free(t.model);
    ons_config_free(t.config);
    ons_map_free(&t.stage_of_name);
    ons_lowering_free(&t.lowering);
    ons_arena_free(t.arena);
    if (status != NULL) pipeline_record_free(record);
    return status;
}

void pipeline_record_free(pipeline_record *record) {
    ons_arena_free(record->arena);
    *record = (pipeline_record){.arena = NULL};
}

/* ---------------------------------------------------------------------------------------------------------- compare */

/* NaN (a norm that nobody asked for) equals itself. */
static bool same(const double *a, const double *b, size_t count) { return memcmp(a, b, count * sizeof *a) == 0; }

ons_status *pipeline_compare(const pipeline_record *whole, const pipeline_record *cut) {
    ONS_CHECK(whole->steps == cut->steps && whole->trained == cut->trained && whole->value_count == cut->value_count,
              ONS_DEFECT, "%u values instead of %u", cut->value_count, whole->value_count);
    for (uint32_t i = 0; i < whole->steps; ++i) {
        ONS_CHECK(same(&whole->losses[i], &cut->losses[i], 1), ONS_DEFECT, "step %u: loss %.17g instead of %.17g",
                  i + 1, cut->losses[i], whole->losses[i]);
        ONS_CHECK(same(&whole->norms[i], &cut->norms[i], 1) || (isnan(whole->norms[i]) && isnan(cut->norms[i])),
                  ONS_DEFECT, "step %u: gradient norm %.17g instead of %.17g", i + 1, cut->norms[i], whole->norms[i]);
        size_t first = (size_t)i * whole->trained;
        for (size_t k = first; k < first + whole->trained; ++k)
            ONS_CHECK(same(whole->squares + k, cut->squares + k, 1), ONS_DEFECT,
                      "step %u: square sum %zu is %.17g instead of %.17g", i + 1, k - first, cut->squares[k],
                      whole->squares[k]);
    }
    for (uint32_t i = 0; i < whole->value_count; ++i) {
        const struct pipeline_value *a = &whole->values[i], *b = &cut->values[i];
        ONS_CHECK(strcmp(a->name, b->name) == 0 && a->bytes == b->bytes, ONS_DEFECT, "'%s' instead of '%s'", b->name,
                  a->name);
        ONS_CHECK(memcmp(a->data, b->data, a->bytes) == 0, ONS_DEFECT, "'%s' differs at the end", a->name);
    }
    return NULL;
}

ons_status *pipeline_can_cut(pipeline_setting s, bool *can) {
    pipeline_record record;
    s.replayed = true;
    s.steps = 0;
    ons_status *status = pipeline_run(&s, &record);
    *can = status == NULL;
    if (*can) pipeline_record_free(&record);
    if (status != NULL && strstr(ons_status_get_message(status), "so it cannot go in pieces") == NULL) return status;
    ons_status_free(status);
    return NULL;
}

ons_status *pipeline_find_cut(pipeline_setting *s) {
    for (bool can = false;; ++s->seed) {
        ONS_TRY(pipeline_can_cut(*s, &can));
        if (can) return NULL;
    }
}
