#include "tests/nccl/far_nccl.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/transport/nccl_api.h"
#include "tests/far/far_device.h"

static const char library[] = "tests/nccl/libfake_nccl.so";
static const fake_nccl *fake;

const fake_nccl *far_nccl_use(int gpus) {
    static const fake_nccl_streams streams = {far_put_when, far_wake, far_current_gpu};
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
    far_gpus(gpus);
    return fake;
}

const char *far_nccl_complaint(void) {
    const char *complaint = fake->complaint();
    return complaint == NULL && fake->counts().alive > 0 ? "communicators are left" : complaint;
}
