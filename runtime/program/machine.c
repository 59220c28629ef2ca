#include "runtime/program/machine.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"

/* A value that keeps its place from step to step. */
typedef struct resident {
    const char *name; /* of constants: as in the first program that has it */
    ons_value_kind kind;
    ons_type type;
    ons_data_id data;
    const ons_store *store;
    int64_t bytes; /* of all versions of it */
    int64_t offset;
} resident;

struct ons_machine {
    ons_device *device;
    const ons_registry *registry;
    int threads;
    bool tf32;
    ons_stream *compute;
    ons_event *done;
    ONS_VECTOR(ons_program *) programs;
    ONS_VECTOR(resident) residents;
    ons_map by_name;
    int64_t transient_bytes, lower_bound, staging_bytes;
    uint32_t step_count; /* places for steps in the control part; 0: there is none */
    void *arena;
    int64_t arena_bytes;
    int64_t promised; /* bytes of the device beside the arena, as they counted when it was taken */
    double *scalars;  /* the host's, that copies are fast with; as many as were ever asked for at once */
    uint32_t scalar_count;
};

ons_status *ons_machine_new(ons_device *device, const ons_registry *registry, int threads, ons_machine **result) {
    ons_machine *m = calloc(1, sizeof *m);
    if (m == NULL) {
        device->free(device);
        return ons_status_out_of_memory();
    }
    m->device = device;
    m->registry = registry;
    m->threads = threads;
    ons_status *status = device->event_new(device, &m->done);
    if (status == NULL) status = device->stream_new(device, "compute", threads, &m->compute);
    if (status != NULL) {
        ons_machine_free(m);
        return status;
    }
    *result = m;
    return NULL;
}

void ons_machine_set_tf32(ons_machine *m, bool tf32) { m->tf32 = tf32; }

/* Kernels are destroyed where they were made. */
static void free_programs(void *argument, uintptr_t native) {
    (void)native;
    ons_machine *m = argument;
    for (size_t i = 0; i < m->programs.count; ++i) ons_program_free(m->programs.items[i]);
}

void ons_machine_free(ons_machine *m) {
    if (m == NULL) return;
    if (m->compute != NULL) {
        ons_machine_launch(m, free_programs, m);
        ons_machine_wait(m);
        m->device->stream_free(m->compute);
    }
    m->device->release(m->device, m->arena, m->arena_bytes);
    if (m->scalars != NULL)
        m->device->release_host(m->device, m->scalars, (int64_t)m->scalar_count * (int64_t)sizeof *m->scalars);
    m->device->event_free(m->done);
    m->device->free(m->device);
    ons_vector_free(&m->programs);
    ons_vector_free(&m->residents);
    ons_map_free(&m->by_name);
    free(m);
}

ons_device *ons_machine_device(const ons_machine *m) { return m->device; }

ons_stream *ons_machine_compute(const ons_machine *m) { return m->compute; }

void ons_machine_launch(ons_machine *m, ons_task *task, void *argument) {
    m->device->launch(m->compute, task, argument);
}

