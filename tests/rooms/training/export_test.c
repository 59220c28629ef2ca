/* What a trained file differs in from its input, and that it computes what the trainer had. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "onnx_import/wire.h"
#include "tests/rooms/training/fixture.h"

enum { INITIALISERS_MAX = 256, NAME_BYTES = 128 };
enum { MODEL_GRAPH = 7, GRAPH_INITIALIZER = 5, TENSOR_NAME = 8, TENSOR_RAW = 9 };

/* An initialiser of the main graph by its place in the file. */
typedef struct initialiser {
    char name[NAME_BYTES];
    uint64_t begin, end; /* of raw_data */
    bool trained, statistics;
} initialiser;

typedef struct file_map {
    contents file;
    initialiser items[INITIALISERS_MAX];
    size_t count;
} file_map;

static bool next_field(const file_map *m, uint64_t *at, uint64_t end, ons_wire_field *field) {
    if (*at >= end) return false;
    must(ons_wire_next(m->file.bytes, at, end, field));
    return true;
}

static void map_tensor(file_map *m, uint64_t at, uint64_t end) {
    cr_assert_lt(m->count, INITIALISERS_MAX);
    initialiser *each = &m->items[m->count++];
    for (ons_wire_field field; next_field(m, &at, end, &field);) {
        if (field.number == TENSOR_NAME)
            snprintf(each->name, NAME_BYTES, "%.*s", (int)(field.end - field.begin),
                     (char *)m->file.bytes + field.begin);
        if (field.number == TENSOR_RAW) each->begin = field.begin, each->end = field.end;
    }
}

static void map_file(file_map *m, const char *path) {
    memset(m, 0, sizeof *m);
    m->file = read_file(path);
    uint64_t at = 0;
    for (ons_wire_field field; next_field(m, &at, m->file.size, &field);) {
        uint64_t inner = field.begin;
        for (ons_wire_field tensor; field.number == MODEL_GRAPH && next_field(m, &inner, field.end, &tensor);)
            if (tensor.number == GRAPH_INITIALIZER) map_tensor(m, tensor.begin, tensor.end);
    }
    cr_assert_gt(m->count, 0);
}

static void note_roles(file_map *m, const run *r) {
    ons_inspection *inspection;
    must(ons_model_inspect(r->model, r->config, &inspection));
    for (size_t i = 0; i < inspection->parameter_count; ++i)
        for (size_t k = 0; k < m->count; ++k)
            if (strcmp(m->items[k].name, inspection->parameters[i].name) == 0) {
                m->items[k].trained = inspection->parameters[i].trainable;
                m->items[k].statistics = strstr(m->items[k].name, "running_") != NULL;
            }
    ons_inspection_free(inspection);
}

/* Every byte outside of what may change is the same; every trained initialiser has changed. */
static void check_difference(const char *model, const file_map *before, const contents *after) {
    cr_assert_eq(before->file.size, after->size, "%s: %zu bytes became %zu", model, before->file.size, after->size);
    unsigned char *masked = malloc(after->size + 1);
    cr_assert_not_null(masked);
    memcpy(masked, after->bytes, after->size);
    size_t trained = 0;
    for (size_t i = 0; i < before->count; ++i) {
        const initialiser *each = &before->items[i];
        size_t size = (size_t)(each->end - each->begin);
        bool changed = memcmp(before->file.bytes + each->begin, after->bytes + each->begin, size) != 0;
        if (each->trained) {
            cr_assert(changed, "%s: '%s' is trained but has not changed", model, each->name);
            ++trained;
        }
        if (each->trained || each->statistics)
            memcpy(masked + each->begin, before->file.bytes + each->begin, size);
        else
            cr_assert_not(changed, "%s: '%s' is not trained but has changed", model, each->name);
    }
    cr_assert_gt(trained, 0);
    for (size_t i = 0; i < after->size; ++i)
        cr_assert_eq(masked[i], before->file.bytes[i], "%s: byte %zu differs, outside of all weights", model, i);
    free(masked);
}

typedef struct setting {
    char model[32];
    char option[2][32]; /* one more, "" for none */
} setting;

ParameterizedTestParameters(export, same) {
    static setting settings[] = {
        {"mlp", {"", ""}},
        {"mlp_frozen", {"", ""}},
        {"lenet", {"", ""}},
        {"resnet18", {"", ""}},
        {"dynamo_cnn", {"", ""}},
        {"gpt_tied", {"", ""}},
        {"gpt_decomposed", {"", ""}},
        {"dynamo_gpt", {"", ""}},
        {"gpt_tied", {"dropout", "0.1"}},
        {"lenet", {"freeze", "conv*"}},
        {"gpt_decomposed", {"train", "*bias"}},
    };
    return cr_make_param_array(setting, settings, sizeof settings / sizeof settings[0], NULL);
}

