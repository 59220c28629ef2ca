/* From a file's graph to the bound one: what is printed after binding is all that is left. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "graph/passes/bind.h"
#include "onnx_import/import.h"
#include "tests/rooms/graph/fixture.h"
#include "tests/rooms/onnx_import/model_writer.h"

enum { FLOAT = ONS_FLOAT32, INT64 = ONS_INT64, BOOL = ONS_BOOL };

typedef struct bound {
    bytes file_bytes;
    ons_model_file *file;
    ons_store store;
    ons_graph *imported, *graph;
    scene *scene; /* for the registry */
} bound;

static ons_status *try_bind(bound *b, bytes graph, const ons_bind_options *options) {
    *b = (bound){.file_bytes = model(graph, 17), .scene = scene_open()};
    must(ons_model_file_open_memory(b->file_bytes.data, b->file_bytes.count, &b->file));
    must(ons_store_init(&b->store));
    must(ons_import(b->file, b->scene->registry, NULL, &b->store, NULL, &b->imported));
    return ons_bind(b->imported, b->scene->registry, options, NULL, &b->graph);
}

static void close_bound(bound *b) {
    ons_graph_free(b->graph);
    ons_graph_free(b->imported);
    ons_store_free(&b->store);
    ons_model_file_close(b->file);
    bytes_free(&b->file_bytes);
    scene_close(b->scene);
}

static void expect_text(const bound *b, const char *should) {
    must(ons_graph_verify(b->graph));
    char *text;
    must(ons_graph_print(b->graph, &text));
    cr_assert_str_eq(text, should, "the graph is\n%s", text);
    free(text);
}

static void put_integers(bytes *graph, const char *name, const int64_t *dims, const int64_t *values, size_t count) {
    put_message(graph, GRAPH_INITIALIZER, raw_tensor(name, INT64, dims, values, count * sizeof *values));
}

static bytes int_node(const char *op, const char *name, const char *inputs, const char *outputs, const char *attribute,
                      int64_t value) {
    bytes n = node(op, name, inputs, outputs);
    put_int_attribute(&n, attribute, value);
    return n;
}

/* Keras writes the constants of a Normalization as inputs of one row beside an image of any number. */
static bytes two_batches(void) {
    bytes g = {0};
    put_message(&g, GRAPH_NODE, node("Sub", "sub", "x,mean", "y"));
    put_message(&g, GRAPH_INPUT, value_info("x", FLOAT, "N,6"));
    put_message(&g, GRAPH_INPUT, value_info("mean", FLOAT, "1,6"));
    put_message(&g, GRAPH_OUTPUT, value_info("y", FLOAT, "N,6"));
    put_text(&g, GRAPH_NAME, "main");
    return g;
}

Test(bind, inputs_with_a_fixed_batch_and_without_get_the_same_one) {
    for (int64_t batch = 1; batch < 4; ++batch) {
        bound b;
        ons_bind_options options = {.batch = batch};
        must(try_bind(&b, two_batches(), &options));
        for (size_t i = 0; i < b.graph->inputs.count; ++i)
            cr_assert_eq(ons_graph_value(b.graph, b.graph->inputs.items[i])->type.shape.dims[0], batch);
        must(ons_graph_verify(b.graph));
        close_bound(&b);
    }
}

