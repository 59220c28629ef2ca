/* A graph made for a fixed batch, changed to another one: what it computes for each part of a larger batch is what the
 * old graph computes for that part; and where that cannot be shown, the node is named. */
#include "graph/passes/batch.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "graph/evaluate.h"
#include "tests/rooms/graph/fixture.h"

enum { PLACES = 4, WIDTH = 6, PARTS = 3 };

/* Builds a graph for `batch` samples of one input [batch, PLACES, WIDTH]. */
typedef void build_function(scene *s, int64_t batch, ons_value_id x);

static ons_value_id integers(scene *s, const int64_t *values, uint32_t count) {
    return ons_build_integers(&s->builder, values, count);
}
#define INTEGERS(S, ...) integers(S, (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / 8)

static ons_value_id shaped_integers(scene *s, ons_shape shape, const int64_t *values) {
    ons_type type = ons_type_make(ONS_INT64, shape);
    return ons_build_constant(&s->builder, "places", &type, values);
}

/* Numbers that differ from index to index, but not along axis 0. */
static ons_value_id floats(scene *s, ons_shape shape) {
    ons_type type = ons_type_make(ONS_FLOAT32, shape);
    double values[256];
    int64_t count = ons_shape_elements(&shape), repeated = count / shape.dims[0];
    for (int64_t i = 0; i < count; ++i) values[i] = 0.25 * (double)(i % repeated) - 1;
    return ons_build_constant(&s->builder, "numbers", &type, values);
}

static ons_value_id build(scene *s, const char *op, ons_inputs inputs, ons_settings settings) {
    ons_value_id result = ons_build(&s->builder, find_operator(s, op), inputs, settings);
    must(ons_builder_finish(&s->builder));
    return result;
}

static ons_value_id transpose(scene *s, ons_value_id x, const int64_t *order, uint32_t rank) {
    return build(s, "Transpose", ONS_IN(x), ONS_WITH(ONS_AT_INTS(0, rank, order)));
}
#define TRANSPOSE(S, X, ...) transpose(S, X, (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / 8)
#define RESHAPE(S, X, ...)   build(S, "Reshape", ONS_IN(X, INTEGERS(S, __VA_ARGS__)), ONS_DEFAULTS)

/* --------------------------------------------------------------------------------------------- what can be followed */

static void build_heads(scene *s, int64_t batch, ons_value_id x) {
    ons_value_id heads = TRANSPOSE(s, RESHAPE(s, x, batch, PLACES, 2, 3), 0, 2, 1, 3);
    ons_value_id apart = RESHAPE(s, heads, 2 * batch, PLACES, 3);
    ons_value_id scores = build(s, "MatMul", ONS_IN(apart, TRANSPOSE(s, apart, 0, 2, 1)), ONS_DEFAULTS);
    ons_value_id biased = build(s, "Add", ONS_IN(scores, floats(s, SHAPE(PLACES, PLACES))), ONS_DEFAULTS);
    add_output(s, RESHAPE(s, biased, batch, 2, PLACES, PLACES));
}

static void build_sequence_first(scene *s, int64_t batch, ons_value_id x) {
    ons_value_id rows = RESHAPE(s, TRANSPOSE(s, x, 1, 0, 2), PLACES * batch, WIDTH);
    ons_value_id product = build(s, "MatMul", ONS_IN(rows, floats(s, SHAPE(WIDTH, 8))), ONS_DEFAULTS);
    ons_value_id heads = RESHAPE(s, product, PLACES, 2 * batch, 4);
    ons_value_id scores =
        build(s, "MatMul", ONS_IN(TRANSPOSE(s, heads, 1, 0, 2), TRANSPOSE(s, heads, 1, 2, 0)), ONS_DEFAULTS);
    add_output(s, RESHAPE(s, scores, batch, 2 * PLACES * PLACES));
}

static void build_token(scene *s, int64_t batch, ons_value_id x) {
    ons_value_id joined = build(s, "Concat", ONS_IN(floats(s, SHAPE(batch, 1, WIDTH)), x), ONS_WITH(ONS_AT_INT(0, 1)));
    add_output(s, build(s, "Slice", ONS_IN(joined, INTEGERS(s, 0), INTEGERS(s, 2), INTEGERS(s, 1)), ONS_DEFAULTS));
}

static void build_expanded_token(scene *s, int64_t batch, ons_value_id x) {
    ons_value_id token = floats(s, SHAPE(1, 1, WIDTH));
    ons_value_id tokens = build(s, "Expand", ONS_IN(token, INTEGERS(s, batch, 2, WIDTH)), ONS_DEFAULTS);
    add_output(s, build(s, "Concat", ONS_IN(tokens, x), ONS_WITH(ONS_AT_INT(0, 1))));
}

