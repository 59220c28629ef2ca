/* A device: two memories (its own, under a cap; the host's pool), asynchronous streams, events.
 *
 * Everything that runs or copies is put on a stream and runs there in order; streams run beside each other. An event
 * marks a place in one stream that another stream, or the host, can wait for. The CPU's streams are threads, so
 * whatever overlaps on a GPU overlaps, and is tested, on the CPU too.
 */
#ifndef ONSTAGE_DEVICE_DEVICE_H
#define ONSTAGE_DEVICE_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct ons_device ons_device;
typedef struct ons_stream ons_stream;
typedef struct ons_event ons_event;
typedef struct ons_recording ons_recording;

/* On the CPU: runs on the stream's thread, and is the work. On CUDA: runs at once, on the thread that launches it, and
 * puts the work on the stream. `native` is the stream as kernels know it (a CUDA stream; 0 on the CPU). */
typedef void ons_task(void *argument, uintptr_t native);

struct ons_device {
    const char *name;     /* "cpu", "cuda": also that of the backend whose kernels run in its memory */
    bool host_can_access; /* the host may read and write the device's memory; otherwise only copies do */

    /* The device's memory: one block, aligned to 64 bytes (ONS_ARENA_ALIGNMENT of graph/arena_layout.h, which this room
     * does not include). Fails where the cap (`limit_bytes` of the constructor) would be exceeded. `*address` is what
     * kernels see. A CPU's pages may come as late as they are first written. */
    ons_status *(*allocate)(ons_device *device, int64_t bytes, void **address);
    void (*release)(ons_device *device, void *address, int64_t bytes);

    /* Host memory that copies to and from the device are fast with. */
    ons_status *(*allocate_host)(ons_device *device, int64_t bytes, void **address);
    void (*release_host)(ons_device *device, void *address, int64_t bytes);

    /* `threads`: how many threads kernels on this stream may use; only the compute stream needs more than 1. */
    ons_status *(*stream_new)(ons_device *device, const char *name, int threads, ons_stream **stream);
    void (*stream_free)(ons_stream *stream); /* after what was put on it has run */

    /* These never allocate; a full queue makes the caller wait. What goes wrong on the way is told by `failure`. */
    void (*launch)(ons_stream *stream, ons_task *task, void *argument);
    void (*copy)(ons_stream *stream, void *to, const void *from, size_t bytes); /* between any two memories */

    ons_status *(*event_new)(ons_device *device, ons_event **event);
    void (*event_free)(ons_event *event);
    void (*event_record)(ons_stream *stream, ons_event *event);
    void (*stream_wait)(ons_stream *stream, ons_event *event); /* until the latest record is reached */
    void (*event_synchronize)(ons_event *event);               /* the host waits for it */

    /* Recordings: what is put on `stream` between begin and end does not run but is kept, with what is put on streams
     * that come to wait for it meanwhile (and that it has waited for again before the end); addresses and sizes are
     * kept as they are. A repetition puts all of it on a stream by one call. NULL, all four: the device has none. */
    ons_status *(*record_begin)(ons_stream *stream);
    ons_status *(*record_end)(ons_stream *stream, ons_recording **recording);
    void (*recording_repeat)(ons_stream *stream, ons_recording *recording);
    void (*recording_free)(ons_recording *recording);

    /* Events that also tell when they were reached, for measurements; NULL: work runs where it is launched, so that the
     * host's clock can tell. `seconds_between`: both must have been reached. */
    ons_status *(*timed_event_new)(ons_device *device, ons_event **event);
    double (*seconds_between)(ons_event *first, ons_event *second);

    /* The first thing that went wrong in what was put on any stream, kernels and their libraries included; NULL:
     * nothing as far as the host knows, so it is asked after event_synchronize. Once it has failed a device stays
     * failed. */
    ons_status *(*failure)(ons_device *device);

    /* Brings `reserve_bytes` up to date; *free_bytes: what of the device's memory nobody has taken. NULL: nothing is
     * taken beside `used_bytes`, or nobody knows. `allocate` does it before it looks at the cap. */
    ons_status *(*measure_memory)(ons_device *device, int64_t *free_bytes);

    void (*free)(ons_device *device);

    const char *title;   /* of the product, with its driver, for reports; NULL: see `name` */
    int64_t total_bytes; /* of the device's memory; 0: not known */
    int64_t limit_bytes; /* 0: none */
    int64_t slack_bytes; /* of the limit: what an arena leaves for kernels that are loaded, and steps that are recorded,
                            later; 0: nothing is */
    int64_t used_bytes;
    int64_t reserve_bytes; /* taken on the device beside `used_bytes`, by context and libraries; counts under the cap.
                              Kernels and libraries are loaded when they first run, so it grows until each has. */
};

/* The CPU. `limit_bytes` caps device memory (0: none). `pin`: the compute stream's threads stay each on a processor of
 * their own, where there are as many as threads. */
ons_status *ons_cpu_device_new(int64_t limit_bytes, bool pin, ons_device **device);

/* The device of that name: "cpu", or "cuda" for the first GPU, with the arguments of ons_cpu_device_new. Fails with the
 * remedy where there is no such device here. */
ons_status *ons_device_new(const char *name, int64_t limit_bytes, bool pin, ons_device **device);
/* Whether there is such a device, as a failure that says why not. */
ons_status *ons_device_check(const char *name);

/* Processors that this process may use. */
int ons_cpu_count(void);

#endif
