/* What the CPU runs of class_loss.h. */
#include "kernels/losses/class_loss.h"

#include <math.h>
#include <string.h>

#include "kernels/common/math/far.h"

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
    double spread = loss->smoothing / (double)loss->classes, all = 0;
    for (int64_t k = 0; loss->smoothing > 0 && weights != NULL && k < loss->classes; ++k) all += (double)weights[k];
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

/* What comes to a shard's log sum. */
static float given_factor(const ons_class_slopes *s, int64_t target) {
    return s->of_log_sums == NULL ? 0 : s->of_log_sums[target];
}

/* What a shard's x is measured from: e^(x - shift) is 0 where all of it is -inf, as it is of the whole. */
static float shift_of(float log_sum) { return log_sum == -INFINITY ? INFINITY : log_sum; }

/* Of a shard's columns; those that do not count have a shift of infinity already. */
static void take_given(const ons_class_slopes *s, const ons_column_block *at, float *shift, float *factor) {
    for (int c = 0; c < at->width; ++c) {
        factor[c] = shift[c] == INFINITY ? 0 : given_factor(s, at->column + c);
        shift[c] = shift_of(shift[c]);
    }
}

void ons_class_slopes_row(const ons_class_slopes *s, int64_t row, float log_sum) {
    const ons_class_shares *shares = &s->shares;
    int64_t length = s->loss->view.length, class = ons_class_at(s->loss, s->targets, row);
    float *to = s->dx + row * length;
    if (class < 0) {
        memset(to, 0, (size_t)length * sizeof *to);
        return;
    }
    float own = shares->own * ons_class_weight(shares->weights, class);
    float factor = s->shard ? given_factor(s, row) : (own + shares->all) * s->scale;
    factor *= ons_far_share(s->x + row * length, 1, length, log_sum);
    ons_row_scaled_exp(s->x + row * length, s->shard ? shift_of(log_sum) : log_sum, factor, to, length);
    if (shares->spread > 0)
        subtract_weights(ons_class_weights_from(shares->weights, s->loss->first), shares->spread * s->scale, to,
                         length);
    int64_t place = ons_class_place(s->loss, class);
    if (place < length) to[place] -= own * s->scale;
}

void ons_class_slopes_block(const ons_class_slopes *s, const ons_column_block *at, const float *log_sums) {
    const ons_class_shares *shares = &s->shares;
    int64_t inner = s->loss->view.inner, length = s->loss->view.length;
    const float *weights = ons_class_weights_from(shares->weights, s->loss->first);
    float shift[ONS_COLUMNS], own[ONS_COLUMNS], factor[ONS_COLUMNS], spread[ONS_COLUMNS];
    for (int c = 0; c < at->width; ++c) {
        int64_t class = ons_class_at(s->loss, s->targets, at->column + c);
        bool counts = class >= 0;
        shift[c] = counts ? log_sums[c] : INFINITY; /* e^-inf is 0 */
        own[c] = counts ? shares->own * ons_class_weight(shares->weights, class) * s->scale : 0;
        factor[c] = own[c] + shares->all * s->scale;
        spread[c] = counts ? shares->spread * s->scale : 0;
    }
    if (s->shard) take_given(s, at, shift, factor);
    for (int c = 0; c < at->width; ++c) factor[c] *= ons_far_share(s->x + at->offset + c, inner, length, shift[c]);
    for (int64_t k = 0; k < length; ++k) {
        float *to = s->dx + at->offset + k * inner, weight = ons_class_weight(weights, k);
        ons_shifted_exp(s->x + at->offset + k * inner, shift, 1, to, at->width);
#pragma omp simd
        for (int c = 0; c < at->width; ++c) to[c] = to[c] * factor[c] - spread[c] * weight;
    }
    for (int c = 0; c < at->width; ++c) {
        int64_t place = ons_class_place(s->loss, ons_class_at(s->loss, s->targets, at->column + c));
        if (place < length) s->dx[at->offset + place * inner + c] -= own[c];
    }
}

void ons_class_slopes_all(const ons_class_slopes *slopes, const float *log_sums) {
    const ons_class_loss *loss = slopes->loss;
    bool rows = loss->view.inner == 1;
    int64_t items = ons_class_loss_items(loss), size = loss->view.length * (rows ? 1 : ONS_COLUMNS);
#pragma omp parallel for schedule(static) if (items * size > ONS_PARALLEL_GRAIN)
    for (int64_t item = 0; item < items; ++item) {
        if (rows) {
            ons_class_slopes_row(slopes, item, log_sums[item]);
        } else {
            ons_column_block at = ons_column_block_at(&loss->view, item);
            ons_class_slopes_block(slopes, &at, log_sums + at.column);
        }
    }
}