void ons_machine_wait(ons_machine *m) {
    m->device->event_record(m->compute, m->done);
    m->device->event_synchronize(m->done);
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
static uint32_t find_resident(const ons_machine *m, const ons_value *value, const ons_store *store) {
    if (value->kind != ONS_CONSTANT) return ons_map_get(&m->by_name, value->name);
    for (uint32_t i = 0; i < m->residents.count; ++i) {
        const resident *each = &m->residents.items[i];
        if (each->kind == ONS_CONSTANT && each->data == value->data && each->store == store &&
            each->type.layout == value->type.layout)
            return i;
    }
    return ONS_MAP_ABSENT;
}

static ons_status *add_residents(ons_machine *m, const ons_program *program, uint32_t versions) {
    const ons_liveness *l = ons_program_liveness(program);
    const ons_graph *graph = ons_program_graph(program);
    for (uint32_t i = 0; i < l->buffer_count; ++i) {
        if (!l->buffers[i].persistent) continue;
        const ons_value *value = ons_graph_value(graph, l->buffers[i].owner);
        uint32_t known = find_resident(m, value, graph->store);
        bool versioned = ons_program_is_versioned(program, l->buffers[i].owner);
        int64_t bytes = l->buffers[i].bytes;
        ONS_CHECK(!versioned || !__builtin_mul_overflow(ons_arena_align(bytes), (int64_t)versions, &bytes),
                  ONS_OUT_OF_MEMORY, "the size of %u versions of '%s' overflows", versions, value->name);
        if (known != ONS_MAP_ABSENT) {
            ONS_CHECK(ons_type_equal(&m->residents.items[known].type, &value->type), ONS_DEFECT,
                      "'%s' has different types in two programs", value->name);
            resident *each = &m->residents.items[known];
            each->bytes = bytes > each->bytes ? bytes : each->bytes;
            continue;
        }
        if (value->kind != ONS_CONSTANT) ONS_TRY(ons_map_set(&m->by_name, value->name, (uint32_t)m->residents.count));
        ONS_PUSH(&m->residents, (resident){value->name, value->kind, value->type, value->data, graph->store, bytes, 0});
    }
    return NULL;
}

static void note_layout(ons_machine *m, const ons_program *program) {
    const ons_arena_layout *layout = ons_program_layout(program);
    m->transient_bytes = layout->bytes > m->transient_bytes ? layout->bytes : m->transient_bytes;
    m->lower_bound = layout->lower_bound > m->lower_bound ? layout->lower_bound : m->lower_bound;
}

ons_status *ons_machine_add(ons_machine *m, const ons_graph *graph, const ons_program_options *options,
                            ons_program **result) {
    ONS_CHECK(m->arena == NULL, ONS_DEFECT, "a program is added after the arena was laid out");
    ons_program_options own = *options;
    own.threads = m->threads;
    own.tf32 = m->tf32;
    own.backend = ons_backend_find(m->device->name);
    own.far = !m->device->host_can_access;
    ONS_CHECK(own.backend != NULL, ONS_DEFECT, "no kernels for the device '%s' in this build", m->device->name);
    preparation p = {.graph = graph, .registry = m->registry, .options = &own};
    if (!ons_vector_reserve(&m->programs, 1)) return ons_status_out_of_memory();
    ons_machine_launch(m, prepare, &p);
    ons_machine_wait(m);
    ONS_TRY(p.status);
    m->programs.items[m->programs.count++] = p.program;
    note_layout(m, p.program);
    *result = p.program;
    uint32_t steps = own.far ? 2 * (options->micro_batches > 1 ? options->micro_batches : 1) : 0;
    m->step_count = steps > m->step_count ? steps : m->step_count;
    return add_residents(m, p.program, options->versions);
}

ons_status *ons_machine_join(ons_machine *m, ons_program *const programs[2]) {
    ONS_CHECK(m->arena == NULL, ONS_DEFECT, "programs are joined after the arena was laid out");
    ONS_TRY(ons_program_join(programs));
    note_layout(m, programs[0]); /* together they take no less than one of them alone */
    return NULL;
}

void ons_machine_reserve_staging(ons_machine *m, int64_t bytes) { m->staging_bytes = ons_arena_align(bytes); }

static int64_t fault_offset(const ons_machine *m) {
    return ons_arena_align((int64_t)m->step_count * (int64_t)sizeof(ons_step));
}

static int64_t control_bytes(const ons_machine *m) {
    return m->step_count == 0 ? 0 : fault_offset(m) + ons_arena_align(sizeof(ons_fault));
}

ons_status *ons_machine_predict(const ons_machine *m, ons_machine_memory *memory) {
    *memory = (ons_machine_memory){.transient = m->transient_bytes,
                                   .lower_bound = m->lower_bound,
                                   .staging = m->staging_bytes,
                                   .control = control_bytes(m)};
    for (size_t i = 0; i < m->residents.count; ++i) {
        const resident *each = &m->residents.items[i];
        int64_t bytes = ons_arena_align(each->bytes);
        int64_t *part = each->kind == ONS_PARAMETER ? &memory->parameters
                        : each->kind == ONS_STATE   ? &memory->states
                        : each->kind == ONS_BUFFER  ? &memory->buffers
                                                    : &memory->constants;
        ONS_CHECK(!__builtin_add_overflow(*part, bytes, part), ONS_OUT_OF_MEMORY, "the model's size overflows");
    }
    memory->total = memory->parameters + memory->states + memory->buffers + memory->constants + memory->transient +
                    memory->staging + memory->control;
    return NULL;
}

static ons_status *load_contents(ons_machine *m, const resident *each) {
    const ons_tensor *tensor = ons_store_get(each->store, each->data);
    if (tensor == NULL || tensor->data == NULL) return NULL;
    return ons_machine_copy(m, (char *)m->arena + each->offset, tensor->data,
                            (size_t)ons_type_dense_bytes(&tensor->type));
}

static ons_status *place_program(ons_machine *m, ons_program *program, void *transient) {
    const ons_liveness *l = ons_program_liveness(program);
    const ons_graph *graph = ons_program_graph(program);
    void **addresses = calloc(l->buffer_count + 1, sizeof *addresses);
    if (addresses == NULL) return ons_status_out_of_memory();
    for (uint32_t i = 0; i < l->buffer_count; ++i)
        if (l->buffers[i].persistent) {
            uint32_t index = find_resident(m, ons_graph_value(graph, l->buffers[i].owner), graph->store);
            addresses[i] = (char *)m->arena + m->residents.items[index].offset;
        }
    ons_status *status = ons_program_place(program, addresses, transient);
    free(addresses);
    return status;
}

ons_status *ons_machine_start(ons_machine *m) {
    ons_machine_memory memory;
    ONS_TRY(ons_machine_predict(m, &memory));
    int64_t offset = 0;
    for (int constants = 0; constants < 2; ++constants)
        for (size_t i = 0; i < m->residents.count; ++i)
            if ((m->residents.items[i].kind == ONS_CONSTANT) == (constants == 1)) {
                m->residents.items[i].offset = offset;
                offset += ons_arena_align(m->residents.items[i].bytes);
            }
    ONS_TRY(ons_machine_reserve(m, &m->promised));
    ONS_TRY(m->device->allocate(m->device, memory.total, &m->arena));
    m->arena_bytes = memory.total;
    for (size_t i = 0; i < m->residents.count; ++i) ONS_TRY(load_contents(m, &m->residents.items[i]));
    for (size_t i = 0; i < m->programs.count; ++i)
        ONS_TRY(place_program(m, m->programs.items[i], (char *)m->arena + offset));
    return NULL;
}

static ons_status *measure_reserve(const ons_machine *m) {
    int64_t free_bytes;
    return m->device->measure_memory == NULL ? NULL : m->device->measure_memory(m->device, &free_bytes);
}

ons_status *ons_machine_reserve(const ons_machine *m, int64_t *bytes) {
    ONS_TRY(measure_reserve(m));
    *bytes = m->device->reserve_bytes;
    if (m->arena == NULL) *bytes += m->device->slack_bytes;
    if (m->arena != NULL && *bytes < m->promised) *bytes = m->promised;
    return NULL;
}

ons_status *ons_machine_check_cap(const ons_machine *m, const char *what) {
    int64_t limit = m->device->limit_bytes;
    if (limit == 0) return NULL;
    ONS_TRY(measure_reserve(m));
    int64_t reserve = m->device->reserve_bytes;
    ONS_CHECK(m->device->used_bytes + reserve <= limit, ONS_OUT_OF_MEMORY,
              "--memory %lld bytes is too little: with %s, %lld are needed, of which the GPU's context and libraries "
              "take %lld",
              (long long)limit, what, (long long)(m->device->used_bytes + reserve), (long long)reserve);
    return NULL;
}

int64_t ons_machine_used(const ons_machine *m) { return m->device->used_bytes; }

void *ons_machine_find(const ons_machine *m, const char *name, ons_type *type) {
    uint32_t index = ons_map_get(&m->by_name, name);
    if (index == ONS_MAP_ABSENT) return NULL;
    if (type != NULL) *type = m->residents.items[index].type;
    return (char *)m->arena + m->residents.items[index].offset;
}

void *ons_machine_staging(const ons_machine *m) {
    return (char *)m->arena + m->arena_bytes - control_bytes(m) - m->staging_bytes;
}

ons_machine_control ons_machine_get_control(const ons_machine *m) {
    if (m->step_count == 0 || m->arena == NULL) return (ons_machine_control){0};
    char *begin = (char *)m->arena + m->arena_bytes - control_bytes(m);
    return (ons_machine_control){(ons_step *)(void *)begin, m->step_count,
                                 (ons_fault *)(void *)(begin + fault_offset(m))};
}

/* ------------------------------------------------------------------------------------------------------------- looking
 */

ons_status *ons_machine_copy(ons_machine *m, void *to, const void *from, size_t bytes) {
    if (m->device->host_can_access) {
        memcpy(to, from, bytes);
        return NULL;
    }
    m->device->copy(m->compute, to, from, bytes);
    ons_machine_wait(m);
    return m->device->failure(m->device);
}

static bool is_wide(const ons_program *program, ons_value_id value) {
    return ons_graph_value(ons_program_graph(program), value)->type.dtype == ONS_FLOAT64;
}

static double number_at(const void *address, bool wide) {
    float narrow;
    double number;
    if (wide) {
        memcpy(&number, address, sizeof number);
        return number;
    }
    memcpy(&narrow, address, sizeof narrow);
    return narrow;
}

/* Every step asks for as many again: no memory is taken after the first one. */
static ons_status *reserve_scalars(ons_machine *m, uint32_t count) {
    void *taken;
    if (count <= m->scalar_count) return NULL;
    ONS_TRY(m->device->allocate_host(m->device, (int64_t)count * (int64_t)sizeof *m->scalars, &taken));
    if (m->scalars != NULL)
        m->device->release_host(m->device, m->scalars, (int64_t)m->scalar_count * (int64_t)sizeof *m->scalars);
    m->scalars = taken;
    m->scalar_count = count;
    return NULL;
}

static ons_status *fetch_scalars(ons_machine *m, const ons_program *program, const ons_value_id *values,
                                 uint32_t count) {
    ONS_TRY(reserve_scalars(m, count));
    for (uint32_t i = 0; i < count; ++i)
        if (values[i] != ONS_NONE)
            m->device->copy(m->compute, &m->scalars[i], ons_program_address(program, values[i], NULL),
                            is_wide(program, values[i]) ? sizeof(double) : sizeof(float));
    ons_machine_wait(m);
    return m->device->failure(m->device);
}

ons_status *ons_machine_scalars(ons_machine *m, const ons_program *program, const ons_value_id *values, uint32_t count,
                                double *scalars) {
    bool here = m->device->host_can_access, any = false;
    for (uint32_t i = 0; i < count; ++i) any = any || values[i] != ONS_NONE;
    if (!any) return NULL;
    if (!here) ONS_TRY(fetch_scalars(m, program, values, count));
    for (uint32_t i = 0; i < count; ++i) {
        if (values[i] == ONS_NONE) continue;
        const void *address = here ? ons_program_address(program, values[i], NULL) : &m->scalars[i];
        scalars[i] = number_at(address, is_wide(program, values[i]));
    }
    return NULL;
}

ons_status *ons_machine_scalar(ons_machine *m, const ons_program *program, ons_value_id value, double *scalar) {
    return ons_machine_scalars(m, program, &value, 1, scalar);
}

ons_status *ons_machine_look(ons_machine *m, const void *address, size_t bytes, ons_host_copy *copy,
                             const void **contents) {
    *contents = address;
    if (m->device->host_can_access) return NULL;
    if (bytes > copy->size) {
        free(copy->data);
        copy->data = malloc(bytes);
        copy->size = copy->data == NULL ? 0 : bytes;
        if (copy->data == NULL) return ons_status_out_of_memory();
    }
    *contents = copy->data;
    return ons_machine_copy(m, copy->data, address, bytes);
}

void ons_host_copy_free(ons_host_copy *copy) {
    free(copy->data);
    *copy = (ons_host_copy){0};
}
