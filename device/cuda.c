#include "device/cuda.h"

#include <cuda_runtime_api.h>
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/environment.h"
#include "device/cuda_memory.h"
#include "device/device_kind.h"

/* Code is made for these and newer ones. */
enum { MAJOR_NEEDED = 8 };

/* For recorded graphs and lazily loaded kernels; a part of the memory where there is hardly any. */
enum { SLACK_BYTES = 64 << 20, SLACK_PART = 16 };

struct ons_stream {
    cudaStream_t stream;
    ons_device *device;
};

struct ons_event {
    cudaEvent_t event;
    ons_device *device;
};

struct ons_recording {
    cudaGraphExec_t executable;
};

typedef struct cuda_device {
    ons_device device; /* first: what the caller holds */
    int index;
    char title[320];
} cuda_device;

/* --------------------------------------------------------------------------------------------------------- failures */

enum { REASON = 256 };

/* What went wrong first. A failed GPU takes its context, and with it every device on it, along, so one note is enough.
 */
static struct {
    pthread_mutex_t lock;
    const char *what;
    char reason[REASON];
    int code;
} first_failure = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* While a thread records, what goes wrong says only that this cannot be recorded. */
static _Thread_local struct {
    bool active;
    const char *what;
    char reason[REASON];
    int code;
} recording_failure;

static void note_failure(int code, const char *what, const char *reason) {
    if (recording_failure.active) {
        if (recording_failure.what != NULL) return;
        recording_failure.what = what;
        snprintf(recording_failure.reason, REASON, "%s", reason);
        recording_failure.code = code;
        return;
    }
    pthread_mutex_lock(&first_failure.lock);
    if (first_failure.what == NULL) {
        first_failure.what = what;
        snprintf(first_failure.reason, REASON, "%s", reason);
        first_failure.code = code;
    }
    pthread_mutex_unlock(&first_failure.lock);
}

void ons_cuda_note(int code, const char *what, const char *reason) {
    note_failure(code, what, reason == NULL ? "it says no more" : reason);
}

void ons_cuda_forget(void) {
    pthread_mutex_lock(&first_failure.lock);
    first_failure.what = NULL;
    pthread_mutex_unlock(&first_failure.lock);
}

static void note_cuda(cudaError_t error, const char *what) {
    if (error != cudaSuccess) note_failure((int)error, what, cudaGetErrorString(error));
}

static ons_status *noted(void) {
    ons_status *status = NULL;
    pthread_mutex_lock(&first_failure.lock);
    if (first_failure.what != NULL)
        status = ons_status_new(ONS_DEFECT, "the GPU failed: %s: %s (error %d)", first_failure.what,
                                first_failure.reason, first_failure.code);
    pthread_mutex_unlock(&first_failure.lock);
    return status;
}

static ons_status *failure(ons_device *device) {
    (void)device;
    note_cuda(cudaGetLastError(), "a kernel"); /* launches leave their errors there */
    return noted();
}

/* The usual failure of a call that may fail. */
static ons_status *cuda_status(cudaError_t error, const char *what) {
    if (error == cudaSuccess) return NULL;
    (void)cudaGetLastError(); /* told here, not again by `failure` */
    return ons_status_new(error == cudaErrorMemoryAllocation ? ONS_OUT_OF_MEMORY : ONS_DEFECT, "%s: %s (CUDA error %d)",
                          what, cudaGetErrorString(error), (int)error);
}

/* ---------------------------------------------------------------------------------------------------- what is there */

/* Kernels that are loaded early take memory, those of the libraries most: not where the program sees one GPU, and so
 * has no use for NCCL. Asked of the driver's files and the environment, since any call of CUDA's would come too late
 * for the setting. Under mpirun there may be GPUs on other machines. */
static bool may_have_several(void) {
    static const ons_variable launched[] = {ONS_ENV_OMPI_COMM_WORLD_SIZE, ONS_ENV_PMI_SIZE, ONS_ENV_PMIX_RANK,
                                            ONS_ENV_SLURM_PROCID};
    for (size_t i = 0; i < sizeof launched / sizeof launched[0]; ++i)
        if (ons_environment(launched[i]) != NULL) return true;
    const char *visible = ons_environment(ONS_ENV_CUDA_VISIBLE_DEVICES);
    if (visible != NULL) return strchr(visible, ',') != NULL;
    DIR *folder = opendir("/proc/driver/nvidia/gpus");
    if (folder == NULL) return true; /* nobody knows */
    int count = 0;
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) count += entry->d_name[0] != '.';
    closedir(folder);
    return count != 1;
}

static void load_early(void) {
    if (may_have_several()) setenv("CUDA_MODULE_LOADING", "EAGER", 0);
}

