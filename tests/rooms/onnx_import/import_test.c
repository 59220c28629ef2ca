#include "onnx_import/import.h"

#include <criterion/criterion.h>
#include <string.h>

#include "tests/rooms/onnx_import/fixture.h"

static const float four[] = {1, 2, 3, 4};

/* x[N,4] → Add w → Relu → y */
static bytes small_graph(void) {
    bytes g = {0};
    put_text(&g, GRAPH_NAME, "small");
    put_message(&g, GRAPH_NODE, node("Add", "add", "x,w", "h"));
    put_message(&g, GRAPH_NODE, node("Relu", "relu", "h", "y"));
    put_message(&g, GRAPH_INITIALIZER, raw_tensor("w", 1, DIMS(4), four, sizeof four));
    put_message(&g, GRAPH_INPUT, value_info("x", 1, "N,4"));
    put_message(&g, GRAPH_OUTPUT, value_info("y", 1, "N,4"));
    return g;
}

Test(import, small_model) {
    imported m = import_bytes(model(small_graph(), 17), NULL, false);
    cr_assert_str_eq(m.message, "");
    cr_assert_eq(m.graph->inputs.count, 1);
    cr_assert_eq(m.graph->outputs.count, 1);
    cr_assert_eq(m.graph->nodes.count, 2);
    const ons_value *x = find_value(&m, "x"), *w = find_value(&m, "w");
    cr_assert_eq(x->kind, ONS_INPUT);
    cr_assert_eq(x->type.shape.dims[0], ONS_DIM_UNKNOWN);
    cr_assert_eq(x->type.shape.dims[1], 4);
    cr_assert_str_eq(m.graph->symbols[0][0], "N");
    cr_assert_null(m.graph->symbols[0][1]);
    cr_assert_eq(w->kind, ONS_PARAMETER);
    cr_assert_eq(w->reason, ONS_WEIGHT);
    cr_assert_arr_eq(value_data(&m, "w"), four, sizeof four);
    cr_assert_eq(find_value(&m, "y")->producer, ons_graph_find_node(m.graph, "relu"));
    ons_model_info info;
    ons_model_file_info(m.file, &info);
    cr_assert_str_eq(info.producer_name, "test");
    cr_assert_str_eq(info.graph_name, "small");
    cr_assert_eq(info.opset, 17);
    cr_assert_eq(info.initialiser_count, 1);
    imported_free(&m);
}

Test(import, unsorted_nodes_are_sorted_and_names_made) {
    bytes g = {0};
    put_message(&g, GRAPH_NODE, node("Relu", "", "b", "c"));
    put_message(&g, GRAPH_NODE, node("Relu", "same", "a", "b"));
    put_message(&g, GRAPH_NODE, node("Relu", "same", "x", "a"));
    put_message(&g, GRAPH_INPUT, value_info("x", 1, "4"));
    put_message(&g, GRAPH_OUTPUT, value_info("c", 1, "4"));
    imported m = import_bytes(model(g, 17), NULL, false);
    cr_assert_str_eq(m.message, "");
    cr_assert_eq(m.graph->nodes.items[0].outputs[0], ons_graph_find_value(m.graph, "a"));
    cr_assert_eq(m.graph->nodes.items[2].outputs[0], ons_graph_find_value(m.graph, "c"));
    cr_assert_str_eq(m.graph->nodes.items[0].name, "same");
    cr_assert_str_eq(m.graph->nodes.items[1].name, "same_1");
    cr_assert_str_eq(m.graph->nodes.items[2].name, "Relu_0");
    imported_free(&m);
}

