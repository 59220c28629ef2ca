/* What the metadata of PyTorch's newer exporter say of initialisers, and what copies of a weight become. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/rooms/onnx_import/fixture.h"

enum { NODE_METADATA = 9, VALUE_METADATA = 4, GRAPH_METADATA = 16 };

static const float numbers[] = {1, 2, 3, 4, 5, 6, 7, 8};
static const float zeros[8];

/* metadata_props of any message that has it. */
static void put_metadata(bytes *b, uint32_t field, const char *key, const char *value) {
    bytes entry = {0};
    put_text(&entry, 1, key);
    put_text(&entry, 2, value);
    put_message(b, field, entry);
}

static void put_signature(bytes *g, const char *text) {
    put_metadata(g, GRAPH_METADATA, "pkg.torch.export.ExportedProgram.graph_signature", text);
}

static void put_folded(bytes *g, const char *name, const char *from) {
    bytes value = value_info(name, 1, "");
    put_metadata(&value, VALUE_METADATA, "pkg.onnxscript.optimizer.folded_from", from);
    put_message(g, 13, value); /* value_info */
}

static bytes node_in(const char *scopes, const char *op, const char *name, const char *inputs, const char *outputs) {
    bytes n = node(op, name, inputs, outputs);
    put_metadata(&n, NODE_METADATA, "pkg.torch.onnx.name_scopes", scopes);
    return n;
}

/* A graph that adds each of the names, separated by commas, to its input. */
static void put_chain(bytes *g, const char *names, const char *batch) {
    char text[256], in[64] = "x", out[64], inputs[128];
    snprintf(text, sizeof text, "%s", names);
    int number = 0;
    for (char *name = strtok(text, ","); name != NULL; name = strtok(NULL, ",")) {
        snprintf(out, sizeof out, "h%d", ++number);
        snprintf(inputs, sizeof inputs, "%s,%s", in, name);
        put_message(g, GRAPH_NODE, node("Add", "", inputs, out));
        snprintf(in, sizeof in, "%s", out);
    }
    put_message(g, GRAPH_INPUT, value_info("x", 1, batch));
    put_message(g, GRAPH_OUTPUT, value_info(in, 1, ""));
}

Test(origin, parameters_buffers_and_what_was_folded) {
    static const struct {
        const char *name, *from; /* NULL: not folded */
        ons_origin origin;
        ons_value_kind kind;
        const char *parameter;
    } cases[] = {
        {"net.scale", NULL, ONS_ORIGIN_PARAMETER, ONS_PARAMETER, NULL},
        {"net.mean", NULL, ONS_ORIGIN_BUFFER, ONS_CONSTANT, NULL},
        {"lifted", NULL, ONS_ORIGIN_BUFFER, ONS_CONSTANT, NULL},
        {"val_1", "['val_0']", ONS_ORIGIN_CONSTANT, ONS_CONSTANT, NULL},
        {"val_2", "['net.weight']", ONS_ORIGIN_MOVED, ONS_PARAMETER, "net.weight"},
        {"val_3", "['net.weight', 'net.bias']", ONS_ORIGIN_COMPUTED, ONS_PARAMETER, NULL},
        {"cat_1", "['net.weight', 'net.bias']", ONS_ORIGIN_MOVED, ONS_PARAMETER, NULL},
        {"permute", "[\"net.weight\", 'val_0']", ONS_ORIGIN_MOVED, ONS_PARAMETER, "net.weight"},
        {"view", "['net.weight', 'mul_2']", ONS_ORIGIN_COMPUTED, ONS_PARAMETER, NULL},
        {"add_4", "['net.weight', 'val_0']", ONS_ORIGIN_MOVED, ONS_PARAMETER, "net.weight"},
        {"embedding_1", "['cumsum', 'mul_1', 'net.weight', 'sub']", ONS_ORIGIN_MOVED, ONS_PARAMETER, "net.weight"},
        {"embedding_2", "['mul', 'net.weight', 'net.bias']", ONS_ORIGIN_COMPUTED, ONS_PARAMETER, NULL},
        {"sigmoid", "['net.weight']", ONS_ORIGIN_COMPUTED, ONS_PARAMETER, NULL},
        {"torn", "['net.weight", ONS_ORIGIN_CONSTANT, ONS_CONSTANT, NULL},
        {"other", NULL, ONS_ORIGIN_UNKNOWN, ONS_PARAMETER, NULL},
    };
    enum { COUNT = sizeof cases / sizeof cases[0] };
    bytes g = {0};
    char names[256] = "";
    put_signature(&g, "\n# inputs\np_a: PARAMETER target='net.scale'\np_b: PARAMETER target='net.weight'\n"
                      "p_c: PARAMETER target='net.bias'\nb_d: BUFFER target='net.mean' persistent=True\n"
                      "c_e: CONSTANT_TENSOR target='lifted'\nx: USER_INPUT\n\n# outputs\ny: USER_OUTPUT\n");
    for (size_t i = 0; i < COUNT; ++i) {
        const int64_t *dims = i == 0 ? SCALAR_DIMS : DIMS(8);
        put_message(&g, GRAPH_INITIALIZER, raw_tensor(cases[i].name, 1, dims, numbers, i == 0 ? 4 : sizeof numbers));
        if (cases[i].from != NULL) put_folded(&g, cases[i].name, cases[i].from);
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i == 0 ? "" : ",", cases[i].name);
    }
    put_chain(&g, names, "N,8");
    imported m = import_bytes(model(g, 17), NULL, false);
    cr_assert_str_eq(m.message, "");
    for (size_t i = 0; i < COUNT; ++i) {
        const ons_value *value = find_value(&m, cases[i].name);
        cr_expect_eq(value->origin, cases[i].origin, "'%s': origin %d", cases[i].name, value->origin);
        cr_expect_eq(value->kind, cases[i].kind, "'%s': kind %d", cases[i].name, value->kind);
        const char *parameter = value->parameter == NULL ? "" : value->parameter;
        cr_expect_str_eq(parameter, cases[i].parameter == NULL ? "" : cases[i].parameter);
    }
    imported_free(&m);
}

