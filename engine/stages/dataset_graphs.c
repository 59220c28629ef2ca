#include "engine/stages/dataset_graphs.h"

#include <stdlib.h>
#include <string.h>

#include "engine/model/assumptions.h"
#include "engine/model/loss_division.h"
#include "graph/arena_layout.h"
#include "graph/passes/cheap_again.h"
#include "kernels/kernels.h"
#include "runtime/pipeline/samples_ahead.h"
#include "runtime/program/units.h"

ons_dataset_graphs_options ons_training_graphs_options(const ons_model *model, const ons_config *config,
                                                       const ons_batching *batching, int64_t samples, bool repeats) {
    ons_portions last = ons_batching_portions(batching, samples % batching->batch);
    /* It goes through the pipeline by itself, when the replicas that it would be normalised with are at other nodes. */
    bool drops_rest = batching->fixed || (config->sync_batchnorm && ons_has_batch_statistics(model->graph));
    return (ons_dataset_graphs_options){
        .model = model,
        .config = config,
        .rows = {batching->rows, (int64_t)last.rows[ONS_SHORTER], drops_rest ? 0 : (int64_t)last.rows[ONS_REST]},
        .training = true,
        .repeats = repeats,
    };
}

static ons_status *build_graph(const ons_dataset_graphs_options *o, const ons_dataset_graphs *dataset_graphs,
                               int64_t rows, ons_model_graph *stage) {
    const ons_graph *whole = dataset_graphs->graphs[ONS_WHOLE].graph;
    const ons_model_graph_options options = {
        .like = whole != NULL ? whole : o->like,
        .model = o->model,
        .config = o->config,
        .dataset = dataset_graphs->dataset,
        .rows = rows,
        .training = o->training,
        .repeats = o->repeats,
        .divides = o->divides,
        .for_gpu = ons_config_uses_cuda(o->config),
    };
    ONS_TRY(ons_model_graph_build(&options, stage));
    return ons_config_uses_cuda(o->config) ? ons_program_check(stage->graph, ons_backend_find("cuda"), "--device cuda")
                                           : NULL;
}

static ons_status *build_totals(const ons_dataset_graphs_options *o, ons_dataset_graphs *dataset_graphs) {
    const ons_model_graph *whole = &dataset_graphs->graphs[ONS_WHOLE];
    const ons_binding_options options = {
        .model = o->model, .config = o->config, .dataset = dataset_graphs->dataset, .training = o->training};
    if (whole->total_count == 0) return NULL;
    return ons_loss_totals_build(&options, whole->rows, whole->graph, whole->totals, whole->total_count,
                                 &dataset_graphs->totals);
}

/* Statistics of one value for each channel are refused; what is left of an epoch is left out for them. */
static ons_status *check_values(const ons_dataset_graphs_options *o, ons_batch_variant v, ons_dataset_graphs *g) {
    ons_model_graph *graph = &g->graphs[v];
    if (v != ONS_REST) return ons_lone_values_refuse(o->config, graph->graph, graph->rows);
    ons_lone_values lone = ons_lone_values_find(o->config, graph->graph);
    if (lone.count == 0) return NULL;
    lone.first = ons_arena_copy_text(g->graphs[ONS_WHOLE].graph->arena, lone.first);
    if (lone.first == NULL) return ons_status_out_of_memory();
    g->left_out = lone;
    ons_model_graph_free(graph);
    return NULL;
}

ons_status *ons_dataset_graphs_build(const ons_dataset_graphs_options *o, ons_dataset_graphs *dataset_graphs) {
    for (ons_batch_variant v = ONS_WHOLE; v < ONS_BATCH_VARIANTS; ++v) {
        if (o->rows[v] == 0) continue;
        ONS_TRY(build_graph(o, dataset_graphs, o->rows[v], &dataset_graphs->graphs[v]));
        if (o->training) ONS_TRY(check_values(o, v, dataset_graphs));
    }
    ONS_TRY(build_totals(o, dataset_graphs));
    if (dataset_graphs->graphs[ONS_WHOLE].loss == ONS_NONE) return NULL;
    ons_loss_options loss;
    ONS_TRY(ons_config_loss(o->config, &loss));
    dataset_graphs->counts_classes = ons_loss_counts_classes(loss.role);
    return NULL;
}

