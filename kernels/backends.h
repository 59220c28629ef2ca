/* The backends that are linked: a list of the build's (backends_cpu.c, backends_cuda.c) or of a test's own. */
#ifndef ONSTAGE_KERNELS_BACKENDS_H
#define ONSTAGE_KERNELS_BACKENDS_H

#include "kernels/backend.h"

typedef struct ons_backend_choice {
    const char *name; /* NULL: end */
    const ons_backend *(*choose)(void);
} ons_backend_choice;

extern const ons_backend_choice ons_backends[];

const ons_backend *ons_choose_cpu_backend(void);
const ons_backend *ons_choose_cuda_backend(void);

#endif
