#include "kernels/common/choice/choices.h"
#include "kernels/convolution/convolution.h"

enum { HEIGHT = ONS_WINDOW_DIMS - 2, WIDTH = ONS_WINDOW_DIMS - 1 };

ons_layout ons_convolution_filter_layout(void) { return ons_layout_from_tag(dnnl_hwio, 0); }

/* All ways but oneDNN's. */
static bool may_choose(const ons_convolution *c) {
    return c->x.dtype == ONS_FLOAT32 && c->groups == 1 && c->window.spatial == 2 && ons_elements(&c->x) > 0 &&
           ons_elements(&c->w) > 0 && ons_elements(&c->y) > 0;
}

static bool suits_winograd(const ons_window *w) {
    bool suits = true;
    for (int d = HEIGHT; d <= WIDTH; ++d)
        suits = suits && w->kernel[d] == 3 && w->stride[d] == 1 && w->dilation[d] == 1;
    return suits;
}

/* For convolutions that the table does not have. Winograd's transforms of tiles cost as much whatever the number of
 * channels that they save, and those of the filter, whose results lie in scratch, whatever the number of tiles. Where
 * there are few positions, most taps lie in the padding at most of them, and oneDNN's kernels go through them all the
 * same: those for AVX-512 fast enough but at a single position. Here the number of samples decides nothing, so that
 * parts of a batch are computed as the whole is; the table goes by it, too. */
static ons_way usual_way(const ons_convolution *c, uint32_t possible) {
    int64_t channels = c->x.shape.dims[1], outputs = c->y.shape.dims[1], size = channels * outputs,
            tiles = (c->window.output[HEIGHT] + 1) / 2 * ((c->window.output[WIDTH] + 1) / 2),
            few = ons_onednn_uses(dnnl_cpu_isa_avx512_core) ? 1 : 4;
    if (channels < 32 || outputs < 32 || size < 2048) return ONS_FILTER_LIBRARY;
    if (ons_window_outputs(&c->window) <= few && ons_window_taps(&c->window) > 1) return ONS_FILTER_PRODUCTS;
    bool winograd = (possible & ONS_WAY_BIT(ONS_FILTER_WINOGRAD)) != 0 && tiles >= 16 && size <= 1 << 20;
    return winograd ? ONS_FILTER_WINOGRAD : ONS_FILTER_LIBRARY;
}

ons_way ons_convolution_way(const ons_convolution *c) {
    if (!may_choose(c)) return ONS_FILTER_LIBRARY;
    const ons_window *w = &c->window;
    uint32_t possible = ONS_WAY_BIT(ONS_FILTER_LIBRARY) | ONS_WAY_BIT(ONS_FILTER_PRODUCTS);
    if (suits_winograd(w)) possible |= ONS_WAY_BIT(ONS_FILTER_WINOGRAD);
    return ons_choose(&(ons_choice_question){
        .point = ONS_CHOICE_FILTER,
        .sizes = {(int64_t)c->kind, c->x.shape.dims[0], c->x.shape.dims[1], c->y.shape.dims[1], w->output[HEIGHT],
                  w->output[WIDTH], ons_window_taps(w), w->stride[WIDTH]},
        .possible = possible,
        .rule = usual_way(c, possible),
    });
}

static bool lies_last(const ons_type *type) {
    return ons_layout_same_bytes(&type->shape, type->layout, ONS_LAYOUT_CHANNELS_LAST);
}

ons_way ons_convolution_way_for_layouts(const ons_convolution *c) {
    bool own = lies_last(&c->x) && lies_last(&c->y) && c->w.layout == ons_convolution_filter_layout();
    return own ? ons_convolution_way(c) : ONS_FILTER_LIBRARY;
}
