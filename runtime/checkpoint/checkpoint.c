#include "runtime/checkpoint/checkpoint.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "runtime/checkpoint/checkpoint_files.h"
#include "runtime/checkpoint/removal.h"

/* ------------------------------------------------------------------------------------------------------------- JSON */

static ons_status *set_optional_text(ons_json *json, const char *name, const char *text) {
    return ons_json_set_text(json, name, text == NULL ? "" : text);
}

static ons_status *describe_shard(ons_json *json, const ons_shard *shard) {
    ONS_TRY(ons_json_set_text(json, "file", shard->file));
    ONS_TRY(ons_json_set_uint64(json, "bytes", shard->bytes));
    return ons_json_set_uint64(json, "crc32", shard->crc);
}

static ons_status *describe_shards(ons_json *json, const ons_shard *shards, uint32_t count) {
    if (count == 1) return describe_shard(json, shards); /* as it always was */
    ons_json *list = cJSON_CreateArray();
    ONS_TRY(ons_json_set(json, "shards", list));
    for (uint32_t i = 0; i < count; ++i) {
        ons_json *each;
        ONS_TRY(ons_json_new_object(&each));
        ons_status *status = describe_shard(each, &shards[i]);
        if (status == NULL && !cJSON_AddItemToArray(list, each)) status = ons_status_out_of_memory();
        if (status != NULL) {
            ons_json_free(each);
            return status;
        }
    }
    return NULL;
}

static ons_status *describe(ons_json *json, const ons_checkpoint_info *info, const ons_shard *shards, uint32_t count) {
    ONS_TRY(ons_json_set_text(json, "format", ONS_CHECKPOINT_FORMAT));
    ONS_TRY(ons_json_set_uint64(json, "step", info->step));
    ONS_TRY(ons_json_set_uint64(json, "epoch", info->epoch));
    ONS_TRY(ons_json_set_uint64(json, "position", info->position));
    ONS_TRY(ons_json_set_uint64(json, "seed", info->seed));
    ONS_TRY(ons_json_set_uint64(json, "threads", info->threads));
    ONS_TRY(set_optional_text(json, "optimizer", info->optimizer));
    ONS_TRY(set_optional_text(json, "options_digest", info->options_digest));
    ONS_TRY(set_optional_text(json, "versions", info->versions));
    if (info->more != NULL) ONS_TRY(ons_json_set(json, "more", cJSON_Duplicate(info->more, true)));
    return describe_shards(json, shards, count);
}

/* `text` with its checksum; takes it over. The caller frees the result. */
static ons_status *seal(char *text, char **sealed) {
    static const char end[] = "\n}\n";
    size_t length = strlen(text) - strlen(end);
    uint32_t crc = (uint32_t)crc32_z(crc32_z(0, NULL, 0), (const uint8_t *)text, length);
    int written = asprintf(sealed, "%.*s%s%" PRIu32 "%s", (int)length, text, ONS_CHECKPOINT_SEAL, crc, end);
    free(text);
    if (written >= 0) return NULL;
    *sealed = NULL;
    return ons_status_out_of_memory();
}

static ons_status *write_json(const char *path, const ons_checkpoint_info *info, const ons_shard *shards,
                              uint32_t count) {
    ons_json *json = NULL;
    ons_file_writer *writer = NULL;
    char *text = NULL;
    ons_status *status = ons_json_new_object(&json);
    if (status == NULL) status = describe(json, info, shards, count);
    if (status == NULL) status = ons_json_print(json, &text);
    if (status == NULL) status = seal(text, &text);
    if (status == NULL) status = ons_file_writer_open(path, &writer);
    if (status == NULL) status = text == NULL ? ons_status_out_of_memory() : ons_file_write(writer, text, strlen(text));
    if (status == NULL) {
        status = ons_file_commit(writer);
        writer = NULL;
    }
    ons_file_discard(writer);
    free(text);
    ons_json_free(json);
    return status;
}

