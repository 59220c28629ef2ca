/* Evaluation of a model as it is in its file, or as a checkpoint has it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "engine/config/conditions.h"
#include "engine/config/given.h"
#include "engine/model/notes.h"
#include "engine/model/results.h"
#include "engine/model/sample_axes.h"
#include "engine/stages/dataset_graphs.h"
#include "engine/train/narrow.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/data/npy.h"

/* One --output: a file that grows batch by batch. */
typedef struct output_file {
    const char *path;
    size_t index; /* of the model's output */
    ons_npy_writer *writer;
} output_file;

typedef struct evaluation {
    ons_model *model;
    const ons_config *config;
    ons_device_context *device_context;
    ons_dataset_graphs dataset_graphs;
    ons_share share;
    ons_worker *worker;
    size_t batch;
    int64_t used; /* samples that are evaluated */
    output_file *files;
    size_t file_count;
    ons_host_copy output;
} evaluation;

static ons_status *choose_rows(evaluation *e, ons_dataset_graphs_options *o) {
    ons_batching batching;
    ONS_TRY(ons_choose_batching(e->model, e->config, &batching));
    int64_t samples = (int64_t)ons_dataset_count(e->dataset_graphs.dataset);
    ONS_TRY(ons_check_samples(&batching, (uint64_t)samples, "data", "--rows, --input or --tokens"));
    int64_t rows = batching.fixed || batching.rows <= samples ? batching.rows : samples;
    const ons_batching whole = {
        .batch = rows, .micro_batches = 1, .replicas = 1, .rows = rows, .fixed = batching.fixed};
    ONS_TRY(ons_check_fed_once(e->model, e->config, e->dataset_graphs.dataset, &whole, false));
    o->rows[ONS_WHOLE] = rows;
    o->rows[ONS_REST] = batching.fixed ? 0 : samples % rows;
    e->batch = (size_t)rows;
    e->used = batching.fixed ? samples - samples % rows : samples;
    return NULL;
}

static ons_status *start_worker(evaluation *e) {
    const ons_stage_program *programs[ONS_BATCH_VARIANTS];
    ons_worker_options options = {.device_context = e->device_context, .programs = programs};
    ons_share_list_programs(&e->share, programs, &options.program_count);
    return ons_worker_new(&options, &e->worker);
}

/* A master is read as the trained model's file would have it. */
static ons_status *copy_narrowed(evaluation *e, const ons_named_tensor *master, ons_dtype dtype, void *address) {
    int64_t count = ons_shape_elements(&master->tensor.type.shape);
    uint16_t *halves = malloc(((size_t)count + 1) * sizeof *halves);
    if (halves == NULL) return ons_status_out_of_memory();
    ons_status *status = ons_narrow_master(master->name, master->tensor.data, count, dtype, halves);
    if (status == NULL)
        status = ons_device_context_copy(e->device_context, address, halves, (size_t)count * sizeof *halves);
    free(halves);
    return ons_status_at(status, "--checkpoint %s", e->config->checkpoint);
}

/* Whether the checkpoint has the value as the model has it, or a master of it. */
static bool fits(const ons_value *value, const ons_type *kept, bool *master) {
    *master = ons_dtype_is_half(value->type.dtype) && kept->dtype == ONS_FLOAT32;
    return *master ? ons_shape_equal(&value->type.shape, &kept->shape) : ons_type_equal(&value->type, kept);
}

/* Puts a tensor of a checkpoint in place of the file's. States of the optimiser are not the model's. */
static ons_status *take_tensor(evaluation *e, const ons_named_tensor *tensor) {
    const char *folder = e->config->checkpoint;
    if (strchr(tensor->name, '#') != NULL && ons_graph_find_value(e->model->graph, tensor->name) == ONS_NONE)
        return NULL;
    ons_value_id id = ons_graph_find_value(e->model->graph, tensor->name);
    bool master = false;
    ONS_CHECK(id != ONS_NONE && fits(ons_graph_value(e->model->graph, id), &tensor->tensor.type, &master),
              ONS_INVALID_DATA,
              "--checkpoint: the model has no weight '%s' as the checkpoint in %s has it; give the model that was "
              "trained, and the same --tie and --untie",
              tensor->name, folder);
    ons_type type;
    void *address = ons_device_context_find(e->device_context, tensor->name, &type);
    bool needed = ons_graph_find_value(e->dataset_graphs.graphs[ONS_WHOLE].graph, tensor->name) != ONS_NONE;
    ONS_CHECK(address != NULL || !needed, ONS_DEFECT, "'%s' has no place in the arena", tensor->name);
    if (address == NULL) return NULL; /* --loss-output leaves it out */
    if (master) return copy_narrowed(e, tensor, type.dtype, address);
    return ons_device_context_copy(e->device_context, address, tensor->tensor.data,
                                   (size_t)ons_type_dense_bytes(&type));
}

