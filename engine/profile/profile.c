/* Measures a model's training step node by node, and fits the analytic model to what was measured. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/file.h"
#include "base/text.h"
#include "engine/config/conditions.h"
#include "engine/config/given.h"
#include "engine/config/plan_libraries.h"
#include "engine/config/schedule_file.h"
#include "engine/model/assumptions.h"
#include "engine/model/results.h"
#include "engine/profile/profile_data.h"
#include "engine/profile/profile_program.h"
#include "engine/profile/profile_speed.h"
#include "graph/phase.h"
#include "kernels/kernels.h"
#include "planner/cost/node_amount.h"
#include "planner/cost/node_costs.h"
#include "planner/schedule/schedule.h"
#include "runtime/measure/cost_cache.h"
#include "runtime/measure/profiler.h"

/* A profile and what it consists of. */
typedef struct owned_profile {
    ons_profile profile; /* first: what the caller holds */
    ons_arena *arena;
    ons_node_costs costs;
    char *notes;
} owned_profile;

/* What exists while it is made. */
typedef struct making {
    owned_profile *o;
    const ons_model *model;
    const ons_config *config;
    ons_progress *progress;
    void *progress_context;
    int threads;
    ons_batching batching;
    uint32_t slots; /* micro-batches whose forward parts come before the first backward part */
    ons_profile_program built;
    const ons_graph *graph; /* that runs */
    ons_device_context *device_context;
    ons_program *program;  /* runs every node of it */
    ons_cost_cache *cache; /* NULL: --no-cache */
    ons_node_id *node_of_cost;
    const char *device; /* what measured times hold for */
    FILE *notes;
} making;

/* --------------------------------------------------------------------------------------------------------- building */

/* Where all forward parts come before the first backward part, that finds nothing of what it reads in a cache: it is
 * measured so. */
static ons_status *describe_program(making *m, ons_profile_program_options *program) {
    ons_pipeline pipeline;
    ons_schedule schedule;
    ONS_TRY(ons_config_pipeline(m->config, &pipeline));
    pipeline.micro_batches = (uint32_t)m->batching.micro_batches;
    ONS_TRY(ons_schedule_make(&pipeline, m->o->arena, &schedule));
    m->slots = pipeline.stages > 1 && schedule.loads[0].forward_first ? pipeline.micro_batches : 1;
    *program = (ons_profile_program_options){
        .model = m->model, .config = m->config, .pipeline = pipeline, .rows = m->batching.rows, .slots = m->slots};
    return NULL;
}

static ons_status *build(making *m) {
    int64_t cap;
    ons_device *device;
    ons_profile_program_options program;
    ONS_TRY(ons_config_check_conditions(m->config, ONS_COMMAND_PROFILE));
    ons_config_load_early(m->config);
    ONS_TRY(ons_config_check_supported(m->config));
    ONS_TRY(ons_check_report(m->model, m->config));
    ONS_TRY(ons_config_threads(m->config, &m->threads));
    ONS_TRY(ons_config_memory(m->config, &cap));
    ONS_TRY(ons_choose_batching(m->model, m->config, &m->batching));
    if (ons_profile_has_data(m->config))
        ONS_TRY(ons_open_training_data(m->model, m->config, &m->built.dataset_graphs.dataset));
    ONS_TRY(describe_program(m, &program));
    ONS_TRY(ons_profile_program_build(&program, &m->built));
    m->graph = ons_profile_program_cut(&m->built)->graph;
    ONS_TRY(ons_device_new(m->config->device, cap, m->config->pin, &device));
    ONS_TRY(ons_device_context_new(device, m->model->registry, m->threads, &m->device_context));
    ons_device_context_set_tf32(m->device_context, ons_config_takes_tf32(m->config));
    ONS_TRY(ons_profile_program_add(&program, m->device_context, &m->built));
    m->program = ons_profile_program_complete(&m->built);
    ONS_TRY(ons_check_memory_cap(m->device_context, cap));
    return ons_device_context_start(m->device_context);
}

