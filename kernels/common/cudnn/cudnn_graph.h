/* What cuDNN computes on CUDA: graphs of a few operations, in terms of ours.
 *
 * An operator's prepare function describes what it wants as an ons_cudnn_graph (pure, and the same on every machine).
 * Where the library is there and has a plan for it that gives the same bits every time, the plan runs; otherwise the
 * operator's own kernel does. The library itself is behind the functions at the end (cudnn_plan.c).
 */
#ifndef ONSTAGE_KERNELS_COMMON_CUDNN_CUDNN_GRAPH_H
#define ONSTAGE_KERNELS_COMMON_CUDNN_CUDNN_GRAPH_H

#include "kernels/common/layout/window.h"
#include "kernels/common/operator/kernel.h"

enum {
    ONS_CUDNN_DIMS = 5,
    ONS_CUDNN_SPATIAL = 3,
    ONS_CUDNN_TENSORS = 40,
    ONS_CUDNN_STEPS = 28,
    ONS_CUDNN_OPERANDS = 4
};

/* Where a tensor's elements are. */
typedef enum ons_cudnn_place {
    ONS_CUDNN_ARGUMENT, /* the run's argument number `slot` */
    ONS_CUDNN_WITHIN,   /* nowhere: between two steps */
    ONS_CUDNN_SCRATCH,  /* in the run's scratch, `slot` bytes behind the plan's own workspace */
    ONS_CUDNN_NUMBER,   /* one float: `number` */
} ons_cudnn_place;

/* No gaps between fields, so that two graphs are the same where their bytes are. */
typedef struct ons_cudnn_tensor {
    int64_t dtype; /* ons_dtype */
    int64_t place, slot;
    int64_t rank, dims[ONS_CUDNN_DIMS], strides[ONS_CUDNN_DIMS]; /* in elements */
    float number, unused;
} ons_cudnn_tensor;

/* Operands in the order in which they are listed; those in brackets may be left out (-1). */
typedef enum ons_cudnn_operation {
    ONS_CUDNN_CONVOLVE,        /* x, w, y */
    ONS_CUDNN_CONVOLVE_INPUT,  /* dx, w, dy */
    ONS_CUDNN_CONVOLVE_WEIGHT, /* x, dw, dy */
    ONS_CUDNN_POINTWISE,       /* x, (b), (t), y; mode: ons_cudnn_function */
    ONS_CUDNN_MULTIPLY,        /* a, b, c: products of the last two dims */
    ONS_CUDNN_REDUCE,          /* x, y; mode: ons_cudnn_reduction; over the dims that are 1 in y */
    ONS_CUDNN_RESHAPE,         /* x, y */
    ONS_CUDNN_OPERATION_COUNT,
} ons_cudnn_operation;

typedef enum ons_cudnn_function {
    ONS_CUDNN_ADD,
    ONS_CUDNN_SUBTRACT, /* x - b, and so on */
    ONS_CUDNN_TIMES,
    ONS_CUDNN_DIVIDE,
    ONS_CUDNN_EXP,
    ONS_CUDNN_LOG,
    ONS_CUDNN_COPY,
    ONS_CUDNN_INDEX,    /* where along `axis`, int32 */
    ONS_CUDNN_AT_LEAST, /* x >= b, bool */
    ONS_CUDNN_SELECT,   /* t ? x : b */
} ons_cudnn_function;

typedef enum ons_cudnn_reduction { ONS_CUDNN_SUM, ONS_CUDNN_MAXIMUM } ons_cudnn_reduction;

typedef struct ons_cudnn_step {
    int64_t operation, mode, axis;
    int64_t compute;                      /* ons_dtype */
    int64_t operands[ONS_CUDNN_OPERANDS]; /* indices of tensors */
    int64_t spatial;                      /* of windows: how many of the following, innermost last */
    int64_t begin[ONS_CUDNN_SPATIAL], end[ONS_CUDNN_SPATIAL], stride[ONS_CUDNN_SPATIAL], dilation[ONS_CUDNN_SPATIAL];
} ons_cudnn_step;

