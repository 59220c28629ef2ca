/* Streams and events. */
#include <stdlib.h>

#include "tests/fake_gpu/cuda_runtime/fake_state.h"

bool fake_is_stream(cudaStream_t stream) {
    const gpu_stream *s = scheduler.streams;
    while (s != NULL && s != &stream->scheduled) s = s->next;
    return s != NULL;
}

bool fake_is_event(cudaEvent_t event) {
    cudaEvent_t e = fake.events;
    while (e != NULL && e != event) e = e->next;
    return e != NULL;
}

cudaError_t fake_check_stream(cudaStream_t stream, const char *name) {
    if (stream == NULL || stream == cudaStreamLegacy || stream == cudaStreamPerThread)
        return fake_complain(cudaErrorInvalidResourceHandle, "%s on a default stream", name);
    if (!fake_is_stream(stream))
        return fake_complain(cudaErrorInvalidResourceHandle, "%s on what is no stream (any more)", name);
    return cudaSuccess;
}

cudaError_t fake_check_event(cudaEvent_t event, const char *name) {
    if (fake_is_event(event)) return cudaSuccess;
    return fake_complain(cudaErrorInvalidResourceHandle, "%s of what is no event (any more)", name);
}

/* ---------------------------------------------------------------------------------------------------------- streams */

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *result, unsigned flags) {
    cudaError_t error = fake_enter("cudaStreamCreateWithFlags", CONTEXT | NO_CAPTURE);
    if (error == cudaSuccess && flags != cudaStreamNonBlocking)
        error = fake_complain(cudaErrorInvalidValue, "a stream that waits for the default stream");
    if (error == cudaSuccess && fake_fails(FAKE_CUDA_REFUSE_OBJECT)) error = cudaErrorMemoryAllocation;
    if (error == cudaSuccess) {
        cudaStream_t s = calloc(1, sizeof *s);
        if (s == NULL) abort();
        s->scheduled.gpu = fake_gpu;
        gpu_add_stream(&s->scheduled);
        ++fake.left.streams;
        *result = s;
    }
    return fake_leave(error);
}

/* What has not run never does: allowed, and here a complaint unless the device is lost. */
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    cudaError_t error = fake_enter("cudaStreamDestroy", NO_CAPTURE);
    if (fake.lost == cudaSuccess) error = fake_check_stream(stream, "cudaStreamDestroy");
    if (!fake_is_stream(stream)) return fake_leave(error);
    gpu_stream *s = &stream->scheduled;
    if (fake.lost == cudaSuccess && s->done < s->queue.count)
        error = fake_complain(cudaErrorInvalidValue, "a stream is destroyed with %zu operations on it",
                              s->queue.count - s->done);
    if (s->recording != NULL)
        error = fake_complain(cudaErrorStreamCaptureUnsupported, "a stream is destroyed while it captures");
    for (; s->done < s->queue.count; ++s->done) fake_drop_operation(&s->queue.items[s->done]);
    gpu_remove_stream(s);
    free(stream); /* NOLINT: it is one of ours */
    --fake.left.streams;
    return fake_leave(error);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    cudaError_t error = fake_enter("cudaStreamSynchronize", NO_CAPTURE);
    if (error == cudaSuccess) error = fake_check_stream(stream, "cudaStreamSynchronize");
    if (error == cudaSuccess && fake_capture(stream) != NULL) {
        fake_capture(stream)->invalid = "cudaStreamSynchronize";
        error = fake_complain(cudaErrorStreamCaptureUnsupported, "a capturing stream is waited for");
    }
    if (error == cudaSuccess) {
        gpu_run_until(NULL, 0, &stream->scheduled);
        error = fake.lost;
    }
    return fake_leave(error);
}

/* All streams of the GPU; none of them may be capturing, whoever does. */
cudaError_t cudaDeviceSynchronize(void) {
    cudaError_t error = fake_enter("cudaDeviceSynchronize", CONTEXT | NO_CAPTURE);
    for (gpu_stream *s = scheduler.streams; error == cudaSuccess && s != NULL; s = s->next)
        if (s->gpu == fake_gpu && s->recording != NULL) {
            fake_capture((cudaStream_t)s)->invalid = "cudaDeviceSynchronize";
            error = fake_complain(cudaErrorStreamCaptureUnsupported, "cudaDeviceSynchronize while a stream captures");
        }
    /* Others may put more meanwhile and take streams away: those that are there now, one after the other. */
    for (bool again = true; error == cudaSuccess && again;) {
        again = false;
        for (gpu_stream *s = scheduler.streams; !again && s != NULL; s = s->next)
            if (s->gpu == fake_gpu && s->done < s->queue.count) {
                gpu_run_until(NULL, 0, s);
                error = fake.lost;
                again = true;
            }
    }
    return fake_leave(error);
}

/* ----------------------------------------------------------------------------------------------------------- events */

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *result, unsigned flags) {
    cudaError_t error = fake_enter("cudaEventCreateWithFlags", CONTEXT);
    if (error == cudaSuccess && (flags & ~(unsigned)(cudaEventDisableTiming | cudaEventBlockingSync)) != 0)
        error = fake_complain(cudaErrorInvalidValue, "an event with flags %u", flags);
    if (error == cudaSuccess && fake_fails(FAKE_CUDA_REFUSE_OBJECT)) error = cudaErrorMemoryAllocation;
    if (error == cudaSuccess) {
        cudaEvent_t e = calloc(1, sizeof *e);
        if (e == NULL) abort();
        e->gpu = fake_gpu;
        e->timed = (flags & cudaEventDisableTiming) == 0;
        e->next = fake.events;
        fake.events = e;
        ++fake.left.events;
        *result = e;
    }
    return fake_leave(error);
}

