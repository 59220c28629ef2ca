/* The driver of differentiation: gradients have their operands' shapes, whatever was broadcast, and are gathered by
 * use. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/evaluate.h"
#include "graph/passes/autograd.h"
#include "graph/passes/loss.h"
#include "tests/rooms/graph/fixture.h"

enum { PARAMETERS_MAX = 4 };

/* Gradients of `output` times a cotangent of ones, two, three, …, by evaluation in double. */
typedef struct gradients {
    ons_parameter_gradient of[PARAMETERS_MAX];
    void **words;
    size_t value_count;
} gradients;

static gradients differentiate(scene *s, ons_value_id output, const ons_value_id *parameters, uint32_t count) {
    gradients g = {.words = NULL};
    ons_type type = ons_graph_value(s->graph, output)->type;
    ons_value_id cotangent;
    must(ons_graph_add_value(s->graph, "cotangent", ONS_INPUT, &type, &cotangent));
    must(ons_differentiate(s->graph, s->registry, output, cotangent, parameters, count, NULL, g.of));
    must(ons_graph_verify(s->graph));
    g.value_count = s->graph->values.count;
    g.words = calloc(g.value_count, sizeof *g.words);
    for (ons_value_id id = 0; id < g.value_count; ++id) {
        const ons_value *value = ons_graph_value(s->graph, id);
        if (value->producer != ONS_NONE || value->data != ONS_NO_DATA) continue;
        int64_t elements = ons_shape_elements(&value->type.shape);
        double *numbers = g.words[id] = calloc((size_t)elements + 1, sizeof *numbers);
        for (int64_t i = 0; i < elements; ++i)
            numbers[i] = id == cotangent ? (double)(i + 1) : 0.5 + 0.25 * (double)i + id;
    }
    must(ons_evaluate(s->graph, &(ons_step){.step = 1, .counted_targets = 1, .sample_share = 1}, g.words));
    return g;
}

static void free_gradients(gradients *g) {
    for (size_t i = 0; i < g->value_count; ++i) free(g->words[i]);
    free(g->words);
}

static const double *single_use(const scene *s, const gradients *g, int index, ons_value_id parameter) {
    cr_assert_eq(g->of[index].parameter, parameter);
    cr_assert_eq(g->of[index].use_count, 1);
    const ons_value *gradient = ons_graph_value(s->graph, g->of[index].uses[0]),
                    *value = ons_graph_value(s->graph, parameter);
    cr_assert(ons_type_equal(&gradient->type, &value->type), "a gradient has another shape than its weight");
    return g->words[g->of[index].uses[0]];
}

/* The position in the operand for a position in the broadcast result. */
static int64_t operand_index(int64_t index, const ons_shape *result, const ons_shape *operand) {
    int64_t at = 0, stride = 1;
    for (uint32_t i = 0; i < result->rank; ++i) {
        int64_t coordinate = index % result->dims[result->rank - 1 - i];
        index /= result->dims[result->rank - 1 - i];
        if (i >= operand->rank) continue;
        int64_t size = operand->dims[operand->rank - 1 - i];
        at += (size == 1 ? 0 : coordinate) * stride;
        stride *= size;
    }
    return at;
}

/* a · b under broadcasting: the gradient of a is the cotangent times b, summed over what was repeated. */
static void check_product(ons_shape left, ons_shape right) {
    scene *s = scene_open();
    ons_value_id parameters[2] = {add_parameter(s, "a", left), add_parameter(s, "b", right)};
    ons_value_id product = apply2(s, "Mul", parameters[0], parameters[1]);
    ons_shape result = ons_graph_value(s->graph, product)->type.shape;
    gradients g = differentiate(s, product, parameters, 2);
    const ons_shape *shapes[2] = {&left, &right};
    for (int k = 0; k < 2; ++k) {
        const double *is = single_use(s, &g, k, parameters[k]), *other = g.words[parameters[1 - k]];
        double *should = calloc((size_t)ons_shape_elements(shapes[k]) + 1, sizeof *should);
        for (int64_t i = 0; i < ons_shape_elements(&result); ++i)
            should[operand_index(i, &result, shapes[k])] +=
                (double)(i + 1) * other[operand_index(i, &result, shapes[1 - k])];
        for (int64_t i = 0; i < ons_shape_elements(shapes[k]); ++i)
            cr_assert(fabs(is[i] - should[i]) <= 1e-9 * fabs(should[i]), "operand %d, element %d: %g, not %g", k,
                      (int)i, is[i], should[i]);
        free(should);
    }
    free_gradients(&g);
    scene_close(s);
}

