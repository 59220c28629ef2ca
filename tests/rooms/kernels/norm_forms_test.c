/* The decomposed forms of RMSNormalization and GroupNormalization: each becomes one node, gives the same results and
 * gradients, and keeps fewer bytes for backward. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/build.h"
#include "graph/evaluate.h"
#include "graph/passes/autograd.h"
#include "graph/passes/fuse.h"
#include "kernels/common/operator/kernel.h"
#include "kernels/kernels.h"
#include "kernels/operators.h"

enum { PARAMETERS = 3 };

static void must(ons_status *status) { cr_assert(status == NULL, "%s", ons_status_get_message(status)); }

/* A graph over x and up to two weights, and what comes of it. */
typedef struct scene {
    ons_store store;
    ons_graph *graph;
    ons_builder builder;
    ons_value_id x, scale, bias;
    double *results[1 + PARAMETERS]; /* y; gradients of x, scale, bias */
    int64_t saved;                   /* bytes of activations that backward reads */
} scene;

static ons_value_id add_value(scene *s, const char *name, ons_value_kind kind, ons_dtype dtype, ons_shape shape) {
    ons_type type = ons_type_make(dtype, shape);
    ons_value_id id;
    must(ons_graph_add_value(s->graph, name, kind, &type, &id));
    return id;
}

static void open_scene(scene *s, ons_dtype dtype, ons_shape x, ons_shape scale, ons_shape bias) {
    memset(s, 0, sizeof *s);
    must(ons_store_init(&s->store));
    must(ons_graph_new(&s->store, "test", &s->graph));
    s->x = add_value(s, "x", ONS_INPUT, dtype, x);
    s->scale = add_value(s, "scale", ONS_PARAMETER, dtype, scale);
    s->bias = bias.rank > 0 ? add_value(s, "bias", ONS_PARAMETER, dtype, bias) : ONS_NONE;
    cr_assert(ons_vector_push(&s->graph->inputs, s->x));
    s->builder =
        (ons_builder){.graph = s->graph, .registry = ons_kernels_registry(), .phase = ONS_FORWARD, .origin = ONS_NONE};
}

static void close_scene(scene *s) {
    for (int i = 0; i <= PARAMETERS; ++i) free(s->results[i]);
    ons_graph_free(s->graph);
    ons_store_free(&s->store);
}

static ons_value_id one(scene *s, const ons_operator *op, ons_value_id a) {
    return ons_build(&s->builder, op, ONS_IN(a), ONS_DEFAULTS);
}
static ons_value_id two(scene *s, const ons_operator *op, ons_value_id a, ons_value_id b) {
    return ons_build(&s->builder, op, ONS_IN(a, b), ONS_DEFAULTS);
}
static ons_value_id number(scene *s, ons_dtype dtype, double value) {
    return ons_build_scalar(&s->builder, dtype, value);
}
static ons_value_id cast(scene *s, ons_value_id x, ons_dtype dtype) {
    return ons_build(&s->builder, &ons_op_cast, ONS_IN(x), ONS_WITH(ONS_AT_INT(0, dtype)));
}

/* Numbers that every scene draws alike, by value and element. */
static double *draw(ons_value_id id, int64_t count) {
    double *words = malloc(((size_t)count + 1) * sizeof *words);
    cr_assert(words != NULL);
    for (int64_t i = 0; i < count; ++i) words[i] = sin((double)(id * 1000 + i) * 1.7) + 0.3;
    return words;
}

static double *copy(const double *words, int64_t count) {
    double *result = malloc(((size_t)count + 1) * sizeof *result);
    cr_assert(result != NULL);
    memcpy(result, words, (size_t)count * sizeof *words);
    return result;
}