/* y = Reshape(x, [Shape(x)[0], -1 through arithmetic]): what exporters write for x.view(x.size(0), -1). */
static bytes shape_arithmetic(void) {
    bytes g = {0};
    put_message(&g, GRAPH_NODE, node("Shape", "shape", "x", "s"));
    put_message(&g, GRAPH_NODE, int_node("Gather", "gather", "s,zero", "n", "axis", 0));
    put_message(&g, GRAPH_NODE, node("Unsqueeze", "unsqueeze", "n,axes", "n1"));
    put_message(&g, GRAPH_NODE, int_node("Gather", "gather2", "s,one", "m", "axis", 0));
    put_message(&g, GRAPH_NODE, node("Mul", "mul", "m,two", "m2"));
    put_message(&g, GRAPH_NODE, node("Div", "div", "m2,two", "m3"));
    put_message(&g, GRAPH_NODE, node("Unsqueeze", "unsqueeze2", "m3,axes", "m4"));
    put_message(&g, GRAPH_NODE, int_node("Concat", "concat", "n1,m4", "shape2", "axis", 0));
    bytes cast = node("Cast", "cast", "shape2", "shape3");
    put_int_attribute(&cast, "to", INT64);
    put_message(&g, GRAPH_NODE, cast);
    put_message(&g, GRAPH_NODE, node("Reshape", "reshape", "x,shape3", "flat"));
    put_message(&g, GRAPH_NODE, node("Identity", "identity", "flat", "same"));
    put_message(&g, GRAPH_NODE, node("Relu", "relu", "same", "y"));
    put_integers(&g, "zero", SCALAR_DIMS, (const int64_t[]){0}, 1);
    put_integers(&g, "one", SCALAR_DIMS, (const int64_t[]){1}, 1);
    put_integers(&g, "two", SCALAR_DIMS, (const int64_t[]){2}, 1);
    put_integers(&g, "axes", DIMS(1), (const int64_t[]){0}, 1);
    put_message(&g, GRAPH_INPUT, value_info("x", FLOAT, "N,6"));
    put_message(&g, GRAPH_OUTPUT, value_info("y", FLOAT, "N,6"));
    put_text(&g, GRAPH_NAME, "main");
    return g;
}

Test(bind, shape_arithmetic_is_folded_away) {
    bound b;
    must(try_bind(&b, shape_arithmetic(), &(ons_bind_options){.batch = 4}));
    expect_text(&b, "graph main {\n"
                    "  input x : float32[4,6]\n"
                    "  constant shape3 : int64[2]\n"
                    "  flat = Reshape(x, shape3) allowzero=0 : float32[4,6] @forward\n"
                    "  y = Relu(flat) : float32[4,6] @forward\n"
                    "  return y\n"
                    "}\n");
    const int64_t *shape = ons_graph_constant(b.graph, ons_graph_find_value(b.graph, "shape3"))->data;
    cr_assert(shape[0] == 4 && shape[1] == 6);
    close_bound(&b);
}

Test(bind, symbols_from_options) {
    bound b;
    const ons_binding named = {.symbol = "N", .size = 3};
    must(try_bind(&b, shape_arithmetic(), &(ons_bind_options){.bindings = &named, .binding_count = 1, .batch = 5}));
    cr_assert_eq(ons_graph_value(b.graph, b.graph->inputs.items[0])->type.shape.dims[0], 3, "--dim comes first");
    close_bound(&b);
    const ons_binding array = {.input = "x", .shape = SHAPE(7, 6)};
    must(try_bind(&b, shape_arithmetic(), &(ons_bind_options){.bindings = &array, .binding_count = 1, .batch = 5}));
    cr_assert_eq(ons_graph_value(b.graph, b.graph->inputs.items[0])->type.shape.dims[0], 7, "the array's own shape");
    close_bound(&b);
    must_fail(try_bind(&b, shape_arithmetic(), &(ons_bind_options){.batch = 0}), ONS_INVALID_ARGUMENT, "--dim N=");
    close_bound(&b);
}

static bytes branch(const char *name, const char *op, const char *output) {
    bytes g = {0};
    put_message(&g, GRAPH_NODE, node(op, op, "x", output));
    put_text(&g, GRAPH_NAME, name);
    put_message(&g, GRAPH_OUTPUT, value_info(output, FLOAT, "2,3"));
    return g;
}

