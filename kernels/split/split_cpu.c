/* Split on the CPU. */
#include "kernels/split/split.h"

#include "kernels/concat/pieces.h"

ons_status *ons_split_prepare(ons_prepare *p) {
    ons_type pieces[PIECES_MAX];
    uint32_t axis, count = ons_split_find_pieces(p->operands, pieces, &axis);
    count = count < p->operands->output_count ? count : p->operands->output_count;
    return ons_pieces_prepare(p, &p->operands->inputs[0], pieces, count, axis, false);
}

static void split_run(const ons_launch *launch) {
    const ons_pieces *state = launch->state;
    for (uint32_t i = 0; i < state->count; ++i)
        if (launch->outputs[i] != NULL) ons_strided_copy(&state->copies[i], launch->inputs[0], launch->outputs[i]);
}

ONS_KERNELS(cpu, split, ONS_KERNEL(ons_split_prepare, split_run))
