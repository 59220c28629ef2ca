#include "tests/agreement/backend/case.h"

#include <stdio.h>
#include <string.h>

#include "onnx_import/model_parts.h"
#include "tests/agreement/backend/apart.h"
#include "tests/agreement/backend/compare.h"
#include "tests/agreement/backend/outside.h"
#include "tests/agreement/backend/trial.h"

enum { PATH_BYTES = 4096 };

typedef struct outcome {
    bool all_bound;
    bool values_differ; /* and nothing else */
} outcome;

static const char *name_of(const char *folder) {
    const char *slash = strrchr(folder, '/');
    return slash == NULL ? folder : slash + 1;
}

/* ----------------------------------------------------------------------------------------------------- one data set */

static ons_status *compare_outputs(const trial *t, const data_set *set, outcome *o) {
    ONS_CHECK(t->output_count == set->output_count, ONS_DEFECT, "the model has %u outputs, the data set %u",
              t->output_count, set->output_count);
    for (uint32_t i = 0; i < set->output_count; ++i) {
        ons_tensor got = trial_output(t, i);
        data_tensor_restate(&set->outputs[i], got.type.dtype);
        ONS_TRY_AT(backend_compare(&got, &set->outputs[i].tensor, &o->values_differ), "output %u", i);
    }
    return NULL;
}

static ons_status *run_set(const char *model, const data_set *set, outcome *o) {
    trial t = {0};
    ons_status *status = trial_prepare(&t, model, set);
    if (status == NULL) {
        o->all_bound = t.all_bound;
        status = trial_run(&t, set);
    }
    if (status == NULL) status = compare_outputs(&t, set, o);
    trial_free(&t);
    return status;
}

static ons_status *run_sets(const char *folder, const char *model, ons_arena *arena, outcome *o) {
    bool found = true;
    for (uint32_t index = 0; found; ++index) {
        data_set set;
        ONS_TRY(data_set_read(folder, index, arena, &set, &found));
        if (found) ONS_TRY(run_set(model, &set, o));
        ONS_CHECK(found || index > 0, ONS_INVALID_DATA, "there is no data set");
    }
    return NULL;
}

/* --------------------------------------------------------------------------------------------------------- verdicts */

/* "/long/folder/model.onnx: " in front of a message says nothing here. */
static const char *without_path(const char *message, const char *model) {
    size_t length = strlen(model);
    if (strncmp(message, model, length) != 0 || message[length] != ':') return message;
    return message + length + (message[length + 1] == ' ' ? 2 : 1);
}

static void judge(const ons_model_file *file, const char *folder, const char *path, const ons_status *failure,
                  const outcome *o, backend_result *result) {
    const char *outside = backend_defect(name_of(folder));
    if (failure == NULL) {
        result->verdict = o->all_bound ? BACKEND_BOUND : BACKEND_PASS;
        return;
    }
    if (outside == NULL) outside = backend_outside(file->model);
    if (outside == NULL && o->values_differ && backend_is_random(file->model))
        outside = "random numbers, which no two engines draw alike (type and shape agree)";
    result->verdict = outside == NULL ? BACKEND_FAIL : BACKEND_OUTSIDE;
    const char *reason = outside == NULL ? without_path(ons_status_get_message(failure), path) : outside;
    snprintf(result->reason, sizeof result->reason, "%s", reason);
}

static void name_operator(const Onnx__ModelProto *model, backend_result *result) {
    static const char unknown[] = "onstage does not know the operator ";
    const char *text = strstr(result->reason, unknown);
    snprintf(result->operator_name, sizeof result->operator_name, "%s", backend_main_operator(model));
    if (text == NULL) return;
    text += sizeof unknown - 1;
    snprintf(result->operator_name, sizeof result->operator_name, "%.*s", (int)strcspn(text, ",; "), text);
}

void backend_run(const char *folder, backend_result *result) {
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    *result = (backend_result){.verdict = BACKEND_FAIL};
    ons_model_file *file = NULL;
    outcome o = {.all_bound = true};
    ons_arena *arena = ons_arena_new();
    ons_status *status = arena == NULL ? ons_status_out_of_memory() : ons_model_file_open(path, &file);
    if (status == NULL) {
        status = run_sets(folder, path, arena, &o);
        judge(file, folder, path, status, &o, result);
        name_operator(file->model, result);
    } else {
        snprintf(result->reason, sizeof result->reason, "%s", ons_status_get_message(status));
    }
    ons_status_free(status);
    ons_model_file_close(file);
    ons_arena_free(arena);
}

static void run(const char *folder, void *result) { backend_run(folder, result); }

void backend_run_apart(const char *folder, backend_result *result) {
    char death[BACKEND_REASON];
    if (run_apart(run, folder, result, sizeof *result, death, sizeof death)) return;
    *result = (backend_result){.verdict = BACKEND_FAIL};
    snprintf(result->reason, sizeof result->reason, "%s", death);
}
