/* Cross entropy of logits: Σ (log Σ e^x - x[target]) ÷ counted targets. For backward, where it is wanted: output 1 is
 * log Σ e^x of every target, 0 where it does not count; output 2 the gradient of the logits for a cotangent of 1, which
 * takes their place as soon as a row is done, so that nobody reads them a second time. */
#include <math.h>

#include "kernels/common/class_loss.h"
#include "kernels/common/cuda_rows.h"

static void cross_entropy_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                    void *const *outputs) {
    ons_class_loss loss = ons_class_loss_of(o);
    loss.wide = true; /* words */
    ons_class_loss_check(&loss, inputs[1], step->fault);
    int64_t length = loss.view.length, inner = loss.view.inner;
    const double *x = inputs[0];
    double *saved = outputs[1], *slopes = outputs[2], sum = 0;
    for (int64_t i = 0; i < loss.view.outer * inner; ++i) {
        int64_t first = i / inner * length * inner + i % inner, class = ons_class_at(&loss, inputs[1], i);
        double max = -INFINITY, total = 0;
        for (int64_t k = 0; k < length; ++k) max = fmax(max, x[first + k * inner]);
        for (int64_t k = 0; k < length; ++k) total += exp(x[first + k * inner] - max);
        if (class >= 0) sum += max - x[first + class * inner] + log(total);
        if (saved != NULL) saved[i] = class >= 0 ? max + log(total) : 0;
        for (int64_t k = 0; slopes != NULL && k < length; ++k)
            slopes[first + k * inner] =
                class < 0 ? 0 : (exp(x[first + k * inner] - max) / total - (k == class)) / step->counted_targets;
    }
    *(double *)outputs[0] = sum / step->counted_targets;
}

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

static ons_status *cross_entropy_infer(ons_operands *o) {
    ONS_TRY(ons_class_loss_infer(o));
    if (o->output_count > 2) o->outputs[2] = o->inputs[0];
    return NULL;
}

/* Maximum, subtraction, exponential and sum: four operations an element; three more for each of the gradient. */
static ons_cost cross_entropy_cost(const ons_operands *o) {
    double each = ons_has_output(o, 2) ? 7 : 4;
    return (ons_cost){each * (double)ons_elements(&o->inputs[0]), ons_operand_bytes(o)};
}

/* Where the loss is what is differentiated, its gradient is made with it. Not in float16: without the scale of the loss
 * most of it would be rounded to zero. */
static bool makes_own_gradient(const ons_gradient *g) {
    const ons_graph *graph = g->builder->graph;
    const ons_tensor *cotangent = ons_graph_constant(graph, g->cotangents[0]);
    return cotangent != NULL && cotangent->type.dtype == ONS_FLOAT32 && *(const float *)cotangent->data == 1 &&
           g->operands->inputs[0].dtype != ONS_FLOAT16;
}

static ons_status *cross_entropy_gradient(ons_gradient *g) {
    ONS_TRY(ons_refuse_cotangents(g, 1));
    if (makes_own_gradient(g)) {
        g->gradients[0] = ons_gradient_output(g, 2);
        return NULL;
    }
    ons_build_node_like(
        g->builder, &ons_op_cross_entropy_gradient,
        ONS_IN(ons_gradient_input(g, 0), ons_gradient_input(g, 1), ons_gradient_output(g, 1), g->cotangents[0]),
        g->operands->attributes, 1, NULL, &g->gradients[0]);
    return NULL;
}

