#include "tests/rooms/training/trace_rows.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rooms/training/fixture.h"

static trace_row *row_of(trace_rows *rows, const ons_json *event) {
    int stage = ons_json_find(event, "pid")->valueint, thread = ons_json_find(event, "tid")->valueint;
    for (int i = 0; i < rows->count; ++i)
        if (rows->items[i].stage == stage && rows->items[i].thread == thread) return &rows->items[i];
    cr_assert_lt(rows->count, TRACE_ROWS_MOST);
    rows->items[rows->count] = (trace_row){.stage = stage, .thread = thread};
    return &rows->items[rows->count++];
}

/* Times are written in thousandths of a microsecond: what ends and what begins may be rounded towards each other. */
static void add_event(trace_rows *rows, const ons_json *event) {
    trace_row *r = row_of(rows, event);
    const char *name = ons_json_find(event, "name")->valuestring;
    const ons_json *arguments = ons_json_find(event, "args");
    if (strcmp(ons_json_find(event, "ph")->valuestring, "M") == 0) {
        if (strcmp(name, "thread_name") == 0)
            snprintf(r->name, sizeof r->name, "%s", ons_json_find(arguments, "name")->valuestring);
        return;
    }
    double begin = ons_json_find(event, "ts")->valuedouble, length = ons_json_find(event, "dur")->valuedouble;
    if (r->events == 0) r->begin = r->end = begin;
    cr_assert_geq(begin, r->end - 0.002, "stage %d, %s: '%s' begins before the event before it ends", r->stage, r->name,
                  name);
    cr_assert_geq(length, 0);
    r->end = begin + length;
    r->busy += length;
    if (ons_json_find(arguments, "bytes") != NULL) r->bytes += ons_json_find(arguments, "bytes")->valuedouble;
    r->swaps += strcmp(ons_json_find(event, "cat")->valuestring, "swap") == 0;
    ++r->events;
}

trace_rows read_trace(const char *path) {
    trace_rows rows = {.count = 0};
    ons_json *file;
    contents text = read_file(path);
    must(ons_json_parse((const char *)text.bytes, text.size, &file));
    const ons_json *event;
    cJSON_ArrayForEach(event, ons_json_find(file, "traceEvents")) add_event(&rows, event);
    cr_assert_eq(ons_json_find(ons_json_find(file, "otherData"), "lost_events")->valueint, 0);
    ons_json_free(file);
    free(text.bytes);
    return rows;
}

const trace_row *find_trace_row(const trace_rows *rows, int stage, const char *name) {
    for (int i = 0; i < rows->count; ++i)
        if (rows->items[i].stage == stage && strcmp(rows->items[i].name, name) == 0) return &rows->items[i];
    cr_assert_fail("stage %d has no row '%s'", stage, name);
    return NULL;
}
