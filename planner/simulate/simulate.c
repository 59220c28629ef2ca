#include "planner/simulate/simulate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"

typedef struct stream {
    uint32_t device;
    const char *name;
    bool ordered; /* its tasks run one after the other, as they were added */
    double busy;  /* seconds of all its tasks in the last run */
} stream;

typedef struct dependency {
    ons_task_id before, task;
    double lag; /* seconds; see ons_simulation_add_dependency */
} dependency;

/* What a device holds before the first task. */
typedef struct held_memory {
    uint32_t device;
    int64_t bytes;
} held_memory;

struct ons_simulation {
    ONS_VECTOR(stream) resources;
    ONS_VECTOR(ons_task_spec) tasks;
    ONS_VECTOR(dependency) dependencies;
    ONS_VECTOR(held_memory) held;
    ons_task_times *times; /* of the last run; NULL before */
    uint32_t *order;       /* [task]: its place among all, none in front of what it waits for */
    uint32_t timed;        /* tasks in the last run */
    ons_task_id last;
};

ons_status *ons_simulation_new(ons_simulation **simulation) {
    *simulation = calloc(1, sizeof **simulation);
    return *simulation == NULL ? ons_status_out_of_memory() : NULL;
}

static void forget_times(ons_simulation *s) {
    free(s->times);
    free(s->order);
    s->times = NULL;
    s->order = NULL;
    s->timed = 0;
    s->last = ONS_NO_TASK;
}

void ons_simulation_free(ons_simulation *s) {
    if (s == NULL) return;
    forget_times(s);
    ons_vector_free(&s->resources);
    ons_vector_free(&s->tasks);
    ons_vector_free(&s->dependencies);
    ons_vector_free(&s->held);
    free(s);
}

/* ----------------------------------------------------------------------------------------------------------- adding */

static ons_status *add_stream(ons_simulation *s, const stream *added, ons_resource_id *id) {
    ONS_CHECK(s->resources.count < ONS_NO_RESOURCE, ONS_UNSUPPORTED, "more streams than can be numbered");
    *id = (ons_resource_id)s->resources.count;
    ONS_PUSH(&s->resources, *added);
    return NULL;
}

ons_status *ons_simulation_add_resource(ons_simulation *s, uint32_t device, const char *name, ons_resource_id *id) {
    return add_stream(s, &(stream){device, name, true, 0}, id);
}

ons_status *ons_simulation_add_unordered(ons_simulation *s, uint32_t device, const char *name, ons_resource_id *id) {
    return add_stream(s, &(stream){device, name, false, 0}, id);
}

ons_status *ons_simulation_set_memory(ons_simulation *s, uint32_t device, int64_t bytes) {
    for (size_t i = 0; i < s->held.count; ++i)
        if (s->held.items[i].device == device) {
            s->held.items[i].bytes = bytes;
            return NULL;
        }
    ONS_PUSH(&s->held, (held_memory){device, bytes});
    return NULL;
}

static bool is_duration(double seconds) { return isfinite(seconds) && seconds >= 0; }

ons_status *ons_simulation_add_task(ons_simulation *s, const ons_task_spec *spec, ons_task_id *id) {
    ONS_CHECK(is_duration(spec->seconds), ONS_INVALID_ARGUMENT, "task '%s': its time is negative or no number",
              spec->name);
    ONS_CHECK((spec->resource == ONS_NO_RESOURCE || spec->resource < s->resources.count) &&
                  (spec->second_resource == ONS_NO_RESOURCE || spec->second_resource < s->resources.count),
              ONS_INVALID_ARGUMENT, "task '%s': it runs on a stream that was not added", spec->name);
    ONS_CHECK(s->tasks.count < ONS_NO_TASK, ONS_UNSUPPORTED, "more tasks than can be numbered: over 4 billion");
    *id = (ons_task_id)s->tasks.count;
    ONS_PUSH(&s->tasks, *spec);
    return NULL;
}

ons_status *ons_simulation_add_dependency(ons_simulation *s, ons_task_id before, ons_task_id task, double lag) {
    ONS_CHECK(isfinite(lag), ONS_INVALID_ARGUMENT, "a dependency's lag is no number");
    ONS_PUSH(&s->dependencies, (dependency){before, task, lag});
    return NULL;
}

ons_simulation_savepoint ons_simulation_get_savepoint(const ons_simulation *s) {
    return (ons_simulation_savepoint){s->tasks.count, s->dependencies.count};
}

void ons_simulation_rewind(ons_simulation *s, ons_simulation_savepoint savepoint) {
    forget_times(s);
    s->tasks.count = savepoint.tasks;
    s->dependencies.count = savepoint.dependencies;
}

