/* ClipFactor: what its files share. */
#ifndef ONSTAGE_KERNELS_CLIP_FACTOR_CLIP_FACTOR_H
#define ONSTAGE_KERNELS_CLIP_FACTOR_CLIP_FACTOR_H

static inline double factor_of(double norm, double max_norm) {
    double factor = max_norm / (norm + 1e-6);
    return max_norm <= 0 || factor > 1 ? 1 : factor;
}

#endif
