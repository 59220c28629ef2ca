/* Forms of elementwise operators: the spellings of Gelu that exporters write, Dropout and Cast made ready to run. */
#include <criterion/criterion.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "graph/build.h"
#include "graph/passes/bind.h"
#include "graph/passes/fuse.h"
#include "kernels/common/kernel.h"
#include "kernels/registry.h"

static void expect_success(ons_status *status) {
    cr_expect(status == NULL, "%s", ons_status_get_message(status));
    ons_status_free(status);
}

/* A graph with one input, x: float32[3,4]. */
typedef struct scene {
    ons_store store;
    ons_graph *graph;
    ons_builder builder;
    ons_value_id x;
} scene;

static void open_scene(scene *s) {
    ons_type type = ons_type_make(ONS_FLOAT32, ons_shape_make(2, (const int64_t[]){3, 4}));
    expect_success(ons_store_init(&s->store));
    expect_success(ons_graph_new(&s->store, "test", &s->graph));
    expect_success(ons_graph_add_value(s->graph, "x", ONS_INPUT, &type, &s->x));
    cr_assert(ons_vector_push(&s->graph->inputs, s->x));
    s->builder =
        (ons_builder){.graph = s->graph, .registry = ons_kernels_registry(), .phase = ONS_FORWARD, .origin = ONS_NONE};
}

static void set_output(scene *s, ons_value_id value) {
    expect_success(ons_builder_finish(&s->builder));
    cr_assert(value != ONS_NONE && ons_vector_push(&s->graph->outputs, value));
}

static void close_scene(scene *s) {
    ons_graph_free(s->graph);
    ons_store_free(&s->store);
}

/* --------------------------------------------------------------------------------------------------------- patterns */

/* Builds "Mul(x, 0.5)": a name of an ONNX operator, `x`, or a number. */
static ons_value_id build_expression(scene *s, const char **text) {
    while (**text == ' ' || **text == ',') ++*text;
    if (isdigit((unsigned char)**text)) {
        char *end;
        double number = strtod(*text, &end);
        *text = end;
        return ons_build_scalar(&s->builder, ONS_FLOAT32, number);
    }
    if (**text == 'x') {
        ++*text;
        return s->x;
    }
    char name[16] = "";
    size_t length = strcspn(*text, "(");
    memcpy(name, *text, length);
    *text += length + 1;
    ons_value_id inputs[2];
    uint32_t count = 0;
    while (**text != ')') {
        cr_assert(count < 2);
        inputs[count++] = build_expression(s, text);
    }
    ++*text;
    const ons_operator *op = ons_registry_find(ons_kernels_registry(), "", name, 17);
    cr_assert(op != NULL, "%s", name);
    return ons_build(&s->builder, op, (ons_inputs){inputs, count}, ONS_DEFAULTS);
}

static void expect_gelu(const char *expression, const char *approximate) {
    scene s;
    const char *text = expression;
    open_scene(&s);
    set_output(&s, build_expression(&s, &text));
    expect_success(ons_fuse(&s.graph, ons_kernels_registry()));
    cr_expect(s.graph->nodes.count == 1, "%s: %zu nodes are left", expression, s.graph->nodes.count);
    const ons_node *node = ons_graph_node(s.graph, 0);
    cr_expect(node->op == &ons_op_gelu, "%s became %s", expression, node->op->name);
    if (node->op == &ons_op_gelu) cr_expect_str_eq(node->attributes[0].s, approximate, "%s", expression);
    close_scene(&s);
}

Test(forms, gelu_by_erf) {
    const char *expressions[] = {
        "Mul(Mul(x, Add(Erf(Div(x, 1.4142135)), 1)), 0.5)",  "Mul(Mul(x, 0.5), Add(1, Erf(Div(x, 1.41421354))))",
        "Mul(x, Mul(Add(Erf(Mul(x, 0.70710677)), 1), 0.5))", "Mul(0.5, Mul(x, Add(Erf(Mul(0.70710677, x)), 1)))",
        "Mul(Mul(0.5, x), Add(Erf(Mul(x, 0.7071068)), 1))",  "Div(Mul(x, Add(1, Erf(Div(x, 1.4142135)))), 2)",
        "Mul(Mul(0.5, Add(Erf(Div(x, 1.4142135)), 1)), x)",  "Mul(Div(x, 2), Add(Erf(Div(x, 1.4142135)), 1))",
    };
    for (size_t i = 0; i < sizeof expressions / sizeof expressions[0]; ++i) expect_gelu(expressions[i], "none");
}

