/* Kinds of devices: which there are on this machine, and how one is made. The list is the build's (device_kinds_cpu.c,
 * device_kinds_cuda.c) or a test's own. */
#ifndef ONSTAGE_DEVICE_DEVICE_KIND_H
#define ONSTAGE_DEVICE_DEVICE_KIND_H

#include "device/device.h"

enum { ONS_DEVICE_IDENTITY_BYTES = 32 };

typedef struct ons_device_kind {
    const char *name; /* of its devices: "cpu" */

    /* Whether there is one here; a failure says what is missing and what to do. */
    ons_status *(*check)(void);

    /* How many there are; 0 where `check` fails. */
    int (*count)(void);

    /* What tells those of a machine apart, whatever numbers processes give them. NULL: there is only one. */
    ons_status *(*read_identity)(int index, char identity[static ONS_DEVICE_IDENTITY_BYTES]);

    /* Before any other call, where devices may exchange messages: what would make others wait later is loaded when the
     * program starts. NULL: nothing would. */
    void (*load_early)(void);

    /* Number `index`, from 0. `limit_bytes` and `pin`: as for ons_cpu_device_new. */
    ons_status *(*device_new)(int index, int64_t limit_bytes, bool pin, ons_device **device);
} ons_device_kind;

extern const ons_device_kind *const ons_device_kinds[]; /* NULL at the end */

extern const ons_device_kind ons_cpu_kind, ons_cuda_kind;

/* By name. Fails with the remedy where the list has none of that name. */
ons_status *ons_device_kind_find(const char *name, const ons_device_kind **kind);

#endif
