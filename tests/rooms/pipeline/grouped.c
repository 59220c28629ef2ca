#include "tests/rooms/pipeline/grouped.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/data/order.h"

enum { SUMS_MOST = 512 };

/* Something that micro-batches add up: a gradient, the loss, running statistics. */
typedef struct sum {
    float *place;
    size_t count;
    bool is_mean;
    double decay;   /* of a mean, by a micro-batch */
    float **groups; /* [replica, or copy]: what its micro-batches came to */
    float *total;
    uint32_t copies; /* of the stage that has it; 0: there are replicas */
    const char *name;
} sum;

struct grouped {
    const ons_model *model;
    const ons_config *config;
    ons_batching batching;
    bool backwards;
    ons_arena *arena;
    ons_dataset_graphs dataset_graphs;
    ons_device_context *device_context;
    ons_share share;
    sum sums[SUMS_MOST];
    uint32_t sum_count;
    uint32_t *sizes; /* [replica]: micro-batches in this step */
    uint64_t usable;
    bool has_copies;
    const ons_step_program *last; /* that has run */
};

/* --------------------------------------------------------------------------------------------------------- building */

static ons_status *build_graphs(grouped *g) {
    ONS_TRY(ons_open_training_data(g->model, g->config, &g->dataset_graphs.dataset));
    int64_t samples = (int64_t)ons_dataset_count(g->dataset_graphs.dataset);
    const ons_dataset_graphs_options options =
        ons_training_graphs_options(g->model, g->config, &g->batching, samples, true);
    ONS_TRY(ons_dataset_graphs_build(&options, &g->dataset_graphs));
    g->usable = (uint64_t)(samples - (g->batching.fixed ? samples % g->batching.rows : 0));
    return ons_dataset_graphs_cut_whole(g->model, (ons_step_form){.repeats = true}, &g->dataset_graphs);
}

/* Of the node that renews a persistent value. */
static double momentum_of(const ons_graph *graph, ons_value_id statistics) {
    for (ons_value_id id = 0; id < graph->values.count; ++id) {
        const ons_value *value = ons_graph_value(graph, id);
        if (value->pair != statistics || value->producer == ONS_NONE) continue;
        const ons_node *node = ons_graph_node(graph, value->producer);
        for (uint32_t i = 0; node->op->attributes[i].name != NULL; ++i)
            if (strcmp(node->op->attributes[i].name, "momentum") == 0) return node->attributes[i].f;
    }
    return NAN;
}

static ons_status *add_sum(grouped *g, const char *name, bool is_mean) {
    ons_type type;
    sum *s = &g->sums[g->sum_count++];
    ONS_CHECK(g->sum_count < SUMS_MOST, ONS_DEFECT, "more than %d sums", SUMS_MOST);
    *s = (sum){.place = ons_device_context_find(g->device_context, name, &type), .is_mean = is_mean, .name = name};
    ONS_CHECK(s->place != NULL && type.dtype == ONS_FLOAT32, ONS_DEFECT, "'%s' is no sum in float32", name);
    s->count = (size_t)ons_type_dense_bytes(&type) / sizeof(float);
    ONS_NEW(s->groups, g->arena, (size_t)g->batching.replicas);
    for (int64_t i = 0; i < g->batching.replicas; ++i) ONS_NEW(s->groups[i], g->arena, s->count + 1);
    ONS_NEW(s->total, g->arena, s->count + 1);
    return NULL;
}

static ons_status *find_sums(grouped *g) {
    const ons_graph *graph = g->dataset_graphs.graphs[ONS_WHOLE].graph;
    for (ons_value_id id = 0; id < graph->values.count; ++id) {
        const ons_value *value = ons_graph_value(graph, id);
        if (value->producer != ONS_NONE) continue;
        bool gradient = value->kind == ONS_STATE && strstr(value->name, "/accumulator_") != NULL;
        bool loss = value->kind == ONS_STATE && strcmp(value->name, "loss/sum") == 0;
        bool statistics = value->kind == ONS_BUFFER && strncmp(value->name, "loss_scale", 10) != 0;
        if (gradient || loss || statistics) ONS_TRY(add_sum(g, value->name, statistics));
        if (statistics) g->sums[g->sum_count - 1].decay = momentum_of(graph, id);
    }
    return NULL;
}

