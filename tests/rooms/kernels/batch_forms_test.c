/* Batch normalisation with Relu or Clip behind it, or a sum, or Relu and a sum in between, as one node: the bits are
 * those of the nodes in a row, forwards and backwards, and what must stay apart does. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "graph/build.h"
#include "graph/passes/autograd.h"
#include "graph/passes/fuse.h"
#include "kernels/common/layout/layouts.h"
#include "kernels/common/operator/kernel.h"
#include "kernels/kernels.h"
#include "kernels/operators.h"
#include "tests/rooms/kernels/bits_target.h"
#include "tests/rooms/kernels/graph_run.h"

enum { X, SCALE, BIAS, MEAN, VARIANCE, RESIDUAL, SOURCES };
enum { Y, NEW_MEAN, NEW_VARIANCE };
enum { PARAMETERS = 4, RESULTS = 3 + PARAMETERS };
static const int parameters[PARAMETERS] = {X, SCALE, BIAS, RESIDUAL};

static void must(ons_status *status) { cr_assert(status == NULL, "%s", ons_status_get_message(status)); }

typedef struct scene {
    ons_store store;
    ons_graph *graph;
    ons_builder builder;
    ons_shape shape; /* of x */
    ons_value_id sources[SOURCES], made[3];
} scene;

static ons_value_id source(scene *s, const char *name, ons_value_kind kind, ons_dtype dtype, ons_shape shape) {
    ons_type type = ons_type_make(dtype, shape);
    ons_value_id id;
    must(ons_graph_add_value(s->graph, name, kind, &type, &id));
    return id;
}

/* The normalisation, with its running statistics as binding leaves them. */
static void open_scene(scene *s, ons_shape shape, ons_shape residual, ons_dtype dtype, ons_dtype vectors) {
    memset(s, 0, sizeof *s);
    must(ons_store_init(&s->store));
    must(ons_graph_new(&s->store, "test", &s->graph));
    s->shape = shape;
    s->builder =
        (ons_builder){.graph = s->graph, .registry = ons_kernels_registry(), .phase = ONS_FORWARD, .origin = ONS_NONE};
    ons_shape vector = ons_shape_make(1, &shape.dims[1]);
    s->sources[X] = source(s, "x", ONS_PARAMETER, dtype, shape);
    s->sources[SCALE] = source(s, "scale", ONS_PARAMETER, vectors, vector);
    s->sources[BIAS] = source(s, "bias", ONS_PARAMETER, vectors, vector);
    s->sources[MEAN] = source(s, "mean", ONS_BUFFER, ONS_FLOAT32, vector);
    s->sources[VARIANCE] = source(s, "variance", ONS_BUFFER, ONS_FLOAT32, vector);
    s->sources[RESIDUAL] = source(s, "residual", ONS_PARAMETER, dtype, residual);
    ons_value_id made[5];
    ons_build_node(&s->builder, &ons_op_batch_normalization_training, (ons_inputs){s->sources, 5},
                   ONS_WITH(ONS_AT_FLOAT(0, 1e-3), ONS_AT_FLOAT(1, 0.7), ONS_AT_INT(3, 2)), 5,
                   (const bool[]){true, true, true, false, false}, made);
    must(ons_builder_finish(&s->builder));
    for (int i = 0; i < 3; ++i) s->made[i] = made[i];
    for (int i = NEW_MEAN; i <= NEW_VARIANCE; ++i) {
        ons_graph_value(s->graph, made[i])->pair = s->sources[MEAN + i - NEW_MEAN];
        ons_graph_value(s->graph, made[i])->kind = ONS_BUFFER;
    }
}

static void close_scene(scene *s) {
    ons_graph_free(s->graph);
    ons_store_free(&s->store);
}