static int64_t saved_bytes(const ons_graph *graph, size_t forward_nodes) {
    int64_t bytes = 0;
    for (ons_value_id id = 0; id < graph->values.count; ++id) {
        const ons_value *value = ons_graph_value(graph, id);
        bool forward = value->producer != ONS_NONE && value->producer < forward_nodes, read = false;
        if (!forward && value->kind != ONS_INPUT) continue;
        for (size_t n = forward_nodes; n < graph->nodes.count; ++n)
            for (uint32_t i = 0; i < graph->nodes.items[n].input_count; ++i)
                read |= graph->nodes.items[n].inputs[i] == id;
        if (read) bytes += ons_type_dense_bytes(&value->type);
    }
    return bytes;
}

/* Differentiates Σ cotangent × y and evaluates everything. */
static void compute(scene *s) {
    ons_value_id y = s->graph->outputs.items[0];
    ons_type type = ons_graph_value(s->graph, y)->type;
    size_t forward_nodes = s->graph->nodes.count;
    ons_value_id cotangent = add_value(s, "cotangent", ONS_STATE, type.dtype, type.shape);
    ons_value_id parameters[PARAMETERS] = {ons_graph_find_value(s->graph, "x"), ons_graph_find_value(s->graph, "scale"),
                                           ons_graph_find_value(s->graph, "bias")};
    uint32_t count = parameters[2] == ONS_NONE ? 2 : 3;
    ons_parameter_gradient gradients[PARAMETERS];
    must(ons_differentiate(s->graph, ons_kernels_registry(), y, cotangent, parameters, count, NULL, gradients));
    s->saved = saved_bytes(s->graph, forward_nodes);
    void **words = calloc(s->graph->values.count + 1, sizeof *words);
    cr_assert(words != NULL);
    for (uint32_t i = 0; i < count; ++i)
        words[parameters[i]] = draw(i, ons_elements(&ons_graph_value(s->graph, parameters[i])->type));
    words[cotangent] = draw(7, ons_elements(&type));
    ons_step step = {.seed = 1, .step = 1};
    must(ons_evaluate(s->graph, &step, words));
    s->results[0] = copy(words[y], ons_elements(&type));
    for (uint32_t i = 0; i < count; ++i) {
        int64_t elements = ons_elements(&ons_graph_value(s->graph, parameters[i])->type);
        cr_assert(gradients[i].use_count > 0);
        s->results[1 + i] = copy(words[gradients[i].uses[0]], elements);
        for (uint32_t use = 1; use < gradients[i].use_count; ++use)
            for (int64_t k = 0; k < elements; ++k)
                s->results[1 + i][k] += ((const double *)words[gradients[i].uses[use]])[k];
    }
    for (size_t i = 0; i < s->graph->values.count; ++i) free(words[i]);
    free(words);
}

static void set_output(scene *s, ons_value_id value) {
    must(ons_builder_finish(&s->builder));
    cr_assert(value != ONS_NONE && ons_vector_push(&s->graph->outputs, value));
}

/* Both graphs have been made the same way; the second is fused. */
static void expect_same(scene *plain, scene *fused, const char *op, int spelling, double tolerance) {
    must(ons_fuse(&fused->graph, ons_kernels_registry()));
    size_t found = 0;
    for (size_t i = 0; i < fused->graph->nodes.count; ++i)
        found += strcmp(fused->graph->nodes.items[i].op->name, op) == 0;
    cr_assert_eq(found, 1, "spelling %d has %zu nodes %s among %zu", spelling, found, op, fused->graph->nodes.count);
    const ons_value_id ids[] = {plain->x, plain->x, plain->scale, plain->bias};
    int64_t counts[1 + PARAMETERS];
    for (int i = 0; i <= PARAMETERS; ++i)
        counts[i] = ids[i] == ONS_NONE ? 0 : ons_elements(&ons_graph_value(plain->graph, ids[i])->type);
    compute(plain);
    compute(fused);
    for (int i = 0; i <= PARAMETERS; ++i)
        for (int64_t k = 0; k < counts[i] && plain->results[i] != NULL; ++k)
            cr_assert_float_eq(plain->results[i][k], fused->results[i][k],
                               tolerance * fmax(1, fabs(plain->results[i][k])),
                               "spelling %d, result %d, element %lld: %g is now %g", spelling, i, (long long)k,
                               plain->results[i][k], fused->results[i][k]);
    cr_assert(fused->saved < plain->saved, "spelling %d: %lld bytes are saved, were %lld", spelling,
              (long long)fused->saved, (long long)plain->saved);
}