/* ------------------------------------------------------------------------------------------------------------ nodes */

/* The value whose bytes a view's output is. */
static ons_value_id behind_views(const ons_graph *graph, ons_value_id value) {
    for (;;) {
        ons_node_id producer = ons_graph_value(graph, value)->producer;
        if (producer == ONS_NONE) return value;
        const ons_node *node = ons_graph_node(graph, producer);
        const ons_alias *alias = node->op->aliases;
        while (alias->kind != ONS_ALIAS_END && (alias->kind != ONS_ALIAS_VIEW || node->outputs[alias->output] != value))
            ++alias;
        if (alias->kind == ONS_ALIAS_END) return value;
        value = node->inputs[alias->input];
    }
}

/* What forward nodes make and backward nodes read, once each. */
static ons_status *find_saved(const making *m, bool **saved) {
    const ons_graph *graph = m->graph;
    ONS_NEW(*saved, m->o->arena, graph->values.count + 1);
    for (ons_node_id id = 0; id < graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(graph, id);
        for (uint32_t i = 0; node->phase != ONS_FORWARD && i < node->input_count; ++i)
            if (node->inputs[i] != ONS_NONE) (*saved)[behind_views(graph, node->inputs[i])] = true;
    }
    return NULL;
}

static ons_status *copy_attributes(const making *m, const ons_node *node, const char **attributes) {
    char *text;
    ONS_TRY(ons_node_print_attributes(node, &text));
    *attributes = ons_arena_copy_text(m->o->arena, text);
    free(text);
    return *attributes != NULL ? NULL : ons_status_out_of_memory();
}

static ons_status *fill_cost(const making *m, ons_node_id id, const ons_node_amount *amount, const bool *saved,
                             ons_node_cost *cost) {
    const ons_graph *graph = m->graph;
    const ons_node *node = ons_graph_node(graph, id);
    const ons_liveness *liveness = ons_program_liveness(m->program);
    const char *implementation = ons_program_implementation(m->program, id);
    ons_buffer_id scratch = liveness->scratch_of_node[id];
    *cost = (ons_node_cost){
        .name = node->name,
        .operator_name = node->op->name,
        .implementation = implementation == NULL ? "" : ons_arena_copy_text(m->o->arena, implementation),
        .phase = node->phase,
        .flops = amount->flops,
        .bytes = amount->bytes,
        .matrix = amount->matrix,
        .scratch_bytes = scratch == ONS_NONE ? 0 : liveness->buffers[scratch].bytes,
    };
    cost->name = ons_arena_copy_text(m->o->arena, node->name); /* outlives the graph */
    if (cost->name == NULL || cost->implementation == NULL) return ons_status_out_of_memory();
    for (uint32_t i = 0; node->phase == ONS_FORWARD && i < node->output_count; ++i)
        if (node->outputs[i] != ONS_NONE && saved[node->outputs[i]])
            cost->saved_bytes +=
                ons_registry_type_bytes(m->model->registry, &ons_graph_value(graph, node->outputs[i])->type);
    ONS_TRY(copy_attributes(m, node, &cost->attributes));
    return ons_node_key(graph, id, m->o->arena, &cost->key);
}

/* Every node that runs, without its time. */
static ons_status *list_nodes(making *m) {
    const ons_graph *graph = m->graph;
    ons_node_costs *costs = &m->o->costs;
    bool *saved;
    ONS_TRY(find_saved(m, &saved));
    ONS_NEW(costs->nodes, m->o->arena, graph->nodes.count + 1);
    ONS_NEW(m->node_of_cost, m->o->arena, graph->nodes.count + 1);
    for (ons_node_id id = 0; id < graph->nodes.count; ++id) {
        ons_node_amount amount;
        ONS_TRY(ons_node_amount_find(graph, id, m->o->arena, &amount));
        if (amount.view) continue;
        m->node_of_cost[costs->count] = id;
        ONS_TRY(fill_cost(m, id, &amount, saved, &costs->nodes[costs->count++]));
    }
    return NULL;
}

