#include "tests/agreement/backend/trial.h"

#include <string.h>

#include "device/device.h"
#include "graph/passes/bind.h"
#include "graph/passes/fuse.h"
#include "graph/passes/layout.h"

enum { THREADS = 1 };

/* ---------------------------------------------------------------------------------------------------------- binding */

/* Which of the graph's inputs a tensor of the data set is meant for: the one of its name, or the one at its place. */
static ons_status *find_input(const ons_graph *graph, const data_set *set, uint32_t index, ons_value_id *id) {
    const char *name = set->inputs[index].name;
    for (size_t i = 0; i < graph->inputs.count && name[0] != '\0'; ++i) {
        *id = graph->inputs.items[i];
        if (strcmp(ons_graph_value(graph, *id)->name, name) == 0) return NULL;
    }
    ONS_CHECK(index < graph->inputs.count, ONS_INVALID_MODEL, "the data set has %u inputs, the model %zu",
              set->input_count, graph->inputs.count);
    *id = graph->inputs.items[index];
    return NULL;
}

static void remove_input(ons_graph *graph, ons_value_id id) {
    size_t kept = 0;
    for (size_t i = 0; i < graph->inputs.count; ++i)
        if (graph->inputs.items[i] != id) graph->inputs.items[kept++] = graph->inputs.items[i];
    graph->inputs.count = kept;
}

/* Gives the imported graph's inputs the types of the data, and makes constants of those that are to be. */
static ons_status *state_inputs(trial *t, const data_set *set) {
    ons_graph *graph = t->model->graph;
    ons_value_id *ids;
    ONS_NEW(ids, t->arena, set->input_count + 1);
    ONS_NEW(t->names, t->arena, set->input_count + 1);
    for (uint32_t i = 0; i < set->input_count; ++i) ONS_TRY(find_input(graph, set, i, &ids[i]));
    for (uint32_t i = 0; i < set->input_count; ++i) {
        ons_value *value = ons_graph_value(graph, ids[i]);
        data_tensor_restate(&set->inputs[i], value->type.dtype);
        const ons_tensor *tensor = &set->inputs[i].tensor;
        ONS_CHECK(value->type.dtype == tensor->type.dtype, ONS_INVALID_MODEL, "input '%s' is %s in the data, not %s",
                  value->name, ons_dtype_name(tensor->type.dtype), ons_dtype_name(value->type.dtype));
        value->type = tensor->type;
        t->names[i] = ons_arena_copy_text(t->arena, value->name);
        if (t->names[i] == NULL) return ons_status_out_of_memory();
        if (!t->constant[i]) continue;
        value->kind = ONS_CONSTANT;
        value->reason = ONS_FROM_CONSTANT_NODE;
        ONS_TRY(ons_store_refer(&t->model->store, &tensor->type, tensor->data, &value->data));
        remove_input(graph, ids[i]);
    }
    graph->symbols = NULL; /* every dimension is a number now */
    return NULL;
}

static void forget_graph(trial *t) {
    ons_graph_free(t->graph);
    t->graph = NULL;
    ons_model_free(t->model);
    t->model = NULL;
}

/* Import and binding with the chosen inputs as constants. Training mode is what the file's nodes say. */
static ons_status *bind(trial *t, const char *path, const data_set *set) {
    forget_graph(t);
    ONS_TRY(ons_model_open(path, NULL, false, NULL, &t->model));
    ONS_TRY(state_inputs(t, set));
    ons_bind_options options = {.mode = {.training = true, .batchnorm = ONS_AS_GRAPH, .dropout = ONS_AS_GRAPH}};
    return ons_bind(t->model->graph, t->model->registry, &options, NULL, &t->graph);
}

static bool binds(trial *t, const char *path, const data_set *set) {
    ons_status *status = bind(t, path, set);
    bool done = status == NULL;
    ons_status_free(status);
    return done;
}

/* No input is a constant where that will do; else all of them, less those that can be taken back one by one. */
static ons_status *bind_inputs(trial *t, const char *path, const data_set *set) {
    ONS_NEW(t->constant, t->arena, set->input_count + 1);
    if (binds(t, path, set)) return NULL;
    for (uint32_t i = 0; i < set->input_count; ++i) t->constant[i] = true;
    ONS_TRY(bind(t, path, set));
    for (uint32_t i = 0; i < set->input_count; ++i) {
        t->constant[i] = false;
        t->constant[i] = !binds(t, path, set);
    }
    return bind(t, path, set);
}

/* -------------------------------------------------------------------------------------------------------- preparing */

