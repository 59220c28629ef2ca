#include "kernels/signal/fourier.h"

#include <math.h>

static bool is_power_of_two(int64_t n) { return (n & (n - 1)) == 0; }

/* Decimation in time: bits of the index reversed, then butterflies of growing width. */
static void transform(const ons_fourier *plan, double *re, double *im) {
    int64_t n = plan->padded;
    for (int64_t i = 1, reversed = 0; i < n; ++i) {
        int64_t bit = n >> 1;
        for (; reversed & bit; bit >>= 1) reversed ^= bit;
        reversed ^= bit;
        if (i >= reversed) continue;
        double a = re[i], b = im[i];
        re[i] = re[reversed], im[i] = im[reversed];
        re[reversed] = a, im[reversed] = b;
    }
    const double *cosines = plan->turns, *sines = plan->turns + n / 2;
    for (int64_t half = 1; half < n; half *= 2) {
        int64_t step = n / (2 * half);
        for (int64_t begin = 0; begin < n; begin += 2 * half)
            for (int64_t k = 0; k < half; ++k) {
                double c = cosines[k * step], s = sines[k * step];
                double *low_re = re + begin + k, *low_im = im + begin + k;
                double turned_re = low_re[half] * c + low_im[half] * s, turned_im = low_im[half] * c - low_re[half] * s;
                low_re[half] = *low_re - turned_re, low_im[half] = *low_im - turned_im;
                *low_re += turned_re, *low_im += turned_im;
            }
    }
}

/* The angle repeats after 2·length: the remainder keeps its digits. */
static void make_chirp(int64_t length, double *chirp) {
    for (int64_t k = 0; k < length; ++k) {
        double angle = M_PI * (double)(k * k % (2 * length)) / (double)length;
        chirp[k] = cos(angle);
        chirp[length + k] = sin(angle);
    }
}

ons_status *ons_fourier_prepare(int64_t length, ons_arena *arena, ons_fourier *plan) {
    *plan = (ons_fourier){.length = length, .padded = 1};
    if (length < 1) return NULL;
    int64_t least = is_power_of_two(length) ? length : 2 * length - 1;
    while (plan->padded < least) plan->padded *= 2;
    double *turns, *chirp, *filter;
    int64_t n = plan->padded;
    ONS_NEW(turns, arena, (size_t)n + 2);
    for (int64_t k = 0; k < n / 2; ++k) {
        turns[k] = cos(2 * M_PI * (double)k / (double)n);
        turns[n / 2 + k] = sin(2 * M_PI * (double)k / (double)n);
    }
    plan->turns = turns;
    if (n == length) return NULL;
    ONS_NEW(chirp, arena, (size_t)(2 * length));
    ONS_NEW(filter, arena, (size_t)(2 * n));
    make_chirp(length, chirp);
    for (int64_t k = 0; k < length; ++k) {
        filter[k] = chirp[k], filter[n + k] = chirp[length + k];
        if (k > 0) filter[n - k] = chirp[k], filter[2 * n - k] = chirp[length + k];
    }
    transform(plan, filter, filter + n);
    plan->chirp = chirp;
    plan->filter = filter;
    return NULL;
}

int64_t ons_fourier_scratch(const ons_fourier *plan) { return plan->chirp == NULL ? 0 : 2 * plan->padded; }

/* -kt = ((k - t)² - k² - t²) / 2: a product with the chirp's conjugate, a convolution with the chirp, a product again.
 */
static void convolve(const ons_fourier *plan, double *re, double *im, double *scratch) {
    int64_t length = plan->length, n = plan->padded;
    const double *cosine = plan->chirp, *sine = plan->chirp + length, *f_re = plan->filter, *f_im = plan->filter + n;
    double *a = scratch, *b = scratch + n;
    for (int64_t k = 0; k < n; ++k) {
        a[k] = k < length ? re[k] * cosine[k] + im[k] * sine[k] : 0;
        b[k] = k < length ? im[k] * cosine[k] - re[k] * sine[k] : 0;
    }
    transform(plan, a, b);
    for (int64_t k = 0; k < n; ++k) {
        double real = a[k] * f_re[k] - b[k] * f_im[k];
        b[k] = a[k] * f_im[k] + b[k] * f_re[k];
        a[k] = real;
    }
    transform(plan, b, a); /* back, times n */
    for (int64_t k = 0; k < length; ++k) {
        re[k] = (a[k] * cosine[k] + b[k] * sine[k]) / (double)n;
        im[k] = (b[k] * cosine[k] - a[k] * sine[k]) / (double)n;
    }
}

void ons_fourier_run(const ons_fourier *plan, double *re, double *im, double *scratch) {
    if (plan->chirp == NULL)
        transform(plan, re, im);
    else
        convolve(plan, re, im, scratch);
}