/* y = If(condition) { Relu(x) } else { Sigmoid(x) }, and a node that nobody needs. */
static bytes conditional(bool condition) {
    bytes g = {0}, choice = node("If", "choice", "condition", "chosen");
    put_graph_attribute(&choice, "then_branch", branch("yes", "Relu", "yes_out"));
    put_graph_attribute(&choice, "else_branch", branch("no", "Sigmoid", "no_out"));
    put_message(&g, GRAPH_NODE, choice);
    put_message(&g, GRAPH_NODE, node("Exp", "dead", "x", "unused"));
    put_message(&g, GRAPH_NODE, node("Add", "add", "chosen,w", "y"));
    put_message(&g, GRAPH_INITIALIZER, raw_tensor("condition", BOOL, SCALAR_DIMS, &condition, 1));
    put_message(&g, GRAPH_INITIALIZER, float_tensor("w", DIMS(3), (const float[]){1, 2, 3}, 3));
    put_message(&g, GRAPH_INPUT, value_info("x", FLOAT, "2,3"));
    put_message(&g, GRAPH_OUTPUT, value_info("y", FLOAT, "2,3"));
    put_text(&g, GRAPH_NAME, "main");
    return g;
}

Test(bind, constant_condition_takes_its_branch) {
    bound b;
    must(try_bind(&b, conditional(true), &(ons_bind_options){.batch = 0}));
    expect_text(&b, "graph main {\n"
                    "  input x : float32[2,3]\n"
                    "  parameter w : float32[3]\n"
                    "  chosen = Relu(x) : float32[2,3] @forward\n"
                    "  y = Add(chosen, w) : float32[2,3] @forward\n"
                    "  return y\n"
                    "}\n");
    close_bound(&b);
    must(try_bind(&b, conditional(false), &(ons_bind_options){.batch = 0}));
    cr_assert_eq(count_nodes(b.graph, "Sigmoid"), 1);
    cr_assert_eq(count_nodes(b.graph, "Relu"), 0);
    cr_assert_eq(b.graph->nodes.count, 2);
    close_bound(&b);
}

/* Weights are not folded: they change. A transposed weight stays a weight with its transposition. */
Test(bind, weights_are_no_constants) {
    bytes g = {0};
    put_message(&g, GRAPH_NODE, node("Transpose", "transpose", "w", "wt"));
    put_message(&g, GRAPH_NODE, node("MatMul", "matmul", "x,wt", "h"));
    put_message(&g, GRAPH_NODE, node("Mul", "mul", "half,half", "quarter"));
    put_message(&g, GRAPH_NODE, node("Mul", "scale", "h,quarter", "y"));
    put_message(&g, GRAPH_INITIALIZER, float_tensor("w", DIMS(4, 3), (const float[12]){1}, 12));
    put_message(&g, GRAPH_INITIALIZER, float_tensor("half", SCALAR_DIMS, (const float[]){0.5f}, 1));
    put_message(&g, GRAPH_INPUT, value_info("x", FLOAT, "2,3"));
    put_message(&g, GRAPH_OUTPUT, value_info("y", FLOAT, "2,4"));
    put_text(&g, GRAPH_NAME, "main");
    bound b;
    must(try_bind(&b, g, &(ons_bind_options){.batch = 0}));
    cr_assert_eq(b.graph->nodes.count, 3);
    cr_assert_eq(ons_graph_value(b.graph, ons_graph_find_value(b.graph, "w"))->kind, ONS_PARAMETER);
    const ons_tensor *quarter = ons_graph_constant(b.graph, ons_graph_find_value(b.graph, "quarter"));
    cr_assert_not_null(quarter);
    cr_assert_eq(*(const float *)quarter->data, 0.25f);
    cr_assert_null(ons_graph_constant(b.graph, ons_graph_find_value(b.graph, "w")));
    close_bound(&b);
}

