#include "tests/kernels/target_cuda.h"

#include <stdio.h>

#include "device/device.h"

/* One device, one stream, and what launches need in the device's memory; made once. */
static struct {
    ons_device *device;
    ons_stream *stream;
    ons_event *event;
    void *step, *fault;
    char why_not[512];
} gpu;

static ons_status *start(void) {
    ons_device *d;
    ONS_TRY(ons_device_new("cuda", 0, false, &gpu.device));
    d = gpu.device;
    ONS_TRY(d->stream_new(d, "tests", 1, &gpu.stream));
    ONS_TRY(d->event_new(d, &gpu.event));
    ONS_TRY(d->allocate(d, sizeof(ons_step), &gpu.step));
    return d->allocate(d, sizeof(ons_fault), &gpu.fault);
}

const char *ons_target_cuda_why_not(void) {
    if (gpu.fault != NULL) return NULL;
    ons_status *status = start();
    if (status == NULL) return NULL;
    snprintf(gpu.why_not, sizeof gpu.why_not, "not run: no GPU: %s", ons_status_get_message(status));
    ons_status_free(status);
    return gpu.why_not;
}

static void wait(void) {
    gpu.device->event_record(gpu.stream, gpu.event);
    gpu.device->event_synchronize(gpu.event);
}

static const ons_backend *backend(void) { return ons_backend_find("cuda"); }

static void *allocate(size_t bytes) {
    void *memory = NULL;
    ons_status_free(gpu.device->allocate(gpu.device, (int64_t)bytes, &memory));
    return memory;
}

static void release(void *memory) { gpu.device->release(gpu.device, memory, 0); }

static void copy(void *to, const void *from, size_t bytes) {
    gpu.device->copy(gpu.stream, to, from, bytes);
    wait();
}

typedef struct task {
    ons_run_function *run;
    ons_launch *launch;
} task;

static void run_task(void *argument, uintptr_t native) {
    task *t = argument;
    t->launch->stream = native;
    t->run(t->launch);
}

static void launch(ons_run_function *run, ons_launch *l) {
    ons_fault *fault = l->fault;
    copy(gpu.step, l->step, sizeof *l->step);
    copy(gpu.fault, fault, sizeof *fault);
    l->device_step = gpu.step;
    l->fault = gpu.fault;
    gpu.device->launch(gpu.stream, run_task, &(task){run, l});
    copy(fault, gpu.fault, sizeof *fault); /* the text that it points to is the host's */
    l->fault = fault;
}

static ons_status *finish(void) {
    wait();
    return gpu.device->failure(gpu.device);
}

const ons_target ons_target_cuda = {
    .name = "CUDA",
    .may_refuse = true,
    .backend = backend,
    .allocate = allocate,
    .release = release,
    .copy_in = copy,
    .copy_out = copy,
    .launch = launch,
    .finish = finish,
};