Test(origin, a_file_that_says_nothing) {
    bytes g = {0};
    put_message(&g, GRAPH_INITIALIZER, raw_tensor("val_2", 1, DIMS(8), numbers, sizeof numbers));
    put_folded(&g, "val_2", "['net.weight']"); /* of what, it does not say */
    put_chain(&g, "val_2", "N,8");
    imported m = import_bytes(model(g, 17), NULL, false);
    cr_assert_eq(find_value(&m, "val_2")->origin, ONS_ORIGIN_UNKNOWN);
    imported_free(&m);
}

/* --------------------------------------------------------------------------------------------------------- repeated */

static const float twice[] = {1, 2, 3, 4, 1, 2, 3, 4};

static imported import_repeated(const char *name, const float *data, const char *from, const char *batch) {
    bytes g = {0};
    if (from != NULL) {
        put_signature(&g, "p: PARAMETER target='token'\n");
        put_folded(&g, name, from);
    }
    put_message(&g, GRAPH_INITIALIZER, raw_tensor(name, 1, DIMS(2, 1, 4), data, 32));
    put_chain(&g, name, batch);
    imported m = import_bytes(model(g, 17), NULL, false);
    cr_assert_str_eq(m.message, "");
    return m;
}

static void expect_repeated(imported m, const char *name, bool repeated) {
    const ons_value *value = find_value(&m, name);
    cr_expect_eq(value->repeated, repeated);
    cr_expect_eq(value->type.shape.dims[0], repeated ? 1 : 2);
    cr_expect_eq(value->kind, ONS_PARAMETER);
    cr_expect_eq(ons_derived_count(m.file), repeated ? 1 : 0);
    imported_free(&m);
}

Test(origin, a_token_that_is_repeated_for_each_sample_is_one_weight) {
    expect_repeated(import_repeated("expand", twice, "['token']", "2,3,4"), "expand", true);
    expect_repeated(import_repeated("expand", twice, NULL, "2,3,4"), "expand", true); /* by its name and the batch */
    expect_repeated(import_repeated("expand", zeros, "['token']", "2,3,4"), "expand", true);
}

Test(origin, what_only_looks_repeated) {
    expect_repeated(import_repeated("expand", numbers, "['token']", "2,3,4"), "expand", false); /* other slices */
    expect_repeated(import_repeated("token", twice, NULL, "2,3,4"), "token", false);   /* a module's own name */
    expect_repeated(import_repeated("expand", twice, NULL, "N,3,4"), "expand", false); /* no batch to repeat for */
}