/* ------------------------------------------------------------------------------------------------- RMSNormalization */

enum { SQUARES = 2, ROOTS = 5 };

static ons_value_id divide_by_root(scene *s, ons_value_id x, ons_value_id sum, int spelling) {
    ons_dtype dtype = ONS_FLOAT32;
    switch (spelling) {
    case 0: return two(s, &ons_op_mul, x, one(s, &ons_op_reciprocal, one(s, &ons_op_sqrt, sum)));
    case 1: return two(s, &ons_op_mul, x, two(s, &ons_op_div, number(s, dtype, 1), one(s, &ons_op_sqrt, sum)));
    case 2: return two(s, &ons_op_mul, two(s, &ons_op_pow, sum, number(s, dtype, -0.5)), x);
    case 3: return two(s, &ons_op_div, x, one(s, &ons_op_sqrt, sum));
    default: return two(s, &ons_op_div, x, two(s, &ons_op_pow, sum, number(s, dtype, 0.5)));
    }
}

static ons_value_id build_rms_norm(scene *s, int spelling, bool half) {
    ons_value_id x = half ? cast(s, s->x, ONS_FLOAT32) : s->x;
    bool power = spelling % SQUARES == 0;
    ons_value_id square = two(s, power ? &ons_op_pow : &ons_op_mul, x, power ? number(s, ONS_FLOAT32, 2) : x);
    ons_value_id mean = two(s, &ons_op_reduce_mean, square, ons_build_integers(&s->builder, (const int64_t[]){-1}, 1));
    ons_value_id sum = two(s, &ons_op_add, mean, number(s, ONS_FLOAT32, 1e-3));
    ons_value_id result = divide_by_root(s, x, sum, spelling / SQUARES);
    if (half) result = cast(s, result, ONS_FLOAT16);
    return spelling % 3 == 0 ? two(s, &ons_op_mul, result, s->scale) : two(s, &ons_op_mul, s->scale, result);
}

static void check_rms_norm(int spelling, bool half, int64_t *before, int64_t *after) {
    scene scenes[2];
    for (int i = 0; i < 2; ++i) {
        open_scene(&scenes[i], half ? ONS_FLOAT16 : ONS_FLOAT32, ons_shape_make(3, (const int64_t[]){2, 8, 64}),
                   ons_shape_make(1, (const int64_t[]){64}), (ons_shape){0});
        set_output(&scenes[i], build_rms_norm(&scenes[i], spelling, half));
    }
    expect_same(&scenes[0], &scenes[1], "RMSNormalization", spelling, half ? 1e-2 : 1e-6);
    cr_assert_eq(scenes[1].graph->outputs.count, 1);
    *before = scenes[0].saved;
    *after = scenes[1].saved;
    close_scene(&scenes[0]);
    close_scene(&scenes[1]);
}

/* x is float32[2,8,64], 4096 bytes: decomposed, x and x/√… are kept and numbers by row; then x and one such number. */
Test(norm_forms, rms_norm) {
    for (int spelling = 0; spelling < SQUARES * ROOTS; ++spelling) {
        int64_t before, after;
        check_rms_norm(spelling, false, &before, &after);
        cr_expect_eq(after, 4096 + 64, "spelling %d keeps %lld bytes", spelling, (long long)after);
        cr_expect(before >= 2 * 4096 + 64, "spelling %d kept %lld bytes", spelling, (long long)before);
    }
}