static ons_status *build(grouped *g, int threads) {
    ons_device *device;
    ONS_TRY(build_graphs(g));
    ONS_TRY(ons_device_new(g->config->device, 0, false, &device));
    ONS_TRY(ons_device_context_new(device, g->model->registry, threads, &g->device_context));
    const ons_share_options options = {
        .model = g->model,
        .dataset_graphs = &g->dataset_graphs,
        .device_context = g->device_context,
        .batch = (size_t)g->batching.batch,
        .repeats = true,
        .micro_batches = 1,
        .versions = 1,
    };
    ONS_TRY(ons_share_build(&options, &g->share));
    ONS_TRY(ons_device_context_start(g->device_context));
    ONS_NEW(g->sizes, g->arena, (size_t)g->batching.replicas);
    return find_sums(g);
}

ons_status *grouped_new(const ons_model *model, const ons_config *config, const ons_batching *batching, int threads,
                        bool backwards, grouped **result) {
    grouped *g = calloc(1, sizeof *g);
    if (g == NULL) return ons_status_out_of_memory();
    g->model = model;
    g->config = config;
    g->batching = *batching;
    g->backwards = backwards;
    g->arena = ons_arena_new();
    ons_status *status = g->arena == NULL ? ons_status_out_of_memory() : build(g, threads);
    if (status != NULL) {
        grouped_free(g);
        return status;
    }
    *result = g;
    return NULL;
}

void grouped_free(grouped *g) {
    if (g == NULL) return;
    ons_device_context_free(g->device_context);
    ons_share_free(&g->share);
    ons_dataset_graphs_free(&g->dataset_graphs);
    ons_arena_free(g->arena);
    free(g);
}

ons_device_context *grouped_device_context(const grouped *g) { return g->device_context; }

static uint32_t stage_of(const ons_model_graph *graph, const ons_cut *cut, const char *name) {
    uint32_t stage = 0;
    ons_value_id value = ons_graph_find_value(graph->graph, name);
    while (value != ONS_NONE && stage < cut->stage_count && cut->stages[stage].value_of[value] == ONS_NONE) ++stage;
    return stage;
}