Test(forms, gelu_by_tanh) {
    const char *expressions[] = {
        "Mul(Mul(x, 0.5), Add(Tanh(Mul(0.7978846, Add(x, Mul(Pow(x, 3), 0.044715)))), 1))",
        "Mul(0.5, Mul(x, Add(1, Tanh(Mul(0.7978846, Add(x, Mul(0.044715, Mul(x, Mul(x, x)))))))))",
        "Mul(Mul(0.5, x), Add(1, Tanh(Mul(Add(x, Mul(Mul(Mul(0.044715, x), x), x)), 0.7978846))))",
        "Mul(Mul(0.5, x), Add(1, Tanh(Mul(Mul(x, 0.7978846), Add(1, Mul(Mul(0.044715, x), x))))))",
        "Mul(Mul(x, Add(Tanh(Mul(Add(Mul(Mul(x, 0.044715), Mul(x, x)), x), 0.79788456)), 1)), 0.5)",
    };
    for (size_t i = 0; i < sizeof expressions / sizeof expressions[0]; ++i) expect_gelu(expressions[i], "tanh");
}

Test(forms, other_numbers_are_no_gelu) {
    scene s;
    const char *text = "Mul(Mul(x, Add(Erf(Div(x, 1.5)), 1)), 0.5)";
    open_scene(&s);
    set_output(&s, build_expression(&s, &text));
    expect_success(ons_fuse(&s.graph, ons_kernels_registry()));
    cr_expect(s.graph->nodes.count == 5);
    close_scene(&s);
}

/* --------------------------------------------------------------------------------------------------- ready to run */

/* Binds a graph and gives the operators that are left, "" where there are none: "DropoutTraining ". */
static void bound_operators(scene *s, ons_mode mode, char text[static 256]) {
    ons_bind_options options = {.mode = mode};
    ons_graph *bound = NULL;
    expect_success(ons_bind(s->graph, ons_kernels_registry(), &options, NULL, &bound));
    text[0] = '\0';
    for (size_t i = 0; bound != NULL && i < bound->nodes.count; ++i) {
        strncat(text, bound->nodes.items[i].op->name, 60);
        strncat(text, " ", 2);
        if (bound->nodes.items[i].op == &ons_op_dropout_training)
            cr_expect_float_eq(bound->nodes.items[i].attributes[0].f, 0.25, 1e-7);
    }
    ons_graph_free(bound);
}

/* A Dropout between two Relu; `training` is its input of that name, 2: left out. */
static void expect_dropout(int training, ons_mode mode, const char *expected) {
    scene s;
    char text[256];
    open_scene(&s);
    ons_builder *b = &s.builder;
    ons_value_id value = ons_build(b, &ons_op_relu, ONS_IN(s.x), ONS_DEFAULTS);
    ons_value_id ratio = ons_build_scalar(b, ONS_FLOAT32, 0.25);
    ons_value_id flag = training == 2 ? ONS_NONE : ons_build_scalar(b, ONS_BOOL, training);
    value = ons_build(b, &ons_op_dropout, ONS_IN(value, ratio, flag), ONS_DEFAULTS);
    set_output(&s, ons_build(b, &ons_op_neg, ONS_IN(value), ONS_DEFAULTS));
    bound_operators(&s, mode, text);
    cr_expect_str_eq(text, expected, "training_mode %d", training);
    close_scene(&s);
}

Test(forms, dropout_drops_only_where_it_should) {
    ons_mode inference = {.training = false};
    ons_mode as_graph = {.training = true, .dropout = ONS_AS_GRAPH};
    ons_mode off = {.training = true, .dropout = ONS_AS_INFERENCE};
    ons_mode chosen = {.training = true, .dropout = ONS_AS_TRAINING, .dropout_ratio = 0.25};
    for (int training = 0; training <= 2; ++training) {
        expect_dropout(training, inference, "Relu Neg ");
        expect_dropout(training, off, "Relu Neg ");
        expect_dropout(training, chosen, "Relu DropoutTraining Neg ");
        expect_dropout(training, as_graph, training == 1 ? "Relu DropoutTraining Neg " : "Relu Neg ");
    }
}

Test(forms, a_cast_to_the_same_type_is_nothing) {
    scene s;
    char text[256];
    open_scene(&s);
    ons_builder *b = &s.builder;
    ons_value_id same = ons_build(b, &ons_op_cast, ONS_IN(s.x), ONS_WITH(ONS_AT_INT(0, ONS_FLOAT32)));
    ons_value_id other = ons_build(b, &ons_op_cast, ONS_IN(same), ONS_WITH(ONS_AT_INT(0, ONS_INT64)));
    set_output(&s, other);
    bound_operators(&s, (ons_mode){.training = true}, text);
    cr_expect_str_eq(text, "Cast ");
    close_scene(&s);
}
