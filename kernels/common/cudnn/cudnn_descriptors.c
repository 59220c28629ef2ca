/* Graphs of cudnn_graph.h as descriptors of cuDNN's backend API. */
#include <stdio.h>

#include "kernels/common/cudnn/cudnn_descriptors.h"

/* Tensors need no more, and buffers of the arena have 64. */
enum { ALIGNMENT = 16 };

/* ------------------------------------------------------------------------------------------------------ descriptors */

cudnnBackendDescriptor_t ons_cudnn_make(ons_cudnn_descriptors *list, cudnnBackendDescriptorType_t type,
                                        const char *what) {
    cudnnBackendDescriptor_t made = NULL;
    if (list->status != CUDNN_STATUS_SUCCESS) return NULL;
    list->what = what;
    list->status = list->count == ONS_CUDNN_DESCRIPTORS ? CUDNN_STATUS_NOT_SUPPORTED
                                                        : list->library->cudnnBackendCreateDescriptor(type, &made);
    if (list->status != CUDNN_STATUS_SUCCESS) return NULL;
    list->items[list->count++] = made;
    return made;
}

void ons_cudnn_set(ons_cudnn_descriptors *list, cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                   cudnnBackendAttributeType_t type, int64_t count, const void *values) {
    if (list->status == CUDNN_STATUS_SUCCESS)
        list->status = list->library->cudnnBackendSetAttribute(descriptor, name, type, count, values);
}

void ons_cudnn_finalize(ons_cudnn_descriptors *list, cudnnBackendDescriptor_t descriptor) {
    if (list->status == CUDNN_STATUS_SUCCESS) list->status = list->library->cudnnBackendFinalize(descriptor);
}

void ons_cudnn_destroy(ons_cudnn_descriptors *list, int from) {
    while (list->count > from) list->library->cudnnBackendDestroyDescriptor(list->items[--list->count]);
}

ons_status *ons_cudnn_failure(const ons_cudnn_descriptors *list) {
    if (list->status == CUDNN_STATUS_SUCCESS) return NULL;
    char detail[256] = "";
    list->library->cudnnGetLastErrorString(detail, sizeof detail);
    return ons_status_new(ONS_UNSUPPORTED, "cuDNN: %s: %s %s", list->what,
                          list->library->cudnnGetErrorString(list->status), detail);
}

static void set_number(ons_cudnn_descriptors *list, cudnnBackendDescriptor_t descriptor,
                       cudnnBackendAttributeName_t name, int64_t value) {
    ons_cudnn_set(list, descriptor, name, CUDNN_TYPE_INT64, 1, &value);
}

static void set_flag(ons_cudnn_descriptors *list, cudnnBackendDescriptor_t descriptor,
                     cudnnBackendAttributeName_t name) {
    ons_cudnn_set(list, descriptor, name, CUDNN_TYPE_BOOLEAN, 1, &(bool){true});
}

static void set_descriptor(ons_cudnn_descriptors *list, cudnnBackendDescriptor_t descriptor,
                           cudnnBackendAttributeName_t name, cudnnBackendDescriptor_t value) {
    ons_cudnn_set(list, descriptor, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value);
}

static void set_data_type(ons_cudnn_descriptors *list, cudnnBackendDescriptor_t descriptor,
                          cudnnBackendAttributeName_t name, int64_t dtype) {
    cudnnDataType_t type = CUDNN_DATA_FLOAT;
    switch ((ons_dtype)dtype) {
    case ONS_FLOAT16: type = CUDNN_DATA_HALF; break;
    case ONS_BFLOAT16: type = CUDNN_DATA_BFLOAT16; break;
    case ONS_INT32: type = CUDNN_DATA_INT32; break;
    case ONS_BOOL: type = CUDNN_DATA_BOOLEAN; break;
    default: break;
    }
    ons_cudnn_set(list, descriptor, name, CUDNN_TYPE_DATA_TYPE, 1, &type);
}

/* ---------------------------------------------------------------------------------------------------------- tensors */

static cudnnBackendDescriptor_t make_tensor(ons_cudnn_descriptors *list, const ons_cudnn_tensor *tensor,
                                            int64_t number) {
    cudnnBackendDescriptor_t made = ons_cudnn_make(list, CUDNN_BACKEND_TENSOR_DESCRIPTOR, "a tensor");
    set_data_type(list, made, CUDNN_ATTR_TENSOR_DATA_TYPE, tensor->dtype);
    ons_cudnn_set(list, made, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, tensor->rank, tensor->dims);
    ons_cudnn_set(list, made, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, tensor->rank, tensor->strides);
    set_number(list, made, CUDNN_ATTR_TENSOR_UNIQUE_ID, ons_cudnn_number_of(number));
    set_number(list, made, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, ALIGNMENT);
    if (tensor->place == ONS_CUDNN_WITHIN) set_flag(list, made, CUDNN_ATTR_TENSOR_IS_VIRTUAL);
    if (tensor->place == ONS_CUDNN_NUMBER) set_flag(list, made, CUDNN_ATTR_TENSOR_IS_BY_VALUE);
    ons_cudnn_finalize(list, made);
    return made;
}

