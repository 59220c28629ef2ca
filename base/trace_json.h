/* Chrome's JSON trace format, which Perfetto reads, event by event:
 *
 *   ons_trace_json_begin(w);
 *   ons_trace_json_name(w, row, "thread_name", "compute");
 *   ons_trace_json_begin_event(w, row, "conv1", "forward", 0, 1.5);  …its arguments…  ons_trace_json_end_event(w);
 *   ons_trace_json_end_events(w);  ons_trace_json_end(w);
 *
 * Times in microseconds. Behind the events other pieces may follow, with names. */
#ifndef ONSTAGE_BASE_TRACE_JSON_H
#define ONSTAGE_BASE_TRACE_JSON_H

#include "base/json_writer.h"

/* Where an event is shown. Threads are numbered from 1, so that a simulation and a run can be laid side by side. */
typedef struct ons_trace_row {
    uint64_t process, thread;
} ons_trace_row;

void ons_trace_json_begin(ons_json_writer *json);

/* What the viewer calls a row: `what` is "process_name" or "thread_name". */
void ons_trace_json_name(ons_json_writer *json, ons_trace_row row, const char *what, const char *name);

/* Something that took time; `category` may be NULL. Arguments follow, as pieces with names. */
void ons_trace_json_begin_event(ons_json_writer *json, ons_trace_row row, const char *name, const char *category,
                                double begin, double length);
/* A number that has changed; its values follow, as pieces with names. */
void ons_trace_json_begin_count(ons_json_writer *json, uint64_t process, const char *name, double time);
void ons_trace_json_end_event(ons_json_writer *json);

void ons_trace_json_end_events(ons_json_writer *json);
void ons_trace_json_end(ons_json_writer *json);

#endif