/* With few queues to the GPU streams share them, and one that waits for another GPU would keep the others waiting. */
static void ask_for_queues(void) { setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0); }

static ons_status *count_devices(int *count) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    int driver = 0;
    *count = 0;
    pthread_once(&once, ask_for_queues);
    cudaError_t error = cudaDriverGetVersion(&driver);
    ONS_CHECK(error == cudaSuccess && driver > 0, ONS_UNSUPPORTED,
              "--device cuda: no NVIDIA driver is loaded on this machine; install one, or use --device cpu");
    ONS_CHECK(driver / 1000 >= CUDART_VERSION / 1000, ONS_UNSUPPORTED,
              "--device cuda: the NVIDIA driver supports CUDA %d.%d, this build needs %d.0; update the driver, or use "
              "--device cpu",
              driver / 1000, driver % 1000 / 10, CUDART_VERSION / 1000);
    error = cudaGetDeviceCount(count);
    (void)cudaGetLastError();
    ONS_CHECK(error == cudaSuccess && *count > 0, ONS_UNSUPPORTED,
              "--device cuda: no NVIDIA GPU can be used (%s); see nvidia-smi and CUDA_VISIBLE_DEVICES, or use --device "
              "cpu",
              cudaGetErrorString(error));
    return NULL;
}

static ons_status *check(void) {
    int gpus, major = 0;
    ONS_TRY(count_devices(&gpus));
    ONS_TRY(
        cuda_status(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0), "asking for the GPU's kind"));
    ONS_CHECK(major >= MAJOR_NEEDED, ONS_UNSUPPORTED,
              "--device cuda: the GPU has compute capability %d, %d.0 is needed (A100 or newer); use --device cpu",
              major, MAJOR_NEEDED);
    return NULL;
}

static int count(void) {
    int found = 0;
    ons_status_free(count_devices(&found));
    return found;
}

int ons_cuda_current(void) {
    int index = 0;
    return cudaGetDevice(&index) == cudaSuccess ? index : 0;
}

static ons_status *read_identity(int index, char identity[static ONS_DEVICE_IDENTITY_BYTES]) {
    return cuda_status(cudaDeviceGetPCIBusId(identity, ONS_DEVICE_IDENTITY_BYTES, index), "asking for the GPU's place");
}

static ons_status *memory_now(int index, ons_cuda_memory *memory) {
    size_t free_bytes = 0, total_bytes = 0;
    ONS_TRY(cuda_status(cudaSetDevice(index), "choosing the GPU"));
    ONS_TRY(cuda_status(cudaMemGetInfo(&free_bytes, &total_bytes), "asking for the GPU's memory"));
    *memory = (ons_cuda_memory){(int64_t)free_bytes, (int64_t)total_bytes};
    return NULL;
}

/* ----------------------------------------------------------------------------------------------------------- memory */

/* Every thread has a GPU of its own that its calls go to. */
static ons_status *enter(ons_device *device) {
    return cuda_status(cudaSetDevice(((cuda_device *)device)->index), "choosing the GPU");
}

static ons_status *measure_memory(ons_device *device, int64_t *free_bytes) {
    ons_cuda_memory memory;
    int index = ((cuda_device *)device)->index;
    ONS_TRY(memory_now(index, &memory));
    *free_bytes = memory.free_bytes;
    device->reserve_bytes = ons_cuda_reserve(index, &memory);
    return NULL;
}

static ons_status *allocate(ons_device *device, int64_t bytes, void **address) {
    int64_t free_bytes;
    int index = ((cuda_device *)device)->index;
    ONS_TRY(enter(device));
    ONS_TRY(measure_memory(device, &free_bytes));
    int64_t needed = device->used_bytes + device->reserve_bytes + bytes;
    ONS_CHECK(device->limit_bytes == 0 || needed <= device->limit_bytes, ONS_OUT_OF_MEMORY,
              "%lld bytes of device memory are needed (%lld of them for context and libraries), the cap is %lld",
              (long long)needed, (long long)device->reserve_bytes, (long long)device->limit_bytes);
    size_t length = bytes > 0 ? (size_t)bytes : 1;
    ONS_CHECK((int64_t)length <= free_bytes, ONS_OUT_OF_MEMORY, "%lld bytes of GPU memory are needed, %lld are free",
              (long long)bytes, (long long)free_bytes);
    ONS_TRY(cuda_status(cudaMalloc(address, length), "taking GPU memory"));
    cudaError_t error = cudaMemset(*address, 0, length);
    if (error == cudaSuccess) error = cudaDeviceSynchronize();
    if (error != cudaSuccess) {
        cudaFree(*address);
        *address = NULL;
        return cuda_status(error, "clearing GPU memory");
    }
    device->used_bytes += bytes;
    ons_cuda_memory_count(index, bytes);
    return NULL;
}