Test(import, what_is_no_weight_and_why) {
    const int64_t table[] = {1, 2, 3, 4};
    const float mask[] = {0, -__builtin_inff(), 0, -1e38f};
    bytes g = {0};
    put_message(&g, GRAPH_INITIALIZER, raw_tensor("table", 7, DIMS(4), table, sizeof table));
    put_message(&g, GRAPH_INITIALIZER, raw_tensor("scalar", 1, SCALAR_DIMS, four, 4));
    put_message(&g, GRAPH_INITIALIZER, raw_tensor("mask", 1, DIMS(4), mask, sizeof mask));
    put_message(&g, GRAPH_INITIALIZER, raw_tensor("scales", 1, DIMS(4), four, sizeof four));
    put_message(&g, GRAPH_INITIALIZER, raw_tensor("weight", 1, DIMS(4), four, sizeof four));
    bytes constant = node("Constant", "", "", "k");
    put_tensor_attribute(&constant, "value", raw_tensor("", 1, DIMS(4), four, sizeof four));
    put_message(&g, GRAPH_NODE, constant);
    put_message(&g, GRAPH_NODE, node("Add", "", "table,scalar", "a"));
    put_message(&g, GRAPH_NODE, node("Add", "", "a,mask", "b"));
    put_message(&g, GRAPH_NODE, node("Resize", "", "b,scales", "c"));
    put_message(&g, GRAPH_NODE, node("Add", "", "c,weight", "d"));
    put_message(&g, GRAPH_NODE, node("Add", "", "d,k", "e"));
    put_message(&g, GRAPH_OUTPUT, value_info("e", 1, "4"));
    imported m = import_bytes(model(g, 17), NULL, false);
    cr_assert_str_eq(m.message, "");
    const struct {
        const char *name;
        ons_value_kind kind;
        ons_role_reason reason;
    } expected[] = {
        {"table", ONS_CONSTANT, ONS_NOT_FLOAT},       {"scalar", ONS_CONSTANT, ONS_SCALAR},
        {"mask", ONS_CONSTANT, ONS_HOLDS_INFINITIES}, {"scales", ONS_CONSTANT, ONS_NOT_REACHED},
        {"weight", ONS_PARAMETER, ONS_WEIGHT},        {"k", ONS_CONSTANT, ONS_FROM_CONSTANT_NODE},
    };
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; ++i) {
        const ons_value *value = find_value(&m, expected[i].name);
        cr_expect_eq(value->kind, expected[i].kind, "%s", expected[i].name);
        cr_expect_eq(value->reason, expected[i].reason, "%s", expected[i].name);
    }
    cr_assert_eq(m.graph->nodes.count, 5, "the Constant is gone");
    imported_free(&m);
}

Test(import, forms_of_constant) {
    bytes g = {0};
    bytes integer = node("Constant", "", "", "integer"), real = node("Constant", "", "", "real");
    put_int_attribute(&integer, "value_int", -7);
    put_float_attribute(&real, "value_float", 2.5f);
    bytes list = node("Constant", "", "", "list"), attribute = {0};
    put_text(&attribute, ATTRIBUTE_NAME, "value_ints");
    put_integer(&attribute, ATTRIBUTE_TYPE, 7);
    put_integer(&attribute, ATTRIBUTE_INTS, 3);
    put_integer(&attribute, ATTRIBUTE_INTS, (uint64_t)-4);
    put_message(&list, NODE_ATTRIBUTE, attribute);
    put_message(&g, GRAPH_NODE, integer);
    put_message(&g, GRAPH_NODE, real);
    put_message(&g, GRAPH_NODE, list);
    put_message(&g, GRAPH_OUTPUT, value_info("list", 7, "2"));
    imported m = import_bytes(model(g, 17), NULL, false);
    cr_assert_str_eq(m.message, "");
    cr_assert_eq(*(const int64_t *)value_data(&m, "integer"), -7);
    cr_assert_eq(find_value(&m, "integer")->type.shape.rank, 0);
    cr_assert_eq(*(const float *)value_data(&m, "real"), 2.5f);
    cr_assert_eq(((const int64_t *)value_data(&m, "list"))[1], -4);
    cr_assert_eq(find_value(&m, "list")->type.shape.dims[0], 2);
    imported_free(&m);
}

Test(import, attributes_and_upgrades) {
    bytes g = {0}, scale = node("Scale", "scale", "x", "a"), unsqueeze = node("Unsqueeze", "up", "a", "b"), axes = {0};
    put_int_attribute(&scale, "axis", 3);
    put_text(&axes, ATTRIBUTE_NAME, "axes");
    put_integer(&axes, ATTRIBUTE_INTS, 0); /* no type stated, as in the oldest files */
    put_message(&unsqueeze, NODE_ATTRIBUTE, axes);
    put_message(&g, GRAPH_NODE, scale);
    put_message(&g, GRAPH_NODE, unsqueeze);
    put_message(&g, GRAPH_INPUT, value_info("x", 1, "4"));
    put_message(&g, GRAPH_OUTPUT, value_info("b", 1, "1,4"));
    imported m = import_bytes(model(g, 11), NULL, false);
    cr_assert_str_eq(m.message, "");
    const ons_node *n = find_node(&m, "scale");
    cr_assert_eq(n->attributes[0].f, 2.0);
    cr_assert_eq(n->attributes[1].i, 3);
    n = find_node(&m, "up");
    cr_assert_eq(n->input_count, 2);
    cr_assert_eq(ons_graph_value(m.graph, n->inputs[1])->kind, ONS_CONSTANT);
    imported_free(&m);
}

