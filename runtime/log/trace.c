#include "runtime/log/trace.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "base/trace_json.h"
#include "base/vector.h"

struct ons_trace_track {
    uint32_t process;
    char *process_name;
    char *name;
    size_t capacity;
    uint64_t recorded; /* event i lies at events[i % capacity] */
    ons_trace_event *events;
};

struct ons_trace {
    size_t capacity;
    int64_t begin;
    ONS_VECTOR(ons_trace_track *) tracks;
};

int64_t ons_trace_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

ons_status *ons_trace_new(size_t capacity, ons_trace **result) {
    ONS_CHECK(capacity >= 1, ONS_INVALID_ARGUMENT, "a trace for no events");
    ons_trace *trace = calloc(1, sizeof *trace);
    if (trace == NULL) return ons_status_out_of_memory();
    trace->capacity = capacity;
    trace->begin = ons_trace_now();
    *result = trace;
    return NULL;
}

static void free_track(ons_trace_track *track) {
    free(track->process_name);
    free(track->name);
    free(track->events);
    free(track);
}

void ons_trace_free(ons_trace *trace) {
    if (trace == NULL) return;
    for (size_t i = 0; i < trace->tracks.count; ++i) free_track(trace->tracks.items[i]);
    ons_vector_free(&trace->tracks);
    free(trace);
}

ons_status *ons_trace_add_track(ons_trace *trace, uint32_t process, const char *process_name, const char *name,
                                ons_trace_track **result) {
    ons_trace_track *track = calloc(1, sizeof *track);
    if (track == NULL) return ons_status_out_of_memory();
    track->process = process;
    track->capacity = trace->capacity;
    track->process_name = strdup(process_name);
    track->name = strdup(name);
    track->events = calloc(trace->capacity, sizeof *track->events);
    if (track->process_name == NULL || track->name == NULL || track->events == NULL ||
        !ons_vector_push(&trace->tracks, track)) {
        free_track(track);
        return ons_status_out_of_memory();
    }
    *result = track;
    return NULL;
}

void ons_trace_record(ons_trace_track *track, const ons_trace_event *event) {
    if (track != NULL) track->events[track->recorded++ % track->capacity] = *event;
}

int64_t ons_trace_last_end(const ons_trace_track *track) {
    return track == NULL || track->recorded == 0 ? 0 : track->events[(track->recorded - 1) % track->capacity].end;
}

/* ---------------------------------------------------------------------------------------------------------- writing */

/* By time; what encloses others comes before them. */
static int by_time(const void *left, const void *right) {
    const ons_trace_event *a = left, *b = right;
    if (a->begin != b->begin) return a->begin < b->begin ? -1 : 1;
    return a->end > b->end ? -1 : a->end < b->end;
}

static size_t kept_events(const ons_trace_track *track) {
    return track->recorded < track->capacity ? (size_t)track->recorded : track->capacity;
}

static void put_argument(ons_json_writer *json, const char *name, int64_t value) {
    if (value >= 0) ons_json_put_int(json, name, value);
}

/* Microseconds since time 0 of the file. */
static double shown(const ons_trace_clock *clock, int64_t time) {
    double span = (double)(clock->measured[1] - clock->measured[0]);
    double part = span > 0 ? (double)(time - clock->measured[0]) / span : 0;
    int64_t drift = (int64_t)(part * (double)(clock->ahead[1] - clock->ahead[0]));
    return (double)(time + clock->ahead[0] + drift - clock->origin) / 1000;
}

static void put_event(ons_json_writer *json, const ons_trace_clock *clock, ons_trace_row row,
                      const ons_trace_event *event) {
    ons_trace_json_begin_event(json, row, event->name, event->category, shown(clock, event->begin),
                               (double)(event->end - event->begin) / 1000);
    put_argument(json, "step", event->step);
    put_argument(json, "micro_batch", event->micro_batch);
    put_argument(json, "bytes", event->bytes);
    if (event->detail != NULL) ons_json_put_text(json, "detail", event->detail);
    ons_trace_json_end_event(json);
}

static ons_status *put_track(ons_json_writer *json, const ons_trace_clock *clock, const ons_trace_track *track,
                             size_t thread) {
    size_t count = kept_events(track);
    ons_trace_event *sorted = malloc((count + 1) * sizeof *sorted);
    if (sorted == NULL) return ons_status_out_of_memory();
    memcpy(sorted, track->events, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_time);
    const ons_trace_row row = {track->process, thread};
    ons_trace_json_name(json, row, "process_name", track->process_name);
    ons_trace_json_name(json, row, "thread_name", track->name);
    for (size_t i = 0; i < count; ++i) put_event(json, clock, row, &sorted[i]);
    free(sorted);
    return NULL;
}

static ons_status *put_tracks(ons_json_writer *json, const ons_trace *trace, const ons_trace_clock *clock,
                              uint64_t *lost) {
    for (size_t i = 0; i < trace->tracks.count; ++i) {
        const ons_trace_track *track = trace->tracks.items[i];
        *lost += track->recorded - kept_events(track);
        ONS_TRY(put_track(json, clock, track, i + 1));
    }
    return NULL;
}

int64_t ons_trace_origin(const ons_trace *trace) { return trace->begin; }

/* The first failure of the two. */
static ons_status *end(ons_json_writer *json, ons_status *status) {
    ons_status *flushed = ons_json_writer_flush(json);
    if (status == NULL) return flushed;
    ons_status_free(flushed);
    return status;
}

ons_status *ons_trace_print(const ons_trace *trace, const ons_trace_clock *clock, ons_byte_sink *sink, void *context,
                            uint64_t *lost) {
    ons_json_writer json;
    ons_json_writer_init(&json, sink, context);
    json.comma = true;
    *lost = 0;
    return end(&json, put_tracks(&json, trace, clock, lost));
}

static ons_status *put_guests(ons_json_writer *json, ons_trace_guests *guests, void *context, uint64_t *lost) {
    if (guests == NULL) return NULL;
    ONS_TRY(ons_json_writer_flush(json)); /* they go to the file past the writer */
    return guests(context, json->sink, json->context, lost);
}

static ons_status *put_trace(ons_json_writer *json, const ons_trace *trace, ons_trace_guests *guests, void *context) {
    uint64_t lost = 0;
    const ons_trace_clock own = {.origin = trace->begin};
    ons_trace_json_begin(json);
    ons_status *status = put_tracks(json, trace, &own, &lost);
    if (status == NULL) status = put_guests(json, guests, context, &lost);
    ons_trace_json_end_events(json);
    ons_json_begin_object(json, "otherData");
    ons_json_put_uint64(json, "lost_events", lost);
    ons_json_end_object(json);
    ons_trace_json_end(json);
    return end(json, status);
}

ons_status *ons_trace_write(const ons_trace *trace, const char *path) {
    return ons_trace_write_all(trace, path, NULL, NULL);
}

ons_status *ons_trace_write_all(const ons_trace *trace, const char *path, ons_trace_guests *guests, void *context) {
    ons_file_writer *file;
    ONS_TRY(ons_file_writer_open(path, &file));
    ons_json_writer json;
    ons_json_writer_init(&json, ons_file_sink, file);
    ons_status *status = put_trace(&json, trace, guests, context);
    if (status != NULL) {
        ons_file_discard(file);
        return status;
    }
    return ons_file_commit(file);
}
