/* Launches of emulated kernels. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fake_gpu/cuda_runtime/fake_state.h"
#include "tests/rooms/kernels/emulation/emulation.h"

enum { BLOCK_MOST = 1024, BLOCK_DEEP = 64, SHARED_MOST = 48 * 1024, ARGUMENTS_MOST = 32764 };
static const unsigned grid_most[] = {2147483647, 65535, 65535};

static cudaError_t check_shape(const ons_emulation_kernel *k) {
    bool good = (uint64_t)k->block[0] * k->block[1] * k->block[2] <= BLOCK_MOST && k->block[2] <= BLOCK_DEEP;
    for (int i = 0; i < 3; ++i) good = good && k->grid[i] > 0 && k->grid[i] <= grid_most[i] && k->block[i] > 0;
    if (!good)
        return fake_complain(cudaErrorInvalidConfiguration, "a launch of (%u, %u, %u) blocks of (%u, %u, %u) threads",
                             k->grid[0], k->grid[1], k->grid[2], k->block[0], k->block[1], k->block[2]);
    if (k->shared_bytes > SHARED_MOST)
        return fake_complain(cudaErrorInvalidValue, "%zu bytes of shared memory, and nobody has raised the limit",
                             k->shared_bytes);
    if (k->argument_bytes > ARGUMENTS_MOST)
        return fake_complain(cudaErrorInvalidValue, "a kernel has %zu bytes of arguments", k->argument_bytes);
    return cudaSuccess;
}

/* Whether the host can write there: its stack, its heap. A text's place is none of those. */
static bool is_of_host(uint64_t address) {
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    bool found = false;
    while (maps != NULL && !found && fgets(line, sizeof line, maps) != NULL) {
        unsigned long long begin, end;
        char access[8];
        found = sscanf(line, "%llx-%llx %7s", &begin, &end, access) == 3 && address >= begin && address < end &&
                access[1] == 'w';
    }
    if (maps != NULL) fclose(maps);
    return found;
}

/* What stands between a structure's fields, and behind those of its arrays that are used, may look like an address of
 * the host's; an argument that is one is a defect. */
static cudaError_t look_at_words(const char *bytes, size_t size, int argument, gpu_operation *o) {
    for (size_t at = 0; at + sizeof(uint64_t) <= size; at += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, bytes + at, sizeof word);
        if (word >> 32 == 0 || word >> 47 != 0) continue;
        const void *address = (const void *)(uintptr_t)word; /* NOLINT: it may be one */
        if (fake_block_of(address, 1) != NULL)
            o->touches[o->touch_count++] = address;
        else if (size == sizeof word && is_of_host(word))
            return fake_complain(cudaErrorIllegalAddress, "argument %d of a kernel is %p, which is the host's",
                                 argument, address);
    }
    return cudaSuccess;
}

static cudaError_t look_at_arguments(const ons_emulation_kernel *k, gpu_operation *o) {
    size_t words = 1;
    for (int i = 0; i < k->count; ++i) words += k->sizes[i] / sizeof(uint64_t);
    o->touches = calloc(words, sizeof *o->touches);
    if (o->touches == NULL) abort();
    for (int i = 0; i < k->count; ++i) {
        cudaError_t error = look_at_words(k->arguments[i], k->sizes[i], i, o);
        if (error != cudaSuccess) return error;
    }
    return cudaSuccess;
}

static cudaError_t put_kernel(uintptr_t native, const ons_emulation_kernel *k, gpu_operation o) {
    cudaStream_t stream = (cudaStream_t)native;
    cudaError_t error = fake_enter("a launch", CONTEXT);
    if (error == cudaSuccess) error = fake_check_stream(stream, "a launch");
    if (error == cudaSuccess && stream->scheduled.gpu != fake_gpu)
        error = fake_complain(cudaErrorInvalidResourceHandle, "a launch on a stream of GPU %d by a thread on GPU %d",
                              stream->scheduled.gpu, fake_gpu);
    if (error == cudaSuccess && k != NULL) error = check_shape(k);
    if (error == cudaSuccess && k != NULL) error = look_at_arguments(k, &o);
    if (error == cudaSuccess && fake_fails(FAKE_CUDA_REFUSE_LAUNCH)) error = cudaErrorLaunchOutOfResources;
    if (error == cudaSuccess) {
        ++fake.counts.kernels;
        fake_put_locked(stream, o);
    } else {
        fake_drop_operation(&o);
    }
    return fake_leave(error);
}

void fake_put_work(uintptr_t stream, void (*run)(void *argument), void (*drop)(void *argument), void *argument) {
    (void)put_kernel(stream, NULL, (gpu_operation){.kind = KERNEL, .run = run, .drop = drop, .argument = argument});
}

void fake_put_when(uintptr_t stream, bool (*ready)(void *argument), void (*run)(void *argument), void *argument) {
    (void)put_kernel(stream, NULL, (gpu_operation){.kind = KERNEL, .ready = ready, .run = run, .argument = argument});
}

static int launch(uintptr_t stream, const ons_emulation_kernel *kernel, void (*run)(void *argument),
                  void (*drop)(void *argument), void *argument) {
    return (int)put_kernel(stream, kernel,
                           (gpu_operation){.kind = KERNEL, .run = run, .drop = drop, .argument = argument});
}

static int copy(void *to, const void *from, size_t bytes, uintptr_t stream) {
    return (int)cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, (cudaStream_t)stream);
}

static int fill(void *to, int value, size_t bytes, uintptr_t stream) {
    return (int)cudaMemsetAsync(to, value, bytes, (cudaStream_t)stream);
}

__attribute__((constructor)) static void take_kernels(void) {
    static const ons_emulation_runtime runtime = {launch, copy, fill};
    ons_emulation_put = fake_put_work;
    ons_emulation_kernels = &runtime;
}

/* ----------------------------------------------------------------------------------------- kernels made at run time */

cudaError_t cudaLibraryLoadData(cudaLibrary_t *library, const void *code, enum cudaJitOption *jit_options,
                                void **jit_values, unsigned jit_count, enum cudaLibraryOption *options, void **values,
                                unsigned count) {
    (void)library, (void)code, (void)jit_options, (void)jit_values, (void)jit_count, (void)options, (void)values;
    (void)count;
    return fake_leave(fake_enter("cudaLibraryLoadData", NO_CAPTURE) != cudaSuccess ? cudaErrorUnknown
                                                                                   : cudaErrorInvalidKernelImage);
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t *kernel, cudaLibrary_t library, const char *name) {
    (void)kernel, (void)library, (void)name;
    return fake_leave(fake_enter("cudaLibraryGetKernel", NO_CAPTURE) != cudaSuccess ? cudaErrorUnknown
                                                                                    : cudaErrorInvalidValue);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *function, void **arguments) {
    (void)config, (void)function, (void)arguments;
    cudaError_t error = fake_enter("cudaLaunchKernelExC", CONTEXT);
    return fake_leave(error != cudaSuccess ? error : cudaErrorInvalidDeviceFunction);
}