static bool has_halves(const ons_schedule *schedule) {
    for (uint32_t device = 0; device < schedule->devices; ++device)
        for (uint32_t i = 0; i < schedule->lists[device].count; ++i)
            if (schedule->lists[device].items[i].halved) return true;
    return false;
}

/* The first half has one sample more where they are odd. */
static int64_t half_rows(int64_t rows, int half) { return half == 0 ? (rows + 1) / 2 : rows / 2; }

ons_status *ons_dataset_graphs_build_halves(const ons_model_graph_options *whole, const ons_schedule *schedule,
                                            ons_dataset_graphs *dataset_graphs) {
    if (!has_halves(schedule)) return NULL;
    ONS_CHECK(
        !ons_config_uses_cuda(whole->config), ONS_UNSUPPORTED,
        "the schedule has forward parts in halves, which GPUs do not compute yet; train with --device cpu, or without "
        "them");
    for (ons_batch_variant v = ONS_WHOLE; v < ONS_REST; ++v)
        for (int half = 0; half < 2; ++half) {
            ons_model_graph *graph = &dataset_graphs->half_graphs[v][half];
            ons_model_graph_options options = *whole;
            int64_t rows = dataset_graphs->graphs[v].rows;
            if (dataset_graphs->graphs[v].graph == NULL || graph->graph != NULL) continue;
            ONS_CHECK(
                rows > 1, ONS_INVALID_ARGUMENT,
                "a micro-batch of one sample has no halves: leave --slices out, or take a larger --batch or fewer "
                "--micro-batches");
            options.rows = half_rows(rows, half);
            options.like = dataset_graphs->graphs[ONS_WHOLE].graph;
            ONS_TRY(ons_model_graph_build(&options, graph));
        }
    return NULL;
}

ons_step_form ons_step_form_of(const ons_pipeline *p) {
    bool several = p->micro_batches > 1 || p->replicas > 1; /* sums over replicas begin where those here end */
    return (ons_step_form){
        .repeats = several && !ons_pipeline_is_asynchronous(p),
        .updates_in_backward = p->stages == 1 && !several,
    };
}

static ons_status *cut_in(ons_arena *arena, const ons_model *model, ons_step_form form, const ons_model_graph *stage,
                          ons_cut *cut) {
    uint32_t *stages;
    ONS_NEW(stages, arena, stage->graph->nodes.count + 1);
    ons_cut_options options = {
        .whole = stage->graph,
        .registry = model->registry,
        .repeats = form.repeats,
        .updates_in_backward = form.updates_in_backward,
        .stage_of_node = stages,
        .stages = 1,
        .lenient = form.makes_again, /* nobody has asked for it */
        .kept = stage->kept,
        .kept_count = stage->kept_count,
    };
    ons_cut_decision *decisions = NULL;
    if (form.makes_again) ONS_TRY(ons_find_cheap_again(stage->graph, arena, &decisions, &options.decision_count));
    options.decisions = decisions;
    return ons_cut_make(&options, cut);
}

static ons_status *cut_whole(const ons_model *model, ons_step_form form, const ons_model_graph *stage, ons_cut *cut) {
    if (stage->graph == NULL) return NULL;
    ons_arena *arena = ons_arena_new();
    ons_status *status = arena == NULL ? ons_status_out_of_memory() : cut_in(arena, model, form, stage, cut);
    ons_arena_free(arena);
    return status;
}

ons_status *ons_dataset_graphs_cut_whole(const ons_model *model, ons_step_form form,
                                         ons_dataset_graphs *dataset_graphs) {
    for (ons_batch_variant v = ONS_WHOLE; v < ONS_BATCH_VARIANTS; ++v)
        ONS_TRY(cut_whole(model, form, &dataset_graphs->graphs[v], &dataset_graphs->cuts[v]));
    return NULL;
}

void ons_dataset_graphs_drop_cuts(ons_dataset_graphs *dataset_graphs) {
    for (ons_batch_variant v = ONS_WHOLE; v < ONS_BATCH_VARIANTS; ++v) ons_cut_free(&dataset_graphs->cuts[v]);
    for (ons_batch_variant v = ONS_WHOLE; v < ONS_REST; ++v)
        for (int half = 0; half < 2; ++half) ons_cut_free(&dataset_graphs->half_cuts[v][half]);
    for (uint32_t i = 0; i < dataset_graphs->grouped_count; ++i) ons_cut_free(&dataset_graphs->grouped[i].cut);
}

