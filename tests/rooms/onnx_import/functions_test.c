/* The model's own functions. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/rooms/onnx_import/fixture.h"

static bytes function(const char *name) {
    bytes f = {0}, opset = {0};
    put_text(&f, FUNCTION_NAME, name);
    put_text(&f, FUNCTION_DOMAIN, "mine");
    put_integer(&opset, 2, 17);
    put_message(&f, FUNCTION_OPSET, opset);
    return f;
}

static bytes call(const char *name, const char *node_name, const char *inputs, const char *outputs) {
    bytes n = node(name, node_name, inputs, outputs);
    put_text(&n, NODE_DOMAIN, "mine");
    return n;
}

static bytes with_input_and_output(bytes g) {
    put_message(&g, GRAPH_INPUT, value_info("x", 1, "4"));
    put_message(&g, GRAPH_OUTPUT, value_info("y", 1, "4"));
    return g;
}

/* twice(a) = relu(a) + relu(a); scaled(a; axis, alpha = 3) = Scale(a) */
static bytes functions_model(bytes graph) {
    bytes b = model(with_input_and_output(graph), 17);
    bytes twice = function("twice");
    put_text(&twice, FUNCTION_INPUT, "a");
    put_text(&twice, FUNCTION_OUTPUT, "out");
    put_message(&twice, FUNCTION_NODE, node("Relu", "r", "a", "h"));
    put_message(&twice, FUNCTION_NODE, node("Add", "", "h,h", "out"));
    put_message(&b, MODEL_FUNCTION, twice);
    bytes scaled = function("scaled"), inner = node("Scale", "s", "a", "out"), given = {0};
    put_text(&scaled, FUNCTION_INPUT, "a");
    put_text(&scaled, FUNCTION_OUTPUT, "out");
    put_text(&scaled, FUNCTION_ATTRIBUTE, "which");
    put_text(&given, ATTRIBUTE_NAME, "by");
    put_integer(&given, ATTRIBUTE_TYPE, 1);
    put_float(&given, ATTRIBUTE_F, 3);
    put_message(&scaled, FUNCTION_DEFAULT, given);
    put_reference(&inner, "axis", 2, "which");
    put_reference(&inner, "alpha", 1, "by");
    put_message(&scaled, FUNCTION_NODE, inner);
    put_message(&b, MODEL_FUNCTION, scaled);
    bytes nested = function("nested"), first = call("scaled", "first", "a", "b");
    put_text(&nested, FUNCTION_INPUT, "a");
    put_text(&nested, FUNCTION_OUTPUT, "out");
    put_text(&nested, FUNCTION_ATTRIBUTE, "n");
    put_reference(&first, "which", 2, "n");
    put_message(&nested, FUNCTION_NODE, first);
    put_message(&nested, FUNCTION_NODE, call("twice", "second", "b", "out"));
    put_message(&b, MODEL_FUNCTION, nested);
    bytes through = function("through");
    put_text(&through, FUNCTION_INPUT, "a");
    put_text(&through, FUNCTION_OUTPUT, "a");
    put_message(&b, MODEL_FUNCTION, through);
    bytes loop = function("loop");
    put_text(&loop, FUNCTION_INPUT, "a");
    put_text(&loop, FUNCTION_OUTPUT, "out");
    put_message(&loop, FUNCTION_NODE, call("loop", "", "a", "out"));
    put_message(&b, MODEL_FUNCTION, loop);
    return b;
}

Test(functions, calls_are_replaced) {
    bytes g = {0};
    put_message(&g, GRAPH_NODE, call("twice", "c1", "x", "h"));
    put_message(&g, GRAPH_NODE, call("twice", "c1", "h", "y"));
    imported m = import_bytes(functions_model(g), NULL, false);
    cr_assert_str_eq(m.message, "");
    cr_assert_eq(m.graph->nodes.count, 4);
    cr_assert_str_eq(m.graph->nodes.items[0].name, "c1/r");
    find_value(&m, "c1/h");
    cr_assert_eq(find_value(&m, "h")->producer, 1, "results keep the names of the call");
    cr_assert_eq(find_value(&m, "y")->producer, 3);
    imported_free(&m);
}

