/* cuDNN's backend API, as cudnn_plan.c and cudnn_descriptors.c use it. */
#ifndef ONSTAGE_KERNELS_COMMON_CUDNN_CUDNN_DESCRIPTORS_H
#define ONSTAGE_KERNELS_COMMON_CUDNN_CUDNN_DESCRIPTORS_H

#include <cudnn.h>

#include "kernels/common/cudnn/cudnn_graph.h"

/* The functions used, by cuDNN's own declarations. */
#define ONS_CUDNN_FUNCTIONS(X)                                                                                         \
    X(cudnnCreate)                                                                                                     \
    X(cudnnGetVersion)                                                                                                 \
    X(cudnnSetStream)                                                                                                  \
    X(cudnnGetErrorString)                                                                                             \
    X(cudnnGetLastErrorString)                                                                                         \
    X(cudnnBackendCreateDescriptor)                                                                                    \
    X(cudnnBackendDestroyDescriptor)                                                                                   \
    X(cudnnBackendSetAttribute)                                                                                        \
    X(cudnnBackendGetAttribute)                                                                                        \
    X(cudnnBackendFinalize)                                                                                            \
    X(cudnnBackendExecute)

#define ONS_CUDNN_FIELD(NAME) __typeof__(&NAME) NAME;
typedef struct ons_cudnn_library {
    ONS_CUDNN_FUNCTIONS(ONS_CUDNN_FIELD)
} ons_cudnn_library;

/* For whom a plan is made: a handle's GPU or, handle NULL, one that is described. */
typedef struct ons_cudnn_target {
    cudnnHandle_t handle;
    cudnnBackendDescriptor_t properties;
} ons_cudnn_target;

/* Descriptors that belong together. The first call that fails is noted in `status`, and the following do nothing. */
enum { ONS_CUDNN_DESCRIPTORS = 160 };
typedef struct ons_cudnn_descriptors {
    const ons_cudnn_library *library;
    cudnnStatus_t status;
    const char *what; /* failed */
    int count;
    cudnnBackendDescriptor_t items[ONS_CUDNN_DESCRIPTORS];
} ons_cudnn_descriptors;

cudnnBackendDescriptor_t ons_cudnn_make(ons_cudnn_descriptors *list, cudnnBackendDescriptorType_t type,
                                        const char *what);
void ons_cudnn_set(ons_cudnn_descriptors *list, cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                   cudnnBackendAttributeType_t type, int64_t count, const void *values);
void ons_cudnn_finalize(ons_cudnn_descriptors *list, cudnnBackendDescriptor_t descriptor);
/* Those from number `from` on, the latest first. */
void ons_cudnn_destroy(ons_cudnn_descriptors *list, int from);
/* What was noted, as a failure (ONS_UNSUPPORTED); NULL: nothing. */
ons_status *ons_cudnn_failure(const ons_cudnn_descriptors *list);

/* The number by which a variant pack names a tensor. */
static inline int64_t ons_cudnn_number_of(int64_t tensor) { return tensor + 1; }

/* Tensors, operations and their graph, which is returned. */
cudnnBackendDescriptor_t ons_cudnn_describe(ons_cudnn_descriptors *list, const ons_cudnn_graph *graph,
                                            const ons_cudnn_target *target);

#endif