typedef struct ons_cudnn_graph {
    int64_t exact;         /* float32 is multiplied as float32: no TF32, no transformed products */
    int64_t scratch_bytes; /* of ONS_CUDNN_SCRATCH */
    int64_t tensor_count, step_count;
    ons_cudnn_tensor tensors[ONS_CUDNN_TENSORS];
    ons_cudnn_step steps[ONS_CUDNN_STEPS];
} ons_cudnn_graph;

/* ----------------------------------------------------------------------------------------------- describing a graph */

/* All zero, bytes between fields included. In p->arena; fails where memory is short. */
ons_status *ons_cudnn_graph_new(ons_prepare *p, ons_cudnn_graph **graph);

/* Each adds a tensor and returns its index. `strides` NULL: dense, row-major. */
int64_t ons_cudnn_argument(ons_cudnn_graph *graph, int64_t slot, ons_dtype dtype, int64_t rank, const int64_t *dims,
                           const int64_t *strides);
int64_t ons_cudnn_within(ons_cudnn_graph *graph, ons_dtype dtype, int64_t rank, const int64_t *dims);
int64_t ons_cudnn_scratch(ons_cudnn_graph *graph, ons_dtype dtype, int64_t rank, const int64_t *dims);
int64_t ons_cudnn_number(ons_cudnn_graph *graph, float number, int64_t rank);

/* The shape's dims and the strides of its layout (ONNX's order or channels last); where there is one spatial dim, a
 * second of size 1 before it, since the library has windows of two dims and more. */
int64_t ons_cudnn_image(ons_cudnn_graph *graph, int64_t slot, const ons_type *type);

/* Adds a step in float32, with its operands (up to 4, -1 left out). */
ons_cudnn_step *ons_cudnn_step_add(ons_cudnn_graph *graph, ons_cudnn_operation operation, int64_t mode, int64_t first,
                                   int64_t second, int64_t third, int64_t fourth);

/* What cuDNN can be asked for: padding that is the same before and behind, or whose difference no window reaches. */
bool ons_cudnn_is_symmetric(const ons_window *window);
/* The sizes of such a window, of two spatial dims at least. */
void ons_cudnn_set_window(ons_cudnn_step *step, const ons_window *window);

/* ----------------------------------------------------------------------------------------------------- using a plan */

typedef struct ons_cudnn_plan ons_cudnn_plan; /* of one node: it is run by one thread at a time */

/* Plans the graph within p->scratch_limit; where that works *plan and p->implementation are set, and p->scratch_bytes
 * is at least what the plan needs. Where it does not *plan is NULL, which is no failure: the node's own kernel runs. */
ons_status *ons_cudnn_prepare(ons_prepare *p, const ons_cudnn_graph *graph, ons_cudnn_plan **plan);

/* Whether there is such a library at all: without one no graph is described. It may still decline every graph. */
bool ons_cudnn_is_there(void);

/* Fails (ONS_UNSUPPORTED) where cuDNN is missing, too old, switched off (ONSTAGE_CUDNN=off), or has no plan within
 * `workspace_limit` bytes whose bits are the same every time. Plans are kept for the same graph and limit. */
ons_status *ons_cudnn_plan_new(const ons_cudnn_graph *graph, int64_t workspace_limit, ons_cudnn_plan **plan);
void ons_cudnn_plan_free(ons_cudnn_plan *plan);
int64_t ons_cudnn_plan_scratch(const ons_cudnn_plan *plan); /* bytes; graph's scratch included */
/* "cuDNN: engine 12"; stays as long as the program. */
const char *ons_cudnn_plan_name(const ons_cudnn_plan *plan);
/* Puts it on the stream; `arguments` by slot. */
void ons_cudnn_plan_run(ons_cudnn_plan *plan, uintptr_t stream, const void *const *arguments, void *scratch);

/* For tests: plans from now on are for the GPU that cuDNN's own JSON describes, which need not be there; NULL: for the
 * one that is. What was planned before is forgotten; no plan may be alive. */
void ons_cudnn_plan_for(const char *device_json);

#endif
