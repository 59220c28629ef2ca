/* The event simulator: times by definition, deadlocks by name, memory and traces. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "planner/simulate/simulate.h"
#include "tests/rooms/planner/random_work.h"

static ons_simulation *s;
static ons_arena *arena;

static void expect_success(ons_status *status) {
    cr_assert(status == NULL, "%s", status != NULL ? ons_status_get_message(status) : "");
}

static void begin(void) {
    arena = ons_arena_new();
    expect_success(ons_simulation_new(&s));
}
static void end(void) {
    ons_simulation_free(s);
    ons_arena_free(arena);
}

TestSuite(simulate, .init = begin, .fini = end);

static ons_resource_id stream(uint32_t device, const char *name) {
    ons_resource_id id;
    expect_success(ons_simulation_add_resource(s, device, name, &id));
    return id;
}

static ons_task_id task(const char *name, ons_resource_id first, ons_resource_id second, double seconds) {
    ons_task_id id;
    ons_task_spec spec = {.name = name, .resource = first, .second_resource = second, .seconds = seconds};
    expect_success(ons_simulation_add_task(s, &spec, &id));
    return id;
}

static void wait_for(ons_task_id later, ons_task_id before, double lag) {
    expect_success(ons_simulation_add_dependency(s, before, later, lag));
}

static void expect_times(ons_task_id id, double start, double end_seconds, ons_task_id cause) {
    ons_task_times t = ons_simulation_times(s, id);
    cr_expect_float_eq(t.start, start, 1e-12, "task %u starts at %g instead of %g", id, t.start, start);
    cr_expect_float_eq(t.end, end_seconds, 1e-12, "task %u ends at %g instead of %g", id, t.end, end_seconds);
    cr_expect_eq(t.cause, cause, "task %u: cause %u instead of %u", id, t.cause, cause);
}

Test(simulate, streams_serve_in_order_and_transfers_hold_both_ends) {
    ons_resource_id a = stream(0, "compute"), send = stream(0, "send"), receive = stream(1, "receive"),
                    b = stream(1, "compute");
    ons_task_id first = task("first", a, ONS_NO_RESOURCE, 2), second = task("second", a, ONS_NO_RESOURCE, 1);
    ons_task_id copy = task("copy", receive, send, 4), other = task("other", receive, ONS_NO_RESOURCE, 1);
    ons_task_id use = task("use", b, ONS_NO_RESOURCE, 1), free_task = task("free", ONS_NO_RESOURCE, ONS_NO_RESOURCE, 9);
    wait_for(copy, first, 0.5);
    wait_for(use, copy, 0);
    expect_success(ons_simulation_run(s));
    expect_times(first, 0, 2, ONS_NO_TASK);
    expect_times(second, 2, 3, first);
    expect_times(copy, 2.5, 6.5, first);
    expect_times(other, 6.5, 7.5, copy);
    expect_times(use, 6.5, 7.5, copy);
    expect_times(free_task, 0, 9, ONS_NO_TASK);
    cr_expect_eq(ons_simulation_last(s), free_task);
    cr_expect_float_eq(ons_simulation_seconds(s), 9, 1e-12);
    cr_expect_float_eq(ons_simulation_busy(s, send), 4, 1e-12);
    cr_expect_float_eq(ons_simulation_busy(s, receive), 5, 1e-12);
    wait_for(first, free_task, 1); /* more may be added, and run again */
    expect_success(ons_simulation_run(s));
    expect_times(first, 10, 12, free_task);
    cr_expect_float_eq(ons_simulation_busy(s, a), 3, 1e-12);
}

Test(simulate, nothing_takes_no_time) {
    expect_success(ons_simulation_run(s));
    cr_expect_eq(ons_simulation_seconds(s), 0);
    cr_expect_eq(ons_simulation_last(s), ONS_NO_TASK);
}

static void expect_refusal(ons_status *status, const char *part) {
    cr_assert_not_null(status, "expected a failure with '%s'", part);
    cr_expect(strstr(ons_status_get_message(status), part) != NULL, "'%s' lacks '%s'", ons_status_get_message(status),
              part);
    ons_status_free(status);
}