static const ons_case cross_entropy_cases[] = {
    {.name = "rows",
     .inputs = {ONS_F32(5, 7), ONS_RANDOM(ONS_INT64, 0, 6, 5)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 140},
    {.name = "int32", .inputs = {ONS_F32(5, 7), ONS_RANDOM(ONS_INT32, 0, 6, 5)}, .tolerance = 1e-5, .flops = 140},
    {.name = "double",
     .inputs = {ONS_RANDOM(ONS_FLOAT64, -9, 9, 5, 7), ONS_RANDOM(ONS_INT64, 0, 6, 5)},
     .outputs = 2,
     .tolerance = 1e-14,
     .flops = 140},
    {.name = "half",
     .inputs = {ONS_RANDOM(ONS_BFLOAT16, -9, 9, 5, 67), ONS_RANDOM(ONS_INT64, 0, 66, 5)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 1340,
     .no_gradient = true},
    {.name = "half_pixels",
     .inputs = {ONS_RANDOM(ONS_FLOAT16, -9, 9, 2, 5, 33), ONS_RANDOM(ONS_INT64, 0, 4, 2, 33)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 1320,
     .no_gradient = true},
    {.name = "longer_than_a_warp",
     .inputs = {ONS_F32_IN(-9, 9, 3, 1931), ONS_RANDOM(ONS_INT64, 0, 1930, 3)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 23172,
     .no_gradient = true},
    {.name = "with_its_gradient",
     .inputs = {ONS_F32(5, 7), ONS_RANDOM(ONS_INT64, 0, 6, 5)},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 245},
    {.name = "half_with_its_gradient",
     .inputs = {ONS_RANDOM(ONS_BFLOAT16, -9, 9, 6, 1931),
                {.dtype = ONS_INT64, .shape = ONS_DIMS(6), .value_count = 3, .values = {-100, 4, 1930}}},
     .outputs = 3,
     .tolerance = 8e-3,
     .flops = 81102,
     .no_gradient = true},
    {.name = "pixels_with_their_gradient",
     .inputs = {ONS_F32(2, 5, 3, 29), ONS_RANDOM(ONS_INT64, 0, 4, 2, 3, 29)},
     .settings = {ONS_SET_INT("ignore_index", 2)},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 6090},
    {.name = "ignored",
     .inputs = {ONS_F32_IN(-9, 9, 6, 33),
                {.dtype = ONS_INT64, .shape = ONS_DIMS(6), .value_count = 3, .values = {-100, 4, 32}}},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 792},
    {.name = "ignored_class",
     .inputs = {ONS_F32(6, 3), ONS_RANDOM(ONS_INT64, 0, 2, 6)},
     .settings = {ONS_SET_INT("ignore_index", 0)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 72},
    {.name = "pixels",
     .inputs = {ONS_F32(2, 5, 3, 29), ONS_RANDOM(ONS_INT64, 0, 4, 2, 3, 29)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 3480},
    {.name = "pixels_ignored",
     .inputs = {ONS_F32_IN(80, 100, 2, 3, 5), ONS_RANDOM(ONS_INT64, 0, 2, 2, 5)},
     .settings = {ONS_SET_INT("ignore_index", 1)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 120},
    {.name = "axis_0",
     .inputs = {ONS_F32(4, 6), ONS_RANDOM(ONS_INT64, 0, 3, 6)},
     .settings = {ONS_SET_INT("axis", 0)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 96},
    {.name = "tokens",
     .inputs = {ONS_F32(2, 3, 65), ONS_RANDOM(ONS_INT64, 0, 64, 2, 3)},
     .settings = {ONS_SET_INT("axis", -1)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 1560},
    {.name = "one_sample",
     .inputs = {ONS_F32(7), ONS_RANDOM(ONS_INT64, 0, 6)},
     .settings = {ONS_SET_INT("axis", 0)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 28},
    {.name = "target_shape", .inputs = {ONS_F32(5, 7), ONS_RANDOM(ONS_INT64, 0, 6, 4)}, .error = "target"},
    {.name = "threads",
     .inputs = {ONS_F32(500, 65), ONS_RANDOM(ONS_INT64, 0, 64, 500)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 130000,
     .no_gradient = true},
    {.name = "vocabulary",
     .inputs = {ONS_F32_IN(-4, 4, 512, 10000), ONS_RANDOM(ONS_INT64, 0, 9999, 512)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 20480000,
     .benchmark = true},
    {.name = "outside_in_data",
     .inputs = {ONS_F32(3, 4), {.dtype = ONS_INT64, .shape = ONS_DIMS(3), .value_count = 3, .values = {0, 4, 1}}},
     .flops = -1,
     .fault = "class"},
    {.name = "outside_at_many_places",
     .inputs = {ONS_F32(700, 4), ONS_RANDOM(ONS_INT64, 0, 9, 700)},
     .flops = -1,
     .fault = "class"},
    {.name = "outside_in_data_double",
     .inputs = {ONS_RANDOM(ONS_FLOAT64, -1, 1, 3, 4),
                {.dtype = ONS_INT64, .shape = ONS_DIMS(3), .value_count = 3, .values = {0, 4, 1}}},
     .flops = -1,
     .fault = "class"},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(cross_entropy, "CrossEntropy", ONS_INTERNAL, ONS_ARITY(2, 2, 1, 3), ONS_CLASS_LOSS_ATTRIBUTES,
                    ONS_INFER(cross_entropy_infer), ONS_COST(cross_entropy_cost),
                    ONS_GRADIENT_RULE(cross_entropy_gradient, ONS_INPUT_BIT(0)),
                    ONS_SAVES(ONS_INPUT_BIT(0) | ONS_INPUT_BIT(1), ONS_INPUT_BIT(1) | ONS_INPUT_BIT(2)),
                    ONS_ROLES(ONS_ROLE_CROSS_ENTROPY, ONS_TRAIT_ANY_PRECISION, 0), ONS_ALIASES({ONS_ALIAS_MAY, 2, 0}),
                    ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(cross_entropy_reference),
                    ONS_CPU_KERNEL(ons_class_loss_prepare, cross_entropy_run),
                    ONS_CUDA_KERNEL(ons_cuda_cross_entropy_prepare, ons_cuda_cross_entropy), cross_entropy_cases);