/* All problems at once, each with its node. */
Test(bind, lists_all_blockers) {
    bytes g = {0};
    put_message(&g, GRAPH_NODE, node("MatMul", "first", "x,x", "a"));
    put_message(&g, GRAPH_NODE, node("Add", "second", "x,w", "b"));
    put_message(&g, GRAPH_NODE, node("Relu", "good", "x", "c"));
    put_message(&g, GRAPH_INITIALIZER, float_tensor("w", DIMS(5), (const float[]){1, 2, 3, 4, 5}, 5));
    put_message(&g, GRAPH_INPUT, value_info("x", FLOAT, "2,3"));
    put_message(&g, GRAPH_OUTPUT, value_info("a", FLOAT, "2,3"));
    put_message(&g, GRAPH_OUTPUT, value_info("b", FLOAT, "2,3"));
    put_message(&g, GRAPH_OUTPUT, value_info("c", FLOAT, "2,3"));
    put_text(&g, GRAPH_NAME, "main");
    bound b = {.file_bytes = model(g, 17), .scene = scene_open()};
    must(ons_model_file_open_memory(b.file_bytes.data, b.file_bytes.count, &b.file));
    must(ons_store_init(&b.store));
    must(ons_import(b.file, b.scene->registry, NULL, &b.store, NULL, &b.imported));
    must_fail(ons_bind(b.imported, b.scene->registry, &(ons_bind_options){.batch = 0}, NULL, &b.graph),
              ONS_INVALID_MODEL, "first");
    ons_blockers blockers = {0};
    must(ons_bind(b.imported, b.scene->registry, &(ons_bind_options){.batch = 0}, &blockers, &b.graph));
    cr_assert_eq(blockers.count, 2);
    cr_assert_str_eq(blockers.items[0].node, "first");
    cr_assert_str_eq(blockers.items[1].node, "second");
    ons_vector_free(&blockers);
    close_bound(&b);
}

/* ----------------------------------------------------------------------------------------------------- control flow */

static void put_list(bytes *graph, int field, const char *const *names, int type) {
    for (; *names != NULL; ++names) put_message(graph, field, value_info(*names, type, ""));
}
#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

/* state = Relu(state + x), collected = Exp(state); goes on while `goes_on`, one of its own values, holds. */
static bytes loop_body(const char *goes_on) {
    bytes g = {0};
    put_message(&g, GRAPH_NODE, node("Add", "add", "state,x", "sum"));
    put_message(&g, GRAPH_NODE, node("Relu", "relu", "sum", "next"));
    put_message(&g, GRAPH_NODE, node("Exp", "exp", "next", "kept"));
    put_message(&g, GRAPH_NODE, node("Less", "less", "i,one", "early"));
    put_message(&g, GRAPH_NODE, node("ReduceMax", "max", "next", "most"));
    put_message(&g, GRAPH_NODE, int_node("Cast", "cast", "most", "by_data", "to", BOOL));
    put_integers(&g, "one", SCALAR_DIMS, (const int64_t[]){1}, 1);
    put_text(&g, GRAPH_NAME, "body");
    put_list(&g, GRAPH_INPUT, NAMES("i", "going", "state"), FLOAT);
    put_list(&g, GRAPH_OUTPUT, NAMES(goes_on, "next", "kept"), FLOAT);
    return g;
}

static bytes looping(const char *inputs, const char *goes_on) {
    bytes g = {0}, loop = node("Loop", "loop", inputs, "last,all");
    put_graph_attribute(&loop, "body", loop_body(goes_on));
    put_message(&g, GRAPH_NODE, loop);
    put_message(&g, GRAPH_NODE, node("ReduceSum", "count", "x", "trips"));
    put_integers(&g, "three", SCALAR_DIMS, (const int64_t[]){3}, 1);
    put_integers(&g, "none", SCALAR_DIMS, (const int64_t[]){0}, 1);
    put_message(&g, GRAPH_INITIALIZER, raw_tensor("true", BOOL, SCALAR_DIMS, &(bool){true}, 1));
    put_message(&g, GRAPH_INPUT, value_info("x", FLOAT, "2"));
    put_message(&g, GRAPH_OUTPUT, value_info("last", FLOAT, "2"));
    put_message(&g, GRAPH_OUTPUT, value_info("all", FLOAT, "2,2"));
    put_text(&g, GRAPH_NAME, "main");
    return g;
}

