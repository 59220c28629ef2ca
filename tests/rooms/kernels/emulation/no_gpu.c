/* What the CUDA backend asks of device/cuda.c and device/cuda_compiler.c, where its kernels are emulated and nothing of
 * these is there: no NVRTC, so joined operators run one after the other, and one GPU. */
#include <stdio.h>
#include <stdlib.h>

#include "device/cuda.h"
#include "device/cuda_compiler.h"

/* Both give way to device/cuda_compiler.c where a test of what NVRTC compiles brings it along. */
__attribute__((weak)) ons_status *ons_cuda_compile(const ons_cuda_source *source, const ons_cuda_program **program) {
    (void)source, (void)program;
    return ons_status_new(ONS_UNSUPPORTED, "no compiler, says the test");
}

__attribute__((weak)) void ons_cuda_program_launch(const ons_cuda_program *program, uint32_t function, uintptr_t stream,
                                                   int64_t blocks, int threads, const void *arguments, size_t bytes) {
    (void)program, (void)function, (void)stream, (void)blocks, (void)threads, (void)arguments, (void)bytes;
    abort(); /* nothing was compiled */
}

int ons_cuda_current(void) { return 0; }

void ons_cuda_note(int code, const char *what, const char *reason) {
    fprintf(stderr, "%s: %s (error %d)\n", what, reason == NULL ? "" : reason, code);
    abort();
}
