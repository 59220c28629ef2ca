/* What the scheduler (tests/fake_gpu/scheduler/scheduler.h) asks of the fake: what an operation does, and what is
 * left of it. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/fake_gpu/cuda_runtime/fake_state.h"

void fake_open_memory(bool open) {
    for (fake_block *b = fake.blocks; b != NULL; b = b->next)
        if (b->gpu >= 0 && mprotect(b->pages, b->page_bytes, open ? PROT_READ | PROT_WRITE : PROT_NONE) != 0) abort();
}

void fake_let_go(cudaEvent_t event) {
    if (event->destroyed && event->queued == 0) free(event);
}

void fake_drop_operation(gpu_operation *o) {
    if (o->event != NULL) {
        cudaEvent_t event = (cudaEvent_t)o->event;
        --event->queued;
        fake_let_go(event);
    }
    if (o->kind == REPEAT) --((cudaGraphExec_t)o->argument)->queued;
    if (o->drop != NULL) o->drop(o->argument);
    free(o->staged);
    free(o->sums);
    free((void *)o->touches);
    if (o->recording != NULL) fake_graph_release((fake_graph *)o->recording);
    *o = (gpu_operation){.kind = AWAIT};
}

void fake_graph_release(fake_graph *graph) {
    if (--graph->readers > 0) return;
    gpu_recording *r = &graph->recorded;
    for (size_t i = 0; i < r->operations.count; ++i) fake_drop_operation(&r->operations.items[i]);
    ons_vector_free(&r->operations);
    free(r->ran);
    free(graph);
}

fake_graph *fake_capture(cudaStream_t stream) { return (fake_graph *)stream->scheduled.recording; }

void fake_put_locked(cudaStream_t stream, gpu_operation o) {
    gpu_put(&stream->scheduled, o);
    if (o.event != NULL) ++((cudaEvent_t)o.event)->queued;
}

/* ---------------------------------------------------------------------------------------------------------- pending */

static bool any_node(const gpu_recording *r, bool (*look)(const gpu_operation *, const void *), const void *argument) {
    for (size_t i = 0; i < r->operations.count; ++i)
        if ((r->ran == NULL || !r->ran[i]) && look(&r->operations.items[i], argument)) return true;
    return false;
}

bool fake_any_pending(bool (*look)(const gpu_operation *operation, const void *argument), const void *argument) {
    for (const gpu_stream *s = scheduler.streams; s != NULL; s = s->next)
        for (size_t i = s->done; i < s->queue.count; ++i) {
            const gpu_operation *o = &s->queue.items[i];
            if (o->kind == REPEAT ? any_node(o->recording, look, argument) : look(o, argument)) return true;
        }
    return false;
}

/* ------------------------------------------------------------------------------------------------------------ rules */

/* `sum`: of the source when it was put, 0: it may change. */
static void run_copy(const gpu_operation *o, uint64_t sum) {
    if (o->staged == NULL && sum != 0 && fake_sum(o->from, o->bytes) != sum)
        (void)fake_complain(cudaErrorUnknown,
                            "%zu bytes of pinned memory at %p changed between a copy's call and the copy", o->bytes,
                            o->from);
    memmove(o->to, o->staged != NULL ? o->staged : o->from, o->bytes);
}

static void run(const gpu_operation *o, uint64_t sum) {
    switch (o->kind) {
    case KERNEL:
        o->run(o->argument);
        if (fake_fails(FAKE_CUDA_BREAK_KERNEL)) fake_lose(cudaErrorIllegalAddress);
        break;
    case FILL: memset(o->to, o->value, o->bytes); break;
    case COPY: run_copy(o, sum); break;
    default: break;
    }
}

static bool is_lost(void) { return fake.lost != cudaSuccess; }

const gpu_rules gpu_rules_of_fake = {
    .run = run, .drop = fake_drop_operation, .open_memory = fake_open_memory, .is_lost = is_lost};
