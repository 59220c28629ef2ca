/* In place of cuda.c in builds without CUDA. */
#include "device/cuda.h"

ons_status *ons_cuda_check(void) {
    return ons_status_new(ONS_UNSUPPORTED, "--device cuda: this build has no CUDA; build it with --config=cuda, or use "
                                           "--device cpu");
}

int ons_cuda_count(void) { return 0; }

int ons_cuda_current(void) { return 0; }

ons_status *ons_cuda_identity(int index, char identity[static ONS_CUDA_IDENTITY_BYTES]) {
    (void)index, (void)identity;
    return ons_cuda_check();
}

void ons_cuda_load_early(void) {}

ons_status *ons_cuda_device_new(int index, int64_t limit_bytes, ons_device **device) {
    (void)index, (void)limit_bytes, (void)device;
    return ons_cuda_check();
}

ons_status *ons_cuda_memory_now(int index, ons_cuda_memory *memory) {
    (void)index, (void)memory;
    return ons_cuda_check();
}

void ons_cuda_note(int code, const char *what) { (void)code, (void)what; }
