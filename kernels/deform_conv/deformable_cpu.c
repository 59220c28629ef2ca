/* What the CPU runs of deformable.h. */
#include "kernels/deform_conv/deformable.h"

static int64_t rounded(int64_t bytes) { return (bytes + 63) / 64 * 64; }

int64_t ons_deformable_table_bytes(const ons_deformable *d) {
    return rounded(d->offset_groups * d->taps * d->positions * (int64_t)sizeof(ons_corners));
}

int64_t ons_deformable_columns_bytes(const ons_deformable *d) {
    return rounded(d->channels * d->taps * d->positions * (int64_t)sizeof(float));
}

void ons_deformable_fill_table(const ons_deformable *d, const float *offsets, ons_corners *table) {
    int64_t positions = d->positions;
#pragma omp parallel for schedule(static) if (d->offset_groups * d->taps * positions > ONS_PARALLEL_GRAIN / 8)
    for (int64_t i = 0; i < d->offset_groups * d->taps; ++i)
        for (int64_t at = 0; at < positions; ++at) {
            ons_exact_corners exact;
            ons_corners *c = &table[i * positions + at];
            int64_t offset = ons_deformable_offset_at(d, 0, i, at);
            ons_deformable_corners(d, i % d->taps, at, offsets[offset], offsets[offset + positions], &exact);
            for (int k = 0; k < 4; ++k) {
                c->pixels[k] = (int32_t)exact.pixels[k];
                c->weights[k] = (float)exact.weights[k];
                c->row_slopes[k] = (float)exact.row_slopes[k];
                c->column_slopes[k] = (float)exact.column_slopes[k];
            }
        }
}

void ons_deformable_gather(const ons_deformable *d, const ons_corners *table, const float *x, const float *mask,
                           float *columns) {
    int64_t share = d->channels / d->offset_groups, taps = d->taps, positions = d->positions;
#pragma omp parallel for schedule(static) if (d->channels * taps * positions > ONS_PARALLEL_GRAIN / 4)
    for (int64_t i = 0; i < d->channels * taps; ++i) {
        int64_t channel = i / taps, line = channel / share * taps + i % taps;
        const float *plane = x + channel * d->pixels, *factors = mask != NULL ? mask + line * positions : NULL;
        const ons_corners *corners = table + line * positions;
        float *to = columns + i * positions;
        for (int64_t at = 0; at < positions; ++at) {
            const ons_corners *c = &corners[at];
            float value = plane[c->pixels[0]] * c->weights[0] + plane[c->pixels[1]] * c->weights[1] +
                          plane[c->pixels[2]] * c->weights[2] + plane[c->pixels[3]] * c->weights[3];
            to[at] = factors != NULL ? value * factors[at] : value;
        }
    }
}
