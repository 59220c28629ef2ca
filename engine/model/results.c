#include "engine/model/results.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "engine/config/profile_list.h"

/* By making the file that would take the name, and removing it: a name that is too long, a folder that was removed and
 * a file system that is read-only fail here as they would at the end. */
static ons_status *try_file(const char *path) {
    struct stat found;
    if (stat(path, &found) == 0 && !S_ISREG(found.st_mode)) return NULL; /* opening a pipe would tell its reader */
    ons_file_writer *writer = NULL;
    ons_status *status = ons_file_writer_open(path, &writer);
    ons_file_discard(writer);
    return status;
}

static ons_status *check_writable(const char *option, const char *path) {
    struct stat found;
    bool is_folder = stat(path, &found) == 0 && S_ISDIR(found.st_mode);
    ONS_CHECK(!is_folder, ONS_IO_ERROR, "--%s: %s is a folder; give the name of a file", option, path);
    ONS_TRY_AT(try_file(path), "--%s", option);
    return NULL;
}

bool ons_is_same_file(const char *left, const char *right) {
    struct stat a, b;
    return stat(left, &a) == 0 && stat(right, &b) == 0 && S_ISREG(a.st_mode) && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

/* Whether two files that need not be there yet would be the same. */
static bool is_same_name(const char *left, const char *right) {
    struct stat a, b;
    char *folders[2] = {strdup(left), strdup(right)}, *names[2] = {strdup(left), strdup(right)};
    bool same = false;
    if (folders[0] != NULL && folders[1] != NULL && names[0] != NULL && names[1] != NULL)
        same = strcmp(basename(names[0]), basename(names[1])) == 0 && stat(dirname(folders[0]), &a) == 0 &&
               stat(dirname(folders[1]), &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
    for (int i = 0; i < 2; ++i) {
        free(folders[i]);
        free(names[i]);
    }
    struct stat found; /* devices and pipes take what everybody writes */
    bool is_file = stat(left, &found) != 0 || S_ISREG(found.st_mode);
    return is_file && (same || ons_is_same_file(left, right));
}

typedef struct result {
    const char *option, *path;
} result;

/* No two results go to the same file. */
static ons_status *check_results_apart(const result *results, size_t count) {
    for (size_t i = 0; i < count; ++i)
        for (size_t k = 0; k < i; ++k)
            ONS_CHECK(results[i].path == NULL || results[k].path == NULL ||
                          !is_same_name(results[i].path, results[k].path),
                      ONS_INVALID_ARGUMENT, "--%s and --%s would write the same file, %s; give another name",
                      results[k].option, results[i].option, results[i].path);
    return NULL;
}

static ons_status *check_apart(const char *option, const char *path, const char *other_option, const char *other) {
    if (other == NULL) return NULL;
    const char *colon = strrchr(other, ':'); /* FILE.npz:MEMBER */
    char *file = colon == NULL ? NULL : strndup(other, (size_t)(colon - other));
    bool same = ons_is_same_file(path, other) || (file != NULL && ons_is_same_file(path, file));
    free(file);
    ONS_CHECK(!same, ONS_INVALID_ARGUMENT, "--%s: %s would take the place of what %s reads; give another name", option,
              path, other_option);
    return NULL;
}

static ons_status *check_profile_list(const ons_config *config, ons_arena *arena, const char *option,
                                      const char *path) {
    const char **files;
    uint32_t count;
    ONS_TRY(ons_profile_list_find(config, arena, &files, &count));
    for (uint32_t i = 0; i < count; ++i) ONS_TRY(check_apart(option, path, "--profile", files[i]));
    return NULL;
}

static ons_status *check_profiles(const ons_config *config, const char *option, const char *path) {
    if (!ons_profile_list_is_given(config)) return check_apart(option, path, "--profile", config->profile);
    ons_arena *arena = ons_arena_new();
    ons_status *status = arena == NULL ? ons_status_out_of_memory() : check_profile_list(config, arena, option, path);
    ons_arena_free(arena);
    return status;
}

static ons_status *check_external(const ons_model *model, const char *option, const char *path) {
    const char *name = ons_model_file_external(model->file, path);
    ONS_CHECK(name == NULL, ONS_INVALID_ARGUMENT,
              "--%s: %s would take the place of '%s', where the model keeps its weights; give another name", option,
              path, name);
    return NULL;
}

/* Another model that keeps its weights where the one that is read does, as a renamed copy does: when it is replaced,
 * its data file goes. */
static ons_status *check_shared_data(const ons_model *model, const char *out) {
    if (out == NULL || ons_is_same_file(out, model->path)) return NULL;
    char *data = NULL;
    if (asprintf(&data, "%s.data", out) < 0) return ons_status_out_of_memory();
    const char *name = ons_model_file_external(model->file, data);
    free(data);
    ONS_CHECK(
        name == NULL, ONS_INVALID_ARGUMENT,
        "--out: %s would take the place of a model that keeps its weights in '%s', as the model that is read does; "
        "give another name",
        out, name);
    return NULL;
}

static ons_status *check_result(const ons_model *model, const ons_config *config, const char *option,
                                const char *path) {
    if (path == NULL) return NULL;
    ONS_TRY(check_writable(option, path));
    ONS_TRY(check_external(model, option, path));
    const struct {
        const char *option, *path;
    } read[] = {{"--target", config->target},
                {"--val-target", config->val_target},
                {"--tokens", config->tokens},
                {"--val-tokens", config->val_tokens},
                {"--class-weights", config->class_weights},
                {"--device-profile", config->device_profile},
                {"--prices", config->prices},
                {"--plan", config->plan},
                {"--schedule", config->schedule},
                {"the model", strcmp(option, "out") == 0 ? NULL : model->path}};
    for (size_t i = 0; i < sizeof read / sizeof read[0]; ++i)
        ONS_TRY(check_apart(option, path, read[i].option, read[i].path));
    for (size_t i = 0; i < config->inputs.count; ++i)
        ONS_TRY(check_apart(option, path, "--input", config->inputs.items[i].value));
    for (size_t i = 0; i < config->val_inputs.count; ++i)
        ONS_TRY(check_apart(option, path, "--val-input", config->val_inputs.items[i].value));
    return check_profiles(config, option, path);
}

static bool is_utf8(const char *name) {
    for (size_t length; *name != '\0'; name += length)
        if ((length = ons_utf8_length(name)) == 0) return false;
    return true;
}

/* Plans and checkpoints find values and nodes by their names, which they hold as JSON. */
static ons_status *check_names(const ons_model *model, const char *option, const char *path) {
    const ons_graph *graph = model->graph;
    const char *odd = NULL;
    for (ons_value_id id = 0; path != NULL && odd == NULL && id < graph->values.count; ++id)
        if (!is_utf8(ons_graph_value(graph, id)->name)) odd = ons_graph_value(graph, id)->name;
    for (ons_node_id id = 0; path != NULL && odd == NULL && id < graph->nodes.count; ++id)
        if (!is_utf8(ons_graph_node(graph, id)->name)) odd = ons_graph_node(graph, id)->name;
    ONS_CHECK(
        odd == NULL, ONS_UNSUPPORTED,
        "--%s: the model has a name that is no UTF-8, '%s', and the file could not be read again; rename it in the "
        "model, or leave --%s out",
        option, odd, option);
    return NULL;
}

/* Outputs are written as .npy: a name that ends as files of another kind do asks for what would not be in the file. */
static ons_status *check_ending(const char *option, const char *path) {
    static const char *const others[] = {".csv", ".tsv", ".txt",     ".json", ".jsonl", ".npz",
                                         ".pb",  ".gz",  ".h5",      ".mat",  ".pt",    ".pth",
                                         ".pkl", ".bin", ".parquet", ".png",  ".jpg",   ".onnx"};
    const char *ending = strrchr(path, '.');
    for (size_t i = 0; ending != NULL && i < sizeof others / sizeof *others; ++i)
        ONS_CHECK(strcmp(ending, others[i]) != 0, ONS_INVALID_ARGUMENT,
                  "--%s %s: an array is written as .npy, not as %s; give a name that ends with .npy", option, path,
                  ending);
    return NULL;
}

ons_status *ons_check_results(const ons_model *model, const ons_config *config) {
    ONS_TRY(check_names(model, "checkpoint", config->checkpoint));
    ONS_TRY(check_result(model, config, "out", config->out));
    ONS_TRY(check_shared_data(model, config->out));
    ONS_TRY(check_result(model, config, "log-json", config->log_json));
    ONS_TRY(check_result(model, config, "trace", config->trace));
    for (size_t i = 0; i < config->outputs.count; ++i) {
        ONS_TRY(check_ending("output", config->outputs.items[i].value));
        ONS_TRY(check_result(model, config, "output", config->outputs.items[i].value));
        for (size_t k = 0; k < i; ++k)
            ONS_TRY(check_results_apart((const result[]){{"output", config->outputs.items[i].value},
                                                         {"output", config->outputs.items[k].value}},
                                        2));
    }
    return check_results_apart(
        (const result[]){{"out", config->out}, {"log-json", config->log_json}, {"trace", config->trace}}, 3);
}

ons_status *ons_check_output(const char *option, const char *path, const char *reader, const char *reads) {
    if (path == NULL) return NULL;
    ONS_TRY(check_writable(option, path));
    return check_apart(option, path, reader, reads);
}

ons_status *ons_check_replay(const char *plan, const ons_config *config) {
    const result results[] = {
        {"trace", config->trace}, {"svg", config->svg}, {"write-schedule", config->written_schedule}};
    size_t count = sizeof results / sizeof *results;
    for (size_t i = 0; i < count; ++i) ONS_TRY(ons_check_output(results[i].option, results[i].path, "the plan", plan));
    return check_results_apart(results, count);
}

ons_status *ons_check_report(const ons_model *model, const ons_config *config) {
    ONS_TRY(check_names(model, "out", config->out));
    ONS_TRY(check_result(model, config, "out", config->out));
    ONS_TRY(check_result(model, config, "report", config->report));
    ONS_TRY(check_results_apart((const result[]){{"out", config->out}, {"report", config->report}}, 2));
    return config->out == NULL ? NULL : check_apart("out", config->out, "the model", model->path);
}
