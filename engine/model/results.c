#include "engine/model/results.h"

#include <dirent.h>
#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "base/vector.h"
#include "onnx_import/data_file.h"
#include "runtime/checkpoint/checkpoint_files.h"

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
    char *folders[2] = {ons_file_target(left), ons_file_target(right)};
    char *names[2] = {ons_file_target(left), ons_file_target(right)};
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

/* ---------------------------------------------------------------------------------------------- files that are read */

/* A file that the command opens to read, and the option that names it or a noun for it. */
typedef struct source {
    const char *reader, *path;
} source;

typedef struct sources {
    ons_arena *arena;       /* names */
    const ons_model *model; /* its files of weights count as well; may be NULL */
    ONS_VECTOR(source) list;
} sources;

static ons_status *add_source(sources *s, const char *reader, const char *path) {
    if (path != NULL) ONS_PUSH(&s->list, (source){reader, path});
    return NULL;
}

/* The first `size` bytes of `text` name the file. */
static ons_status *add_part(sources *s, const char *reader, const char *text, size_t size) {
    const char *path = ons_arena_format(s->arena, "%.*s", (int)size, text);
    return path == NULL ? ons_status_out_of_memory() : add_source(s, reader, path);
}

static ons_status *add_array(sources *s, const char *reader, const char *path) {
    const char *colon = path == NULL ? NULL : strrchr(path, ':');
    if (colon != NULL) ONS_TRY(add_part(s, reader, path, (size_t)(colon - path))); /* FILE.npz:MEMBER */
    return add_source(s, reader, path);
}

static ons_status *add_arrays(sources *s, const char *reader, const ons_pairs *pairs) {
    for (size_t i = 0; i < pairs->count; ++i) ONS_TRY(add_array(s, reader, pairs->items[i].value));
    return NULL;
}

/* FILE, FILE,FILE or FILE*2,FILE: any of these texts may also be the name of one file. */
static ons_status *add_list(sources *s, const char *reader, const char *text) {
    ONS_TRY(add_source(s, reader, text));
    for (const char *rest = text; rest != NULL; rest = strchr(rest, ',')) {
        rest += *rest == ',';
        ONS_TRY(add_part(s, reader, rest, strcspn(rest, ",*")));
    }
    return NULL;
}

static bool is_of_checkpoint(const char *name) {
    uint64_t step;
    return ons_checkpoint_is_data(name) || ons_checkpoint_parse_json_name(name, &step);
}

static ons_status *add_checkpoints(sources *s, const char *folder) {
    DIR *directory = folder == NULL ? NULL : opendir(folder);
    ons_status *status = NULL;
    if (directory == NULL) return NULL;
    for (struct dirent *entry; status == NULL && (entry = readdir(directory)) != NULL;) {
        if (!is_of_checkpoint(entry->d_name)) continue;
        const char *path = ons_arena_format(s->arena, "%s/%s", folder, entry->d_name);
        status = path == NULL ? ons_status_out_of_memory() : add_source(s, "--checkpoint", path);
    }
    closedir(directory);
    return status;
}

/* Every option that names a file to read; the subcommands refuse those that they do not take. */
static ons_status *list_sources(const ons_config *config, sources *s) {
    const source arrays[] = {{"--target", config->target},
                             {"--val-target", config->val_target},
                             {"--tokens", config->tokens},
                             {"--val-tokens", config->val_tokens},
                             {"--class-weights", config->class_weights}};
    const source files[] = {{"--prices", config->prices},
                            {"--plan", config->plan},
                            {"--schedule", config->schedule},
                            {"--cost-graph", config->cost_graph}};
    ONS_TRY(add_arrays(s, "--input", &config->inputs));
    ONS_TRY(add_arrays(s, "--val-input", &config->val_inputs));
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; ++i) ONS_TRY(add_array(s, arrays[i].reader, arrays[i].path));
    for (size_t i = 0; i < sizeof files / sizeof *files; ++i) ONS_TRY(add_source(s, files[i].reader, files[i].path));
    ONS_TRY(add_list(s, "--profile", config->profile));
    ONS_TRY(add_list(s, "--device-profile", config->device_profile));
    return add_checkpoints(s, config->checkpoint);
}

static ons_status *check_apart(const sources *s, const char *option, const char *path) {
    const char *weights = s->model == NULL ? NULL : ons_model_file_external(s->model->file, path);
    ONS_CHECK(weights == NULL, ONS_INVALID_ARGUMENT,
              "--%s: %s would take the place of '%s', where the model keeps its weights; give another name", option,
              path, weights);
    for (size_t i = 0; i < s->list.count; ++i)
        ONS_CHECK(!ons_is_same_file(path, s->list.items[i].path), ONS_INVALID_ARGUMENT,
                  "--%s: %s would take the place of what %s reads; give another name", option, path,
                  s->list.items[i].reader);
    return NULL;
}

static ons_status *check_result(const sources *s, const char *option, const char *path) {
    if (path == NULL) return NULL;
    ONS_TRY(check_writable(option, path));
    return check_apart(s, option, path);
}

static ons_status *check_not_model(const ons_model *model, const char *option, const char *path) {
    ONS_CHECK(path == NULL || !ons_is_same_file(path, model->path), ONS_INVALID_ARGUMENT,
              "--%s: %s would take the place of what the model reads; give another name", option, path);
    return NULL;
}

