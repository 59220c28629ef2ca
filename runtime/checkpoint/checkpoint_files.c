#include "runtime/checkpoint/checkpoint_files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

static const char PREFIX[] = "step-", DATA[] = ".safetensors";

void ons_checkpoint_json_name(uint64_t step, char name[static ONS_SHARD_NAME_BYTES]) {
    snprintf(name, ONS_SHARD_NAME_BYTES, "%s%08llu.json", PREFIX, (unsigned long long)step);
}

/* step-00000120 or step-00000120-1, with a dot behind it. */
static void stem(uint64_t step, uint32_t copy, char name[static ONS_SHARD_NAME_BYTES]) {
    char suffix[16] = "";
    if (copy > 0) snprintf(suffix, sizeof suffix, "-%u", copy);
    snprintf(name, ONS_SHARD_NAME_BYTES, "%s%08llu%s.", PREFIX, (unsigned long long)step, suffix);
}

void ons_checkpoint_data_name(const ons_shard_place *place, char name[static ONS_SHARD_NAME_BYTES]) {
    stem(place->step, place->copy, name);
    size_t length = strlen(name), left = ONS_SHARD_NAME_BYTES - length;
    if (place->count > 1)
        snprintf(name + length, left, "%u-of-%u%s", place->index, place->count, DATA);
    else
        snprintf(name + length, left, "%s", DATA + 1);
}

void ons_checkpoint_offered_name(const char *data, char name[static ONS_SHARD_NAME_BYTES]) {
    int length = (int)(strlen(data) - strlen(DATA));
    snprintf(name, ONS_SHARD_NAME_BYTES, "%.*s.offered%s", length, data, DATA);
}

bool ons_checkpoint_parse_json_name(const char *name, uint64_t *step) {
    if (strncmp(name, PREFIX, strlen(PREFIX)) != 0 || strspn(name + strlen(PREFIX), "0123456789") > 19) return false;
    *step = strtoull(name + strlen(PREFIX), NULL, 10);
    char spelled[ONS_SHARD_NAME_BYTES];
    ons_checkpoint_json_name(*step, spelled);
    return strcmp(spelled, name) == 0;
}

bool ons_checkpoint_is_data(const char *name) {
    size_t length = strlen(name), end = strlen(DATA);
    return strncmp(name, PREFIX, strlen(PREFIX)) == 0 && length > end && length < ONS_SHARD_NAME_BYTES &&
           strchr(name, '/') == NULL && strcmp(name + length - end, DATA) == 0;
}

void ons_checkpoint_remove_leftover(const char *folder, const char *name) {
    if (strncmp(name, PREFIX, strlen(PREFIX)) != 0) return;
    char *path = ons_checkpoint_join(folder, name);
    if (path != NULL) ons_file_remove_leftover(path);
    free(path);
}

char *ons_checkpoint_join(const char *folder, const char *name) {
    char *path;
    return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

static int descending(const void *left, const void *right) {
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? 1 : a > b ? -1 : 0;
}

static ons_status *cannot_read(const char *folder) {
    return ons_status_system(errno, "cannot read the folder '%s'", folder);
}

ons_status *ons_checkpoint_list(const char *folder, ons_step_vector *steps) {
    DIR *directory = opendir(folder);
    if (directory == NULL) return errno == ENOENT ? NULL : cannot_read(folder);
    ons_status *status = NULL;
    for (struct dirent *entry; status == NULL && (entry = readdir(directory)) != NULL;) {
        uint64_t step;
        if (ons_checkpoint_parse_json_name(entry->d_name, &step) && !ons_vector_push(steps, step))
            status = ons_status_out_of_memory();
    }
    closedir(directory);
    if (steps->count > 0) qsort(steps->items, steps->count, sizeof steps->items[0], descending);
    return status;
}

ons_status *ons_checkpoint_find_copy(const char *folder, uint64_t step, uint32_t *copy) {
    bool taken = true;
    for (*copy = 0; taken; *copy += taken) {
        char start[ONS_SHARD_NAME_BYTES];
        stem(step, *copy, start);
        DIR *directory = opendir(folder);
        if (directory == NULL) return cannot_read(folder);
        taken = false;
        for (struct dirent *entry; !taken && (entry = readdir(directory)) != NULL;)
            taken = ons_checkpoint_is_data(entry->d_name) && strncmp(entry->d_name, start, strlen(start)) == 0;
        closedir(directory);
    }
    return NULL;
}
