/* Every model that was exported for a fixed batch is trained with two of them at once, and in two micro-batches: the
 * same losses. Normalisation by the batch is by the running statistics, as nothing else would be the same. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <glob.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "include/onstage.h"

enum { FOLDERS_MAX = 128, FOLDER_BYTES = 96, TEXT_BYTES = 256, STEPS = 2 };

typedef struct folder {
    char name[FOLDER_BYTES];
} folder;

typedef struct outcome {
    double losses[STEPS];
    int64_t micro_batches;
    char notes[4 * TEXT_BYTES];
} outcome;

static void must(ons_status *status) { cr_assert_null(status, "%s", ons_status_get_message(status)); }

static ons_json *read_golden(const char *name) {
    char path[TEXT_BYTES];
    ons_mapping mapping;
    ons_json *json = NULL;
    snprintf(path, sizeof path, "%s/golden.json", name);
    must(ons_mapping_open(path, &mapping));
    must(ons_json_parse(mapping.bytes, mapping.size, &json));
    ons_mapping_close(&mapping);
    return json;
}

/* Models with a batch that is not fixed take any number of samples anyway. */
ParameterizedTestParameters(batch, at_once) {
    static folder folders[FOLDERS_MAX];
    size_t count = 0;
    glob_t found;
    cr_assert_eq(glob("tests/agreement/{golden,families}/*/golden.json", GLOB_BRACE, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc && count < FOLDERS_MAX; ++i) {
        *strrchr(found.gl_pathv[i], '/') = '\0';
        ons_json *golden = read_golden(found.gl_pathv[i]);
        const cJSON *dynamic = ons_json_find(golden, "dynamic");
        if (!cJSON_IsTrue(dynamic)) snprintf(folders[count++].name, FOLDER_BYTES, "%s", found.gl_pathv[i]);
        ons_json_free(golden);
    }
    globfree(&found);
    return cr_make_param_array(folder, folders, count, NULL);
}

static void set(ons_config *config, const char *option, const char *format, ...) {
    char text[TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    must(ons_config_set(config, option, text));
}

static void configure(ons_config *config, const char *name, const ons_json *golden, const char *micro_batches) {
    const cJSON *each;
    cJSON_ArrayForEach(each, ons_json_find(golden, "inputs"))
        set(config, "input", "%s=%s/%s", each->string, name, each->valuestring);
    set(config, "target", "%s/%s", name, ons_json_find(golden, "target")->valuestring);
    set(config, "loss", "%s", ons_json_find(golden, "loss")->valuestring);
    set(config, "loss-output", "%s", ons_json_find(golden, "output")->valuestring);
    const ons_json *options = ons_json_find(golden, "options");
    for (int i = 0; i + 1 < cJSON_GetArraySize(options); i += 2)
        set(config, cJSON_GetArrayItem(options, i)->valuestring + 2, "%s",
            cJSON_GetArrayItem(options, i + 1)->valuestring);
    set(config, "batch", "%d", 2 * ons_json_find(golden, "batch")->valueint);
    set(config, "steps", "%d", STEPS);
    set(config, "shuffle", "false");
    set(config, "optimizer", "sgd");
    set(config, "lr", "0.01");
    set(config, "batchnorm", "eval");
    if (micro_batches != NULL) set(config, "micro-batches", "%s", micro_batches);
}

static outcome train(const char *name, const ons_json *golden, const char *micro_batches) {
    outcome result;
    ons_config *config;
    ons_model *model;
    ons_trainer *trainer;
    ons_trainer_status status;
    char path[TEXT_BYTES];
    snprintf(path, sizeof path, "%s/model.onnx", name);
    must(ons_config_new(&config));
    configure(config, name, golden, micro_batches);
    must(ons_model_load(path, config, &model));
    must(ons_trainer_new(model, config, &trainer));
    must(ons_trainer_get_status(trainer, &status));
    result.micro_batches = status.micro_batches;
    snprintf(result.notes, sizeof result.notes, "%s", status.notes);
    for (int i = 0; i < STEPS; ++i) {
        ons_step_report report;
        must(ons_trainer_step(trainer, &report));
        result.losses[i] = report.loss;
    }
    ons_trainer_free(trainer);
    ons_model_free(model);
    ons_config_free(config);
    return result;
}

ParameterizedTest(folder *param, batch, at_once, .timeout = 300) {
    ons_json *golden = read_golden(param->name);
    outcome parts = train(param->name, golden, "2"), whole = train(param->name, golden, NULL);
    for (int i = 0; i < STEPS; ++i)
        cr_assert(fabs(whole.losses[i] - parts.losses[i]) <= 1e-5 * fabs(parts.losses[i]),
                  "%s: loss %.8g of step %d at once, %.8g in two parts", param->name, whole.losses[i], i + 1,
                  parts.losses[i]);
    /* CLIP takes each text's last token from the flattened batch, by places that the exporter counted. */
    if (strcmp(param->name, "tests/agreement/families/clip") == 0)
        cr_assert_not_null(strstr(whole.notes, "/model/text_model/"), "%s", whole.notes);
    else
        cr_assert_eq(whole.micro_batches, 1, "%s: %s", param->name, whole.notes);
    ons_json_free(golden);
}
