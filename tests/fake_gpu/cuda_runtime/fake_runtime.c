/* State, errors, devices. */
#include <execinfo.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/fake_gpu/cuda_runtime/fake_state.h"

fake_state fake = {
    .gpus = 1,
    .driver = 13000,
    .major = 9,
    .total = (int64_t)16 << 30,
};
_Thread_local int fake_gpu;
_Thread_local fake_graph *fake_begun;
static _Thread_local cudaError_t last_error;

cudaError_t fake_complain(cudaError_t error, const char *format, ...) {
    char text[sizeof fake.complaint];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (!fake.collects) {
        void *calls[24];
        fprintf(stderr, "fake CUDA runtime: %s\n", text);
        backtrace_symbols_fd(calls, backtrace(calls, 24), STDERR_FILENO);
        abort();
    }
    if (fake.complaint[0] == 0) memcpy(fake.complaint, text, sizeof text);
    return error;
}

const char *fake_cuda_collect(void) {
    static char told[sizeof fake.complaint];
    pthread_mutex_lock(&scheduler.lock);
    fake.collects = true;
    memcpy(told, fake.complaint, sizeof told);
    fake.complaint[0] = 0;
    pthread_mutex_unlock(&scheduler.lock);
    return told[0] == 0 ? NULL : told;
}

bool fake_fails(fake_cuda_fault fault) {
    int64_t *until = &fake.until[fault];
    return *until < 0 || (*until > 0 && --*until == 0);
}

void fake_lose(cudaError_t error) {
    if (fake.lost == cudaSuccess) fake.lost = error;
    pthread_cond_broadcast(&scheduler.put_more);
}

void fake_cuda_fail(fake_cuda_fault fault, int64_t at) {
    pthread_mutex_lock(&scheduler.lock);
    fake.until[fault] = at;
    pthread_mutex_unlock(&scheduler.lock);
}

bool fake_cuda_is_to_fail(fake_cuda_fault fault) {
    pthread_mutex_lock(&scheduler.lock);
    bool is = fake.until[fault] != 0;
    pthread_mutex_unlock(&scheduler.lock);
    return is;
}

void fake_cuda_machine(int gpus, int driver, int major) {
    fake.gpus = gpus;
    fake.driver = driver;
    fake.major = major;
}

fake_cuda_counts fake_cuda_get_counts(void) {
    pthread_mutex_lock(&scheduler.lock);
    fake_cuda_counts counts = fake.counts;
    pthread_mutex_unlock(&scheduler.lock);
    return counts;
}

fake_cuda_left fake_cuda_get_left(void) {
    pthread_mutex_lock(&scheduler.lock);
    fake_cuda_left left = fake.left;
    pthread_mutex_unlock(&scheduler.lock);
    return left;
}

bool fake_cuda_nothing_left(void) {
    const fake_cuda_left l = fake_cuda_get_left();
    return l.streams + l.events + l.graphs + l.executables + l.device_blocks + l.host_blocks == 0;
}

/* ------------------------------------------------------------------------------------------------------------ calls */

static cudaError_t check_call(const char *name, unsigned needs) {
    if (!fake.asked)
        return fake_complain(cudaErrorInitializationError, "%s before the driver and its GPUs have been asked for",
                             name);
    if (fake.driver == 0 || fake.gpus == 0) return fake_complain(cudaErrorNoDevice, "%s where there is no GPU", name);
    if (fake_fails(FAKE_CUDA_LOSE_DEVICE)) fake_lose(cudaErrorDevicesUnavailable);
    if (fake.lost != cudaSuccess) return fake.lost;
    if ((needs & CONTEXT) != 0 && !fake.context[fake_gpu])
        return fake_complain(cudaErrorDeviceUninitialized, "%s makes a context on GPU %d, which nobody has chosen",
                             name, fake_gpu);
    if ((needs & NO_CAPTURE) != 0 && fake_begun != NULL) {
        fake_begun->invalid = name;
        return fake_complain(cudaErrorStreamCaptureUnsupported, "%s while this thread captures", name);
    }
    return cudaSuccess;
}

cudaError_t fake_enter(const char *name, unsigned needs) {
    pthread_mutex_lock(&scheduler.lock);
    ++fake.counts.calls;
    return check_call(name, needs);
}

cudaError_t fake_leave(cudaError_t error) {
    pthread_mutex_unlock(&scheduler.lock);
    if (error != cudaSuccess) last_error = error;
    return error;
}

cudaError_t cudaGetLastError(void) {
    cudaError_t error = cudaPeekAtLastError();
    last_error = cudaSuccess;
    return error;
}

cudaError_t cudaPeekAtLastError(void) {
    pthread_mutex_lock(&scheduler.lock);
    cudaError_t lost = fake.lost;
    pthread_mutex_unlock(&scheduler.lock);
    return lost != cudaSuccess ? lost : last_error;
}

const char *cudaGetErrorString(cudaError_t error) {
    switch (error) {
    case cudaSuccess: return "no error";
    case cudaErrorInvalidValue: return "invalid argument";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorNoDevice: return "no CUDA-capable device is detected";
    case cudaErrorIllegalAddress: return "an illegal memory access was encountered";
    case cudaErrorLaunchOutOfResources: return "too many resources requested for launch";
    case cudaErrorDevicesUnavailable: return "CUDA-capable device(s) is/are busy or unavailable";
    case cudaErrorNotSupported: return "operation not supported";
    case cudaErrorStreamCaptureUnsupported: return "operation not permitted when stream is capturing";
    case cudaErrorStreamCaptureInvalidated: return "operation failed due to a previous error during capture";
    default: return "another error";
    }
}

