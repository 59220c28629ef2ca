#include "runtime/checkpoint.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/vector.h"

static const char FORMAT[] = "onstage checkpoint 1";
static const char PREFIX[] = "step-";

/* ------------------------------------------------------------------------------------------------------- file names */

enum { NAME_BYTES = 64 };

static void json_name(uint64_t step, char name[static NAME_BYTES]) {
    snprintf(name, NAME_BYTES, "%s%08llu.json", PREFIX, (unsigned long long)step);
}

/* `copy` tells data files of the same step apart. */
static void data_name(uint64_t step, unsigned copy, char name[static NAME_BYTES]) {
    char suffix[16] = "";
    if (copy > 0) snprintf(suffix, sizeof suffix, "-%u", copy);
    snprintf(name, NAME_BYTES, "%s%08llu%s.safetensors", PREFIX, (unsigned long long)step, suffix);
}

/* Whether `name` is that of a checkpoint's JSON, exactly as json_name spells it. */
static bool parse_json_name(const char *name, uint64_t *step) {
    if (strncmp(name, PREFIX, strlen(PREFIX)) != 0 || strspn(name + strlen(PREFIX), "0123456789") > 19) return false;
    *step = strtoull(name + strlen(PREFIX), NULL, 10);
    char spelled[NAME_BYTES];
    json_name(*step, spelled);
    return strcmp(spelled, name) == 0;
}

