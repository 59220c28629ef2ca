/* The options of a run over a golden model. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "engine/config/config.h"
#include "tests/rooms/pipeline/pipeline_run.h"

static ons_status *set_number(ons_config *config, const char *option, uint32_t value) {
    char text[16];
    snprintf(text, sizeof text, "%u", value);
    return ons_config_set(config, option, text);
}

/* ["--freeze", "encoder.*", "--nesterov"] */
static ons_status *set_flags(ons_config *config, const cJSON *flags) {
    int size = cJSON_GetArraySize(flags);
    for (int i = 0; i < size; ++i) {
        const cJSON *next = i + 1 < size ? cJSON_GetArrayItem(flags, i + 1) : NULL;
        bool has_value = next != NULL && strncmp(next->valuestring, "--", 2) != 0;
        const char *value = has_value ? next->valuestring : "true";
        ONS_TRY(ons_config_set(config, cJSON_GetArrayItem(flags, i)->valuestring + 2, value));
        i += has_value;
    }
    return NULL;
}

static ons_status *configure_as_golden(const pipeline_setting *s, const ons_json *golden, ons_config *config) {
    char text[512];
    const cJSON *input;
    ONS_TRY(ons_config_set(config, "loss", ons_json_find(golden, "loss")->valuestring));
    ONS_TRY(ons_config_set(config, "loss-output", ons_json_find(golden, "output")->valuestring));
    uint32_t together = s->micro_batches * (s->replicas > 1 ? s->replicas : 1);
    uint32_t usual = (uint32_t)ons_json_find(golden, "batch")->valueint * together;
    ONS_TRY(set_number(config, "batch", s->batch > 0 ? s->batch : usual));
    ONS_TRY(set_flags(config, ons_json_find(golden, "options")));
    cJSON_ArrayForEach(input, ons_json_find(golden, "inputs")) {
        snprintf(text, sizeof text, "%s=tests/agreement/golden/%s/%s", input->string, s->model, input->valuestring);
        ONS_TRY(ons_config_set(config, "input", text));
    }
    snprintf(text, sizeof text, "tests/agreement/golden/%s/%s", s->model, ons_json_find(golden, "target")->valuestring);
    return ons_config_set(config, "target", text);
}

ons_status *pipeline_configure(const pipeline_setting *s, ons_config *config) {
    char path[512];
    ons_mapping mapping;
    ons_json *golden = NULL;
    snprintf(path, sizeof path, "tests/agreement/golden/%s/golden.json", s->model);
    ONS_TRY(ons_mapping_open(path, &mapping));
    ons_status *status = ons_json_parse(mapping.bytes, mapping.size, &golden);
    ons_mapping_close(&mapping);
    if (status == NULL) status = configure_as_golden(s, golden, config);
    ons_json_free(golden);
    ONS_TRY(status);
    ONS_TRY(set_number(config, "micro-batches", s->micro_batches));
    if (s->replicas > 1) ONS_TRY(set_number(config, "replicas", s->replicas));
    ONS_TRY(set_number(config, "threads", s->threads > 0 ? s->threads : 1));
    if (!s->quiet) ONS_TRY(ons_config_set(config, "log-json", "not opened here")); /* asks for norms */
    for (const char *const *option = s->options; option != NULL && *option != NULL; option += 2)
        ONS_TRY(ons_config_set(config, option[0], option[1]));
    return NULL;
}
