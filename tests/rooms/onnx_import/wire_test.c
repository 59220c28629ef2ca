/* What protobuf-c must never see. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "onnx_import/wire.h"
#include "tests/rooms/onnx_import/fixture.h"

Test(wire, varints_round_trip) {
    const uint64_t values[] = {0, 1, 127, 128, 300, UINT32_MAX, INT64_MAX, UINT64_MAX};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; ++i) {
        uint8_t buffer[ONS_VARINT_MAX];
        size_t size = ons_varint_write(values[i], buffer);
        uint64_t at = 0, value;
        cr_assert(ons_varint_read(buffer, &at, size, &value));
        cr_assert_eq(value, values[i]);
        cr_assert_eq(at, size);
        cr_assert_eq(ons_varint_size(value), size);
        at = 0;
        cr_assert_not(ons_varint_read(buffer, &at, size - 1, &value));
    }
}

Test(wire, overlong_varint_is_refused) {
    uint8_t buffer[12];
    memset(buffer, 0x80, sizeof buffer);
    uint64_t at = 0, value;
    cr_assert_not(ons_varint_read(buffer, &at, sizeof buffer, &value));
}

Test(wire, nested_groups) {
    bytes b = {0};
    for (int i = 0; i < 700 * 1024; ++i) put_tag(&b, 7, 3);
    expect_failure(b, ONS_INVALID_MODEL, "truncated or damaged");
}

/* graph → node → attribute → graph → …, lengths written from the inside out. */
Test(wire, nested_branches) {
    bytes inner = {0};
    for (int i = 0; i < 3000; ++i) {
        bytes outer = {0};
        const uint32_t field[] = {ATTRIBUTE_G, NODE_ATTRIBUTE, GRAPH_NODE};
        put_block(&outer, field[i % 3], inner.data, inner.count);
        bytes_free(&inner);
        inner = outer;
    }
    bytes b = {0};
    put_message(&b, MODEL_GRAPH, inner);
    expect_failure(b, ONS_INVALID_MODEL, "nested more than 100 deep");
}

Test(wire, nested_types) {
    bytes inner = {0};
    for (int i = 0; i < 3000; ++i) { /* type → sequence → type → … */
        bytes outer = {0};
        put_block(&outer, i % 2 == 0 ? 1 : 4, inner.data, inner.count);
        bytes_free(&inner);
        inner = outer;
    }
    bytes info = {0}, graph = {0};
    put_text(&info, 1, "x");
    put_message(&info, 2, inner);
    put_message(&graph, GRAPH_INPUT, info);
    expect_failure(model(graph, 17), ONS_INVALID_MODEL, "nested more than 100 deep");
}

Test(wire, empty_and_foreign_files) {
    expect_failure((bytes){0}, ONS_INVALID_MODEL, "empty");
    bytes text = {0};
    put_raw(&text, "version https://git-lfs.github.com/spec/v1\n", 43);
    expect_failure(text, ONS_INVALID_MODEL, "ONNX model");
    bytes nothing = {0};
    put_integer(&nothing, MODEL_IR_VERSION, 8);
    expect_failure(nothing, ONS_INVALID_MODEL, "no graph");
}

Test(wire, length_beyond_the_end) {
    bytes b = {0};
    put_tag(&b, MODEL_GRAPH, 2);
    put_varint(&b, UINT64_MAX - 3);
    expect_failure(b, ONS_INVALID_MODEL, "truncated or damaged at byte 0");
}

/* The first node of a graph with one. */
static bytes with_name(const char *name, size_t size) {
    bytes node = {0}, graph = {0};
    put_block(&node, NODE_NAME, name, size);
    put_message(&graph, GRAPH_NODE, node);
    return model(graph, 17);
}

Test(wire, names_that_a_terminal_acts_on_are_refused) {
    static char pages[5000];
    memset(pages, 'n', sizeof pages);
    expect_failure(with_name("a\x1b[2J", 5), ONS_INVALID_MODEL, "'name' holds a control character (0x1b)");
    expect_failure(with_name("a\nonstage: all is well", 23), ONS_INVALID_MODEL, "(0x0a)");
    expect_failure(with_name("a\0b", 3), ONS_INVALID_MODEL, "(0x00)");
    expect_failure(with_name("a\xc2\x9b", 3), ONS_INVALID_MODEL, "(0x9b)");
    expect_failure(with_name(pages, sizeof pages), ONS_INVALID_MODEL, "'name' has 5000 bytes");
}

Test(wire, location_that_ends_early_is_refused) {
    bytes entry = {0}, tensor = {0}, graph = {0};
    put_text(&entry, 1, "location");
    put_block(&entry, 2, "w\0/../w", 7);
    put_message(&tensor, 13, entry);
    put_message(&graph, GRAPH_INITIALIZER, tensor);
    expect_failure(model(graph, 17), ONS_INVALID_MODEL, "'value' holds a control character (0x00)");
}

Test(wire, second_graph_is_refused) {
    bytes first = {0}, second = {0};
    put_text(&first, GRAPH_NAME, "a");
    put_text(&second, GRAPH_NAME, "b");
    bytes b = model(first, 17);
    put_message(&b, MODEL_GRAPH, second);
    expect_failure(b, ONS_INVALID_MODEL, "'graph' is there twice");
}