static char *join(const char *folder, const char *name) {
    char *path;
    return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

typedef ONS_VECTOR(uint64_t) step_vector;

static int descending(const void *left, const void *right) {
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? 1 : a > b ? -1 : 0;
}

/* Steps of all checkpoints, the highest first; none where the folder is missing. */
static ons_status *list_steps(const char *folder, step_vector *steps) {
    DIR *directory = opendir(folder);
    if (directory == NULL)
        return errno == ENOENT ? NULL : ons_status_system(errno, "cannot read the folder '%s'", folder);
    ons_status *status = NULL;
    for (struct dirent *entry; status == NULL && (entry = readdir(directory)) != NULL;) {
        uint64_t step;
        if (parse_json_name(entry->d_name, &step) && !ons_vector_push(steps, step)) status = ons_status_out_of_memory();
    }
    closedir(directory);
    if (steps->count > 0) qsort(steps->items, steps->count, sizeof steps->items[0], descending);
    return status;
}

/* ---------------------------------------------------------------------------------------------------------- writing */

static ons_status *set_optional_text(ons_json *json, const char *name, const char *text) {
    return ons_json_set_text(json, name, text == NULL ? "" : text);
}

static ons_status *describe(ons_json *json, const ons_checkpoint_info *info, const char *file, uint64_t bytes,
                            uint32_t crc) {
    ONS_TRY(ons_json_set_text(json, "format", FORMAT));
    ONS_TRY(ons_json_set_uint64(json, "step", info->step));
    ONS_TRY(ons_json_set_uint64(json, "epoch", info->epoch));
    ONS_TRY(ons_json_set_uint64(json, "position", info->position));
    ONS_TRY(ons_json_set_uint64(json, "seed", info->seed));
    ONS_TRY(ons_json_set_uint64(json, "threads", info->threads));
    ONS_TRY(set_optional_text(json, "optimizer", info->optimizer));
    ONS_TRY(set_optional_text(json, "options_digest", info->options_digest));
    ONS_TRY(set_optional_text(json, "versions", info->versions));
    if (info->more != NULL) ONS_TRY(ons_json_set(json, "more", cJSON_Duplicate(info->more, true)));
    ONS_TRY(ons_json_set_text(json, "file", file));
    ONS_TRY(ons_json_set_uint64(json, "bytes", bytes));
    return ons_json_set_uint64(json, "crc32", crc);
}

static ons_status *write_json(ons_file_writer *writer, const ons_checkpoint_info *info, const char *file,
                              uint64_t bytes, uint32_t crc) {
    ons_json *json;
    ONS_TRY(ons_json_new_object(&json));
    char *text = NULL;
    ons_status *status = describe(json, info, file, bytes, crc);
    if (status == NULL) status = ons_json_print(json, &text);
    if (status == NULL) status = ons_file_write(writer, text, strlen(text));
    if (status == NULL) status = ons_file_sync(writer);
    free(text);
    ons_json_free(json);
    return status;
}

/* Writes and syncs both files under their temporary names, then names them, the JSON last. */
static ons_status *write_files(const char *data_path, const char *file, const char *json_path,
                               const ons_checkpoint_info *info, const ons_safetensors_content *content) {
    ons_file_writer *data = NULL, *json = NULL;
    uint32_t crc = 0;
    ons_status *status = ons_file_writer_open(data_path, &data);
    if (status == NULL) status = ons_file_writer_open(json_path, &json);
    if (status == NULL) status = ons_safetensors_write(data, content, &crc);
    if (status == NULL) status = ons_file_sync(data);
    if (status == NULL) status = write_json(json, info, file, ons_file_position(data), crc);
    if (status == NULL) {
        status = ons_file_commit(data);
        data = NULL;
        if (status == NULL) {
            status = ons_file_commit(json);
            json = NULL;
            if (status != NULL) unlink(data_path);
        }
    }
    ons_file_discard(data);
    ons_file_discard(json);
    return status;
}

/* The file that a JSON refers to; "" where that cannot be read. */
static void read_data_name(const char *folder, uint64_t step, char name[static NAME_BYTES]) {
    name[0] = '\0';
    char spelled[NAME_BYTES];
    json_name(step, spelled);
    char *path = join(folder, spelled);
    ons_mapping mapping = {0};
    ons_json *json = NULL;
    const char *file = "";
    ons_status *status = path == NULL ? ons_status_out_of_memory() : ons_mapping_open(path, &mapping);
    if (status == NULL) status = ons_json_parse(mapping.bytes, mapping.size, &json);
    if (status == NULL) status = ons_json_get_text(json, "file", &file);
    if (status == NULL && strlen(file) < NAME_BYTES) memcpy(name, file, strlen(file) + 1);
    ons_status_free(status);
    ons_json_free(json);
    ons_mapping_close(&mapping);
    free(path);
}

static void remove_file(const char *folder, const char *name) {
    char *path = join(folder, name);
    if (path != NULL) unlink(path);
    free(path);
}

/* Whether the file "….PID-N.tmp" was left behind by a writer that is gone. */
static bool is_leftover(const char *name) {
    const char *end = strstr(name, ".tmp");
    const char *dash = strrchr(name, '-');
    if (strncmp(name, PREFIX, strlen(PREFIX)) != 0 || end == NULL || end[4] != '\0' || dash == NULL) return false;
    const char *dot = dash;
    while (dot > name && *dot != '.') --dot;
    long process = strtol(dot + 1, NULL, 10);
    return process > 0 && process != (long)getpid() && kill((pid_t)process, 0) != 0 && errno == ESRCH;
}

static bool is_data(const char *name) {
    size_t length = strlen(name), end = strlen(".safetensors");
    return strncmp(name, PREFIX, strlen(PREFIX)) == 0 && length > end &&
           strcmp(name + length - end, ".safetensors") == 0;
}

/* Removes data that no JSON refers to, and leftovers. What cannot be removed stays: the checkpoint itself is safe. */
static void sweep(const char *folder, const step_vector *steps, const char (*referred)[NAME_BYTES]) {
    DIR *directory = opendir(folder);
    if (directory == NULL) return;
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        bool keep = !is_data(entry->d_name);
        for (size_t i = 0; i < steps->count && !keep; ++i) keep = strcmp(referred[i], entry->d_name) == 0;
        if (!keep || is_leftover(entry->d_name)) remove_file(folder, entry->d_name);
    }
    closedir(directory);
}