static ons_status *take_checkpoint(evaluation *e) {
    if (e->config->checkpoint == NULL) return NULL;
    ons_checkpoint checkpoint = {0};
    bool found = false;
    ons_status *status = ons_checkpoint_open_newest(e->config->checkpoint, &checkpoint, &found);
    if (status == NULL && !found)
        status = ons_status_new(ONS_IO_ERROR, "--checkpoint: %s holds no checkpoint", e->config->checkpoint);
    for (uint32_t part = 0; status == NULL && part < checkpoint.part_count; ++part) {
        const ons_safetensors *tensors = &checkpoint.parts[part].tensors;
        for (size_t i = 0; status == NULL && i < tensors->count; ++i) status = take_tensor(e, &tensors->tensors[i]);
    }
    ons_checkpoint_close(&checkpoint);
    return status;
}

/* A loss that compares samples with each other has one value for each way to divide them into batches. */
static ons_status *check_loss(const evaluation *e) {
    const ons_blocker *obstacle = &e->dataset_graphs.graphs[ONS_WHOLE].loss_obstacle;
    ONS_CHECK(obstacle->node == NULL, ONS_UNSUPPORTED, ons_refusal_evaluation_in_parts, obstacle->node,
              obstacle->operator_name, obstacle->reason, e->used);
    return NULL;
}

static ons_status *prepare(evaluation *e) {
    ONS_TRY(ons_config_check_conditions(e->config, ONS_COMMAND_EVAL));
    ons_config_load_early(e->config);
    ONS_TRY(ons_config_check_supported(e->config));
    int threads;
    int64_t cap;
    ONS_TRY(ons_config_threads(e->config, &threads));
    ONS_TRY(ons_config_memory(e->config, &cap));
    ons_device *device;
    ONS_TRY(ons_device_new(e->config->device, cap, e->config->pin, &device));
    ONS_TRY(ons_device_context_new(device, e->model->registry, threads, &e->device_context));
    ons_device_context_set_tf32(e->device_context, ons_config_takes_tf32(e->config));
    ONS_TRY(ons_open_evaluation_data(e->model, e->config, &e->dataset_graphs.dataset));
    ons_dataset_graphs_options options = {.model = e->model, .config = e->config};
    ONS_TRY(choose_rows(e, &options));
    options.divides = e->used > (int64_t)e->batch;
    ONS_TRY(ons_dataset_graphs_build(&options, &e->dataset_graphs));
    ONS_TRY(check_loss(e));
    ONS_TRY(ons_dataset_graphs_cut_whole(e->model, (ons_step_form){0}, &e->dataset_graphs));
    const ons_share_options share = {
        .model = e->model,
        .dataset_graphs = &e->dataset_graphs,
        .device_context = e->device_context,
        .batch = e->batch,
        .micro_batches = 1,
        .versions = 1,
    };
    ONS_TRY(ons_share_build(&share, &e->share));
    ONS_TRY(ons_check_memory_cap(e->device_context, cap));
    ONS_TRY(ons_device_context_start(e->device_context));
    ONS_TRY(take_checkpoint(e));
    return start_worker(e);
}

static ons_status *find_output(const evaluation *e, const char *name, size_t *index) {
    const ons_graph *graph = e->model->graph;
    ONS_CHECK(name[0] != '\0' || graph->outputs.count == 1, ONS_INVALID_ARGUMENT,
              "--output: the model has %zu outputs; say which one by NAME=FILE", graph->outputs.count);
    for (size_t i = 0; i < graph->outputs.count; ++i)
        if (name[0] == '\0' || strcmp(ons_graph_value(graph, graph->outputs.items[i])->name, name) == 0) {
            *index = i;
            return NULL;
        }
    return ons_status_new(ONS_INVALID_ARGUMENT, "--output: the model has no output named '%s'", name);
}

