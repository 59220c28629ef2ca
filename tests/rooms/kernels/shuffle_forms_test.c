/* Channels that a network shuffles by Reshape, Transpose and Reshape: one node, with the same elements. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "graph/build.h"
#include "graph/evaluate.h"
#include "graph/passes/fuse.h"
#include "kernels/kernels.h"
#include "kernels/operators.h"

static void must(ons_status *status) { cr_assert(status == NULL, "%s", ons_status_get_message(status)); }

typedef struct scene {
    ons_store store;
    ons_graph *graph;
    ons_value_id x;
} scene;

#define SHAPE(...) ons_shape_make(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (const int64_t[]){__VA_ARGS__})

static ons_value_id reshape(ons_builder *b, ons_value_id x, const ons_shape *shape) {
    return ons_build(b, &ons_op_reshape, ONS_IN(x, ons_build_integers(b, shape->dims, shape->rank)), ONS_DEFAULTS);
}

static void open_scene(scene *s, ons_shape shape, ons_shape split, ons_shape perm, ons_shape result) {
    ons_type type = ons_type_make(ONS_FLOAT32, shape);
    must(ons_store_init(&s->store));
    must(ons_graph_new(&s->store, "test", &s->graph));
    must(ons_graph_add_value(s->graph, "x", ONS_INPUT, &type, &s->x));
    cr_assert(ons_vector_push(&s->graph->inputs, s->x));
    ons_builder b = {.graph = s->graph, .registry = ons_kernels_registry(), .phase = ONS_FORWARD, .origin = ONS_NONE};
    ons_value_id turned = ons_build(&b, &ons_op_transpose, ONS_IN(reshape(&b, s->x, &split)),
                                    ONS_WITH(ONS_AT_INTS(0, perm.rank, perm.dims)));
    ons_value_id y = reshape(&b, turned, &result);
    must(ons_builder_finish(&b));
    cr_assert(ons_vector_push(&s->graph->outputs, y));
}

static void close_scene(scene *s) {
    ons_graph_free(s->graph);
    ons_store_free(&s->store);
}

/* What the graph makes of 0, 1, 2, …, to be freed. */
static double *evaluate(const scene *s) {
    ons_value_id y = s->graph->outputs.items[0];
    void **words = calloc(s->graph->values.count, sizeof *words);
    int64_t elements = ons_shape_elements(&ons_graph_value(s->graph, s->x)->type.shape);
    double *x = malloc((size_t)elements * sizeof *x);
    cr_assert(words != NULL && x != NULL);
    for (int64_t i = 0; i < elements; ++i) x[i] = (double)i;
    words[s->x] = x;
    must(ons_evaluate(s->graph, &(ons_step){.step = 1}, words));
    double *result = words[y];
    for (size_t i = 0; i < s->graph->values.count; ++i)
        if (i != y) free(words[i]);
    free(words);
    return result;
}

static size_t count_shuffles(const scene *s) {
    size_t found = 0;
    for (size_t i = 0; i < s->graph->nodes.count; ++i) found += s->graph->nodes.items[i].op == &ons_op_channel_shuffle;
    return found;
}

static void expect_shuffle(ons_shape shape, ons_shape split, ons_shape perm) {
    scene plain, fused;
    open_scene(&plain, shape, split, perm, shape);
    open_scene(&fused, shape, split, perm, shape);
    must(ons_fuse(&fused.graph, ons_kernels_registry()));
    cr_assert_eq(count_shuffles(&fused), 1);
    cr_assert_eq(fused.graph->nodes.count, 1);
    double *should = evaluate(&plain), *is = evaluate(&fused);
    cr_assert_arr_eq(is, should, (size_t)ons_shape_elements(&shape) * sizeof *is);
    free(should);
    free(is);
    close_scene(&plain);
    close_scene(&fused);
}

static void expect_none(ons_shape shape, ons_shape split, ons_shape perm, ons_shape result) {
    scene s;
    open_scene(&s, shape, split, perm, result);
    must(ons_fuse(&s.graph, ons_kernels_registry()));
    cr_assert_eq(count_shuffles(&s), 0);
    close_scene(&s);
}

Test(shuffle_forms, groups_of_channels_change_places) {
    expect_shuffle(SHAPE(2, 6, 3, 4), SHAPE(2, 2, 3, 3, 4), SHAPE(0, 2, 1, 3, 4));
    expect_shuffle(SHAPE(2, 6, 3, 4), SHAPE(2, 3, 2, 3, 4), SHAPE(0, 2, 1, 3, 4));
    expect_shuffle(SHAPE(1, 8, 5), SHAPE(1, 4, 2, 5), SHAPE(0, 2, 1, 3));
    expect_shuffle(SHAPE(3, 4), SHAPE(3, 2, 2), SHAPE(0, 2, 1));
}

Test(shuffle_forms, other_axes_and_shapes_stay) {
    expect_none(SHAPE(2, 6, 4, 4), SHAPE(2, 6, 2, 2, 4), SHAPE(0, 1, 3, 2, 4), SHAPE(2, 6, 4, 4)); /* rows */
    expect_none(SHAPE(2, 6, 4), SHAPE(2, 6, 1, 4), SHAPE(0, 2, 1, 3), SHAPE(2, 6, 4));             /* one head, */
    expect_none(SHAPE(2, 6, 4), SHAPE(2, 1, 6, 4), SHAPE(0, 2, 1, 3), SHAPE(2, 6, 4));             /* and back */
    expect_none(SHAPE(2, 6, 3, 4), SHAPE(2, 2, 3, 3, 4), SHAPE(0, 2, 1, 3, 4), SHAPE(2, 6, 12));   /* and flattens */
    expect_none(SHAPE(4, 6, 3), SHAPE(2, 2, 6, 3), SHAPE(0, 2, 1, 3), SHAPE(4, 6, 3));             /* samples */
    expect_none(SHAPE(2, 6, 3, 4), SHAPE(2, 2, 3, 4, 3), SHAPE(0, 2, 1, 3, 4), SHAPE(2, 6, 3, 4)); /* pixels */
}
