/* What the CPU runs of pointwise_loss.h. */
#include "kernels/losses/pointwise_loss.h"

#include <omp.h>

ons_status *ons_pointwise_loss_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ONS_TRY(ons_require_float32(o));
    ons_pointwise_loss *loss;
    ONS_NEW_STATE(loss, p);
    loss->elements = ons_elements(&o->inputs[0]);
    loss->parts = ons_parts(loss->elements, 1);
    loss->parameter = (float)ons_pointwise_loss_parameter(o);
    p->scratch_bytes = ONS_PARTS_MAX * (int64_t)sizeof(double);
    return NULL;
}

void ons_pointwise_loss_run(const ons_launch *launch, ons_pointwise_part *sum_part) {
    const ons_pointwise_loss *loss = launch->state;
    const float *prediction = launch->inputs[0], *target = launch->inputs[1];
    double *sums = launch->scratch;
    int parts = loss->parts;
#pragma omp parallel for schedule(static) if (parts > 1)
    for (int part = 0; part < parts; ++part) {
        int64_t begin = ons_part_begin(loss->elements, parts, part);
        int64_t end = ons_part_begin(loss->elements, parts, part + 1);
        sums[part] = sum_part(prediction + begin, target + begin, loss->parameter, end - begin);
    }
    *(float *)launch->outputs[0] = (float)(ons_sum_parts(sums, parts) / launch->step->counted_targets);
}

void ons_pointwise_loss_gradient_run(const ons_launch *launch, ons_pointwise_part_slopes *slopes) {
    const ons_pointwise_loss *loss = launch->state;
    const float *prediction = launch->inputs[0], *target = launch->inputs[1];
    float *dx = launch->outputs[0];
    float scale = (float)(*(const float *)launch->inputs[2] / launch->step->counted_targets);
    int64_t n = loss->elements;
#pragma omp parallel if (n > ONS_PARALLEL_GRAIN)
    {
        int64_t begin = ons_part_begin(n, omp_get_num_threads(), omp_get_thread_num());
        int64_t end = ons_part_begin(n, omp_get_num_threads(), omp_get_thread_num() + 1);
        slopes(prediction + begin, target + begin, dx + begin, loss->parameter, scale, end - begin);
    }
}