/* Keeps the newest `keep` up to `step`, and those of higher steps, which are not this run's. */
static void remove_old(const char *folder, uint64_t step, uint32_t keep) {
    step_vector steps = {0};
    char(*referred)[NAME_BYTES] = NULL;
    ons_status *status = list_steps(folder, &steps);
    uint32_t kept = 0;
    size_t left = 0;
    for (size_t i = 0; status == NULL && i < steps.count; ++i) {
        kept += steps.items[i] <= step;
        if (kept <= keep) {
            steps.items[left++] = steps.items[i];
            continue;
        }
        char name[NAME_BYTES];
        json_name(steps.items[i], name);
        remove_file(folder, name);
    }
    steps.count = left;
    if (status == NULL && left > 0 && (referred = calloc(left, sizeof *referred)) != NULL) {
        for (size_t i = 0; i < left; ++i) read_data_name(folder, steps.items[i], referred[i]);
        sweep(folder, &steps, (const char(*)[NAME_BYTES])referred);
    }
    free(referred);
    ons_vector_free(&steps);
    ons_status_free(status);
}

static ons_status *make_folder(const char *folder) {
    struct stat information;
    if (mkdir(folder, 0777) != 0 && (errno != EEXIST || stat(folder, &information) != 0))
        return ons_status_system(errno, "cannot make the folder '%s'", folder);
    return NULL;
}

ons_status *ons_checkpoint_write(const char *folder, const ons_checkpoint_info *info,
                                 const ons_safetensors_content *content, uint32_t keep) {
    ONS_TRY(make_folder(folder));
    char json_file[NAME_BYTES], data_file[NAME_BYTES];
    json_name(info->step, json_file);
    char *data_path = NULL;
    for (unsigned copy = 0; copy < 1000; ++copy) { /* a name that is free */
        data_name(info->step, copy, data_file);
        free(data_path);
        data_path = join(folder, data_file);
        if (data_path == NULL || access(data_path, F_OK) != 0) break;
    }
    char *json_path = join(folder, json_file);
    ons_status *status = data_path == NULL || json_path == NULL
                             ? ons_status_out_of_memory()
                             : write_files(data_path, data_file, json_path, info, content);
    free(data_path);
    free(json_path);
    if (status == NULL) remove_old(folder, info->step, keep > 0 ? keep : 1);
    return status;
}

/* ---------------------------------------------------------------------------------------------------------- reading */

static ons_status *read_info(const ons_json *json, ons_checkpoint_info *info) {
    const char *format = NULL;
    uint64_t threads = 0;
    ONS_TRY(ons_json_get_text(json, "format", &format));
    ONS_CHECK(strcmp(format, FORMAT) == 0, ONS_UNSUPPORTED, "its format is '%s', not '%s'", format, FORMAT);
    ONS_TRY(ons_json_get_uint64(json, "step", &info->step));
    ONS_TRY(ons_json_get_uint64(json, "epoch", &info->epoch));
    ONS_TRY(ons_json_get_uint64(json, "position", &info->position));
    ONS_TRY(ons_json_get_uint64(json, "seed", &info->seed));
    ONS_TRY(ons_json_get_uint64(json, "threads", &threads));
    ONS_CHECK(threads <= UINT32_MAX, ONS_INVALID_DATA, "'threads' is impossible");
    info->threads = (uint32_t)threads;
    ONS_TRY(ons_json_get_text(json, "optimizer", &info->optimizer));
    ONS_TRY(ons_json_get_text(json, "options_digest", &info->options_digest));
    ONS_TRY(ons_json_get_text(json, "versions", &info->versions));
    if (ons_json_find(json, "more") != NULL) ONS_TRY(ons_json_get_object(json, "more", &info->more));
    return NULL;
}

static ons_status *map_data(const char *folder, const ons_json *json, ons_mapping *mapping) {
    const char *file = NULL;
    uint64_t bytes = 0, crc = 0;
    ONS_TRY(ons_json_get_text(json, "file", &file));
    ONS_TRY(ons_json_get_uint64(json, "bytes", &bytes));
    ONS_TRY(ons_json_get_uint64(json, "crc32", &crc));
    ONS_CHECK(is_data(file) && strchr(file, '/') == NULL, ONS_INVALID_DATA, "'file' is '%s', which is no data file",
              file);
    char *path = join(folder, file);
    if (path == NULL) return ons_status_out_of_memory();
    ons_status *status = ons_mapping_open(path, mapping);
    free(path);
    ONS_TRY(status);
    ONS_CHECK(mapping->size == bytes, ONS_INVALID_DATA, "'%s' has %zu bytes, not %llu", file, mapping->size,
              (unsigned long long)bytes);
    ONS_CHECK(crc32_z(crc32_z(0, NULL, 0), mapping->bytes, mapping->size) == crc, ONS_INVALID_DATA,
              "'%s' is damaged: its checksum is wrong", file);
    return NULL;
}

