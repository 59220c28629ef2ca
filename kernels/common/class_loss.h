/* What the losses with class numbers as targets share: (prediction, target), attributes axis and ignore_index.
 *
 * A target has the prediction's shape without the axis of the classes. Targets equal to ignore_index do not count; any
 * other number outside [0, classes) is a fault, and is then treated as one that does not count.
 */
#ifndef ONSTAGE_KERNELS_COMMON_CLASS_LOSS_H
#define ONSTAGE_KERNELS_COMMON_CLASS_LOSS_H

#include "graph/passes/loss.h"
#include "kernels/common/rows.h"

enum { ONS_CLASS_LOSS_AXIS, ONS_CLASS_LOSS_IGNORE };
#define ONS_CLASS_LOSS_ATTRIBUTES                                                                                      \
    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("axis", 1), ONS_INT_ATTRIBUTE("ignore_index", ONS_DEFAULT_IGNORE_INDEX))

/* What a fault of a target is called. */
#define ONS_CLASS_PROBLEM "target is no class of the model's output; --new-head OUTPUT=N gives it others"

typedef struct ons_class_loss {
    ons_axis_view view; /* of the prediction; length: classes */
    int64_t ignore_index;
    bool wide; /* targets are int64, otherwise int32 */
    int parts; /* of the sum; scratch holds a double for each */
} ons_class_loss;

/* Checks the operands. Outputs: the loss and, where the operator can have it, one number of its type a target. */
ons_status *ons_class_loss_infer(ons_operands *o);
/* Of a gradient: output 0 is like the prediction. */
ons_status *ons_class_loss_gradient_infer(ons_operands *o);

/* The state is an ons_class_loss. */
ons_status *ons_class_loss_prepare(ons_prepare *p);
ons_class_loss ons_class_loss_of(const ons_operands *o);

/* For operators that say otherwise which axis the classes are along: checks the operands; the loss of operands that
 * have passed. */
ons_status *ons_class_loss_view(const ons_operands *o, int64_t class_axis, ons_axis_view *view);
ons_class_loss ons_class_loss_along(const ons_operands *o, int64_t class_axis, int64_t ignore_index);

/* What the work is divided into: rows where the classes are the last axis, otherwise blocks of columns. */
static inline int64_t ons_class_loss_items(const ons_class_loss *loss) {
    return loss->view.inner == 1 ? loss->view.outer : ons_column_blocks(&loss->view);
}

static inline int64_t ons_target_at(const ons_class_loss *loss, const void *targets, int64_t i) {
    return loss->wide ? ((const int64_t *)targets)[i] : ((const int32_t *)targets)[i];
}

/* The class, or -1 where the target does not count. */
static inline int64_t ons_class_at(const ons_class_loss *loss, const void *targets, int64_t i) {
    int64_t target = ons_target_at(loss, targets, i);
    return target == loss->ignore_index || target < 0 || target >= loss->view.length ? -1 : target;
}

/* What cross entropy hands back: dx = (e^(x - log Σ e^x) - [class is the target]) × scale, 0 where the target does not
 * count; of row `row`, or of a block of columns with log Σ e^x of each. dx may be x. */
void ons_class_slopes_row(const ons_class_loss *loss, int64_t row, const float *x, const void *targets, float log_sum,
                          float scale, float *dx);
void ons_class_slopes_block(const ons_class_loss *loss, const ons_column_block *at, const float *x, const void *targets,
                            const float *log_sums, float scale, float *dx);

/* Reports the first target that is no class, unless a fault has been reported already. `fault` NULL: to nobody. */
void ons_class_loss_check(const ons_class_loss *loss, const void *targets, ons_fault *fault);

#endif
