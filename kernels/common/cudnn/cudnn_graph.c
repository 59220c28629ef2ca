#include "kernels/common/cudnn/cudnn_graph.h"

#include <string.h>

#include "kernels/common/layout/layouts.h"

ons_status *ons_cudnn_graph_new(ons_prepare *p, ons_cudnn_graph **graph) {
    ONS_NEW(*graph, p->arena, 1);
    memset(*graph, 0, sizeof **graph);
    return NULL;
}

static ons_cudnn_tensor *add(ons_cudnn_graph *graph, ons_cudnn_place place, int64_t slot, ons_dtype dtype,
                             int64_t rank) {
    ons_cudnn_tensor *tensor = &graph->tensors[graph->tensor_count++];
    tensor->dtype = (int64_t)dtype;
    tensor->place = (int64_t)place;
    tensor->slot = slot;
    tensor->rank = rank;
    return tensor;
}

static void set_dense(ons_cudnn_tensor *tensor, const int64_t *dims) {
    int64_t stride = 1;
    for (int64_t i = tensor->rank - 1; i >= 0; --i) {
        tensor->dims[i] = dims[i];
        tensor->strides[i] = stride;
        stride *= dims[i];
    }
}

int64_t ons_cudnn_argument(ons_cudnn_graph *graph, int64_t slot, ons_dtype dtype, int64_t rank, const int64_t *dims,
                           const int64_t *strides) {
    ons_cudnn_tensor *tensor = add(graph, ONS_CUDNN_ARGUMENT, slot, dtype, rank);
    set_dense(tensor, dims);
    for (int64_t i = 0; strides != NULL && i < rank; ++i) tensor->strides[i] = strides[i];
    return graph->tensor_count - 1;
}

int64_t ons_cudnn_within(ons_cudnn_graph *graph, ons_dtype dtype, int64_t rank, const int64_t *dims) {
    set_dense(add(graph, ONS_CUDNN_WITHIN, 0, dtype, rank), dims);
    return graph->tensor_count - 1;
}

int64_t ons_cudnn_scratch(ons_cudnn_graph *graph, ons_dtype dtype, int64_t rank, const int64_t *dims) {
    ons_cudnn_tensor *tensor = add(graph, ONS_CUDNN_SCRATCH, graph->scratch_bytes, dtype, rank);
    set_dense(tensor, dims);
    int64_t bytes = (int64_t)ons_dtype_size(dtype) * dims[0] * tensor->strides[0];
    graph->scratch_bytes += (bytes + 255) / 256 * 256;
    return graph->tensor_count - 1;
}

int64_t ons_cudnn_number(ons_cudnn_graph *graph, float number, int64_t rank) {
    static const int64_t ones[ONS_CUDNN_DIMS] = {1, 1, 1, 1, 1};
    ons_cudnn_tensor *tensor = add(graph, ONS_CUDNN_NUMBER, 0, ONS_FLOAT32, rank);
    set_dense(tensor, ones);
    tensor->number = number;
    return graph->tensor_count - 1;
}

int64_t ons_cudnn_image(ons_cudnn_graph *graph, int64_t slot, const ons_type *type) {
    const ons_shape *shape = &type->shape;
    int64_t lifted = shape->rank < 4 ? 1 : 0, rank = shape->rank + lifted, dims[ONS_CUDNN_DIMS],
            strides[ONS_CUDNN_DIMS];
    dims[0] = shape->dims[0];
    dims[1] = shape->dims[1];
    dims[2] = 1;
    for (int64_t i = 2; i < shape->rank; ++i) dims[i + lifted] = shape->dims[i];
    if (type->layout != ONS_LAYOUT_CHANNELS_LAST) return ons_cudnn_argument(graph, slot, type->dtype, rank, dims, NULL);
    int64_t stride = dims[1];
    for (int64_t i = rank - 1; i >= 2; --i) {
        strides[i] = stride;
        stride *= dims[i];
    }
    strides[0] = stride;
    strides[1] = 1;
    return ons_cudnn_argument(graph, slot, type->dtype, rank, dims, strides);
}

ons_cudnn_step *ons_cudnn_step_add(ons_cudnn_graph *graph, ons_cudnn_operation operation, int64_t mode, int64_t first,
                                   int64_t second, int64_t third, int64_t fourth) {
    const int64_t operands[ONS_CUDNN_OPERANDS] = {first, second, third, fourth};
    ons_cudnn_step *step = &graph->steps[graph->step_count++];
    step->operation = (int64_t)operation;
    step->mode = mode;
    step->compute = ONS_FLOAT32;
    memcpy(step->operands, operands, sizeof operands);
    return step;
}

bool ons_cudnn_is_symmetric(const ons_window *w) {
    for (int i = 0; i < ONS_WINDOW_DIMS; ++i) {
        int64_t room = w->input[i] + 2 * w->begin[i] - w->dilation[i] * (w->kernel[i] - 1) - 1;
        if (w->begin[i] < 0 || room < 0 || room / w->stride[i] + 1 != w->output[i]) return false;
    }
    return true;
}

void ons_cudnn_set_window(ons_cudnn_step *step, const ons_window *window) {
    step->spatial = window->spatial < 2 ? 2 : window->spatial;
    for (int64_t i = 0, from = ONS_WINDOW_DIMS - step->spatial; i < step->spatial; ++i) {
        step->begin[i] = window->begin[from + i];
        step->end[i] = window->begin[from + i];
        step->stride[i] = window->stride[from + i];
        step->dilation[i] = window->dilation[from + i];
    }
}

ons_status *ons_cudnn_prepare(ons_prepare *p, const ons_cudnn_graph *graph, ons_cudnn_plan **plan) {
    *plan = NULL;
    if (!ons_cudnn_is_there()) return NULL;
    ons_status *status = ons_cudnn_plan_new(graph, p->scratch_limit - graph->scratch_bytes, plan);
    if (status != NULL) {
        *plan = NULL;
        if (ons_status_get_code(status) == ONS_OUT_OF_MEMORY) return status;
        ons_status_free(status);
        return NULL;
    }
    int64_t scratch = (ons_cudnn_plan_scratch(*plan) + 63) / 64 * 64;
    if (scratch > p->scratch_bytes) p->scratch_bytes = scratch;
    p->implementation = ons_cudnn_plan_name(*plan);
    return NULL;
}