/* ---------------------------------------------------------------------------------------------------------- devices */

cudaError_t cudaDriverGetVersion(int *version) {
    *version = fake.driver;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count) {
    pthread_mutex_lock(&scheduler.lock);
    fake.asked = true;
    *count = fake.driver == 0 ? 0 : fake.gpus;
    cudaError_t error = fake.driver == 0 ? cudaErrorInsufficientDriver
                        : fake.gpus == 0 ? cudaErrorNoDevice
                                         : cudaSuccess;
    return fake_leave(error != cudaSuccess ? error : fake.lost);
}

static cudaError_t check_gpu(const char *name, int gpu) {
    if (gpu >= 0 && gpu < fake.gpus) return cudaSuccess;
    return fake_complain(cudaErrorInvalidDevice, "%s for GPU %d of %d", name, gpu, fake.gpus);
}

cudaError_t cudaSetDevice(int gpu) {
    cudaError_t error = fake_enter("cudaSetDevice", NOTHING_MORE);
    if (error == cudaSuccess) error = check_gpu("cudaSetDevice", gpu);
    if (error == cudaSuccess && fake_begun != NULL && gpu != fake_gpu)
        error = fake_complain(cudaErrorStreamCaptureUnsupported, "another GPU is chosen while this thread captures");
    if (error == cudaSuccess) {
        fake_gpu = gpu;
        fake.context[gpu] = true;
    }
    return fake_leave(error);
}

cudaError_t cudaGetDevice(int *gpu) {
    cudaError_t error = fake_enter("cudaGetDevice", NOTHING_MORE);
    *gpu = fake_gpu;
    return fake_leave(error);
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int gpu) {
    cudaError_t error = fake_enter("cudaDeviceGetAttribute", NOTHING_MORE);
    if (error == cudaSuccess) error = check_gpu("cudaDeviceGetAttribute", gpu);
    if (attribute == cudaDevAttrComputeCapabilityMajor)
        *value = fake.major;
    else if (attribute == cudaDevAttrComputeCapabilityMinor)
        *value = 0;
    else
        error = fake_complain(cudaErrorInvalidValue, "the fake does not know attribute %d", (int)attribute);
    return fake_leave(error);
}

cudaError_t cudaDeviceGetPCIBusId(char *place, int bytes, int gpu) {
    cudaError_t error = fake_enter("cudaDeviceGetPCIBusId", NOTHING_MORE);
    if (error == cudaSuccess) error = check_gpu("cudaDeviceGetPCIBusId", gpu);
    if (error == cudaSuccess && bytes < 13)
        error = fake_complain(cudaErrorInvalidValue, "a PCI bus id needs 13 bytes, not %d", bytes);
    if (error == cudaSuccess) snprintf(place, (size_t)bytes, "0000:%02x:00.0", gpu);
    return fake_leave(error);
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int gpu) {
    cudaError_t error = fake_enter("cudaGetDeviceProperties", NOTHING_MORE);
    if (error == cudaSuccess) error = check_gpu("cudaGetDeviceProperties", gpu);
    if (error == cudaSuccess) {
        memset(properties, 0, sizeof *properties);
        snprintf(properties->name, sizeof properties->name, "a device with discrete memory");
        properties->totalGlobalMem = (size_t)(fake.told_total > 0 ? fake.told_total : fake.total);
        properties->major = fake.major;
    }
    return fake_leave(error);
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes) {
    cudaError_t error = fake_enter("cudaMemGetInfo", CONTEXT);
    int64_t left = fake.total - fake.reserve - fake.taken[fake_gpu] - fake.left.executables * fake.bytes_a_graph;
    *free_bytes = left > 0 ? (size_t)left : 0;
    *total_bytes = (size_t)fake.total;
    return fake_leave(error);
}

/* ----- what nvcc's objects call when they are linked, too (--config=cuda); the emulated kernels run in their place. */

void **__cudaRegisterFatBinary(void *binary);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int limit, uint3 *tid,
                            uint3 *bid, dim3 *block, dim3 *grid, int *size);
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *function);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
                               cudaStream_t stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);

void **__cudaRegisterFatBinary(void *binary) {
    (void)binary;
    static void *handle;
    return &handle;
}
void __cudaRegisterFatBinaryEnd(void **handle) { (void)handle; }
void __cudaUnregisterFatBinary(void **handle) { (void)handle; }
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int limit, uint3 *tid,
                            uint3 *bid, dim3 *block, dim3 *grid, int *size) {
    (void)handle, (void)host, (void)device, (void)name, (void)limit, (void)tid, (void)bid, (void)block, (void)grid;
    (void)size;
}

static cudaError_t not_emulated(void) {
    return fake_complain(cudaErrorInvalidDeviceFunction, "a kernel for a GPU is launched, not the emulated one");
}

cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *function) {
    (void)kernel, (void)function;
    return not_emulated();
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
                               cudaStream_t stream) {
    (void)kernel, (void)grid, (void)block, (void)arguments, (void)shared, (void)stream;
    return not_emulated();
}
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream) {
    (void)grid, (void)block, (void)shared, (void)stream;
    return not_emulated();
}