static void build_table(scene *s, int64_t batch, ons_value_id x) {
    int64_t places[2 * PLACES] = {2, 0, 1, 2, 2, 0, 1, 2};
    ons_value_id indices = shaped_integers(s, SHAPE(batch, PLACES), places);
    ons_value_id rows = build(s, "Gather", ONS_IN(floats(s, SHAPE(1, 3 * WIDTH)), indices), ONS_WITH(ONS_AT_INT(0, 1)));
    ons_value_id one = build(s, "Unsqueeze", ONS_IN(RESHAPE(s, rows, batch, PLACES), INTEGERS(s, 2)), ONS_DEFAULTS);
    add_output(s, build(s, "Mul", ONS_IN(x, one), ONS_DEFAULTS));
}

static void build_resized(scene *s, int64_t batch, ons_value_id x) {
    ons_value_id image = RESHAPE(s, x, batch, 1, PLACES, WIDTH), sizes = INTEGERS(s, batch, 1, 8, 3);
    add_output(s, build(s, "Resize", ONS_IN(image, ONS_NONE, ONS_NONE, sizes), ONS_DEFAULTS));
}

static void build_picked(scene *s, int64_t batch, ons_value_id x) {
    int64_t places[2 * 2 * WIDTH] = {3, 0, 1, 2, 2, 1, 0, 0, 0, 3, 3, 3};
    memcpy(places + 2 * WIDTH, places, sizeof places / 2);
    ons_value_id indices = shaped_integers(s, SHAPE(batch, 2, WIDTH), places);
    add_output(s, build(s, "GatherElements", ONS_IN(x, indices), ONS_WITH(ONS_AT_INT(0, 1))));
}

static void build_blocks(scene *s, int64_t batch, ons_value_id x) {
    ons_value_id heads = RESHAPE(s, TRANSPOSE(s, RESHAPE(s, x, batch, PLACES, 2, 3), 0, 2, 1, 3), 2 * batch, PLACES, 3);
    ons_value_id keys = RESHAPE(s, floats(s, SHAPE(1, 2 * 3 * 5)), 2, 3, 5);
    if (batch > 1) keys = build(s, "Concat", ONS_IN(keys, keys), ONS_WITH(ONS_AT_INT(0, 0)));
    add_output(s, RESHAPE(s, build(s, "MatMul", ONS_IN(heads, keys), ONS_DEFAULTS), batch, 2, PLACES, 5));
}

/* --------------------------------------------------------------------------------------------------- what cannot be */

static void build_first_sample(scene *s, int64_t batch, ons_value_id x) {
    (void)batch;
    ons_value_id first = build(s, "Gather", ONS_IN(x, INTEGERS(s, 0)), ONS_DEFAULTS);
    add_output(s, build(s, "Relu", ONS_IN(first), ONS_DEFAULTS));
}

static void build_scattered(scene *s, int64_t batch, ons_value_id x) {
    (void)batch;
    ons_value_id place = shaped_integers(s, SHAPE(1, 3), (const int64_t[]){0, 1, 2});
    add_output(s, build(s, "ScatterND", ONS_IN(x, place, floats(s, SHAPE(1))), ONS_DEFAULTS));
}

static void build_mixing(scene *s, int64_t batch, ons_value_id x) {
    add_output(s, RESHAPE(s, TRANSPOSE(s, x, 1, 0, 2), batch, PLACES, WIDTH));
}

static void build_similarity(scene *s, int64_t batch, ons_value_id x) {
    ons_value_id rows = RESHAPE(s, x, batch, PLACES * WIDTH);
    add_output(s, build(s, "MatMul", ONS_IN(rows, TRANSPOSE(s, rows, 1, 0)), ONS_DEFAULTS));
}

static void build_counted(scene *s, int64_t batch, ons_value_id x) {
    ons_type type = ons_type_make(ONS_FLOAT32, SHAPE(batch, 1, 1));
    ons_value_id counts = ons_build_constant(&s->builder, "counts", &type, (const double[]){1, 2});
    add_output(s, build(s, "Mul", ONS_IN(x, counts), ONS_DEFAULTS));
}

/* ------------------------------------------------------------------------------------------------------- evaluation */

static scene *open_scene(build_function *make, int64_t batch) {
    scene *s = scene_open();
    make(s, batch, add_input(s, "x", SHAPE(batch, PLACES, WIDTH)));
    return s;
}

