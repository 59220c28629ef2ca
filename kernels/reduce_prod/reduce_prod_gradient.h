/* ReduceProdGradient: what its files share. */
#ifndef ONSTAGE_KERNELS_REDUCE_PROD_REDUCE_PROD_GRADIENT_H
#define ONSTAGE_KERNELS_REDUCE_PROD_REDUCE_PROD_GRADIENT_H

#include <stdbool.h>
#include <stdint.h>

enum { X, AXES, COTANGENT };

typedef struct product {
    double others; /* of all elements that are not 0 */
    int64_t zeros;
} product;

static inline double gradient_of(double x, double cotangent, const product *p) {
    bool others_have_zero = p->zeros > (x == 0);
    return others_have_zero ? 0 : cotangent * (x == 0 ? p->others : p->others / x);
}

static inline void note_element(product *p, double x) {
    if (x == 0)
        ++p->zeros;
    else
        p->others *= x;
}

typedef struct state {
    int64_t elements, results;
    int32_t *targets; /* of each element, the result that it goes into */
} state;

#endif