/* An initialiser listed as an input, too, is no input; what is left out stays out. */
Test(import, old_style_initialiser_and_left_out_input) {
    bytes g = small_graph();
    put_message(&g, GRAPH_INPUT, value_info("w", 1, "4"));
    put_message(&g, GRAPH_NODE, node("Dropout", "drop", "y,,", "z,"));
    imported m = import_bytes(model(g, 17), NULL, false);
    cr_assert_str_eq(m.message, "");
    cr_assert_eq(m.graph->inputs.count, 1);
    cr_assert_eq(find_node(&m, "drop")->input_count, 1);
    imported_free(&m);
}

/* ------------------------------------------------------------------------------------------------------- statistics */

/* Two normalisations whose statistics the exporter has merged with each other and with a bias. */
Test(import, merged_statistics_are_split) {
    bytes g = {0};
    put_message(&g, GRAPH_INITIALIZER, raw_tensor("one", 1, DIMS(4), four, sizeof four));
    put_message(&g, GRAPH_INITIALIZER, raw_tensor("zero", 1, DIMS(4), four, sizeof four));
    put_message(&g, GRAPH_INITIALIZER, raw_tensor("var1", 1, DIMS(4), four, sizeof four));
    put_message(&g, GRAPH_NODE, node("Identity", "", "zero", "mean1"));
    put_message(&g, GRAPH_NODE, node("Identity", "", "var1", "var2"));
    put_message(&g, GRAPH_NODE, node("BatchNormalization", "bn1", "x,one,zero,mean1,var1", "a"));
    put_message(&g, GRAPH_NODE, node("BatchNormalization", "bn2", "a,one,zero,zero,var2", "b"));
    put_message(&g, GRAPH_INPUT, value_info("x", 1, "N,4"));
    put_message(&g, GRAPH_OUTPUT, value_info("b", 1, "N,4"));
    imported m = import_bytes(model(g, 17), NULL, false);
    cr_assert_str_eq(m.message, "");
    cr_assert_eq(find_value(&m, "zero")->kind, ONS_PARAMETER, "it is a bias as well");
    cr_assert_eq(find_value(&m, "mean1")->kind, ONS_BUFFER);
    cr_assert_eq(find_value(&m, "var1")->kind, ONS_BUFFER);
    cr_assert_eq(find_value(&m, "var1")->reason, ONS_STATISTICS);
    cr_assert_eq(find_value(&m, "var2")->kind, ONS_BUFFER);
    const ons_node *bn1 = find_node(&m, "bn1"), *bn2 = find_node(&m, "bn2");
    cr_assert_eq(bn1->inputs[3], ons_graph_find_value(m.graph, "mean1"));
    cr_assert_eq(bn2->inputs[4], ons_graph_find_value(m.graph, "var2"));
    cr_assert_neq(bn2->inputs[3], bn2->inputs[2], "its mean is no longer its bias");
    cr_assert_eq(ons_graph_value(m.graph, bn2->inputs[3])->kind, ONS_BUFFER);
    cr_assert_eq(ons_untied_count(m.file), 3);
    imported_free(&m);
}

/* ---------------------------------------------------------------------------------------------------- tie and untie */

static bytes tied_graph(void) {
    bytes g = {0};
    put_message(&g, GRAPH_INITIALIZER, raw_tensor("w", 1, DIMS(4), four, sizeof four));
    put_message(&g, GRAPH_INITIALIZER, raw_tensor("v", 1, DIMS(4), four, sizeof four));
    put_message(&g, GRAPH_INITIALIZER, raw_tensor("u", 1, DIMS(2, 2), four, sizeof four));
    put_message(&g, GRAPH_NODE, node("Identity", "", "w", "copy"));
    put_message(&g, GRAPH_NODE, node("Add", "first", "x,w", "a"));
    put_message(&g, GRAPH_NODE, node("Add", "second", "a,copy", "b"));
    put_message(&g, GRAPH_NODE, node("Add", "third", "b,v", "c"));
    put_message(&g, GRAPH_INPUT, value_info("x", 1, "4"));
    put_message(&g, GRAPH_OUTPUT, value_info("c", 1, "4"));
    return g;
}

