/* What the CUDA kernels of joined nodes promise: the bits of the nodes in a row. Attention that reads queries, keys and
 * values where one layer has put them; a product that something is added to, where kernels of ours add; the gradient
 * that cross entropy makes with the loss. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "graph/build.h"
#include "graph/passes/autograd.h"
#include "graph/passes/fuse_gemm.h"
#include "kernels/attention/attention_operands.h"
#include "kernels/kernels.h"
#include "kernels/operators.h"
#include "tests/rooms/kernels/emulation/emulated.h"
#include "tests/rooms/kernels/graph_run.h"

static const ons_dtype dtypes[] = {ONS_FLOAT32, ONS_BFLOAT16, ONS_FLOAT16};
enum { DTYPES = 3 };

static void must(ons_status *status) { cr_assert(status == NULL, "%s", ons_status_get_message(status)); }

enum { RESULTS_MOST = 3 };

typedef struct scene {
    ons_store store;
    ons_graph *graph;
    ons_builder builder;
    ons_value_id results[RESULTS_MOST];
    size_t count; /* of them */
    void **values;
} scene;

#define SHAPE(...) ons_shape_make(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (const int64_t[]){__VA_ARGS__})

static void open_scene(scene *s) {
    memset(s, 0, sizeof *s);
    must(ons_store_init(&s->store));
    must(ons_graph_new(&s->store, "test", &s->graph));
    s->builder =
        (ons_builder){.graph = s->graph, .registry = ons_kernels_registry(), .phase = ONS_FORWARD, .origin = ONS_NONE};
}

static void close_scene(scene *s) {
    ons_graph_run_free(s->graph, s->values);
    ons_graph_free(s->graph);
    ons_store_free(&s->store);
}

static ons_value_id source(scene *s, const char *name, ons_dtype dtype, ons_shape shape) {
    ons_type type = ons_type_make(dtype, shape);
    ons_value_id id;
    must(ons_graph_add_value(s->graph, name, ONS_INPUT, &type, &id));
    return id;
}

static void show(scene *s, ons_value_id result) {
    must(ons_builder_finish(&s->builder));
    cr_assert(result != ONS_NONE && ons_vector_push(&s->graph->outputs, result));
    s->results[s->count++] = result;
}

static void run(scene *s) {
    must(ons_graph_verify(s->graph));
    must(ons_graph_run(s->graph, &ons_target_emulated, &s->values));
}

static size_t count_nodes(const scene *s, const ons_operator *op) {
    size_t count = 0;
    for (size_t i = 0; i < s->graph->nodes.count; ++i) count += s->graph->nodes.items[i].op == op;
    return count;
}

/* The first result that differs, or the number of results. */
static size_t first_difference(const scene *a, const scene *b) {
    cr_assert_eq(a->count, b->count);
    for (size_t i = 0; i < a->count; ++i) {
        const ons_type *type = &ons_graph_value(a->graph, a->results[i])->type;
        cr_assert_eq(ons_type_dense_bytes(type), ons_type_dense_bytes(&ons_graph_value(b->graph, b->results[i])->type));
        if (memcmp(a->values[a->results[i]], b->values[b->results[i]], (size_t)ons_type_dense_bytes(type)) != 0)
            return i;
    }
    return a->count;
}

/* -------------------------------------------------------------------------------------------------------- attention */

typedef struct attention_form {
    const char *name;
    ons_attention_order order;
    ons_shape shape, mask; /* of the packed operand; rank 0: no mask */
    bool causal, drops;
    ons_dtype dtype;
} attention_form;

/* Split's pieces, or three times the whole. */
static ons_value_id attend(scene *s, const attention_form *f, bool packed) {
    ons_value_id whole = source(s, "whole", f->dtype, f->shape), parts[] = {whole, whole, whole}, results[2];
    ons_value_id mask = ONS_NONE, kept = ONS_NONE;
    const int64_t *dims = f->shape.dims;
    bool outer = f->order == ONS_POSITIONS_OUTER;
    int64_t batch = dims[outer ? 1 : 0], positions = dims[outer ? 0 : 1];
    if (!packed) ons_build_node(&s->builder, &ons_op_split, ONS_IN(whole), ONS_WITH(ONS_AT_INT(0, 2)), 3, NULL, parts);
    if (f->mask.rank > 0) mask = source(s, "mask", ONS_FLOAT32, f->mask);
    if (f->drops)
        kept = ons_build(&s->builder, &ons_op_greater,
                         ONS_IN(source(s, "kept", ONS_FLOAT32, SHAPE(batch, dims[2] / 3, positions, positions)),
                                ons_build_scalar(&s->builder, ONS_FLOAT32, -0.6)),
                         ONS_DEFAULTS);
    ons_build_node(
        &s->builder, &ons_op_attention, ONS_IN(parts[0], parts[1], parts[2], mask, kept),
        ONS_WITH(ONS_AT_FLOAT(ONS_ATTENTION_SCALE, 0.3), ONS_AT_INT(ONS_ATTENTION_CAUSAL, f->causal),
                 ONS_AT_INT(ONS_ATTENTION_QUERY_ORDER, f->order), ONS_AT_INT(ONS_ATTENTION_KEY_ORDER, f->order),
                 ONS_AT_INT(ONS_ATTENTION_VALUE_ORDER, f->order), ONS_AT_INT(ONS_ATTENTION_RESULT_ORDER, f->order),
                 ONS_AT_FLOAT(ONS_ATTENTION_RATIO, f->drops ? 0.2 : 0), ONS_AT_INT(ONS_ATTENTION_PACKED, packed)),
        2, NULL, results);
    show(s, results[0]);
    return whole;
}