Test(autograd, broadcast_gradients_are_reduced) {
    const ons_shape scalar = {.rank = 0};
    check_product(SHAPE(2, 3), SHAPE(3));
    check_product(SHAPE(2, 3), SHAPE(2, 1));
    check_product(SHAPE(2, 1), SHAPE(1, 3));
    check_product(SHAPE(2, 3, 4), SHAPE(1, 3, 1));
    check_product(SHAPE(2, 3, 4), SHAPE(1));
    check_product(SHAPE(3, 1), SHAPE(2, 1, 4));
    check_product(SHAPE(2, 3), scalar);
    check_product(scalar, SHAPE(2, 3));
    check_product(SHAPE(1, 1), SHAPE(1));
    check_product(SHAPE(2, 3), SHAPE(2, 3));
}

/* w is used twice: one gradient for each use, in the order of use, and together the derivative of x·w + exp(w). */
Test(autograd, one_gradient_for_each_use) {
    scene *s = scene_open();
    ons_value_id x = add_input(s, "x", SHAPE(3)), w = add_parameter(s, "w", SHAPE(3));
    ons_value_id product = apply2(s, "Mul", x, w), power = apply1(s, "Exp", w);
    gradients g = differentiate(s, apply2(s, "Add", product, power), &w, 1);
    cr_assert_eq(g.of[0].use_count, 2);
    const double *first = g.words[g.of[0].uses[0]], *second = g.words[g.of[0].uses[1]];
    for (int i = 0; i < 3; ++i) {
        cr_assert_float_eq(first[i], (i + 1) * ((double *)g.words[x])[i], 1e-9);
        cr_assert_float_eq(second[i], (i + 1) * exp(((double *)g.words[w])[i]), 1e-9);
    }
    free_gradients(&g);
    scene_close(s);
}

static ons_value_id slice(scene *s, ons_value_id of, int64_t start, int64_t end, int64_t step) {
    const int64_t axis = 0;
    return ons_build(&s->builder, find_operator(s, "Slice"),
                     ONS_IN(of, ons_build_integers(&s->builder, &start, 1), ons_build_integers(&s->builder, &end, 1),
                            ons_build_integers(&s->builder, &axis, 1), ons_build_integers(&s->builder, &step, 1)),
                     ONS_DEFAULTS);
}

/* Slices of one value, some of which share elements: each adds to what the others hand back, with no tensor of zeros
 * and no sum of its own. */
Test(autograd, slices_add_to_each_other) {
    scene *s = scene_open();
    ons_value_id w = add_parameter(s, "w", SHAPE(6)), x = apply1(s, "Exp", w);
    const ons_value_id parts[] = {slice(s, x, 0, 2, 1), slice(s, x, 1, 5, 1), slice(s, x, 4, 0, -2)};
    ons_value_id joined =
        ons_build(&s->builder, find_operator(s, "Concat"), (ons_inputs){parts, 3}, ONS_WITH(ONS_AT_INT(0, 0)));
    must(ons_builder_finish(&s->builder));
    gradients g = differentiate(s, joined, &w, 1);
    /* By element: the cotangents 1, 2 of the first, 3 to 6 of the second, 7, 8 of the elements 4 and 2 of the last. */
    const double flows[] = {1, 2 + 3, 4 + 8, 5, 6 + 7, 0};
    const double *is = single_use(s, &g, 0, w);
    for (int i = 0; i < 6; ++i) cr_assert_float_eq(is[i], flows[i] * exp(((double *)g.words[w])[i]), 1e-9);
    cr_assert_eq(count_nodes(s->graph, "SliceGradient"), 3);
    cr_assert_eq(count_nodes(s->graph, "Add") + count_nodes(s->graph, "Sum"), 0);
    free_gradients(&g);
    scene_close(s);
}