static void release(ons_device *device, void *address, int64_t bytes) {
    if (address == NULL) return;
    ons_status_free(enter(device));
    cudaFree(address);
    device->used_bytes -= bytes;
    ons_cuda_memory_count(((cuda_device *)device)->index, -bytes);
}

static ons_status *allocate_host(ons_device *device, int64_t bytes, void **address) {
    ONS_TRY(enter(device));
    return cuda_status(cudaHostAlloc(address, bytes > 0 ? (size_t)bytes : 1, cudaHostAllocDefault),
                       "taking pinned host memory");
}

static void release_host(ons_device *device, void *address, int64_t bytes) {
    (void)device, (void)bytes;
    if (address != NULL) cudaFreeHost(address);
}

/* ---------------------------------------------------------------------------------------------------------- streams */

static ons_status *stream_new(ons_device *device, const char *name, int threads, ons_stream **result) {
    (void)name, (void)threads;
    ONS_TRY(enter(device));
    ons_stream *stream = calloc(1, sizeof *stream);
    if (stream == NULL) return ons_status_out_of_memory();
    stream->device = device;
    ons_status *status =
        cuda_status(cudaStreamCreateWithFlags(&stream->stream, cudaStreamNonBlocking), "making a CUDA stream");
    if (status != NULL) {
        free(stream);
        return status;
    }
    *result = stream;
    return NULL;
}

static void stream_free(ons_stream *stream) {
    if (stream == NULL) return;
    note_cuda(cudaStreamSynchronize(stream->stream), "work on a stream");
    cudaStreamDestroy(stream->stream);
    free(stream);
}

static void launch(ons_stream *stream, ons_task *task, void *argument) {
    note_cuda(cudaSetDevice(((cuda_device *)stream->device)->index), "choosing the GPU");
    task(argument, (uintptr_t)stream->stream);
    note_cuda(cudaPeekAtLastError(), "launching kernels");
}

static void copy(ons_stream *stream, void *to, const void *from, size_t bytes) {
    if (bytes > 0) note_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream->stream), "a copy");
}

/* ----------------------------------------------------------------------------------------------------------- events */

static ons_status *make_event(ons_device *device, unsigned flags, ons_event **result) {
    ONS_TRY(enter(device));
    ons_event *event = calloc(1, sizeof *event);
    if (event == NULL) return ons_status_out_of_memory();
    event->device = device;
    ons_status *status = cuda_status(cudaEventCreateWithFlags(&event->event, flags), "making a CUDA event");
    if (status != NULL) {
        free(event);
        return status;
    }
    *result = event;
    return NULL;
}

static ons_status *event_new(ons_device *device, ons_event **result) {
    return make_event(device, cudaEventDisableTiming, result);
}

static ons_status *timed_event_new(ons_device *device, ons_event **result) {
    return make_event(device, cudaEventDefault, result);
}

static double seconds_between(ons_event *first, ons_event *second) {
    float milliseconds = 0;
    note_cuda(cudaEventElapsedTime(&milliseconds, first->event, second->event), "the time between two events");
    return (double)milliseconds * 1e-3;
}

static void event_free(ons_event *event) {
    if (event == NULL) return;
    cudaEventDestroy(event->event);
    free(event);
}

static void event_record(ons_stream *stream, ons_event *event) {
    note_cuda(cudaEventRecord(event->event, stream->stream), "recording an event");
}

static void stream_wait(ons_stream *stream, ons_event *event) {
    note_cuda(cudaStreamWaitEvent(stream->stream, event->event, 0), "waiting for an event");
}

static void event_synchronize(ons_event *event) { note_cuda(cudaEventSynchronize(event->event), "work on a stream"); }

/* ------------------------------------------------------------------------------------------------------- recordings */

/* Calls that a recording does not allow (taking memory, say) fail in this thread alone: others go on with theirs. */
static ons_status *record_begin(ons_stream *stream) {
    ONS_TRY(enter(stream->device));
    (void)cudaGetLastError();
    ONS_TRY(cuda_status(cudaStreamBeginCapture(stream->stream, cudaStreamCaptureModeThreadLocal),
                        "recording a CUDA graph"));
    recording_failure.what = NULL;
    recording_failure.active = true;
    return NULL;
}

/* What the recorded calls have told, which ending it may put less clearly. */
static ons_status *told_while_recording(void) {
    recording_failure.active = false;
    if (recording_failure.what == NULL) return NULL;
    return ons_status_new(ONS_UNSUPPORTED, "recording a CUDA graph: %s: %s (error %d)", recording_failure.what,
                          recording_failure.reason, recording_failure.code);
}