void ons_dataset_graphs_free(ons_dataset_graphs *dataset_graphs) {
    ons_dataset_graphs_drop_cuts(dataset_graphs);
    for (ons_batch_variant v = ONS_WHOLE; v < ONS_BATCH_VARIANTS; ++v) ons_model_graph_free(&dataset_graphs->graphs[v]);
    for (ons_batch_variant v = ONS_WHOLE; v < ONS_REST; ++v)
        for (int half = 0; half < 2; ++half) ons_model_graph_free(&dataset_graphs->half_graphs[v][half]);
    ons_dataset_graphs_drop_groups(dataset_graphs);
    ons_totals_graphs_free(&dataset_graphs->totals);
    ons_dataset_free(dataset_graphs->dataset);
    *dataset_graphs = (ons_dataset_graphs){0};
}

/* The sample that the model wants of its input `index`: its type without the axis of samples. */
static ons_type sample_of(const ons_model_graph *stage, uint32_t index) {
    const ons_type *type = &ons_graph_value(stage->graph, stage->inputs[index])->type;
    if (type->shape.rank == 0) return *type;
    return (ons_type){.dtype = type->dtype, .shape = ons_shape_make(type->shape.rank - 1, type->shape.dims + 1)};
}

uint32_t ons_dataset_graphs_target(const ons_dataset_graphs *dataset_graphs, ons_type *sample) {
    const ons_model_graph *whole = &dataset_graphs->graphs[ONS_WHOLE];
    if (whole->target == ONS_NONE) return ONS_NO_FIELD;
    *sample = sample_of(whole, whole->input_count - 1);
    return ons_dataset_find(dataset_graphs->dataset, ONS_TARGET_FIELD);
}

/* ----------------------------------------------------------------------------------------------------------- shares */

static ons_value_id share_of(const ons_cut_stage *cut, ons_value_id value) {
    return value == ONS_NONE ? ONS_NONE : cut->value_of[value];
}

/* What the host reads is read where it is made, not where it is received. */
static ons_value_id made_here(const ons_cut_stage *cut, ons_value_id value) {
    ons_value_id own = share_of(cut, value);
    for (uint32_t i = 0; i < cut->receive_count; ++i)
        if (cut->receives[i].value == own) return ONS_NONE;
    return own;
}

static ons_status *copy_ids(const ons_cut_stage *cut, ons_arena *arena, const ons_value_id *ids, size_t count,
                            ons_value_id (*find)(const ons_cut_stage *cut, ons_value_id value), ons_value_id **own) {
    ONS_NEW(*own, arena, count + 1);
    for (size_t i = 0; i < count; ++i) (*own)[i] = find(cut, ids[i]);
    return NULL;
}

static bool is_uneven(const ons_dataset_graphs *dataset_graphs) {
    return dataset_graphs->graphs[ONS_SHORTER].graph != NULL;
}

/* Inference alone says what its prediction is. */
static bool predicts(const ons_model_graph *whole, const ons_cut_stage *cut) {
    return whole->outputs != NULL && made_here(cut, whole->prediction) != ONS_NONE;
}

