/* Libraries that product code loads: none of the GPU's is there but NCCL, which has a fake of its own. */
#include <string.h>

#include "device/cuda_library.h"

ons_status *__real_ons_cuda_library_load(const char *file, const char *purpose, /* NOLINT */
                                         const ons_cuda_symbol *symbols);
ons_status *__wrap_ons_cuda_library_load(const char *file, const char *purpose, /* NOLINT */
                                         const ons_cuda_symbol *symbols);

ons_status *__wrap_ons_cuda_library_load(const char *file, const char *purpose, /* NOLINT */
                                         const ons_cuda_symbol *symbols) {
    if (strstr(file, "nccl") != NULL) return __real_ons_cuda_library_load(file, purpose, symbols);
    return ons_status_new(ONS_UNSUPPORTED, "%s is not on this machine, says the test", file);
}
