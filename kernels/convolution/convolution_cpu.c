#include "kernels/convolution/cpu_convolution.h"

ons_status *ons_cpu_convolution_prepare(ons_prepare *p, const ons_convolution *c, ons_cpu_convolution *s) {
    s->by_winograd = ons_winograd_takes(c);
    return s->by_winograd ? ons_winograd_prepare(p, c, &s->winograd) : ons_convolution_prepare(p, c, &s->primitive);
}

bool ons_cpu_convolution_run(const ons_cpu_convolution *s, const void *const arguments[4], const ons_launch *launch) {
    if (s->by_winograd) {
        ons_winograd_run(&s->winograd, arguments, launch->scratch);
        return true;
    }
    if (s->primitive.primitive == NULL) return false;
    ons_onednn_run(&s->primitive, arguments, launch->scratch, launch->fault);
    return true;
}