static ons_status *describe_unit(const ons_share_options *o, ons_batch_variant v, const uint32_t *fields,
                                 ons_share *share) {
    const ons_model_graph *whole = ons_dataset_graphs_of(o->dataset_graphs, v, o->stage);
    ons_share_program *u = &share->programs[v];
    if (whole->graph == NULL) return NULL;
    const ons_cut_stage *cut = ons_dataset_graphs_cut_of(o->dataset_graphs, v, o->stage);
    ons_arena *arena = u->stage.arena;
    ons_value_id *inputs, *squares = NULL, *totals = NULL;
    ONS_NEW(inputs, arena, share->feed.field_count + 1);
    for (uint32_t i = 0; i < share->feed.field_count; ++i) inputs[i] = share_of(cut, whole->inputs[fields[i]]);
    if (whole->total_count > 0) ONS_TRY(copy_ids(cut, arena, whole->totals, whole->total_count, share_of, &totals));
    if (whole->squares != NULL && !whole->squares_idle)
        ONS_TRY(copy_ids(cut, arena, whole->squares, whole->update.trained_count, made_here, &squares));
    if (whole->outputs != NULL)
        ONS_TRY(copy_ids(cut, arena, whole->outputs, whole->output_count, made_here, &u->outputs));
    u->step_program = (ons_step_program){
        .program = u->stage.program,
        .stage = &u->stage,
        .rows = (size_t)whole->rows,
        .inputs = inputs,
        .totals = totals,
        .sums = whole->loss_sums,
        .loss = made_here(cut, whole->loss),
        .prediction = predicts(whole, cut) ? made_here(cut, whole->prediction) : ONS_NONE,
        .norm = made_here(cut, whole->update.norm),
        .scale = made_here(cut, whole->update.scale),
        .squares = squares,
    };
    return NULL;
}

static ons_status *build_program(const ons_share_options *o, ons_batch_variant v, ons_share *share) {
    const ons_model_graph *whole = ons_dataset_graphs_of(o->dataset_graphs, v, o->stage);
    if (whole->graph == NULL) return NULL;
    const ons_cut_stage *own = ons_dataset_graphs_cut_of(o->dataset_graphs, v, o->stage);
    ons_arena *arena = o->dataset_graphs->cuts[v].arena;
    ons_value_id *kept, *idle = NULL;
    ONS_TRY(copy_ids(own, arena, whole->kept, whole->kept_count, made_here, &kept));
    if (whole->squares_idle)
        ONS_TRY(copy_ids(own, arena, whole->squares, whole->update.trained_count, made_here, &idle));
    ons_stage_program_options options = {
        .cut = own,
        .registry = o->model->registry,
        .repeats = o->repeats,
        .kept = kept,
        .kept_count = whole->kept_count,
        .idle = idle,
        .idle_count = whole->squares_idle ? whole->update.trained_count : 0,
        .schedule = o->schedule,
        .device = o->device,
        .micro_batches = o->micro_batches,
        .versions = o->versions,
        .joined = v != ONS_REST && is_uneven(o->dataset_graphs),
        .shard = o->shard,
    };
    /* Of what all stages compute alike there is one micro-batch. */
    if (o->schedule != NULL && ons_schedule_is_grouped(o->schedule) && v == ONS_REST) options.micro_batches = 1;
    for (int half = 0; half < 2 && v < ONS_REST; ++half) {
        if (o->dataset_graphs->half_graphs[v][half].graph == NULL) continue;
        options.half[half] = &o->dataset_graphs->half_cuts[v][half].stages[o->stage];
        options.half_rows[half] = o->dataset_graphs->half_graphs[v][half].rows;
    }
    return ons_stage_program_make(o->device_context, &options, &share->programs[v].stage);
}

/* Whether the stage reads an input of the model; targets also where predictions are compared with them. */
static bool reads_field(const ons_model_graph *whole, const ons_cut_stage *cut, uint32_t index) {
    ons_value_id input = whole->inputs[index];
    return share_of(cut, input) != ONS_NONE || (input == whole->target && predicts(whole, cut));
}

/* Of a whole step, as the feed lays them out, twice; 0: too many. */
static int64_t samples_ahead_bytes(const ons_share_options *o) {
    const ons_model_graph *whole = ons_dataset_graphs_of(o->dataset_graphs, ONS_WHOLE, o->stage);
    const ons_cut_stage *cut = ons_dataset_graphs_cut_of(o->dataset_graphs, ONS_WHOLE, o->stage);
    int64_t bytes = 0, each, most = ons_samples_ahead_most();
    if ((int64_t)o->batch > whole->rows * o->micro_batches) return 0; /* an epoch's last step has more than others */
    for (uint32_t i = 0; i < whole->input_count; ++i) {
        if (whole->inputs[i] == ONS_NONE || !reads_field(whole, cut, i)) continue;
        const ons_type *type = &ons_graph_value(whole->graph, whole->inputs[i])->type;
        if (__builtin_mul_overflow(ons_type_dense_bytes(type), (int64_t)o->micro_batches, &each) || each > most)
            return 0;
        bytes += ons_arena_align(each);
    }
    return bytes <= most / ONS_FEED_SLOTS ? bytes * ONS_FEED_SLOTS : 0;
}

