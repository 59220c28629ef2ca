#include "tests/rooms/kernels/target.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD_BYTES = 256, GUARD = 0xC3 };

static const ons_backend *cpu_backend(void) { return ons_backend_find("cpu"); }

static void *cpu_allocate(size_t bytes) { return aligned_alloc(64, (bytes + 63) / 64 * 64); }

static void cpu_copy(void *to, const void *from, size_t bytes) {
    if (bytes > 0) memcpy(to, from, bytes);
}

static void cpu_launch(ons_run_function *run, ons_launch *launch) { run(launch); }

static ons_status *cpu_finish(void) { return NULL; }

const ons_target ons_target_cpu = {
    .name = "cpu",
    .backend = cpu_backend,
    .allocate = cpu_allocate,
    .release = free,
    .copy_in = cpu_copy,
    .copy_out = cpu_copy,
    .launch = cpu_launch,
    .finish = cpu_finish,
};

bool ons_target_runs(const ons_target *target, const ons_operator *op) {
    const char *why_not;
    const ons_backend *backend = target->backend();
    return backend != NULL && ons_backend_has(backend, op, &why_not);
}

ons_status *ons_buffer_init(ons_buffer *buffer, const ons_target *target, size_t bytes) {
    *buffer = (ons_buffer){.target = target, .bytes = bytes};
    buffer->memory = target->allocate(bytes + 2 * GUARD_BYTES);
    if (buffer->memory == NULL) return ons_status_out_of_memory();
    buffer->data = buffer->memory + GUARD_BYTES;
    unsigned char guard[GUARD_BYTES];
    memset(guard, GUARD, sizeof guard);
    target->copy_in(buffer->memory, guard, GUARD_BYTES);
    target->copy_in(buffer->data + bytes, guard, GUARD_BYTES);
    return NULL;
}

void ons_buffer_free(ons_buffer *buffer) {
    if (buffer->memory != NULL) buffer->target->release(buffer->memory);
    *buffer = (ons_buffer){0};
}

void ons_buffer_fill(ons_buffer *buffer, unsigned char byte) {
    char pattern[4096];
    memset(pattern, byte, sizeof pattern);
    for (size_t at = 0; at < buffer->bytes; at += sizeof pattern) {
        size_t rest = buffer->bytes - at;
        buffer->target->copy_in(buffer->data + at, pattern, rest < sizeof pattern ? rest : sizeof pattern);
    }
}

void ons_buffer_write(ons_buffer *buffer, const void *from) {
    buffer->target->copy_in(buffer->data, from, buffer->bytes);
}

void ons_buffer_read(const ons_buffer *buffer, void *to) { buffer->target->copy_out(to, buffer->data, buffer->bytes); }

ons_status *ons_buffer_check(const ons_buffer *buffer, const char *what, uint32_t index) {
    unsigned char before[GUARD_BYTES], after[GUARD_BYTES];
    buffer->target->copy_out(before, buffer->memory, GUARD_BYTES);
    buffer->target->copy_out(after, buffer->data + buffer->bytes, GUARD_BYTES);
    for (size_t i = 0; i < GUARD_BYTES; ++i) {
        ONS_CHECK(before[i] == GUARD, ONS_DEFECT, "the kernel wrote %zu bytes before %s %u", GUARD_BYTES - i, what,
                  index);
        ONS_CHECK(after[i] == GUARD, ONS_DEFECT, "the kernel wrote at byte %zu of %s %u, which has %zu",
                  buffer->bytes + i, what, index, buffer->bytes);
    }
    return NULL;
}

size_t ons_bytes_of(const ons_registry *registry, const ons_type *type) {
    return type->dtype == ONS_NO_DTYPE ? 0 : (size_t)ons_registry_type_bytes(registry, type);
}

static void copy_views(const ons_registry *registry, const ons_operands *o, const void *const *inputs,
                       void *const *outputs) {
    for (const ons_alias *alias = o->op->aliases; alias->kind != ONS_ALIAS_END; ++alias)
        if (alias->kind == ONS_ALIAS_VIEW && alias->output < o->output_count && outputs[alias->output] != NULL)
            cpu_copy(outputs[alias->output], inputs[alias->input], ons_bytes_of(registry, &o->inputs[alias->input]));
}