Test(autograd, weight_that_no_gradient_reaches) {
    scene *s = scene_open();
    ons_value_id x = add_input(s, "x", SHAPE(3)),
                 w[] = {add_parameter(s, "w", SHAPE(3)), add_parameter(s, "v", SHAPE(3))};
    ons_value_id out = apply2(s, "Mul", x, w[0]);
    apply2(s, "Add", x, w[1]);
    gradients g = differentiate(s, out, w, 2);
    cr_assert_eq(g.of[0].use_count, 1);
    cr_assert_eq(g.of[1].use_count, 0);
    free_gradients(&g);
    scene_close(s);
}

/* An operator with a float result and without a gradient: a gradient itself. */
static ons_value_id apply_opaque(scene *s, ons_value_id a, ons_value_id b) {
    const ons_operator *op = ons_registry_find(s->registry, "onstage", "ReluGradient", 1);
    cr_assert_not_null(op);
    cr_assert_null(op->gradient.build);
    ons_value_id result = ons_build(&s->builder, op, ONS_IN(a, b), ONS_DEFAULTS);
    must(ons_builder_finish(&s->builder));
    return result;
}

/* What is not differentiable is named, all of it where blockers are collected, and only where a weight lies behind it.
 */
Test(autograd, not_differentiable) {
    scene *s = scene_open();
    ons_value_id x = add_input(s, "x", SHAPE(3)), w = add_parameter(s, "w", SHAPE(3));
    ons_value_id out = apply_opaque(s, apply_opaque(s, apply2(s, "Mul", x, w), x), x);
    ons_parameter_gradient found;
    must_fail(ons_differentiate(s->graph, s->registry, out, out, &w, 1, NULL, &found), ONS_UNSUPPORTED, "ReluGradient");
    ons_blockers blockers = {0};
    must(ons_differentiate(s->graph, s->registry, out, out, &w, 1, &blockers, &found));
    cr_assert_eq(blockers.count, 2);
    ons_vector_free(&blockers);
    scene_close(s);

    s = scene_open();
    x = add_input(s, "x", SHAPE(3)), w = add_parameter(s, "w", SHAPE(3));
    gradients g = differentiate(s, apply2(s, "Mul", apply_opaque(s, x, x), w), &w, 1);
    cr_assert_eq(g.of[0].use_count, 1);
    free_gradients(&g);
    scene_close(s);
}

/* A rule that does not cover a form of its operator makes a blocker, not an invalid model. */
Test(autograd, a_rule_that_refuses_is_a_blocker) {
    scene *s = scene_open();
    ons_value_id x = add_input(s, "x", SHAPE(6)), w = add_parameter(s, "w", SHAPE(6));
    ons_value_id outputs[2];
    ons_build_node(&s->builder, find_operator(s, "RMSNormalization"), ONS_IN(apply2(s, "Mul", x, w), w), ONS_DEFAULTS,
                   2, NULL, outputs);
    must(ons_builder_finish(&s->builder));
    ons_value_id out = outputs[1]; /* the statistic, which is there for backward alone */
    ons_parameter_gradient found;
    must_fail(ons_differentiate(s->graph, s->registry, out, out, &w, 1, NULL, &found), ONS_UNSUPPORTED, "output 1");
    ons_blockers blockers = {0};
    must(ons_differentiate(s->graph, s->registry, out, out, &w, 1, &blockers, &found));
    cr_assert_eq(blockers.count, 1);
    cr_expect_str_eq(blockers.items[0].operator_name, "RMSNormalization");
    cr_expect_null(strstr(blockers.items[0].reason, "node '"), "%s", blockers.items[0].reason);
    ons_vector_free(&blockers);
    scene_close(s);
}

