#include "runtime/program/device_context.h"

#include <stdlib.h>
#include <string.h>

#include "graph/passes/update.h"
#include "runtime/program/device_context_state.h"
#include "runtime/program/poison.h"

ons_status *ons_device_context_new(ons_device *device, const ons_registry *registry, int threads,
                                   ons_device_context **result) {
    ons_device_context *c = calloc(1, sizeof *c);
    if (c == NULL) {
        device->free(device);
        return ons_status_out_of_memory();
    }
    c->device = device;
    c->registry = registry;
    c->threads = threads;
    ons_status *status = device->event_new(device, &c->done);
    if (status == NULL) status = device->stream_new(device, "compute", threads, &c->compute);
    if (status != NULL) {
        ons_device_context_free(c);
        return status;
    }
    *result = c;
    return NULL;
}

void ons_device_context_set_tf32(ons_device_context *c, bool tf32) { c->tf32 = tf32; }

/* Kernels are destroyed where they were made. */
static void free_programs(void *argument, uintptr_t native) {
    (void)native;
    ons_device_context *c = argument;
    for (size_t i = 0; i < c->programs.count; ++i) ons_program_free(c->programs.items[i]);
}

void ons_device_context_free(ons_device_context *c) {
    if (c == NULL) return;
    if (c->compute != NULL) {
        ons_device_context_launch(c, free_programs, c);
        ons_device_context_wait(c);
        c->device->stream_free(c->compute);
    }
    if (c->arena != NULL && c->device->host_can_access) ons_unpoison(c->arena, c->arena_bytes);
    c->device->release(c->device, c->arena, c->arena_bytes);
    if (c->scalars != NULL)
        c->device->release_host(c->device, c->scalars, (int64_t)c->scalar_count * (int64_t)sizeof *c->scalars);
    c->device->event_free(c->done);
    c->device->free(c->device);
    ons_vector_free(&c->programs);
    ons_vector_free(&c->residents);
    ons_map_free(&c->by_name);
    free(c);
}

ons_device *ons_device_context_device(const ons_device_context *c) { return c->device; }

ons_stream *ons_device_context_compute(const ons_device_context *c) { return c->compute; }

void ons_device_context_launch(ons_device_context *c, ons_task *task, void *argument) {
    c->device->launch(c->compute, task, argument);
}

void ons_device_context_wait(ons_device_context *c) {
    c->device->event_record(c->compute, c->done);
    c->device->event_synchronize(c->done);
}

typedef struct preparation {
    const ons_graph *graph;
    const ons_registry *registry;
    const ons_program_options *options;
    ons_program *program;
    ons_status *status;
} preparation;

static void prepare(void *argument, uintptr_t native) {
    (void)native;
    preparation *p = argument;
    p->status = ons_program_prepare(p->graph, p->registry, p->options, &p->program);
}

/* Programs share what has the same name; constants, which passes name as they like, what has the same data. */
static uint32_t find_resident(const ons_device_context *c, const ons_value *value, const ons_store *store) {
    if (value->kind != ONS_CONSTANT) return ons_map_get(&c->by_name, value->name);
    for (uint32_t i = 0; i < c->residents.count; ++i) {
        const ons_resident *each = &c->residents.items[i];
        if (each->kind == ONS_CONSTANT && each->data == value->data && each->store == store &&
            each->type.layout == value->type.layout)
            return i;
    }
    return ONS_MAP_ABSENT;
}

/* Of a slice: a vector of its elements. */
static ons_type held_type(const ons_program *program, ons_value_id value) {
    const ons_type *type = &ons_graph_value(ons_program_graph(program), value)->type;
    int64_t held = ons_program_held_elements(program, value);
    return held < 0 ? *type : (ons_type){.dtype = type->dtype, .shape = ons_shape_make(1, &held)};
}

/* What only the update reads is the optimiser's, and the loss is added up in the forward part. */
static void note_accumulators(ons_device_context *c, const ons_graph *graph) {
    for (ons_node_id id = 0; id < graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(graph, id);
        if (node->per_step || node->phase == ONS_FORWARD) continue;
        for (uint32_t i = 0; i < node->input_count; ++i) {
            const ons_value *value = node->inputs[i] == ONS_NONE ? NULL : ons_graph_value(graph, node->inputs[i]);
            if (value == NULL || value->kind != ONS_STATE || value->producer != ONS_NONE) continue;
            uint32_t index = find_resident(c, value, graph->store);
            if (index != ONS_MAP_ABSENT) c->residents.items[index].accumulates = true;
        }
    }
}

