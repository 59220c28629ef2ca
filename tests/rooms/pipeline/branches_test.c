/* A model of branches of unequal length, with real operators: stages side by side have the bits of one stage, and take
 * the memory that was planned. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "include/onstage.h"
#include "tests/rooms/onnx_import/model_writer.h"

enum { WIDTH = 24, SAMPLES = 70, STEPS = 5, BRANCHES = 3, LAYERS = 9, PATH = 256, FLOAT = 1, OPSET = 17 };

static const int lengths[BRANCHES] = {1, 2, 4};

/* -------------------------------------------------------------------------------------------------------- the model */

static float number(size_t i) { return (float)((i * 7919 + 13) % 1009) / 1009 - 0.5f; }

static void put_weight(bytes *graph, int layer) {
    float values[WIDTH * WIDTH];
    char name[32];
    for (size_t i = 0; i < WIDTH * WIDTH; ++i) values[i] = number(i + 1000 * (size_t)layer) * 0.6f;
    snprintf(name, sizeof name, "weight%d", layer);
    put_message(graph, GRAPH_INITIALIZER, float_tensor(name, DIMS(WIDTH, WIDTH), values, WIDTH * WIDTH));
}

/* A product and its Tanh; gives the value's number. */
static int put_layer(bytes *graph, int *layer, const char *from, const char *to) {
    char name[32], inputs[64], product[32];
    snprintf(inputs, sizeof inputs, "%s,weight%d", from, *layer);
    snprintf(product, sizeof product, "product%d", *layer);
    snprintf(name, sizeof name, "matmul%d", *layer);
    put_message(graph, GRAPH_NODE, node("MatMul", name, inputs, product));
    snprintf(name, sizeof name, "tanh%d", *layer);
    put_message(graph, GRAPH_NODE, node("Tanh", name, product, to));
    put_weight(graph, *layer);
    return (*layer)++;
}

static void put_branch(bytes *graph, int *layer, int length, char end[static 32]) {
    char from[32] = "fork";
    for (int i = 0; i < length; ++i) {
        snprintf(end, 32, "value%d", *layer);
        put_layer(graph, layer, from, end);
        memcpy(from, end, sizeof from);
    }
}

static void write_model(const char *path) {
    bytes graph = {0};
    char dims[32], sum[32] = "", inputs[80], name[32];
    int layer = 0;
    snprintf(dims, sizeof dims, "rows,%d", WIDTH);
    put_text(&graph, GRAPH_NAME, "branches");
    put_message(&graph, GRAPH_INPUT, value_info("x", FLOAT, dims));
    put_message(&graph, GRAPH_OUTPUT, value_info("y", FLOAT, dims));
    put_layer(&graph, &layer, "x", "fork");
    for (int i = 0; i < BRANCHES; ++i) {
        char end[32], to[32];
        put_branch(&graph, &layer, lengths[i], end);
        snprintf(inputs, sizeof inputs, "%s,%s", sum, end);
        snprintf(name, sizeof name, "add%d", i);
        snprintf(to, sizeof to, "sum%d", i);
        if (i > 0) put_message(&graph, GRAPH_NODE, node("Add", name, inputs, to));
        memcpy(sum, i > 0 ? to : end, sizeof sum);
    }
    put_layer(&graph, &layer, sum, "y");
    cr_assert_eq(layer, LAYERS);
    bytes file = model(graph, OPSET);
    ons_file_writer *writer;
    cr_assert_null(ons_file_writer_open(path, &writer));
    cr_assert_null(ons_file_write(writer, file.data, file.count));
    cr_assert_null(ons_file_commit(writer));
    bytes_free(&file);
}

/* ---------------------------------------------------------------------------------------------------------- the run */

typedef struct result {
    double loss;
    float weights[LAYERS][WIDTH * WIDTH];
    ons_trainer_status status;
} result;

static void must(ons_status *status, const char *what) {
    cr_assert_null(status, "%s: %s", what, ons_status_get_message(status));
}

static void set(ons_config *config, const char *option, const char *value) {
    must(ons_config_set(config, option, value), option);
}

