#include "kernels/convolution/winograd.h"

#include "kernels/common/choice/choices.h"

enum { HEIGHT = ONS_WINDOW_DIMS - 2, WIDTH = ONS_WINDOW_DIMS - 1 };

ons_layout ons_winograd_filter_layout(void) { return ons_layout_from_tag(dnnl_hwio, 0); }

static bool window_suits(const ons_window *w) {
    bool suits = w->spatial == 2;
    for (int d = HEIGHT; d <= WIDTH; ++d)
        suits = suits && w->kernel[d] == 3 && w->stride[d] == 1 && w->dilation[d] == 1 && w->begin[d] >= 0 &&
                w->begin[d] <= 2 && w->input[d] > 0 && w->output[d] > 0;
    return suits;
}

static bool suits(const ons_convolution *c) {
    return c->x.dtype == ONS_FLOAT32 && c->groups == 1 && window_suits(&c->window) && c->x.shape.dims[0] > 0 &&
           c->x.shape.dims[1] > 0 && c->y.shape.dims[1] > 0;
}

/* For convolutions that the table does not have. Transforms of tiles cost as much whatever the number of channels that
 * they save, and those of the filter whatever the number of tiles. */
static ons_way usual_way(const ons_convolution *c) {
    int64_t channels = c->x.shape.dims[1], outputs = c->y.shape.dims[1], down = (c->window.output[HEIGHT] + 1) / 2,
            across = (c->window.output[WIDTH] + 1) / 2;
    bool wide = channels >= 32 && outputs >= 32 && channels * outputs >= 2048;
    return wide && c->x.shape.dims[0] * down * across >= 128 ? ONS_FILTER_WINOGRAD : ONS_FILTER_TAPS;
}

bool ons_winograd_is_chosen(const ons_convolution *c) {
    if (!suits(c)) return false;
    return ons_choose(&(ons_choice_question){
               .point = ONS_CHOICE_FILTER,
               .sizes = {(int64_t)c->kind, c->x.shape.dims[0], c->x.shape.dims[1], c->y.shape.dims[1],
                         c->window.output[HEIGHT], c->window.output[WIDTH]},
               .possible = ONS_WAY_BIT(ONS_FILTER_TAPS) | ONS_WAY_BIT(ONS_FILTER_WINOGRAD),
               .rule = usual_way(c),
           }) == ONS_FILTER_WINOGRAD;
}

static bool lies_last(const ons_type *type) {
    return ons_layout_same_bytes(&type->shape, type->layout, ONS_LAYOUT_CHANNELS_LAST);
}

bool ons_winograd_takes(const ons_convolution *c) {
    return lies_last(&c->x) && lies_last(&c->y) && c->w.layout == ons_winograd_filter_layout() &&
           ons_winograd_is_chosen(c);
}