/* What is on streams still knows it: it is let go when that has run. */
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    cudaError_t error = fake_enter("cudaEventDestroy", NOTHING_MORE);
    if (fake.lost == cudaSuccess) error = fake_check_event(event, "cudaEventDestroy");
    if (!fake_is_event(event)) return fake_leave(error);
    cudaEvent_t *at = &fake.events;
    while (*at != event) at = &(*at)->next;
    *at = event->next;
    --fake.left.events;
    event->destroyed = true;
    fake_let_go(event);
    return fake_leave(error);
}

static cudaError_t check_pair(cudaStream_t stream, cudaEvent_t event, const char *name) {
    cudaError_t error = fake_check_stream(stream, name);
    return error == cudaSuccess ? fake_check_event(event, name) : error;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    cudaError_t error = fake_enter("cudaEventRecord", CONTEXT);
    if (error == cudaSuccess) error = check_pair(stream, event, "cudaEventRecord");
    if (error == cudaSuccess && event->gpu != stream->scheduled.gpu)
        error = fake_complain(cudaErrorInvalidResourceHandle, "an event of GPU %d is recorded on a stream of GPU %d",
                              event->gpu, stream->scheduled.gpu);
    if (error == cudaSuccess && fake_capture(stream) == NULL && fake_begun != NULL &&
        fake_begun->recorded.origin->gpu == stream->scheduled.gpu)
        error = fake_complain(cudaErrorStreamCaptureUnsupported,
                              "the thread that captures records an event on a stream that is not captured");
    if (error == cudaSuccess)
        fake_put_locked(
            stream, (gpu_operation){.kind = RECORD, .event = &event->scheduled, .number = ++event->scheduled.recorded});
    return fake_leave(error);
}

static cudaError_t check_wait(cudaStream_t stream, cudaEvent_t event) {
    if (event->scheduled.recorded == 0)
        return fake_complain(cudaErrorInvalidValue, "a stream waits for an event that was never recorded");
    if (event->scheduled.captured)
        return fake_complain(cudaErrorCapturedEvent, "a stream waits for an event that was recorded last in a capture");
    if (gpu_join(&stream->scheduled, &event->scheduled)) return cudaSuccess;
    if (fake_capture(stream) != NULL) fake_capture(stream)->invalid = "cudaStreamWaitEvent";
    return fake_complain(event->scheduled.recording == NULL ? cudaErrorStreamCaptureIsolation
                                                            : cudaErrorStreamCaptureMerge,
                         "a captured stream waits for what is not in its capture");
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
    cudaError_t error = fake_enter("cudaStreamWaitEvent", CONTEXT);
    if (error == cudaSuccess) error = check_pair(stream, event, "cudaStreamWaitEvent");
    if (error == cudaSuccess && flags != 0) error = fake_complain(cudaErrorInvalidValue, "flags of a wait");
    if (error == cudaSuccess) error = check_wait(stream, event);
    if (error == cudaSuccess)
        fake_put_locked(
            stream, (gpu_operation){.kind = AWAIT, .event = &event->scheduled, .number = event->scheduled.recorded});
    return fake_leave(error);
}

static cudaError_t check_uncaptured(cudaEvent_t event, const char *name) {
    fake_graph *capture = (fake_graph *)event->scheduled.recording;
    if (capture == NULL && !event->scheduled.captured) return cudaSuccess;
    if (capture != NULL) capture->invalid = name;
    return fake_complain(cudaErrorCapturedEvent, "%s of an event that was recorded last in a capture", name);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    cudaError_t error = fake_enter("cudaEventSynchronize", CONTEXT | NO_CAPTURE);
    if (error == cudaSuccess) error = fake_check_event(event, "cudaEventSynchronize");
    if (error == cudaSuccess) error = check_uncaptured(event, "cudaEventSynchronize");
    if (error == cudaSuccess && event->scheduled.recorded == 0)
        error = fake_complain(cudaErrorInvalidValue, "the host waits for an event that was never recorded");
    if (error == cudaSuccess) {
        ++fake.counts.waits;
        gpu_run_until(&event->scheduled, event->scheduled.recorded, NULL);
        error = fake.lost;
    }
    return fake_leave(error);
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t first, cudaEvent_t second) {
    cudaError_t error = fake_enter("cudaEventElapsedTime", CONTEXT);
    cudaEvent_t both[] = {first, second};
    *milliseconds = 0;
    for (int i = 0; error == cudaSuccess && i < 2; ++i) {
        error = fake_check_event(both[i], "cudaEventElapsedTime");
        if (error == cudaSuccess) error = check_uncaptured(both[i], "cudaEventElapsedTime");
        if (error == cudaSuccess && (!both[i]->timed || both[i]->scheduled.recorded == 0))
            error = fake_complain(cudaErrorInvalidResourceHandle, "the time of an event %s",
                                  both[i]->timed ? "that was never recorded" : "without timing");
        if (error == cudaSuccess && both[i]->scheduled.reached < both[i]->scheduled.recorded)
            error = fake_complain(cudaErrorNotReady, "the time of an event that has not been reached");
    }
    if (error == cudaSuccess && first->gpu != second->gpu)
        error = fake_complain(cudaErrorInvalidResourceHandle, "the time between events of two GPUs");
    if (error == cudaSuccess) *milliseconds = (float)((second->scheduled.time - first->scheduled.time) * 1e3);
    return fake_leave(error);
}
