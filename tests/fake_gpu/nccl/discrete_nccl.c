#include "tests/fake_gpu/nccl/discrete_nccl.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/transport/nccl_api.h"
#include "tests/fake_gpu/discrete_memory/discrete_device.h"

static const char library[] = "tests/fake_gpu/nccl/libfake_nccl.so";
static const fake_nccl *fake;

const fake_nccl *discrete_nccl_use(int gpus) {
    static const fake_nccl_streams streams = {discrete_put_when, discrete_wake, discrete_current_gpu};
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    const fake_nccl *(*table)(void) =
        handle == NULL ? NULL : (const fake_nccl *(*)(void))dlsym(handle, "fake_nccl_table");
    if (table == NULL) {
        fprintf(stderr, "%s: %s\n", library, dlerror());
        abort();
    }
    fake = table();
    fake->use(&streams);
    ons_nccl_load_from(library);
    discrete_gpus(gpus);
    return fake;
}

const char *discrete_nccl_complaint(void) {
    const char *complaint = fake->complaint();
    return complaint == NULL && fake->counts().alive > 0 ? "communicators are left" : complaint;
}
