/* CrossEntropy on the CPU. */
#include "kernels/losses/class_loss.h"

/* What a part of the targets is given and fills. */
typedef struct cross_entropy_part {
    ons_class_slopes slopes;
    float *saved; /* NULL: not wanted */
} cross_entropy_part;

/* Of a target of `class` whose logit is `gap` below the largest, as -log p = gap + log_sum. `gaps`: Σ w[k] × such a gap
 * of every class; only where labels are smoothed. */
static double weigh(const ons_class_shares *s, int64_t class, float gap, float log_sum, float gaps) {
    double own = s->own * ons_class_weight(s->weights, class) * ((double)gap + log_sum);
    return s->spread > 0 ? own + (double)s->spread * gaps + (double)s->all * log_sum : own;
}

static double add_rows(const cross_entropy_part *p, int64_t begin, int64_t end) {
    const ons_class_slopes *s = &p->slopes;
    int64_t classes = s->loss->view.length;
    double sum = 0;
    for (int64_t i = begin; i < end; ++i) {
        int64_t class = ons_class_at(s->loss, s->targets, i);
        const float *row = s->x + i * classes;
        float max = 0, log_sum = 0, gaps = 0;
        if (class >= 0) {
            ons_row_max_and_log_sum(row, classes, &max, &log_sum);
            if (s->shares.spread > 0) gaps = ons_row_gaps(row, max, s->shares.weights, classes);
            sum += weigh(&s->shares, class, max - row[class], log_sum, gaps);
        }
        if (p->saved != NULL) p->saved[i] = max + log_sum;
        if (s->dx != NULL) ons_class_slopes_row(s, i, max + log_sum);
    }
    return sum;
}

static double add_columns(const cross_entropy_part *p, int64_t begin, int64_t end) {
    const ons_class_slopes *s = &p->slopes;
    int64_t classes = s->loss->view.length, inner = s->loss->view.inner;
    float max[ONS_COLUMNS], log_sum[ONS_COLUMNS], gaps[ONS_COLUMNS] = {0};
    double sum = 0;
    for (int64_t block = begin; block < end; ++block) {
        ons_column_block at = ons_column_block_at(&s->loss->view, block);
        const float *x = s->x + at.offset;
        ons_columns_max_and_log_sum(x, classes, inner, at.width, max, log_sum);
        if (s->shares.spread > 0) ons_columns_gaps(x, max, s->shares.weights, classes, inner, at.width, gaps);
        for (int c = 0; c < at.width; ++c) {
            int64_t class = ons_class_at(s->loss, s->targets, at.column + c);
            if (class >= 0) sum += weigh(&s->shares, class, max[c] - x[class * inner + c], log_sum[c], gaps[c]);
            log_sum[c] += max[c];
            if (p->saved != NULL) p->saved[at.column + c] = class >= 0 ? log_sum[c] : 0;
        }
        if (s->dx != NULL) ons_class_slopes_block(s, &at, log_sum);
    }
    return sum;
}

static void cross_entropy_run(const ons_launch *launch) {
    const ons_class_loss *loss = launch->state;
    const cross_entropy_part all = {
        .slopes = {.loss = loss,
                   .shares = ons_class_shares_of(loss, launch->inputs),
                   .x = launch->inputs[0],
                   .targets = launch->inputs[1],
                   .scale = (float)(1 / launch->step->counted_targets),
                   .dx = launch->outputs[2]},
        .saved = launch->outputs[1],
    };
    double *sums = launch->scratch;
    int parts = loss->parts;
    int64_t items = ons_class_loss_items(loss);
    ons_class_loss_check(loss, all.slopes.targets, launch->fault);
#pragma omp parallel for schedule(static) if (parts > 1)
    for (int part = 0; part < parts; ++part) {
        int64_t begin = ons_part_begin(items, parts, part), end = ons_part_begin(items, parts, part + 1);
        sums[part] = loss->view.inner == 1 ? add_rows(&all, begin, end) : add_columns(&all, begin, end);
    }
    *(float *)launch->outputs[0] = (float)(ons_sum_parts(sums, parts) / launch->step->counted_targets);
}

ONS_KERNELS(cpu, cross_entropy, ONS_KERNEL(ons_class_loss_prepare, cross_entropy_run))