/* -------------------------------------------------------------------------------------------------------- measuring */

/* The model's name from the system, and what else decides how long a kernel takes. */
static ons_status *name_device(making *m) {
    char model[128] = "unknown processor", line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "model name : %127[^\n]", model) == 1) break;
    if (file != NULL) fclose(file);
    ons_device_profile *d = &m->o->costs.device;
    d->name = "measured";
    const char *gpu = ons_device_context_device(m->device_context)->title;
    d->title = gpu != NULL
                   ? ons_arena_copy_text(m->o->arena, gpu)
                   : ons_arena_format(m->o->arena, "%s, %d thread%s", model, m->threads, m->threads == 1 ? "" : "s");
    const char *title = d->title;
    if (m->slots > 1 && title != NULL)
        title = ons_arena_format(m->o->arena, "%s, %u micro-batches at once", title, m->slots);
    m->device = title == NULL
                    ? NULL
                    : ons_arena_format(m->o->arena, "%s, %s kernels, onstage %s", title,
                                       ons_backend_find(ons_device_context_device(m->device_context)->name)->variant,
                                       ons_version());
    return d->title != NULL && m->device != NULL ? NULL : ons_status_out_of_memory();
}

/* The cache is a help, not a need: where it fails, a note says so. */
static void note_failure(making *m, ons_status *status) {
    if (status == NULL) return;
    fprintf(m->notes, "measured times are not kept: %s\n", ons_status_get_message(status));
    ons_status_free(status);
}

/* What is beside the nodes, under names that tell it from them; data take as long as they have bytes. */
static const char *const beside_names[] = {"beside launch", "beside handover", "beside feed"};
enum { BESIDE = sizeof beside_names / sizeof beside_names[0] };

static void list_beside(making *m, double *values[BESIDE]) {
    values[0] = &m->o->costs.launch_seconds;
    values[1] = &m->o->costs.handover_seconds;
    values[2] = &m->o->costs.feed_seconds;
}

static const char *beside_key(const making *m, int which) {
    return which < BESIDE - 1 ? beside_names[which]
                              : ons_arena_format(m->o->arena, "%s %" PRId64, beside_names[which],
                                                 ons_profile_data_bytes(&m->built.dataset_graphs.graphs[ONS_WHOLE]));
}

/* Times of all nodes, and of what is beside them, from the cache; false where one is missing. */
static bool look_up_all(making *m) {
    ons_node_costs *costs = &m->o->costs;
    double *beside[BESIDE];
    list_beside(m, beside);
    for (int i = 0; m->cache != NULL && i < BESIDE; ++i) {
        const char *key = beside_key(m, i);
        if (key == NULL || !ons_cost_cache_get(m->cache, key, beside[i])) return false;
    }
    uint32_t known = 0;
    for (uint32_t i = 0; m->cache != NULL && i < costs->count; ++i)
        known += ons_cost_cache_get(m->cache, costs->nodes[i].key, &costs->nodes[i].seconds);
    m->o->profile.nodes_from_cache = known == costs->count ? known : 0;
    return known == costs->count;
}

/* Where the program that runs has each input of the whole graph, and before which part it is put in. */
static void place_inputs(const making *m, ons_profile_data *data) {
    const ons_stage_program *stage = &m->built.trained.programs[ONS_WHOLE].stage;
    for (uint32_t i = 0; i < data->count; ++i) {
        ons_profiler_input *input = &data->inputs[i];
        ons_value_id value = stage->cut->value_of[input->value];
        input->value = ONS_NONE;
        for (ons_part part = ONS_PART_FORWARD; value != ONS_NONE && part <= ONS_PART_BACKWARD; ++part)
            if (ons_stage_program_loads(stage, value, part)) {
                input->value = value;
                input->part = part;
            }
    }
}