ons_status *ons_share_reserve_samples(const ons_share_options *o, int64_t room) {
    ons_device_context_memory memory;
    int64_t reserve, bytes;
    if (ons_device_context_device(o->device_context)->host_can_access) return NULL;
    ONS_TRY(ons_device_context_predict(o->device_context, &memory));
    ONS_TRY(ons_device_context_reserve(o->device_context, &reserve));
    bytes = samples_ahead_bytes(o);
    if (bytes <= room - memory.total - reserve) ons_device_context_reserve_samples(o->device_context, bytes);
    return NULL;
}

ons_status *ons_share_prepare(const ons_share_options *o, ons_share *share) {
    for (ons_batch_variant v = ONS_WHOLE; v < ONS_REST; ++v) ONS_TRY(build_program(o, v, share));
    ons_program *const programs[] = {share->programs[ONS_WHOLE].stage.program,
                                     share->programs[ONS_SHORTER].stage.program};
    return is_uneven(o->dataset_graphs) ? ons_device_context_join(o->device_context, programs) : NULL;
}

/* The inputs of the model that this stage reads, in any program. */
static uint32_t list_fields(const ons_share_options *o, uint32_t *fields) {
    const ons_dataset_graphs *c = o->dataset_graphs;
    uint32_t count = 0;
    for (uint32_t i = 0; i < c->graphs[ONS_WHOLE].input_count; ++i) {
        bool reads = false;
        for (ons_batch_variant v = ONS_WHOLE; v < ONS_BATCH_VARIANTS; ++v)
            reads = reads || (c->graphs[v].graph != NULL && reads_field(ons_dataset_graphs_of(c, v, o->stage),
                                                                        ons_dataset_graphs_cut_of(c, v, o->stage), i));
        if (reads) fields[count++] = i;
    }
    return count;
}

/* Samples are copied to it from memory that copies are fast with; NULL: the host puts them in itself. */
static ons_device *feeding_device(const ons_device_context *device_context) {
    ons_device *device = ons_device_context_device(device_context);
    return device->host_can_access ? NULL : device;
}

static ons_status *build_feed(const ons_share_options *o, const uint32_t *fields, uint32_t count, ons_share *share) {
    const ons_graph *imported = o->model->graph;
    ons_feed_field *described = calloc(count + 1, sizeof *described);
    if (described == NULL) return ons_status_out_of_memory();
    ons_status *status = NULL;
    share->target_field = ONS_NO_FIELD;
    for (uint32_t i = 0; status == NULL && i < count; ++i) {
        bool target = fields[i] >= imported->inputs.count;
        const char *name =
            target ? ONS_TARGET_FIELD : ons_graph_value(imported, imported->inputs.items[fields[i]])->name;
        const ons_model_graph *whole = &o->dataset_graphs->graphs[ONS_WHOLE];
        if (ons_graph_value(whole->graph, whole->inputs[fields[i]])->type.shape.rank == 0)
            status = ons_status_new(ONS_UNSUPPORTED, "model input '%s' is a scalar: it has no axis for samples", name);
        described[i] = (ons_feed_field){.field = ons_dataset_find(o->dataset_graphs->dataset, name),
                                        .sample = sample_of(whole, fields[i])};
        if (target) share->target_field = i;
    }
    uint32_t bounded = o->dataset_graphs->bounds_targets ? share->target_field : (uint32_t)ONS_NO_FIELD;
    if (status == NULL)
        status = ons_feed_init(&share->feed, feeding_device(o->device_context), o->dataset_graphs->dataset, described,
                               count, o->batch, o->step_batch > o->batch ? o->step_batch : o->batch);
    share->feed.bounded = bounded;
    free(described);
    return status;
}

/* Whether the stage reads any total, in any program. */
static bool reads_totals(const ons_share_options *o) {
    bool reads = false;
    for (ons_batch_variant v = ONS_WHOLE; v < ONS_BATCH_VARIANTS; ++v) {
        const ons_model_graph *whole = ons_dataset_graphs_of(o->dataset_graphs, v, o->stage);
        for (uint32_t i = 0; whole->graph != NULL && i < whole->total_count; ++i)
            reads |= share_of(ons_dataset_graphs_cut_of(o->dataset_graphs, v, o->stage), whole->totals[i]) != ONS_NONE;
    }
    return reads;
}

