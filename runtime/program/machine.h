/* One stage on one device: a compute stream, the programs that run on it, and the one arena in which all of them live.
 *
 *   | parameters, states, running statistics | constants | transient part, shared by all programs | staging | control |
 *
 * Persistent values are shared between programs by name (constants by their data). The arena is taken once, in
 * ons_machine_start, and is exactly as large as the layout says; nothing else is taken on the device. The control part
 * is for devices whose memory the host cannot access: what kernels read there of the step, and where they say what is
 * wrong with the data. The staging part is what comes from replicas to be added up.
 */
#ifndef ONSTAGE_RUNTIME_PROGRAM_MACHINE_H
#define ONSTAGE_RUNTIME_PROGRAM_MACHINE_H

#include "device/device.h"
#include "runtime/program/program.h"

typedef struct ons_machine ons_machine;

typedef struct ons_machine_memory {
    int64_t parameters, states, buffers, constants, transient, staging, control; /* bytes, aligned as they lie */
    int64_t total;
    int64_t lower_bound; /* of the transient part: what is alive at once */
} ons_machine_memory;

/* `device` is taken over. `threads` run kernels. */
ons_status *ons_machine_new(ons_device *device, const ons_registry *registry, int threads, ons_machine **machine);
/* Products of programs that are added from here on: ons_prepare's tf32. */
void ons_machine_set_tf32(ons_machine *machine, bool tf32);
void ons_machine_free(ons_machine *machine); /* NULL is fine */

/* Prepares a program on the compute stream's thread and adds it. It belongs to the machine. */
ons_status *ons_machine_add(ons_machine *machine, const ons_graph *graph, const ons_program_options *options,
                            ons_program **program);

/* Parts of the two programs run in turn; both were added with `joined`, and as many slots. */
ons_status *ons_machine_join(ons_machine *machine, ons_program *const programs[2]);

/* Room of the arena that no program uses; before it is taken. */
void ons_machine_reserve_staging(ons_machine *machine, int64_t bytes);
void *ons_machine_staging(const ons_machine *machine);

/* What the arena will take, with the programs added so far. */
ons_status *ons_machine_predict(const ons_machine *machine, ons_machine_memory *memory);

/* Takes the arena, places all programs and loads the first contents of persistent values from the graphs' stores. */
ons_status *ons_machine_start(ons_machine *machine);

/* What context and libraries take on the device beside the arena, as far as they are loaded (programs that have been
 * added have made theirs ready), and recordings. Before the arena is there the device's slack is in it, for what is
 * loaded and recorded later; after that it is no less than it was then. */
ons_status *ons_machine_reserve(const ons_machine *machine, int64_t *bytes);

/* What has been taken since under the cap beside the arena counts too: `what`, "the GPU's connections to others", has
 * just taken more. */
ons_status *ons_machine_check_cap(const ons_machine *machine, const char *what);

/* Bytes really taken on the device. */
int64_t ons_machine_used(const ons_machine *machine);

/* A persistent value by name: its address and type; NULL where there is none. */
void *ons_machine_find(const ons_machine *machine, const char *name, ons_type *type);

/* The control part: places for steps of the micro-batches of a flight, as many as `steps` of the program with most, and
 * of their updates; and the fault. `count` 0: there is none. All in the device's memory. */
typedef struct ons_machine_control {
    ons_step *steps;
    uint32_t count;
    ons_fault *fault;
} ons_machine_control;
ons_machine_control ons_machine_get_control(const ons_machine *machine);

/* Copies between the host and the device's memory, or within that, behind what is on the compute stream, and wait for
 * it; where the host can access the memory they copy at once, so nothing may run. */
ons_status *ons_machine_copy(ons_machine *machine, void *to, const void *from, size_t bytes);
/* What a float32 or float64 scalar holds. */
ons_status *ons_machine_scalar(ons_machine *machine, const ons_program *program, ons_value_id value, double *scalar);
/* What several of them hold, by one wait for all; where a value is ONS_NONE its place in `scalars` stays what it is. */
ons_status *ons_machine_scalars(ons_machine *machine, const ons_program *program, const ons_value_id *values,
                                uint32_t count, double *scalars);

/* Memory of the host for what is looked at; zeroed at first. */
typedef struct ons_host_copy {
    void *data;
    size_t size;
} ons_host_copy;
/* Where the host can read `bytes` at `address` of the device's memory: there, or in *copy, until the next call. */
ons_status *ons_machine_look(ons_machine *machine, const void *address, size_t bytes, ons_host_copy *copy,
                             const void **contents);
void ons_host_copy_free(ons_host_copy *copy);

ons_device *ons_machine_device(const ons_machine *machine);
ons_stream *ons_machine_compute(const ons_machine *machine);
/* Puts a task on the compute stream. */
void ons_machine_launch(ons_machine *machine, ons_task *task, void *argument);
/* Waits until everything that was launched is done. */
void ons_machine_wait(ons_machine *machine);

#endif
