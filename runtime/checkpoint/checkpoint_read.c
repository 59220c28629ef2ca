#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "runtime/checkpoint/checkpoint_files.h"

static ons_status *read_info(const ons_json *json, ons_checkpoint_info *info) {
    uint64_t threads = 0;
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

/* A missing file is named in the failure. */
static ons_status *map_data(const char *folder, const ons_json *entry, ons_mapping *mapping) {
    const char *file = NULL;
    uint64_t bytes = 0, crc = 0;
    ONS_TRY(ons_json_get_text(entry, "file", &file));
    ONS_TRY(ons_json_get_uint64(entry, "bytes", &bytes));
    ONS_TRY(ons_json_get_uint64(entry, "crc32", &crc));
    ONS_CHECK(ons_checkpoint_is_data(file), ONS_INVALID_DATA, "'file' is '%s', which is no data file", file);
    char *path = ons_checkpoint_join(folder, file);
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

/* Adds one data file; what it opened is the checkpoint's, also on failure. */
static ons_status *open_part(const char *folder, const ons_json *entry, ons_checkpoint *checkpoint) {
    ons_checkpoint_part *part = &checkpoint->parts[checkpoint->part_count++];
    ONS_TRY(map_data(folder, entry, &part->mapping));
    ONS_TRY(ons_safetensors_parse(part->mapping.bytes, part->mapping.size, &part->tensors));
    for (size_t i = 0; i < part->tensors.count; ++i)
        for (const ons_checkpoint_part *other = checkpoint->parts; other < part; ++other)
            ONS_CHECK(ons_safetensors_find(&other->tensors, part->tensors.tensors[i].name) == NULL, ONS_INVALID_DATA,
                      "two of its data files have a tensor '%s'", part->tensors.tensors[i].name);
    return NULL;
}

static ons_status *open_parts(const char *folder, const ons_json *json, ons_checkpoint *checkpoint) {
    const char *format = NULL;
    ONS_TRY(ons_json_get_text(json, "format", &format));
    bool known = strcmp(format, ONS_CHECKPOINT_FORMAT_1) == 0 || strcmp(format, ONS_CHECKPOINT_FORMAT_2) == 0;
    ONS_CHECK(known || strcmp(format, ONS_CHECKPOINT_FORMAT) == 0, ONS_UNSUPPORTED, "its format is '%s', not '%s'",
              format, ONS_CHECKPOINT_FORMAT);
    ONS_CHECK(known || ons_json_find(json, "checksum") != NULL, ONS_INVALID_DATA, "it has no checksum");
    const ons_json *shards = NULL;
    size_t count = 1;
    bool several = ons_json_find(json, "shards") != NULL;
    if (several) {
        ONS_TRY(ons_json_get_array(json, "shards", &shards));
        count = (size_t)cJSON_GetArraySize(shards);
    }
    checkpoint->parts = calloc(count + 1, sizeof *checkpoint->parts);
    if (checkpoint->parts == NULL) return ons_status_out_of_memory();
    if (!several) return open_part(folder, json, checkpoint);
    const ons_json *entry;
    cJSON_ArrayForEach(entry, shards) ONS_TRY(open_part(folder, entry, checkpoint));
    return NULL;
}

/* What stands before the last member is what was written. One without that member has no checksum to be wrong. */
static ons_status *check_seal(const uint8_t *bytes, size_t size, bool *sealed) {
    size_t length = strlen(ONS_CHECKPOINT_SEAL);
    for (size_t at = size; at-- > 0;) {
        if (size - at < length || memcmp(bytes + at, ONS_CHECKPOINT_SEAL, length) != 0) continue;
        char digits[16] = "";
        size_t left = size - at - length;
        memcpy(digits, bytes + at + length, left < sizeof digits ? left : sizeof digits - 1);
        ONS_CHECK(strtoul(digits, NULL, 10) == crc32_z(crc32_z(0, NULL, 0), bytes, at), ONS_INVALID_DATA,
                  "it is damaged: its checksum is wrong");
        *sealed = true;
        break;
    }
    return NULL;
}

static ons_status *read_json(const char *path, ons_json **json) {
    ons_mapping mapping;
    ONS_TRY(ons_mapping_open(path, &mapping));
    bool sealed = false;
    ons_status *status = check_seal(mapping.bytes, mapping.size, &sealed);
    if (status == NULL) status = ons_json_parse_names(mapping.bytes, mapping.size, json);
    ons_mapping_close(&mapping);
    ONS_TRY(status);
    ONS_CHECK(sealed == (ons_json_find(*json, "checksum") != NULL), ONS_INVALID_DATA,
              "it is damaged: its checksum is not where it was written");
    return NULL;
}

/* Leaves what it opened in *checkpoint, also on failure. */
static ons_status *open_step(const char *folder, const char *path, uint64_t step, ons_checkpoint *checkpoint) {
    ONS_TRY(read_json(path, &checkpoint->json));
    ONS_TRY(read_info(checkpoint->json, &checkpoint->info));
    ONS_CHECK(checkpoint->info.step == step, ONS_INVALID_DATA, "it is of another step (%llu) than its name says",
              (unsigned long long)checkpoint->info.step);
    return open_parts(folder, checkpoint->json, checkpoint);
}

static void close_step(ons_checkpoint *checkpoint) {
    for (uint32_t i = 0; i < checkpoint->part_count; ++i) {
        ons_safetensors_free(&checkpoint->parts[i].tensors);
        ons_mapping_close(&checkpoint->parts[i].mapping);
    }
    free(checkpoint->parts);
    ons_json_free(checkpoint->json);
    checkpoint->parts = NULL;
    checkpoint->part_count = 0;
    checkpoint->json = NULL;
    checkpoint->info = (ons_checkpoint_info){0};
}

static ons_status *try_step(const char *folder, uint64_t step, ons_checkpoint *checkpoint) {
    char name[ONS_SHARD_NAME_BYTES];
    ons_checkpoint_json_name(step, name);
    char *path = ons_checkpoint_join(folder, name);
    if (path == NULL) return ons_status_out_of_memory();
    ons_status *status = ons_status_at(open_step(folder, path, step, checkpoint), "'%s'", path);
    free(path);
    return status;
}

/* From the highest step down to the first complete one. */
static ons_status *open_first(const char *folder, const ons_step_vector *steps, ons_checkpoint *checkpoint,
                              bool *found) {
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
    ons_step_vector steps = {0};
    ons_status *status = ons_checkpoint_list(folder, &steps);
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

const ons_tensor *ons_checkpoint_find(const ons_checkpoint *checkpoint, const char *name) {
    const ons_tensor *tensor = NULL;
    for (uint32_t i = 0; i < checkpoint->part_count && tensor == NULL; ++i)
        tensor = ons_safetensors_find(&checkpoint->parts[i].tensors, name);
    return tensor;
}

bool ons_checkpoint_exists(const char *folder) {
    ons_step_vector steps = {0};
    ons_status *status = ons_checkpoint_list(folder, &steps);
    bool exists = steps.count > 0;
    ons_status_free(status);
    ons_vector_free(&steps);
    return exists;
}