static ons_value_id relu(scene *s, ons_value_id x) {
    return ons_build(&s->builder, &ons_op_relu, ONS_IN(x), ONS_DEFAULTS);
}
static ons_value_id clip(scene *s, ons_value_id x, double low, double high) {
    ons_dtype dtype = ons_builder_type(&s->builder, x).dtype;
    ons_value_id least = ons_build_scalar(&s->builder, dtype, low), most = ons_build_scalar(&s->builder, dtype, high);
    return ons_build(&s->builder, &ons_op_clip, ONS_IN(x, least, most), ONS_DEFAULTS);
}
static ons_value_id sum(scene *s, ons_value_id a, ons_value_id b) {
    return ons_build(&s->builder, &ons_op_add, ONS_IN(a, b), ONS_DEFAULTS);
}

static void show(scene *s, ons_value_id value) {
    must(ons_builder_finish(&s->builder));
    cr_assert(value != ONS_NONE && ons_vector_push(&s->graph->outputs, value));
}

static void fuse(scene *s) {
    must(ons_fuse(&s->graph, ons_kernels_registry()));
    must(ons_graph_verify(s->graph));
}

static size_t count_nodes(const scene *s, const ons_operator *op) {
    size_t count = 0;
    for (size_t i = 0; i < s->graph->nodes.count; ++i) count += s->graph->nodes.items[i].op == op;
    return count;
}

