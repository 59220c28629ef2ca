#include "runtime/log/log_json.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"

struct ons_log_json {
    int descriptor;
    bool regular; /* a file, that can be cut back */
    off_t size;   /* of the file */
    off_t line;   /* where the current line begins */
    char *path;
    ons_json_writer writer;
};

static ons_status *write_all(void *context, const void *bytes, size_t size) {
    ons_log_json *log = context;
    const char *at = bytes;
    while (size > 0) {
        ssize_t count = write(log->descriptor, at, size);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return ons_status_system(count < 0 ? errno : ENOSPC, "cannot write the log '%s'", log->path);
        at += count;
        size -= (size_t)count;
        log->size += count;
    }
    return NULL;
}

static ons_status *open_log(ons_log_json *log, const char *path, int flags) {
    log->path = strdup(path);
    if (log->path == NULL) return ons_status_out_of_memory();
    int own = ons_file_own_descriptor(path);
    log->descriptor = own >= 0 ? fcntl(own, F_DUPFD_CLOEXEC, 0)
                               : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | flags, 0666);
    struct stat information;
    ONS_CHECK(log->descriptor >= 0 || errno != ENXIO, ONS_IO_ERROR,
              "cannot write the log '%s': no program reads this pipe; start the reader first", path);
    if (log->descriptor < 0 || fstat(log->descriptor, &information) != 0)
        return ons_status_system(errno, "cannot write the log '%s'", path);
    log->regular = own < 0 && S_ISREG(information.st_mode);
    if (log->regular) ONS_TRY(ons_file_sync_name(path));
    int kept = fcntl(log->descriptor, F_GETFL); /* a reader that is slow is waited for */
    if (kept >= 0) (void)fcntl(log->descriptor, F_SETFL, kept & ~O_NONBLOCK);
    log->size = log->regular ? information.st_size : 0;
    ons_json_writer_init(&log->writer, write_all, log);
    return NULL;
}

static ons_status *new_log(const char *path, int flags, ons_log_json **result) {
    ons_log_json *log = calloc(1, sizeof *log);
    if (log == NULL) return ons_status_out_of_memory();
    log->descriptor = -1;
    ons_status *status = open_log(log, path, flags);
    if (status != NULL) {
        ons_log_json_close(log);
        return status;
    }
    *result = log;
    return NULL;
}

ons_status *ons_log_json_open(const char *path, ons_log_json **log) { return new_log(path, O_TRUNC, log); }

/* --------------------------------------------------------------------------------------------------------- resuming */

/* Whether a complete line stays. */
static ons_status *check_line(const uint8_t *line, size_t size, uint64_t step, bool *stays) {
    *stays = true;
    size_t blanks = 0;
    while (blanks < size && (line[blanks] == ' ' || line[blanks] == '\r' || line[blanks] == '\t')) ++blanks;
    if (blanks == size) return NULL;
    ons_json *json;
    ONS_TRY(ons_json_parse(line, size, &json));
    bool object = cJSON_IsObject(json);
    const ons_json *member = ons_json_find(json, "step");
    *stays = !cJSON_IsNumber(member) || member->valuedouble <= (double)step;
    ons_json_free(json);
    ONS_CHECK(object, ONS_INVALID_DATA, "not a JSON object");
    return NULL;
}

/* Goes through the lines; those that stay are written to `writer` unless it is NULL. *prefix: bytes of the lines before
 * the first that goes; *scattered: lines stay after that, too. */
static ons_status *filter_lines(const ons_mapping *mapping, uint64_t step, ons_file_writer *writer, size_t *prefix,
                                bool *scattered) {
    const uint8_t *at = mapping->bytes, *end = mapping->bytes + mapping->size, *stop;
    bool cut = false;
    *prefix = 0;
    *scattered = false;
    for (size_t number = 1; at < end && (stop = memchr(at, '\n', (size_t)(end - at))) != NULL; ++number) {
        size_t size = (size_t)(stop + 1 - at);
        bool stays;
        ONS_TRY_AT(check_line(at, size - 1, step, &stays), "line %zu", number);
        if (stays && writer != NULL) ONS_TRY(ons_file_write(writer, at, size));
        *scattered = *scattered || (stays && cut);
        cut = cut || !stays;
        at = stop + 1;
        if (!cut) *prefix = (size_t)(at - mapping->bytes);
    }
    return NULL;
}

static ons_status *rewrite(const char *path, const ons_mapping *mapping, uint64_t step) {
    ons_file_writer *writer;
    ONS_TRY(ons_file_writer_open(path, &writer));
    size_t prefix;
    bool scattered;
    ons_status *status = filter_lines(mapping, step, writer, &prefix, &scattered);
    if (status != NULL) {
        ons_file_discard(writer);
        return status;
    }
    return ons_file_commit(writer);
}

static ons_status *cut_back(const char *path, uint64_t step) {
    ons_mapping mapping;
    ONS_TRY(ons_mapping_open(path, &mapping));
    size_t prefix = 0, size = mapping.size;
    bool scattered = false;
    ons_status *status = filter_lines(&mapping, step, NULL, &prefix, &scattered);
    if (status != NULL)
        status = ons_status_at(status, "'%s' is no log to go on with; choose another --log-json", path);
    else if (scattered)
        status = rewrite(path, &mapping, step);
    ons_mapping_close(&mapping);
    if (status == NULL && !scattered && prefix < size && truncate(path, (off_t)prefix) != 0)
        status = ons_status_system(errno, "cannot cut back the log '%s'", path);
    return status;
}

ons_status *ons_log_json_resume(const char *path, uint64_t step, ons_log_json **log) {
    struct stat information;
    if (stat(path, &information) == 0 && S_ISREG(information.st_mode)) ONS_TRY(cut_back(path, step));
    return new_log(path, 0, log);
}

/* ---------------------------------------------------------------------------------------------------------- writing */

ons_json_writer *ons_log_json_begin(ons_log_json *log, uint64_t step) {
    log->line = log->size;
    ons_json_begin_object(&log->writer, NULL);
    ons_json_put_uint64(&log->writer, "step", step);
    return &log->writer;
}

ons_status *ons_log_json_end(ons_log_json *log) {
    ons_json_end_object(&log->writer);
    ons_json_put_line_break(&log->writer);
    ons_status *status = ons_json_writer_flush(&log->writer);
    if (status != NULL && log->regular && ftruncate(log->descriptor, log->line) == 0) log->size = log->line;
    return status;
}

ons_status *ons_log_json_sync(ons_log_json *log) {
    if (log->regular && fdatasync(log->descriptor) != 0)
        return ons_status_system(errno, "cannot write the log '%s'", log->path);
    return NULL;
}

void ons_log_json_close(ons_log_json *log) {
    if (log == NULL) return;
    ons_status_free(log->writer.status); /* of a line that was never ended */
    if (log->descriptor >= 0) close(log->descriptor);
    free(log->path);
    free(log);
}