static ons_status *run_program(making *m) {
    ons_node_costs *costs = &m->o->costs;
    ons_profile_data data = {0};
    ons_status *status =
        ons_profile_data_make(m->model, m->built.dataset_graphs.dataset, &m->built.dataset_graphs.graphs[ONS_WHOLE],
                              (uint64_t)m->config->seed, m->o->arena, &data);
    if (status == NULL) place_inputs(m, &data);
    ons_profiler_options options = {
        .slots = m->slots,
        .device_context = m->device_context,
        .program = m->program,
        .whole = m->built.trained.programs[ONS_WHOLE].stage.program,
        .inputs = data.inputs,
        .input_count = data.count,
        .step = {.seed = (uint64_t)m->config->seed, .counted_targets = data.counted_targets, .sample_share = 1},
        .repetitions = m->config->repetitions,
        .repeats_steps = m->config->stages == 1,
        .progress = m->progress,
        .progress_context = m->progress_context,
    };
    ons_program_times times;
    if (status == NULL) status = ons_profiler_run(&options, m->o->arena, &times);
    ons_profile_data_free(&data);
    ONS_TRY(status);
    for (uint32_t i = 0; i < costs->count; ++i) costs->nodes[i].seconds = times.node_seconds[m->node_of_cost[i]];
    costs->step_seconds = times.step_seconds;
    costs->launch_seconds = times.launch_seconds;
    costs->feed_seconds = times.feed_seconds;
    costs->handover_seconds = times.handover_seconds > 0 ? times.handover_seconds : 0;
    if (times.unrecorded != NULL)
        fprintf(m->notes, "steps were not measured as CUDA graphs, their work was put on the GPU's streams: %s\n",
                times.unrecorded);
    return NULL;
}

/* Nodes of the same key share one time in the cache: their mean. */
static ons_status *keep_times(making *m) {
    ons_node_costs *costs = &m->o->costs;
    double *beside[BESIDE];
    list_beside(m, beside);
    for (int i = 0; m->cache != NULL && i < BESIDE; ++i) {
        const char *key = beside_key(m, i);
        if (key == NULL) return ons_status_out_of_memory();
        ONS_TRY(ons_cost_cache_put(m->cache, key, *beside[i]));
    }
    for (uint32_t i = 0; m->cache != NULL && i < costs->count;) {
        const char *key = costs->nodes[costs->by_key[i]].key;
        double sum = 0;
        uint32_t end = i;
        for (; end < costs->count && strcmp(costs->nodes[costs->by_key[end]].key, key) == 0; ++end)
            sum += costs->nodes[costs->by_key[end]].seconds;
        ONS_TRY(ons_cost_cache_put(m->cache, key, sum / (end - i)));
        i = end;
    }
    return NULL;
}

static ons_status *measure(making *m, ons_profile_speed *speed) {
    ONS_TRY(name_device(m));
    if (m->config->cache) note_failure(m, ons_cost_cache_open(NULL, m->device, &m->cache));
    ONS_TRY(ons_profile_speed_find(m->config, m->threads, m->cache, speed));
    ONS_TRY(list_nodes(m));
    ONS_TRY(ons_node_costs_index(&m->o->costs, m->o->arena));
    if (!look_up_all(m)) {
        ONS_TRY(run_program(m));
        ONS_TRY(keep_times(m));
    }
    if (m->cache != NULL) note_failure(m, ons_cost_cache_save(m->cache));
    return NULL;
}

/* ---------------------------------------------------------------------------------------------------------- fitting */