/* ------------------------------------------------------------------------------------------------------- operations */

/* The attributes of an operation: those of its operands, in their order in ons_cudnn_operation, and of the descriptor
 * with the operation's settings. */
typedef struct form {
    const char *what;
    cudnnBackendDescriptorType_t type;
    cudnnBackendAttributeName_t settings;
    cudnnBackendAttributeName_t operands[ONS_CUDNN_OPERANDS];
} form;

static const form forms[ONS_CUDNN_OPERATION_COUNT] = {
    [ONS_CUDNN_CONVOLVE] = {"a convolution",
                            CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
                            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                            {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                             CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y}},
    [ONS_CUDNN_CONVOLVE_INPUT] = {"the gradient of a convolution's input",
                                  CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
                                  CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                                  {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                                   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                                   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY}},
    [ONS_CUDNN_CONVOLVE_WEIGHT] = {"the gradient of a convolution's weight",
                                   CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
                                   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                                   {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                                    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                                    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY}},
    [ONS_CUDNN_POINTWISE] = {"a pointwise operation",
                             CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR,
                             CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR,
                             {CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
                              CUDNN_ATTR_OPERATION_POINTWISE_TDESC, CUDNN_ATTR_OPERATION_POINTWISE_YDESC}},
    [ONS_CUDNN_MULTIPLY] = {"a product",
                            CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR,
                            CUDNN_ATTR_OPERATION_MATMUL_DESC,
                            {CUDNN_ATTR_OPERATION_MATMUL_ADESC, CUDNN_ATTR_OPERATION_MATMUL_BDESC,
                             CUDNN_ATTR_OPERATION_MATMUL_CDESC}},
    [ONS_CUDNN_REDUCE] = {"a reduction",
                          CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR,
                          CUDNN_ATTR_OPERATION_REDUCTION_DESC,
                          {CUDNN_ATTR_OPERATION_REDUCTION_XDESC, CUDNN_ATTR_OPERATION_REDUCTION_YDESC}},
    [ONS_CUDNN_RESHAPE] = {"a view",
                           CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR,
                           CUDNN_ATTR_OPERATION_RESHAPE_XDESC, /* it has no settings */
                           {CUDNN_ATTR_OPERATION_RESHAPE_XDESC, CUDNN_ATTR_OPERATION_RESHAPE_YDESC}},
};