/* The condition holds while i < 1: two steps of the three that the trip count allows. */
Test(bind, loop_is_unrolled) {
    bound b;
    must(try_bind(&b, looping("three,true,x", "early"), &(ons_bind_options){.batch = 0}));
    expect_text(&b, "graph main {\n"
                    "  input x : float32[2]\n"
                    "  constant integers : int64[2]\n"
                    "  constant integers_1 : int64[2]\n"
                    "  loop/0/sum = Add(x, x) : float32[2] @forward\n"
                    "  loop/0/next = Relu(loop/0/sum) : float32[2] @forward\n"
                    "  loop/0/kept = Exp(loop/0/next) : float32[2] @forward\n"
                    "  loop/1/sum = Add(loop/0/next, x) : float32[2] @forward\n"
                    "  last = Relu(loop/1/sum) : float32[2] @forward\n"
                    "  loop/1/kept = Exp(last) : float32[2] @forward\n"
                    "  loop_2 = Reshape(loop/0/kept, integers) allowzero=1 : float32[1,2] @forward\n"
                    "  loop_1_1 = Reshape(loop/1/kept, integers_1) allowzero=1 : float32[1,2] @forward\n"
                    "  all = Concat(loop_2, loop_1_1) axis=0 : float32[2,2] @forward\n"
                    "  return last, all\n"
                    "}\n");
    close_bound(&b);
}

/* A body that does nothing but hold the loop `inner`, if any. */
static bytes idle_body(bytes *inner) {
    bytes g = {0};
    if (inner != NULL) {
        bytes loop = node("Loop", "", "many,going,state", "next");
        put_graph_attribute(&loop, "body", *inner);
        put_message(&g, GRAPH_NODE, loop);
    } else {
        put_message(&g, GRAPH_NODE, node("Identity", "", "state", "next"));
    }
    put_message(&g, GRAPH_NODE, node("Identity", "", "going", "goes_on"));
    put_integers(&g, "many", SCALAR_DIMS, (const int64_t[]){4000}, 1);
    put_text(&g, GRAPH_NAME, "body");
    put_list(&g, GRAPH_INPUT, NAMES("i", "going", "state"), FLOAT);
    put_list(&g, GRAPH_OUTPUT, NAMES("goes_on", "next"), FLOAT);
    return g;
}

/* Some hundred bytes that would be 4000 x 4000 x 4000 steps. */
Test(bind, loops_in_loops_have_one_limit) {
    bytes innermost = idle_body(NULL), middle = idle_body(&innermost), outer = idle_body(&middle), g = {0};
    bytes loop = node("Loop", "loop", "many,true,x", "last");
    put_graph_attribute(&loop, "body", outer);
    put_message(&g, GRAPH_NODE, loop);
    put_integers(&g, "many", SCALAR_DIMS, (const int64_t[]){4000}, 1);
    put_message(&g, GRAPH_INITIALIZER, raw_tensor("true", BOOL, SCALAR_DIMS, &(bool){true}, 1));
    put_message(&g, GRAPH_INPUT, value_info("x", FLOAT, "2"));
    put_message(&g, GRAPH_OUTPUT, value_info("last", FLOAT, "2"));
    put_text(&g, GRAPH_NAME, "main");
    bound b;
    must_fail(try_bind(&b, g, &(ons_bind_options){.batch = 0}), ONS_UNSUPPORTED, "shorter loops");
    close_bound(&b);
}

Test(bind, loop_that_depends_on_data_says_so) {
    bound b;
    must_fail(try_bind(&b, looping("trips,,x", "going"), &(ons_bind_options){.batch = 0}), ONS_UNSUPPORTED,
              "the trip count depends on data");
    close_bound(&b);
    must_fail(try_bind(&b, looping("three,true,x", "by_data"), &(ons_bind_options){.batch = 0}), ONS_UNSUPPORTED,
              "goes on after step 0 depends on data");
    close_bound(&b);
    must_fail(try_bind(&b, looping(",,x", "going"), &(ons_bind_options){.batch = 0}), ONS_UNSUPPORTED, "never ends");
    close_bound(&b);
    must_fail(try_bind(&b, looping(",true,x", "going"), &(ons_bind_options){.batch = 0}), ONS_UNSUPPORTED,
              "shorter loop");
    close_bound(&b);
    must_fail(try_bind(&b, looping("three,true", "going"), &(ons_bind_options){.batch = 0}), ONS_INVALID_MODEL,
              "do not fit");
    close_bound(&b);
}

