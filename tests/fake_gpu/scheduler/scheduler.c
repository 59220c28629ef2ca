#include "tests/fake_gpu/scheduler/scheduler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PATIENCE_SECONDS = 240 };

gpu_scheduler scheduler = {.lock = PTHREAD_MUTEX_INITIALIZER, .put_more = PTHREAD_COND_INITIALIZER, .random_state = 1};

void gpu_seed(uint64_t seed) { scheduler.random_state = seed * 2 + 1; }

void gpu_wake(void) {
    pthread_mutex_lock(&scheduler.lock);
    pthread_cond_broadcast(&scheduler.put_more);
    pthread_mutex_unlock(&scheduler.lock);
}

uint64_t gpu_draw(void) {
    scheduler.random_state = scheduler.random_state * 6364136223846793005u + 1442695040888963407u;
    return scheduler.random_state >> 33;
}

/* ---------------------------------------------------------------------------------------------------------- putting */

void gpu_add_stream(gpu_stream *stream) {
    stream->next = scheduler.streams;
    scheduler.streams = stream;
}

void gpu_remove_stream(gpu_stream *stream) {
    gpu_stream **at = &scheduler.streams;
    while (*at != stream) at = &(*at)->next;
    *at = stream->next;
    ons_vector_free(&stream->queue);
}

static void note_event(const gpu_stream *stream, gpu_event *event) {
    event->recording = stream->recording;
    event->captured = false;
    if (stream->recording != NULL) event->place = stream->last;
}

void gpu_put(gpu_stream *stream, gpu_operation o) {
    gpu_operations *to = stream->recording != NULL ? &stream->recording->operations : &stream->queue;
    if (stream->recording != NULL) {
        o.after[0] = stream->last;
        o.after[1] = o.kind == AWAIT ? o.event->place : NOTHING;
        stream->last = to->count;
    }
    if (!ons_vector_push(to, o)) abort();
    if (o.kind == RECORD) note_event(stream, o.event);
    pthread_cond_broadcast(&scheduler.put_more);
}

bool gpu_join(gpu_stream *stream, const gpu_event *event) {
    if (event->recording != NULL && stream->recording == NULL) {
        stream->recording = event->recording;
        stream->last = NOTHING;
    }
    return event->recording == stream->recording;
}

/* ------------------------------------------------------------------------------------------------------- recordings */

void gpu_begin_recording(gpu_recording *recording, gpu_stream *origin) {
    recording->origin = origin;
    origin->recording = recording;
    origin->last = NOTHING;
}

/* Whether the stream on which it began has waited for all of it. */
static bool is_joined(const gpu_recording *r, bool *reached) {
    if (r->operations.count > 0 && r->origin->last == NOTHING) return false;
    if (r->operations.count > 0) reached[r->origin->last] = true;
    for (size_t i = r->operations.count; i-- > 0;) {
        const gpu_operation *o = &r->operations.items[i];
        if (!reached[i]) return false;
        for (int k = 0; k < 2; ++k)
            if (o->after[k] != NOTHING) reached[o->after[k]] = true;
    }
    return true;
}

bool gpu_end_recording(gpu_recording *recording) {
    recording->ran = calloc(recording->operations.count + 1, sizeof *recording->ran);
    if (recording->ran == NULL) abort();
    bool joined = is_joined(recording, recording->ran);
    memset(recording->ran, 0, recording->operations.count * sizeof *recording->ran);
    for (gpu_stream *s = scheduler.streams; s != NULL; s = s->next)
        if (s->recording == recording) s->recording = NULL;
    return joined;
}

/* ---------------------------------------------------------------------------------------------------------- running */

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static bool does_something(const gpu_operation *o) { return o->kind == KERNEL || o->kind == FILL || o->kind == COPY; }

static void run_operation(const gpu_operation *o) {
    if (does_something(o)) gpu_rules_of_fake.run(o, o->sum);
    if (o->kind != RECORD) return;
    o->event->reached = o->number;
    o->event->time = now();
}

