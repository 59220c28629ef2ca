/* What is put on streams, and the order in which it runs: any that events allow. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "tests/cuda_runtime/fake_state.h"

enum { PATIENCE_SECONDS = 240 };

uint64_t fake_draw(void) {
    fake.random_state = fake.random_state * 6364136223846793005u + 1442695040888963407u;
    return fake.random_state >> 33;
}

void fake_open_memory(bool open) {
    for (fake_block *b = fake.blocks; b != NULL; b = b->next)
        if (b->gpu >= 0 && mprotect(b->pages, b->page_bytes, open ? PROT_READ | PROT_WRITE : PROT_NONE) != 0) abort();
}

void fake_let_go(cudaEvent_t event) {
    if (event->destroyed && event->queued == 0) free(event);
}

void fake_drop_operation(fake_operation *o) {
    if (o->event != NULL) {
        --o->event->queued;
        fake_let_go(o->event);
    }
    if (o->drop != NULL) o->drop(o->argument);
    free(o->staged);
    free(o->sums);
    free((void *)o->touches);
    if (o->graph != NULL) fake_graph_release(o->graph);
    *o = (fake_operation){.kind = AWAIT};
}

void fake_graph_release(fake_graph *graph) {
    if (--graph->readers > 0) return;
    for (size_t i = 0; i < graph->nodes.count; ++i) fake_drop_operation(&graph->nodes.items[i]);
    ons_vector_free(&graph->nodes);
    free(graph->ran);
    free(graph);
}

/* ------------------------------------------------------------------------------------------------------------- putting
 */

static void note_event(cudaStream_t stream, const fake_operation *o) {
    if (o->kind != RECORD) return;
    o->event->capture = stream->capture;
    o->event->captured = false;
    if (stream->capture != NULL) o->event->place = stream->last;
}

void fake_put_locked(cudaStream_t stream, fake_operation o) {
    fake_operations *to = stream->capture != NULL ? &stream->capture->nodes : &stream->queue;
    if (stream->capture != NULL) {
        o.after[0] = stream->last;
        o.after[1] = o.kind == AWAIT ? o.event->place : NOTHING;
        stream->last = to->count;
    }
    if (!ons_vector_push(to, o)) abort();
    if (o.event != NULL) ++o.event->queued;
    note_event(stream, &o);
    pthread_cond_broadcast(&fake.put_more);
}

/* ------------------------------------------------------------------------------------------------------------- pending
 */

static bool any_node(const fake_graph *graph, bool (*look)(const fake_operation *, const void *),
                     const void *argument) {
    for (size_t i = 0; i < graph->nodes.count; ++i)
        if ((graph->ran == NULL || !graph->ran[i]) && look(&graph->nodes.items[i], argument)) return true;
    return false;
}

bool fake_any_pending(bool (*look)(const fake_operation *operation, const void *argument), const void *argument) {
    for (cudaStream_t s = fake.streams; s != NULL; s = s->next)
        for (size_t i = s->done; i < s->queue.count; ++i) {
            const fake_operation *o = &s->queue.items[i];
            if (o->kind == REPEAT ? any_node(o->graph, look, argument) : look(o, argument)) return true;
        }
    return false;
}

/* ------------------------------------------------------------------------------------------------------------- running
 */

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void run_copy(const fake_operation *o, uint64_t sum) {
    if (o->staged == NULL && sum != 0 && fake_sum(o->from, o->bytes) != sum)
        (void)fake_complain(cudaErrorUnknown,
                            "%zu bytes of pinned memory at %p changed between a copy's call and the copy", o->bytes,
                            o->from);
    memmove(o->to, o->staged != NULL ? o->staged : o->from, o->bytes);
}