static ons_status *note_ends(trial *t, const data_set *set) {
    ons_graph *graph = t->graph;
    t->input_count = set->input_count;
    ONS_NEW(t->inputs, t->arena, set->input_count + 1);
    uint32_t found = 0;
    for (uint32_t i = 0; i < set->input_count; ++i) {
        t->inputs[i] = t->constant[i] ? ONS_NONE : ons_graph_find_value(graph, t->names[i]);
        found += t->inputs[i] != ONS_NONE;
    }
    t->all_bound = found == 0 && set->input_count > 0;
    ONS_CHECK(found == graph->inputs.count, ONS_INVALID_MODEL, "the data set has %u inputs, the model more",
              set->input_count);
    t->output_count = (uint32_t)graph->outputs.count;
    ONS_NEW(t->outputs, t->arena, t->output_count + 1);
    for (uint32_t i = 0; i < t->output_count; ++i) t->outputs[i] = graph->outputs.items[i];
    return NULL;
}

static ons_status *lay_out(trial *t) {
    ons_tracked_values tracked = {.count = (size_t)t->input_count + t->output_count};
    ONS_NEW(tracked.ids, t->arena, tracked.count + 1);
    memcpy(tracked.ids, t->inputs, t->input_count * sizeof *t->inputs);
    memcpy(tracked.ids + t->input_count, t->outputs, t->output_count * sizeof *t->outputs);
    ONS_TRY(ons_choose_layouts(t->graph, t->model->registry,
                               &(ons_layout_choice_options){.kernels = ONS_LAYOUTS_FOR_CPU}, &tracked));
    memcpy(t->inputs, tracked.ids, t->input_count * sizeof *t->inputs);
    memcpy(t->outputs, tracked.ids + t->input_count, t->output_count * sizeof *t->outputs);
    return ons_graph_verify(t->graph);
}

static ons_status *start(trial *t) {
    ons_device *device;
    ONS_TRY(ons_cpu_device_new(0, false, &device));
    ONS_TRY(ons_device_context_new(device, t->model->registry, THREADS, &t->device_context));
    ons_program_options options = {.kept = t->outputs, .kept_count = t->output_count};
    ONS_TRY(ons_device_context_add(t->device_context, t->graph, &options, &t->program));
    return ons_device_context_start(t->device_context);
}

ons_status *trial_bind(trial *t, const char *path, const data_set *set) {
    t->arena = ons_arena_new();
    if (t->arena == NULL) return ons_status_out_of_memory();
    ONS_TRY(bind_inputs(t, path, set));
    return note_ends(t, set);
}

ons_status *trial_prepare(trial *t, const char *path, const data_set *set) {
    ONS_TRY(trial_bind(t, path, set));
    ONS_TRY_AT(ons_fuse(&t->graph, t->model->registry), "fusing");
    ONS_TRY(note_ends(t, set));
    ONS_TRY_AT(lay_out(t), "choosing layouts");
    return start(t);
}

/* ---------------------------------------------------------------------------------------------------------- running */

typedef struct work {
    const trial *trial;
    const data_set *set;
    ons_program_fault fault;
} work;

static void run_program(void *argument, uintptr_t native) {
    (void)native;
    work *w = argument;
    const trial *t = w->trial;
    for (uint32_t i = 0; i < t->input_count; ++i) {
        const ons_tensor *tensor = &w->set->inputs[i].tensor;
        void *address = t->inputs[i] == ONS_NONE ? NULL : ons_program_address_to_write(t->program, t->inputs[i], NULL);
        if (address != NULL) memcpy(address, tensor->data, (size_t)ons_type_dense_bytes(&tensor->type));
    }
    ons_step step = {.seed = 1, .step = 1, .counted_targets = 1, .sample_share = 1};
    for (int part = 0; part < ONS_PART_KINDS && w->fault.fault.problem == NULL; ++part)
        ons_program_run(t->program, (ons_part)part, &(ons_run){.step = &step, .fault = &w->fault});
}

ons_status *trial_run(trial *t, const data_set *set) {
    work w = {.trial = t, .set = set, .fault = {.node = ONS_NONE}};
    ons_device_context_launch(t->device_context, run_program, &w);
    ons_device_context_wait(t->device_context);
    ONS_CHECK(w.fault.fault.problem == NULL, ONS_INVALID_DATA, "node '%s': %s (element %lld is %lld)",
              w.fault.node == ONS_NONE ? "" : ons_graph_node(t->graph, w.fault.node)->name, w.fault.fault.problem,
              (long long)w.fault.fault.index, (long long)w.fault.fault.value);
    return NULL;
}

ons_tensor trial_output(const trial *t, uint32_t index) {
    ons_value_id id = t->outputs[index];
    const ons_tensor *known = ons_graph_constant(t->graph, id);
    const void *address = ons_program_address(t->program, id, NULL);
    return (ons_tensor){.type = ons_graph_value(t->graph, id)->type,
                        .data = address == NULL && known != NULL ? known->data : address};
}

void trial_free(trial *t) {
    ons_device_context_free(t->device_context);
    forget_graph(t);
    ons_arena_free(t->arena);
    *t = (trial){0};
}
