/* External data: files beside the model, and nowhere else. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "onnx_import/model_parts.h"

/* A relative path without a step upwards. */
static bool is_plain(const char *location) {
    if (location[0] == '\0' || location[0] == '/') return false;
    for (const char *part = location; part != NULL; part = strchr(part, '/')) {
        part += *part == '/';
        if (strncmp(part, "..", 2) == 0 && (part[2] == '\0' || part[2] == '/')) return false;
    }
    return true;
}

static bool is_inside(const char *path, const char *folder) {
    size_t length = strlen(folder);
    if (length == 1) /* "/" */
        return true;
    return strncmp(path, folder, length) == 0 && path[length] == '/';
}

/* Where the file really is, links followed. */
static ons_status *find_real_path(const ons_model_file *file, const char *location, bool *missing, char **resolved) {
    char *path = NULL;
    if (asprintf(&path, "%s/%s", file->folder, location) < 0) return ons_status_out_of_memory();
    *resolved = realpath(path, NULL);
    int reason = errno;
    free(path);
    if (*resolved == NULL) {
        if (missing != NULL && (reason == ENOENT || reason == ENOTDIR)) {
            *missing = true;
            return NULL;
        }
        return ons_status_system(reason, "external data '%s' cannot be read; it belongs into the model's folder",
                                 location);
    }
    if (is_inside(*resolved, file->folder)) return NULL;
    free(*resolved);
    *resolved = NULL;
    return ons_status_new(ONS_INVALID_MODEL,
                          "external data '%s' is a link that leaves the model's folder; put the file itself there",
                          location);
}

static ons_status *map_file(ons_model_file *file, const char *location, const char *path, ons_mapping *mapping) {
    if (!ons_vector_reserve(&file->externals, 1)) return ons_status_out_of_memory();
    char *copy = strdup(location);
    if (copy == NULL) return ons_status_out_of_memory();
    ons_status *status = ons_mapping_open(path, mapping);
    if (status == NULL) {
        status = ons_map_set(&file->external_names, copy, (uint32_t)file->externals.count);
        if (status != NULL) ons_mapping_close(mapping);
    }
    if (status != NULL) {
        free(copy);
        return status;
    }
    file->externals.items[file->externals.count++] = (ons_external_file){copy, *mapping};
    return NULL;
}

ons_status *ons_external_open(ons_model_file *file, const char *location, ons_mapping *mapping, bool *missing) {
    if (missing != NULL) *missing = false;
    uint32_t known = ons_map_get(&file->external_names, location);
    if (known != ONS_MAP_ABSENT) {
        *mapping = file->externals.items[known].mapping;
        return NULL;
    }
    ONS_CHECK(is_plain(location), ONS_INVALID_MODEL,
              "external data '%s' is not in the model's folder; that is refused, as a model could read any file then",
              location);
    if (file->folder == NULL) {
        if (missing != NULL) {
            *missing = true;
            return NULL;
        }
        return ons_status_new(ONS_IO_ERROR, "external data '%s' cannot be found: the model is not in a file", location);
    }
    char *path = NULL;
    ONS_TRY(find_real_path(file, location, missing, &path));
    if (path == NULL) return NULL;
    ons_status *status = map_file(file, location, path, mapping);
    free(path);
    return status;
}

/* Of a file that is no longer than SHORT bytes, and more for each byte beyond that. */
enum { SHORT = 1 << 10, BUDGET = 5 << 19, BUDGET_PER_BYTE = 1 << 11, BUDGET_MOST = 1 << 29 };

int64_t ons_model_file_budget(const ons_model_file *file) {
    uint64_t bytes = file->size;
    for (size_t i = 0; i < file->externals.count; ++i) bytes += file->externals.items[i].mapping.size;
    if (bytes <= SHORT) return BUDGET;
    if (bytes - SHORT > (BUDGET_MOST - BUDGET) / BUDGET_PER_BYTE) return BUDGET_MOST;
    return BUDGET + (int64_t)(bytes - SHORT) * BUDGET_PER_BYTE;
}

bool ons_model_file_has_external(const ons_model_file *file) { return file->externals.count > 0; }

const char *ons_model_file_external(const ons_model_file *file, const char *path) {
    struct stat found;
    if (stat(path, &found) != 0) return NULL;
    for (size_t i = 0; i < file->externals.count; ++i) {
        const ons_external_file *each = &file->externals.items[i];
        if (each->mapping.device == found.st_dev && each->mapping.number == found.st_ino) return each->location;
    }
    return NULL;
}
