/* The fake holds to CUDA's rules: each of these calls is wrong, and is complained about. Without that the other tests
 * of this folder would show nothing. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fake_gpu/cuda_runtime/fake_cuda.h"
#include "tests/rooms/kernels/emulation/emulation.h"

enum { BYTES = 1024 };

/* What every case may use. */
typedef struct world {
    cudaStream_t first, second;
    cudaEvent_t event, timed;
    char *device, *pinned, *pageable;
} world;

static void must_go(cudaError_t error) { cr_assert_eq(error, cudaSuccess, "%s", cudaGetErrorString(error)); }

static world prepare(void) {
    world w;
    int count;
    cr_assert_null(fake_cuda_collect());
    fake_cuda_machine(2, 13000, 9);
    must_go(cudaGetDeviceCount(&count));
    must_go(cudaSetDevice(0));
    must_go(cudaStreamCreateWithFlags(&w.first, cudaStreamNonBlocking));
    must_go(cudaStreamCreateWithFlags(&w.second, cudaStreamNonBlocking));
    must_go(cudaEventCreateWithFlags(&w.event, cudaEventDisableTiming));
    must_go(cudaEventCreateWithFlags(&w.timed, cudaEventDefault));
    must_go(cudaMalloc((void **)&w.device, BYTES));
    must_go(cudaHostAlloc((void **)&w.pinned, BYTES, cudaHostAllocDefault));
    w.pageable = calloc(1, BYTES);
    return w;
}

static void begin(const world *w) { must_go(cudaStreamBeginCapture(w->first, cudaStreamCaptureModeThreadLocal)); }

static cudaGraph_t end(const world *w) {
    cudaGraph_t graph = NULL;
    (void)cudaStreamEndCapture(w->first, &graph);
    return graph;
}

static void do_nothing(void *argument) { (void)argument; }

static void launch_shape(const world *w, unsigned blocks, unsigned rows, unsigned threads, size_t shared,
                         size_t argument_bytes) {
    static char arguments[40000];
    const void *list[] = {arguments};
    ons_emulation_kernel kernel = {
        {blocks, rows, 1}, {threads, 1, 1}, shared, argument_bytes, list, &argument_bytes, 1};
    (void)ons_emulation_kernels->launch((uintptr_t)w->first, &kernel, do_nothing, NULL, NULL);
}

static void launch_with(const world *w, const void *address) {
    const void *list[] = {&address};
    size_t size = sizeof address;
    ons_emulation_kernel kernel = {{1, 1, 1}, {32, 1, 1}, 0, size, list, &size, 1};
    (void)ons_emulation_kernels->launch((uintptr_t)w->first, &kernel, do_nothing, NULL, NULL);
}

/* ------------------------------------------------------------------------------------------------------------ wrong */

