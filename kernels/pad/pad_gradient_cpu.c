/* PadGradient on the CPU. */
#include "kernels/pad/pad_gradient.h"

#include "kernels/pad/padding.h"
#include "kernels/resampling/separable.h"

/* Elements of an axis that is padded: tables hold a few numbers for each. */
enum { LONGEST = 1 << 20 };

static ons_status *check_lengths(const ons_operands *o, const ons_padding *padding) {
    for (uint32_t i = 0; i < padding->input.rank; ++i)
        ONS_CHECK((padding->before[i] == 0 && padding->after[i] == 0) ||
                      (padding->input.dims[i] <= LONGEST && padding->output.dims[i] <= LONGEST),
                  ONS_UNSUPPORTED, "node '%s' (%s): axis %u is longer than %d elements; pad shorter pieces", o->name,
                  o->op->name, i, LONGEST);
    return NULL;
}

static ons_status *pad_gradient_prepare(ons_prepare *p) {
    ons_padding padding;
    ons_axis_map maps[ONS_RANK_MAX], transposed[ONS_RANK_MAX];
    ONS_TRY(ons_require_float32(p->operands));
    ons_resolved(padding_of(p->operands, &padding));
    ONS_TRY(check_lengths(p->operands, &padding));
    padding = ons_padding_in_memory(&padding, p->operands->inputs[0].layout);
    ONS_TRY(ons_padding_maps(&padding, p->arena, maps));
    for (uint32_t i = 0; i < padding.input.rank; ++i)
        ONS_TRY(ons_axis_map_transpose(p->arena, &maps[i], &transposed[i]));
    ons_separable *plan;
    ONS_NEW_STATE(plan, p);
    return ons_separable_plan(p, padding.input.rank, transposed, 0, plan);
}

static void pad_gradient_run(const ons_launch *launch) {
    ons_separable_run(launch->state, launch->inputs[0], launch->outputs[0], launch->scratch);
}

ONS_KERNELS(cpu, pad_gradient, ONS_KERNEL(pad_gradient_prepare, pad_gradient_run))
