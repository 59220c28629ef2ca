#include "kernels/common/cuda/cuda_each.cuh"
extern "C" {
#include "kernels/fourier_transform/fourier_transform.h"
}

/* By the definition, in double: as many operations as the square of the length, all of them side by side. */
namespace {

struct circle_part {
    int64_t length;
    bool backwards;
    double *circle;
    __device__ void operator()(int64_t i) const {
        double angle = (backwards ? 2 : -2) * 3.14159265358979323846 * (double)i / (double)length;
        circle[2 * i] = cos(angle);
        circle[2 * i + 1] = sin(angle);
    }
};

struct frequency {
    ons_fourier_sizes s;
    const double *circle;
    const float *x;
    float *y;
    __device__ int64_t place(int64_t line, int64_t count, int64_t parts, int64_t t) const {
        return ((line / s.inner * count + t) * s.inner + line % s.inner) * parts;
    }
    __device__ void operator()(int64_t i) const {
        int64_t line = i / s.outputs, k = i - line * s.outputs, at = 0,
                last = s.inputs < s.length ? s.inputs : s.length;
        double re = 0, im = 0;
        for (int64_t t = 0; k < s.length && t < last; ++t) {
            const float *from = x + place(line, s.inputs, s.in_parts, t);
            double a = from[0], b = s.in_parts == 2 ? from[1] : 0, cosine = circle[2 * at], sine = circle[2 * at + 1];
            re += a * cosine - b * sine;
            im += a * sine + b * cosine;
            at += k;
            at -= at >= s.length ? s.length : 0;
        }
        float *to = y + place(line, s.outputs, s.out_parts, k);
        to[0] = (float)(re * s.factor);
        if (s.out_parts == 2) to[1] = (float)(im * s.factor);
    }
};

} // namespace

extern "C" void ons_cuda_run_fourier_transform(const ons_launch *launch) {
    const ons_fourier_sizes *s = (const ons_fourier_sizes *)launch->state;
    double *circle = (double *)launch->scratch;
    ons::each(launch, s->length, circle_part{s->length, s->backwards, circle});
    ons::each(launch, s->outer * s->inner * s->outputs,
              frequency{*s, circle, (const float *)launch->inputs[0], (float *)launch->outputs[0]});
}