Test(functions, attributes_references_and_defaults) {
    bytes g = {0}, c = call("nested", "n", "x", "y");
    put_int_attribute(&c, "n", 5);
    put_message(&g, GRAPH_NODE, c);
    imported m = import_bytes(functions_model(g), NULL, false);
    cr_assert_str_eq(m.message, "");
    const ons_node *scale = find_node(&m, "n/first/s");
    cr_assert_eq(scale->attributes[0].f, 3.0);
    cr_assert_eq(scale->attributes[1].i, 5);
    find_node(&m, "n/second/r");
    imported_free(&m);
}

Test(functions, default_is_overridden) {
    bytes g = {0}, c = call("scaled", "n", "x", "y");
    put_int_attribute(&c, "which", 1);
    put_float_attribute(&c, "by", 9);
    put_message(&g, GRAPH_NODE, c);
    imported m = import_bytes(functions_model(g), NULL, false);
    cr_assert_str_eq(m.message, "");
    cr_assert_eq(find_node(&m, "n/s")->attributes[0].f, 9.0);
    imported_free(&m);
}

/* A second function of the same name, which is relu alone. */
Test(functions, overloads) {
    bytes g = {0}, other = function("scaled"), c = call("scaled", "n", "x", "y");
    put_text(&c, NODE_OVERLOAD, "other");
    put_message(&g, GRAPH_NODE, c);
    bytes b = functions_model(g);
    put_text(&other, FUNCTION_OVERLOAD, "other");
    put_text(&other, FUNCTION_INPUT, "a");
    put_text(&other, FUNCTION_OUTPUT, "out");
    put_message(&other, FUNCTION_NODE, node("Relu", "r", "a", "out"));
    put_message(&b, MODEL_FUNCTION, other);
    imported m = import_bytes(b, NULL, false);
    cr_assert_str_eq(m.message, "");
    cr_assert_eq(m.graph->nodes.count, 1);
    find_node(&m, "n/r");
    imported_free(&m);
}

Test(functions, input_handed_through) {
    bytes g = {0};
    put_message(&g, GRAPH_NODE, call("through", "n", "x", "y"));
    imported m = import_bytes(functions_model(g), NULL, false);
    cr_assert_str_eq(m.message, "");
    cr_assert_eq(m.graph->nodes.count, 1);
    cr_assert_neq(find_value(&m, "y")->producer, ONS_NONE);
    imported_free(&m);
}

Test(functions, what_is_refused) {
    bytes g = {0};
    put_message(&g, GRAPH_NODE, call("loop", "n", "x", "y"));
    expect_failure(functions_model(g), ONS_INVALID_MODEL, "function 'loop' calls itself");
    g = (bytes){0};
    put_message(&g, GRAPH_NODE, call("scaled", "n", "x", "y"));
    expect_failure(functions_model(g), ONS_INVALID_MODEL, "lacks the attribute 'which'");
    g = (bytes){0};
    put_message(&g, GRAPH_NODE, call("twice", "n", "x,x", "y"));
    expect_failure(functions_model(g), ONS_INVALID_MODEL, "has 1 inputs");
    g = (bytes){0};
    put_message(&g, GRAPH_NODE, call("twice", "n", "x", "y,z"));
    expect_failure(functions_model(g), ONS_INVALID_MODEL, "has 1 outputs");
}

/* f1 calls f0 twice, f2 calls f1 twice, …: 2^40 nodes from a few hundred bytes. */
Test(functions, explosion_is_refused) {
    bytes g = {0};
    put_message(&g, GRAPH_NODE, call("f40", "n", "x", "y"));
    bytes b = model(with_input_and_output(g), 17);
    for (int i = 0; i <= 40; ++i) {
        char name[8], inner[8];
        snprintf(name, sizeof name, "f%d", i);
        snprintf(inner, sizeof inner, "f%d", i - 1);
        bytes f = function(name);
        put_text(&f, FUNCTION_INPUT, "a");
        put_text(&f, FUNCTION_OUTPUT, "out");
        put_message(&f, FUNCTION_NODE, i == 0 ? node("Relu", "", "a", "b") : call(inner, "", "a", "b"));
        put_message(&f, FUNCTION_NODE, i == 0 ? node("Relu", "", "b", "out") : call(inner, "", "b", "out"));
        put_message(&b, MODEL_FUNCTION, f);
    }
    expect_failure(b, ONS_UNSUPPORTED, "nodes, those of its functions counted");
}
