/* DeformConvGradient on the CPU. */
#include "kernels/deform_conv/deform_conv_gradient.h"

#include <oneapi/dnnl/dnnl.h>
#include <string.h>

#include "kernels/deform_conv/deformable.h"

typedef struct state {
    ons_deformable d;
    int64_t columns; /* bytes before the columns in scratch: the table of corners */
    bool empty;
    int64_t sizes[4]; /* of the outputs, in elements */
} state;

static ons_status *deform_conv_gradient_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ONS_TRY(ons_require_float32(o));
    state *s;
    ONS_NEW_STATE(s, p);
    ons_resolved(resolve_deformable(o, &s->d));
    const ons_deformable *d = &s->d;
    s->empty = d->channels * d->pixels * d->outputs * d->positions * d->batch == 0;
    for (uint32_t i = 0; i < o->output_count; ++i)
        s->sizes[i] = ons_has_output(o, i) ? ons_elements(&o->outputs[i]) : 0;
    s->columns = ons_deformable_table_bytes(d);
    p->scratch_bytes = s->columns + ons_deformable_columns_bytes(d);
    return ons_require_scratch(p, p->scratch_bytes);
}

/* What one sample reads and writes; results that nobody wants are NULL. */
typedef struct sample_work {
    const float *x, *mask, *gradients; /* of the columns */
    const ons_corners *table;
    float *dx, *doffset, *dmask;
} sample_work;

/* Every plane by itself, so that threads never write to the same place. */
static void scatter_pixels(const ons_deformable *d, const sample_work *work) {
    int64_t share = d->channels / d->offset_groups, positions = d->positions;
#pragma omp parallel for schedule(static) if (d->channels * d->taps * positions > ONS_PARALLEL_GRAIN / 4)
    for (int64_t channel = 0; channel < d->channels; ++channel) {
        float *plane = work->dx + channel * d->pixels;
        memset(plane, 0, (size_t)d->pixels * sizeof *plane);
        for (int64_t tap = 0; tap < d->taps; ++tap) {
            int64_t line = (channel / share * d->taps + tap) * positions;
            const float *gradients = work->gradients + (channel * d->taps + tap) * positions;
            for (int64_t at = 0; at < positions; ++at) {
                const ons_corners *c = &work->table[line + at];
                float g = work->mask != NULL ? gradients[at] * work->mask[line + at] : gradients[at];
                for (int i = 0; i < 4; ++i) plane[c->pixels[i]] += g * c->weights[i];
            }
        }
    }
}

/* Offsets and mask of a group's tap collect from the channels of the group. */
static void collect_places(const ons_deformable *d, const sample_work *work) {
    int64_t share = d->channels / d->offset_groups, positions = d->positions;
#pragma omp parallel for schedule(static) if (d->channels * d->taps * positions > ONS_PARALLEL_GRAIN / 4)
    for (int64_t i = 0; i < d->offset_groups * d->taps; ++i) {
        int64_t group = i / d->taps, tap = i % d->taps;
        for (int64_t at = 0; at < positions; ++at) {
            const ons_corners *c = &work->table[i * positions + at];
            float by_row = 0, by_column = 0, by_mask = 0;
            for (int64_t channel = group * share; channel < (group + 1) * share; ++channel) {
                const float *plane = work->x + channel * d->pixels;
                float g = work->gradients[(channel * d->taps + tap) * positions + at];
                for (int k = 0; k < 4; ++k) {
                    float pixel = g * plane[c->pixels[k]];
                    by_row += pixel * c->row_slopes[k];
                    by_column += pixel * c->column_slopes[k];
                    by_mask += pixel * c->weights[k];
                }
            }
            float m = work->mask != NULL ? work->mask[i * positions + at] : 1;
            if (work->dmask != NULL) work->dmask[i * positions + at] = by_mask;
            if (work->doffset == NULL) continue;
            work->doffset[i * 2 * positions + at] = m * by_row;
            work->doffset[(i * 2 + 1) * positions + at] = m * by_column;
        }
    }
}

static void run_sample(const state *s, const ons_launch *launch, int64_t sample) {
    const ons_deformable *d = &s->d;
    int64_t lines = d->offset_groups * d->taps * d->positions, picture = d->channels * d->pixels;
    int64_t m = d->outputs / d->groups, k = d->channels / d->groups * d->taps, n = d->positions;
    float *const *outputs = (float *const *)launch->outputs;
    const float *const *inputs = (const float *const *)launch->inputs;
    const float *dy = inputs[DY] + sample * d->outputs * n, *x = inputs[X] + sample * picture;
    const float *mask = d->has_mask ? inputs[MASK] + sample * lines : NULL;
    float *columns = (float *)(void *)((char *)launch->scratch + s->columns);
    ons_deformable_fill_table(d, inputs[OFFSET] + sample * 2 * lines, launch->scratch);
    if (outputs[DW] != NULL) {
        ons_deformable_gather(d, launch->scratch, x, mask, columns);
        for (int64_t group = 0; group < d->groups; ++group)
            dnnl_sgemm('N', 'T', m, k, n, 1, dy + group * m * n, n, columns + group * k * n, n, sample > 0 ? 1 : 0,
                       outputs[DW] + group * m * k, k);
    }
    float *dmask = d->has_mask ? outputs[DMASK] : NULL;
    if (outputs[DX] == NULL && outputs[DOFFSET] == NULL && dmask == NULL) return;
    for (int64_t group = 0; group < d->groups; ++group)
        dnnl_sgemm('T', 'N', k, n, m, 1, inputs[W] + group * m * k, k, dy + group * m * n, n, 0,
                   columns + group * k * n, n);
    sample_work work = {.x = x,
                        .mask = mask,
                        .gradients = columns,
                        .table = launch->scratch,
                        .dx = outputs[DX] != NULL ? outputs[DX] + sample * picture : NULL,
                        .doffset = outputs[DOFFSET] != NULL ? outputs[DOFFSET] + sample * 2 * lines : NULL,
                        .dmask = dmask != NULL ? dmask + sample * lines : NULL};
    if (work.dx != NULL) scatter_pixels(d, &work);
    if (work.doffset != NULL || work.dmask != NULL) collect_places(d, &work);
}

static void deform_conv_gradient_run(const ons_launch *launch) {
    const state *s = launch->state;
    for (uint32_t i = 0; s->empty && i < 4; ++i)
        if (s->sizes[i] > 0 && launch->outputs[i] != NULL)
            memset(launch->outputs[i], 0, (size_t)s->sizes[i] * sizeof(float));
    for (int64_t sample = 0; !s->empty && sample < s->d.batch; ++sample) run_sample(s, launch, sample);
}

ONS_KERNELS(cpu, deform_conv_gradient, ONS_KERNEL(deform_conv_gradient_prepare, deform_conv_gradient_run))
