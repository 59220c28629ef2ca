#include "onnx_import/data_file.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

enum { NAMES_MAX = 100 };

/* Name `number` of the data files of `out`. */
static const char *name_data(const char *out, int number, ons_arena *arena) {
    return number == 0 ? ons_arena_format(arena, "%s.data", out) : ons_arena_format(arena, "%s.%d.data", out, number);
}

static const char *last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* Whether the model's bytes hold the name as a protobuf text, which has its length in front: of names below 128 bytes
 * that is one byte; a longer one is looked for without it. */
static bool states(const ons_mapping *model, const char *name) {
    size_t length = strlen(name);
    const uint8_t *at = model->bytes, *end = model->bytes + model->size;
    while ((at = memmem(at, (size_t)(end - at), name, length)) != NULL) {
        if (length >= 128 || (at > model->bytes && at[-1] == length)) return true;
        ++at;
    }
    return false;
}

/* Notes the data files of the model that `out` holds now; there may be no such model. */
static ons_status *note_former(const char *out, ons_arena *arena, ons_data_file *file) {
    ons_mapping model = {0};
    struct stat kind; /* opening a pipe would wait for its writer */
    if (stat(out, &kind) != 0 || !S_ISREG(kind.st_mode)) return NULL;
    ons_status *unreadable = ons_mapping_open(out, &model);
    if (unreadable != NULL) {
        ons_status_free(unreadable);
        return NULL;
    }
    ons_status *status = NULL;
    for (int i = 0; i < NAMES_MAX && status == NULL; ++i) {
        const char *path = name_data(out, i, arena);
        struct stat found;
        if (path == NULL || !ons_vector_reserve(&file->former, 1))
            status = ons_status_out_of_memory();
        else if (lstat(path, &found) == 0 && S_ISREG(found.st_mode) && states(&model, last_part(path)))
            file->former.items[file->former.count++] = path;
    }
    ons_mapping_close(&model);
    return status;
}

ons_status *ons_data_file_choose(const char *out, ons_arena *arena, ons_data_file *file) {
    *file = (ons_data_file){0};
    for (int i = 0; i < NAMES_MAX && file->path == NULL; ++i) {
        const char *path = name_data(out, i, arena);
        struct stat found;
        if (path == NULL) return ons_status_out_of_memory();
        if (lstat(path, &found) != 0) file->path = path;
    }
    ONS_CHECK(file->path != NULL, ONS_IO_ERROR,
              "%s.data and %d names like it are taken; remove the files that no model uses", out, NAMES_MAX - 1);
    file->location = last_part(file->path);
    ons_status *status = note_former(out, arena, file);
    if (status != NULL) ons_vector_free(&file->former);
    return status;
}

void ons_data_file_retire(const ons_data_file *file) {
    for (size_t i = 0; i < file->former.count; ++i) unlink(file->former.items[i]);
}
