#include "base/file.h"

#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/rooms/onnx_import/fixture.h"

static char folder[64], path[128];

static void setup(void) {
    make_folder(folder);
    snprintf(path, sizeof path, "%s/file", folder);
}

static void teardown(void) { remove_folder(folder); }

TestSuite(file, .init = setup, .fini = teardown);

static void write_all(const char *to, const void *data, size_t size) {
    ons_file_writer *writer;
    cr_assert_null(ons_file_writer_open(to, &writer));
    cr_assert_null(ons_file_write(writer, data, size));
    cr_assert_eq(ons_file_position(writer), size);
    cr_assert_null(ons_file_commit(writer));
}

Test(file, written_and_read) {
    static char data[600000];
    memset(data, 'x', sizeof data);
    write_all(path, data, sizeof data);
    ons_mapping mapping;
    cr_assert_null(ons_mapping_open(path, &mapping));
    cr_assert_eq(mapping.size, sizeof data);
    cr_assert_eq(memcmp(mapping.bytes, data, sizeof data), 0);
    ons_mapping_close(&mapping);
}

Test(file, empty) {
    write_all(path, "", 0);
    ons_mapping mapping;
    cr_assert_null(ons_mapping_open(path, &mapping));
    cr_assert_eq(mapping.size, 0);
    cr_assert_not_null(mapping.bytes);
    ons_mapping_close(&mapping);
}

Test(file, discarded_leaves_nothing) {
    ons_file_writer *writer;
    cr_assert_null(ons_file_writer_open(path, &writer));
    cr_assert_null(ons_file_write(writer, "abc", 3));
    ons_file_discard(writer);
    cr_assert_eq(rmdir(folder), 0);
    mkdir(folder, 0777);
}

Test(file, link_and_permissions_stay) {
    char link[160];
    snprintf(link, sizeof link, "%s.link", path);
    write_file(path, "old", 3);
    chmod(path, 0640);
    cr_assert_eq(symlink("file", link), 0);
    write_all(link, "new!", 4);
    struct stat info;
    cr_assert_eq(lstat(link, &info), 0);
    cr_assert(S_ISLNK(info.st_mode));
    cr_assert_eq(stat(path, &info), 0);
    cr_assert_eq(info.st_size, 4);
    cr_assert_eq(info.st_mode & 0777, 0640);
}

Test(file, what_cannot_be_mapped) {
    ons_mapping mapping;
    const char *const paths[] = {folder, "/dev/null", "/nowhere"};
    for (int i = 0; i < 3; ++i) {
        ons_status *status = ons_mapping_open(paths[i], &mapping);
        cr_assert_eq(ons_status_get_code(status), ONS_IO_ERROR);
        cr_assert_not_null(strstr(ons_status_get_message(status), paths[i]));
        ons_status_free(status);
    }
    char pipe[160];
    snprintf(pipe, sizeof pipe, "%s.pipe", path);
    cr_assert_eq(mkfifo(pipe, 0600), 0);
    ons_status *status = ons_mapping_open(pipe, &mapping);
    cr_assert_not_null(status);
    ons_status_free(status);
}

/* ----------------------------------------------------------------------------------------- links, pipes and devices */

static const char *in_folder(const char *name) {
    static char text[200];
    snprintf(text, sizeof text, "%s/%s", folder, name);
    return text;
}

static bool holds(const char *at, const char *text) {
    char found[64] = "";
    FILE *file = fopen(at, "r");
    size_t size = file == NULL ? 0 : fread(found, 1, sizeof found - 1, file);
    if (file != NULL) fclose(file);
    return size == strlen(text) && strcmp(found, text) == 0;
}

Test(file, link_to_nothing_yet_makes_its_target) {
    char link[160];
    snprintf(link, sizeof link, "%s/link", folder);
    cr_assert_eq(symlink("later", link), 0); /* relative to the link's folder */
    write_all(link, "abc", 3);
    struct stat information;
    cr_assert_eq(lstat(link, &information), 0);
    cr_assert(S_ISLNK(information.st_mode));
    cr_assert(holds(in_folder("later"), "abc"));
}

/* "/dev/stdout" is such a link: it must not become a file. */
Test(file, link_to_a_pipe_writes_into_the_pipe) {
    char link[160], target[160], got[8] = "";
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    snprintf(link, sizeof link, "%s/link", folder);
    snprintf(target, sizeof target, "/proc/self/fd/%d", ends[1]);
    cr_assert_eq(symlink(target, link), 0);
    write_all(link, "abc", 3);
    cr_assert_eq(read(ends[0], got, sizeof got), 3);
    cr_assert_str_eq(got, "abc");
    struct stat information;
    cr_assert_eq(lstat(link, &information), 0);
    cr_assert(S_ISLNK(information.st_mode));
}

Test(file, pipe_without_a_reader_is_refused_at_once) {
    cr_assert_eq(mkfifo(path, 0600), 0);
    ons_file_writer *writer = NULL;
    ons_status *status = ons_file_writer_open(path, &writer);
    cr_assert_eq(ons_status_get_code(status), ONS_IO_ERROR);
    cr_assert_not_null(strstr(ons_status_get_message(status), "no program reads this pipe"));
    ons_status_free(status);
}

Test(file, set_user_id_does_not_stay) {
    write_all(path, "abc", 3);
    cr_assert_eq(chmod(path, 04755), 0);
    write_all(path, "def", 3);
    struct stat information;
    cr_assert_eq(stat(path, &information), 0);
    cr_assert_eq(information.st_mode & 07777, 0755);
}