/* Its memory on the GPU is taken here, not when it is first repeated. */
static ons_status *make_ready(ons_stream *stream, cudaGraph_t graph, cudaGraphExec_t *executable) {
    ONS_TRY(cuda_status(cudaGraphInstantiate(executable, graph, 0), "making a CUDA graph ready"));
    return cuda_status(cudaGraphUpload(*executable, stream->stream), "putting a CUDA graph on the GPU");
}

static void recording_free(ons_recording *recording) {
    if (recording == NULL) return;
    if (recording->executable != NULL) cudaGraphExecDestroy(recording->executable);
    free(recording);
}

static ons_status *record_end(ons_stream *stream, ons_recording **result) {
    cudaGraph_t graph = NULL;
    cudaError_t error = cudaStreamEndCapture(stream->stream, &graph);
    ons_status *status = told_while_recording();
    ons_recording *recording = calloc(1, sizeof *recording);
    (void)cudaGetLastError();
    if (status == NULL && error != cudaSuccess)
        status = ons_status_new(ONS_UNSUPPORTED, "recording a CUDA graph: %s (CUDA error %d)",
                                cudaGetErrorString(error), (int)error);
    if (status == NULL && recording == NULL) status = ons_status_out_of_memory();
    if (status == NULL) status = make_ready(stream, graph, &recording->executable);
    if (graph != NULL) cudaGraphDestroy(graph);
    if (status != NULL) {
        recording_free(recording);
        return status;
    }
    *result = recording;
    return NULL;
}

static void recording_repeat(ons_stream *stream, ons_recording *recording) {
    note_cuda(cudaSetDevice(((cuda_device *)stream->device)->index), "choosing the GPU");
    note_cuda(cudaGraphLaunch(recording->executable, stream->stream), "repeating a CUDA graph");
}

static void device_free(ons_device *device) { free(device); }

/* Makes the context, and asks for all that is told of the GPU. */
static ons_status *describe(cuda_device *cuda) {
    struct cudaDeviceProp properties;
    int driver = 0;
    int64_t free_bytes;
    ONS_TRY(enter(&cuda->device));
    ONS_TRY(cuda_status(cudaGetDeviceProperties(&properties, cuda->index), "asking for the GPU's kind"));
    ONS_TRY(cuda_status(cudaDriverGetVersion(&driver), "asking for the driver's version"));
    snprintf(cuda->title, sizeof cuda->title, "%s, driver for CUDA %d.%d", properties.name, driver / 1000,
             driver % 1000 / 10);
    cuda->device.title = cuda->title;
    cuda->device.total_bytes = (int64_t)properties.totalGlobalMem;
    cuda->device.slack_bytes = cuda->device.total_bytes / SLACK_PART;
    if (cuda->device.slack_bytes > SLACK_BYTES) cuda->device.slack_bytes = SLACK_BYTES;
    return measure_memory(&cuda->device, &free_bytes);
}

/* Before the first call that makes a context. */
static void note_memory(int index) {
    char place[32];
    if (cudaDeviceGetPCIBusId(place, sizeof place, index) == cudaSuccess) ons_cuda_memory_note(index, place);
    (void)cudaGetLastError();
}

static ons_status *device_new(int index, int64_t limit_bytes, bool pin, ons_device **result) {
    (void)pin;
    ONS_TRY(check());
    int gpus = count();
    ONS_CHECK(index >= 0 && index < gpus, ONS_INVALID_ARGUMENT, "GPU %d is asked for, there are %d", index, gpus);
    note_memory(index);
    cuda_device *cuda = calloc(1, sizeof *cuda);
    if (cuda == NULL) return ons_status_out_of_memory();
    cuda->index = index;
    cuda->device = (ons_device){
        .name = "cuda",
        .host_can_access = false,
        .allocate = allocate,
        .release = release,
        .allocate_host = allocate_host,
        .release_host = release_host,
        .stream_new = stream_new,
        .stream_free = stream_free,
        .launch = launch,
        .copy = copy,
        .event_new = event_new,
        .event_free = event_free,
        .event_record = event_record,
        .stream_wait = stream_wait,
        .event_synchronize = event_synchronize,
        .record_begin = record_begin,
        .record_end = record_end,
        .recording_repeat = recording_repeat,
        .recording_free = recording_free,
        .timed_event_new = timed_event_new,
        .seconds_between = seconds_between,
        .failure = failure,
        .measure_memory = measure_memory,
        .free = device_free,
        .limit_bytes = limit_bytes,
    };
    ons_status *status = describe(cuda);
    if (status != NULL) {
        free(cuda);
        return status;
    }
    *result = &cuda->device;
    return NULL;
}

const ons_device_kind ons_cuda_kind = {
    .name = "cuda",
    .check = check,
    .count = count,
    .read_identity = read_identity,
    .load_early = load_early,
    .device_new = device_new,
};