Test(simulate, a_deadlock_is_named) {
    ons_resource_id a = stream(0, "compute"), b = stream(1, "compute");
    ons_task_id innocent = task("innocent", b, ONS_NO_RESOURCE, 1);
    ons_task_id hen = task("hen", a, ONS_NO_RESOURCE, 1), stands = task("between", a, ONS_NO_RESOURCE, 1);
    ons_task_id egg = task("egg", b, ONS_NO_RESOURCE, 1), behind = task("behind", b, ONS_NO_RESOURCE, 1);
    wait_for(egg, stands, 0); /* the egg waits for what its hen's stream does later */
    wait_for(hen, egg, 0);
    wait_for(behind, innocent, 0);
    ons_status *status = ons_simulation_run(s);
    cr_assert_not_null(status);
    const char *message = ons_status_get_message(status);
    cr_expect_eq(ons_status_get_code(status), ONS_INVALID_DATA);
    cr_expect(strstr(message, "'hen'") && strstr(message, "'egg'") && strstr(message, "'between'"), "%s", message);
    cr_expect(strstr(message, "'innocent'") == NULL && strstr(message, "'behind'") == NULL, "%s", message);
    cr_expect(strstr(message, "3 tasks in the cycle, 4 of 5 can never start") != NULL, "%s", message);
    ons_status_free(status);
    cr_expect_eq(ons_simulation_last(s), ONS_NO_TASK, "times of a run that failed");
}

Test(simulate, bad_tasks_are_refused) {
    ons_resource_id a = stream(0, "compute");
    ons_task_id id;
    ons_task_spec spec = {.name = "t", .resource = a, .second_resource = ONS_NO_RESOURCE};
    spec.seconds = NAN;
    expect_refusal(ons_simulation_add_task(s, &spec, &id), "negative or no number");
    spec.seconds = -1;
    expect_refusal(ons_simulation_add_task(s, &spec, &id), "negative or no number");
    spec = (ons_task_spec){.name = "t", .resource = 7, .second_resource = ONS_NO_RESOURCE};
    expect_refusal(ons_simulation_add_task(s, &spec, &id), "stream that was not added");
    expect_refusal(ons_simulation_add_dependency(s, 0, 0, INFINITY), "lag");
    id = task("alone", a, ONS_NO_RESOURCE, 1);
    wait_for(id, id, 0);
    expect_refusal(ons_simulation_run(s), "'alone'");
    wait_for(id, 12, 0);
    expect_refusal(ons_simulation_run(s), "waits for task 12");
}

/* ----------------------------------------------------------------------------------------------------- random tasks */

enum { TASKS = 60, WAITS = 90, STREAMS = 6 };

typedef struct random_tasks {
    ons_task_spec specs[TASKS];
    ons_task_id before[WAITS], after[WAITS];
    double lags[WAITS];
} random_tasks;

static double larger(double a, double b) { return a > b ? a : b; }

static bool shares_stream(const ons_task_spec *a, const ons_task_spec *b) {
    ons_resource_id x[] = {a->resource, a->second_resource}, y[] = {b->resource, b->second_resource};
    for (int i = 0; i < 2; ++i)
        for (int k = 0; k < 2; ++k)
            if (x[i] != ONS_NO_RESOURCE && x[i] == y[k]) return true;
    return false;
}

/* Times by definition: relaxed until nothing changes. False where they grow without end. */
static bool relax(const random_tasks *r, double start[TASKS]) {
    memset(start, 0, TASKS * sizeof *start);
    for (int round = 0; round <= TASKS + 1; ++round) {
        bool changed = false;
        for (int i = 0; i < TASKS; ++i) {
            double earliest = 0;
            for (int k = 0; k < i; ++k)
                if (shares_stream(&r->specs[i], &r->specs[k]))
                    earliest = larger(earliest, start[k] + r->specs[k].seconds);
            for (int k = 0; k < WAITS; ++k)
                if ((int)r->after[k] == i)
                    earliest = larger(earliest, start[r->before[k]] + r->specs[r->before[k]].seconds + r->lags[k]);
            changed |= earliest != start[i];
            start[i] = earliest;
        }
        if (!changed) return true;
    }
    return false;
}

static ons_resource_id random_stream(random_source *random) {
    return random_chance(random, 0.2) ? ONS_NO_RESOURCE : random_below(random, STREAMS);
}