/* Half weights that updates write beside the weights. */
static void note_half_weights(ons_device_context *c, const ons_graph *graph) {
    for (ons_node_id id = 0; id < graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(graph, id);
        ons_value_id half = ons_update_half_of(node);
        if (half == ONS_NONE) continue;
        uint32_t index = find_resident(c, ons_graph_value(graph, half), graph->store);
        const char *weight = ons_graph_value(graph, node->inputs[ONS_UPDATE_PARAMETER])->name;
        if (index != ONS_MAP_ABSENT) c->residents.items[index].rounds = weight;
    }
}

static ons_status *add_residents(ons_device_context *c, const ons_program *program, uint32_t versions) {
    const ons_liveness *l = ons_program_liveness(program);
    const ons_graph *graph = ons_program_graph(program);
    for (uint32_t i = 0; i < l->buffer_count; ++i) {
        if (!l->buffers[i].persistent) continue;
        const ons_value *value = ons_graph_value(graph, l->buffers[i].owner);
        ons_type type = held_type(program, l->buffers[i].owner);
        uint32_t known = find_resident(c, value, graph->store);
        bool versioned = ons_program_is_versioned(program, l->buffers[i].owner);
        int64_t bytes = l->buffers[i].bytes;
        ONS_CHECK(!versioned || !__builtin_mul_overflow(ons_arena_align(bytes), (int64_t)versions, &bytes),
                  ONS_OUT_OF_MEMORY, "the size of %u versions of '%s' overflows", versions, value->name);
        if (known != ONS_MAP_ABSENT) {
            ONS_CHECK(ons_type_equal(&c->residents.items[known].type, &type), ONS_DEFECT,
                      "'%s' has different types in two programs", value->name);
            ons_resident *each = &c->residents.items[known];
            each->bytes = bytes > each->bytes ? bytes : each->bytes;
            continue;
        }
        if (value->kind != ONS_CONSTANT) ONS_TRY(ons_map_set(&c->by_name, value->name, (uint32_t)c->residents.count));
        ONS_PUSH(&c->residents, (ons_resident){.name = value->name,
                                               .kind = value->kind,
                                               .type = type,
                                               .data = value->data,
                                               .store = graph->store,
                                               .bytes = bytes});
    }
    note_accumulators(c, graph);
    note_half_weights(c, graph);
    return NULL;
}

static void note_layout(ons_device_context *c, const ons_program *program) {
    const ons_arena_layout *layout = ons_program_layout(program);
    c->transient_bytes = layout->bytes > c->transient_bytes ? layout->bytes : c->transient_bytes;
    c->lower_bound = layout->lower_bound > c->lower_bound ? layout->lower_bound : c->lower_bound;
}

ons_status *ons_device_context_add(ons_device_context *c, const ons_graph *graph, const ons_program_options *options,
                                   ons_program **result) {
    ONS_CHECK(c->arena == NULL, ONS_DEFECT, "a program is added after the arena was laid out");
    ons_program_options own = *options;
    own.threads = c->threads;
    own.tf32 = c->tf32;
    own.backend = ons_backend_find(c->device->name);
    own.discrete_memory = !c->device->host_can_access;
    ONS_CHECK(own.backend != NULL, ONS_DEFECT, "no kernels for the device '%s' in this build", c->device->name);
    preparation p = {.graph = graph, .registry = c->registry, .options = &own};
    if (!ons_vector_reserve(&c->programs, 1)) return ons_status_out_of_memory();
    ons_device_context_launch(c, prepare, &p);
    ons_device_context_wait(c);
    ONS_TRY(p.status);
    c->programs.items[c->programs.count++] = p.program;
    if (options->halves == NULL) note_layout(c, p.program); /* a half lies in another program */
    *result = p.program;
    uint32_t steps = own.discrete_memory ? 2 * (options->micro_batches > 1 ? options->micro_batches : 1) : 0;
    c->step_count = steps > c->step_count ? steps : c->step_count;
    return add_residents(c, p.program, options->versions);
}

ons_status *ons_device_context_join(ons_device_context *c, ons_program *const programs[2]) {
    ONS_CHECK(c->arena == NULL, ONS_DEFECT, "programs are joined after the arena was laid out");
    ONS_TRY(ons_program_join(programs));
    note_layout(c, programs[0]); /* together they take no less than one of them alone */
    return NULL;
}