/* ---------------------------------------------------------------------------------------------------------- running */

/* What follows each task: in its streams (next, of which a task has at most two), and by dependency (successors of t:
 * dependencies by_task[begin[t]] to by_task[begin[t + 1] - 1]). */
typedef struct successors {
    ons_task_id (*next)[2];
    size_t *begin;
    uint32_t *waits_for; /* [task]: how many are left */
    dependency *sorted;
    ons_task_id *queue;
} successors;

static void free_successors(successors *x) {
    free(x->next);
    free(x->begin);
    free(x->waits_for);
    free(x->sorted);
    free(x->queue);
}

static ons_status *allocate(const ons_simulation *s, successors *x) {
    size_t n = s->tasks.count;
    x->next = malloc((n + 1) * sizeof *x->next);
    x->begin = calloc(n + 2, sizeof *x->begin);
    x->waits_for = calloc(n + 1, sizeof *x->waits_for);
    x->sorted = malloc((s->dependencies.count + 1) * sizeof *x->sorted);
    x->queue = malloc((n + 1) * sizeof *x->queue);
    bool whole = x->next != NULL && x->begin != NULL && x->waits_for != NULL && x->sorted != NULL && x->queue != NULL;
    return whole ? NULL : ons_status_out_of_memory();
}

/* Sorts dependencies by the task that comes before, by counting. `begin` is filled two places further on, so that it is
 * right once each entry has been moved on by the tasks put there. */
static ons_status *link_dependencies(const ons_simulation *s, successors *x) {
    size_t n = s->tasks.count;
    for (size_t i = 0; i < s->dependencies.count; ++i) {
        const dependency *d = &s->dependencies.items[i];
        ONS_CHECK(d->before < n && d->task < n, ONS_INVALID_ARGUMENT,
                  "task %u waits for task %u, but there are %zu tasks", d->task, d->before, n);
        ++x->begin[d->before + 2];
        ONS_CHECK(++x->waits_for[d->task] < UINT32_MAX - 2, ONS_UNSUPPORTED, "a task waits for too many");
    }
    for (size_t i = 2; i <= n; ++i) x->begin[i] += x->begin[i - 1];
    for (size_t i = 0; i < s->dependencies.count; ++i) {
        const dependency *d = &s->dependencies.items[i];
        x->sorted[x->begin[d->before + 1]++] = *d;
    }
    return NULL;
}

/* Makes the task follow the one that was last on the stream, which is its first or its second resource. */
static void link_one(const ons_simulation *s, successors *x, ons_task_id *last, ons_task_id task, int which) {
    const ons_task_spec *t = &s->tasks.items[task];
    ons_resource_id r = which == 0 ? t->resource : t->second_resource;
    if (r == ONS_NO_RESOURCE || !s->resources.items[r].ordered || (which == 1 && r == t->resource)) return;
    ons_task_id before = last[r];
    last[r] = task;
    if (before == ONS_NO_TASK) return;
    x->next[before][s->tasks.items[before].resource == r ? 0 : 1] = task;
    ++x->waits_for[task];
}

/* Each stream serves its tasks in the order in which they were added. */
static ons_status *link_streams(const ons_simulation *s, successors *x) {
    ons_task_id *last = malloc((s->resources.count + 1) * sizeof *last);
    if (last == NULL) return ons_status_out_of_memory();
    for (size_t i = 0; i < s->resources.count; ++i) last[i] = ONS_NO_TASK;
    for (size_t i = 0; i < s->tasks.count; ++i) {
        x->next[i][0] = x->next[i][1] = ONS_NO_TASK;
        link_one(s, x, last, (ons_task_id)i, 0);
        link_one(s, x, last, (ons_task_id)i, 1);
    }
    free(last);
    return NULL;
}

/* One of the things that the task waits for is over. The latest of them decides when it starts, and is its cause:
 * causes followed back from the last task are the critical path. */
static void release(ons_simulation *s, successors *x, ons_task_id before, ons_task_id task, double earliest,
                    uint32_t *tail) {
    ons_task_times *t = &s->times[task];
    if (t->cause == ONS_NO_TASK || earliest > t->start) {
        t->start = earliest;
        t->cause = before;
    }
    if (--x->waits_for[task] == 0) x->queue[(*tail)++] = task;
}

