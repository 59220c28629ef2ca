/* What the CPU runs of class_loss.h. */
#include "kernels/losses/class_loss.h"

#include <math.h>
#include <string.h>

ons_status *ons_class_loss_prepare(ons_prepare *p) {
    ONS_TRY(ons_require_float32(p->operands));
    ons_class_loss *loss;
    ONS_NEW_STATE(loss, p);
    *loss = ons_class_loss_of(p->operands);
    p->scratch_bytes = ONS_PARTS_MAX * (int64_t)sizeof(double);
    return NULL;
}

ons_class_shares ons_class_shares_of(const ons_class_loss *loss, const void *const *inputs) {
    const float *weights = loss->weights == ONS_NONE ? NULL : inputs[loss->weights];
    double spread = loss->smoothing / (double)loss->view.length, all = 0;
    for (int64_t k = 0; loss->smoothing > 0 && weights != NULL && k < loss->view.length; ++k) all += (double)weights[k];
    return (ons_class_shares){
        .weights = weights,
        .own = (float)(1 - loss->smoothing),
        .spread = (float)spread,
        .all = (float)(weights == NULL ? loss->smoothing : spread * all),
    };
}

/* to[k] -= share × w[k] */
static void subtract_weights(const float *weights, float share, float *to, int64_t count) {
#pragma omp simd
    for (int64_t k = 0; k < count; ++k) to[k] -= share * ons_class_weight(weights, k);
}

void ons_class_slopes_row(const ons_class_slopes *s, int64_t row, float log_sum) {
    const ons_class_shares *shares = &s->shares;
    int64_t classes = s->loss->view.length, class = ons_class_at(s->loss, s->targets, row);
    float *to = s->dx + row * classes;
    if (class < 0) {
        memset(to, 0, (size_t)classes * sizeof *to);
        return;
    }
    float own = shares->own * ons_class_weight(shares->weights, class);
    ons_row_scaled_exp(s->x + row * classes, log_sum, (own + shares->all) * s->scale, to, classes);
    if (shares->spread > 0) subtract_weights(shares->weights, shares->spread * s->scale, to, classes);
    to[class] -= own * s->scale;
}

void ons_class_slopes_block(const ons_class_slopes *s, const ons_column_block *at, const float *log_sums) {
    const ons_class_shares *shares = &s->shares;
    int64_t inner = s->loss->view.inner;
    float shift[ONS_COLUMNS], own[ONS_COLUMNS], factor[ONS_COLUMNS], spread[ONS_COLUMNS];
    for (int c = 0; c < at->width; ++c) {
        int64_t class = ons_class_at(s->loss, s->targets, at->column + c);
        bool counts = class >= 0;
        shift[c] = counts ? log_sums[c] : INFINITY; /* e^-inf is 0 */
        own[c] = counts ? shares->own * ons_class_weight(shares->weights, class) * s->scale : 0;
        factor[c] = own[c] + shares->all * s->scale;
        spread[c] = counts ? shares->spread * s->scale : 0;
    }
    for (int64_t k = 0; k < s->loss->view.length; ++k) {
        float *to = s->dx + at->offset + k * inner, weight = ons_class_weight(shares->weights, k);
        ons_shifted_exp(s->x + at->offset + k * inner, shift, 1, to, at->width);
#pragma omp simd
        for (int c = 0; c < at->width; ++c) to[c] = to[c] * factor[c] - spread[c] * weight;
    }
    for (int c = 0; c < at->width; ++c) {
        int64_t class = ons_class_at(s->loss, s->targets, at->column + c);
        if (class >= 0) s->dx[at->offset + class * inner + c] -= own[c];
    }
}