/* Backwards through the rows of x; the results are put together along axis 1. */
/* No step runs: the state goes through, and what would be collected has no entries of the body's shape. */
Test(bind, loop_without_steps) {
    bound b;
    must(try_bind(&b, looping("none,,x", "going"), &(ons_bind_options){.batch = 0}));
    const ons_value *all = ons_graph_value(b.graph, b.graph->outputs.items[1]);
    cr_assert_eq(b.graph->nodes.count, 0);
    cr_assert_str_eq(ons_graph_value(b.graph, b.graph->outputs.items[0])->name, "x");
    cr_assert(all->type.dtype == ONS_FLOAT32 && ons_shape_equal(&all->type.shape, &(ons_shape){2, {0, 2}}));
    close_bound(&b);
}

static bytes scanning(const char *x_dims) {
    bytes body = {0}, g = {0};
    put_message(&body, GRAPH_NODE, node("Add", "add", "state,row", "next"));
    put_message(&body, GRAPH_NODE, node("Mul", "mul", "next,next", "square"));
    put_text(&body, GRAPH_NAME, "body");
    put_list(&body, GRAPH_INPUT, NAMES("state", "row"), FLOAT);
    put_list(&body, GRAPH_OUTPUT, NAMES("next", "square"), FLOAT);
    bytes scan = node("Scan", "scan", "w,x", "last,squares");
    put_graph_attribute(&scan, "body", body);
    put_int_attribute(&scan, "num_scan_inputs", 1);
    put_ints_attribute(&scan, "scan_input_directions", (const int64_t[]){1}, 1);
    put_ints_attribute(&scan, "scan_output_axes", (const int64_t[]){-1}, 1);
    put_message(&g, GRAPH_NODE, scan);
    put_message(&g, GRAPH_INITIALIZER, float_tensor("w", DIMS(3), (const float[]){1, 2, 3}, 3));
    put_message(&g, GRAPH_INPUT, value_info("x", FLOAT, x_dims));
    put_message(&g, GRAPH_OUTPUT, value_info("last", FLOAT, "3"));
    put_message(&g, GRAPH_OUTPUT, value_info("squares", FLOAT, "3,N"));
    put_text(&g, GRAPH_NAME, "main");
    return g;
}

Test(bind, scan_without_steps) {
    bound b;
    must(try_bind(&b, scanning("0,3"), &(ons_bind_options){.batch = 0}));
    const ons_value *squares = ons_graph_value(b.graph, b.graph->outputs.items[1]);
    cr_assert_eq(b.graph->nodes.count, 0);
    cr_assert_str_eq(ons_graph_value(b.graph, b.graph->outputs.items[0])->name, "w");
    cr_assert(ons_shape_equal(&squares->type.shape, &(ons_shape){2, {3, 0}}));
    close_bound(&b);
}