static void malloc_in_capture(world *w) {
    void *more;
    begin(w);
    (void)cudaMalloc(&more, 1);
}
static void free_in_capture(world *w) {
    begin(w);
    (void)cudaFree(w->device);
}
static void host_alloc_in_capture(world *w) {
    void *more;
    begin(w);
    (void)cudaHostAlloc(&more, 1, cudaHostAllocDefault);
}
static void set_in_capture(world *w) {
    begin(w);
    (void)cudaMemset(w->device, 0, 1);
}
static void synchronize_in_capture(world *w) {
    begin(w);
    (void)cudaStreamSynchronize(w->first);
}
static void synchronize_device_in_capture(world *w) {
    begin(w);
    (void)cudaDeviceSynchronize();
}
static void synchronize_event_in_capture(world *w) {
    begin(w);
    (void)cudaEventRecord(w->event, w->first);
    (void)cudaEventSynchronize(w->event);
}
static void pageable_in_capture(world *w) {
    begin(w);
    (void)cudaMemcpyAsync(w->device, w->pageable, 8, cudaMemcpyDefault, w->first);
}
static void capture_twice(world *w) {
    begin(w);
    (void)cudaStreamBeginCapture(w->first, cudaStreamCaptureModeThreadLocal);
}
static void end_without_begin(world *w) { (void)end(w); }
static void unjoined(world *w) {
    begin(w);
    (void)cudaEventRecord(w->event, w->first);
    (void)cudaStreamWaitEvent(w->second, w->event, 0);
    (void)cudaMemsetAsync(w->device, 0, 8, w->second);
    cr_assert_null(end(w));
}
static void captured_event_outside(world *w) {
    begin(w);
    (void)cudaEventRecord(w->event, w->first);
    cr_assert_not_null(end(w));
    (void)cudaStreamWaitEvent(w->second, w->event, 0);
}
static void captured_event_by_host(world *w) {
    begin(w);
    (void)cudaEventRecord(w->event, w->first);
    (void)end(w);
    (void)cudaEventSynchronize(w->event);
}
static void outer_event_in_capture(world *w) {
    (void)cudaEventRecord(w->event, w->second);
    begin(w);
    (void)cudaStreamWaitEvent(w->first, w->event, 0);
}
static void graph_launch_in_capture(world *w) {
    cudaGraphExec_t executable;
    begin(w);
    (void)cudaMemsetAsync(w->device, 0, 8, w->first);
    must_go(cudaGraphInstantiate(&executable, end(w), 0));
    begin(w);
    (void)cudaGraphLaunch(executable, w->first);
}
static void graph_destroyed_early(world *w) {
    cudaGraphExec_t executable;
    begin(w);
    (void)cudaMemsetAsync(w->device, 0, 8, w->first);
    must_go(cudaGraphInstantiate(&executable, end(w), 0));
    must_go(cudaGraphLaunch(executable, w->first));
    (void)cudaGraphExecDestroy(executable);
}
static void never_recorded(world *w) { (void)cudaStreamWaitEvent(w->first, w->event, 0); }
static void time_without_timing(world *w) {
    float milliseconds;
    (void)cudaEventRecord(w->event, w->first);
    (void)cudaEventRecord(w->timed, w->first);
    (void)cudaStreamSynchronize(w->first);
    (void)cudaEventElapsedTime(&milliseconds, w->event, w->timed);
}
static void time_too_early(world *w) {
    float milliseconds;
    (void)cudaEventRecord(w->timed, w->first);
    (void)cudaEventElapsedTime(&milliseconds, w->timed, w->timed);
}
static void default_stream(world *w) { (void)cudaMemcpyAsync(w->device, w->pinned, 8, cudaMemcpyDefault, NULL); }
static void dead_stream(world *w) {
    must_go(cudaStreamDestroy(w->second));
    (void)cudaEventRecord(w->event, w->second);
}
static void dead_event(world *w) {
    must_go(cudaEventDestroy(w->event));
    (void)cudaEventRecord(w->event, w->first);
}
static void busy_stream_destroyed(world *w) {
    (void)cudaMemsetAsync(w->device, 0, 8, w->first);
    (void)cudaStreamDestroy(w->first);
}
static void pinned_changed(world *w) {
    (void)cudaMemcpyAsync(w->device, w->pinned, 8, cudaMemcpyDefault, w->first);
    w->pinned[3] ^= 1;
    (void)cudaStreamSynchronize(w->first);
}
static void pinned_changed_under_a_graph(world *w) {
    cudaGraphExec_t executable;
    begin(w);
    (void)cudaMemcpyAsync(w->device, w->pinned, 8, cudaMemcpyDefault, w->first);
    must_go(cudaGraphInstantiate(&executable, end(w), 0));
    w->pinned[3] ^= 1; /* allowed */
    must_go(cudaGraphLaunch(executable, w->first));
    cr_assert_null(fake_cuda_collect());
    w->pinned[3] ^= 1;
    (void)cudaStreamSynchronize(w->first);
}
static void freed_under_a_copy(world *w) {
    (void)cudaMemcpyAsync(w->pinned, w->device, 8, cudaMemcpyDefault, w->first);
    (void)cudaFree(w->device);
}
static void freed_under_a_kernel(world *w) {
    launch_with(w, w->device + 8);
    (void)cudaFree(w->device);
}
static void pinned_freed_under_a_copy(world *w) {
    (void)cudaMemcpyAsync(w->pinned, w->device, 8, cudaMemcpyDefault, w->first);
    (void)cudaFreeHost(w->pinned);
}
static void freed_twice(world *w) {
    must_go(cudaFree(w->device));
    (void)cudaFree(w->device);
}
static void freed_as_pinned(world *w) { (void)cudaFreeHost(w->device); }
static void wrong_kind(world *w) { (void)cudaMemcpyAsync(w->device, w->pinned, 8, cudaMemcpyDeviceToDevice, w->first); }
static void beyond_the_end(world *w) {
    (void)cudaMemcpyAsync(w->device + BYTES - 4, w->pinned, 8, cudaMemcpyDefault, w->first);
}
static void no_blocks(world *w) { launch_shape(w, 0, 1, 32, 0, 8); }
static void many_threads(world *w) { launch_shape(w, 1, 1, 1056, 0, 8); }
static void many_rows(world *w) { launch_shape(w, 1, 65536, 32, 0, 8); }
static void much_shared_memory(world *w) { launch_shape(w, 1, 1, 32, 49153, 8); }
static void many_arguments(world *w) { launch_shape(w, 1, 1, 32, 0, 32768); }
static void memory_of_the_host(world *w) { launch_with(w, w->pageable); }
static void other_gpu(world *w) {
    must_go(cudaSetDevice(1));
    launch_with(w, w->device);
}
static void event_of_other_gpu(world *w) {
    cudaEvent_t other;
    must_go(cudaSetDevice(1));
    must_go(cudaEventCreateWithFlags(&other, cudaEventDisableTiming));
    (void)cudaEventRecord(other, w->first);
}