/* The elements of the only output, for that input; freed by the caller. */
static double *evaluate(const scene *s, const double *x, int64_t *count) {
    void **words = calloc(s->graph->values.count + 1, sizeof *words);
    ons_value_id input = s->graph->inputs.items[0], output = s->graph->outputs.items[0];
    words[input] = (void *)(uintptr_t)x;
    must(ons_evaluate(s->graph, &(ons_step){.step = 1}, words));
    double *result = words[output];
    *count = ons_shape_elements(&ons_graph_value(s->graph, output)->type.shape);
    for (ons_value_id id = 0; id < s->graph->values.count; ++id)
        if (id != input && id != output) free(words[id]);
    free(words);
    return result;
}

static void expect_same(const char *name, build_function *make, int64_t batch) {
    ons_blocker obstacle;
    double x[PARTS * 2 * PLACES * WIDTH];
    scene *old = open_scene(make, batch), *large = open_scene(make, batch);
    must(ons_change_batch(large->graph, large->registry, batch, PARTS * batch, &obstacle));
    cr_assert_null(obstacle.node, "%s of %d: %s (%s): %s", name, (int)batch, obstacle.node, obstacle.operator_name,
                   obstacle.reason);
    must(ons_graph_verify(large->graph));
    uint64_t random = 7;
    for (size_t i = 0; i < sizeof x / sizeof x[0]; ++i) x[i] = (double)(next_random(&random) % 64) / 8 - 4;
    int64_t all, part;
    double *together = evaluate(large, x, &all);
    for (int64_t i = 0; i < PARTS; ++i) {
        double *alone = evaluate(old, x + i * batch * PLACES * WIDTH, &part);
        cr_assert_eq(all, PARTS * part, "%s of %d: %d elements, %d in a part", name, (int)batch, (int)all, (int)part);
        for (int64_t k = 0; k < part; ++k)
            cr_assert_eq(together[i * part + k], alone[k], "%s of %d, part %d: element %d is %g, not %g", name,
                         (int)batch, (int)i, (int)k, together[i * part + k], alone[k]);
        free(alone);
    }
    free(together);
    scene_close(old);
    scene_close(large);
}

#define SAME(NAME)                                                                                                     \
    Test(batch, NAME) {                                                                                                \
        expect_same(#NAME, build_##NAME, 1);                                                                           \
        expect_same(#NAME, build_##NAME, 2);                                                                           \
    }
SAME(heads)
SAME(sequence_first)
SAME(token)
SAME(expanded_token)
SAME(table)
SAME(resized)
SAME(picked)

Test(batch, blocks) { expect_same("blocks", build_blocks, 1); }

static void expect_obstacle(const char *name, build_function *make, int64_t batch, const char *op, const char *words) {
    ons_blocker obstacle;
    scene *s = open_scene(make, batch);
    char *before, *after;
    must(ons_graph_print(s->graph, &before));
    must(ons_change_batch(s->graph, s->registry, batch, PARTS * batch, &obstacle));
    must(ons_graph_print(s->graph, &after));
    cr_assert_not_null(obstacle.node, "%s of %d was followed", name, (int)batch);
    cr_assert_str_eq(obstacle.operator_name, op, "%s of %d: %s", name, (int)batch, obstacle.reason);
    cr_assert_not_null(strstr(obstacle.reason, words), "%s of %d: '%s'", name, (int)batch, obstacle.reason);
    cr_assert_str_eq(before, after);
    free(before);
    free(after);
    scene_close(s);
}

Test(batch, a_sample_that_is_picked_is_an_obstacle) {
    expect_obstacle("first", build_first_sample, 1, "Gather", "count the samples");
    expect_obstacle("first", build_first_sample, 2, "Gather", "count the samples");
}

Test(batch, an_element_of_a_sample_that_is_written_is_an_obstacle) {
    expect_obstacle("scattered", build_scattered, 1, "ScatterND", "count the samples");
    expect_obstacle("scattered", build_scattered, 2, "ScatterND", "count the samples");
}

Test(batch, samples_that_are_mixed_are_an_obstacle) {
    expect_obstacle("mixing", build_mixing, 1, "output", "first axis");
    expect_obstacle("mixing", build_mixing, 2, "output", "first axis");
    expect_obstacle("similarity", build_similarity, 1, "MatMul", "two axes");
    expect_obstacle("similarity", build_similarity, 2, "MatMul", "two axes");
}

Test(batch, a_constant_that_differs_from_sample_to_sample_is_an_obstacle) {
    expect_same("counted", build_counted, 1);
    expect_obstacle("counted", build_counted, 2, "Mul", "[N,4,6] and float32[2,1,1]");
}
