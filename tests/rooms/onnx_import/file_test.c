#include "base/file.h"

#include <criterion/criterion.h>
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
