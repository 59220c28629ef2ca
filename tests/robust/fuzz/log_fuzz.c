/* Any bytes as a log that a resumed run goes on with: it is refused and stays as it is, or lines of later steps go and
 * resuming once more changes nothing. The first byte is the step. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/log/log_json.h"
#include "tests/robust/fuzz/fuzz.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);

static char path[] = "/tmp/log-fuzz.XXXXXX";

static void remove_log(void) { remove(path); }

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    if (mkstemp(path) < 0) abort();
    return atexit(remove_log);
}

static off_t size_of_log(void) {
    struct stat information;
    if (stat(path, &information) != 0) abort();
    return information.st_size;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    if (size == 0) return 0;
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(bytes + 1, 1, size - 1, file) != size - 1 || fclose(file) != 0) abort();
    ons_log_json *log;
    ons_status *status = ons_log_json_resume(path, bytes[0], &log);
    off_t kept = size_of_log();
    if (status != NULL) {
        if (kept != (off_t)size - 1 || ons_status_get_message(status)[0] == '\0') abort();
        ons_status_free(status);
        return 0;
    }
    ons_log_json_close(log);
    if (ons_log_json_resume(path, bytes[0], &log) != NULL || size_of_log() != kept) abort();
    ons_log_json_close(log);
    return 0;
}
