/* Concat on the CPU. */
#include "kernels/concat/concat.h"

#include "kernels/concat/pieces.h"

ons_status *ons_concat_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    return ons_pieces_prepare(p, &o->outputs[0], o->inputs, o->input_count, concat_axis(o), true);
}

static void concat_run(const ons_launch *launch) {
    const ons_pieces *state = launch->state;
    for (uint32_t i = 0; i < state->count; ++i)
        ons_strided_copy(&state->copies[i], launch->inputs[i], launch->outputs[0]);
}

ONS_KERNELS(cpu, concat, ONS_KERNEL(ons_concat_prepare, concat_run))
