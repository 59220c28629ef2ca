/* A device context holds one stage on one device: a compute stream, the programs that run on it, and the one arena in
 * which all of them live.
 *
 *   | parameters, states, running statistics | constants | transient part, shared by all programs | staging | samples |
 *   control |
 *
 * Persistent values are shared between programs by name (constants by their data). The arena is taken once, in
 * ons_device_context_start, and is exactly as large as the layout says; nothing else is taken on the device. The
 * control part is for devices whose memory the host cannot access: what kernels read there of the step, and where they
 * say what is wrong with the data. The staging part is what comes from replicas to be added up, the samples part what
 * comes before its step begins.
 */
#ifndef ONSTAGE_RUNTIME_PROGRAM_DEVICE_CONTEXT_H
#define ONSTAGE_RUNTIME_PROGRAM_DEVICE_CONTEXT_H

#include "device/device.h"
#include "runtime/program/program.h"

typedef struct ons_device_context ons_device_context;

typedef struct ons_device_context_memory {
    int64_t parameters, states, buffers, constants, transient, staging, samples,
        control;       /* bytes, aligned as they lie */
    int64_t gradients; /* part of the states: what gradients are added up in */
    int64_t total;
    int64_t lower_bound; /* of the transient part: what is alive at once */
} ons_device_context_memory;

/* Makes a context. It takes over `device`; `threads` threads run kernels. */
ons_status *ons_device_context_new(ons_device *device, const ons_registry *registry, int threads,
                                   ons_device_context **context);
/* Sets ons_prepare's tf32 for the products of programs that are added from here on. */
void ons_device_context_set_tf32(ons_device_context *context, bool tf32);
void ons_device_context_free(ons_device_context *context); /* NULL is fine */

/* Prepares a program on the compute stream's thread and adds it. The context owns it. */
ons_status *ons_device_context_add(ons_device_context *context, const ons_graph *graph,
                                   const ons_program_options *options, ons_program **program);

/* Joins two programs whose parts alternate; both were added with `joined`, and as many slots. */
ons_status *ons_device_context_join(ons_device_context *context, ons_program *const programs[2]);

/* Room of the arena that no program uses; before it is taken. */
void ons_device_context_reserve_staging(ons_device_context *context, int64_t bytes);
void *ons_device_context_staging(const ons_device_context *context);
void ons_device_context_reserve_samples(ons_device_context *context, int64_t bytes);
void *ons_device_context_samples(const ons_device_context *context, int64_t *bytes);

/* Predicts what the arena will take, with the programs added so far. */
ons_status *ons_device_context_predict(const ons_device_context *context, ons_device_context_memory *memory);

/* Calls `loaded` while the first contents of persistent values are loaded, each time when several MiB of them have
 * been: what they were read from is not needed any more. */
void ons_device_context_tell_loaded(ons_device_context *context, void (*loaded)(void *argument), void *argument);

/* Takes the arena, places all programs and loads the first contents of persistent values from the graphs' stores; half
 * weights are made of the weights. */
ons_status *ons_device_context_start(ons_device_context *context);

/* Poisons all transient memory, where the programs poison what holds nothing (runtime/program/poison.h). */
void ons_device_context_bury_all(const ons_device_context *context);

/* Measures what the device's own context (CUDA's) and libraries take beside the arena, as far as they are loaded
 * (programs that have been added have made theirs ready), and recordings. Before the arena is there the device's slack
 * is in it, for what is loaded and recorded later; after that it is no less than it was then. */
ons_status *ons_device_context_reserve(const ons_device_context *context, int64_t *bytes);

/* Fails where the memory cap does not hold any more: `what`, "the GPU's connections to others", has just taken more
 * beside the arena. */
ons_status *ons_device_context_check_cap(const ons_device_context *context, const char *what);

/* Gives the bytes really taken on the device. */
int64_t ons_device_context_used(const ons_device_context *context);

/* Finds a persistent value by name: its address and type, that of a vector where a slice of it has its place here; NULL
 * where there is none. */
void *ons_device_context_find(const ons_device_context *context, const char *name, ons_type *type);

/* The control part holds the steps of a pass's micro-batches and of their updates, as many as the program with most
 * needs, and the fault, all in the device's memory. Where `count` is 0, there is no such part. */
typedef struct ons_device_context_control {
    ons_step *steps;
    uint32_t count;
    ons_fault *fault;
} ons_device_context_control;
ons_device_context_control ons_device_context_get_control(const ons_device_context *context);

/* Copies between the host and the device's memory, or within that, behind what is on the compute stream, and wait for
 * it; where the host can access the memory they copy at once, so nothing may run. */
ons_status *ons_device_context_copy(ons_device_context *context, void *to, const void *from, size_t bytes);
/* Reads a float32 or float64 scalar. */
ons_status *ons_device_context_scalar(ons_device_context *context, const ons_program *program, ons_value_id value,
                                      double *scalar);
/* Reads several scalars with one wait for all; where a value is ONS_NONE its place in `scalars` stays what it is. */
ons_status *ons_device_context_scalars(ons_device_context *context, const ons_program *program,
                                       const ons_value_id *values, uint32_t count, double *scalars);

/* Memory of the host for what is read from a device; zeroed at first. */
typedef struct ons_host_copy {
    void *data;
    size_t size;
} ons_host_copy;
/* Lets the host read `bytes` at `address` of the device's memory: *contents lies there, or in *copy until the next
 * call. */
ons_status *ons_device_context_read(ons_device_context *context, const void *address, size_t bytes, ons_host_copy *copy,
                                    const void **contents);
/* Lets the host read a persistent value by name, in ONNX's order whatever its layout is; *type is its type, in that
 * order. *contents NULL: there is no such value. */
ons_status *ons_device_context_read_value(ons_device_context *context, const char *name, ons_type *type,
                                          ons_host_copy *copy, const void **contents);
/* Gives a persistent value other contents, which lie in the host's memory in ONNX's order; one that is not there is
 * left out. */
ons_status *ons_device_context_write_value(ons_device_context *context, const char *name, const void *contents);
/* Tells that a persistent value has other contents now, which did not come by ons_device_context_write_value or from an
 * update: the half weight that updates write beside it (graph/passes/half_weights.h) is made of it anew. */
ons_status *ons_device_context_changed(ons_device_context *context, const char *name);
void ons_host_copy_free(ons_host_copy *copy);

ons_device *ons_device_context_device(const ons_device_context *context);
ons_stream *ons_device_context_compute(const ons_device_context *context);
/* Puts a task on the compute stream. */
void ons_device_context_launch(ons_device_context *context, ons_task *task, void *argument);
/* Waits until everything that was launched is done. */
void ons_device_context_wait(ons_device_context *context);

#endif