Test(bind, scan_is_unrolled) {
    bound b;
    must(try_bind(&b, scanning("2,3"), &(ons_bind_options){.batch = 0}));
    expect_text(&b, "graph main {\n"
                    "  input x : float32[2,3]\n"
                    "  parameter w : float32[3]\n"
                    "  constant integers : int64[1]\n"
                    "  constant integers_1 : int64[1]\n"
                    "  constant integers_2 : int64[2]\n"
                    "  constant integers_3 : int64[2]\n"
                    "  scan, scan_1 = Split(x, _) axis=0 num_outputs=2 : float32[1,3] @forward\n"
                    "  scan_1_1 = Reshape(scan, integers) allowzero=1 : float32[3] @forward\n"
                    "  scan_2 = Reshape(scan_1, integers_1) allowzero=1 : float32[3] @forward\n"
                    "  scan/0/next = Add(w, scan_2) : float32[3] @forward\n"
                    "  scan/0/square = Mul(scan/0/next, scan/0/next) : float32[3] @forward\n"
                    "  last = Add(scan/0/next, scan_1_1) : float32[3] @forward\n"
                    "  scan/1/square = Mul(last, last) : float32[3] @forward\n"
                    "  scan_3 = Reshape(scan/0/square, integers_2) allowzero=1 : float32[3,1] @forward\n"
                    "  scan_4 = Reshape(scan/1/square, integers_3) allowzero=1 : float32[3,1] @forward\n"
                    "  squares = Concat(scan_3, scan_4) axis=1 : float32[3,2] @forward\n"
                    "  return last, squares\n"
                    "}\n");
    close_bound(&b);
}

/* Where data decide, both branches are computed. */
Test(bind, condition_by_data_chooses_elements) {
    bytes g = {0}, choice = node("If", "choice", "condition", "y");
    put_graph_attribute(&choice, "then_branch", branch("yes", "Relu", "yes_out"));
    put_graph_attribute(&choice, "else_branch", branch("no", "Sigmoid", "no_out"));
    put_message(&g, GRAPH_NODE, choice);
    put_message(&g, GRAPH_INPUT, value_info("x", FLOAT, "2,3"));
    put_message(&g, GRAPH_INPUT, value_info("condition", BOOL, "1"));
    put_message(&g, GRAPH_OUTPUT, value_info("y", FLOAT, "2,3"));
    put_text(&g, GRAPH_NAME, "main");
    bound b;
    must(try_bind(&b, g, &(ons_bind_options){.batch = 0}));
    expect_text(&b, "graph main {\n"
                    "  input x : float32[2,3]\n"
                    "  input condition : bool[1]\n"
                    "  constant integers : int64[0]\n"
                    "  yes_out = Relu(x) : float32[2,3] @forward\n"
                    "  no_out = Sigmoid(x) : float32[2,3] @forward\n"
                    "  choice = Reshape(condition, integers) allowzero=0 : bool[] @forward\n"
                    "  y = Where(choice, yes_out, no_out) : float32[2,3] @forward\n"
                    "  return y\n"
                    "}\n");
    close_bound(&b);
}

/* A wide projection cut into queries, keys and values: the limit is on pieces, not on the axis. */
Test(bind, a_long_axis_splits_into_few_pieces) {
    bytes g = {0};
    put_message(&g, GRAPH_NODE, int_node("SplitToSequence", "split", "x,size", "parts", "axis", 1));
    put_message(&g, GRAPH_NODE, node("SequenceAt", "at", "parts,last", "y"));
    put_integers(&g, "size", SCALAR_DIMS, (const int64_t[]){12288}, 1);
    put_integers(&g, "last", SCALAR_DIMS, (const int64_t[]){-1}, 1);
    put_message(&g, GRAPH_INPUT, value_info("x", FLOAT, "2,36864"));
    put_message(&g, GRAPH_OUTPUT, value_info("y", FLOAT, "2,12288"));
    put_text(&g, GRAPH_NAME, "main");
    bound b;
    must(try_bind(&b, g, &(ons_bind_options){.batch = 0}));
    close_bound(&b);
}

/* Two numbers of a file must not take all memory. */
Test(bind, a_constant_of_any_size_is_refused) {
    bytes g = {0};
    put_message(&g, GRAPH_NODE, node("ConstantOfShape", "zeros", "size", "z"));
    put_message(&g, GRAPH_NODE, node("EyeLike", "eye", "z", "i"));
    put_message(&g, GRAPH_NODE, node("Mul", "mul", "x,i", "y"));
    put_integers(&g, "size", (const int64_t[]){2, -1}, (const int64_t[]){31623, 31623}, 2);
    put_message(&g, GRAPH_INPUT, value_info("x", FLOAT, "1,1"));
    put_message(&g, GRAPH_OUTPUT, value_info("y", FLOAT, "31623,31623"));
    put_text(&g, GRAPH_NAME, "main");
    bound b;
    ons_status *status = try_bind(&b, g, &(ons_bind_options){.batch = 0});
    cr_assert_eq(ons_status_get_code(status), ONS_UNSUPPORTED);
    cr_expect(strstr(ons_status_get_message(status), "node 'eye' (EyeLike): makes a constant of"), "%s",
              ons_status_get_message(status));
    ons_status_free(status);
    close_bound(&b);
}

