#include "tests/rooms/pipeline/copied_plan.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/json.h"

enum { STAGES_MOST = 16 };

typedef struct editor {
    ons_json *decisions, *layout, *costs, *actions; /* of the plan; the last one new */
    uint32_t copies[STAGES_MOST], stages, micro_batches;
} editor;

static void add(ons_json *list, uint32_t stage, uint32_t copy, uint32_t copies, char action, uint32_t micro_batch) {
    char text[48];
    if (copies == 1)
        snprintf(text, sizeof text, "%u%c%u", stage, action, micro_batch);
    else
        snprintf(text, sizeof text, "%u.%u%c%u", stage, copy, action, micro_batch);
    cJSON_AddItemToArray(list, cJSON_CreateString(text));
}

/* `ahead`: forward parts in front of the first backward part. */
static void add_list(const editor *e, uint32_t stage, uint32_t copy, uint32_t ahead) {
    uint32_t copies = e->copies[stage], count = e->micro_batches / copies;
    ons_json *list = cJSON_CreateArray();
    for (uint32_t i = 0; i + 1 < count + ahead; ++i) {
        if (i < count) add(list, stage, copy, copies, 'F', i);
        if (i + 1 >= ahead) add(list, stage, copy, copies, 'B', i + 1 - ahead);
    }
    add(list, stage, copy, copies, 'U', count - 1);
    cJSON_AddItemToArray(e->actions, list);
}

static ons_json *stage_of(ons_json *part, uint32_t stage) {
    return cJSON_GetArrayItem(cJSON_GetObjectItem(part, "stages"), (int)stage);
}

static void set(ons_json *object, const char *name, double value) {
    cJSON_DeleteItemFromObject(object, name);
    cJSON_AddNumberToObject(object, name, value);
}

static void edit_stage(const editor *e, uint32_t stage, uint32_t device, uint32_t behind) {
    uint32_t copies = e->copies[stage], count = e->micro_batches / copies, ahead = (behind + copies - 1) / copies;
    ahead = ahead < count ? ahead : count;
    set(stage_of(e->decisions, stage), "device", device);
    if (copies > 1) set(stage_of(e->decisions, stage), "replicas", copies);
    set(stage_of(e->layout, stage), "in_flight", ahead);
    set(stage_of(e->costs, stage), "reduce_seconds", 0);
    cJSON_DeleteItemFromObject(stage_of(e->costs, stage), "made_for"); /* times are another plan's */
    for (uint32_t copy = 0; copy < copies; ++copy) add_list(e, stage, copy, ahead);
}

static ons_status *edit(editor *e, ons_json *plan) {
    uint32_t behind = 0, device = 0;
    e->decisions = cJSON_GetObjectItem(plan, "decisions");
    e->layout = cJSON_GetObjectItem(plan, "layout");
    e->costs = cJSON_GetObjectItem(plan, "costs");
    e->micro_batches = (uint32_t)cJSON_GetObjectItem(cJSON_GetObjectItem(plan, "for"), "micro_batches")->valueint;
    ONS_CHECK(e->stages == (uint32_t)cJSON_GetArraySize(cJSON_GetObjectItem(e->decisions, "stages")),
              ONS_INVALID_ARGUMENT, "the plan has another number of stages than %u", e->stages);
    e->actions = cJSON_CreateArray();
    for (uint32_t i = 0; i < e->stages; ++i) behind += e->copies[i];
    for (uint32_t i = 0; i < e->stages; device += e->copies[i], behind -= e->copies[i], ++i)
        edit_stage(e, i, device, behind);
    cJSON_ReplaceItemInObject(e->decisions, "actions", e->actions);
    return NULL;
}

static ons_status *write_plan(const char *path, const ons_json *plan) {
    char *text = cJSON_Print(plan);
    FILE *file = text == NULL ? NULL : fopen(path, "w");
    bool written = file != NULL && fputs(text, file) >= 0;
    if (file != NULL) written = fclose(file) == 0 && written;
    cJSON_free(text);
    return written ? NULL : ons_status_new(ONS_IO_ERROR, "%s cannot be written", path);
}

ons_status *copied_plan(const char *from, const char *to, const char *copies) {
    editor e = {0};
    ons_mapping file;
    ons_json *plan = NULL;
    for (const char *rest = copies; *rest != '\0' && e.stages < STAGES_MOST; rest += *rest == ',')
        e.copies[e.stages++] = (uint32_t)strtoul(rest, (char **)(uintptr_t)&rest, 10);
    ONS_TRY(ons_mapping_open(from, &file));
    ons_status *status = ons_json_parse(file.bytes, file.size, &plan);
    ons_mapping_close(&file);
    if (status == NULL) status = edit(&e, plan);
    if (status == NULL) status = write_plan(to, plan);
    ons_json_free(plan);
    return status;
}
