#include "runtime/measure/device_clock.h"

#include <math.h>
#include <stdlib.h>

#include "base/vector.h"
#include "runtime/log/trace.h"

/* Times are differences to an event, and these lose digits as they grow (a GPU tells milliseconds in 24 bits): after
 * every use a new one takes over, whose time follows from the last one's. */
struct ons_device_clock {
    ons_device *device;
    ons_stream *stream;
    ons_event *bases[2];
    int current;
    double base;  /* of the current one, in nanoseconds of the host's clock */
    bool follows; /* the current one's time is not known yet: it follows from the other one's */
    ONS_VECTOR(ons_event *) timestamps;
    size_t used;
    ons_status *failure;
};

enum { TRIES_LEAST = 4, TRIES_MOST = 64 };

/* An event is reached between being put on an idle stream and the host's knowing of it: a quick try tells best. The
 * event keeps the time of the last one. */
static void start(ons_device_clock *c) {
    int64_t quickest = INT64_MAX, took = 0;
    for (int i = 0; i < TRIES_MOST && (i < TRIES_LEAST || took > 2 * quickest); ++i) {
        int64_t asked = ons_trace_now();
        c->device->event_record(c->stream, c->bases[0]);
        c->device->event_synchronize(c->bases[0]);
        took = ons_trace_now() - asked;
        quickest = took < quickest ? took : quickest;
        c->base = (double)asked + (double)took / 2;
    }
}

ons_status *ons_device_clock_new(ons_device *device, ons_stream *stream, ons_device_clock **result) {
    ONS_CHECK(device->timed_event_new != NULL, ONS_DEFECT, "device '%s' has no events that tell times", device->name);
    ons_device_clock *c = calloc(1, sizeof *c);
    if (c == NULL) return ons_status_out_of_memory();
    c->device = device;
    c->stream = stream;
    for (int i = 0; i < 2; ++i) {
        ons_status *status = device->timed_event_new(device, &c->bases[i]);
        if (status == NULL) continue;
        ons_device_clock_free(c);
        return status;
    }
    start(c);
    *result = c;
    return NULL;
}

void ons_device_clock_free(ons_device_clock *c) {
    if (c == NULL) return;
    for (size_t i = 0; i < c->timestamps.count; ++i) c->device->event_free(c->timestamps.items[i]);
    for (int i = 0; i < 2; ++i)
        if (c->bases[i] != NULL) c->device->event_free(c->bases[i]);
    ons_vector_free(&c->timestamps);
    ons_status_free(c->failure);
    free(c);
}

static ons_status *add(ons_device_clock *c) {
    ons_event *event;
    ONS_TRY(c->device->timed_event_new(c->device, &event));
    if (ons_vector_push(&c->timestamps, event)) return NULL;
    c->device->event_free(event);
    return ons_status_out_of_memory();
}

uint32_t ons_device_clock_timestamp(ons_device_clock *c, ons_stream *stream) {
    if (c->used == c->timestamps.count && c->failure == NULL) c->failure = add(c);
    if (c->used < c->timestamps.count) c->device->event_record(stream, c->timestamps.items[c->used++]);
    return c->used > 0 ? (uint32_t)(c->used - 1) : 0;
}

static double base_time(ons_device_clock *c) {
    if (c->follows) {
        c->device->event_synchronize(c->bases[c->current]);
        c->base += 1e9 * c->device->seconds_between(c->bases[1 - c->current], c->bases[c->current]);
        c->follows = false;
    }
    return c->base;
}

int64_t ons_device_clock_time(ons_device_clock *c, uint32_t timestamp) {
    double base = base_time(c);
    if (timestamp >= c->used) return (int64_t)base;
    c->device->event_synchronize(c->timestamps.items[timestamp]);
    return llround(base + 1e9 * c->device->seconds_between(c->bases[c->current], c->timestamps.items[timestamp]));
}

void ons_device_clock_reset(ons_device_clock *c) {
    c->used = 0;
    (void)base_time(c);
    c->current = 1 - c->current;
    c->device->event_record(c->stream, c->bases[c->current]);
    c->follows = true;
}

ons_status *ons_device_clock_failure(ons_device_clock *c) {
    ons_status *status = c->failure;
    c->failure = NULL;
    return status;
}