static ons_status *describe_device(making *m, const ons_profile_speed *speed) {
    ons_device_context_memory memory;
    ONS_TRY(ons_device_context_predict(m->device_context, &memory));
    const char *fitted = ons_arena_format(m->o->arena,
                                          "launch_seconds: fitted with the efficiency\n"
                                          "efficiency: fitted to the nodes of %s at %" PRId64
                                          " samples, every node the median of %" PRId64 " runs\n",
                                          m->model->path, m->batching.rows, m->config->repetitions);
    if (fitted == NULL) return ons_status_out_of_memory();
    ONS_TRY(ons_profile_speed_describe(speed, m->device_context, fitted, m->o->arena, &m->o->costs.device, m->notes));
    ons_precision precision = ons_config_precision(m->config);
    if (m->o->costs.device.matrix_flops_of[precision] > 0)
        ONS_TRY(ons_device_profile_use(&m->o->costs.device, precision));
    ons_node_costs *costs = &m->o->costs;
    costs->model = ons_arena_copy_text(m->o->arena, m->model->path);
    costs->samples = m->batching.rows;
    costs->threads = m->threads;
    costs->repetitions = m->config->repetitions;
    costs->parameter_bytes = memory.parameters;
    costs->state_bytes = memory.states;
    costs->transient_bytes = memory.transient;
    costs->arena_bytes = memory.total;
    costs->libraries = ons_libraries_text(m->o->arena);
    return costs->model != NULL && costs->libraries != NULL ? NULL : ons_status_out_of_memory();
}

static ons_model_error public_error(const ons_fit_error *e) {
    return (ons_model_error){e->count, e->median, e->weighted_median, e->total};
}

static ons_status *fit(making *m) {
    ons_profile *profile = &m->o->profile;
    ons_arena *arena = m->o->arena;
    ons_fit_sample *samples;
    uint32_t count;
    ons_fit_error error;
    ONS_TRY(ons_node_costs_samples(&m->o->costs, arena, &samples, &count));
    ons_status *status = ons_device_profile_fit(&m->o->costs.device, samples, count, arena);
    if (status == NULL) {
        ONS_TRY(ons_fit_error_find(&m->o->costs.device, samples, count, true, arena, &error));
        profile->fit = public_error(&error);
    } else {
        fprintf(m->notes, "the efficiency is not fitted: %s\n", ons_status_get_message(status));
        ons_status_free(status);
    }
    ons_device_profile other;
    ONS_TRY(ons_device_profile_load(ons_config_device_profile(m->config), arena, &other));
    ons_precision precision = m->o->costs.device.precision; /* which not every device has */
    if (other.matrix_flops_of[precision] > 0) ONS_TRY(ons_device_profile_use(&other, precision));
    for (uint32_t i = 0; i < count; ++i) samples[i].held_out = true; /* it has seen none of them */
    ONS_TRY(ons_fit_error_find(&other, samples, count, true, arena, &error));
    profile->compared = public_error(&error);
    profile->compared_with = other.name;
    return NULL;
}

/* -------------------------------------------------------------------------------------------------------- reporting */

static int by_seconds(const void *left, const void *right) {
    const ons_node_profile *a = left, *b = right;
    if (a->seconds != b->seconds) return a->seconds < b->seconds ? 1 : -1;
    return strcmp(a->name, b->name);
}

