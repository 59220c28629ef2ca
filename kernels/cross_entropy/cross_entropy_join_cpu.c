/* CrossEntropyJoin on the CPU. */
#include "kernels/losses/class_loss.h"

/* What a part of the targets is given and fills. */
typedef struct join_part {
    const ons_class_loss *loss;
    ons_class_shares shares;
    const float *log_sums;
    const void *targets;
    float *saved; /* NULL: not wanted */
} join_part;

/* Of target i, whose log sums' largest is `max`. */
static double add_target(const join_part *p, int64_t i, float max, float log_sum) {
    int64_t class = ons_class_at(p->loss, p->targets, i);
    if (p->saved != NULL) p->saved[i] = class >= 0 ? max + log_sum : 0;
    if (class < 0) return 0;
    return ((double)(p->shares.own * ons_class_weight(p->shares.weights, class)) + p->shares.all) *
           ((double)max + log_sum);
}

static double add_rows(const join_part *p, int64_t begin, int64_t end) {
    int64_t length = p->loss->view.length;
    double sum = 0;
    for (int64_t i = begin; i < end; ++i) {
        float max, log_sum;
        ons_row_max_and_log_sum(p->log_sums + i * length, length, &max, &log_sum);
        sum += add_target(p, i, max, log_sum);
    }
    return sum;
}

static double add_columns(const join_part *p, int64_t begin, int64_t end) {
    const ons_axis_view *view = &p->loss->view;
    float max[ONS_COLUMNS], log_sum[ONS_COLUMNS];
    double sum = 0;
    for (int64_t block = begin; block < end; ++block) {
        ons_column_block at = ons_column_block_at(view, block);
        ons_columns_max_and_log_sum(p->log_sums + at.offset, view->length, view->inner, at.width, max, log_sum);
        for (int c = 0; c < at.width; ++c) sum += add_target(p, at.column + c, max[c], log_sum[c]);
    }
    return sum;
}

static void cross_entropy_join_run(const ons_launch *launch) {
    const ons_class_loss *loss = launch->state;
    const join_part all = {
        .loss = loss,
        .shares = ons_class_shares_of(loss, launch->inputs),
        .log_sums = launch->inputs[0],
        .targets = launch->inputs[1],
        .saved = launch->outputs[1],
    };
    double *sums = launch->scratch;
    int parts = loss->parts;
    int64_t items = ons_class_loss_items(loss);
#pragma omp parallel for schedule(static) if (parts > 1)
    for (int part = 0; part < parts; ++part) {
        int64_t begin = ons_part_begin(items, parts, part), end = ons_part_begin(items, parts, part + 1);
        sums[part] = loss->view.inner == 1 ? add_rows(&all, begin, end) : add_columns(&all, begin, end);
    }
    *(float *)launch->outputs[0] = (float)(ons_sum_parts(sums, parts) / launch->step->counted_targets);
}

ONS_KERNELS(cpu, cross_entropy_join, ONS_KERNEL(ons_class_loss_prepare, cross_entropy_join_run))