/* As Llama in half precision has it: x is cast to float32, and back before the scale. */
Test(norm_forms, rms_norm_in_half_precision) {
    for (int spelling = 0; spelling < SQUARES * ROOTS; ++spelling) {
        int64_t before, after;
        check_rms_norm(spelling, true, &before, &after);
        cr_expect_eq(after, 2048 + 64, "spelling %d keeps %lld bytes", spelling, (long long)after);
        cr_expect(before >= 2048 + 4096, "spelling %d kept %lld bytes", spelling, (long long)before);
    }
}

/* The mean over another axis is no RMSNormalization. */
Test(norm_forms, rms_norm_along_rows_alone) {
    scene s;
    open_scene(&s, ONS_FLOAT32, ons_shape_make(2, (const int64_t[]){4, 6}), ons_shape_make(1, (const int64_t[]){6}),
               (ons_shape){0});
    ons_value_id square = two(&s, &ons_op_mul, s.x, s.x);
    ons_value_id mean = two(&s, &ons_op_reduce_mean, square, ons_build_integers(&s.builder, (const int64_t[]){0}, 1));
    ons_value_id sum = two(&s, &ons_op_add, mean, number(&s, ONS_FLOAT32, 1e-3));
    set_output(&s, two(&s, &ons_op_div, s.x, one(&s, &ons_op_sqrt, sum)));
    must(ons_fuse(&s.graph, ons_kernels_registry()));
    cr_expect_eq(s.graph->nodes.count, 5);
    close_scene(&s);
}

/* ------------------------------------------------------------------------------------------------- residual streams */

static const ons_node *find_node(const scene *s, const ons_operator *op, size_t *count) {
    const ons_node *found = NULL;
    *count = 0;
    for (size_t i = 0; i < s->graph->nodes.count; ++i) {
        if (s->graph->nodes.items[i].op != op) continue;
        found = &s->graph->nodes.items[i];
        ++*count;
    }
    return found;
}

/* stream + norm(stream), where the stream is the exponential of x. Apart: the norm reads it through an Identity, so
 * that its gradient and the stream's meet behind it. `more`: another reader of the stream before the norm. */
static void open_stream(scene *s, const ons_operator *norm, bool apart, bool more) {
    bool centred = norm == &ons_op_layer_normalization;
    ons_shape row = ons_shape_make(1, (const int64_t[]){10});
    open_scene(s, ONS_FLOAT32, ons_shape_make(3, (const int64_t[]){2, 3, 10}), row, centred ? row : (ons_shape){0});
    ons_value_id stream = one(s, &ons_op_exp, s->x), other = more ? one(s, &ons_op_tanh, stream) : ONS_NONE;
    ons_value_id inputs[] = {apart ? one(s, &ons_op_identity, stream) : stream, s->scale, s->bias};
    ons_value_id y = ons_build(&s->builder, norm, (ons_inputs){inputs, centred ? 3 : 2}, ONS_DEFAULTS);
    ons_value_id sum = two(s, &ons_op_add, stream, one(s, &ons_op_sigmoid, y));
    set_output(s, more ? two(s, &ons_op_add, sum, other) : sum);
}

static void check_stream(const ons_operator *norm, const ons_operator *gradient, bool more) {
    scene scenes[2];
    for (int i = 0; i < 2; ++i) {
        open_stream(&scenes[i], norm, i == 0, more);
        compute(&scenes[i]);
        size_t gradients, sums;
        const ons_node *node = find_node(&scenes[i], gradient, &gradients);
        uint32_t plain = gradient->arity.inputs_min;
        cr_assert_eq(gradients, 1);
        cr_expect_eq(node->input_count, i == 0 ? plain : plain + 1, "%s: %u inputs", gradient->name, node->input_count);
        find_node(&scenes[i], &ons_op_add, &sums);
        cr_expect_eq(sums, (more ? 2u : 1u) + (i == 0 ? 1u : 0u) + (more ? 1u : 0u), "%s: %zu sums", norm->name, sums);
    }
    for (int i = 0; i <= PARAMETERS; ++i) {
        int64_t count = i < 2 ? 60 : 10;
        for (int64_t k = 0; scenes[0].results[i] != NULL && k < count; ++k)
            cr_expect_float_eq(scenes[0].results[i][k], scenes[1].results[i][k], 1e-12, "%s: result %d, element %lld",
                               norm->name, i, (long long)k);
    }
    for (int i = 0; i < 2; ++i) close_scene(&scenes[i]);
}

