/* What the files of the device context share: device_context.c takes and lays out its arena, device_context_values.c
 * reads and writes what lies there. */
#ifndef ONSTAGE_RUNTIME_PROGRAM_DEVICE_CONTEXT_STATE_H
#define ONSTAGE_RUNTIME_PROGRAM_DEVICE_CONTEXT_STATE_H

#include "base/map.h"
#include "runtime/program/device_context.h"

/* A value that keeps its place from step to step. */
typedef struct ons_resident {
    const char *name;   /* of constants: as in the first program that has it */
    const char *rounds; /* the weight that it holds in a half type; NULL: none */
    ons_value_kind kind;
    ons_type type;
    ons_data_id data;
    const ons_store *store;
    bool accumulates; /* takes in every micro-batch's gradient */
    int64_t bytes;    /* of all versions of it */
    int64_t offset;
} ons_resident;

struct ons_device_context {
    ons_device *device;
    const ons_registry *registry;
    int threads;
    bool tf32;
    ons_stream *compute;
    ons_event *done;
    ONS_VECTOR(ons_program *) programs;
    ONS_VECTOR(ons_resident) residents;
    ons_map by_name;
    void (*loaded)(void *argument); /* NULL: nobody asks */
    void *loaded_argument;
    int64_t transient_bytes, lower_bound, samples_bytes, staging_bytes;
    uint32_t step_count; /* places for steps in the control part; 0: there is none */
    void *arena;
    int64_t arena_bytes;
    int64_t promised; /* bytes of the device beside the arena, as they counted when it was taken */
    double *scalars;  /* the host's, that copies are fast with; as many as were ever asked for at once */
    uint32_t scalar_count;
};

/* Loads the first contents of a master (graph/passes/masters.h), which the file has in a half type. */
ons_status *ons_device_context_load_widened(ons_device_context *context, const ons_resident *master,
                                            const ons_tensor *tensor);

/* Makes all half weights that updates write of the weights that they stand for. */
ons_status *ons_device_context_round_all(ons_device_context *context);

#endif
