/* Gradients of DeformConv: of x, weight, offset and mask. Inputs: the output's gradient, x, weight, offset, mask.
 *
 * What the taps read of a sample (columns) makes the weight's gradient; the gradient of that, weightᵀ dy, goes to the
 * pixels that were read, to the places where they were read, and to the mask. */
#include <oneapi/dnnl/dnnl.h>
#include <string.h>

#include "kernels/common/cuda_deformable.h"
#include "kernels/common/deformable.h"

enum { DY, X, W, OFFSET, MASK };
enum { DX, DW, DOFFSET, DMASK };

static ons_status *resolve(const ons_operands *o, ons_deformable *d) {
    static const ons_type none = {0};
    ONS_TRY(ons_deformable_resolve(o, &o->inputs[X], &o->inputs[W], &o->inputs[OFFSET],
                                   ons_has_input(o, MASK) ? &o->inputs[MASK] : &none, d));
    if (!ons_shape_equal(&d->y.shape, &o->inputs[DY].shape))
        return ons_node_error(o, "the gradient does not have the shape of the convolution's output");
    return NULL;
}

static ons_status *deform_conv_gradient_infer(ons_operands *o) {
    ons_deformable d;
    ONS_TRY(resolve(o, &d));
    for (uint32_t i = 0; i < o->output_count; ++i) /* nobody asks for a mask's gradient where there is no mask */
        o->outputs[i] = o->inputs[i == DMASK && !d.has_mask ? X : X + i];
    return NULL;
}

/* Two products; a dozen operations for each pixel that is read. */
static ons_cost deform_conv_gradient_cost(const ons_operands *o) {
    ons_deformable d;
    ons_status_free(resolve(o, &d));
    return (ons_cost){2 * ons_deformable_flops(&d) +
                          12.0 * (double)(d.batch * d.channels * d.taps) * (double)d.positions,
                      ons_operand_bytes(o)};
}

static void *clear(const ons_operands *o, void *const *outputs, uint32_t index) {
    if (index >= o->output_count || outputs[index] == NULL) return NULL;
    return memset(outputs[index], 0, (size_t)ons_elements(&o->inputs[X + index]) * sizeof(double));
}

/* One tap of one channel into one output: g is the output's gradient times the weight. */
static void deform_conv_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                           void *const *outputs) {
    (void)step;
    ons_deformable d = {0};
    ons_status_free(resolve(o, &d));
    const double *dy = inputs[DY], *x = inputs[X], *w = inputs[W], *offsets = inputs[OFFSET];
    const double *mask = d.has_mask ? inputs[MASK] : NULL;
    double *dx = clear(o, outputs, DX), *dw = clear(o, outputs, DW), *doffset = clear(o, outputs, DOFFSET);
    double *dmask = d.has_mask ? clear(o, outputs, DMASK) : NULL;
    int64_t share = d.channels / d.groups, lines = d.offset_groups * d.taps * d.positions;
    for (int64_t i = 0, count = d.pixels > 0 ? ons_elements(&d.y) : 0; i < count; ++i)
        for (int64_t k = 0; k < share * d.taps; ++k) {
            int64_t at = i % d.positions, output = i / d.positions % d.outputs, n = i / d.positions / d.outputs;
            int64_t tap = k % d.taps, channel = output / (d.outputs / d.groups) * share + k / d.taps;
            int64_t group = channel / (d.channels / d.offset_groups), plane = (n * d.channels + channel) * d.pixels;
            int64_t offset = 2 * n * lines + ons_deformable_offset_at(&d, group, tap, at);
            int64_t factor = n * lines + ons_deformable_mask_at(&d, group, tap, at);
            double m = mask != NULL ? mask[factor] : 1, value = 0, by_row = 0, by_column = 0;
            double g = dy[i] * w[output * share * d.taps + k];
            ons_exact_corners c;
            ons_deformable_corners(&d, tap, at, offsets[offset], offsets[offset + d.positions], &c);
            for (int corner = 0; corner < 4; ++corner) {
                double pixel = x[plane + c.pixels[corner]];
                value += c.weights[corner] * pixel;
                by_row += c.row_slopes[corner] * pixel;
                by_column += c.column_slopes[corner] * pixel;
                if (dx != NULL) dx[plane + c.pixels[corner]] += g * m * c.weights[corner];
            }
            if (dw != NULL) dw[output * share * d.taps + k] += dy[i] * m * value;
            if (dmask != NULL) dmask[factor] += g * value;
            if (doffset == NULL) continue;
            doffset[offset] += g * m * by_row;
            doffset[offset + d.positions] += g * m * by_column;
        }
}

