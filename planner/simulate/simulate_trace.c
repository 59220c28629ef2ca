#include <stdio.h>

#include "base/file.h"
#include "base/trace_json.h"
#include "planner/simulate/simulate.h"

static ons_trace_row row_of(const ons_simulation *s, ons_resource_id row) {
    return (ons_trace_row){ons_simulation_resource_device(s, row), (uint64_t)row + 1};
}

static void put_names(ons_json_writer *json, const ons_simulation *s) {
    for (uint32_t row = 0; row < ons_simulation_resource_count(s); ++row) {
        char device[32];
        snprintf(device, sizeof device, "device %u", ons_simulation_resource_device(s, row));
        ons_trace_json_name(json, row_of(s, row), "process_name", device);
        ons_trace_json_name(json, row_of(s, row), "thread_name", ons_simulation_resource_name(s, row));
    }
}

static void put_task(ons_json_writer *json, const ons_simulation *s, ons_task_id task, ons_resource_id row) {
    const ons_task_spec *spec = ons_simulation_task(s, task);
    ons_task_times times = ons_simulation_times(s, task);
    ons_trace_json_begin_event(json, row_of(s, row), spec->name, ons_action_name(spec->action.kind), times.start * 1e6,
                               spec->seconds * 1e6);
    ons_json_put_uint64(json, "stage", spec->action.stage);
    ons_json_put_uint64(json, "micro_batch", spec->action.micro_batch);
    ons_trace_json_end_event(json);
}

static void put_memory(ons_json_writer *json, uint32_t device, const ons_memory_point *points, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
        if (i + 1 < count && points[i + 1].seconds <= points[i].seconds) continue; /* the last of a moment is drawn */
        ons_trace_json_begin_count(json, device, "memory", points[i].seconds * 1e6);
        ons_json_put_int(json, "bytes", points[i].bytes);
        ons_trace_json_end_event(json);
    }
}

/* Of every device once: at its first stream. */
static ons_status *put_memories(ons_json_writer *json, const ons_simulation *s, ons_arena *arena) {
    for (uint32_t row = 0; row < ons_simulation_resource_count(s); ++row) {
        uint32_t device = ons_simulation_resource_device(s, row), count, earlier = 0;
        while (ons_simulation_resource_device(s, earlier) != device) ++earlier;
        if (earlier < row) continue;
        ons_memory_point *points;
        int64_t peak;
        ONS_TRY(ons_simulation_memory(s, device, arena, &points, &count, &peak));
        put_memory(json, device, points, count);
    }
    return NULL;
}

static ons_status *put_trace(ons_json_writer *json, const ons_simulation *s, ons_arena *arena) {
    ons_trace_json_begin(json);
    put_names(json, s);
    for (uint32_t task = 0; task < ons_simulation_task_count(s); ++task) {
        const ons_task_spec *spec = ons_simulation_task(s, task);
        if (spec->resource != ONS_NO_RESOURCE) put_task(json, s, task, spec->resource);
        if (spec->second_resource != ONS_NO_RESOURCE && spec->second_resource != spec->resource)
            put_task(json, s, task, spec->second_resource);
    }
    ons_status *status = put_memories(json, s, arena);
    ons_trace_json_end_events(json);
    ons_trace_json_end(json);
    ons_status *flushed = ons_json_writer_flush(json);
    if (status == NULL) return flushed;
    ons_status_free(flushed);
    return status;
}

ons_status *ons_simulation_write_trace(const ons_simulation *s, const char *path) {
    ons_file_writer *file;
    ONS_CHECK(ons_simulation_task_count(s) == 0 || ons_simulation_last(s) != ONS_NO_TASK, ONS_INVALID_ARGUMENT,
              "a trace of a simulation that was not run");
    ons_arena *arena = ons_arena_new();
    if (arena == NULL) return ons_status_out_of_memory();
    ons_status *status = ons_file_writer_open(path, &file);
    if (status == NULL) {
        ons_json_writer json;
        ons_json_writer_init(&json, ons_file_sink, file);
        status = put_trace(&json, s, arena);
        if (status == NULL)
            status = ons_file_commit(file);
        else
            ons_file_discard(file);
    }
    ons_arena_free(arena);
    return status;
}