Test(autograd, phases) {
    scene *s = scene_open();
    ons_value_id x = add_input(s, "x", SHAPE(2, 3)),
                 w[] = {add_parameter(s, "w", SHAPE(3, 3)), add_parameter(s, "v", SHAPE(3, 3))};
    size_t forward;
    ons_value_id out = apply2(s, "MatMul", apply1(s, "Tanh", apply2(s, "MatMul", x, w[0])), w[1]);
    forward = s->graph->nodes.count;
    gradients g = differentiate(s, out, w, 2);
    size_t input = 0, weight = 0;
    for (size_t i = 0; i < s->graph->nodes.count; ++i) {
        const ons_node *node = &s->graph->nodes.items[i];
        cr_assert_eq(node->phase == ONS_FORWARD, i < forward, "node '%s'", node->name);
        cr_assert_lt(node->origin, s->graph->nodes.count);
        input += node->phase == ONS_INPUT_GRADIENT;
        weight += node->phase == ONS_WEIGHT_GRADIENT;
    }
    cr_assert(input > 0 && weight > 0, "%zu nodes of input gradients, %zu of weight gradients", input, weight);
    for (int k = 0; k < 2; ++k) {
        ons_node_id maker = ons_graph_value(s->graph, g.of[k].uses[0])->producer;
        cr_assert_eq(ons_graph_node(s->graph, maker)->phase, ONS_WEIGHT_GRADIENT);
    }
    free_gradients(&g);
    scene_close(s);
}

/* ---- through the statistics of a batch */

enum { BATCH = 3, CHANNELS = 2, POSITIONS = 4, ELEMENTS = BATCH * CHANNELS * POSITIONS };
static const double EPSILON = 1e-5; /* the default */

/* Σ (i + 1) yᵢ² with y = batch normalisation of x by its own mean and variance: written again, not the operator's. */
static double squares_of_normalised(const double *x, const double *scale, const double *bias) {
    double sum = 0;
    for (int c = 0; c < CHANNELS; ++c) {
        double mean = 0, variance = 0;
        for (int n = 0; n < BATCH; ++n)
            for (int p = 0; p < POSITIONS; ++p) mean += x[(n * CHANNELS + c) * POSITIONS + p] / (BATCH * POSITIONS);
        for (int n = 0; n < BATCH; ++n)
            for (int p = 0; p < POSITIONS; ++p)
                variance += pow(x[(n * CHANNELS + c) * POSITIONS + p] - mean, 2) / (BATCH * POSITIONS);
        for (int n = 0; n < BATCH; ++n)
            for (int p = 0; p < POSITIONS; ++p) {
                int at = (n * CHANNELS + c) * POSITIONS + p;
                double y = (x[at] - mean) / sqrt(variance + EPSILON) * scale[c] + bias[c];
                sum += (at + 1) * y * y;
            }
    }
    return sum;
}

static void expect_slopes(const double *gradient, double *moved, int count, const double *x, const double *scale,
                          const double *bias) {
    for (int i = 0; i < count; ++i) {
        double middle = moved[i], h = 1e-5;
        moved[i] = middle + h;
        double above = squares_of_normalised(x, scale, bias);
        moved[i] = middle - h;
        double below = squares_of_normalised(x, scale, bias);
        moved[i] = middle;
        double slope = (above - below) / (2 * h);
        cr_expect_float_eq(gradient[i], slope, 1e-6 * fmax(1, fabs(slope)), "element %d: %.12g, slope %.12g", i,
                           gradient[i], slope);
    }
}