static ons_status *build(const ons_share_options *o, uint32_t *fields, ons_share *share) {
    ONS_TRY(ons_share_prepare(o, share));
    ONS_TRY(build_program(o, ONS_REST, share));
    ONS_TRY(build_feed(o, fields, list_fields(o, fields), share));
    if (reads_totals(o))
        ONS_TRY(ons_step_totals_new(&o->dataset_graphs->totals, o->dataset_graphs->dataset,
                                    feeding_device(o->device_context), &share->totals));
    for (ons_batch_variant v = ONS_WHOLE; v < ONS_BATCH_VARIANTS; ++v) ONS_TRY(describe_unit(o, v, fields, share));
    return NULL;
}

ons_status *ons_share_build(const ons_share_options *options, ons_share *share) {
    uint32_t *fields = calloc(options->dataset_graphs->graphs[ONS_WHOLE].input_count + 1, sizeof *fields);
    if (fields == NULL) return ons_status_out_of_memory();
    ons_status *status = build(options, fields, share);
    free(fields);
    return status;
}

void ons_share_drop_samples(ons_share *share) {
    ons_feed_free(&share->feed);
    ons_step_totals_free(share->totals);
    share->totals = NULL;
}

void ons_share_free(ons_share *share) {
    for (ons_batch_variant v = ONS_WHOLE; v < ONS_BATCH_VARIANTS; ++v)
        ons_stage_program_free(&share->programs[v].stage);
    ons_share_drop_samples(share);
    *share = (ons_share){0};
}

void ons_share_list_programs(const ons_share *share, const ons_stage_program **programs, uint32_t *count) {
    for (ons_batch_variant v = ONS_WHOLE; v < ONS_BATCH_VARIANTS; ++v)
        if (share->programs[v].stage.program != NULL) programs[(*count)++] = &share->programs[v].stage;
}

ons_evaluator_options ons_share_evaluator(const ons_share *share, const ons_dataset_graphs *dataset_graphs,
                                          ons_worker *worker, const ons_config *config) {
    ons_evaluator_options options = {
        .worker = worker,
        .feed = (ons_feed *)&share->feed,
        .samples = ons_dataset_count(dataset_graphs->dataset),
        .counts_classes = dataset_graphs->counts_classes,
        .ignore_index = (int64_t)config->ignore_index.value,
        .class_weights = dataset_graphs->graphs[ONS_WHOLE].class_weights,
        .class_axis = dataset_graphs->graphs[ONS_WHOLE].class_axis,
        .fed_target = share->target_field,
        .totals = share->totals,
    };
    for (ons_batch_variant v = ONS_WHOLE; v < ONS_BATCH_VARIANTS; ++v)
        options.programs[v] = share->programs[v].step_program;
    options.target_field = ons_dataset_graphs_target(dataset_graphs, &options.target_sample);
    return options;
}

ons_status *ons_check_memory_cap(const ons_device_context *device_context, int64_t cap) {
    ons_device_context_memory memory;
    ONS_TRY(ons_device_context_predict(device_context, &memory));
    int64_t reserve;
    ONS_TRY(ons_device_context_reserve(device_context, &reserve));
    ONS_CHECK(
        cap == 0 || reserve == 0 || memory.total + reserve <= cap, ONS_OUT_OF_MEMORY,
        "--memory %lld bytes is too little: %lld are needed, and the GPU's context, libraries and recordings take %lld",
        (long long)cap, (long long)memory.total, (long long)reserve);
    ONS_CHECK(
        cap == 0 || memory.total <= cap, ONS_OUT_OF_MEMORY,
        "--memory %lld bytes is too little: %lld are needed (weights %lld, optimiser and accumulators %lld, constants "
        "%lld, activations and gradients %lld); a larger --micro-batches needs fewer",
        (long long)cap, (long long)memory.total, (long long)(memory.parameters + memory.buffers),
        (long long)memory.states, (long long)memory.constants, (long long)memory.transient);
    return NULL;
}