static ons_node *normalisation(const scene *s) {
    for (size_t i = 0; i < s->graph->nodes.count; ++i)
        if (s->graph->nodes.items[i].op == &ons_op_batch_normalization_training) return &s->graph->nodes.items[i];
    cr_assert_fail("no normalisation is left");
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------- bits */

typedef enum activation { NOTHING, RELU, CLIP } activation;
typedef struct form {
    bool added, sum_first; /* residual + normalised, not the other way round */
    activation activation;
    ons_shape shape;
    ons_dtype dtype;
    ons_layout layout;
} form;

static ons_value_id build(scene *s, const form *f) {
    ons_value_id y = s->made[Y];
    if (f->added) y = f->sum_first ? sum(s, s->sources[RESIDUAL], y) : sum(s, y, s->sources[RESIDUAL]);
    return f->activation == NOTHING ? y : f->activation == RELU ? relu(s, y) : clip(s, y, -0.25, 0.75);
}

/* Types as lowering and layout would have them: all that has the shape of x alike, and bounds. */
static void set_types(scene *s, const form *f) {
    for (size_t i = 0; i < s->graph->values.count; ++i) {
        ons_type *type = &s->graph->values.items[i].type;
        bool image = ons_shape_equal(&type->shape, &s->shape);
        if (image) type->layout = f->layout;
        if (image || type->shape.rank == 0) type->dtype = f->dtype;
    }
}

typedef struct results {
    void *bytes[RESULTS];
    size_t sizes[RESULTS];
} results;

static void compute(const form *f, bool fused, results *r) {
    scene s;
    open_scene(&s, f->shape, f->shape, ONS_FLOAT32, ONS_FLOAT32);
    show(&s, build(&s, f));
    if (fused) fuse(&s);
    ons_value_id y = s.graph->outputs.items[0], wanted[PARAMETERS];
    ons_parameter_gradient gradients[PARAMETERS];
    uint32_t count = f->added ? PARAMETERS : PARAMETERS - 1;
    static const char *const names[SOURCES] = {"x", "scale", "bias", "mean", "variance", "residual"};
    for (uint32_t i = 0; i < count; ++i) wanted[i] = ons_graph_find_value(s.graph, names[parameters[i]]);
    ons_value_id cotangent = source(&s, "cotangent", ONS_INPUT, ONS_FLOAT32, f->shape);
    must(ons_differentiate(s.graph, ons_kernels_registry(), y, cotangent, wanted, count, NULL, gradients));
    set_types(&s, f);
    cr_assert_eq(count_nodes(&s, &ons_op_relu) + count_nodes(&s, &ons_op_clip), !fused && f->activation != NOTHING);
    cr_assert_eq(count_nodes(&s, &ons_op_relu_gradient), f->activation == RELU && (!fused || f->added));
    cr_assert_eq(count_nodes(&s, &ons_op_clip_gradient), f->activation == CLIP && !fused);
    cr_assert_eq(count_nodes(&s, &ons_op_add), f->added && !fused);
    const ons_node *node = normalisation(&s);
    ons_value_id ids[RESULTS] = {
        y, node->outputs[NEW_MEAN], node->outputs[NEW_VARIANCE], ONS_NONE, ONS_NONE, ONS_NONE, ONS_NONE};
    for (uint32_t i = 0; i < count; ++i) {
        cr_assert_eq(gradients[i].use_count, 1);
        ids[3 + i] = gradients[i].uses[0];
    }
    void **data;
    must(ons_graph_run(s.graph, bits_target, &data));
    for (int i = 0; i < RESULTS; ++i) {
        r->sizes[i] =
            ids[i] == ONS_NONE ? 0 : ons_bytes_of(ons_kernels_registry(), &ons_graph_value(s.graph, ids[i])->type);
        r->bytes[i] = malloc(r->sizes[i] + 1);
        if (r->sizes[i] > 0) memcpy(r->bytes[i], data[ids[i]], r->sizes[i]);
    }
    ons_graph_run_free(s.graph, data);
    close_scene(&s);
}

static void expect_same_bits(const form *f) {
    results apart, together;
    compute(f, false, &apart);
    compute(f, true, &together);
    for (int i = 0; i < RESULTS; ++i) {
        cr_expect_eq(apart.sizes[i], together.sizes[i]);
        cr_expect(memcmp(apart.bytes[i], together.bytes[i], apart.sizes[i]) == 0,
                  "result %d of shape %lld, %lld, …, %s, layout %d, added %d, activation %d", i,
                  (long long)f->shape.dims[0], (long long)f->shape.dims[1], ons_dtype_name(f->dtype), (int)f->layout,
                  f->added, (int)f->activation);
        free(apart.bytes[i]), free(together.bytes[i]);
    }
}

/* Channels that fill registers and that do not, and so many elements that threads share them. On the CPU a sum of half
 * precision is rounded once as one node, and twice as two, bounds are asked before a result is rounded, and half types
 * come in ONNX's order alone. */
static bool has_bits_of_half(const form *f) {
    return bits_target != &ons_target_cpu || (!f->added && f->activation == RELU && f->layout == ONS_LAYOUT_ONNX);
}

Test(batch_forms, bits_of_nodes_in_a_row) {
    static const int64_t shapes[][4] = {{4, 5, 3, 6}, {2, 64, 8, 8}, {3, 40, 7, 5}, {4, 33, 17, 19}};
    static const ons_dtype dtypes[] = {ONS_FLOAT32, ONS_BFLOAT16, ONS_FLOAT16};
    static const form forms[] = {
        {.activation = RELU},
        {.activation = CLIP},
        {.added = true, .activation = RELU},
        {.added = true, .sum_first = true, .activation = RELU},
        {.added = true},
        {.added = true, .sum_first = true},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; ++i)
        for (size_t kind = 0; kind < sizeof forms / sizeof forms[0]; ++kind)
            for (int last = 0; last < 2; ++last) {
                form f = forms[kind];
                f.shape = ons_shape_make(4, shapes[i]);
                f.layout = last ? ONS_LAYOUT_CHANNELS_LAST : ONS_LAYOUT_ONNX;
                for (int d = 0; d < (has_bits_of_half(&f) ? 3 : 1); ++d) {
                    f.dtype = dtypes[d];
                    expect_same_bits(&f);
                }
            }
}

/* ------------------------------------------------------------------------------------------------- what is one node */

static const int64_t small[] = {2, 3, 4, 5};
#define SMALL ons_shape_make(4, small)

Test(batch_forms, attributes_and_statistics_stay) {
    scene s;
    open_scene(&s, SMALL, SMALL, ONS_FLOAT32, ONS_FLOAT32);
    show(&s, relu(&s, sum(&s, s.made[Y], s.sources[RESIDUAL])));
    fuse(&s);
    cr_assert_eq(s.graph->nodes.count, 1);
    const ons_node *node = normalisation(&s);
    cr_expect_eq(node->attributes[0].f, (double)1e-3);
    cr_expect_eq(node->attributes[1].f, 0.7);
    cr_expect_eq(node->attributes[2].i, 1);
    cr_expect_eq(node->attributes[3].i, 2, "statistics of replicas together");
    cr_expect_eq(node->attributes[4].i, 1);
    cr_expect_eq(node->inputs[5], ons_graph_find_value(s.graph, "residual"));
    for (int i = NEW_MEAN; i <= NEW_VARIANCE; ++i)
        cr_expect_eq(ons_graph_value(s.graph, node->outputs[i])->pair, node->inputs[MEAN + i - NEW_MEAN]);
    close_scene(&s);
}

/* Where two normalisations are added, as in a block that changes the number of channels, one takes the other. */
Test(batch_forms, sum_of_two_normalisations) {
    scene s;
    open_scene(&s, SMALL, SMALL, ONS_FLOAT32, ONS_FLOAT32);
    ons_value_id mean = source(&s, "mean2", ONS_BUFFER, ONS_FLOAT32, ons_shape_make(1, &small[1]));
    ons_value_id variance = source(&s, "variance2", ONS_BUFFER, ONS_FLOAT32, ons_shape_make(1, &small[1])), made[1];
    ons_build_node(&s.builder, &ons_op_batch_normalization_training,
                   ONS_IN(s.sources[RESIDUAL], s.sources[SCALE], s.sources[BIAS], mean, variance), ONS_DEFAULTS, 1,
                   NULL, made);
    show(&s, relu(&s, sum(&s, s.made[Y], made[0])));
    fuse(&s);
    cr_expect_eq(count_nodes(&s, &ons_op_batch_normalization_training), 2);
    cr_expect_eq(s.graph->nodes.count, 2);
    close_scene(&s);
}

/* Readers of what comes out, a second sum, and an activation behind another are left alone. */
Test(batch_forms, one_sum_and_one_activation) {
    scene s;
    open_scene(&s, SMALL, SMALL, ONS_FLOAT32, ONS_FLOAT32);
    ons_value_id both = sum(&s, s.made[Y], s.sources[RESIDUAL]);
    show(&s, relu(&s, both));
    show(&s, sum(&s, both, s.sources[RESIDUAL]));
    fuse(&s);
    cr_expect_eq(s.graph->nodes.count, 3);
    cr_expect_eq(normalisation(&s)->inputs[5], ons_graph_find_value(s.graph, "residual"));
    close_scene(&s);

    open_scene(&s, SMALL, SMALL, ONS_FLOAT32, ONS_FLOAT32);
    show(&s, clip(&s, relu(&s, s.made[Y]), 0, 6));
    fuse(&s);
    cr_expect_eq(count_nodes(&s, &ons_op_clip), 1);
    cr_expect_eq(normalisation(&s)->attributes[4].i, 1);
    close_scene(&s);
}

Test(batch_forms, bounds_of_clip) {
    scene s;
    open_scene(&s, SMALL, SMALL, ONS_FLOAT32, ONS_FLOAT32);
    show(&s, clip(&s, s.made[Y], 0, 6));
    fuse(&s);
    cr_assert_eq(s.graph->nodes.count, 1);
    cr_expect_eq(normalisation(&s)->attributes[4].i, 2);
    cr_expect_eq(normalisation(&s)->attributes[5].f, 0);
    cr_expect_eq(normalisation(&s)->attributes[6].f, 6);
    close_scene(&s);

    open_scene(&s, SMALL, SMALL, ONS_FLOAT32, ONS_FLOAT32);
    show(&s, clip(&s, s.made[Y], 6, 0));
    fuse(&s);
    cr_expect_eq(count_nodes(&s, &ons_op_clip), 1, "bounds that cross");
    close_scene(&s);

    open_scene(&s, SMALL, SMALL, ONS_FLOAT32, ONS_FLOAT32);
    show(&s, clip(&s, sum(&s, s.made[Y], s.sources[RESIDUAL]), 0, 6));
    fuse(&s);
    cr_expect_eq(count_nodes(&s, &ons_op_clip), 1, "what the gradient of Clip asks is not kept by a sum");
    cr_expect_eq(count_nodes(&s, &ons_op_add), 0);
    close_scene(&s);
}

/* A second Relu, which changes nothing, is left alone. */
Test(batch_forms, one_relu_alone) {
    scene s;
    open_scene(&s, SMALL, SMALL, ONS_FLOAT32, ONS_FLOAT32);
    show(&s, relu(&s, relu(&s, s.made[Y])));
    fuse(&s);
    cr_expect_eq(count_nodes(&s, &ons_op_relu), 1);
    cr_expect_eq(count_nodes(&s, &ons_op_batch_normalization_training), 1);
    close_scene(&s);
}

/* --------------------------------------------------------------------------------------------- what must stay apart */

static void expect_apart(scene *s, const char *why) {
    size_t nodes = s->graph->nodes.count;
    fuse(s);
    cr_expect_eq(s->graph->nodes.count, nodes, "%s", why);
    cr_expect_eq(count_nodes(s, &ons_op_relu), 1, "%s", why);
    close_scene(s);
}

Test(batch_forms, inner_results_that_others_read) {
    scene s;
    open_scene(&s, SMALL, SMALL, ONS_FLOAT32, ONS_FLOAT32);
    show(&s, relu(&s, s.made[Y]));
    show(&s, ons_build(&s.builder, &ons_op_exp, ONS_IN(s.made[Y]), ONS_DEFAULTS));
    expect_apart(&s, "what is normalised has a second reader");

    open_scene(&s, SMALL, SMALL, ONS_FLOAT32, ONS_FLOAT32);
    show(&s, relu(&s, s.made[Y]));
    show(&s, s.made[Y]);
    expect_apart(&s, "what is normalised is an output");

    open_scene(&s, SMALL, SMALL, ONS_FLOAT32, ONS_FLOAT32);
    show(&s, relu(&s, s.made[Y]));
    show(&s, ons_build(&s.builder, &ons_op_exp, ONS_IN(s.made[NEW_MEAN]), ONS_DEFAULTS));
    expect_apart(&s, "the running mean is read");
}

Test(batch_forms, other_types_and_shapes) {
    scene s;
    open_scene(&s, SMALL, ons_shape_make(4, (const int64_t[]){1, 3, 1, 1}), ONS_FLOAT32, ONS_FLOAT32);
    show(&s, relu(&s, sum(&s, s.made[Y], s.sources[RESIDUAL])));
    expect_apart(&s, "what is added is broadcast");

    open_scene(&s, SMALL, SMALL, ONS_FLOAT16, ONS_FLOAT16);
    show(&s, relu(&s, s.made[Y]));
    expect_apart(&s, "parameters of half precision");

    open_scene(&s, SMALL, SMALL, ONS_FLOAT16, ONS_FLOAT32);
    show(&s, relu(&s, s.made[Y]));
    expect_apart(&s, "a model of half precision");
}

/* The form of inference has running statistics that nobody renews. */
Test(batch_forms, inference) {
    scene s;
    open_scene(&s, SMALL, SMALL, ONS_FLOAT32, ONS_FLOAT32);
    show(&s, relu(&s, ons_build(&s.builder, &ons_op_batch_normalization, (ons_inputs){s.sources, 5}, ONS_DEFAULTS)));
    ons_graph_node(s.graph, 0)->outputs[NEW_MEAN] = ons_graph_node(s.graph, 0)->outputs[NEW_VARIANCE] = ONS_NONE;
    fuse(&s);
    cr_expect_eq(s.graph->nodes.count, 2);
    cr_expect_eq(count_nodes(&s, &ons_op_relu), 1);
    close_scene(&s);
}
