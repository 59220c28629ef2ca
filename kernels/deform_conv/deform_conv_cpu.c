/* DeformConv on the CPU. */
#include "kernels/deform_conv/deform_conv.h"

#include <oneapi/dnnl/dnnl.h>

#include "kernels/deform_conv/deformable.h"

typedef struct deform_conv_state {
    ons_deformable d;
    int64_t columns; /* bytes before the columns in scratch: the table of corners */
    bool bias, empty;
} deform_conv_state;

static ons_status *deform_conv_prepare(ons_prepare *p) {
    ONS_TRY(ons_require_float32(p->operands));
    deform_conv_state *s;
    ONS_NEW_STATE(s, p);
    ons_resolved(resolve_deformable(p->operands, &s->d));
    const ons_deformable *d = &s->d;
    s->bias = ons_has_input(p->operands, BIAS);
    s->empty = d->channels * d->pixels * d->outputs * d->positions * d->batch == 0;
    s->columns = ons_deformable_table_bytes(d);
    p->scratch_bytes = s->columns + ons_deformable_columns_bytes(d);
    return ons_require_scratch(p, p->scratch_bytes);
}

static void fill_bias(const deform_conv_state *s, const float *bias, float *y) {
    const ons_deformable *d = &s->d;
#pragma omp parallel for schedule(static) if (d->outputs * d->positions > ONS_PARALLEL_GRAIN)
    for (int64_t output = 0; output < d->outputs; ++output)
        for (int64_t at = 0; at < d->positions; ++at) y[output * d->positions + at] = bias != NULL ? bias[output] : 0;
}

static void deform_conv_run(const ons_launch *launch) {
    const deform_conv_state *s = launch->state;
    const ons_deformable *d = &s->d;
    const float *w = launch->inputs[W], *mask = d->has_mask ? launch->inputs[MASK] : NULL;
    float *columns = (float *)(void *)((char *)launch->scratch + s->columns);
    int64_t lines = d->offset_groups * d->taps * d->positions;
    int64_t m = d->outputs / d->groups, k = d->channels / d->groups * d->taps, n = d->positions;
    for (int64_t sample = 0; sample < d->batch; ++sample) {
        float *y = (float *)launch->outputs[0] + sample * d->outputs * n;
        fill_bias(s, s->bias ? launch->inputs[BIAS] : NULL, y);
        if (s->empty) continue;
        ons_deformable_fill_table(d, (const float *)launch->inputs[OFFSET] + sample * 2 * lines, launch->scratch);
        ons_deformable_gather(d, launch->scratch, (const float *)launch->inputs[X] + sample * d->channels * d->pixels,
                              mask != NULL ? mask + sample * lines : NULL, columns);
        for (int64_t group = 0; group < d->groups; ++group)
            dnnl_sgemm('N', 'N', m, n, k, 1, w + group * m * k, k, columns + group * k * n, n, 1, y + group * m * n, n);
    }
}

ONS_KERNELS(cpu, deform_conv, ONS_KERNEL(deform_conv_prepare, deform_conv_run))