/* Whether both lead to one name: then replacing one replaces the other, unlike the names of a hard link. */
static bool has_same_name(const char *left, const char *right) {
    char *a = realpath(left, NULL), *b = realpath(right, NULL);
    bool same = a != NULL && b != NULL && strcmp(a, b) == 0;
    free(a);
    free(b);
    return same;
}

static ons_status *check_former(const sources *s, const char *out, const char *former) {
    const char *weights = has_same_name(out, s->model->path) ? NULL : ons_model_file_external(s->model->file, former);
    ONS_CHECK(weights == NULL, ONS_INVALID_ARGUMENT,
              "--out: %s would take the place of a model that keeps its weights in '%s', as the model that is read "
              "does; give another name",
              out, weights);
    for (size_t i = 0; i < s->list.count; ++i)
        ONS_CHECK(!ons_is_same_file(former, s->list.items[i].path), ONS_INVALID_ARGUMENT,
                  "--out: %s would take the place of a model that keeps its weights in '%s', which %s reads; give "
                  "another name",
                  out, former, s->list.items[i].reader);
    return NULL;
}

/* When a model is replaced, its data files go: another model may keep its weights there, as a renamed copy does. */
static ons_status *check_former_data(const sources *s, const char *out) {
    ons_data_file file;
    if (out == NULL) return NULL;
    bool to_stream = ons_file_own_descriptor(out) >= 0;
    ONS_CHECK(!to_stream || !ons_model_file_has_external(s->model->file), ONS_INVALID_ARGUMENT,
              "--out: the model keeps its weights in files of their own, and two files cannot go to one stream; give "
              "the name of a file");
    if (to_stream) return NULL;
    ONS_TRY_AT(ons_data_file_choose(out, s->arena, &file), "--out");
    ons_status *status = NULL;
    for (size_t i = 0; status == NULL && i < file.former.count; ++i)
        status = check_former(s, out, file.former.items[i]);
    ons_vector_free(&file.former);
    return status;
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

static ons_status *check_outputs(const sources *s, const ons_pairs *outputs) {
    for (size_t i = 0; i < outputs->count; ++i) {
        const char *path = outputs->items[i].value;
        ONS_TRY(check_apart(s, "output", path));
        ONS_TRY(check_not_model(s->model, "output", path));
        ONS_TRY(check_ending("output", path));
        ONS_TRY(check_writable("output", path));
        for (size_t k = 0; k < i; ++k)
            ONS_TRY(check_results_apart((const result[]){{"output", path}, {"output", outputs->items[k].value}}, 2));
    }
    return NULL;
}

/* What follows works with the list of files that are read. */
typedef ons_status *sources_check(const sources *s, const ons_config *config);

static ons_status *with_sources(const ons_model *model, const ons_config *config, sources_check *check) {
    sources s = {.arena = ons_arena_new(), .model = model};
    ons_status *status = s.arena == NULL ? ons_status_out_of_memory() : list_sources(config, &s);
    if (status == NULL) status = check(&s, config);
    ons_vector_free(&s.list);
    ons_arena_free(s.arena);
    return status;
}

static ons_status *check_run(const sources *s, const ons_config *config) {
    ONS_TRY(check_names(s->model, "checkpoint", config->checkpoint));
    ONS_TRY(check_result(s, "out", config->out));
    ONS_TRY(check_former_data(s, config->out));
    ONS_TRY(check_result(s, "log-json", config->log_json));
    ONS_TRY(check_not_model(s->model, "log-json", config->log_json));
    ONS_TRY(check_result(s, "trace", config->trace));
    ONS_TRY(check_not_model(s->model, "trace", config->trace));
    ONS_TRY(check_outputs(s, &config->outputs));
    return check_results_apart(
        (const result[]){{"out", config->out}, {"log-json", config->log_json}, {"trace", config->trace}}, 3);
}

ons_status *ons_check_results(const ons_model *model, const ons_config *config) {
    return with_sources(model, config, check_run);
}

static ons_status *check_report(const sources *s, const ons_config *config) {
    const result results[] = {{"out", config->out}, {"report", config->report}};
    size_t count = sizeof results / sizeof *results;
    if (s->model != NULL) ONS_TRY(check_names(s->model, "out", config->out));
    for (size_t i = 0; i < count; ++i) {
        ONS_TRY(check_result(s, results[i].option, results[i].path));
        if (s->model != NULL) ONS_TRY(check_not_model(s->model, results[i].option, results[i].path));
    }
    return check_results_apart(results, count);
}

ons_status *ons_check_report(const ons_model *model, const ons_config *config) {
    return with_sources(model, config, check_report);
}

ons_status *ons_check_output(const char *option, const char *path, const char *reader, const char *reads) {
    if (path == NULL) return NULL;
    ONS_TRY(check_writable(option, path));
    ONS_CHECK(!ons_is_same_file(path, reads), ONS_INVALID_ARGUMENT,
              "--%s: %s would take the place of what %s reads; give another name", option, path, reader);
    return NULL;
}

ons_status *ons_check_replay(const char *plan, const ons_config *config) {
    const result results[] = {
        {"trace", config->trace}, {"svg", config->svg}, {"write-schedule", config->written_schedule}};
    size_t count = sizeof results / sizeof *results;
    for (size_t i = 0; i < count; ++i) ONS_TRY(ons_check_output(results[i].option, results[i].path, "the plan", plan));
    return check_results_apart(results, count);
}