static run train(const setting *s, const char *form) {
    run r = run_golden(s->model);
    set(&r, "optimizer", "adamw");
    set(&r, "lr", "0.001");
    set(&r, "steps", "4");
    set(&r, "export", form);
    set(&r, "rows", ":"); /* trained on as well */
    set(&r, "val-rows", "16:48");
    set(&r, "val-every", "1000");
    if (s->option[0][0] != '\0') set(&r, s->option[0], s->option[1]);
    run_open(&r);
    while (!ons_trainer_done(r.trainer)) run_step(&r);
    return r;
}

/* The loss of the file on the trainer's validation samples. */
static ons_evaluation evaluate(const char *model, const char *path) {
    run r = run_golden(model);
    snprintf(r.model_path, sizeof r.model_path, "%s", path);
    set(&r, "rows", "16:48");
    must(ons_model_load(r.model_path, r.config, &r.model));
    ons_evaluation evaluation;
    must(ons_model_evaluate(r.model, r.config, NULL, NULL, &evaluation));
    run_close(&r);
    return evaluation;
}

static void check_evaluation(const run *r, const char *model, const char *path) {
    ons_evaluation trained, loaded = evaluate(model, path);
    must(ons_trainer_evaluate(r->trainer, &trained));
    cr_assert_eq(trained.samples, loaded.samples);
    cr_assert_eq(trained.samples, 32);
    cr_assert(fabs(trained.loss - loaded.loss) <= 1e-6 * fabs(trained.loss),
              "%s: the trainer has loss %.9g, its file %.9g", model, trained.loss, loaded.loss);
    cr_assert(trained.accuracy == loaded.accuracy || (isnan(trained.accuracy) && isnan(loaded.accuracy)));
}

ParameterizedTest(setting *param, export, same) {
    char out[PATH_BYTES];
    scratch_path(out, "same.onnx");
    run r = train(param, "same");
    must(ons_trainer_save(r.trainer, out));
    static file_map before;
    map_file(&before, r.model_path);
    note_roles(&before, &r);
    contents after = read_file(out);
    check_difference(param->model, &before, &after);
    check_evaluation(&r, param->model, out);
    free(after.bytes);
    free(before.file.bytes);
    run_close(&r);
    unlink(out);
}

ParameterizedTestParameters(export, inference) {
    static setting settings[] = {
        {"mlp", {"", ""}},
        {"resnet18", {"", ""}},
        {"cnn_dynamic", {"", ""}},
        {"gpt_tied", {"", ""}},
        {"gpt_tied", {"dropout", "graph"}},
        {"dynamo_gpt", {"", ""}},
    };
    return cr_make_param_array(setting, settings, sizeof settings / sizeof settings[0], NULL);
}

ParameterizedTest(setting *param, export, inference) {
    char out[PATH_BYTES];
    scratch_path(out, "inference.onnx");
    run r = train(param, "inference");
    must(ons_trainer_save(r.trainer, out));
    check_evaluation(&r, param->model, out);
    run_close(&r);
    unlink(out);
}

/* Running statistics that exporters have merged get initialisers of their own: the file grows, what it computes stays.
 */
Test(export, split_statistics) {
    setting s = {"cnn_dynamic", {"", ""}};
    char out[PATH_BYTES];
    scratch_path(out, "split.onnx");
    run r = train(&s, "same");
    must(ons_trainer_save(r.trainer, out));
    check_evaluation(&r, s.model, out);
    run_close(&r);
    unlink(out);
}

/* Without a step the file is the input file, byte for byte. */
Test(export, untrained_is_the_input) {
    static const char *const models[] = {"mlp", "gpt_tied", "dynamo_gpt", "lenet"};
    for (size_t i = 0; i < sizeof models / sizeof models[0]; ++i) {
        char out[PATH_BYTES];
        scratch_path(out, "untrained.onnx");
        run r = run_golden(models[i]);
        run_open(&r);
        must(ons_trainer_save(r.trainer, out));
        cr_assert(same_contents(r.model_path, out), "%s", models[i]);
        run_close(&r);
        unlink(out);
    }
}

/* A path that cannot be written leaves nothing and breaks nothing. */
Test(export, unwritable_path) {
    run r = run_golden("mlp");
    run_open(&r);
    must_fail(ons_trainer_save(r.trainer, "/nonexistent/out.onnx"), ONS_IO_ERROR, "/nonexistent/out.onnx", NULL);
    run_step(&r);
    run_close(&r);
}