static void train(const char *const *options, const char *path, result *r) {
    static float data[2][SAMPLES * WIDTH];
    const int64_t dims[] = {SAMPLES, WIDTH};
    const char *const usual[] = {"loss",  "mse", "optimizer", "adamw", "lr",      "0.01",
                                 "steps", "5",   "batch",     "24",    "threads", "1"};
    ons_config *config;
    ons_model *loaded;
    ons_trainer *trainer;
    ons_step_report report;
    for (size_t i = 0; i < SAMPLES * WIDTH; ++i) {
        data[0][i] = number(i);
        data[1][i] = number(3 * i + 1);
    }
    must(ons_config_new(&config), "config");
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i += 2) set(config, usual[i], usual[i + 1]);
    for (; *options != NULL; options += 2) set(config, options[0], options[1]);
    ons_array_view view = {ONS_ELEMENT_FLOAT32, 2, dims, data[0]};
    must(ons_config_array(config, "x", false, &view), "x");
    view.data = data[1];
    must(ons_config_array(config, "target", false, &view), "target");
    must(ons_model_load(path, config, &loaded), "model");
    must(ons_trainer_new(loaded, config, &trainer), "trainer");
    for (int i = 0; i < STEPS; ++i) must(ons_trainer_step(trainer, &report), "step");
    r->loss = report.loss;
    for (int i = 0; i < LAYERS; ++i) {
        char name[32];
        snprintf(name, sizeof name, "weight%d", i);
        must(ons_trainer_read(trainer, name, r->weights[i], WIDTH * WIDTH), name);
    }
    must(ons_trainer_get_status(trainer, &r->status), "status");
    ons_trainer_free(trainer);
    ons_model_free(loaded);
    ons_config_free(config);
}

static void path_of(char path[static PATH]) {
    const char *folder = getenv("TEST_TMPDIR");
    snprintf(path, PATH, "%s/branches-%d.onnx", folder == NULL ? "/tmp" : folder, (int)getpid());
}

static void expect_same(const result *whole, const result *cut, const char *what) {
    cr_expect(whole->loss == cut->loss, "%s: loss %.17g and not %.17g", what, cut->loss, whole->loss);
    for (int layer = 0; layer < LAYERS; ++layer)
        for (int i = 0; i < WIDTH * WIDTH; ++i)
            cr_assert(whole->weights[layer][i] == cut->weights[layer][i], "%s: weight %d of layer %d", what, i, layer);
    cr_expect_eq(cut->status.arena_bytes, cut->status.predicted_bytes, "%s", what);
    cr_expect_str_eq(cut->status.pipeline, "graphpipe");
}

Test(branches, stages_side_by_side_have_the_bits_of_one) {
    static result whole, cut;
    char path[PATH];
    path_of(path);
    write_model(path);
    for (int micro_batches = 3; micro_batches <= 8; micro_batches += 5) {
        char count[16];
        snprintf(count, sizeof count, "%d", micro_batches);
        const char *const alone[] = {"micro-batches", count, NULL};
        train(alone, path, &whole);
        cr_expect_neq(whole.weights[0][0], number(0) * 0.6f, "nothing was learned");
        for (int stages = 2; stages <= 9; ++stages) {
            char text[16];
            snprintf(text, sizeof text, "%d", stages);
            const char *const side_by_side[] = {"micro-batches", count, "stages", text, "partition", "graphpipe", NULL};
            train(side_by_side, path, &cut);
            expect_same(&whole, &cut, text);
        }
    }
    unlink(path);
}

Test(branches, replicas_of_stages_side_by_side) {
    static result line, graph;
    char path[PATH];
    path_of(path);
    write_model(path);
    const char *const row[] = {"micro-batches", "4", "stages", "4", "replicas", "2", NULL};
    const char *const side_by_side[] = {"micro-batches", "4",         "stages", "4", "replicas", "2",
                                        "partition",     "graphpipe", NULL};
    train(row, path, &line);
    train(side_by_side, path, &graph);
    expect_same(&line, &graph, "two replicas");
    unlink(path);
}

/* The schedule follows from the stages. */
Test(branches, another_schedule_beside_it_is_refused) {
    char path[PATH];
    ons_config *config;
    ons_planning *planning;
    path_of(path);
    write_model(path);
    must(ons_config_new(&config), "config");
    const char *const options[] = {"loss", "mse",       "stages",    "3",        "batch",
                                   "6",    "partition", "graphpipe", "pipeline", "gpipe"};
    for (size_t i = 0; i < sizeof options / sizeof *options; i += 2) set(config, options[i], options[i + 1]);
    ons_status *status = ons_planning_new(path, config, &planning);
    cr_assert_not_null(status);
    cr_expect_eq(ons_status_get_code(status), ONS_INVALID_ARGUMENT);
    cr_expect_not_null(strstr(ons_status_get_message(status), "--pipeline beside --partition graphpipe"), "%s",
                       ons_status_get_message(status));
    ons_status_free(status);
    ons_config_free(config);
    unlink(path);
}