static ons_status *read_json(const char *path, ons_json **json) {
    ons_mapping mapping;
    ONS_TRY(ons_mapping_open(path, &mapping));
    ons_status *status = ons_json_parse(mapping.bytes, mapping.size, json);
    ons_mapping_close(&mapping);
    return status;
}

/* Leaves what it opened in *checkpoint, also on failure. */
static ons_status *open_step(const char *folder, const char *path, uint64_t step, ons_checkpoint *checkpoint) {
    ONS_TRY(read_json(path, &checkpoint->json));
    ONS_TRY(read_info(checkpoint->json, &checkpoint->info));
    ONS_CHECK(checkpoint->info.step == step, ONS_INVALID_DATA, "it is of another step (%llu) than its name says",
              (unsigned long long)checkpoint->info.step);
    ONS_TRY(map_data(folder, checkpoint->json, &checkpoint->mapping));
    return ons_safetensors_parse(checkpoint->mapping.bytes, checkpoint->mapping.size, &checkpoint->tensors);
}

static void close_step(ons_checkpoint *checkpoint) {
    ons_safetensors_free(&checkpoint->tensors);
    ons_mapping_close(&checkpoint->mapping);
    ons_json_free(checkpoint->json);
    checkpoint->json = NULL;
    checkpoint->info = (ons_checkpoint_info){0};
}

static ons_status *try_step(const char *folder, uint64_t step, ons_checkpoint *checkpoint) {
    char name[NAME_BYTES];
    json_name(step, name);
    char *path = join(folder, name);
    if (path == NULL) return ons_status_out_of_memory();
    ons_status *status = ons_status_at(open_step(folder, path, step, checkpoint), "'%s'", path);
    free(path);
    return status;
}

/* From the highest step down to the first complete one. */
static ons_status *open_first(const char *folder, const step_vector *steps, ons_checkpoint *checkpoint, bool *found) {
    for (size_t i = 0; i < steps->count; ++i) {
        ons_status *status = try_step(folder, steps->items[i], checkpoint);
        if (status == NULL) {
            *found = true;
            return NULL;
        }
        close_step(checkpoint);
        if (ons_status_get_code(status) == ONS_OUT_OF_MEMORY) return status;
        if (checkpoint->skipped++ == 0)
            checkpoint->skipped_reason = status;
        else
            ons_status_free(status);
    }
    if (checkpoint->skipped == 0) return NULL;
    return ons_status_new(ons_status_get_code(checkpoint->skipped_reason),
                          "none of the %u checkpoints in '%s' can be used; the newest: %s", checkpoint->skipped, folder,
                          ons_status_get_message(checkpoint->skipped_reason));
}

ons_status *ons_checkpoint_open_newest(const char *folder, ons_checkpoint *checkpoint, bool *found) {
    *checkpoint = (ons_checkpoint){0};
    *found = false;
    step_vector steps = {0};
    ons_status *status = list_steps(folder, &steps);
    if (status == NULL) status = open_first(folder, &steps, checkpoint, found);
    ons_vector_free(&steps);
    if (status != NULL) ons_checkpoint_close(checkpoint);
    return status;
}

void ons_checkpoint_close(ons_checkpoint *checkpoint) {
    close_step(checkpoint);
    ons_status_free(checkpoint->skipped_reason);
    *checkpoint = (ons_checkpoint){0};
}

bool ons_checkpoint_exists(const char *folder) {
    step_vector steps = {0};
    ons_status *status = list_steps(folder, &steps);
    bool exists = steps.count > 0;
    ons_status_free(status);
    ons_vector_free(&steps);
    return exists;
}