static ons_status *summarise(making *m) {
    ons_profile *p = &m->o->profile;
    const ons_node_costs *costs = &m->o->costs;
    ons_node_profile *nodes;
    ONS_NEW(nodes, m->o->arena, costs->count + 1);
    for (uint32_t i = 0; i < costs->count; ++i) {
        const ons_node_cost *cost = &costs->nodes[i];
        nodes[i] =
            (ons_node_profile){cost->name,    cost->operator_name, cost->implementation, ons_phase_text(cost->phase),
                               cost->seconds, cost->flops,         cost->saved_bytes,    cost->scratch_bytes};
        p->phase_seconds[cost->phase] += cost->seconds;
        p->phase_flops[cost->phase] += cost->flops;
        p->saved_bytes += cost->saved_bytes;
        p->scratch_bytes = cost->scratch_bytes > p->scratch_bytes ? cost->scratch_bytes : p->scratch_bytes;
    }
    for (int i = 0; i < ONS_PHASE_COUNT; ++i) p->phase_names[i] = ons_phase_text((ons_phase)i);
    qsort(nodes, costs->count, sizeof *nodes, by_seconds);
    p->nodes = nodes;
    p->node_count = costs->count;
    p->device = costs->device.title;
    p->samples = costs->samples;
    p->repetitions = costs->repetitions;
    p->step_seconds = costs->step_seconds;
    p->launch_seconds = costs->launch_seconds;
    p->feed_seconds = costs->feed_seconds;
    p->handover_seconds = costs->handover_seconds;
    p->arena_bytes = costs->arena_bytes;
    p->peak_flops = costs->device.matrix_flops;
    p->memory_bandwidth = costs->device.memory_bandwidth;
    p->link_bandwidth = costs->device.link_bandwidth;
    p->link_latency = costs->device.link_latency;
    p->host_bandwidth = costs->device.host_bandwidth;
    p->host_latency = costs->device.host_latency;
    return NULL;
}

static ons_status *make(making *m) {
    ons_profile_speed speed;
    ONS_TRY(ons_assumptions_refuse(m->model, m->config));
    ONS_TRY(build(m));
    ONS_TRY(measure(m, &speed));
    ONS_TRY(describe_device(m, &speed));
    ONS_TRY(fit(m));
    ONS_TRY(summarise(m));
    return ons_arena_check(m->o->arena);
}

static void free_making(making *m) {
    ons_cost_cache_free(m->cache);
    ons_device_context_free(m->device_context);
    ons_profile_program_free(&m->built);
}

ons_status *ons_model_profile(ons_model *model, const ons_config *config, ons_progress *progress, void *context,
                              ons_profile **result) {
    ONS_IN_C_LOCALE;
    ONS_GIVEN(model, "model");
    ONS_GIVEN(config, "config");
    ONS_GIVEN(result, "profile");
    ONS_CHECK(!config->links, ONS_INVALID_ARGUMENT, "--links measures no model; leave %s out", model->path);
    owned_profile *o = calloc(1, sizeof *o);
    if (o == NULL) return ons_status_out_of_memory();
    ons_config scaled = *config;
    scaled.loss_scale.value = 1; /* gradients that overflow would skip the updates that are measured */
    making m = {.o = o, .model = model, .config = &scaled, .progress = progress, .progress_context = context};
    size_t size;
    o->arena = ons_arena_new();
    m.notes = open_memstream(&o->notes, &size);
    ons_status *status = o->arena == NULL || m.notes == NULL ? ons_status_out_of_memory()
                                                             : ons_config_follow_schedule(&scaled, o->arena);
    if (status == NULL) status = make(&m);
    free_making(&m);
    ons_status *closed = ons_text_close(m.notes, &o->notes);
    if (status == NULL)
        status = closed;
    else
        ons_status_free(closed);
    if (status != NULL) {
        ons_profile_free(&o->profile);
        return ons_status_at(status, "%s", model->path);
    }
    o->profile.notes = o->notes;
    *result = &o->profile;
    return NULL;
}

ons_status *ons_profile_write(const ons_profile *profile, const char *path) {
    ONS_IN_C_LOCALE;
    ONS_GIVEN(profile, "profile");
    ONS_GIVEN(path, "path");
    const owned_profile *o = (const owned_profile *)profile;
    char *text;
    ONS_TRY(ons_node_costs_print(&o->costs, &text));
    ons_status *status = ons_file_write_text(path, text);
    free(text);
    return status;
}

void ons_profile_free(ons_profile *profile) {
    owned_profile *o = (owned_profile *)profile;
    if (o == NULL) return;
    ons_arena_free(o->arena);
    free(o->notes);
    free(o);
}