/* The result, and the gradient of the layer's: one node writes it, or Concat joins three. */
static void run_attention(scene *s, const attention_form *f, bool packed) {
    ons_parameter_gradient gradient;
    open_scene(s);
    ons_value_id whole = attend(s, f, packed), y = s->results[0];
    ons_value_id dy = source(s, "dy", f->dtype, ons_graph_value(s->graph, y)->type.shape);
    must(ons_differentiate(s->graph, ons_kernels_registry(), y, dy, &whole, 1, NULL, &gradient));
    cr_assert_eq(gradient.use_count, 1);
    show(s, gradient.uses[0]);
    cr_assert_eq(count_nodes(s, &ons_op_split), packed ? 0 : 1);
    cr_assert_eq(count_nodes(s, &ons_op_concat), packed ? 0 : 1);
    cr_assert_eq(count_nodes(s, &ons_op_attention_gradient), 1);
    run(s);
}

Test(joined_bits, attention_of_one_operand) {
    static const attention_form forms[] = {
        {"plain", ONS_POSITIONS_FIRST, {4, {2, 9, 9, 4}}, {0}, false, false, ONS_NO_DTYPE},
        {"causal", ONS_POSITIONS_FIRST, {4, {2, 37, 6, 17}}, {0}, true, false, ONS_NO_DTYPE},
        {"a mask of keys", ONS_POSITIONS_FIRST, {4, {2, 35, 6, 16}}, {4, {2, 1, 1, 35}}, false, false, ONS_NO_DTYPE},
        {"a mask, causal", ONS_POSITIONS_FIRST, {4, {2, 35, 6, 16}}, {3, {2, 35, 35}}, true, false, ONS_NO_DTYPE},
        {"dropped", ONS_POSITIONS_FIRST, {4, {2, 21, 6, 8}}, {0}, true, true, ONS_NO_DTYPE},
        {"time first", ONS_POSITIONS_OUTER, {4, {35, 2, 6, 17}}, {0}, false, false, ONS_NO_DTYPE},
        {"time first, causal, a mask",
         ONS_POSITIONS_OUTER,
         {4, {33, 3, 9, 40}},
         {3, {3, 1, 33}},
         true,
         true,
         ONS_NO_DTYPE},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; ++i)
        for (int d = 0; d < DTYPES; ++d) {
            attention_form f = forms[i];
            scene apart, packed;
            f.dtype = dtypes[d];
            run_attention(&apart, &f, false);
            run_attention(&packed, &f, true);
            cr_expect_eq(first_difference(&apart, &packed), 2, "%s in %s: the %s differs", f.name,
                         ons_dtype_name(f.dtype), first_difference(&apart, &packed) == 0 ? "result" : "gradient");
            close_scene(&apart);
            close_scene(&packed);
        }
}

/* --------------------------------------------------------------------------------------------- sums behind products */

typedef enum product { LAYER, LAYER_TRANSPOSED, PLAIN, BACK, BACK_TRANSPOSED, PRODUCTS } product;

static ons_value_id multiply(scene *s, product kind, ons_dtype dtype, ons_shape rows, int64_t outputs) {
    bool transposed = kind == LAYER_TRANSPOSED || kind == BACK_TRANSPOSED;
    int64_t inputs = rows.dims[rows.rank - 1];
    ons_value_id x = source(s, "x", dtype, rows),
                 w = source(s, "w", dtype, transposed ? SHAPE(outputs, inputs) : SHAPE(inputs, outputs));
    if (kind == PLAIN) return ons_build(&s->builder, &ons_op_matmul, ONS_IN(x, w), ONS_DEFAULTS);
    if (kind == BACK || kind == BACK_TRANSPOSED)
        return ons_build(&s->builder, &ons_op_matmul_transposed, ONS_IN(x, w), ONS_WITH(ONS_AT_INT(1, transposed)));
    return ons_build(&s->builder, &ons_op_linear, ONS_IN(x, w, source(s, "b", dtype, SHAPE(outputs))),
                     ONS_WITH(ONS_AT_INT(0, transposed)));
}

/* The residual stream is the sum's operand `place`. */
static void run_sum(scene *s, product kind, ons_dtype dtype, ons_shape rows, int64_t outputs, int place, bool joined) {
    open_scene(s);
    ons_value_id y = multiply(s, kind, dtype, rows, outputs);
    ons_value_id stream = source(s, "stream", dtype, ons_builder_type(&s->builder, y).shape);
    show(s, place == 0 ? ons_build(&s->builder, &ons_op_add, ONS_IN(stream, y), ONS_DEFAULTS)
                       : ons_build(&s->builder, &ons_op_add, ONS_IN(y, stream), ONS_DEFAULTS));
    ons_tracked_values tracked = {s->results, s->count};
    if (joined) must(ons_fuse_gemm(s->graph, ons_kernels_registry(), ons_gemm_fusion_rules(true), &tracked));
    cr_assert_eq(count_nodes(s, &ons_op_linear_add), joined);
    cr_assert_eq(count_nodes(s, &ons_op_add), !joined);
    run(s);
}