void ons_device_context_reserve_staging(ons_device_context *c, int64_t bytes) {
    c->staging_bytes = ons_arena_align(bytes);
}

void ons_device_context_reserve_samples(ons_device_context *c, int64_t bytes) {
    c->samples_bytes = ons_arena_align(bytes);
}

static int64_t fault_offset(const ons_device_context *c) {
    return ons_arena_align((int64_t)c->step_count * (int64_t)sizeof(ons_step));
}

static int64_t control_bytes(const ons_device_context *c) {
    return c->step_count == 0 ? 0 : fault_offset(c) + ons_arena_align(sizeof(ons_fault));
}

ons_status *ons_device_context_predict(const ons_device_context *c, ons_device_context_memory *memory) {
    *memory = (ons_device_context_memory){.transient = c->transient_bytes,
                                          .lower_bound = c->lower_bound,
                                          .staging = c->staging_bytes,
                                          .samples = c->samples_bytes,
                                          .control = control_bytes(c)};
    for (size_t i = 0; i < c->residents.count; ++i) {
        const ons_resident *each = &c->residents.items[i];
        int64_t bytes = ons_arena_align(each->bytes);
        int64_t *part = each->kind == ONS_PARAMETER ? &memory->parameters
                        : each->kind == ONS_STATE   ? &memory->states
                        : each->kind == ONS_BUFFER  ? &memory->buffers
                                                    : &memory->constants;
        ONS_CHECK(!__builtin_add_overflow(*part, bytes, part), ONS_OUT_OF_MEMORY, "the model's size overflows");
        if (each->accumulates) memory->gradients += bytes;
    }
    memory->total = memory->parameters + memory->states + memory->buffers + memory->constants + memory->transient +
                    memory->staging + memory->samples + memory->control;
    return NULL;
}

static ons_status *load_contents(ons_device_context *c, const ons_resident *each) {
    const ons_tensor *tensor = ons_store_get(each->store, each->data);
    if (tensor == NULL || tensor->data == NULL) return NULL;
    if (each->type.dtype != tensor->type.dtype) return ons_device_context_load_widened(c, each, tensor);
    char *address = (char *)c->arena + each->offset;
    if (each->type.layout != ONS_LAYOUT_ONNX && each->type.layout != tensor->type.layout)
        return c->registry->relayout(&tensor->type, each->type.layout, tensor->data, address);
    return ons_device_context_copy(c, address, tensor->data, (size_t)ons_type_dense_bytes(&tensor->type));
}

static ons_status *place_program(ons_device_context *c, ons_program *program, void *transient) {
    const ons_liveness *l = ons_program_liveness(program);
    const ons_graph *graph = ons_program_graph(program);
    void **addresses = calloc(l->buffer_count + 1, sizeof *addresses);
    if (addresses == NULL) return ons_status_out_of_memory();
    for (uint32_t i = 0; i < l->buffer_count; ++i)
        if (l->buffers[i].persistent) {
            uint32_t index = find_resident(c, ons_graph_value(graph, l->buffers[i].owner), graph->store);
            addresses[i] = (char *)c->arena + c->residents.items[index].offset;
        }
    ons_status *status = ons_program_place(program, addresses, transient);
    free(addresses);
    return status;
}

void ons_device_context_tell_loaded(ons_device_context *c, void (*loaded)(void *argument), void *argument) {
    c->loaded = loaded;
    c->loaded_argument = argument;
}

/* Of all contents, so that what `loaded` costs stays in proportion. */
static int64_t loaded_at_once(const ons_device_context *c) {
    enum { LEAST = 4 << 20, TIMES = 64 }; /* bytes; calls */
    int64_t bytes = c->arena_bytes / TIMES;
    return bytes > LEAST ? bytes : LEAST;
}

static bool has_contents(const ons_resident *each) {
    const ons_tensor *tensor = ons_store_get(each->store, each->data);
    return tensor != NULL && tensor->data != NULL;
}

static ons_status *load_all(ons_device_context *c) {
    int64_t since = 0, often = loaded_at_once(c);
    for (size_t i = 0; i < c->residents.count; ++i) {
        const ons_resident *each = &c->residents.items[i];
        ONS_TRY(load_contents(c, each));
        if (c->device->host_can_access) ons_poison_tail((char *)c->arena + each->offset, each->bytes);
        if (has_contents(each)) since += each->bytes;
        if (c->loaded == NULL || since == 0 || (since < often && i + 1 < c->residents.count)) continue;
        c->loaded(c->loaded_argument);
        since = 0;
    }
    return NULL;
}

