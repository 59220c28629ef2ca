/* Discrete Fourier transforms of any length, in double: by powers of two, others as a convolution of such a length
 * (Bluestein, "A linear filtering approach to the computation of discrete Fourier transform", 1970). */
#ifndef ONSTAGE_KERNELS_SIGNAL_FOURIER_H
#define ONSTAGE_KERNELS_SIGNAL_FOURIER_H

#include "graph/operator.h"

typedef struct ons_fourier {
    int64_t length;
    int64_t padded;       /* a power of two: `length` itself, or one that a convolution fits into */
    const double *turns;  /* cos, then sin, of 2πk / padded for k < padded / 2 */
    const double *chirp;  /* cos, then sin, of πk² / length for k < length; NULL for powers of two */
    const double *filter; /* the transform of the chirp: real parts, then imaginary ones */
} ons_fourier;

enum { ONS_FOURIER_LENGTH_MAX = 1 << 30 };

/* Tables live in the arena. */
ons_status *ons_fourier_prepare(int64_t length, ons_arena *arena, ons_fourier *plan);

/* Doubles of scratch that a transform needs. */
int64_t ons_fourier_scratch(const ons_fourier *plan);

/* Σ x[t] e^(-2πikt / length) in place; exchange `re` and `im` for e^(+…). */
void ons_fourier_run(const ons_fourier *plan, double *re, double *im, double *scratch);

#endif
