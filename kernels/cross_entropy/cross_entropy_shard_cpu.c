/* CrossEntropyShard on the CPU. */
#include <math.h>

#include "kernels/losses/class_loss.h"

/* What a part of the targets is given and fills. */
typedef struct shard_part {
    const ons_class_loss *loss;
    ons_class_shares shares;
    const float *weights; /* of the classes here; NULL: 1 each */
    const float *x;
    const void *targets;
    float *log_sums; /* NULL: not wanted */
} shard_part;

/* log Σ e^x from the largest x and log Σ e^(x - max). Where all are -inf the latter is none; a NaN stays one. */
static float log_sum_of(const float *x, int64_t length, int64_t stride, float max, float log_sum) {
    float sum = max + log_sum;
    if (max != -INFINITY) return sum;
    for (int64_t k = 0; k < length; ++k) max += x[k * stride];
    return max;
}

/* Of a target of `class` whose logits begin at x. `gaps`: -Σ w[k] x[k] of the classes here; only where labels are
 * smoothed. */
static double weigh(const shard_part *p, int64_t class, const float *x, int64_t stride, float gaps) {
    int64_t place = ons_class_place(p->loss, class);
    double sum = p->shares.spread > 0 ? (double)p->shares.spread * gaps : 0;
    if (place == p->loss->view.length) return sum;
    return sum - p->shares.own * ons_class_weight(p->shares.weights, class) * (double)x[place * stride];
}

static double add_rows(const shard_part *p, int64_t begin, int64_t end) {
    int64_t length = p->loss->view.length;
    double sum = 0;
    for (int64_t i = begin; i < end; ++i) {
        int64_t class = ons_class_at(p->loss, p->targets, i);
        const float *row = p->x + i * length;
        float max, log_sum = 0, gaps = 0;
        if (class >= 0) {
            ons_row_max_and_log_sum(row, length, &max, &log_sum);
            log_sum = log_sum_of(row, length, 1, max, log_sum);
            if (p->shares.spread > 0) gaps = ons_row_gaps(row, 0, p->weights, length);
            sum += weigh(p, class, row, 1, gaps);
        }
        if (p->log_sums != NULL) p->log_sums[i] = log_sum;
    }
    return sum;
}

static double add_columns(const shard_part *p, int64_t begin, int64_t end) {
    static const float zeros[ONS_COLUMNS];
    int64_t length = p->loss->view.length, inner = p->loss->view.inner;
    float max[ONS_COLUMNS], log_sum[ONS_COLUMNS], gaps[ONS_COLUMNS] = {0};
    double sum = 0;
    for (int64_t block = begin; block < end; ++block) {
        ons_column_block at = ons_column_block_at(&p->loss->view, block);
        const float *x = p->x + at.offset;
        ons_columns_max_and_log_sum(x, length, inner, at.width, max, log_sum);
        if (p->shares.spread > 0) ons_columns_gaps(x, zeros, p->weights, length, inner, at.width, gaps);
        for (int c = 0; c < at.width; ++c) {
            int64_t class = ons_class_at(p->loss, p->targets, at.column + c);
            if (class >= 0) sum += weigh(p, class, x + c, inner, gaps[c]);
            if (p->log_sums != NULL)
                p->log_sums[at.column + c] = class >= 0 ? log_sum_of(x + c, length, inner, max[c], log_sum[c]) : 0;
        }
    }
    return sum;
}

static void cross_entropy_shard_run(const ons_launch *launch) {
    const ons_class_loss *loss = launch->state;
    const ons_class_shares shares = ons_class_shares_of(loss, launch->inputs);
    const shard_part all = {
        .loss = loss,
        .shares = shares,
        .weights = ons_class_weights_from(shares.weights, loss->first),
        .x = launch->inputs[0],
        .targets = launch->inputs[1],
        .log_sums = launch->outputs[1],
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

ONS_KERNELS(cpu, cross_entropy_shard, ONS_KERNEL(ons_class_loss_prepare, cross_entropy_shard_run))
