/* Without the toolkit: tests that want NVRTC hear that it is not there. */
#include "device/cuda_compiler.h"

ons_status *ons_cuda_compile_image(const ons_cuda_source *source, const char *architecture, const char *folder,
                                   void **image, size_t *bytes, bool *found) {
    (void)source, (void)architecture, (void)folder, (void)image, (void)bytes, (void)found;
    return ons_status_new(ONS_UNSUPPORTED, "this build has no NVRTC; it comes with --config=cuda");
}