/* The gradient takes what comes along the stream from behind; what comes from before is added later. */
Test(norm_forms, residual_stream) {
    for (int more = 0; more < 2; ++more) {
        check_stream(&ons_op_layer_normalization, &ons_op_layer_normalization_gradient, more == 1);
        check_stream(&ons_op_rms_normalization, &ons_op_rms_normalization_gradient, more == 1);
    }
}

/* norm(exp(x)) has two readers, as behind a block that ends in its norm. Apart: they read it through an Identity, whose
 * gradient is the sum. */
static void open_two_readers(scene *s, const ons_operator *norm, bool apart) {
    bool centred = norm == &ons_op_layer_normalization;
    ons_shape row = ons_shape_make(1, (const int64_t[]){10});
    open_scene(s, ONS_FLOAT32, ons_shape_make(3, (const int64_t[]){2, 3, 10}), row, centred ? row : (ons_shape){0});
    ons_value_id inputs[] = {one(s, &ons_op_exp, s->x), s->scale, s->bias};
    ons_value_id y = ons_build(&s->builder, norm, (ons_inputs){inputs, centred ? 3 : 2}, ONS_DEFAULTS);
    if (apart) y = one(s, &ons_op_identity, y);
    set_output(s, two(s, &ons_op_add, y, one(s, &ons_op_sigmoid, y)));
}

/* Nodes whose results other nodes read: the others are pruned. */
static size_t count_read(const scene *s, const ons_operator *op) {
    size_t count = 0;
    for (ons_node_id id = 0; id < s->graph->nodes.count; ++id) {
        bool read = false;
        for (size_t n = 0; n < s->graph->nodes.count; ++n)
            for (uint32_t i = 0; i < s->graph->nodes.items[n].input_count; ++i)
                read |= s->graph->nodes.items[n].inputs[i] == s->graph->nodes.items[id].outputs[0];
        count += read && s->graph->nodes.items[id].op == op;
    }
    return count;
}

static void check_two_readers(const ons_operator *norm, const ons_operator *gradient) {
    scene scenes[2];
    for (int i = 0; i < 2; ++i) {
        open_two_readers(&scenes[i], norm, i == 0);
        compute(&scenes[i]);
        size_t gradients;
        uint32_t inputs = find_node(&scenes[i], gradient, &gradients)->input_count, plain = gradient->arity.inputs_min;
        cr_assert_eq(gradients, 1);
        cr_expect_eq(inputs, i == 0 ? plain : plain + 2, "%s: %u inputs", gradient->name, inputs);
        cr_expect_eq(count_read(&scenes[i], &ons_op_add), i == 0 ? 1 : 0, "%s", norm->name);
    }
    for (int i = 1; i <= PARAMETERS; ++i)
        for (int64_t k = 0; scenes[0].results[i] != NULL && k < (i < 2 ? 60 : 10); ++k)
            cr_expect_float_eq(scenes[0].results[i][k], scenes[1].results[i][k], 1e-12, "%s: result %d, element %lld",
                               norm->name, i, (long long)k);
    for (int i = 0; i < 2; ++i) close_scene(&scenes[i]);
}

Test(norm_forms, cotangent_of_two_readers) {
    check_two_readers(&ons_op_layer_normalization, &ons_op_layer_normalization_gradient);
    check_two_readers(&ons_op_rms_normalization, &ons_op_rms_normalization_gradient);
}

