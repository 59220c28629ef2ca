/* What the CPU runs of group_norm.h. */
#include "kernels/normalization/group_norm.h"

#include <math.h>

#include "kernels/common/rows/rows.h"

/* Samples one after the other, each by all threads; or, where there are many, cut into parts that run side by side. */
typedef struct group_norm_state {
    ons_group_norm norm;
    double epsilon;
    ons_batch_plan plan; /* of one sample */
    int parts;
    int64_t scratch;  /* bytes of each part */
    int64_t elements; /* of a sample */
    int64_t sums;     /* of the gradient: where in the scratch Σ dy n and Σ dy of each sample's channels lie */
} group_norm_state;

static ons_status *prepare(ons_prepare *p, const ons_type *x, const ons_group_norm *norm, group_norm_state **result) {
    ONS_TRY(ons_require_float32(p->operands));
    group_norm_state *s;
    ONS_NEW_STATE(s, p);
    ons_type sample = *x;
    sample.shape.dims[0] = 1;
    s->norm = *norm;
    s->elements = ons_elements(&sample);
    int64_t batch = norm->size.batch;
    bool side_by_side = batch >= p->threads && batch * s->elements > ONS_PARALLEL_GRAIN;
    s->parts = side_by_side ? p->threads : 1;
    ons_prepare one = {.operands = p->operands,
                       .threads = side_by_side ? 1 : p->threads,
                       .scratch_limit = INT64_MAX,
                       .arena = p->arena};
    ONS_TRY(ons_batch_plan_make(&one, &sample, &s->plan));
    s->scratch = one.scratch_bytes;
    s->sums = s->parts * s->scratch;
    p->scratch_bytes = s->sums;
    *result = s;
    return NULL;
}

ons_status *ons_group_norm_prepare(ons_prepare *p, const ons_group_norm *norm, double epsilon) {
    group_norm_state *s;
    ONS_TRY(prepare(p, &p->operands->inputs[0], norm, &s));
    s->epsilon = epsilon;
    return ons_require_scratch(p, p->scratch_bytes);
}

ons_status *ons_group_norm_prepare_gradient(ons_prepare *p, const ons_group_norm *norm) {
    group_norm_state *s;
    ONS_TRY(prepare(p, &p->operands->inputs[1], norm, &s));
    p->scratch_bytes += 2 * norm->size.batch * norm->size.channels * (int64_t)sizeof(double);
    return ons_require_scratch(p, p->scratch_bytes);
}

static int64_t scale_at(const ons_group_norm *norm, int64_t channel) {
    return norm->scale_per_group ? channel / norm->width : channel;
}

/* From the sums around the shifts of a group's channels: its mean and variance, in double. */
static void find_moments(const group_norm_state *s, const ons_batch_scratch *b, int64_t group, double *mean,
                         double *variance) {
    double positions = (double)s->norm.size.positions, count = positions * (double)s->norm.width;
    int64_t first = group * s->norm.width, end = first + s->norm.width;
    *mean = *variance = 0;
    for (int64_t c = first; c < end; ++c) *mean += (b->sums[0][c] + positions * b->shift[c]) / count;
    for (int64_t c = first; c < end; ++c) {
        double offset = b->shift[c] - *mean;
        *variance += (b->sums[1][c] + 2 * offset * b->sums[0][c] + positions * offset * offset) / count;
    }
    *variance = fmax(*variance, 0);
}

static void normalize_sample(const group_norm_state *s, const ons_batch_scratch *b, const float *x, const float *scale,
                             const float *bias, float *y, float *means, float *inverses) {
    const ons_group_norm *norm = &s->norm;
    int64_t step = s->plan.size.last ? 1 : norm->size.positions;
    /* A value of the channel's own, subtracted from all others, keeps sums of squares small where the mean is large. */
    for (int64_t c = 0; c < norm->size.channels; ++c) b->shift[c] = x[c * step];
    ons_batch_repeat(&s->plan, b->shift);
    ons_batch_sum_squares(&s->plan, b, x);
    for (int64_t group = 0; group < norm->groups; ++group) {
        double mean, variance;
        find_moments(s, b, group, &mean, &variance);
        double inverse = 1 / sqrt(variance + s->epsilon);
        for (int64_t c = group * norm->width, end = c + norm->width; c < end; ++c) {
            b->shift[c] = (float)mean;
            b->scale[c] = (float)(scale[scale_at(norm, c)] * inverse);
            b->rest[c] = bias[scale_at(norm, c)];
        }
        if (means != NULL) means[group] = (float)mean;
        if (inverses != NULL) inverses[group] = (float)inverse;
    }
    ons_batch_repeat(&s->plan, b->shift);
    ons_batch_repeat(&s->plan, b->scale);
    ons_batch_repeat(&s->plan, b->rest);
    ons_batch_normalize(&s->plan, b, x, NULL, (ons_batch_activation){.kind = ONS_BATCH_PLAIN}, y);
}