static void finish(ons_simulation *s, ons_task_id task) {
    const ons_task_spec *spec = &s->tasks.items[task];
    ons_task_times *t = &s->times[task];
    t->end = t->start + spec->seconds;
    if (s->last == ONS_NO_TASK || t->end > s->times[s->last].end) s->last = task;
    if (spec->resource != ONS_NO_RESOURCE) s->resources.items[spec->resource].busy += spec->seconds;
    if (spec->second_resource != ONS_NO_RESOURCE && spec->second_resource != spec->resource)
        s->resources.items[spec->second_resource].busy += spec->seconds;
}

/* Kahn's algorithm; the longest path to a task is its start. Returns how many tasks can run. */
static uint32_t find_times(ons_simulation *s, successors *x) {
    uint32_t head = 0, tail = 0, n = (uint32_t)s->tasks.count;
    for (uint32_t i = 0; i < n; ++i) {
        s->times[i] = (ons_task_times){0, 0, ONS_NO_TASK};
        if (x->waits_for[i] == 0) x->queue[tail++] = i;
    }
    while (head < tail) {
        ons_task_id task = x->queue[head];
        s->order[task] = head++;
        finish(s, task);
        double end = s->times[task].end;
        for (int which = 0; which < 2; ++which)
            if (x->next[task][which] != ONS_NO_TASK) release(s, x, task, x->next[task][which], end, &tail);
        for (size_t i = x->begin[task]; i < x->begin[task + 1]; ++i)
            release(s, x, task, x->sorted[i].task, fmax(end + x->sorted[i].lag, s->times[task].start), &tail);
    }
    return tail;
}

/* -------------------------------------------------------------------------------------------------------- deadlocks */

enum { NAMED_TASKS = 8, NAME_BYTES = 160 };

static void append_name(const ons_simulation *s, ons_task_id task, char *text, size_t size) {
    const ons_task_spec *t = &s->tasks.items[task];
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s'%.80s' (stage %u, micro-batch %u)", used == 0 ? "" : ", which waits for ",
             t->name, t->action.stage, t->action.micro_batch);
}

/* Of tasks that never became ready each waits for at least one other such: going back from any of them ends in a
 * cycle. `back` is the way. */
static ons_status *describe_cycle(const ons_simulation *s, const ons_task_id *back, ons_task_id from, uint32_t stuck) {
    char text[NAMED_TASKS * NAME_BYTES] = "";
    ons_task_id slow = from, fast = back[from];
    while (slow != fast) { /* Floyd's tortoise and hare */
        slow = back[slow];
        fast = back[back[fast]];
    }
    uint32_t length = 0;
    do {
        if (++length <= NAMED_TASKS - 1) append_name(s, slow, text, sizeof text);
        slow = back[slow];
    } while (slow != fast);
    if (length <= NAMED_TASKS - 1) append_name(s, slow, text, sizeof text);
    return ons_status_new(ONS_INVALID_DATA, "a deadlock: %s%s; %u tasks in the cycle, %u of %zu can never start", text,
                          length > NAMED_TASKS - 1 ? ", and so on in a circle" : "", length, stuck, s->tasks.count);
}

/* Every task that was never run waits for another such task. One of these is noted for each, so that the way back from
 * any of them ends in a circle. */
static ons_status *find_cycle(const ons_simulation *s, const successors *x, uint32_t stuck) {
    size_t n = s->tasks.count;
    ons_task_id *back = malloc((n + 1) * sizeof *back), from = ONS_NO_TASK;
    if (back == NULL) return ons_status_out_of_memory();
    for (size_t i = 0; i < n; ++i) {
        if (x->waits_for[i] == 0) continue;
        from = (ons_task_id)i;
        for (int which = 0; which < 2; ++which)
            if (x->next[i][which] != ONS_NO_TASK) back[x->next[i][which]] = (ons_task_id)i;
        for (size_t k = x->begin[i]; k < x->begin[i + 1]; ++k) back[x->sorted[k].task] = (ons_task_id)i;
    }
    ons_status *status = describe_cycle(s, back, from, stuck);
    free(back);
    return status;
}

static ons_status *run_simulation(ons_simulation *s, successors *x) {
    size_t n = s->tasks.count;
    ONS_TRY(allocate(s, x));
    ONS_TRY(link_dependencies(s, x));
    ONS_TRY(link_streams(s, x));
    s->times = malloc((n + 1) * sizeof *s->times);
    s->order = malloc((n + 1) * sizeof *s->order);
    if (s->times == NULL || s->order == NULL) return ons_status_out_of_memory();
    for (size_t i = 0; i < s->resources.count; ++i) s->resources.items[i].busy = 0;
    uint32_t done = find_times(s, x);
    if (done < n) return find_cycle(s, x, (uint32_t)n - done);
    s->timed = done;
    return NULL;
}