Test(autograd, batch_normalisation_goes_through_the_statistics_of_the_batch) {
    scene *s = scene_open();
    ons_value_id x = add_parameter(s, "x", SHAPE(BATCH, CHANNELS, POSITIONS));
    ons_value_id scale = add_parameter(s, "scale", SHAPE(CHANNELS)), bias = add_parameter(s, "bias", SHAPE(CHANNELS));
    ons_value_id mean = add_input(s, "mean", SHAPE(CHANNELS)), variance = add_input(s, "variance", SHAPE(CHANNELS));
    const ons_operator *normalise = ons_registry_find_name(s->registry, "onstage", "BatchNormalizationTraining");
    cr_assert_not_null(normalise);
    ons_value_id made[5];
    ons_build_node(&s->builder, normalise, ONS_IN(x, scale, bias, mean, variance), ONS_DEFAULTS, 5, NULL, made);
    must(ons_builder_finish(&s->builder));
    ons_value_id output = apply2(s, "Mul", made[0], made[0]), parameters[] = {x, scale, bias};
    gradients g = differentiate(s, output, parameters, 3);
    double numbers[ELEMENTS], scales[CHANNELS], biases[CHANNELS];
    memcpy(numbers, g.words[x], sizeof numbers);
    memcpy(scales, g.words[scale], sizeof scales);
    memcpy(biases, g.words[bias], sizeof biases);
    const double *of_x = single_use(s, &g, 0, x);
    expect_slopes(of_x, numbers, ELEMENTS, numbers, scales, biases);
    expect_slopes(single_use(s, &g, 1, scale), scales, CHANNELS, numbers, scales, biases);
    expect_slopes(single_use(s, &g, 2, bias), biases, CHANNELS, numbers, scales, biases);
    /* Moving a whole channel changes nothing, since its mean moves along: with fixed statistics it would. */
    for (int c = 0; c < CHANNELS; ++c) {
        double sum = 0, size = 0;
        for (int i = 0; i < BATCH * POSITIONS; ++i) {
            double one = of_x[(i / POSITIONS * CHANNELS + c) * POSITIONS + i % POSITIONS];
            sum += one;
            size += fabs(one);
        }
        cr_expect_float_eq(sum, 0, 1e-9 * size);
        cr_expect_gt(size, 1e-3);
    }
    free_gradients(&g);
    scene_close(s);
}

Test(loss, a_double_prediction_has_a_double_loss) {
    static const struct {
        ons_dtype prediction, loss;
    } expected[] = {{ONS_FLOAT64, ONS_FLOAT64}, {ONS_FLOAT32, ONS_FLOAT32}, {ONS_FLOAT16, ONS_FLOAT32}};
    static const ons_role roles[] = {ONS_ROLE_CROSS_ENTROPY, ONS_ROLE_NEGATIVE_LOG_LIKELIHOOD, ONS_ROLE_SQUARED_ERROR,
                                     ONS_ROLE_HUBER};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; ++i)
        for (size_t k = 0; k < sizeof roles / sizeof roles[0]; ++k) {
            scene *s = scene_open();
            ons_type type = ons_type_make(expected[i].prediction, SHAPE(2, 3));
            ons_value_id output, target, loss, prediction;
            must(ons_graph_add_value(s->graph, "y", ONS_INPUT, &type, &output));
            add_output(s, output);
            ons_loss_options options = {.role = roles[k],
                                        .target = ons_type_make(ONS_INT64, SHAPE(2)),
                                        .class_axis = ONS_CLASS_AXIS_AUTO,
                                        .ignore_index = ONS_DEFAULT_IGNORE_INDEX,
                                        .delta = 1};
            must(ons_attach_loss(s->graph, s->registry, &options, &target, &loss, &prediction));
            const ons_node *node = ons_graph_node(s->graph, ons_graph_value(s->graph, loss)->producer);
            for (uint32_t j = 0; j < node->output_count; ++j)
                cr_expect_eq(ons_graph_value(s->graph, node->outputs[j])->type.dtype, expected[i].loss,
                             "%s of %s, output %u", node->op->name, ons_dtype_name(expected[i].prediction), j);
            scene_close(s);
        }
}