/* --------------------------------------------------------------------------------------------------------- removing */

static void remove_file(const char *folder, const char *name) {
    char *path = ons_checkpoint_join(folder, name);
    if (path != NULL) unlink(path);
    free(path);
}

/* The files that checkpoints refer to. */
typedef struct references {
    ons_arena *arena; /* names */
    ons_map names;
} references;

static ons_status *note_file(const ons_json *entry, references *referred) {
    const char *file;
    ONS_TRY(ons_json_get_text(entry, "file", &file));
    file = ons_arena_copy_text(referred->arena, file);
    return file == NULL ? ons_status_out_of_memory() : ons_map_set(&referred->names, file, 1);
}

/* Notes the files that a checkpoint's JSON refers to; of one that cannot be read, none. */
static ons_status *note_files(const char *folder, uint64_t step, references *referred) {
    char name[ONS_SHARD_NAME_BYTES];
    ons_checkpoint_json_name(step, name);
    char *path = ons_checkpoint_join(folder, name);
    ons_mapping mapping = {0};
    ons_json *json = NULL;
    ons_status *status = path == NULL ? ons_status_out_of_memory() : ons_mapping_open(path, &mapping);
    if (status == NULL) status = ons_json_parse(mapping.bytes, mapping.size, &json);
    const ons_json *shards = status == NULL ? ons_json_find(json, "shards") : NULL;
    if (status == NULL && shards == NULL) status = note_file(json, referred);
    for (const ons_json *each = shards == NULL ? NULL : shards->child; status == NULL && each != NULL;
         each = each->next)
        status = note_file(each, referred);
    bool fatal = ons_status_get_code(status) == ONS_OUT_OF_MEMORY;
    ons_json_free(json);
    ons_mapping_close(&mapping);
    free(path);
    if (fatal) return status;
    ons_status_free(status);
    return NULL;
}

/* Removes data that no JSON refers to, and leftovers. What cannot be removed stays: the checkpoint itself is safe. */
static void sweep(const char *folder, const references *referred) {
    DIR *directory = opendir(folder);
    if (directory == NULL) return;
    ons_removal removal = {0};
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        bool lost =
            ons_checkpoint_is_data(entry->d_name) && ons_map_get(&referred->names, entry->d_name) == ONS_MAP_ABSENT;
        char *path = lost ? ons_checkpoint_join(folder, entry->d_name) : NULL;
        if (path != NULL) ons_removal_add(&removal, path);
        free(path);
        ons_checkpoint_remove_leftover(folder, entry->d_name);
    }
    closedir(directory);
    ons_removal_end(&removal);
}

/* Keeps the newest `keep` up to `step`, and those of higher steps, which are not this run's. */
static void remove_old(const char *folder, uint64_t step, uint32_t keep) {
    ons_step_vector steps = {0};
    references referred = {.arena = ons_arena_new()};
    ons_status *status = referred.arena == NULL ? ons_status_out_of_memory() : ons_checkpoint_list(folder, &steps);
    uint32_t kept = 0;
    for (size_t i = 0; status == NULL && i < steps.count; ++i) {
        kept += steps.items[i] <= step;
        if (kept <= keep) {
            status = note_files(folder, steps.items[i], &referred);
            continue;
        }
        char name[ONS_SHARD_NAME_BYTES];
        ons_checkpoint_json_name(steps.items[i], name);
        remove_file(folder, name);
    }
    if (status == NULL) sweep(folder, &referred);
    ons_map_free(&referred.names);
    ons_arena_free(referred.arena);
    ons_vector_free(&steps);
    ons_status_free(status);
}

/* ---------------------------------------------------------------------------------------------------------- writing */

ons_status *ons_checkpoint_prepare(const char *folder, uint64_t step, uint32_t *copy) {
    ons_removal_wait(); /* the room of what the last checkpoint removed may be needed */
    ONS_TRY(ons_folder_make(folder));
    return ons_checkpoint_find_copy(folder, step, copy);
}

