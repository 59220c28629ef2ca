#include "tests/rooms/runtime/scratch.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[512];

void scratch_make(void) {
    const char *parent = getenv("TEST_TMPDIR"); /* given by Bazel */
    snprintf(folder, sizeof folder, "%s/onstage-test-XXXXXX", parent != NULL ? parent : "/tmp");
    cr_assert_not_null(mkdtemp(folder));
}

static int remove_one(const char *path, const struct stat *information, int type, struct FTW *position) {
    return remove(path);
}

void scratch_remove(void) { nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS); }

const char *scratch_path(const char *name) {
    static char paths[10][600];
    static int next;
    char *path = paths[next++ % 10];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

void scratch_write(const char *path, const void *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(bytes, 1, size, file), size);
    cr_assert_eq(fclose(file), 0);
}

char *scratch_read(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) return NULL;
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    char *bytes = malloc(*size + 1);
    cr_assert_eq(fread(bytes, 1, *size, file), *size);
    bytes[*size] = '\0';
    fclose(file);
    return bytes;
}

int scratch_count(const char *path, const char *end) {
    int count = 0;
    DIR *directory = opendir(path);
    cr_assert_not_null(directory);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        size_t length = strlen(entry->d_name);
        count +=
            entry->d_name[0] != '.' && length >= strlen(end) && strcmp(entry->d_name + length - strlen(end), end) == 0;
    }
    closedir(directory);
    return count;
}

void expect_success(ons_status *status) { cr_assert_null(status, "%s", ons_status_get_message(status)); }

void expect_failure(ons_status *status, ons_status_code code, const char *part) {
    cr_assert_not_null(status, "expected a failure with '%s'", part);
    cr_expect_not_null(strstr(ons_status_get_message(status), part), "'%s' is not in '%s'", part,
                       ons_status_get_message(status));
    cr_expect_eq(ons_status_get_code(status), code, "code %d: %s", ons_status_get_code(status),
                 ons_status_get_message(status));
    ons_status_free(status);
}
