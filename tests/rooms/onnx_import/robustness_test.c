/* Damaged models: whatever the bytes are, an error or a graph comes out. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/rooms/onnx_import/fixture.h"

/* A bit of everything that a model can hold. */
static bytes sample(void) {
    static const float values[400] = {1, 2, 3};
    bytes g = {0}, constant = node("Constant", "k", "", "k"), choice = node("If", "choice", "c", "z"), yes = {0},
          no = {0};
    put_text(&g, GRAPH_NAME, "sample");
    put_message(&g, GRAPH_INITIALIZER, raw_tensor("w", 1, DIMS(400), values, sizeof values));
    put_message(&g, GRAPH_INITIALIZER, float_tensor("v", DIMS(4), values, 4));
    put_tensor_attribute(&constant, "value", raw_tensor("", 1, DIMS(4), values, 16));
    put_message(&g, GRAPH_NODE, constant);
    put_message(&yes, GRAPH_NODE, node("Add", "", "y,k", "t"));
    put_message(&yes, GRAPH_OUTPUT, value_info("t", 1, "4"));
    put_message(&no, GRAPH_NODE, node("Relu", "", "y", "e"));
    put_message(&no, GRAPH_OUTPUT, value_info("e", 1, "4"));
    put_message(&g, GRAPH_NODE, node("Add", "a", "x,v", "h"));
    bytes called = node("twice", "f", "h", "y");
    put_text(&called, NODE_DOMAIN, "mine");
    put_message(&g, GRAPH_NODE, called);
    put_graph_attribute(&choice, "then_branch", yes);
    put_graph_attribute(&choice, "else_branch", no);
    put_message(&g, GRAPH_NODE, choice);
    put_message(&g, GRAPH_NODE, node("Add", "last", "z,w", "out"));
    put_message(&g, GRAPH_INPUT, value_info("x", 1, "N,4"));
    put_message(&g, GRAPH_INPUT, value_info("c", 9, ""));
    put_message(&g, GRAPH_OUTPUT, value_info("out", 1, "N,4"));
    bytes b = model(g, 17), f = {0};
    put_text(&f, FUNCTION_NAME, "twice");
    put_text(&f, FUNCTION_DOMAIN, "mine");
    put_text(&f, FUNCTION_INPUT, "a");
    put_text(&f, FUNCTION_OUTPUT, "o");
    put_message(&f, FUNCTION_NODE, node("Add", "", "a,a", "o"));
    put_message(&b, MODEL_FUNCTION, f);
    return b;
}

/* The bytes in memory of exactly their size, so that a sanitizer sees the first one behind. */
static void try_bytes(const uint8_t *data, size_t size) {
    bytes b = {malloc(size + (size == 0)), size, size};
    memcpy(b.data, data, size);
    imported m = import_bytes(b, NULL, true);
    cr_assert((m.graph == NULL) == (m.message[0] != '\0'));
    imported_free(&m);
}

Test(robustness, sample_is_fine) {
    imported m = import_bytes(sample(), NULL, false);
    cr_assert_str_eq(m.message, "");
    imported_free(&m);
}

Test(robustness, cut_anywhere) {
    bytes b = sample();
    for (size_t size = 0; size < b.count; ++size) try_bytes(b.data, size);
    bytes_free(&b);
}

static uint64_t next(uint64_t *state) { /* xorshift */
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Another seed every day; a failing one is printed and can be given in the environment. */
static uint64_t seed(void) {
    const char *given = getenv("ONS_TEST_SEED");
    uint64_t value = given != NULL ? strtoull(given, NULL, 10) : (uint64_t)(time(NULL) / 86400);
    fprintf(stderr, "ONS_TEST_SEED=%llu\n", (unsigned long long)value);
    return value * 2654435769u + 1;
}

Test(robustness, random_bytes) {
    uint64_t state = seed();
    uint8_t data[300];
    for (int round = 0; round < 5000; ++round) {
        size_t size = next(&state) % sizeof data;
        for (size_t i = 0; i < size; ++i) data[i] = (uint8_t)next(&state);
        try_bytes(data, size);
    }
}

Test(robustness, mutations) {
    uint64_t state = seed();
    bytes good = sample();
    for (int round = 0; round < 5000; ++round) {
        bytes b = {0};
        put_raw(&b, good.data, good.count);
        for (uint64_t i = 0, count = 1 + next(&state) % 4; i < count; ++i) {
            size_t at = next(&state) % b.count;
            switch (next(&state) % 4) {
            case 0: b.data[at] = (uint8_t)next(&state); break;
            case 1: b.data[at] ^= (uint8_t)(1 << next(&state) % 8); break;
            case 2: /* a byte less */
                memmove(b.data + at, b.data + at + 1, b.count - at - 1);
                --b.count;
                break;
            default: /* a piece from elsewhere */ b.data[at] = b.data[next(&state) % b.count];
            }
        }
        try_bytes(b.data, b.count);
        bytes_free(&b);
    }
    bytes_free(&good);
}

/* Each byte once: set to all ones, and its lowest bit changed. */
Test(robustness, every_byte) {
    bytes good = sample();
    for (size_t at = 0; at < good.count; ++at) {
        uint8_t kept = good.data[at];
        good.data[at] = 0xff;
        try_bytes(good.data, good.count);
        good.data[at] = kept ^ 1;
        try_bytes(good.data, good.count);
        good.data[at] = kept;
    }
    bytes_free(&good);
}
