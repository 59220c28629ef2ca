/* Checks files for the tests of the command: json_check FILE: is one JSON value; json_check --lines FILE KEY...: every
 * line is an object that has these keys, and nothing follows the last line's end. Exit code 0 and the number of lines:
 * it is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"

static int report(ons_status *status) {
    if (status == NULL) return 0;
    fprintf(stderr, "json_check: %s\n", ons_status_get_message(status));
    ons_status_free(status);
    return 1;
}

static int check_line(const char *line, size_t length, char **keys, int count) {
    ons_json *json = NULL;
    if (report(ons_json_parse(line, length, &json)) != 0) return 1;
    int failed = 0;
    for (int i = 0; i < count; ++i) {
        if (ons_json_find(json, keys[i]) != NULL) continue;
        fprintf(stderr, "json_check: no '%s' in %.*s\n", keys[i], (int)length, line);
        failed = 1;
    }
    ons_json_free(json);
    return failed;
}

static int check_lines(const ons_mapping *file, char **keys, int count) {
    const char *at = (const char *)file->bytes, *end = at + file->size;
    int lines = 0, failed = 0;
    for (; failed == 0 && at < end; ++lines) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (stop == NULL) {
            fprintf(stderr, "json_check: the last line has no end\n");
            return 1;
        }
        failed = check_line(at, (size_t)(stop - at), keys, count);
        at = stop + 1;
    }
    printf("%d\n", lines);
    return failed;
}

int main(int argc, char **argv) {
    bool lines = argc > 2 && strcmp(argv[1], "--lines") == 0;
    ons_mapping file = {0};
    if (argc < 2 || report(ons_mapping_open(argv[lines ? 2 : 1], &file)) != 0) return 2;
    int failed =
        lines ? check_lines(&file, argv + 3, argc - 3) : check_line((const char *)file.bytes, file.size, NULL, 0);
    ons_mapping_close(&file);
    return failed;
}
