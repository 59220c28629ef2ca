#include "device/cuda_library.h"

#include <dlfcn.h>
#include <stdio.h>

static const char folder[] = "/usr/local/cuda/lib64";

ons_status *ons_cuda_library_load(const char *file, const char *purpose, const ons_cuda_symbol *symbols) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    ONS_CHECK(library != NULL, ONS_UNSUPPORTED,
              "%s on the GPU need %s, which cannot be loaded (%s); put its folder on LD_LIBRARY_PATH", purpose, file,
              dlerror());
    for (const ons_cuda_symbol *symbol = symbols; symbol->name != NULL; ++symbol) {
        *symbol->address = dlsym(library, symbol->name);
        ONS_CHECK(*symbol->address != NULL, ONS_UNSUPPORTED, "%s has no %s: another version is needed", file,
                  symbol->name);
    }
    return NULL;
}