/* How many of the products differ from the two nodes. */
static size_t count_differences(ons_dtype dtype) {
    const struct {
        ons_shape rows;
        int64_t outputs;
    } sizes[] = {{SHAPE(5, 7), 3}, {SHAPE(2, 3, 40), 24}, {SHAPE(1, 33), 8}};
    size_t differences = 0;
    for (int i = 0; i < 3; ++i)
        for (int kind = 0; kind < 2 * PRODUCTS; ++kind) {
            scene apart, joined;
            run_sum(&apart, kind / 2, dtype, sizes[i].rows, sizes[i].outputs, kind % 2, false);
            run_sum(&joined, kind / 2, dtype, sizes[i].rows, sizes[i].outputs, kind % 2, true);
            differences += first_difference(&apart, &joined) == 0;
            close_scene(&apart);
            close_scene(&joined);
        }
    return differences;
}

Test(joined_bits, sums_behind_products) {
    for (int d = 0; d < DTYPES; ++d) {
        cr_assert_eq(setenv("ONSTAGE_CUBLASLT_EPILOGUES", "off", 1), 0);
        size_t by_kernels = count_differences(dtypes[d]);
        cr_assert_eq(unsetenv("ONSTAGE_CUBLASLT_EPILOGUES"), 0);
        cr_expect_eq(by_kernels, 0, "%zu products in %s", by_kernels, ons_dtype_name(dtypes[d]));
        /* A product that begins from what is added is rounded once: these are not the two nodes' bits. */
        cr_expect_gt(count_differences(dtypes[d]), 0, "the library was not asked in %s", ons_dtype_name(dtypes[d]));
    }
}

/* ---------------------------------------------------------------------------------------------------- cross entropy */

typedef struct loss_form {
    int64_t rows, classes;
    bool weighted;
    double smoothing;
    ons_dtype dtype;
} loss_form;

/* The loss and the logits' gradient, made with it or by a node of its own from the saved log sums. */
static void run_loss(scene *s, const loss_form *f, bool together) {
    int64_t *classes = calloc((size_t)f->rows, sizeof *classes);
    ons_type targets = ons_type_make(ONS_INT64, SHAPE(f->rows));
    ons_value_id results[3];
    open_scene(s);
    for (int64_t i = 0; i < f->rows; ++i) classes[i] = i % 5 == 4 ? -100 : (i * 3779 + f->classes - 1) % f->classes;
    ons_value_id x = source(s, "x", f->dtype, SHAPE(f->rows, f->classes)),
                 target = ons_build_constant(&s->builder, "targets", &targets, classes),
                 weights = f->weighted ? source(s, "weights", ONS_FLOAT32, SHAPE(f->classes)) : (ons_value_id)ONS_NONE;
    const ons_settings settings = ONS_WITH(ONS_AT_FLOAT(2, f->smoothing));
    ons_build_node(&s->builder, &ons_op_cross_entropy, ONS_IN(x, target, weights), settings, together ? 3 : 2, NULL,
                   results);
    if (!together)
        results[2] =
            ons_build(&s->builder, &ons_op_cross_entropy_gradient,
                      ONS_IN(x, target, results[1], ons_build_scalar(&s->builder, ONS_FLOAT32, 1), weights), settings);
    for (int i = 0; i < 3; ++i) show(s, results[i]);
    free(classes);
    run(s);
}

/* Rows of a warp, of a block, and of a wide block, whose threads are other ones than those of the gradient's node. Not
 * with weights that are smoothed, too: their sum over the classes is another one with as many threads. */
Test(joined_bits, gradient_of_cross_entropy) {
    static const loss_form forms[] = {{7, 67, false, 0, ONS_NO_DTYPE},     {5, 1931, true, 0, ONS_NO_DTYPE},
                                      {3, 8192, false, 0.1, ONS_NO_DTYPE}, {6, 8193, false, 0, ONS_NO_DTYPE},
                                      {4, 9001, false, 0.1, ONS_NO_DTYPE}, {3, 9008, true, 0, ONS_NO_DTYPE},
                                      {6, 33000, false, 0, ONS_NO_DTYPE}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; ++i)
        for (int d = 0; d < DTYPES; ++d) {
            loss_form f = forms[i];
            scene apart, together;
            f.dtype = dtypes[d];
            run_loss(&apart, &f, false);
            run_loss(&together, &f, true);
            cr_expect_eq(first_difference(&apart, &together), 3, "%lld classes in %s: result %zu", (long long)f.classes,
                         ons_dtype_name(f.dtype), first_difference(&apart, &together));
            close_scene(&apart);
            close_scene(&together);
        }
}
