#include "kernels/concat/pieces.h"

#include "kernels/common/layout/layouts.h"

static ons_layout dense_layout(const ons_type *type) {
    return type->layout == ONS_LAYOUT_CHANNELS_LAST ? ONS_LAYOUT_CHANNELS_LAST : ONS_LAYOUT_ONNX;
}

ons_status *ons_pieces_choose_whole(const ons_operands *o, ons_layout *inputs, ons_layout *outputs) {
    double all = 0, last = 0;
    for (uint32_t i = 0; i < o->input_count; ++i) {
        double elements = (double)ons_elements(&o->inputs[i]);
        inputs[i] = dense_layout(&o->inputs[i]);
        all += elements;
        last += inputs[i] == ONS_LAYOUT_CHANNELS_LAST ? elements : 0;
    }
    outputs[0] = 2 * last > all ? ONS_LAYOUT_CHANNELS_LAST : ONS_LAYOUT_ONNX;
    return NULL;
}

ons_status *ons_pieces_choose_pieces(const ons_operands *o, ons_layout *inputs, ons_layout *outputs) {
    for (uint32_t i = 0; i < o->input_count; ++i) inputs[i] = ONS_LAYOUT_ONNX;
    inputs[0] = dense_layout(&o->inputs[0]);
    for (uint32_t i = 0; i < o->output_count; ++i) outputs[i] = inputs[0];
    return NULL;
}

void ons_piece_reference(const ons_shape *whole, const ons_shape *piece, uint32_t axis, int64_t start, bool joins,
                         const void *from, void *to) {
    int64_t index[ONS_RANK_MAX];
    for (int64_t i = 0, n = ons_shape_elements(piece); i < n; ++i) {
        ons_unravel(piece, i, index);
        index[axis] += start;
        int64_t place = ons_ravel(whole, index);
        ons_copy_word(to, joins ? place : i, from, joins ? i : place);
    }
}