Test(import, tie) {
    ons_import_options options = {.ties = &(ons_tie){"v", "w"}, .tie_count = 1};
    imported m = import_bytes(model(tied_graph(), 17), &options, false);
    cr_assert_str_eq(m.message, "");
    cr_assert_eq(find_node(&m, "third")->inputs[1], ons_graph_find_value(m.graph, "w"));
    cr_assert_eq(ons_graph_find_value(m.graph, "v"), ONS_NONE);
    imported_free(&m);
    options.ties = &(ons_tie){"v", "u"};
    m = import_bytes(model(tied_graph(), 17), &options, false);
    cr_assert_not_null(strstr(m.message, "same type and shape"));
    imported_free(&m);
    options.ties = &(ons_tie){"v", "nothing"};
    m = import_bytes(model(tied_graph(), 17), &options, false);
    cr_assert_not_null(strstr(m.message, "no such initialiser"));
    imported_free(&m);
    options.ties = (ons_tie[]){{"v", "w"}, {"w", "v"}};
    options.tie_count = 2;
    m = import_bytes(model(tied_graph(), 17), &options, false);
    cr_assert_not_null(strstr(m.message, "tied to itself"));
    imported_free(&m);
}

Test(import, untie) {
    ons_import_options options = {.untie = (const char *[]){"w"}, .untie_count = 1};
    imported m = import_bytes(model(tied_graph(), 17), &options, false);
    cr_assert_str_eq(m.message, "");
    cr_assert_eq(find_value(&m, "copy")->kind, ONS_PARAMETER);
    cr_assert_eq(find_value(&m, "copy")->producer, ONS_NONE);
    cr_assert_arr_eq(value_data(&m, "copy"), four, sizeof four);
    cr_assert_eq(ons_untied_count(m.file), 1);
    cr_assert_str_eq(ons_untied_at(m.file, 0).source, "w");
    imported_free(&m);
}

/* --------------------------------------------------------------------------------------------------------- branches */

static bytes branch(const char *op, const char *inputs, const char *output) {
    bytes g = {0};
    put_message(&g, GRAPH_NODE, node(op, "inner", inputs, output));
    put_message(&g, GRAPH_OUTPUT, value_info(output, 1, "4"));
    return g;
}

Test(import, branches_capture_by_name) {
    bytes g = {0}, choice = node("If", "choice", "c", "y");
    put_graph_attribute(&choice, "then_branch", branch("Add", "h,w", "t"));
    put_graph_attribute(&choice, "else_branch", branch("Relu", "h", "e"));
    put_message(&g, GRAPH_NODE, choice);
    put_message(&g, GRAPH_NODE, node("Relu", "before", "x", "h")); /* after its reader: captures count for the order */
    put_message(&g, GRAPH_INITIALIZER, raw_tensor("w", 1, DIMS(4), four, sizeof four));
    put_message(&g, GRAPH_INPUT, value_info("x", 1, "4"));
    put_message(&g, GRAPH_INPUT, value_info("c", 9, ""));
    put_message(&g, GRAPH_OUTPUT, value_info("y", 1, "4"));
    imported m = import_bytes(model(g, 17), NULL, false);
    cr_assert_str_eq(m.message, "");
    cr_assert_str_eq(m.graph->nodes.items[0].name, "before");
    const ons_graph *taken = find_node(&m, "choice")->attributes[0].graph;
    cr_assert_not_null(taken);
    ons_value_id h = ons_graph_find_value(taken, "h");
    cr_assert_eq(taken->nodes.items[0].inputs[0], h);
    cr_assert_eq(ons_graph_value(taken, h)->kind, ONS_INPUT);
    cr_assert_eq(taken->inputs.count, 0);
    cr_assert_eq(find_value(&m, "w")->kind, ONS_PARAMETER, "captured weights are weights");
    imported_free(&m);
}

/* --------------------------------------------------------------------------------------------------------- failures */

Test(import, cycle) {
    bytes g = {0};
    put_message(&g, GRAPH_NODE, node("Add", "one", "x,b", "a"));
    put_message(&g, GRAPH_NODE, node("Relu", "two", "a", "b"));
    put_message(&g, GRAPH_INPUT, value_info("x", 1, "4"));
    expect_failure(model(g, 17), ONS_INVALID_MODEL, "cycle: node 'one'");
}

