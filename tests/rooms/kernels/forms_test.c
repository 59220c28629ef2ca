/* Forms of elementwise operators: the spellings of Gelu that exporters write, Dropout and Cast made ready to run. */
#include <criterion/criterion.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "graph/build.h"
#include "graph/passes/autograd.h"
#include "graph/passes/bind.h"
#include "graph/passes/fuse.h"
#include "kernels/common/operator/kernel.h"
#include "kernels/kernels.h"
#include "kernels/operators.h"

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
    char name[32] = "";
    size_t length = strcspn(*text, "(");
    cr_assert(length < sizeof name);
    memcpy(name, *text, length);
    *text += length + 1;
    ons_value_id inputs[3];
    uint32_t count = 0;
    while (**text != ')') {
        cr_assert(count < 3);
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
        "Mul(Mul(0.5, x), Erfc(Mul(Neg(x), 0.70710677)))",
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

/* ---- other activations: one node, which saves less for backward */

/* Bytes of forward results and of x that the backward nodes read. */
static int64_t saved_bytes(scene *s) {
    ons_parameter_gradient gradient;
    size_t forward = s->graph->nodes.count;
    ons_value_id y = s->graph->outputs.items[0], cotangent;
    expect_success(ons_graph_add_value(s->graph, "dy", ONS_INPUT, &ons_graph_value(s->graph, y)->type, &cotangent));
    expect_success(ons_differentiate(s->graph, ons_kernels_registry(), y, cotangent, &s->x, 1, NULL, &gradient));
    bool *read = calloc(s->graph->values.count, sizeof *read);
    cr_assert(read != NULL);
    for (size_t i = forward; i < s->graph->nodes.count; ++i)
        for (uint32_t k = 0; k < s->graph->nodes.items[i].input_count; ++k)
            if (s->graph->nodes.items[i].inputs[k] != ONS_NONE) read[s->graph->nodes.items[i].inputs[k]] = true;
    int64_t bytes = 0;
    for (ons_value_id id = 0; id < s->graph->values.count; ++id) {
        const ons_value *value = ons_graph_value(s->graph, id);
        bool made = value->producer != ONS_NONE && value->producer < forward;
        if (read[id] && (made || id == s->x)) bytes += ons_type_dense_bytes(&value->type);
    }
    free(read);
    return bytes;
}

/* x has 48 bytes. */
static void expect_activation(const char *expression, const ons_operator *op, int64_t before, int64_t after) {
    for (int fused = 0; fused < 2; ++fused) {
        scene s;
        const char *text = expression;
        open_scene(&s);
        set_output(&s, build_expression(&s, &text));
        if (fused) {
            expect_success(ons_fuse(&s.graph, ons_kernels_registry()));
            cr_expect(s.graph->nodes.count == 1, "%s: %zu nodes are left", expression, s.graph->nodes.count);
            const ons_operator *found = ons_graph_node(s.graph, 0)->op;
            cr_expect(found == op, "%s became %s", expression, found->name);
        }
        int64_t saved = saved_bytes(&s);
        cr_expect_eq(saved, fused ? after : before, "%s, fused %d: %lld bytes are saved", expression, fused,
                     (long long)saved);
        close_scene(&s);
    }
}

Test(forms, activations) {
    expect_activation("Mul(x, Sigmoid(x))", &ons_op_swish, 96, 48);
    expect_activation("Mul(Sigmoid(x), x)", &ons_op_swish, 96, 48);
    expect_activation("Mul(x, Sigmoid(Mul(1.702, x)))", &ons_op_swish, 96, 48);
    expect_activation("Div(x, Add(1, Exp(Neg(x))))", &ons_op_swish, 144, 48);
    expect_activation("Div(Mul(x, Clip(Add(x, 3), 0, 6)), 6)", &ons_op_hard_swish, 144, 48);
    expect_activation("Mul(x, Div(Clip(Add(3, x), 0, 6), 6))", &ons_op_hard_swish, 144, 48);
    expect_activation("Mul(0.16666667, Mul(Clip(Add(x, 3), 0, 6), x))", &ons_op_hard_swish, 144, 48);
    expect_activation("Div(Clip(Add(x, 3), 0, 6), 6)", &ons_op_hard_sigmoid, 48, 48);
    expect_activation("Mul(x, Tanh(Softplus(x)))", &ons_op_mish, 96, 48);
    expect_activation("Mul(x, Tanh(Log(Add(Exp(x), 1))))", &ons_op_mish, 192, 48);
}

/* A gated unit saves gate and value, not the gate's activation; what only broadcasts is left alone. */
Test(forms, swish_gate) {
    for (int broadcasts = 0; broadcasts < 2; ++broadcasts) {
        scene s;
        open_scene(&s);
        ons_builder *b = &s.builder;
        ons_type type = ons_type_make(ONS_FLOAT32, ons_shape_make(2, (const int64_t[]){broadcasts ? 1 : 3, 4}));
        ons_value_id value;
        expect_success(ons_graph_add_value(s.graph, "value", ONS_INPUT, &type, &value));
        ons_value_id gate = ons_build(b, &ons_op_sigmoid, ONS_IN(s.x), ONS_DEFAULTS);
        gate = ons_build(b, &ons_op_mul, ONS_IN(s.x, gate), ONS_DEFAULTS);
        set_output(&s, ons_build(b, &ons_op_mul, ONS_IN(gate, value), ONS_DEFAULTS));
        expect_success(ons_fuse(&s.graph, ons_kernels_registry()));
        cr_expect_eq(s.graph->nodes.count, broadcasts ? 2 : 1);
        cr_expect((ons_graph_node(s.graph, 0)->op == &ons_op_swi_glu) == !broadcasts);
        cr_expect_eq(saved_bytes(&s), 48, "of x alone: the value's own gradient is not asked for");
        close_scene(&s);
    }
}

/* HardSigmoid of 1/6 and 1/2 is the one that HardSwish has, the default of 1/5 is not. */
Test(forms, hard_swish_by_hard_sigmoid) {
    for (int sixths = 0; sixths < 2; ++sixths) {
        scene s;
        open_scene(&s);
        ons_value_id gate = ons_build(&s.builder, &ons_op_hard_sigmoid, ONS_IN(s.x),
                                      ONS_WITH(ONS_AT_FLOAT(0, sixths ? 1.0f / 6 : 0.2)));
        set_output(&s, ons_build(&s.builder, &ons_op_mul, ONS_IN(s.x, gate), ONS_DEFAULTS));
        expect_success(ons_fuse(&s.graph, ons_kernels_registry()));
        cr_expect_eq(s.graph->nodes.count, sixths ? 1 : 2);
        if (sixths) cr_expect(ons_graph_node(s.graph, 0)->op == &ons_op_hard_swish);
        close_scene(&s);
    }
}

/* Another value's sigmoid is a gate, and a constant that makes the result larger than x no part of an activation. */
Test(forms, gates_are_no_activations) {
    scene s;
    open_scene(&s);
    ons_builder *b = &s.builder;
    ons_value_id other = ons_build(b, &ons_op_tanh, ONS_IN(s.x), ONS_DEFAULTS);
    ons_value_id gate = ons_build(b, &ons_op_sigmoid, ONS_IN(other), ONS_DEFAULTS);
    ons_value_id y = ons_build(b, &ons_op_mul, ONS_IN(s.x, gate), ONS_DEFAULTS);
    ons_type one = ons_type_make(ONS_FLOAT32, ons_shape_make(3, (const int64_t[]){1, 1, 1}));
    ons_value_id factor = ons_build_constant(b, "factor", &one, &(double){1.7});
    ons_value_id scaled =
        ons_build(b, &ons_op_sigmoid, ONS_IN(ons_build(b, &ons_op_mul, ONS_IN(y, factor), ONS_DEFAULTS)), ONS_DEFAULTS);
    set_output(&s, ons_build(b, &ons_op_mul, ONS_IN(y, scaled), ONS_DEFAULTS));
    expect_success(ons_fuse(&s.graph, ons_kernels_registry()));
    cr_expect_eq(s.graph->nodes.count, 6);
    close_scene(&s);
}

/* LogSoftmax followed by NegativeLogLikelihoodLoss, along the same axis. */
Test(forms, class_loss_of_log_softmax) {
    for (int axis = 0; axis < 2; ++axis) {
        scene s;
        open_scene(&s);
        ons_builder *b = &s.builder;
        ons_type type = ons_type_make(ONS_INT64, ons_shape_make(1, (const int64_t[]){3}));
        ons_value_id labels;
        expect_success(ons_graph_add_value(s.graph, "labels", ONS_INPUT, &type, &labels));
        ons_value_id logs = ons_build(b, &ons_op_log_softmax, ONS_IN(s.x), ONS_WITH(ONS_AT_INT(0, axis)));
        set_output(&s, ons_build(b, &ons_op_negative_log_likelihood_loss, ONS_IN(logs, labels),
                                 ONS_WITH(ONS_AT_STRING(0, "sum"))));
        expect_success(ons_fuse(&s.graph, ons_kernels_registry()));
        cr_expect_eq(s.graph->nodes.count, axis == 1 ? 1 : 2);
        if (axis == 1) {
            const ons_node *node = ons_graph_node(s.graph, 0);
            cr_expect(node->op == &ons_op_softmax_cross_entropy_loss);
            cr_expect_str_eq(node->attributes[0].s, "sum");
        }
        close_scene(&s);
    }
}

/* A table's rows in another order of the indices: the indices are moved, unless the rows themselves are cut. */
Test(forms, transposed_lookups) {
    static const int64_t whole[] = {1, 0, 2}, cut[] = {0, 2, 1};
    for (int i = 0; i < 2; ++i) {
        scene s;
        open_scene(&s);
        ons_builder *b = &s.builder;
        ons_type type = ons_type_make(ONS_INT64, ons_shape_make(2, (const int64_t[]){5, 2}));
        ons_value_id indices;
        expect_success(ons_graph_add_value(s.graph, "indices", ONS_INPUT, &type, &indices));
        ons_value_id rows = ons_build(b, &ons_op_gather, ONS_IN(s.x, indices), ONS_DEFAULTS);
        set_output(&s,
                   ons_build(b, &ons_op_transpose, ONS_IN(rows), ONS_WITH(ONS_AT_INTS(0, 3, i == 0 ? whole : cut))));
        expect_success(ons_fuse(&s.graph, ons_kernels_registry()));
        cr_expect_eq(s.graph->nodes.count, 2);
        const ons_node *last = ons_graph_node(s.graph, 1), *first = ons_graph_node(s.graph, 0);
        cr_expect(last->op == (i == 0 ? &ons_op_gather : &ons_op_transpose));
        cr_expect(first->op == (i == 0 ? &ons_op_transpose : &ons_op_gather));
        close_scene(&s);
    }
}

/* ----------------------------------------------------------------------------------------------------- ready to run */

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

/* How many constants binding makes for a Dropout that is off, whose second output, the mask, has a name. */
static size_t constants_of_dropout(bool mask_is_read) {
    scene s;
    open_scene(&s);
    ons_builder *b = &s.builder;
    ons_value_id outputs[2];
    ons_build_node(b, &ons_op_dropout, ONS_IN(s.x), ONS_DEFAULTS, 2, NULL, outputs);
    set_output(&s, ons_build(b, &ons_op_neg, ONS_IN(outputs[0]), ONS_DEFAULTS));
    if (mask_is_read) set_output(&s, ons_build(b, &ons_op_not, ONS_IN(outputs[1]), ONS_DEFAULTS));
    size_t before = s.store.tensors.count;
    ons_bind_options options = {.mode = {.training = true, .dropout = ONS_AS_INFERENCE}};
    ons_graph *bound = NULL;
    expect_success(ons_bind(s.graph, ons_kernels_registry(), &options, NULL, &bound));
    size_t made = s.store.tensors.count - before;
    ons_graph_free(bound);
    close_scene(&s);
    return made;
}

Test(forms, a_mask_that_nobody_reads_is_not_made) {
    cr_expect_eq(constants_of_dropout(false), 0);
    cr_expect_gt(constants_of_dropout(true), 0);
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
