/* What the CPU's kernel, the GPU's and the reference of LossScale compute alike. */
#ifndef ONSTAGE_KERNELS_LOSS_SCALE_LOSS_SCALE_H
#define ONSTAGE_KERNELS_LOSS_SCALE_LOSS_SCALE_H

#include <math.h>

#include "base/host_device.h"
#include "kernels/clip_factor/clip_factor.h"

typedef struct ons_loss_scaling {
    double max_norm, interval; /* the attributes */
} ons_loss_scaling;

/* One step's results. */
typedef struct ons_scaled_step {
    double scale, good; /* from the next step on, and how many steps in a row were finite with that scale */
    double skipped;     /* of all steps, with this one */
    double norm;        /* of the gradients without the scale */
    double factor;      /* < 0: the update is skipped */
} ons_scaled_step;

/* `square_sum` is over all gradients, which have the scale as a factor. A scale between these bounds is a finite float,
 * and so is its reciprocal. */
static ONS_HOST_DEVICE inline ons_scaled_step ons_scale_step(ons_loss_scaling how, double scale, double good,
                                                             double skipped, double square_sum) {
    const double least = 0x1p-24, most = 0x1p100;
    ons_scaled_step r = {scale, good + 1, skipped, sqrt(square_sum) / scale, -1};
    if (!isfinite(square_sum)) {
        r.scale = scale / 2 < least ? least : scale / 2;
        r.good = 0;
        r.skipped = skipped + 1;
        return r;
    }
    r.factor = ons_clip_factor_of(r.norm, how.max_norm) / scale;
    if (r.good >= how.interval) {
        r.scale = scale * 2 > most ? most : scale * 2;
        r.good = 0;
    }
    return r;
}

#endif
