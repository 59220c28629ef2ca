/* Libraries that the program loads: none of the GPU's is there but NCCL, which has a fake of its own, and what a test
 * brings. */
#include <string.h>

#include "tests/fake_gpu/cuda_runtime/fake_cuda.h"

ons_status *(*fake_cuda_load)(const char *file, const ons_cuda_symbol *symbols);

ons_status *__real_ons_cuda_library_load(const char *file, const char *purpose, /* NOLINT */
                                         const ons_cuda_symbol *symbols);
ons_status *__wrap_ons_cuda_library_load(const char *file, const char *purpose, /* NOLINT */
                                         const ons_cuda_symbol *symbols);

ons_status *__wrap_ons_cuda_library_load(const char *file, const char *purpose, /* NOLINT */
                                         const ons_cuda_symbol *symbols) {
    if (strstr(file, "nccl") != NULL) return __real_ons_cuda_library_load(file, purpose, symbols);
    if (fake_cuda_load != NULL) return fake_cuda_load(file, symbols);
    return ons_status_new(ONS_UNSUPPORTED, "%s need %s, which is not on this machine, says the test", purpose, file);
}
