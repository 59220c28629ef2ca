/* In place of cuda.c in builds without CUDA. */
#include "device/cuda.h"
#include "device/cuda_compiler.h"

ons_status *ons_cuda_check(void) {
    return ons_status_new(ONS_UNSUPPORTED, "--device cuda: this build has no CUDA; build it with --config=cuda, or use "
                                           "--device cpu");
}

int ons_cuda_count(void) { return 0; }

int ons_cuda_current(void) { return 0; }

ons_status *ons_cuda_read_identity(int index, char identity[static ONS_CUDA_IDENTITY_BYTES]) {
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

ons_status *ons_cuda_compile(const ons_cuda_source *source, const ons_cuda_program **program) {
    (void)source, (void)program;
    return ons_cuda_check();
}

void ons_cuda_program_launch(const ons_cuda_program *program, uint32_t function, uintptr_t stream, int64_t blocks,
                             int threads, const void *arguments, size_t bytes) {
    (void)program, (void)function, (void)stream, (void)blocks, (void)threads, (void)arguments, (void)bytes;
}

ons_status *ons_cuda_compile_image(const ons_cuda_source *source, const char *architecture, const char *folder,
                                   void **image, size_t *bytes, bool *found) {
    (void)source, (void)architecture, (void)folder, (void)image, (void)bytes, (void)found;
    return ons_cuda_check();
}
