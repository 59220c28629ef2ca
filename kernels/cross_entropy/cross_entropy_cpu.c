/* CrossEntropy on the CPU. */
#include "kernels/common/class_loss.h"

/* What a part of the targets is given and fills. */
typedef struct cross_entropy_part {
    const ons_class_loss *loss;
    const float *x;
    const void *targets;
    float *saved, *slopes; /* NULL: not wanted */
    float scale;           /* of the slopes */
} cross_entropy_part;

static double add_rows(const cross_entropy_part *p, int64_t begin, int64_t end) {
    int64_t classes = p->loss->view.length;
    double sum = 0;
    for (int64_t i = begin; i < end; ++i) {
        int64_t class = ons_class_at(p->loss, p->targets, i);
        float max = 0, log_sum = 0;
        if (class >= 0) {
            ons_row_max_and_log_sum(p->x + i * classes, classes, &max, &log_sum);
            sum += (double)(max - p->x[i * classes + class]) + log_sum;
        }
        if (p->saved != NULL) p->saved[i] = max + log_sum;
        if (p->slopes != NULL) ons_class_slopes_row(p->loss, i, p->x, p->targets, max + log_sum, p->scale, p->slopes);
    }
    return sum;
}

static double add_columns(const cross_entropy_part *p, int64_t begin, int64_t end) {
    int64_t classes = p->loss->view.length, inner = p->loss->view.inner;
    float max[ONS_COLUMNS], log_sum[ONS_COLUMNS];
    double sum = 0;
    for (int64_t block = begin; block < end; ++block) {
        ons_column_block at = ons_column_block_at(&p->loss->view, block);
        ons_columns_max_and_log_sum(p->x + at.offset, classes, inner, at.width, max, log_sum);
        for (int c = 0; c < at.width; ++c) {
            int64_t class = ons_class_at(p->loss, p->targets, at.column + c);
            if (class >= 0) sum += (double)(max[c] - p->x[at.offset + class * inner + c]) + log_sum[c];
            log_sum[c] += max[c];
            if (p->saved != NULL) p->saved[at.column + c] = class >= 0 ? log_sum[c] : 0;
        }
        if (p->slopes != NULL) ons_class_slopes_block(p->loss, &at, p->x, p->targets, log_sum, p->scale, p->slopes);
    }
    return sum;
}

static void cross_entropy_run(const ons_launch *launch) {
    const ons_class_loss *loss = launch->state;
    const cross_entropy_part all = {
        .loss = loss,
        .x = launch->inputs[0],
        .targets = launch->inputs[1],
        .saved = launch->outputs[1],
        .slopes = launch->outputs[2],
        .scale = (float)(1 / launch->step->counted_targets),
    };
    double *sums = launch->scratch;
    int parts = loss->parts;
    int64_t items = ons_class_loss_items(loss);
    ons_class_loss_check(loss, all.targets, launch->fault);
#pragma omp parallel for schedule(static) if (parts > 1)
    for (int part = 0; part < parts; ++part) {
        int64_t begin = ons_part_begin(items, parts, part), end = ons_part_begin(items, parts, part + 1);
        sums[part] = loss->view.inner == 1 ? add_rows(&all, begin, end) : add_columns(&all, begin, end);
    }
    *(float *)launch->outputs[0] = (float)(ons_sum_parts(sums, parts) / launch->step->counted_targets);
}

ONS_KERNELS(cpu, cross_entropy, ONS_KERNEL(ons_class_loss_prepare, cross_entropy_run))