ons_status *ons_device_context_start(ons_device_context *c) {
    ons_device_context_memory memory;
    ONS_TRY(ons_device_context_predict(c, &memory));
    int64_t offset = 0;
    for (int constants = 0; constants < 2; ++constants)
        for (size_t i = 0; i < c->residents.count; ++i)
            if ((c->residents.items[i].kind == ONS_CONSTANT) == (constants == 1)) {
                c->residents.items[i].offset = offset;
                offset += ons_arena_align(c->residents.items[i].bytes);
            }
    ONS_TRY(ons_device_context_reserve(c, &c->promised));
    ONS_TRY(c->device->allocate(c->device, memory.total, &c->arena));
    c->arena_bytes = memory.total;
    ONS_TRY(load_all(c));
    ONS_TRY(ons_device_context_round_all(c));
    bool poison = true;
    for (size_t i = 0; i < c->programs.count; ++i) poison = poison && ons_program_poisons(c->programs.items[i]);
    for (size_t i = 0; !poison && i < c->programs.count; ++i) ons_program_stop_poisoning(c->programs.items[i]);
    for (int halves = 0; halves < 2; ++halves) /* behind the programs that they lie in */
        for (size_t i = 0; i < c->programs.count; ++i)
            if ((ons_program_whole(c->programs.items[i]) != NULL) == (halves == 1))
                ONS_TRY(place_program(c, c->programs.items[i], (char *)c->arena + offset));
    ons_device_context_bury_all(c);
    return NULL;
}

void ons_device_context_bury_all(const ons_device_context *c) {
    for (size_t i = 0; i < c->programs.count; ++i) ons_program_bury_all(c->programs.items[i]);
}

static ons_status *measure_reserve(const ons_device_context *c) {
    int64_t free_bytes;
    return c->device->measure_memory == NULL ? NULL : c->device->measure_memory(c->device, &free_bytes);
}

ons_status *ons_device_context_reserve(const ons_device_context *c, int64_t *bytes) {
    ONS_TRY(measure_reserve(c));
    *bytes = c->device->reserve_bytes;
    if (c->arena == NULL) *bytes += c->device->slack_bytes;
    if (c->arena != NULL && *bytes < c->promised) *bytes = c->promised;
    return NULL;
}

ons_status *ons_device_context_check_cap(const ons_device_context *c, const char *what) {
    int64_t limit = c->device->limit_bytes;
    if (limit == 0) return NULL;
    ONS_TRY(measure_reserve(c));
    int64_t reserve = c->device->reserve_bytes;
    ONS_CHECK(c->device->used_bytes + reserve <= limit, ONS_OUT_OF_MEMORY,
              "--memory %lld bytes is too little: with %s, %lld are needed, of which the GPU's context and libraries "
              "take %lld",
              (long long)limit, what, (long long)(c->device->used_bytes + reserve), (long long)reserve);
    return NULL;
}

int64_t ons_device_context_used(const ons_device_context *c) { return c->device->used_bytes; }

void *ons_device_context_find(const ons_device_context *c, const char *name, ons_type *type) {
    uint32_t index = ons_map_get(&c->by_name, name);
    if (index == ONS_MAP_ABSENT) return NULL;
    if (type != NULL) *type = c->residents.items[index].type;
    return (char *)c->arena + c->residents.items[index].offset;
}

void *ons_device_context_staging(const ons_device_context *c) {
    return (char *)c->arena + c->arena_bytes - control_bytes(c) - c->samples_bytes - c->staging_bytes;
}

void *ons_device_context_samples(const ons_device_context *c, int64_t *bytes) {
    *bytes = c->samples_bytes;
    return (char *)c->arena + c->arena_bytes - control_bytes(c) - c->samples_bytes;
}

ons_device_context_control ons_device_context_get_control(const ons_device_context *c) {
    if (c->step_count == 0 || c->arena == NULL) return (ons_device_context_control){0};
    char *begin = (char *)c->arena + c->arena_bytes - control_bytes(c);
    return (ons_device_context_control){(ons_step *)(void *)begin, c->step_count,
                                        (ons_fault *)(void *)(begin + fault_offset(c))};
}
