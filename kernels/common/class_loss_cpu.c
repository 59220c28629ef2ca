/* What the CPU runs of class_loss.h. */
#include "kernels/common/class_loss.h"

#include <math.h>
#include <string.h>

ons_status *ons_class_loss_prepare(ons_prepare *p) {
    ONS_TRY(ons_require_float32(p->operands));
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(ons_class_loss), &memory));
    ons_class_loss *loss = memory;
    *loss = ons_class_loss_of(p->operands);
    p->scratch_bytes = ONS_PARTS_MAX * (int64_t)sizeof(double);
    return NULL;
}

void ons_class_slopes_row(const ons_class_loss *loss, int64_t row, const float *x, const void *targets, float log_sum,
                          float scale, float *dx) {
    int64_t classes = loss->view.length, class = ons_class_at(loss, targets, row);
    float *to = dx + row * classes;
    if (class < 0) {
        memset(to, 0, (size_t)classes * sizeof *to);
        return;
    }
    ons_row_scaled_exp(x + row * classes, log_sum, scale, to, classes);
    to[class] -= scale;
}

void ons_class_slopes_block(const ons_class_loss *loss, const ons_column_block *at, const float *x, const void *targets,
                            const float *log_sums, float scale, float *dx) {
    int64_t inner = loss->view.inner;
    float shift[ONS_COLUMNS]; /* e^-inf is 0: targets that do not count */
    for (int c = 0; c < at->width; ++c)
        shift[c] = ons_class_at(loss, targets, at->column + c) < 0 ? INFINITY : log_sums[c];
    for (int64_t k = 0; k < loss->view.length; ++k)
        ons_shifted_exp(x + at->offset + k * inner, shift, scale, dx + at->offset + k * inner, at->width);
    for (int c = 0; c < at->width; ++c) {
        int64_t class = ons_class_at(loss, targets, at->column + c);
        if (class >= 0) dx[at->offset + class * inner + c] -= scale;
    }
}