static cudnnBackendDescriptor_t make_convolution(ons_cudnn_descriptors *list, const ons_cudnn_step *step) {
    cudnnBackendDescriptor_t made =
        ons_cudnn_make(list, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, "a convolution's window");
    const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
    set_data_type(list, made, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, step->compute);
    ons_cudnn_set(list, made, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
    set_number(list, made, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, step->spatial);
    ons_cudnn_set(list, made, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, step->spatial, step->begin);
    ons_cudnn_set(list, made, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, step->spatial, step->end);
    ons_cudnn_set(list, made, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, step->spatial, step->dilation);
    ons_cudnn_set(list, made, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, step->spatial, step->stride);
    ons_cudnn_finalize(list, made);
    return made;
}

static cudnnBackendDescriptor_t make_pointwise(ons_cudnn_descriptors *list, const ons_cudnn_step *step) {
    static const cudnnPointwiseMode_t modes[] = {
        [ONS_CUDNN_ADD] = CUDNN_POINTWISE_ADD,         [ONS_CUDNN_SUBTRACT] = CUDNN_POINTWISE_SUB,
        [ONS_CUDNN_TIMES] = CUDNN_POINTWISE_MUL,       [ONS_CUDNN_DIVIDE] = CUDNN_POINTWISE_DIV,
        [ONS_CUDNN_EXP] = CUDNN_POINTWISE_EXP,         [ONS_CUDNN_LOG] = CUDNN_POINTWISE_LOG,
        [ONS_CUDNN_COPY] = CUDNN_POINTWISE_IDENTITY,   [ONS_CUDNN_INDEX] = CUDNN_POINTWISE_GEN_INDEX,
        [ONS_CUDNN_AT_LEAST] = CUDNN_POINTWISE_CMP_GE, [ONS_CUDNN_SELECT] = CUDNN_POINTWISE_BINARY_SELECT,
    };
    cudnnBackendDescriptor_t made = ons_cudnn_make(list, CUDNN_BACKEND_POINTWISE_DESCRIPTOR, "a pointwise function");
    ons_cudnn_set(list, made, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &modes[step->mode]);
    set_data_type(list, made, CUDNN_ATTR_POINTWISE_MATH_PREC, step->compute);
    if (step->mode == ONS_CUDNN_INDEX) set_number(list, made, CUDNN_ATTR_POINTWISE_AXIS, step->axis);
    ons_cudnn_finalize(list, made);
    return made;
}

static cudnnBackendDescriptor_t make_product(ons_cudnn_descriptors *list, const ons_cudnn_step *step) {
    cudnnBackendDescriptor_t made = ons_cudnn_make(list, CUDNN_BACKEND_MATMUL_DESCRIPTOR, "a product's type");
    set_data_type(list, made, CUDNN_ATTR_MATMUL_COMP_TYPE, step->compute);
    ons_cudnn_finalize(list, made);
    return made;
}

static cudnnBackendDescriptor_t make_reduction(ons_cudnn_descriptors *list, const ons_cudnn_step *step) {
    cudnnReduceTensorOp_t operator= step->mode == ONS_CUDNN_MAXIMUM ? CUDNN_REDUCE_TENSOR_MAX : CUDNN_REDUCE_TENSOR_ADD;
    cudnnBackendDescriptor_t made = ons_cudnn_make(list, CUDNN_BACKEND_REDUCTION_DESCRIPTOR, "a reduction's function");
    ons_cudnn_set(list, made, CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &operator);
    set_data_type(list, made, CUDNN_ATTR_REDUCTION_COMP_TYPE, step->compute);
    ons_cudnn_finalize(list, made);
    return made;
}

/* The descriptor of what an operation does beside its operands; NULL: it has none. */
static cudnnBackendDescriptor_t make_settings(ons_cudnn_descriptors *list, const ons_cudnn_step *step) {
    switch ((ons_cudnn_operation)step->operation) {
    case ONS_CUDNN_CONVOLVE:
    case ONS_CUDNN_CONVOLVE_INPUT:
    case ONS_CUDNN_CONVOLVE_WEIGHT: return make_convolution(list, step);
    case ONS_CUDNN_POINTWISE: return make_pointwise(list, step);
    case ONS_CUDNN_MULTIPLY: return make_product(list, step);
    case ONS_CUDNN_REDUCE: return make_reduction(list, step);
    default: return NULL;
    }
}

/* result = 1 × what is computed + 0 × what was there. */
static void set_factors(ons_cudnn_descriptors *list, cudnnBackendDescriptor_t operation, int64_t kind) {
    static const cudnnBackendAttributeName_t factors[][2] = {
        [ONS_CUDNN_CONVOLVE] = {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                                CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
        [ONS_CUDNN_CONVOLVE_INPUT] = {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                                      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
        [ONS_CUDNN_CONVOLVE_WEIGHT] = {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
                                       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA},
    };
    if (kind > ONS_CUDNN_CONVOLVE_WEIGHT) return;
    ons_cudnn_set(list, operation, factors[kind][0], CUDNN_TYPE_FLOAT, 1, &(float){1});
    ons_cudnn_set(list, operation, factors[kind][1], CUDNN_TYPE_FLOAT, 1, &(float){0});
}

static cudnnBackendDescriptor_t make_operation(ons_cudnn_descriptors *list, const ons_cudnn_step *step,
                                               const cudnnBackendDescriptor_t *tensors) {
    const form *f = &forms[step->operation];
    cudnnBackendDescriptor_t settings = make_settings(list, step), made = ons_cudnn_make(list, f->type, f->what);
    if (settings != NULL) set_descriptor(list, made, f->settings, settings);
    for (int i = 0; i < ONS_CUDNN_OPERANDS; ++i)
        if (step->operands[i] >= 0) set_descriptor(list, made, f->operands[i], tensors[step->operands[i]]);
    set_factors(list, made, step->operation);
    ons_cudnn_finalize(list, made);
    return made;
}

cudnnBackendDescriptor_t ons_cudnn_describe(ons_cudnn_descriptors *list, const ons_cudnn_graph *graph,
                                            const ons_cudnn_target *target) {
    cudnnBackendDescriptor_t tensors[ONS_CUDNN_TENSORS], steps[ONS_CUDNN_STEPS];
    for (int64_t i = 0; i < graph->tensor_count; ++i) tensors[i] = make_tensor(list, &graph->tensors[i], i);
    for (int64_t i = 0; i < graph->step_count; ++i) steps[i] = make_operation(list, &graph->steps[i], tensors);
    cudnnBackendDescriptor_t made = ons_cudnn_make(list, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, "the operations");
    ons_cudnn_set(list, made, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, graph->step_count, steps);
    if (target->handle != NULL)
        ons_cudnn_set(list, made, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &target->handle);
    ons_cudnn_finalize(list, made);
    return made;
}
