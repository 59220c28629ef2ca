/* Libraries of CUDA that are loaded when something asks for them, so that the program starts where they are not. */
#ifndef ONSTAGE_DEVICE_CUDA_LIBRARY_H
#define ONSTAGE_DEVICE_CUDA_LIBRARY_H

#include "base/status.h"

/* One function of a library and where its address goes. */
typedef struct ons_cuda_symbol {
    const char *name;
    void **address;
} ons_cuda_symbol;

/* Loads `file` ("libcublasLt.so.13"), from the loader's path or the toolkit's folder, and finds the symbols (`name`
 * NULL ends them). `purpose` says in the failure what needs it: "matrix products". The library stays loaded. Call it
 * under a lock or once. */
ons_status *ons_cuda_library_load(const char *file, const char *purpose, const ons_cuda_symbol *symbols);

#endif
