#include "tests/rooms/timing/sleep_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "tests/rooms/onnx_import/model_writer.h"
#include "tests/rooms/timing/sleep_costs.h"

enum { FLOAT = 1, OPSET = 17 };

enum { NAME = 32 };

/* A layer from one value to another. */
static void put_layer(const sleep_setting *s, uint32_t layer, const char *from, const char *to, bytes *graph) {
    char name[NAME], weight[NAME], inputs[3 * NAME];
    int64_t columns = s->columns;
    float *ones = malloc(s->columns * sizeof *ones);
    for (uint32_t i = 0; ones != NULL && i < s->columns; ++i) ones[i] = 1;
    snprintf(name, sizeof name, "layer%u", layer);
    snprintf(weight, sizeof weight, "weight%u", layer);
    snprintf(inputs, sizeof inputs, "%s,%s", from, weight);
    bytes n = node("Sleep", name, inputs, to);
    put_text(&n, NODE_DOMAIN, SLEEP_DOMAIN);
    put_float_attribute(&n, "forward", (float)s->forward);
    put_float_attribute(&n, "input", (float)s->input);
    put_float_attribute(&n, "weight", (float)s->weight);
    put_int_attribute(&n, "input_first", s->input_first);
    if (s->slices > 0) put_int_attribute(&n, "rows", SLEEP_ROWS);
    put_message(graph, GRAPH_NODE, n);
    if (ones != NULL) put_message(graph, GRAPH_INITIALIZER, float_tensor(weight, DIMS(columns), ones, s->columns));
    free(ones);
}

/* So many layers, from number `first` on; the last value is `last`, or, where that is NULL, of its layer's name, and in
 * *from afterwards. */
static void put_row(const sleep_setting *s, uint32_t first, uint32_t count, const char *last, char from[static NAME],
                    bytes *graph) {
    for (uint32_t i = 0; i < count; ++i) {
        char to[NAME];
        snprintf(to, sizeof to, "value%u", first + i + 1);
        if (last != NULL && i + 1 == count) snprintf(to, sizeof to, "%s", last);
        put_layer(s, first + i, from, to, graph);
        memcpy(from, to, NAME);
    }
}

static void put_sum(uint32_t branch, char sum[static NAME], const char *value, bytes *graph) {
    char name[NAME], inputs[2 * NAME], to[NAME];
    snprintf(name, sizeof name, "add%u", branch);
    snprintf(inputs, sizeof inputs, "%s,%s", sum, value);
    snprintf(to, sizeof to, "sum%u", branch);
    put_message(graph, GRAPH_NODE, node("Add", name, inputs, to));
    memcpy(sum, to, NAME);
}

static void put_branches(const sleep_setting *s, bytes *graph) {
    char fork[NAME] = "x", sum[NAME] = "";
    uint32_t layer = 1;
    put_row(s, 0, 1, NULL, fork, graph);
    for (uint32_t i = 0; i < s->branch_count; ++i) {
        char value[NAME];
        memcpy(value, fork, NAME);
        put_row(s, layer, s->branches[i], NULL, value, graph);
        layer += s->branches[i];
        if (i == 0)
            memcpy(sum, value, NAME);
        else
            put_sum(i, sum, value, graph);
    }
    put_row(s, layer, 1, "y", sum, graph);
}

static void put_nodes(const sleep_setting *s, bytes *graph) {
    char from[NAME] = "x";
    if (s->branch_count > 0)
        put_branches(s, graph);
    else
        put_row(s, 0, sleep_layers(s), "y", from, graph);
}

static ons_status *write_file(const char *path, const bytes *file) {
    ons_file_writer *writer;
    ONS_TRY(ons_file_writer_open(path, &writer));
    ons_status *status = ons_file_write(writer, file->data, file->count);
    if (status == NULL) return ons_file_commit(writer);
    ons_file_discard(writer);
    return status;
}

ons_status *sleep_model_write(const sleep_setting *s, const char *path) {
    bytes graph = {0}, own = {0};
    char dims[32];
    put_text(&graph, GRAPH_NAME, "sleepers");
    snprintf(dims, sizeof dims, "rows,%u", s->columns);
    put_message(&graph, GRAPH_INPUT, value_info("x", FLOAT, dims));
    put_message(&graph, GRAPH_OUTPUT, value_info("y", FLOAT, dims));
    put_nodes(s, &graph);
    bytes file = model(graph, OPSET);
    put_text(&own, 1, SLEEP_DOMAIN);
    put_integer(&own, 2, 1);
    put_message(&file, MODEL_OPSET, own);
    ons_status *status = write_file(path, &file);
    bytes_free(&file);
    return status;
}

ons_status *sleep_profile_write(const sleep_setting *s, const char *path) {
    static const char *const form =
        "{\"onstage_device_profile\": 1, \"name\": \"sleepers\", \"title\": \"layers that sleep\", \"kind\": \"cpu\",\n"
        " \"memory_bytes\": 1073741824, \"reserve_bytes\": 0, \"launch_seconds\": 1e-9,\n"
        " \"matrix_flops\": {\"fp32\": %g}, \"vector_flops\": %g, \"memory_bandwidth\": 1e15,\n"
        " \"link\": {\"bandwidth\": %g, \"latency\": %g, \"eager_bytes\": %u}, \"host\": {\"bandwidth\": 1e12, "
        "\"latency\": 1e-9},\n"
        " \"efficiency\": {\"matrix\": {\"share\": 1, \"half\": 0}, \"vector\": {\"share\": 1, \"half\": 0},\n"
        "                \"memory\": {\"share\": 1, \"half\": 0}}}\n";
    char text[1024];
    snprintf(text, sizeof text, form, SLEEP_FLOPS_PER_SECOND, SLEEP_FLOPS_PER_SECOND, s->bandwidth, s->latency,
             s->eager_bytes);
    return ons_file_write_text(path, text);
}
