/* What makes the program `onstage` one with devices with discrete memory, here: its main is tools/main.c.
 * $FAR_GPUS: how many there are. $FAR_NCCL: the library in NCCL's place (tests/fake_gpu/nccl/fake_nccl_files.c). */
#include <dlfcn.h>
#include <stdlib.h>

#include "runtime/transport/nccl_api.h"
#include "tests/fake_gpu/discrete_memory/discrete_device.h"
#include "tests/fake_gpu/nccl/fake_nccl.h"

__attribute__((constructor)) static void begin(void) {
    static const fake_nccl_streams streams = {discrete_put_when, discrete_wake, discrete_current_gpu};
    const char *gpus = getenv("FAR_GPUS"), *library = getenv("FAR_NCCL");
    if (gpus != NULL) discrete_gpus((int)strtol(gpus, NULL, 10));
    if (library == NULL) return;
    ons_nccl_load_from(library);
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) return; /* the program says so when it wants the library */
    void (*use)(const fake_nccl_streams *) = (void (*)(const fake_nccl_streams *))dlsym(handle, "fake_nccl_use");
    if (use != NULL) use(&streams);
}
