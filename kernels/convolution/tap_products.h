/* Convolutions over few positions, and both of their gradients, as products of matrices, one for each tap: over those
 * positions at which the tap lies in the input. Others, most of them where a filter is larger than the map, cost
 * nothing. Layouts are those of winograd.h. */
#ifndef ONSTAGE_KERNELS_CONVOLUTION_TAP_PRODUCTS_H
#define ONSTAGE_KERNELS_CONVOLUTION_TAP_PRODUCTS_H

#include "kernels/convolution/convolution.h"

typedef struct ons_tap_products {
    ons_convolution_kind kind;
    ons_window window; /* of two dims */
    int threads;
    int64_t batch, channels, outputs;
    int64_t x_at, y_at; /* in floats of the scratch: rows of x and y, or of the product, at a tap's positions */
} ons_tap_products;

/* Books scratch. */
ons_status *ons_tap_products_prepare(ons_prepare *p, const ons_convolution *c, ons_tap_products *t);

/* Arguments by kind, as for ons_convolution_prepare; a bias that is not there is NULL. */
void ons_tap_products_run(const ons_tap_products *t, const void *const arguments[4], const ons_launch *launch);

#endif