Test(origin, what_reads_a_repeated_weight_reads_the_node_that_repeats_it) {
    imported m = import_repeated("expand", twice, "['token']", "2,3,4");
    const ons_node *repeat = find_node(&m, "expand/repeated"), *add = find_node(&m, "Add_0");
    cr_assert_eq(repeat->inputs[0], ons_graph_find_value(m.graph, "expand"));
    cr_assert_eq(add->inputs[1], repeat->outputs[0]);
    cr_assert(repeat < add, "it is not in front of its reader");
    const int64_t *dims = ons_store_get(&m.store, ons_graph_value(m.graph, repeat->inputs[1])->data)->data;
    cr_assert_arr_eq(dims, ((const int64_t[]){2, 1, 4}), 24);
    imported_free(&m);
}

Test(origin, a_repeated_weight_is_written_back_as_it_was) {
    imported m = import_repeated("expand", twice, "['token']", "2,3,4");
    const float trained[] = {5, 6, 7, 8};
    float whole[8];
    const ons_derived *derived = ons_derived_find(m.file, "expand");
    cr_assert_not_null(derived);
    for (size_t part = 1; part <= sizeof whole; ++part) { /* asked for in pieces of any size */
        memset(whole, 0, sizeof whole);
        for (size_t at = 0; at < sizeof whole; at += part) {
            size_t size = sizeof whole - at < part ? sizeof whole - at : part;
            ons_derived_fill(derived, trained, (int64_t)at, (char *)whole + at, size);
        }
        cr_expect_arr_eq(whole, ((const float[]){5, 6, 7, 8, 5, 6, 7, 8}), sizeof whole, "pieces of %zu bytes", part);
    }
    imported_free(&m);
}

/* ------------------------------------------------------------------------------------------------------- transposed */

static imported import_transposed(const char *copy_name, const float *copy) {
    bytes g = {0};
    put_message(&g, GRAPH_INITIALIZER, raw_tensor("head.weight", 1, DIMS(4, 2), numbers, sizeof numbers));
    put_message(&g, GRAPH_INITIALIZER, raw_tensor(copy_name, 1, DIMS(2, 4), copy, sizeof numbers));
    char names[64];
    snprintf(names, sizeof names, "head.weight,%s", copy_name);
    put_chain(&g, names, "N,8");
    imported m = import_bytes(model(g, 17), NULL, false);
    cr_assert_str_eq(m.message, "");
    return m;
}

Test(origin, a_transposed_copy_is_made_from_its_weight) {
    static const float transposed[] = {1, 3, 5, 7, 2, 4, 6, 8}, other[] = {1, 3, 5, 7, 2, 4, 6, 9};
    imported m = import_transposed("val_9", transposed);
    const ons_node *node = find_node(&m, "val_9/transposed");
    cr_assert_eq(node->inputs[0], ons_graph_find_value(m.graph, "head.weight"));
    cr_assert_eq(node->outputs[0], ons_graph_find_value(m.graph, "val_9"));
    cr_assert_eq(find_value(&m, "val_9")->kind, ONS_ACTIVATION);
    const float trained[] = {10, 20, 30, 40, 50, 60, 70, 80};
    float written[8];
    ons_derived_fill(ons_derived_find(m.file, "val_9"), trained, 0, written, sizeof written);
    cr_assert_arr_eq(written, ((const float[]){10, 30, 50, 70, 20, 40, 60, 80}), sizeof written);
    imported_free(&m);
    m = import_transposed("val_9", other); /* one element differs */
    cr_assert_eq(find_value(&m, "val_9")->kind, ONS_PARAMETER);
    imported_free(&m);
    m = import_transposed("tail.weight", transposed); /* a weight of a module, whatever it holds */
    cr_assert_eq(find_value(&m, "tail.weight")->kind, ONS_PARAMETER);
    imported_free(&m);
}

/* ----------------------------------------------------------------------------------------------------------- merged */