static ons_status *open_outputs(evaluation *e) {
    e->files = calloc(e->config->outputs.count + 1, sizeof *e->files);
    if (e->files == NULL) return ons_status_out_of_memory();
    for (size_t i = 0; i < e->config->outputs.count; ++i) {
        output_file *file = &e->files[e->file_count++];
        file->path = e->config->outputs.items[i].value;
        ONS_TRY(find_output(e, e->config->outputs.items[i].name, &file->index));
        const ons_model_graph *stage = &e->dataset_graphs.graphs[ONS_WHOLE];
        ons_type type = ons_graph_value(stage->graph, stage->outputs[file->index])->type;
        ONS_CHECK(type.shape.rank > 0 && type.shape.dims[0] == stage->rows, ONS_UNSUPPORTED,
                  "--output %s: its first axis does not count samples", e->config->outputs.items[i].name);
        ons_type row = {.dtype = type.dtype, .shape = ons_shape_make(type.shape.rank - 1, type.shape.dims + 1)};
        ONS_TRY(ons_npy_writer_open(file->path, &row, (uint64_t)e->used, e->model->output_axes[file->index],
                                    &file->writer));
    }
    return NULL;
}

static ons_status *write_batch(void *context, ons_batch_variant variant, size_t first, size_t samples) {
    evaluation *e = context;
    const ons_share_program *u = &e->share.programs[variant];
    for (size_t i = 0; i < e->file_count; ++i) {
        ons_value_id output = u->outputs[e->files[i].index];
        const ons_type *type = &ons_graph_value(ons_program_graph(u->step_program.program), output)->type;
        const void *rows;
        ONS_TRY(ons_device_context_read(e->device_context, ons_program_address(u->step_program.program, output, NULL),
                                        (size_t)ons_type_dense_bytes(type), &e->output, &rows));
        ONS_TRY(ons_npy_write_rows(e->files[i].writer, rows, samples));
    }
    return NULL;
}

/* All files or none: the first failure discards the rest. */
static ons_status *close_outputs(evaluation *e, ons_status *status) {
    for (size_t i = 0; i < e->file_count; ++i) {
        if (e->files[i].writer == NULL) continue;
        if (status == NULL)
            status = ons_npy_writer_commit(e->files[i].writer);
        else
            ons_npy_writer_discard(e->files[i].writer);
    }
    free(e->files);
    return status;
}

static ons_status *evaluate_dataset(evaluation *e, ons_progress *progress, void *context, ons_evaluation *result) {
    ONS_CHECK(e->config->target == NULL || e->config->loss.text != NULL, ONS_INVALID_ARGUMENT,
              "--target needs a --loss that compares outputs with it");
    ONS_TRY(ons_check_results(e->model, e->config));
    ONS_TRY(prepare(e));
    ons_status *status = open_outputs(e);
    ons_evaluator_options options = ons_share_evaluator(&e->share, &e->dataset_graphs, e->worker, e->config);
    options.read = write_batch;
    options.read_context = e;
    options.progress = progress;
    options.progress_context = context;
    ons_evaluation_result found = {0};
    int64_t start = ons_trace_now();
    if (status == NULL) status = ons_evaluator_run(&options, &found);
    ONS_TRY(close_outputs(e, status));
    ONS_CHECK(e->config->metric.text == NULL || !isnan(found.accuracy), ONS_INVALID_ARGUMENT,
              "--metric accuracy needs class targets: give --target and --loss cross_entropy or nll");
    *result = (ons_evaluation){(int64_t)found.samples, found.loss, found.accuracy,
                               (double)(ons_trace_now() - start) * 1e-9, (int64_t)found.dropped};
    return NULL;
}

ons_status *ons_model_evaluate(ons_model *model, const ons_config *config, ons_progress *progress, void *context,
                               ons_evaluation *result) {
    ONS_IN_C_LOCALE;
    ONS_GIVEN(model, "model");
    ONS_GIVEN(config, "config");
    ONS_GIVEN(result, "evaluation");
    evaluation e = {.model = model, .config = config};
    ons_status *status = evaluate_dataset(&e, progress, context, result);
    ons_worker_free(e.worker);
    ons_share_drop_samples(&e.share); /* its memory is the device's */
    ons_host_copy_free(&e.output);
    ons_device_context_free(e.device_context);
    ons_share_free(&e.share);
    ons_dataset_graphs_free(&e.dataset_graphs);
    return ons_status_at(status, "%s", model->path);
}
