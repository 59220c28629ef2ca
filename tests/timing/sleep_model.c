#include "tests/timing/sleep_model.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "tests/onnx_import/model_writer.h"
#include "tests/timing/sleep_costs.h"

enum { FLOAT = 1, OPSET = 17 };

/* "x" in front of the first layer, "y" behind the last. */
static const char *name_value(const sleep_setting *s, uint32_t layer, char text[static 32]) {
    if (layer == 0) return "x";
    if (layer == sleep_layers(s)) return "y";
    snprintf(text, 32, "value%u", layer);
    return text;
}

static void put_layer(const sleep_setting *s, uint32_t layer, bytes *graph) {
    char from[32], to[32], name[32], weight[32], inputs[80];
    int64_t columns = s->columns;
    float *ones = malloc(s->columns * sizeof *ones);
    for (uint32_t i = 0; ones != NULL && i < s->columns; ++i) ones[i] = 1;
    snprintf(name, sizeof name, "layer%u", layer);
    snprintf(weight, sizeof weight, "weight%u", layer);
    snprintf(inputs, sizeof inputs, "%s,%s", name_value(s, layer, from), weight);
    bytes n = node("Sleep", name, inputs, name_value(s, layer + 1, to));
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
    for (uint32_t i = 0; i < sleep_layers(s); ++i) put_layer(s, i, &graph);
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