Test(import, names_twice_or_never) {
    bytes g = small_graph();
    put_message(&g, GRAPH_NODE, node("Relu", "again", "x", "y"));
    expect_failure(model(g, 17), ONS_INVALID_MODEL, "'y' is made by two nodes");
    g = small_graph();
    put_message(&g, GRAPH_NODE, node("Relu", "again", "x", "w"));
    expect_failure(model(g, 17), ONS_INVALID_MODEL, "'w' is defined twice");
    g = small_graph();
    put_message(&g, GRAPH_INITIALIZER, raw_tensor("w", 1, DIMS(4), four, sizeof four));
    expect_failure(model(g, 17), ONS_INVALID_MODEL, "'w' is defined twice");
    g = small_graph();
    put_message(&g, GRAPH_INPUT, value_info("x", 1, "4"));
    expect_failure(model(g, 17), ONS_INVALID_MODEL, "'x' is there twice");
    g = small_graph();
    put_message(&g, GRAPH_INITIALIZER, raw_tensor("", 1, DIMS(4), four, sizeof four));
    expect_failure(model(g, 17), ONS_INVALID_MODEL, "without a name");
    g = small_graph();
    put_message(&g, GRAPH_NODE, node("Relu", "reader", "nowhere", "z"));
    expect_failure(model(g, 17), ONS_INVALID_MODEL, "node 'reader' (Relu): it reads 'nowhere', which nothing makes");
    g = small_graph();
    put_message(&g, GRAPH_OUTPUT, value_info("nowhere", 1, "4"));
    expect_failure(model(g, 17), ONS_INVALID_MODEL, "output 'nowhere'");
}

Test(import, wrong_attributes_and_arity) {
    bytes g = small_graph();
    put_message(&g, GRAPH_NODE, node("Scale", "s", "y", "z"));
    expect_failure(model(g, 17), ONS_INVALID_MODEL, "attribute 'axis' is missing");
    g = small_graph();
    bytes n = node("Scale", "s", "y", "z");
    put_float_attribute(&n, "axis", 1);
    put_message(&g, GRAPH_NODE, n);
    expect_failure(model(g, 17), ONS_INVALID_MODEL, "attribute 'axis' is a float instead of an integer");
    g = small_graph();
    n = node("Relu", "r", "y", "z");
    put_int_attribute(&n, "onstage_secret", 1);
    put_message(&g, GRAPH_NODE, n);
    expect_failure(model(g, 17), ONS_INVALID_MODEL, "not allowed");
    g = small_graph();
    n = node("Relu", "r", "y", "z");
    put_int_attribute(&n, "mystery", 1);
    put_message(&g, GRAPH_NODE, n);
    expect_failure(model(g, 17), ONS_UNSUPPORTED, "attribute 'mystery' of Relu");
    g = small_graph();
    put_message(&g, GRAPH_NODE, node("Add", "r", "y", "z"));
    expect_failure(model(g, 17), ONS_INVALID_MODEL, "inputs");
    g = small_graph();
    put_message(&g, GRAPH_NODE, node("Relu", "r", "y", "z,zz"));
    expect_failure(model(g, 17), ONS_INVALID_MODEL, "outputs");
}

Test(import, opsets) {
    expect_failure(model(small_graph(), ONS_NEWEST + 1), ONS_UNSUPPORTED, "opset_version=28");
    imported m = import_bytes(model(small_graph(), 7), NULL, false);
    cr_assert_str_eq(m.message, "");
    imported_free(&m);
}

Test(import, all_blockers_at_once) {
    bytes g = small_graph();
    put_message(&g, GRAPH_NODE, node("Foo", "foo", "y", "f"));
    put_message(&g, GRAPH_NODE, node("Relu", "after", "f", "f2"));
    put_message(&g, GRAPH_NODE, node("Old", "old", "y", "o"));
    bytes unknown = node("Relu", "odd", "y", "p");
    put_int_attribute(&unknown, "mystery", 1);
    put_message(&g, GRAPH_NODE, unknown);
    bytes foreign = node("Gelu", "gelu", "y", "q");
    put_text(&foreign, NODE_DOMAIN, "com.example");
    put_message(&g, GRAPH_NODE, foreign);
    put_message(&g, GRAPH_INITIALIZER, raw_tensor("complex", 14, DIMS(1), four, 8));
    put_message(&g, GRAPH_NODE, node("Relu", "reads complex", "complex", "r"));
    put_message(&g, GRAPH_OUTPUT, value_info("f2", 1, "4"));
    imported m = import_bytes(model(g, 17), NULL, true);
    cr_assert_str_eq(m.message, "");
    cr_assert_eq(m.blockers.count, 5);
    const char *const places[] = {"complex", "foo", "old", "odd", "gelu"};
    const char *const reasons[] = {"complex64", "does not know the operator Foo", "opsets 1 to 8, the model uses 17",
                                   "'mystery'", "com.example.Gelu"};
    for (size_t i = 0; i < 5; ++i) {
        cr_expect_str_eq(m.blockers.items[i].node, places[i]);
        cr_expect_not_null(strstr(m.blockers.items[i].reason, reasons[i]), "%s", m.blockers.items[i].reason);
        cr_expect_neq(m.blockers.items[i].remedy[0], '\0');
    }
    cr_assert_eq(find_value(&m, "f")->kind, ONS_ACTIVATION);
    cr_assert_eq(find_value(&m, "f")->producer, ONS_NONE);
    imported_free(&m);
}

