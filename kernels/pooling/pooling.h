/* What the pooling operators share: MaxPool, AveragePool and their gradients. */
#ifndef ONSTAGE_KERNELS_POOLING_POOLING_H
#define ONSTAGE_KERNELS_POOLING_POOLING_H

#include "kernels/common/layout/layouts.h"
#include "kernels/common/layout/window.h"

/* Attributes after the window's, the same in every pooling operator; each ignores what is not its own. */
enum {
    ONS_POOLING_CEIL_MODE = ONS_WINDOW_ATTRIBUTE_COUNT,
    ONS_POOLING_COUNT_INCLUDE_PAD,
    ONS_POOLING_STORAGE_ORDER,
    ONS_POOLING_INPUT_SHAPE, /* of gradients: the result's shape */
};
#define ONS_POOLING_ATTRIBUTES                                                                                         \
    ONS_WINDOW_ATTRIBUTES, ONS_INT_ATTRIBUTE("ceil_mode", 0), ONS_INT_ATTRIBUTE("count_include_pad", 0),               \
        ONS_INT_ATTRIBUTE("storage_order", 0)
#define ONS_POOLING_GRADIENT_ATTRIBUTES                                                                                \
    ONS_POOLING_ATTRIBUTES, ONS_REQUIRED_ATTRIBUTE("input_shape", ONS_ATTRIBUTE_INTS)

typedef struct ons_pooling {
    ons_window window;
    ons_type x, y;
    ons_dtype
        position; /* of the saved position of a maximum in its window: uint8, or int32 where the window is larger */
    bool include_pad;
} ons_pooling;

/* From the input's shape: the window and y. */
ons_status *ons_pooling_resolve(const ons_operands *o, const ons_type *x, ons_pooling *pooling);

/* The pooling of a gradient: x is in the attribute input_shape, and `dy` must have the shape that y has. */
ons_status *ons_pooling_resolve_gradient(const ons_operands *o, const ons_type *dy, ons_pooling *pooling);

/* A gradient with the window of `pooling`: all attributes but auto_pad, which has been resolved. */
ons_value_id ons_pooling_build_gradient(ons_gradient *g, const ons_operator *op, const ons_pooling *pooling,
                                        ons_inputs inputs);

/* The taps of one output position in one dim that lie inside of the input: [first, end), the tap of index 0 lying at
 * input position `start`. */
typedef struct ons_pooling_span {
    int32_t start, first, end;
} ons_pooling_span;

/* The outputs [first, last] whose windows may hold one input position in one dim; a dilation may leave some of them
 * out. */
typedef struct ons_pooling_cover {
    int32_t first, last;
} ons_pooling_cover;

/* The tap with which output `output` sees input position `input` in one dim; -1 where a dilation steps over it. */
static inline int32_t ons_pooling_tap(const ons_window *w, int dim, int64_t input, int64_t output) {
    int64_t distance = input + w->begin[dim] - output * w->stride[dim];
    if (w->dilation[dim] == 1) return (int32_t)distance;
    return distance % w->dilation[dim] == 0 ? (int32_t)(distance / w->dilation[dim]) : -1;
}

/* Takes the tap at an input position of the plane. */
typedef void ons_pooling_take(void *context, int64_t at);

/* Every tap of a window whose spans are z, y and x, in order. Inlined, and `take` with it where the caller names it. */
static inline __attribute__((always_inline)) void ons_pooling_each_tap(const ons_window *w, const ons_pooling_span *z,
                                                                       const ons_pooling_span *y,
                                                                       const ons_pooling_span *x,
                                                                       ons_pooling_take *take, void *context) {
    for (int32_t kz = z->first; kz < z->end; ++kz)
        for (int32_t ky = y->first; ky < y->end; ++ky) {
            int64_t row =
                ((z->start + kz * w->dilation[0]) * w->input[1] + y->start + ky * w->dilation[1]) * w->input[2];
            for (int32_t kx = x->first; kx < x->end; ++kx) take(context, row + x->start + kx * w->dilation[2]);
        }
}

/* Prepared for a run: rows of windows, and `width` elements that lie side by side in memory: all channels of a position
 * with channels last, else one. */
typedef struct ons_pooling_plan {
    ons_window window;
    int64_t planes; /* batch, times channels where these do not lie side by side */
    int64_t width;
    int64_t inputs, outputs; /* positions of a plane */
    bool wide_position, overlap /* a position can lie in several windows */, parallel;
    const ons_pooling_span *spans[ONS_WINDOW_DIMS];       /* by output position */
    const ons_pooling_cover *covers[ONS_WINDOW_DIMS - 1]; /* by input position; columns are run through by windows */
    const float *scales; /* of averages: 1 ÷ elements, by output position of a plane */
} ons_pooling_plan;

/* Makes the plan at `plan`, with tables in p->arena. Refuses what is not float32. */
ons_status *ons_pooling_plan_make(ons_prepare *p, const ons_pooling *pooling, ons_layout layout, bool average,
                                  ons_pooling_plan *plan);

/* All operands of the layout that the first input has now: channels last or ONNX's order. */
ons_status *ons_pooling_choose(const ons_operands *o, ons_layout *inputs, ons_layout *outputs);

/* Row (z, y) of a plane's input at dx: zero, and what the windows that hold it bring at dy, × plan->scales where there
 * are any, row of windows by row: threads that make different rows never write to the same place. */
void ons_pooling_collect_row(const ons_pooling_plan *plan, int64_t plane, int64_t z, int64_t y, const float *dy,
                             float *dx);

/* Elements that an average divides by, at an output position of a plane: taps inside of the input, or of the padded
 * input. */
int64_t ons_pooling_divisor_at(const ons_window *w, bool include_pad, int64_t output);

static inline ons_pooling_span ons_pooling_span_of(const ons_window *w, int dim, int64_t output) {
    int64_t start = output * w->stride[dim] - w->begin[dim], d = w->dilation[dim], room = w->input[dim] - start;
    int64_t first = start >= 0 ? 0 : (-start + d - 1) / d, end = room <= 0 ? 0 : (room + d - 1) / d;
    return (ons_pooling_span){(int32_t)start, (int32_t)first, (int32_t)(end > w->kernel[dim] ? w->kernel[dim] : end)};
}

#endif