/* `sum`: of a copy's source when it was put, 0: it may change. */
static void run_operation(const fake_operation *o, uint64_t sum) {
    switch (o->kind) {
    case KERNEL:
        o->run(o->argument);
        if (fake_fails(FAKE_CUDA_BREAK_KERNEL)) fake_lose(cudaErrorIllegalAddress);
        break;
    case FILL: memset(o->to, o->value, o->bytes); break;
    case COPY: run_copy(o, sum); break;
    case RECORD:
        o->event->reached = o->number;
        o->event->time = now();
        break;
    case REPEAT:
    case AWAIT: break;
    }
}

static bool can_work(const fake_operation *o) { return o->kind != KERNEL || o->ready == NULL || o->ready(o->argument); }

static bool has_run(const fake_graph *g, size_t index) { return index == NOTHING || g->ran[index]; }

static bool is_ready(const fake_graph *g, size_t index) {
    const fake_operation *o = &g->nodes.items[index];
    return !g->ran[index] && has_run(g, o->after[0]) && has_run(g, o->after[1]) && can_work(o);
}

static bool can_advance(const fake_graph *g) {
    for (size_t i = 0; i < g->nodes.count; ++i)
        if (is_ready(g, i)) return true;
    return g->nodes.count == 0;
}

/* One node of a repetition, any of those that may run; true: all have. Its events are not those of streams. */
static bool advance(const fake_operation *repeat) {
    fake_graph *g = repeat->graph;
    size_t ready = 0, index = 0;
    for (size_t i = 0; i < g->nodes.count; ++i) ready += is_ready(g, i);
    if (ready > 0) {
        size_t chosen = fake_draw() % ready;
        while (!is_ready(g, index) || chosen-- > 0) ++index;
        const fake_operation *o = &g->nodes.items[index];
        if (o->kind == KERNEL || o->kind == COPY || o->kind == FILL) run_operation(o, repeat->sums[index]);
        g->ran[index] = true;
        ++g->ran_count;
    }
    if (g->ran_count < g->nodes.count) return false;
    memset(g->ran, 0, g->nodes.count * sizeof *g->ran);
    g->ran_count = 0;
    return true;
}

static bool can_run(const struct CUstream_st *s) {
    if (s->done == s->queue.count) return false;
    const fake_operation *o = &s->queue.items[s->done];
    if (o->kind == REPEAT) return can_advance(o->graph);
    return o->kind == AWAIT ? o->event->reached >= o->number : can_work(o);
}

/* One operation of a stream that has one ready; false: there is none. */
static bool run_one(void) {
    size_t ready = 0;
    for (cudaStream_t s = fake.streams; s != NULL; s = s->next) ready += can_run(s);
    if (ready == 0) return false;
    size_t chosen = fake_draw() % ready;
    cudaStream_t s = fake.streams;
    while (!can_run(s) || chosen-- > 0) s = s->next;
    /* Some in a row: otherwise streams advance in step, which is no order that a GPU knows. */
    for (uint64_t row = fake_draw() % 8; fake.lost == cudaSuccess && can_run(s); --row) {
        fake_operation o = s->queue.items[s->done];
        if (o.kind != REPEAT || advance(&o)) {
            ++s->done;
            if (o.kind == REPEAT) --((cudaGraphExec_t)o.argument)->queued;
            run_operation(&o, o.sum);
            fake_drop_operation(&o);
        }
        if (row == 0) break;
    }
    if (s->done == s->queue.count) s->done = s->queue.count = 0;
    return true;
}

static void await_more(void) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_SECONDS;
    fake_open_memory(false);
    if (pthread_cond_timedwait(&fake.put_more, &fake.lock, &until) != 0) {
        fprintf(stderr, "fake CUDA runtime: for %d seconds nobody has put what is waited for\n", PATIENCE_SECONDS);
        abort();
    }
    fake_open_memory(true);
}

void fake_run_until(cudaEvent_t event, uint64_t number, cudaStream_t stream) {
    fake_open_memory(true);
    while (fake.lost == cudaSuccess && (event != NULL ? event->reached < number : stream->done < stream->queue.count))
        if (!run_one()) await_more();
    fake_open_memory(false);
    pthread_cond_broadcast(&fake.put_more); /* what others wait for may have been done here */
}
