#include "kernels/convolution/cpu_convolution.h"

ons_status *ons_cpu_convolution_prepare(ons_prepare *p, const ons_convolution *c, ons_cpu_convolution *s) {
    s->way = ons_convolution_way_for_layouts(c);
    switch (s->way) {
    case ONS_FILTER_WINOGRAD: return ons_winograd_prepare(p, c, &s->winograd);
    case ONS_FILTER_PRODUCTS: return ons_tap_products_prepare(p, c, &s->products);
    default: return ons_convolution_prepare(p, c, &s->primitive);
    }
}

bool ons_cpu_convolution_run(const ons_cpu_convolution *s, const void *const arguments[4], const ons_launch *launch) {
    switch (s->way) {
    case ONS_FILTER_WINOGRAD: ons_winograd_run(&s->winograd, arguments, launch->scratch); return true;
    case ONS_FILTER_PRODUCTS: ons_tap_products_run(&s->products, arguments, launch); return true;
    default: break;
    }
    if (s->primitive.primitive == NULL) return false;
    ons_onednn_run(&s->primitive, arguments, launch->scratch, launch->fault);
    return true;
}
