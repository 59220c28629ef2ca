/* Rotation on the CPU. */
#include "kernels/rotation/rotation_node.h"

ons_status *ons_rotation_prepare(ons_prepare *p) {
    ONS_TRY(ons_require_float32(p->operands));
    ons_rotation *state;
    ONS_NEW_STATE(state, p);
    return ons_rotation_resolve(p->operands, state);
}

/* Both halves of a row, `half` pairs; y may be x. The second elements' numbers are `second` further on. */
static void turn_halves(int64_t half, int64_t second, const float *x, const float *cosines, const float *sines,
                        float *y) {
#pragma omp simd
    for (int64_t i = 0; i < half; ++i) {
        float a = x[i], b = x[i + half];
        y[i] = a * cosines[i] - b * sines[i];
        y[i + half] = b * cosines[i + second] + a * sines[i + second];
    }
}

static void turn_halves_back(int64_t half, int64_t second, const float *x, const float *cosines, const float *sines,
                             float *y) {
#pragma omp simd
    for (int64_t i = 0; i < half; ++i) {
        float a = x[i], b = x[i + half];
        y[i] = a * cosines[i] + b * sines[i + second];
        y[i + half] = b * cosines[i + second] - a * sines[i];
    }
}

/* Neighbours; the numbers of pair i lie at i · (1 + second). */
static void turn_neighbours(const ons_rotation *r, const float *x, const float *cosines, const float *sines, float *y) {
    int64_t step = 1 + r->second;
    for (int64_t i = 0; i < r->size / 2; ++i) {
        const float *c = cosines + i * step, *s = sines + i * step;
        float a = x[2 * i], b = x[2 * i + 1];
        float back = s[r->second], forth = s[0];
        y[2 * i] = r->inverse ? a * c[0] + b * back : a * c[0] - b * forth;
        y[2 * i + 1] = r->inverse ? b * c[r->second] - a * forth : b * c[r->second] + a * back;
    }
}

static void rotation_run(const ons_launch *launch) {
    const ons_rotation *r = launch->state;
    const float *from = launch->inputs[X], *cosines = launch->inputs[COSINES], *sines = launch->inputs[SINES];
    float *to = launch->outputs[0];
#pragma omp parallel for schedule(static) if (r->rows * r->length > ONS_PARALLEL_GRAIN)
    for (int64_t row = 0; row < r->rows; ++row) {
        int64_t table = table_offset(r, row);
        const float *x = from + row * r->length;
        float *y = to + row * r->length;
        if (r->interleaved)
            turn_neighbours(r, x, cosines + table, sines + table, y);
        else
            (r->inverse ? turn_halves_back : turn_halves)(r->size / 2, r->second, x, cosines + table, sines + table, y);
        if (x != y) memcpy(y + r->size, x + r->size, (size_t)(r->length - r->size) * sizeof *y);
    }
}

ONS_KERNELS(cpu, rotation, ONS_KERNEL(ons_rotation_prepare, rotation_run))