static random_tasks make_tasks(random_source *random, double backwards) {
    random_tasks r;
    for (uint32_t i = 0; i < STREAMS; ++i) stream(i % 3, "stream");
    for (uint32_t i = 0; i < TASKS; ++i) {
        int64_t bytes = 1 + random_below(random, 100);
        r.specs[i] = (ons_task_spec){.name = "task",
                                     .action = {.kind = ONS_ACTION_FORWARD, .stage = i % 3, .micro_batch = i},
                                     .resource = random_stream(random),
                                     .second_resource = random_stream(random),
                                     .seconds = 1 + random_below(random, 50), /* whole: sums are exact in any order */
                                     .start_bytes = bytes,
                                     .end_bytes = -bytes};
        ons_task_id id;
        expect_success(ons_simulation_add_task(s, &r.specs[i], &id));
    }
    for (uint32_t i = 0; i < WAITS; ++i) {
        uint32_t a = random_below(random, TASKS), b = random_below(random, TASKS);
        bool swap = (a > b) != random_chance(random, backwards);
        r.before[i] = swap ? b : a;
        r.after[i] = swap ? a : b;
        if (a == b) r.after[i] = (r.before[i] + 1) % TASKS;
        r.lags[i] = random_below(random, 3) == 0 ? random_below(random, 20) : 0;
        wait_for(r.after[i], r.before[i], r.lags[i]);
    }
    return r;
}

static void check_causes(const random_tasks *r, uint64_t seed) {
    for (uint32_t i = 0; i < TASKS; ++i) {
        ons_task_times t = ons_simulation_times(s, i);
        if (t.cause == ONS_NO_TASK) {
            cr_assert_eq(t.start, 0, "seed %llu: task %u starts late for no reason", (unsigned long long)seed, i);
            continue;
        }
        double at = ons_simulation_times(s, t.cause).end;
        bool found = t.cause < i && shares_stream(&r->specs[i], &r->specs[t.cause]) && at == t.start;
        for (uint32_t k = 0; k < WAITS; ++k)
            found |= r->after[k] == i && r->before[k] == t.cause && at + r->lags[k] == t.start;
        cr_assert(found, "seed %llu: task %u did not wait for its cause", (unsigned long long)seed, i);
        cr_assert_lt(ons_simulation_order(s, t.cause), ons_simulation_order(s, i));
    }
}

static void check_memory(uint64_t seed) {
    for (uint32_t device = 0; device < 3; ++device) {
        ons_memory_point *points;
        uint32_t count;
        int64_t peak, most = 0;
        expect_success(ons_simulation_memory(s, device, arena, &points, &count, &peak));
        for (uint32_t i = 0; i < count; ++i) {
            cr_assert(points[i].bytes >= 0, "seed %llu: negative memory", (unsigned long long)seed);
            cr_assert(i == 0 || points[i].seconds >= points[i - 1].seconds);
            if (points[i].bytes > most) most = points[i].bytes;
        }
        cr_assert_eq(points[0].bytes, 0);
        cr_assert_eq(points[count - 1].bytes, 0, "seed %llu: memory does not end where it began",
                     (unsigned long long)seed);
        cr_assert_eq(peak, most);
    }
}

Test(simulate, random_tasks_against_the_definition) {
    uint32_t ran = 0, hung = 0;
    for (uint64_t seed = 1; seed <= 600; ++seed) {
        random_source random = {seed};
        double start[TASKS];
        random_tasks r = make_tasks(&random, seed % 3 == 0 ? 0.02 : 0);
        bool expected = relax(&r, start);
        ons_status *status = ons_simulation_run(s);
        cr_assert_eq(status == NULL, expected, "seed %llu", (unsigned long long)seed);
        ++*(expected ? &ran : &hung);
        for (uint32_t i = 0; expected && i < TASKS; ++i)
            cr_assert_eq(ons_simulation_times(s, i).start, start[i], "seed %llu, task %u: %g instead of %g",
                         (unsigned long long)seed, i, ons_simulation_times(s, i).start, start[i]);
        if (expected) check_causes(&r, seed);
        if (expected) check_memory(seed);
        ons_status_free(status);
        end();
        begin();
    }
    cr_assert(ran > 100 && hung > 20, "%u ran, %u hung: the test says little", ran, hung);
}

