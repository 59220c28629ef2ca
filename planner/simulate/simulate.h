/* The event simulator: tasks on resources, each resource serving its tasks in the order in which they were added, as a
 * device's stream does. A task starts when all that it waits for has ended and its resources are free; so the times
 * follow from the graph of tasks alone, and a cycle is a deadlock.
 */
#ifndef ONSTAGE_PLANNER_SIMULATE_SIMULATE_H
#define ONSTAGE_PLANNER_SIMULATE_SIMULATE_H

#include "base/status.h"
#include "planner/schedule/schedule.h"

typedef uint32_t ons_task_id;
typedef uint32_t ons_resource_id;
enum { ONS_NO_TASK = 0xffffffffu, ONS_NO_RESOURCE = 0xffffffffu };

typedef struct ons_simulation ons_simulation;

ons_status *ons_simulation_new(ons_simulation **simulation);
void ons_simulation_free(ons_simulation *simulation); /* NULL is fine */

/* Adds a stream of a device ("compute", "send", "receive", "swap out", "swap in"). Texts are not copied. */
ons_status *ons_simulation_add_resource(ons_simulation *s, uint32_t device, const char *name, ons_resource_id *id);
/* Adds a stream on which no task waits for another: its tasks change the device's memory and are shown, nothing more.
 */
ons_status *ons_simulation_add_unordered(ons_simulation *s, uint32_t device, const char *name, ons_resource_id *id);
/* Sets what a device holds before the first task; 0 where it is not said. */
ons_status *ons_simulation_set_memory(ons_simulation *s, uint32_t device, int64_t bytes);

typedef struct ons_task_spec {
    const char *name; /* for traces and messages; not copied */
    ons_action action;
    ons_resource_id resource; /* ONS_NO_RESOURCE: it waits for nobody's turn, and changes no memory */
    ons_resource_id
        second_resource; /* a transfer occupies the receiver's and the sender's stream; ONS_NO_RESOURCE: none */
    double seconds;
    int64_t start_bytes;      /* change of the memory of the first resource's device when the task starts */
    int64_t end_bytes;        /* change of the memory of the first resource's device when the task ends */
    int64_t second_end_bytes; /* change of the memory of the second resource's device when the task ends */
} ons_task_spec;
ons_status *ons_simulation_add_task(ons_simulation *s, const ons_task_spec *spec, ons_task_id *id);
/* `task` starts no earlier than `lag` seconds after the end of `before`; where that is negative, so many seconds before
 * it, while `before` runs, but no earlier than `before` itself. Both may be added later, before the run. */
ons_status *ons_simulation_add_dependency(ons_simulation *s, ons_task_id before, ons_task_id task, double lag);

/* A savepoint says how much was added; ons_simulation_rewind takes back what was added later, so that something else
 * can be. */
typedef struct ons_simulation_savepoint {
    size_t tasks, dependencies;
} ons_simulation_savepoint;
ons_simulation_savepoint ons_simulation_get_savepoint(const ons_simulation *s);
void ons_simulation_rewind(ons_simulation *s, ons_simulation_savepoint savepoint);

/* Finds all times, in one pass over tasks and dependencies. A deadlock fails with the names of the tasks that wait for
 * each other. May be called again after more was added. */
ons_status *ons_simulation_run(ons_simulation *s);

typedef struct ons_task_times {
    double start, end;
    ons_task_id cause; /* what it waited for last: follows the critical path back; ONS_NO_TASK: nothing */
} ons_task_times;
uint32_t ons_simulation_task_count(const ons_simulation *s);
const ons_task_spec *ons_simulation_task(const ons_simulation *s, ons_task_id task);
ons_task_times ons_simulation_times(const ons_simulation *s, ons_task_id task);
/* Gives a task's place in an order in which no task stands before one that it waits for: of two tasks that start at the
 * same time, the one that goes first. */
uint32_t ons_simulation_order(const ons_simulation *s, ons_task_id task);
double ons_simulation_seconds(const ons_simulation *s); /* the end of the last task */
uint32_t ons_simulation_resource_count(const ons_simulation *s);
const char *ons_simulation_resource_name(const ons_simulation *s, ons_resource_id resource);
uint32_t ons_simulation_resource_device(const ons_simulation *s, ons_resource_id resource);
double ons_simulation_busy(const ons_simulation *s, ons_resource_id resource);
ons_task_id ons_simulation_last(const ons_simulation *s); /* the one that ends last: start of the critical path */

/* Lists the memory of a device over time, as (seconds, bytes) after each change, by rising time; the first point is
 * what it held before. Of changes at the same time the one that the other waits for comes first. In `arena`. */
typedef struct ons_memory_point {
    double seconds;
    int64_t bytes;
} ons_memory_point;
ons_status *ons_simulation_memory(const ons_simulation *s, uint32_t device, ons_arena *arena, ons_memory_point **points,
                                  uint32_t *count, int64_t *peak);

/* Writes a file for Perfetto, whole or not at all: a process for each device, a thread for each of its streams, its
 * memory as a counter. */
ons_status *ons_simulation_write_trace(const ons_simulation *s, const char *path);

#endif