typedef struct rule {
    const char *name, *word;
    void (*breaks)(world *w);
} rule;

#define RULE(NAME, WORD)                                                                                               \
    { #NAME, WORD, NAME }

static const rule rules[] = {
    RULE(malloc_in_capture, "cudaMalloc while"),
    RULE(free_in_capture, "cudaFree while"),
    RULE(host_alloc_in_capture, "cudaHostAlloc while"),
    RULE(set_in_capture, "cudaMemset while"),
    RULE(synchronize_in_capture, "cudaStreamSynchronize while"),
    RULE(synchronize_device_in_capture, "cudaDeviceSynchronize while"),
    RULE(synchronize_event_in_capture, "cudaEventSynchronize while"),
    RULE(pageable_in_capture, "not pinned"),
    RULE(capture_twice, "while this thread captures"),
    RULE(end_without_begin, "was not begun"),
    RULE(unjoined, "not joined"),
    RULE(captured_event_outside, "recorded last in a capture"),
    RULE(captured_event_by_host, "recorded last in a capture"),
    RULE(outer_event_in_capture, "not in its capture"),
    RULE(graph_launch_in_capture, "cudaGraphLaunch while"),
    RULE(graph_destroyed_early, "has not run"),
    RULE(never_recorded, "never recorded"),
    RULE(time_without_timing, "without timing"),
    RULE(time_too_early, "not been reached"),
    RULE(default_stream, "default stream"),
    RULE(dead_stream, "no stream"),
    RULE(dead_event, "no event"),
    RULE(busy_stream_destroyed, "1 operations on it"),
    RULE(pinned_changed, "changed between"),
    RULE(pinned_changed_under_a_graph, "changed between"),
    RULE(freed_under_a_copy, "work on a stream needs"),
    RULE(freed_under_a_kernel, "work on a stream needs"),
    RULE(pinned_freed_under_a_copy, "work on a stream needs"),
    RULE(freed_twice, "not taken, or is free"),
    RULE(freed_as_pinned, "not taken, or is free"),
    RULE(wrong_kind, "said to be"),
    RULE(beyond_the_end, "outside of a block"),
    RULE(no_blocks, "(0, 1, 1) blocks"),
    RULE(many_threads, "1056"),
    RULE(many_rows, "65536"),
    RULE(much_shared_memory, "shared memory"),
    RULE(many_arguments, "bytes of arguments"),
    RULE(memory_of_the_host, "which is the host's"),
    RULE(other_gpu, "thread on GPU 1"),
    RULE(event_of_other_gpu, "event of GPU 1"),
};

/* Their numbers: a test runs in a process of its own, where functions lie elsewhere. */
ParameterizedTestParameters(rules, broken) {
    enum { COUNT = sizeof rules / sizeof rules[0] };
    int *numbers = cr_malloc(COUNT * sizeof *numbers);
    for (int i = 0; i < COUNT; ++i) numbers[i] = i;
    return cr_make_param_array(int, numbers, COUNT, NULL);
}

ParameterizedTest(int *number, rules, broken, .timeout = 30) {
    const rule *r = &rules[*number];
    world w = prepare();
    r->breaks(&w);
    const char *complaint = fake_cuda_collect();
    cr_expect(complaint != NULL && strstr(complaint, r->word) != NULL, "%s: %s", r->name,
              complaint == NULL ? "no complaint" : complaint);
}

Test(rules, a_call_before_the_driver_is_asked_for, .timeout = 30) {
    cr_assert_null(fake_cuda_collect());
    (void)cudaSetDevice(0);
    const char *complaint = fake_cuda_collect();
    cr_expect(complaint != NULL && strstr(complaint, "before the driver") != NULL);
}

Test(rules, a_context_on_a_gpu_that_nobody_has_chosen, .timeout = 30) {
    int count;
    void *memory;
    cr_assert_null(fake_cuda_collect());
    must_go(cudaGetDeviceCount(&count));
    (void)cudaMalloc(&memory, 8);
    const char *complaint = fake_cuda_collect();
    cr_expect(complaint != NULL && strstr(complaint, "nobody has chosen") != NULL);
}

Test(rules, none_is_broken_by_a_joined_capture, .timeout = 30) {
    world w = prepare();
    cudaGraphExec_t executable;
    memset(w.pinned, 5, BYTES);
    begin(&w);
    must_go(cudaMemcpyAsync(w.device, w.pinned, BYTES / 2, cudaMemcpyDefault, w.first));
    must_go(cudaEventRecord(w.event, w.first));
    must_go(cudaStreamWaitEvent(w.second, w.event, 0));
    must_go(cudaMemcpyAsync(w.pinned + BYTES / 2, w.device, BYTES / 2, cudaMemcpyDefault, w.second));
    must_go(cudaEventRecord(w.event, w.second));
    must_go(cudaStreamWaitEvent(w.first, w.event, 0));
    cudaGraph_t graph = end(&w);
    must_go(cudaGraphInstantiate(&executable, graph, 0));
    must_go(cudaGraphUpload(executable, w.first));
    must_go(cudaGraphDestroy(graph));
    for (int i = 1; i <= 3; ++i) {
        memset(w.pinned, i, BYTES / 2);
        must_go(cudaGraphLaunch(executable, w.first));
        cr_expect_eq(w.pinned[BYTES - 1], i == 1 ? 5 : i - 1, "nothing runs before somebody waits");
        must_go(cudaStreamSynchronize(w.first));
        cr_expect_eq(w.pinned[BYTES - 1], i);
    }
    cr_expect_not(fake_cuda_nothing_left());
    must_go(cudaGraphExecDestroy(executable));
    must_go(cudaStreamDestroy(w.first));
    must_go(cudaStreamDestroy(w.second));
    must_go(cudaEventDestroy(w.event));
    must_go(cudaEventDestroy(w.timed));
    must_go(cudaFree(w.device));
    must_go(cudaFreeHost(w.pinned));
    free(w.pageable);
    cr_expect(fake_cuda_nothing_left());
    cr_expect_null(fake_cuda_collect());
}
