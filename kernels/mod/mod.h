/* Mod: what its files share. */
#ifndef ONSTAGE_KERNELS_MOD_MOD_H
#define ONSTAGE_KERNELS_MOD_MOD_H

#include <math.h>

#include "kernels/common/math/integers.h"

enum { FMOD };

/* Like the divisor's, the sign of zero too. */
static inline double float_rest(double a, double b, bool like_dividend) {
    double rest = fmod(a, b);
    if (like_dividend || rest != rest) return rest;
    if (rest == 0) return copysign(0, b);
    return (rest < 0) != (b < 0) ? rest + b : rest;
}

static inline int64_t integer_rest(int64_t a, int64_t b, bool like_dividend) {
    return like_dividend ? ons_remainder(a, b) : ons_modulo(a, b);
}

#endif