void ons_group_norm_run(const ons_launch *launch) {
    const group_norm_state *s = launch->state;
    if (s->elements == 0) return;
    float *means = launch->outputs[1], *inverses = launch->outputs[2];
#pragma omp parallel for schedule(static) if (s->parts > 1)
    for (int part = 0; part < s->parts; ++part) {
        ons_batch_scratch b = ons_batch_scratch_of(&s->plan, (char *)launch->scratch + part * s->scratch);
        int64_t end = ons_part_begin(s->norm.size.batch, s->parts, part + 1);
        for (int64_t n = ons_part_begin(s->norm.size.batch, s->parts, part); n < end; ++n)
            normalize_sample(s, &b, (const float *)launch->inputs[0] + n * s->elements, launch->inputs[1],
                             launch->inputs[2], (float *)launch->outputs[0] + n * s->elements,
                             means != NULL ? means + n * s->norm.groups : NULL,
                             inverses != NULL ? inverses + n * s->norm.groups : NULL);
    }
}

/* What a sample's gradient reads and writes; dx may be NULL. */
typedef struct sample_work {
    const float *dy, *x, *scale, *means, *inverses;
    float *dx;
    double *products, *cotangents; /* by channel: Σ dy n, Σ dy */
} sample_work;

/* With n = (x - mean) r and a = dy scale: dx = r (a - mean(a) - n mean(a n)), the means over a group. */
static void differentiate_sample(const group_norm_state *s, const ons_batch_scratch *b, const sample_work *w) {
    const ons_group_norm *norm = &s->norm;
    double count = (double)norm->width * (double)norm->size.positions;
    for (int64_t c = 0; c < norm->size.channels; ++c) b->shift[c] = w->means[c / norm->width];
    ons_batch_repeat(&s->plan, b->shift);
    ons_batch_sum_products(&s->plan, b, w->dy, w->x, (ons_batch_activation){.kind = ONS_BATCH_PLAIN});
    for (int64_t group = 0; group < norm->groups; ++group) {
        double r = w->inverses[group], first = 0, second = 0;
        int64_t begin = group * norm->width, end = begin + norm->width;
        for (int64_t c = begin; c < end; ++c) {
            double scale = w->scale[scale_at(norm, c)];
            w->cotangents[c] = b->sums[0][c];
            w->products[c] = b->sums[1][c] * r;
            first += scale * w->cotangents[c] / count;
            second += scale * w->products[c] / count;
        }
        for (int64_t c = begin; c < end; ++c) {
            b->scale[c] = (float)(r * w->scale[scale_at(norm, c)]);
            b->factor[c] = (float)(-r * r * second);
            b->rest[c] = (float)(-r * first);
        }
    }
    if (w->dx == NULL) return;
    ons_batch_repeat(&s->plan, b->scale);
    ons_batch_repeat(&s->plan, b->factor);
    ons_batch_repeat(&s->plan, b->rest);
    ons_batch_differentiate(&s->plan, b, w->dy, w->x, (ons_batch_activation){.kind = ONS_BATCH_PLAIN}, w->dx);
}

/* Sums over samples, and over the channels of a group where they share one number. */
static void add_samples(const ons_group_norm *norm, const double *sums, float *result) {
    int64_t channels = norm->size.channels, share = norm->scale_per_group ? norm->width : 1;
    if (result == NULL) return;
    for (int64_t i = 0; i < channels / share; ++i) {
        double total = 0;
        for (int64_t n = 0; n < norm->size.batch; ++n)
            for (int64_t c = i * share; c < (i + 1) * share; ++c) total += sums[n * channels + c];
        result[i] = (float)total;
    }
}

void ons_group_norm_run_gradient(const ons_launch *launch) {
    const group_norm_state *s = launch->state;
    const ons_group_norm *norm = &s->norm;
    int64_t batch = norm->size.batch, channels = norm->size.channels;
    double *products = (double *)(void *)((char *)launch->scratch + s->sums), *cotangents = products + batch * channels;
    for (int64_t i = 0; s->elements == 0 && i < batch * channels; ++i) products[i] = cotangents[i] = 0;
#pragma omp parallel for schedule(static) if (s->parts > 1)
    for (int part = 0; part < s->parts; ++part) {
        ons_batch_scratch b = ons_batch_scratch_of(&s->plan, (char *)launch->scratch + part * s->scratch);
        int64_t end = ons_part_begin(batch, s->parts, part + 1);
        for (int64_t n = ons_part_begin(batch, s->parts, part); s->elements > 0 && n < end; ++n) {
            int64_t at = n * s->elements;
            float *dx = launch->outputs[0];
            sample_work work = {.dy = (const float *)launch->inputs[0] + at,
                                .x = (const float *)launch->inputs[1] + at,
                                .scale = launch->inputs[2],
                                .means = (const float *)launch->inputs[3] + n * norm->groups,
                                .inverses = (const float *)launch->inputs[4] + n * norm->groups,
                                .dx = dx != NULL ? dx + at : NULL,
                                .products = products + n * channels,
                                .cotangents = cotangents + n * channels};
            differentiate_sample(s, &b, &work);
        }
    }
    add_samples(norm, products, launch->outputs[1]);
    add_samples(norm, cotangents, launch->outputs[2]);
}