/* --------------------------------------------------------------------------------------------------- memory, traces */

Test(simulate, memory_changes_on_both_ends_of_a_transfer) {
    ons_resource_id send = stream(0, "send"), receive = stream(1, "receive");
    ons_task_id id;
    ons_task_spec spec = {.name = "copy",
                          .resource = receive,
                          .second_resource = send,
                          .seconds = 2,
                          .start_bytes = 70,
                          .end_bytes = -20,
                          .second_end_bytes = -30};
    expect_success(ons_simulation_add_task(s, &spec, &id));
    expect_success(ons_simulation_set_memory(s, 0, 100));
    expect_success(ons_simulation_run(s));
    ons_memory_point *points;
    uint32_t count;
    int64_t peak;
    expect_success(ons_simulation_memory(s, 0, arena, &points, &count, &peak));
    cr_expect(count == 2 && points[0].bytes == 100 && points[1].bytes == 70 && points[1].seconds == 2 && peak == 100);
    expect_success(ons_simulation_memory(s, 1, arena, &points, &count, &peak));
    cr_expect(count == 3 && points[1].bytes == 70 && points[1].seconds == 0 && points[2].bytes == 50 && peak == 70);
    expect_success(ons_simulation_memory(s, 9, arena, &points, &count, &peak));
    cr_expect(count == 1 && peak == 0, "a device that does nothing");
}

static const char *trace_path(void) {
    static char path[512];
    const char *folder = getenv("TEST_TMPDIR");
    snprintf(path, sizeof path, "%s/trace.json", folder != NULL ? folder : "/tmp");
    return path;
}

static ons_json *read_trace(void) {
    static char text[65536];
    FILE *file = fopen(trace_path(), "rb");
    cr_assert_not_null(file);
    size_t size = fread(text, 1, sizeof text, file);
    fclose(file);
    ons_json *json;
    expect_success(ons_json_parse(text, size, &json));
    return json;
}

Test(simulate, the_trace_shows_devices_streams_and_memory) {
    ons_resource_id send = stream(4, "send"), receive = stream(5, "receive");
    ons_task_id id;
    ons_task_spec spec = {.name = "co\"py",
                          .action = {.kind = ONS_ACTION_SEND_ACTIVATION, .stage = 2, .micro_batch = 3},
                          .resource = receive,
                          .second_resource = send,
                          .seconds = 0.25,
                          .start_bytes = 64,
                          .end_bytes = -64};
    expect_success(ons_simulation_add_task(s, &spec, &id));
    expect_refusal(ons_simulation_write_trace(s, trace_path()), "run");
    expect_success(ons_simulation_run(s));
    expect_success(ons_simulation_write_trace(s, trace_path()));
    ons_json *json = read_trace();
    const ons_json *events, *event;
    expect_success(ons_json_get_array(json, "traceEvents", &events));
    int rows = 0, names = 0, points = 0;
    cJSON_ArrayForEach(event, events) {
        const char *phase, *name;
        expect_success(ons_json_get_text(event, "ph", &phase));
        expect_success(ons_json_get_text(event, "name", &name));
        names += strcmp(phase, "M") == 0;
        points += strcmp(phase, "C") == 0;
        if (strcmp(phase, "X") != 0) continue;
        double duration;
        int64_t process, micro_batch;
        const ons_json *arguments;
        expect_success(ons_json_get_double(event, "dur", &duration));
        expect_success(ons_json_get_int(event, "pid", &process));
        expect_success(ons_json_get_object(event, "args", &arguments));
        expect_success(ons_json_get_int(arguments, "micro_batch", &micro_batch));
        cr_expect_str_eq(name, "co\"py");
        cr_expect(duration == 250000 && micro_batch == 3 && (process == 4 || process == 5));
        ++rows;
    }
    cr_expect(rows == 2 && names == 4 && points == 3, "%d rows, %d names, %d points", rows, names, points);
    ons_json_free(json);
    expect_refusal(ons_simulation_write_trace(s, "/nowhere/at/all/trace.json"), "/nowhere/at/all");
}