static bytes two_constants(void) {
    bytes g = {0};
    for (int i = 0; i < 2; ++i) {
        const char *zeros = i == 0 ? "z0" : "z1", *eye = i == 0 ? "i0" : "i1";
        put_message(&g, GRAPH_NODE, node("ConstantOfShape", zeros, "size", zeros));
        put_message(&g, GRAPH_NODE, node("EyeLike", eye, zeros, eye));
    }
    put_message(&g, GRAPH_NODE, node("Mul", "mul", "x,i0", "h"));
    put_message(&g, GRAPH_NODE, node("Mul", "again", "h,i1", "y"));
    put_integers(&g, "size", (const int64_t[]){2, -1}, (const int64_t[]){6, 6}, 2);
    put_message(&g, GRAPH_INPUT, value_info("x", FLOAT, "1,1"));
    put_message(&g, GRAPH_OUTPUT, value_info("y", FLOAT, "6,6"));
    put_text(&g, GRAPH_NAME, "main");
    return g;
}

/* Nor may many nodes, each with as much as one may have. */
Test(bind, constants_have_a_limit_together) {
    bound b;
    must(try_bind(&b, two_constants(), &(ons_bind_options){.folded_most = 200}));
    close_bound(&b);
    ons_status *status = try_bind(&b, two_constants(), &(ons_bind_options){.folded_most = 150});
    cr_assert_eq(ons_status_get_code(status), ONS_UNSUPPORTED);
    cr_expect(
        strstr(ons_status_get_message(status), "node 'i1' (EyeLike): makes a constant of 72 elements, and 42 more"),
        "%s", ons_status_get_message(status));
    ons_status_free(status);
    close_bound(&b);
}

Test(bind, sequences_are_resolved) {
    bytes g = {0};
    put_message(&g, GRAPH_NODE, node("SplitToSequence", "split", "x", "rows"));
    put_message(&g, GRAPH_NODE, node("SequenceAt", "at", "rows,last", "row"));
    put_message(&g, GRAPH_NODE, node("SequenceInsert", "insert", "rows,row,zero", "more"));
    put_message(&g, GRAPH_NODE, int_node("ConcatFromSequence", "join", "more", "y", "axis", 0));
    put_message(&g, GRAPH_NODE, node("SequenceLength", "length", "more", "n"));
    put_integers(&g, "last", SCALAR_DIMS, (const int64_t[]){-1}, 1);
    put_integers(&g, "zero", SCALAR_DIMS, (const int64_t[]){0}, 1);
    put_message(&g, GRAPH_INPUT, value_info("x", FLOAT, "2,3"));
    put_message(&g, GRAPH_OUTPUT, value_info("y", FLOAT, "3,3"));
    put_message(&g, GRAPH_OUTPUT, value_info("n", INT64, ""));
    put_text(&g, GRAPH_NAME, "main");
    bound b;
    must(try_bind(&b, g, &(ons_bind_options){.batch = 0}));
    expect_text(&b, "graph main {\n"
                    "  input x : float32[2,3]\n"
                    "  constant integers : int64[2]\n"
                    "  constant n : int64[]\n"
                    "  split, split_1 = Split(x, integers) axis=0 : float32[1,3] @forward\n"
                    "  y = Concat(split_1, split, split_1) axis=0 : float32[3,3] @forward\n"
                    "  return y, n\n"
                    "}\n");
    close_bound(&b);
}