/* Two layers that read one weight; `folded`: the exporter has optimised. */
static bytes merged_graph(const float *weight, const char *second_op, bool folded) {
    bytes g = {0};
    put_signature(&g, "p: PARAMETER target='a.weight'\np: PARAMETER target='b.weight'\np: PARAMETER target='b.bias'\n");
    if (folded) put_folded(&g, "val_1", "['val_0']");
    put_message(&g, GRAPH_INITIALIZER, raw_tensor("a.weight", 1, DIMS(8), weight, sizeof numbers));
    put_message(&g, GRAPH_NODE, node_in("['', 'a', 'linear']", "Add", "first", "x,a.weight", "h"));
    put_message(&g, GRAPH_NODE, node_in("['', 'b', 'linear']", second_op, "second", "h,a.weight", "y"));
    put_message(&g, GRAPH_INPUT, value_info("x", 1, "N,8"));
    put_message(&g, GRAPH_OUTPUT, value_info("y", 1, ""));
    return g;
}

static size_t count_merges(bytes graph) {
    imported m = import_bytes(model(graph, 17), NULL, false);
    cr_assert_str_eq(m.message, "");
    size_t count = ons_merge_count(m.file);
    imported_free(&m);
    return count;
}

Test(origin, which_shared_weights_look_merged) {
    cr_expect_eq(count_merges(merged_graph(numbers, "Add", true)), 1, "two layers, the same operand");
    cr_expect_eq(count_merges(merged_graph(numbers, "Unsqueeze", true)), 0, "as different things: shared on purpose");
    cr_expect_eq(count_merges(merged_graph(zeros, "Unsqueeze", true)), 1, "zeros, as fresh weights are");
    cr_expect_eq(count_merges(merged_graph(zeros, "Add", false)), 0, "an exporter that folds nothing merges nothing");
}

Test(origin, untie_gives_each_layer_its_own) {
    ons_import_options options = {.untie = (const char *[]){"*"}, .untie_count = 1};
    imported m = import_bytes(model(merged_graph(numbers, "Add", true), 17), &options, false);
    cr_assert_str_eq(m.message, "");
    cr_assert_eq(find_node(&m, "first")->inputs[1], ons_graph_find_value(m.graph, "a.weight"));
    cr_assert_eq(find_node(&m, "second")->inputs[1], ons_graph_find_value(m.graph, "b.weight"));
    cr_assert_arr_eq(value_data(&m, "b.weight"), numbers, sizeof numbers);
    cr_assert_eq(ons_untied_count(m.file), 1);
    cr_assert_str_eq(ons_untied_at(m.file, 0).name, "b.weight");
    cr_assert(ons_import_has_parted(m.file, "a.weight"));
    imported_free(&m);
}

Test(origin, untie_that_parts_nothing_is_an_error) {
    const char *const patterns[] = {"*", "a.weight", "a.*"};
    for (size_t i = 0; i < 3; ++i) {
        ons_import_options options = {.untie = &patterns[i], .untie_count = 1};
        bytes g = {0};
        put_message(&g, GRAPH_INITIALIZER, raw_tensor("a.weight", 1, DIMS(8), numbers, sizeof numbers));
        put_chain(&g, "a.weight", "N,8");
        imported m = import_bytes(model(g, 17), &options, false);
        cr_expect_not_null(strstr(m.message, "so there is nothing to part"), "'%s': %s", patterns[i], m.message);
        cr_expect_eq(m.code, ONS_INVALID_ARGUMENT);
        imported_free(&m);
    }
}

Test(origin, biases_that_the_exporter_left_out) {
    bytes g = merged_graph(numbers, "Add", true), n = node_in("['', 'b', 'linear']", "Dropout", "marked", "y", "z");
    put_metadata(&n, NODE_METADATA, "pkg.onnxscript.rewriter.rule_name", "RemoveOptionalBiasFromGemm");
    put_message(&g, GRAPH_NODE, n);
    n = node_in("['', 'b', 'linear']", "Relu", "full", "z", "v"); /* which can have no bias any more */
    put_metadata(&n, NODE_METADATA, "pkg.onnxscript.rewriter.rule_name", "RemoveOptionalBiasFromGemm");
    put_message(&g, GRAPH_NODE, n);
    n = node_in("['', 'a', 'linear']", "Dropout", "marked too", "v", "w"); /* which had no bias */
    put_metadata(&n, NODE_METADATA, "pkg.onnxscript.rewriter.rule_name", "RemoveOptionalBiasFromGemm");
    put_message(&g, GRAPH_NODE, n);
    imported m = import_bytes(model(g, 17), NULL, false);
    cr_assert_str_eq(m.message, "");
    const char *first;
    cr_assert_eq(ons_lost_bias_count(m.file, &first), 1);
    cr_assert_str_eq(first, "b.bias");
    imported_free(&m);
}