typedef struct run_memory {
    ons_buffer *inputs, *outputs, scratch;
    const void **input_pointers;
    void **output_pointers;
} run_memory;

static ons_status *fill_memory(const ons_registry *registry, const ons_target *target, const ons_operands *o,
                               ons_arena *arena, const void *const *inputs, void *const *outputs, run_memory *m) {
    ONS_NEW(m->inputs, arena, o->input_count + 1);
    ONS_NEW(m->outputs, arena, o->output_count + 1);
    ONS_NEW(m->input_pointers, arena, o->input_count + 1);
    ONS_NEW(m->output_pointers, arena, o->output_count + 1);
    for (uint32_t i = 0; i < o->input_count; ++i) {
        if (inputs[i] == NULL) continue;
        ONS_TRY(ons_buffer_init(&m->inputs[i], target, ons_bytes_of(registry, &o->inputs[i])));
        ons_buffer_write(&m->inputs[i], inputs[i]);
        m->input_pointers[i] = m->inputs[i].data;
    }
    for (uint32_t i = 0; i < o->output_count; ++i) {
        if (outputs[i] == NULL) continue;
        ONS_TRY(ons_buffer_init(&m->outputs[i], target, ons_bytes_of(registry, &o->outputs[i])));
        m->output_pointers[i] = m->outputs[i].data;
    }
    /* What takes an input's place starts with its contents. */
    for (const ons_alias *alias = o->op->aliases; alias->kind != ONS_ALIAS_END; ++alias)
        if (alias->kind == ONS_ALIAS_STATE && alias->output < o->output_count && alias->input < o->input_count &&
            m->output_pointers[alias->output] != NULL && m->input_pointers[alias->input] != NULL)
            m->output_pointers[alias->output] = m->inputs[alias->input].data;
    return NULL;
}

static ons_status *launch(const ons_target *target, ons_run_function *run, const ons_prepare *p, const ons_step *step,
                          run_memory *m) {
    ONS_TRY(ons_buffer_init(&m->scratch, target, (size_t)p->scratch_bytes));
    ons_fault fault = {0};
    target->launch(run, &(ons_launch){.inputs = m->input_pointers,
                                      .outputs = m->output_pointers,
                                      .scratch = m->scratch.data,
                                      .state = p->state,
                                      .step = step,
                                      .fault = &fault});
    ONS_TRY(target->finish());
    ONS_CHECK(fault.problem == NULL, ONS_DEFECT, "%s: %s (element %lld, value %lld)", p->operands->op->name,
              fault.problem, (long long)fault.index, (long long)fault.value);
    return NULL;
}

ons_status *ons_run_once(const ons_registry *registry, const ons_target *target, const ons_operands *operands,
                         const ons_step *step, int threads, const void *const *inputs, void *const *outputs) {
    if (ons_is_view(operands->op)) {
        copy_views(registry, operands, inputs, outputs);
        return NULL;
    }
    ons_arena *arena = ons_arena_new();
    if (arena == NULL) return ons_status_out_of_memory();
    omp_set_num_threads(threads);
    run_memory memory = {0};
    ons_prepare p = {.operands = operands,
                     .threads = threads,
                     .scratch_limit = INT64_MAX,
                     .arena = arena,
                     .node_key = step->node_key};
    const ons_kernel *kernel = NULL;
    ons_status *status = ons_backend_prepare(target->backend(), &p, &kernel);
    if (status == NULL) status = fill_memory(registry, target, operands, arena, inputs, outputs, &memory);
    if (status == NULL) status = launch(target, kernel->run, &p, step, &memory);
    for (uint32_t i = 0; memory.output_pointers != NULL && status == NULL && i < operands->output_count; ++i)
        if (outputs[i] != NULL)
            target->copy_out(outputs[i], memory.output_pointers[i], ons_bytes_of(registry, &operands->outputs[i]));
    for (uint32_t i = 0; memory.inputs != NULL && i < operands->input_count; ++i) ons_buffer_free(&memory.inputs[i]);
    for (uint32_t i = 0; memory.outputs != NULL && i < operands->output_count; ++i) ons_buffer_free(&memory.outputs[i]);
    ons_buffer_free(&memory.scratch);
    if (p.destroy != NULL) p.destroy(p.state);
    ons_arena_free(arena);
    return status;
}
