#include "runtime/measure/cost_cache.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/environment.h"
#include "base/file.h"
#include "base/json.h"
#include "base/map.h"
#include "base/vector.h"

enum { VERSION = 1 };

typedef struct entry {
    char *key;
    double seconds;
} entry;

struct ons_cost_cache {
    char *path, *device;
    ons_json *others; /* what the file holds for other devices */
    ONS_VECTOR(entry) entries;
    ons_map by_key;
    bool changed;
};

void ons_cost_cache_free(ons_cost_cache *c) {
    if (c == NULL) return;
    for (size_t i = 0; i < c->entries.count; ++i) free(c->entries.items[i].key);
    ons_vector_free(&c->entries);
    ons_map_free(&c->by_key);
    ons_json_free(c->others);
    free(c->path);
    free(c->device);
    free(c);
}

static ons_status *default_path(char **path) {
    return ons_cache_path("onstage/costs.json", path) ? NULL : ons_status_out_of_memory();
}

static ons_status *set(ons_cost_cache *c, const char *key, double seconds) {
    uint32_t known = ons_map_get(&c->by_key, key);
    if (known != ONS_MAP_ABSENT) {
        c->entries.items[known].seconds = seconds;
        return NULL;
    }
    char *copy = strdup(key);
    if (copy == NULL || !ons_vector_push(&c->entries, (entry){copy, seconds})) {
        free(copy);
        return ons_status_out_of_memory();
    }
    return ons_map_set(&c->by_key, copy, (uint32_t)c->entries.count - 1);
}

/* Takes this device's times out of what the file holds. */
static ons_status *take_entries(ons_cost_cache *c, const ons_json *devices) {
    const ons_json *own = ons_json_find(devices, c->device);
    for (const ons_json *each = own == NULL ? NULL : own->child; each != NULL; each = each->next)
        if (cJSON_IsNumber(each) && isfinite(each->valuedouble) && each->valuedouble >= 0 && each->string != NULL)
            ONS_TRY(set(c, each->string, each->valuedouble));
    if (own != NULL) cJSON_DeleteItemFromObjectCaseSensitive((ons_json *)devices, c->device);
    return NULL;
}

static ons_status *read_file(ons_cost_cache *c) {
    ons_mapping file;
    ons_json *json = NULL;
    int64_t version = 0;
    const ons_json *devices = NULL;
    ons_status *status = ons_mapping_open(c->path, &file);
    if (status == NULL) {
        status = ons_json_parse(file.bytes, file.size, &json);
        ons_mapping_close(&file);
    }
    if (status == NULL) status = ons_json_get_int(json, "onstage_cost_cache", &version);
    if (status == NULL) status = ons_json_get_object(json, "devices", &devices);
    bool readable = status == NULL && version == VERSION;
    ons_status_free(status); /* see the header: it counts as empty */
    status = readable ? take_entries(c, devices) : NULL;
    if (readable) c->others = cJSON_DetachItemViaPointer(json, (ons_json *)devices);
    ons_json_free(json);
    return status;
}

static ons_status *fill(ons_cost_cache *c, const char *path, const char *device) {
    c->device = strdup(device);
    if (c->device == NULL) return ons_status_out_of_memory();
    if (path == NULL)
        ONS_TRY(default_path(&c->path));
    else if ((c->path = strdup(path)) == NULL)
        return ons_status_out_of_memory();
    return c->path == NULL ? NULL : read_file(c);
}

ons_status *ons_cost_cache_open(const char *path, const char *device, ons_cost_cache **result) {
    ons_cost_cache *c = calloc(1, sizeof *c);
    if (c == NULL) return ons_status_out_of_memory();
    ons_status *status = fill(c, path, device);
    if (status != NULL) {
        ons_cost_cache_free(c);
        return status;
    }
    *result = c;
    return NULL;
}

const char *ons_cost_cache_path(const ons_cost_cache *c) { return c->path; }

bool ons_cost_cache_get(const ons_cost_cache *c, const char *key, double *seconds) {
    uint32_t known = ons_map_get(&c->by_key, key);
    if (known != ONS_MAP_ABSENT) *seconds = c->entries.items[known].seconds;
    return known != ONS_MAP_ABSENT;
}

ons_status *ons_cost_cache_put(ons_cost_cache *c, const char *key, double seconds) {
    ONS_TRY(set(c, key, seconds));
    c->changed = true;
    return NULL;
}

/* ----------------------------------------------------------------------------------------------------------- saving */

static ons_status *make_folders(const char *path) {
    char *copy = strdup(path);
    if (copy == NULL) return ons_status_out_of_memory();
    ons_status *status = NULL;
    for (char *slash = strchr(copy + 1, '/'); status == NULL && slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(copy, 0777) != 0 && errno != EEXIST)
            status = ons_status_system(errno, "the folder '%s' cannot be made", copy);
        *slash = '/';
    }
    free(copy);
    return status;
}

static ons_status *fill_own(ons_json *own, const ons_cost_cache *c) {
    for (size_t i = 0; i < c->entries.count; ++i)
        ONS_TRY(ons_json_set_double(own, c->entries.items[i].key, c->entries.items[i].seconds));
    return NULL;
}

static ons_status *fill_file(ons_json *json, const ons_cost_cache *c) {
    ons_json *part;
    ONS_TRY(ons_json_set_uint64(json, "onstage_cost_cache", VERSION));
    part = c->others == NULL ? cJSON_CreateObject() : cJSON_Duplicate(c->others, true);
    ONS_TRY(ons_json_set(json, "devices", part));
    ons_json *devices = part;
    ONS_TRY(ons_json_new_object(&part));
    ONS_TRY(ons_json_set(devices, c->device, part));
    return fill_own(part, c);
}

ons_status *ons_cost_cache_save(ons_cost_cache *c) {
    if (!c->changed || c->path == NULL) return NULL;
    ons_json *json;
    char *text = NULL;
    ONS_TRY(make_folders(c->path));
    ONS_TRY(ons_json_new_object(&json));
    ons_status *status = fill_file(json, c);
    if (status == NULL) status = ons_json_print(json, &text);
    if (status == NULL) status = ons_file_write_text(c->path, text);
    free(text);
    ons_json_free(json);
    if (status == NULL) c->changed = false;
    return status;
}
