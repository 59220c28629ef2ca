/* What ran when: a trace for Perfetto or chrome://tracing.
 *
 * Every thread that records has a track of its own, a ring of preallocated events: recording takes no lock, allocates
 * nothing, and where a ring is full the oldest events make room. The file is written at the end, whole or not at all.
 */
#ifndef ONSTAGE_RUNTIME_LOG_TRACE_H
#define ONSTAGE_RUNTIME_LOG_TRACE_H

#include "base/json_writer.h"
#include "base/status.h"

typedef struct ons_trace ons_trace;
typedef struct ons_trace_track ons_trace_track;

/* `capacity` (≥ 1): events that a track keeps, 64 bytes each. Time 0 of the trace is now. */
ons_status *ons_trace_new(size_t capacity, ons_trace **result);
void ons_trace_free(ons_trace *trace); /* NULL is fine */

/* Adds a row in the viewer: thread `name` of process `process` (a device, a stage, a rank). Made before threads record;
 * lives as long as the trace. */
ons_status *ons_trace_add_track(ons_trace *trace, uint32_t process, const char *process_name, const char *name,
                                ons_trace_track **result);

/* Nanoseconds of the monotonic clock. */
int64_t ons_trace_now(void);

typedef struct ons_trace_event {
    const char *name;     /* texts live as long as the trace */
    const char *category; /* "forward"; NULL: none */
    int64_t begin;        /* ons_trace_now() */
    int64_t end;
    int64_t step;        /* shown with the event; -1: none */
    int64_t micro_batch; /* -1: none */
    int64_t bytes;       /* -1: none */
    const char *detail;  /* the operator, for instance; NULL: none */
} ons_trace_event;

/* Records an event, from one thread at a time for each track. A NULL track is fine: nothing is recorded. */
void ons_trace_record(ons_trace_track *track, const ons_trace_event *event);

/* Gives the end of the event that was recorded last; 0: there is none, or no track. */
int64_t ons_trace_last_end(const ons_trace_track *track);

/* Writes the file while nobody records. Events are sorted by time within a track; how many were lost is in the file's
 * "otherData". */
ons_status *ons_trace_write(const ons_trace *trace, const char *path);

/* What another process's clock shows, by this one's: measured twice, and in between it drifts evenly. All nanoseconds.
 */
typedef struct ons_trace_clock {
    int64_t origin;      /* time 0 of the file, by the other clock */
    int64_t measured[2]; /* when, by this one's clock; ascending or the same */
    int64_t ahead[2];    /* what the other one shows more */
} ons_trace_clock;

/* Time 0 of a trace. */
int64_t ons_trace_origin(const ons_trace *trace);

/* Prints the events of a trace as they stand in the file of another process, with a comma before each. *lost: how many
 * were.
 */
ons_status *ons_trace_print(const ons_trace *trace, const ons_trace_clock *clock, ons_byte_sink *sink, void *context,
                            uint64_t *lost);

/* ons_trace_write, and what other processes have printed: `guests` puts all of it into the sink. */
typedef ons_status *ons_trace_guests(void *context, ons_byte_sink *sink, void *file, uint64_t *lost);
ons_status *ons_trace_write_all(const ons_trace *trace, const char *path, ons_trace_guests *guests, void *context);

#endif
