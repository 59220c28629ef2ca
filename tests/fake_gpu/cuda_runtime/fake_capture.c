/* Captures and graphs. */
#include <stdlib.h>

#include "tests/fake_gpu/cuda_runtime/fake_state.h"

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode) {
    cudaError_t error = fake_enter("cudaStreamBeginCapture", CONTEXT | NO_CAPTURE);
    if (error == cudaSuccess) error = fake_check_stream(stream, "cudaStreamBeginCapture");
    if (error == cudaSuccess && fake_capture(stream) != NULL)
        error = fake_complain(cudaErrorIllegalState, "a capture is begun on a stream that captures");
    if (error == cudaSuccess && mode != cudaStreamCaptureModeThreadLocal)
        error = fake_complain(cudaErrorInvalidValue, "a capture that other threads' calls can break");
    if (error == cudaSuccess) {
        fake_graph *g = calloc(1, sizeof *g);
        if (g == NULL) abort();
        *g = (fake_graph){.thread = pthread_self(), .readers = 1};
        fake_begun = g;
        gpu_begin_recording(&g->recorded, &stream->scheduled);
    }
    return fake_leave(error);
}

static void close_events(const fake_graph *g) {
    for (cudaEvent_t e = fake.events; e != NULL; e = e->next)
        if (e->scheduled.recording == &g->recorded) {
            e->scheduled.recording = NULL;
            e->scheduled.captured = true;
        }
}

static cudaError_t judge(fake_graph *g) {
    bool joined = gpu_end_recording(&g->recorded);
    if (fake.lost != cudaSuccess) return fake.lost; /* joining it was refused, too */
    if (g->invalid != NULL) return cudaErrorStreamCaptureInvalidated;
    return joined ? cudaSuccess
                  : fake_complain(cudaErrorStreamCaptureUnjoined, "a capture ends that another stream has not joined");
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *result) {
    cudaError_t error = fake_enter("cudaStreamEndCapture", NOTHING_MORE);
    *result = NULL;
    if (!fake_is_stream(stream) || fake_capture(stream) == NULL ||
        fake_capture(stream)->recorded.origin != &stream->scheduled || fake_capture(stream) != fake_begun)
        return fake_leave(error != cudaSuccess ? error
                                               : fake_complain(cudaErrorIllegalState,
                                                               "a capture is ended where or by whom it was not begun"));
    fake_graph *g = fake_capture(stream);
    cudaError_t judged = judge(g);
    close_events(g);
    fake_begun = NULL;
    ++fake.counts.graphs;
    if (error == cudaSuccess) error = judged;
    if (error == cudaSuccess && fake_fails(FAKE_CUDA_REFUSE_CAPTURE)) error = cudaErrorNotSupported;
    if (error == cudaSuccess) {
        *result = calloc(1, sizeof **result);
        if (*result == NULL) abort();
        (*result)->graph = g;
        ++fake.left.graphs;
    } else {
        fake_graph_release(g);
    }
    return fake_leave(error);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    cudaError_t error = fake_enter("cudaGraphDestroy", NOTHING_MORE);
    if (graph != NULL) {
        fake_graph_release(graph->graph);
        free(graph);
        --fake.left.graphs;
    }
    return fake_leave(error);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *result, cudaGraph_t graph, unsigned long long flags) {
    cudaError_t error = fake_enter("cudaGraphInstantiate", CONTEXT | NO_CAPTURE);
    if (error == cudaSuccess && (graph == NULL || flags != 0))
        error = fake_complain(cudaErrorInvalidValue, "cudaGraphInstantiate without a graph, or with flags");
    if (error == cudaSuccess && fake_fails(FAKE_CUDA_REFUSE_GRAPH)) error = cudaErrorMemoryAllocation;
    if (error == cudaSuccess) {
        *result = calloc(1, sizeof **result);
        if (*result == NULL) abort();
        **result = (struct CUgraphExec_st){.graph = graph->graph, .gpu = fake_gpu};
        ++graph->graph->readers;
        ++fake.left.executables;
    }
    return fake_leave(error);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
    cudaError_t error = fake_enter("cudaGraphExecDestroy", NO_CAPTURE);
    if (executable == NULL) return fake_leave(error == cudaSuccess ? cudaErrorInvalidValue : error);
    if (fake.lost == cudaSuccess && executable->queued > 0)
        error = fake_complain(cudaErrorInvalidValue, "a graph is destroyed that has not run yet");
    fake_graph_release(executable->graph);
    if (executable->queued == 0) free(executable); /* else a lost device's streams still know it */
    --fake.left.executables;
    return fake_leave(error);
}

static cudaError_t check_launch(cudaGraphExec_t executable, cudaStream_t stream, const char *name) {
    cudaError_t error = fake_check_stream(stream, name);
    if (error != cudaSuccess) return error;
    if (executable == NULL) return fake_complain(cudaErrorInvalidValue, "%s of no graph", name);
    if (fake_capture(stream) != NULL)
        return fake_complain(cudaErrorStreamCaptureUnsupported, "%s on a stream that captures", name);
    if (executable->gpu != stream->scheduled.gpu)
        return fake_complain(cudaErrorInvalidValue, "%s on another GPU than the graph's", name);
    return cudaSuccess;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t stream) {
    cudaError_t error = fake_enter("cudaGraphUpload", CONTEXT | NO_CAPTURE);
    if (error == cudaSuccess) error = check_launch(executable, stream, "cudaGraphUpload");
    return fake_leave(error);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
    cudaError_t error = fake_enter("cudaGraphLaunch", CONTEXT | NO_CAPTURE);
    if (error == cudaSuccess) error = check_launch(executable, stream, "cudaGraphLaunch");
    if (error == cudaSuccess) {
        ++fake.counts.repetitions;
        ++executable->queued;
        ++executable->graph->readers;
        fake_put_locked(stream, (gpu_operation){.kind = REPEAT,
                                                .recording = &executable->graph->recorded,
                                                .argument = executable,
                                                .sums = fake_watch(executable->graph)});
    }
    return fake_leave(error);
}