ons_status *ons_simulation_run(ons_simulation *s) {
    successors x = {0};
    forget_times(s);
    ons_status *status = run_simulation(s, &x);
    free_successors(&x);
    if (status != NULL) forget_times(s);
    return status;
}

/* ---------------------------------------------------------------------------------------------------------- results */

uint32_t ons_simulation_task_count(const ons_simulation *s) { return (uint32_t)s->tasks.count; }
const ons_task_spec *ons_simulation_task(const ons_simulation *s, ons_task_id task) { return &s->tasks.items[task]; }
ons_task_times ons_simulation_times(const ons_simulation *s, ons_task_id task) { return s->times[task]; }
uint32_t ons_simulation_order(const ons_simulation *s, ons_task_id task) { return s->order[task]; }
ons_task_id ons_simulation_last(const ons_simulation *s) { return s->timed > 0 ? s->last : ONS_NO_TASK; }
double ons_simulation_seconds(const ons_simulation *s) { return s->timed > 0 ? s->times[s->last].end : 0; }
uint32_t ons_simulation_resource_count(const ons_simulation *s) { return (uint32_t)s->resources.count; }
const char *ons_simulation_resource_name(const ons_simulation *s, ons_resource_id resource) {
    return s->resources.items[resource].name;
}
uint32_t ons_simulation_resource_device(const ons_simulation *s, ons_resource_id resource) {
    return s->resources.items[resource].device;
}
double ons_simulation_busy(const ons_simulation *s, ons_resource_id resource) {
    return s->resources.items[resource].busy;
}

typedef struct memory_change {
    double seconds;
    int64_t bytes;
    uint32_t order;
    bool ends;
} memory_change;

/* Changes at the same time stand in the order of their tasks, and a task's own start before its end: else a peak would
 * count bytes that one task has freed before the other took them. */
static int by_time(const void *left, const void *right) {
    const memory_change *a = left, *b = right;
    if (a->seconds != b->seconds) return a->seconds < b->seconds ? -1 : 1;
    if (a->order != b->order) return a->order < b->order ? -1 : 1;
    return (int)a->ends - (int)b->ends;
}

static bool is_on(const ons_simulation *s, ons_resource_id resource, uint32_t device) {
    return resource != ONS_NO_RESOURCE && s->resources.items[resource].device == device;
}

/* The changes of task i on the device: at most two. Returns how many. */
static uint32_t changes_of(const ons_simulation *s, uint32_t i, uint32_t device, memory_change changes[2]) {
    const ons_task_spec *t = &s->tasks.items[i];
    int64_t start = 0, end = 0;
    if (is_on(s, t->resource, device)) {
        start = t->start_bytes;
        end = t->end_bytes;
    }
    if (is_on(s, t->second_resource, device)) end += t->second_end_bytes;
    uint32_t count = 0;
    if (start != 0) changes[count++] = (memory_change){s->times[i].start, start, s->order[i], false};
    if (end != 0) changes[count++] = (memory_change){s->times[i].end, end, s->order[i], true};
    return count;
}

static int64_t held_at_first(const ons_simulation *s, uint32_t device) {
    for (size_t i = 0; i < s->held.count; ++i)
        if (s->held.items[i].device == device) return s->held.items[i].bytes;
    return 0;
}

ons_status *ons_simulation_memory(const ons_simulation *s, uint32_t device, ons_arena *arena, ons_memory_point **points,
                                  uint32_t *count, int64_t *peak) {
    memory_change pair[2], *changes;
    size_t found = 0;
    for (uint32_t i = 0; i < s->timed; ++i) found += changes_of(s, i, device, pair);
    ONS_CHECK(found < UINT32_MAX, ONS_UNSUPPORTED, "the memory changes more often than can be numbered");
    ONS_NEW(*points, arena, found + 1);
    changes = malloc((found + 1) * sizeof *changes);
    if (changes == NULL) return ons_status_out_of_memory();
    size_t next = 0;
    for (uint32_t i = 0; i < s->timed; ++i) {
        uint32_t more = changes_of(s, i, device, pair);
        for (uint32_t k = 0; k < more; ++k) changes[next++] = pair[k];
    }
    qsort(changes, found, sizeof *changes, by_time);
    int64_t bytes = *peak = held_at_first(s, device);
    (*points)[0] = (ons_memory_point){0, bytes};
    for (size_t i = 0; i < found; ++i) {
        bytes += changes[i].bytes;
        if (bytes > *peak) *peak = bytes;
        (*points)[i + 1] = (ons_memory_point){changes[i].seconds, bytes};
    }
    *count = (uint32_t)found + 1;
    free(changes);
    return NULL;
}