static ons_status *write_data(const char *path, const ons_safetensors_content *content, ons_shard *shard) {
    ons_file_writer *writer;
    ONS_TRY(ons_file_writer_open(path, &writer));
    ons_status *status = ons_safetensors_write(writer, content, &shard->crc);
    shard->bytes = ons_file_position(writer);
    if (status == NULL) return ons_file_commit(writer);
    ons_file_discard(writer);
    return status;
}

ons_status *ons_checkpoint_write_shard(const char *folder, const ons_shard_place *place,
                                       const ons_safetensors_content *content, ons_shard *shard) {
    char offered[ONS_SHARD_NAME_BYTES];
    *shard = (ons_shard){.file = {0}};
    ons_checkpoint_data_name(place, shard->file);
    ons_checkpoint_offered_name(shard->file, offered);
    char *path = ons_checkpoint_join(folder, offered);
    ons_status *status = path == NULL ? ons_status_out_of_memory() : write_data(path, content, shard);
    free(path);
    return status;
}

void ons_checkpoint_remove_shard(const char *folder, const ons_shard *shard) {
    char offered[ONS_SHARD_NAME_BYTES];
    ons_checkpoint_offered_name(shard->file, offered);
    remove_file(folder, offered);
}

/* Opened, since a file system over a network may say from memory what it knew of the name before. */
static bool is_whole(const char *path, uint64_t bytes) {
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    struct stat information = {0};
    bool whole = descriptor >= 0 && fstat(descriptor, &information) == 0 && (uint64_t)information.st_size == bytes;
    if (descriptor >= 0) close(descriptor);
    return whole;
}

/* The one step that either this process makes or the shard's writer, who takes it back: renaming and removing exclude
 * each other. */
static ons_status *take_shard(const char *folder, const ons_shard *shard) {
    char offered[ONS_SHARD_NAME_BYTES];
    ons_checkpoint_offered_name(shard->file, offered);
    char *from = ons_checkpoint_join(folder, offered), *to = ons_checkpoint_join(folder, shard->file);
    ons_status *status = from == NULL || to == NULL ? ons_status_out_of_memory() : ons_file_rename(from, to);
    if (status == NULL && to != NULL && !is_whole(to, shard->bytes))
        status = ons_status_new(ONS_IO_ERROR, "'%s' was changed before the checkpoint was complete", to);
    free(from);
    free(to);
    return status;
}

ons_status *ons_checkpoint_complete(const char *folder, const ons_checkpoint_info *info, const ons_shard *shards,
                                    uint32_t count, uint32_t keep) {
    char name[ONS_SHARD_NAME_BYTES];
    ons_checkpoint_json_name(info->step, name);
    char *path = ons_checkpoint_join(folder, name);
    ons_status *status = path == NULL ? ons_status_out_of_memory() : NULL;
    for (uint32_t i = 0; status == NULL && i < count; ++i) status = take_shard(folder, &shards[i]);
    if (status == NULL) status = write_json(path, info, shards, count);
    free(path);
    /* Of a checkpoint that failed goes what no JSON refers to: it may be there all the same, only perhaps not after the
     * power fails. */
    remove_old(folder, info->step, status != NULL ? UINT32_MAX : keep > 0 ? keep : 1);
    return status;
}

ons_status *ons_checkpoint_write(const char *folder, const ons_checkpoint_info *info,
                                 const ons_safetensors_content *content, uint32_t keep) {
    ons_shard_place place = {.step = info->step, .count = 1};
    ons_shard shard;
    ONS_TRY(ons_checkpoint_prepare(folder, info->step, &place.copy));
    ONS_TRY(ons_checkpoint_write_shard(folder, &place, content, &shard));
    return ons_checkpoint_complete(folder, info, &shard, 1, keep);
}