/* ------------------------------------------------------------------------------------------------------------- kernel
 */

typedef struct state {
    ons_deformable d;
    int64_t columns; /* bytes before the columns in scratch: the table of corners */
    bool empty;
    int64_t sizes[4]; /* of the outputs, in elements */
} state;

static ons_status *deform_conv_gradient_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ONS_TRY(ons_require_float32(o));
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(state), &memory));
    state *s = memory;
    ONS_TRY(resolve(o, &s->d));
    const ons_deformable *d = &s->d;
    s->empty = d->channels * d->pixels * d->outputs * d->positions * d->batch == 0;
    for (uint32_t i = 0; i < o->output_count; ++i)
        s->sizes[i] = ons_has_output(o, i) ? ons_elements(&o->outputs[i]) : 0;
    s->columns = ons_deformable_table_bytes(d);
    p->scratch_bytes = s->columns + ons_deformable_columns_bytes(d);
    if (p->scratch_bytes > p->scratch_limit)
        return ons_node_error(o, "needs %lld bytes of scratch, more than the %lld that the plan grants",
                              (long long)p->scratch_bytes, (long long)p->scratch_limit);
    return NULL;
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

static ons_status *deform_conv_gradient_prepare_cuda(ons_prepare *p) {
    ons_deformable d = {0};
    ONS_TRY(resolve(p->operands, &d));
    return ons_cuda_deformable_prepare(p, &d, false, 2);
}

static const ons_case deform_conv_gradient_cases[] = {
    {.name = "offset",
     .inputs = {ONS_F32(2, 4, 3, 5), ONS_F32(2, 3, 5, 6), ONS_F32(4, 3, 3, 2), ONS_F32_IN(-1.5, 1.5, 2, 12, 3, 5)},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 15120},
    {.name = "mask",
     .inputs = {ONS_F32(2, 4, 3, 3), ONS_F32(2, 4, 5, 5), ONS_F32(4, 2, 3, 3), ONS_F32_IN(-1, 1, 2, 36, 3, 3),
                ONS_F32_IN(0, 1, 2, 18, 3, 3)},
     .settings = {ONS_SET_INT("group", 2), ONS_SET_INT("offset_group", 2), ONS_SET_INTS("pads", 1, 1, 1, 1),
                  ONS_SET_INTS("strides", 2, 2)},
     .outputs = 4,
     .tolerance = 1e-5,
     .flops = 12960},
    {.name = "empty",
     .inputs = {ONS_F32(0, 3, 3, 3), ONS_F32(0, 2, 4, 4), ONS_F32(3, 2, 2, 2), ONS_F32(0, 8, 3, 3)},
     .outputs = 3,
     .flops = 0},
    {.name = "resnet",
     .inputs = {ONS_F32(4, 128, 28, 28), ONS_F32(4, 128, 28, 28), ONS_F32(128, 128, 3, 3), ONS_F32(4, 18, 28, 28),
                ONS_F32_IN(0, 1, 4, 9, 28, 28)},
     .settings = {ONS_SET_INTS("pads", 1, 1, 1, 1)},
     .outputs = 4,
     .tolerance = 1e-3,
     .flops = 1893040128,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(deform_conv_gradient, "DeformConvGradient", ONS_INTERNAL, ONS_ARITY(4, 5, 1, 4),
                    ONS_ATTRIBUTES(ONS_DEFORMABLE_ATTRIBUTES), ONS_INFER(deform_conv_gradient_infer),
                    ONS_COST(deform_conv_gradient_cost), ONS_NOT_DIFFERENTIABLE("it is itself a gradient"),
                    ONS_SAVES_NOTHING, ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_DENSE | ONS_TRAIT_FULL_PRECISION, 0),
                    ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(deform_conv_gradient_reference),
                    ONS_CPU_KERNEL(deform_conv_gradient_prepare, deform_conv_gradient_run),
                    ONS_CUDA_KERNEL(deform_conv_gradient_prepare_cuda, ons_cuda_deform_conv_gradient),
                    deform_conv_gradient_cases);