ons_status *grouped_follow(grouped *g, const ons_model_graph *graph, const ons_cut *cut, const uint32_t *copies) {
    g->has_copies = true;
    for (uint32_t i = 0; i < g->sum_count; ++i) {
        sum *s = &g->sums[i];
        uint32_t stage = stage_of(graph, cut, s->name);
        ONS_CHECK(stage < cut->stage_count, ONS_DEFECT, "no stage has '%s'", s->name);
        s->copies = copies[stage];
        ONS_NEW(s->groups, g->arena, s->copies);
        for (uint32_t k = 0; k < s->copies; ++k) ONS_NEW(s->groups[k], g->arena, s->count + 1);
    }
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------- data */

static ons_status *fetch(grouped *g, uint64_t step, size_t *samples) {
    uint64_t batch = (uint64_t)g->batching.batch, steps = (g->usable + batch - 1) / batch;
    uint64_t position = (step - 1) % steps * batch;
    const ons_order order = {ons_dataset_count(g->dataset_graphs.dataset), (uint64_t)g->config->seed,
                             g->config->shuffle};
    *samples = g->usable - position < batch ? g->usable - position : batch;
    ons_order_rows(&order, (step - 1) / steps, position, *samples, g->share.feed.rows[0]);
    return ons_feed_fill(&g->share.feed, 0, 0, *samples, 0);
}

static ons_status *count_targets(const grouped *g, size_t rows, double *counted) {
    ons_type sample;
    uint64_t count;
    uint32_t field = ons_dataset_graphs_target(&g->dataset_graphs, &sample);
    *counted = (double)rows;
    if (field == ONS_NO_FIELD) return NULL;
    *counted *= (double)ons_shape_elements(&sample.shape);
    if (!g->dataset_graphs.counts_classes) return NULL;
    ONS_TRY(ons_dataset_count_targets(g->dataset_graphs.dataset, field, g->share.feed.rows[0], rows,
                                      (int64_t)g->config->ignore_index.value, &count));
    *counted = (double)count;
    return NULL;
}

static ons_status *put_data(const grouped *g, const ons_step_program *step_program, size_t first) {
    for (uint32_t i = 0; i < g->share.feed.field_count; ++i) {
        void *place = step_program->inputs[i] == ONS_NONE
                          ? NULL
                          : ons_program_address_to_write(step_program->program, step_program->inputs[i], NULL);
        if (place != NULL)
            ONS_TRY(ons_device_context_copy(g->device_context, place, ons_feed_sample(&g->share.feed, 0, i, first),
                                            step_program->rows * g->share.feed.fields[i].bytes));
    }
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------ parts */

typedef struct part_job {
    const ons_step_program *step_program;
    const ons_step *step;  /* in the device's memory where the host cannot access it */
    ons_fault *fault_page; /* in the device's memory where the host cannot access it */
    ons_part first, end;
    ons_program_fault fault;
} part_job;

static void run_parts(void *argument, uintptr_t native) {
    part_job *j = argument;
    const ons_run run = {.step = j->step,
                         .fault = j->fault_page == NULL ? &j->fault : NULL,
                         .stream = native,
                         .device_fault = j->fault_page};
    for (ons_part part = j->first; part < j->end && j->fault.fault.problem == NULL; ++part)
        ons_program_run(j->step_program->program, part, &run);
}

static ons_status *run(grouped *g, const ons_step_program *step_program, const ons_step *step, ons_part first,
                       ons_part end) {
    ons_device_context_control control = ons_device_context_get_control(g->device_context);
    part_job job = {step_program, step, control.fault, first, end, {.node = ONS_NONE}};
    const ons_fault none = {0};
    if (control.count > 0) {
        ONS_TRY(ons_device_context_copy(g->device_context, control.steps, step, sizeof *step));
        ONS_TRY(ons_device_context_copy(g->device_context, control.fault, &none, sizeof none));
        job.step = control.steps;
    }
    ons_device_context_launch(g->device_context, run_parts, &job);
    ons_device_context_wait(g->device_context);
    ONS_CHECK(job.fault.fault.problem == NULL, ONS_INVALID_DATA, "%s", job.fault.fault.problem);
    return NULL;
}

static ons_status *put(const grouped *g, const sum *s) {
    return ons_device_context_copy(g->device_context, s->place, s->total, s->count * sizeof(float));
}

static ons_status *begin_group(grouped *g, uint32_t replica) {
    for (uint32_t i = 0; i < g->sum_count; ++i) {
        const sum *s = &g->sums[i];
        if (!s->is_mean || replica == 0) continue;
        memset(s->total, 0, s->count * sizeof(float));
        ONS_TRY(put(g, s));
    }
    return NULL;
}

static ons_status *end_group(grouped *g, uint32_t replica) {
    for (uint32_t i = 0; i < g->sum_count; ++i)
        ONS_TRY(ons_device_context_copy(g->device_context, g->sums[i].groups[replica], g->sums[i].place,
                                        g->sums[i].count * sizeof(float)));
    return NULL;
}

static void add(const grouped *g, const sum *s, uint32_t replica) {
    double decay = 1;
    for (uint32_t i = 0; s->is_mean && i < g->sizes[replica]; ++i) decay *= s->decay;
    for (size_t k = 0; k < s->count; ++k)
        s->total[k] =
            s->is_mean ? s->total[k] * (float)decay + s->groups[replica][k] : s->total[k] + s->groups[replica][k];
}

static ons_status *add_groups(grouped *g, uint32_t active) {
    for (uint32_t i = 0; i < g->sum_count; ++i) {
        const sum *s = &g->sums[i];
        bool backwards = g->backwards && !s->is_mean;
        memcpy(s->total, s->groups[backwards ? active - 1 : 0], s->count * sizeof(float));
        for (uint32_t k = 1; k < active; ++k) add(g, s, backwards ? active - 1 - k : k);
        ONS_TRY(put(g, s));
    }
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------- step */

static ons_status *read_scalar(const grouped *g, ons_value_id value, double *scalar) {
    return ons_device_context_scalar(g->device_context, g->last->program, value, scalar);
}

ons_status *grouped_square(const grouped *g, uint32_t index, double *square) {
    return read_scalar(g, g->last->squares[index], square);
}

static ons_status *find_norm(const grouped *g, double *norm) {
    double total = 0, square;
    *norm = NAN;
    if (g->last->norm != ONS_NONE) return read_scalar(g, g->last->norm, norm);
    if (g->last->squares == NULL) return NULL;
    for (uint32_t i = 0; i < g->dataset_graphs.graphs[ONS_WHOLE].update.trained_count; ++i) {
        ONS_TRY(grouped_square(g, i, &square));
        total += square;
    }
    *norm = sqrt(total);
    return NULL;
}

static const ons_step_program *step_program_of(const grouped *g, const ons_portions *p, uint64_t micro_batch) {
    ons_batch_variant v = ONS_WHOLE;
    while (micro_batch >= p->count[v]) micro_batch -= p->count[v++];
    return &g->share.programs[v].step_program;
}

/* As many micro-batches for each replica, or one more for the first ones. */
static uint32_t share_out(grouped *g, uint64_t micro_batches) {
    uint32_t active = 0;
    for (int64_t i = 0; i < g->batching.replicas; ++i) g->sizes[i] = 0;
    for (uint64_t i = 0; i < micro_batches; ++i) ++g->sizes[i % (uint64_t)g->batching.replicas];
    while (active < g->batching.replicas && g->sizes[active] > 0) ++active;
    return active;
}

static ons_status *run_micro_batch(grouped *g, const ons_portions *p, ons_step *step, size_t samples, size_t *first) {
    const ons_step_program *step_program = step_program_of(g, p, step->micro_batch);
    step->sample_share = (double)step_program->rows / (double)samples;
    ONS_TRY(put_data(g, step_program, *first));
    if (step_program != g->last) ONS_TRY(run(g, step_program, step, ONS_PART_BEGIN, ONS_PART_FORWARD));
    ONS_TRY(run(g, step_program, step, ONS_PART_FORWARD, ONS_PART_END));
    g->last = step_program;
    *first += step_program->rows;
    return NULL;
}

/* ----------------------------------------------------------------------------------------------------------- copies */

/* What a copy's micro-batches have come to so far. A gradient's sum begins with what changes no number, not even 0's
 * sign; running means go on from what they were in the first copy, and forget in between what the others' micro-batches
 * would have made them forget. */
static void begin_turn(const sum *s, uint32_t micro_batch) {
    float *group = s->groups[micro_batch % s->copies];
    double forgotten = 1;
    for (uint32_t i = 1; i < s->copies; ++i) forgotten *= s->decay;
    if (micro_batch == 0 && s->is_mean) memcpy(group, s->place, s->count * sizeof *group);
    if (micro_batch == 0 && s->is_mean) return;
    for (size_t k = 0; k < s->count; ++k)
        group[k] =
            micro_batch < s->copies ? (s->is_mean ? 0.0F : -0.0F) : group[k] * (s->is_mean ? (float)forgotten : 1.0F);
}

static ons_status *run_turn(grouped *g, const ons_portions *p, ons_step *step, size_t samples, size_t *first) {
    size_t bytes;
    for (uint32_t i = 0; i < g->sum_count; ++i) {
        const sum *s = &g->sums[i];
        bytes = s->count * sizeof(float);
        begin_turn(s, step->micro_batch);
        ONS_TRY(ons_device_context_copy(g->device_context, s->place, s->groups[step->micro_batch % s->copies], bytes));
    }
    step->first_micro_batch = UINT32_MAX; /* sums have begun */
    ONS_TRY(run_micro_batch(g, p, step, samples, first));
    for (uint32_t i = 0; i < g->sum_count; ++i) {
        const sum *s = &g->sums[i];
        bytes = s->count * sizeof(float);
        ONS_TRY(ons_device_context_copy(g->device_context, s->groups[step->micro_batch % s->copies], s->place, bytes));
    }
    return NULL;
}

/* Sums in the order of the copies; running means in that of the copies' last micro-batches, which follow each other. */
static ons_status *add_copies(grouped *g, uint64_t micro_batches) {
    for (uint32_t i = 0; i < g->sum_count; ++i) {
        const sum *s = &g->sums[i];
        uint32_t active = micro_batches < s->copies ? (uint32_t)micro_batches : s->copies;
        uint32_t first = s->is_mean && active > 0 && active == s->copies ? (uint32_t)(micro_batches % active) : 0;
        memcpy(s->total, s->groups[first], s->count * sizeof(float));
        for (uint32_t k = 1; k < active; ++k) {
            const float *group = s->groups[(first + k) % active];
            for (size_t e = 0; e < s->count; ++e)
                s->total[e] = (s->is_mean ? s->total[e] * (float)s->decay : s->total[e]) + group[e];
        }
        ONS_TRY(put(g, s));
    }
    return NULL;
}

static ons_status *run_in_turn(grouped *g, const ons_portions *p, ons_step *step, size_t samples) {
    size_t first = 0;
    uint64_t count = ons_portions_total(p);
    for (uint64_t i = 0; i < count; ++i, ++step->micro_batch) ONS_TRY(run_turn(g, p, step, samples, &first));
    return add_copies(g, count);
}

/* --------------------------------------------------------------------------------------------------------- replicas */

static ons_status *run_replicas(grouped *g, const ons_portions *p, ons_step *step, size_t samples) {
    size_t first = 0;
    uint32_t active = share_out(g, ons_portions_total(p));
    for (uint32_t replica = 0; replica < active; ++replica) {
        ONS_TRY(begin_group(g, replica));
        step->first_micro_batch = step->micro_batch;
        for (uint32_t i = 0; i < g->sizes[replica]; ++i, ++step->micro_batch)
            ONS_TRY(run_micro_batch(g, p, step, samples, &first));
        ONS_TRY(end_group(g, replica));
    }
    return add_groups(g, active);
}

ons_status *grouped_step(grouped *g, uint64_t number, double rate, double *loss, double *norm) {
    size_t samples;
    ONS_TRY(fetch(g, number, &samples));
    ons_portions p = ons_batching_portions(&g->batching, (int64_t)samples);
    ons_step step = {.seed = (uint64_t)g->config->seed, .step = number, .learning_rate = (float)rate, .rate_share = 1};
    ONS_TRY(count_targets(g, samples, &step.counted_targets));
    g->last = NULL; /* what is made of weights is made anew */
    ONS_TRY(g->has_copies ? run_in_turn(g, &p, &step, samples) : run_replicas(g, &p, &step, samples));
    ONS_TRY(run(g, g->last, &step, ONS_PART_END, ONS_PART_KINDS));
    ONS_TRY(read_scalar(g, g->last->loss, loss));
    return find_norm(g, norm);
}