/* x → Relu → h, of which an operator that nobody knows makes the first output; a tensor inside is asked for. */
static bytes graph_with_a_stranger(void) {
    bytes g = {0};
    put_message(&g, GRAPH_NODE, node("Relu", "inside", "x", "h"));
    put_message(&g, GRAPH_NODE, node("Stranger", "stranger", "h", "label"));
    put_message(&g, GRAPH_NODE, node("Relu", "after", "h", "y"));
    put_message(&g, GRAPH_INPUT, value_info("x", 1, "4"));
    put_message(&g, GRAPH_OUTPUT, value_info("label", 7, "4"));
    put_message(&g, GRAPH_OUTPUT, value_info("y", 1, "4"));
    return g;
}

Test(import, nodes_that_the_wanted_outputs_do_not_need_are_left_out) {
    const char *const wanted[] = {"h"}, *const absent[] = {"nothing"};
    ons_import_options options = {.outputs = wanted, .output_count = 1};
    imported m = import_bytes(model(graph_with_a_stranger(), 17), &options, false);
    cr_assert_str_eq(m.message, "");
    cr_assert_eq(m.graph->nodes.count, 1);
    cr_assert_eq(m.graph->outputs.count, 1);
    cr_assert_eq(m.graph->outputs.items[0], ons_graph_find_value(m.graph, "h"));
    imported_free(&m);
    options.outputs = absent;
    m = import_bytes(model(graph_with_a_stranger(), 17), &options, false);
    cr_assert(strstr(m.message, "'nothing'") != NULL, "%s", m.message);
    imported_free(&m);
}

Test(import, an_unknown_operator_is_named_once) {
    bytes g = small_graph();
    put_message(&g, GRAPH_NODE, node("Foo", "foo", "y", "f"));
    imported m = import_bytes(model(g, 17), NULL, false);
    const char *place = strstr(m.message, "node 'foo' (Foo): ");
    cr_assert_not_null(place, "%s", m.message);
    cr_expect_null(strstr(place + 1, "node 'foo'"), "%s", m.message);
    imported_free(&m);
}

Test(import, an_operator_that_is_known_to_be_missing_has_its_reason_and_way_out) {
    static const char *const types[] = {"OldNorm", "NewNorm"};
    static const char *const words[] = {"it is of yesterday; export it anew",
                                        "it is the vendor's own; export without it"};
    for (size_t i = 0; i < 2; ++i) {
        bytes g = small_graph(), missing = node(types[i], "n", "y", "f");
        put_text(&missing, NODE_DOMAIN, "vendor");
        put_message(&g, GRAPH_NODE, missing);
        expect_failure(model(g, 17), ONS_UNSUPPORTED, words[i]);
    }
}

Test(import, sparse_things_are_refused) {
    bytes g = small_graph(), sparse = {0};
    put_message(&sparse, 1, raw_tensor("thin", 1, DIMS(4), four, sizeof four));
    put_message(&g, GRAPH_SPARSE, sparse);
    expect_failure(model(g, 17), ONS_UNSUPPORTED, "sparse initialiser");
    bytes inner = {0}, attribute = {0}, constant = node("Constant", "k", "", "k");
    put_message(&inner, 1, raw_tensor("", 1, DIMS(4), four, sizeof four));
    put_text(&attribute, ATTRIBUTE_NAME, "sparse_value");
    put_integer(&attribute, ATTRIBUTE_TYPE, 11);
    put_message(&attribute, ATTRIBUTE_SPARSE, inner);
    put_message(&constant, NODE_ATTRIBUTE, attribute);
    g = small_graph();
    put_message(&g, GRAPH_NODE, constant);
    expect_failure(model(g, 17), ONS_UNSUPPORTED, "sparse tensor");
}
