#include "tests/rooms/kernels/captured_cuda.h"

#include "device/device.h"
#include "tests/rooms/kernels/target_cuda.h"

/* A device of its own for the same GPU; made once. */
static struct {
    ons_device *device;
    ons_stream *stream;
    ons_event *event;
    void *step, *fault;
    ons_status *failure; /* the first of a recording since the last `finish` */
} captured;

static ons_status *start(void) {
    ons_device *d;
    if (captured.fault != NULL) return NULL;
    ONS_TRY(ons_device_new("cuda", 0, false, &captured.device));
    d = captured.device;
    ONS_TRY(d->stream_new(d, "recorded tests", 1, &captured.stream));
    ONS_TRY(d->event_new(d, &captured.event));
    ONS_TRY(d->allocate(d, sizeof(ons_step), &captured.step));
    return d->allocate(d, sizeof(ons_fault), &captured.fault);
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

static ons_status *record(ons_run_function *run, ons_launch *l, ons_recording **recording) {
    ons_device *d = captured.device;
    ONS_TRY(d->record_begin(captured.stream));
    d->launch(captured.stream, run_task, &(task){run, l});
    return d->record_end(captured.stream, recording);
}

static void repeat(ons_recording *recording) {
    ons_device *d = captured.device;
    d->recording_repeat(captured.stream, recording);
    d->event_record(captured.stream, captured.event);
    d->event_synchronize(captured.event);
}

static ons_status *run_recorded(ons_run_function *run, ons_launch *l) {
    ons_recording *recording;
    ONS_TRY(start());
    ons_target_cuda.copy_in(captured.step, l->step, sizeof *l->step);
    ons_target_cuda.copy_in(captured.fault, l->fault, sizeof *l->fault);
    l->device_step = captured.step;
    l->fault = captured.fault;
    ONS_TRY(record(run, l, &recording));
    repeat(recording);
    captured.device->recording_free(recording);
    return captured.device->failure(captured.device);
}

static void launch_again(ons_run_function *run, ons_launch *l) {
    ons_fault *fault = l->fault;
    ons_status *status = run_recorded(run, l);
    l->fault = fault;
    if (captured.fault != NULL) ons_target_cuda.copy_out(fault, captured.fault, sizeof *fault);
    if (captured.failure == NULL)
        captured.failure = status;
    else
        ons_status_free(status);
}

static ons_status *finish(void) {
    ons_status *status = captured.failure;
    captured.failure = NULL;
    return status == NULL ? ons_target_cuda.finish() : ons_status_at(status, "recorded as a CUDA graph");
}

const ons_target *ons_target_captured(void) {
    static ons_target target;
    target = ons_target_cuda;
    target.launch_again = launch_again;
    target.finish = finish;
    return &target;
}
