#include "base/trace_json.h"

void ons_trace_json_begin(ons_json_writer *json) {
    ons_json_begin_object(json, NULL);
    ons_json_put_text(json, "displayTimeUnit", "ms");
    ons_json_begin_array(json, "traceEvents");
}

static void put_row(ons_json_writer *json, ons_trace_row row) {
    ons_json_put_uint64(json, "pid", row.process);
    ons_json_put_uint64(json, "tid", row.thread);
}

void ons_trace_json_name(ons_json_writer *json, ons_trace_row row, const char *what, const char *name) {
    ons_json_begin_object(json, NULL);
    ons_json_put_text(json, "name", what);
    ons_json_put_text(json, "ph", "M");
    put_row(json, row);
    ons_json_begin_object(json, "args");
    ons_json_put_text(json, "name", name);
    ons_trace_json_end_event(json);
}

void ons_trace_json_begin_event(ons_json_writer *json, ons_trace_row row, const char *name, const char *category,
                                double begin, double length) {
    ons_json_begin_object(json, NULL);
    ons_json_put_text(json, "name", name);
    if (category != NULL) ons_json_put_text(json, "cat", category);
    ons_json_put_text(json, "ph", "X");
    ons_json_put_double(json, "ts", begin);
    ons_json_put_double(json, "dur", length);
    put_row(json, row);
    ons_json_begin_object(json, "args");
}

void ons_trace_json_begin_count(ons_json_writer *json, uint64_t process, const char *name, double time) {
    ons_json_begin_object(json, NULL);
    ons_json_put_text(json, "name", name);
    ons_json_put_text(json, "ph", "C");
    ons_json_put_double(json, "ts", time);
    ons_json_put_uint64(json, "pid", process);
    ons_json_begin_object(json, "args");
}

void ons_trace_json_end_event(ons_json_writer *json) {
    ons_json_end_object(json);
    ons_json_end_object(json);
    ons_json_put_line_break(json);
    json->comma = true;
}

void ons_trace_json_end_events(ons_json_writer *json) { ons_json_end_array(json); }

void ons_trace_json_end(ons_json_writer *json) {
    ons_json_end_object(json);
    ons_json_put_line_break(json);
}
