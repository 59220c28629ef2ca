/* MaxPool: what its files share. */
#ifndef ONSTAGE_KERNELS_MAX_POOL_MAX_POOL_H
#define ONSTAGE_KERNELS_MAX_POOL_MAX_POOL_H

#include "kernels/common/layout/window.h"

enum { Y, INDICES, POSITIONS };

/* The index that ONNX wants for input position `at` of a plane; storage_order 1 counts the first spatial dim fastest.
 */
static inline int64_t index_of(const ons_window *w, bool column_major, int64_t plane, int64_t at) {
    int64_t base = plane * ons_window_inputs(w);
    if (!column_major) return base + at;
    int64_t x = at % w->input[2], y = at / w->input[2] % w->input[1], z = at / w->input[2] / w->input[1];
    return base + (x * w->input[1] + y) * w->input[0] + z;
}

#endif