static bool can_work(const gpu_operation *o) { return o->kind != KERNEL || o->ready == NULL || o->ready(o->argument); }

static bool has_run(const gpu_recording *r, size_t index) { return index == NOTHING || r->ran[index]; }

static bool is_ready(const gpu_recording *r, size_t index) {
    const gpu_operation *o = &r->operations.items[index];
    return !r->ran[index] && has_run(r, o->after[0]) && has_run(r, o->after[1]) && can_work(o);
}

static bool can_advance(const gpu_recording *r) {
    for (size_t i = 0; i < r->operations.count; ++i)
        if (is_ready(r, i)) return true;
    return r->operations.count == 0;
}

/* One operation of a repetition, any of those that may run; true: all have. Its events are not those of streams. */
static bool advance(const gpu_operation *repeat) {
    gpu_recording *r = repeat->recording;
    size_t ready = 0, index = 0;
    for (size_t i = 0; i < r->operations.count; ++i) ready += is_ready(r, i);
    if (ready > 0) {
        size_t chosen = gpu_draw() % ready;
        while (!is_ready(r, index) || chosen-- > 0) ++index;
        const gpu_operation *o = &r->operations.items[index];
        if (does_something(o)) gpu_rules_of_fake.run(o, repeat->sums == NULL ? 0 : repeat->sums[index]);
        r->ran[index] = true;
        ++r->ran_count;
    }
    if (r->ran_count < r->operations.count) return false;
    memset(r->ran, 0, r->operations.count * sizeof *r->ran);
    r->ran_count = 0;
    return true;
}

static bool can_run(const gpu_stream *s) {
    if (s->done == s->queue.count) return false;
    const gpu_operation *o = &s->queue.items[s->done];
    if (o->kind == REPEAT) return can_advance(o->recording);
    return o->kind == AWAIT ? o->event->reached >= o->number : can_work(o);
}

/* One operation of a stream that has one ready; false: there is none. */
static bool run_one(void) {
    size_t ready = 0;
    for (gpu_stream *s = scheduler.streams; s != NULL; s = s->next) ready += can_run(s);
    if (ready == 0) return false;
    size_t chosen = gpu_draw() % ready;
    gpu_stream *s = scheduler.streams;
    while (!can_run(s) || chosen-- > 0) s = s->next;
    /* Some in a row: otherwise streams advance in step, which is no order that a GPU knows. */
    for (uint64_t row = gpu_draw() % 8; !gpu_rules_of_fake.is_lost() && can_run(s); --row) {
        gpu_operation o = s->queue.items[s->done];
        if (o.kind != REPEAT || advance(&o)) {
            ++s->done;
            run_operation(&o);
            gpu_rules_of_fake.drop(&o);
        }
        if (row == 0) break;
    }
    if (s->done == s->queue.count) s->done = s->queue.count = 0;
    return true;
}

/* Other threads put more on streams meanwhile. */
static void await_more(void) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_SECONDS;
    gpu_rules_of_fake.open_memory(false);
    if (pthread_cond_timedwait(&scheduler.put_more, &scheduler.lock, &until) != 0) {
        fprintf(stderr, "fake GPU: for %d seconds nobody has put what is waited for\n", PATIENCE_SECONDS);
        abort();
    }
    gpu_rules_of_fake.open_memory(true);
}

void gpu_run_until(const gpu_event *event, uint64_t number, const gpu_stream *stream) {
    gpu_rules_of_fake.open_memory(true);
    while (!gpu_rules_of_fake.is_lost() &&
           (event != NULL ? event->reached < number : stream->done < stream->queue.count))
        if (!run_one()) await_more();
    gpu_rules_of_fake.open_memory(false);
    pthread_cond_broadcast(&scheduler.put_more); /* what others wait for may have been done here */
}