/* Uses of a weight are apart: a norm of one takes nothing. */
Test(norm_forms, norm_of_a_weight) {
    scene s;
    ons_shape row = ons_shape_make(1, (const int64_t[]){10});
    open_scene(&s, ONS_FLOAT32, ons_shape_make(3, (const int64_t[]){2, 3, 10}), row, row);
    ons_value_id y = ons_build(&s.builder, &ons_op_layer_normalization, ONS_IN(s.x, s.scale, s.bias), ONS_DEFAULTS);
    set_output(&s, two(&s, &ons_op_add, s.x, y));
    compute(&s);
    size_t count;
    cr_expect_eq(find_node(&s, &ons_op_layer_normalization_gradient, &count)->input_count, 5);
    close_scene(&s);
}

/* ----------------------------------------------------------------------------------------------- GroupNormalization */

static ons_value_id filled(scene *s, int64_t count, double value, bool initialiser) {
    ons_type type = ons_type_make(ONS_FLOAT32, ons_shape_make(1, &count));
    double words[8] = {0};
    for (int64_t i = 0; i < count; ++i) words[i] = value;
    ons_value_id id = ons_build_constant(&s->builder, "filled", &type, words);
    if (initialiser) ons_graph_value(s->graph, id)->kind = ONS_PARAMETER;
    return id;
}

/* As PyTorch's exporters write it below opset 18: `ones` is what they fill InstanceNormalization's scale with. The
 * newer one keeps it among the initialisers. */
static ons_value_id build_group_norm(scene *s, double ones, bool initialisers) {
    ons_builder *b = &s->builder;
    const ons_shape *x = &ons_graph_value(s->graph, s->x)->type.shape;
    ons_value_id grouped = two(s, &ons_op_reshape, s->x, ons_build_integers(b, (const int64_t[]){0, 4, -1}, 3));
    ons_value_id normalized =
        ons_build(b, &ons_op_instance_normalization,
                  ONS_IN(grouped, filled(s, 4, ones, initialisers), filled(s, 4, 0, initialisers)),
                  ONS_WITH(ONS_AT_FLOAT(0, 1e-3)));
    ons_value_id whole = two(s, &ons_op_reshape, normalized, ons_build_integers(b, x->dims, x->rank));
    return two(s, &ons_op_add, two(s, &ons_op_mul, whole, s->scale), s->bias);
}

static void open_group_norm(scene *s, double ones, bool initialisers) {
    open_scene(s, ONS_FLOAT32, ons_shape_make(4, (const int64_t[]){2, 8, 4, 8}),
               ons_shape_make(3, (const int64_t[]){8, 1, 1}), ons_shape_make(3, (const int64_t[]){8, 1, 1}));
    set_output(s, build_group_norm(s, ones, initialisers));
}

/* x is float32[2,8,4,8], 2048 bytes: the grouped view of it and the normalised values are kept; then x and the scale as
 * a vector. */
Test(norm_forms, group_norm) {
    for (int initialisers = 0; initialisers < 2; ++initialisers) {
        scene scenes[2];
        for (int i = 0; i < 2; ++i) open_group_norm(&scenes[i], 1, initialisers);
        expect_same(&scenes[0], &scenes[1], "GroupNormalization", initialisers, 1e-6);
        cr_expect(scenes[0].saved >= 2 * 2048, "%lld", (long long)scenes[0].saved);
        cr_expect_eq(scenes[1].saved, 2048 + 2 * 32 + 32, "%lld", (long long)scenes[1].saved);
        for (int i = 0; i < 2; ++i) close_scene(&scenes[i]);
    }
}

Test(norm_forms, instance_norm_with_a_scale_stays) {
    scene s;
    open_group_norm(&s, 2, false);
    must(ons_fuse(&s.graph, ons_kernels_registry()));
    cr_expect_eq(s.graph->nodes.count, 5);
    close_scene(&s);
}
