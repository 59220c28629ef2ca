#include "tests/agreement/backend/suite.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, DEPTH = 3 };

static ons_status *add_case(suite *s, const char *folder, const char *set) {
    suite_case each = {.folder = strdup(folder), .set = strdup(set)};
    if (each.folder == NULL || each.set == NULL || !ons_vector_push(&s->cases, each)) {
        free(each.folder), free(each.set);
        return ons_status_out_of_memory();
    }
    suite_case *added = &s->cases.items[s->cases.count - 1];
    const char *slash = strrchr(added->folder, '/');
    added->name = slash == NULL ? added->folder : slash + 1;
    return NULL;
}

static int is_folder_name(const struct dirent *entry) { return entry->d_name[0] != '.'; }

static const char *last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

static ons_status *walk(suite *s, const char *folder, const char *set, int depth);

static ons_status *walk_into(suite *s, const char *folder, const char *entry, int depth) {
    char *path = NULL;
    if (asprintf(&path, "%s/%s", folder, entry) < 0) return ons_status_out_of_memory();
    ons_status *status = walk(s, path, last_part(folder), depth);
    free(path);
    return status;
}

static ons_status *walk(suite *s, const char *folder, const char *set, int depth) {
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    if (access(path, R_OK) == 0) return add_case(s, folder, set);
    if (depth == 0 || strcmp(last_part(folder), "real") == 0) return NULL;
    struct dirent **entries;
    int count = scandir(folder, &entries, is_folder_name, alphasort);
    ons_status *status = NULL;
    for (int i = 0; i < count; ++i) {
        if (status == NULL) status = walk_into(s, folder, entries[i]->d_name, depth - 1);
        free(entries[i]);
    }
    if (count >= 0) free(entries); /* what is no folder has none */
    return status;
}

ons_status *suite_find(const char *folder, suite *found) {
    *found = (suite){0};
    ons_status *status = walk(found, folder, "", DEPTH);
    if (status == NULL && found->cases.count == 0)
        status = ons_status_new(ONS_INVALID_ARGUMENT, "%s: there is no model.onnx below this folder", folder);
    if (status != NULL) suite_free(found);
    return status;
}

void suite_free(suite *s) {
    for (size_t i = 0; i < s->cases.count; ++i) {
        free(s->cases.items[i].folder);
        free(s->cases.items[i].set);
    }
    ons_vector_free(&s->cases);
}

const char *suite_packaged(void) {
    const char *given = getenv("ONSTAGE_BACKEND_DATA");
    return given != NULL ? given : "/usr/share/libonnx-testdata/data";
}
