#include "runtime/log/tensorboard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

/* A record of a TFRecord file:  length (8 bytes) | its masked crc32c (4) | data | their masked crc32c (4).
 * The data are a serialised tensorflow.Event:
 *   double wall_time = 1;  int64 step = 2;  string file_version = 3;  Summary summary = 5;  SessionLog session_log = 7;
 *   Summary { repeated Value value = 1; }  Value { string tag = 1; float simple_value = 2; }
 *   SessionLog { enum status = 1 (START = 1); } */
enum { TAG_MAX = 512, EVENT_MAX = TAG_MAX + 128, BUFFER_BYTES = 64 * 1024 };
enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

struct ons_tensorboard {
    int descriptor;
    char *path;
    size_t used;
    uint8_t buffer[BUFFER_BYTES];
};

typedef struct message {
    size_t size;
    uint8_t bytes[EVENT_MAX];
} message;

/* Castagnoli's polynomial, reflected; a bit at a time is fast enough for a hundred bytes. */
uint32_t ons_crc32c(const void *bytes, size_t size) {
    const uint8_t *at = bytes;
    uint32_t crc = 0xffffffffu;
    for (size_t i = 0; i < size; ++i) {
        crc ^= at[i];
        for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (0x82f63b78u & (0u - (crc & 1u)));
    }
    return ~crc;
}

uint32_t ons_masked_crc32c(const void *bytes, size_t size) {
    uint32_t crc = ons_crc32c(bytes, size);
    return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

/* --------------------------------------------------------------------------------------------------------- encoding */

static void put_varint(message *m, uint64_t value) {
    for (; value >= 0x80; value >>= 7) m->bytes[m->size++] = (uint8_t)(value | 0x80);
    m->bytes[m->size++] = (uint8_t)value;
}

static void put_fixed(message *m, uint32_t field, int wire, const void *bytes, size_t size) {
    put_varint(m, field << 3 | (uint32_t)wire);
    if (wire == WIRE_BYTES) put_varint(m, size);
    memcpy(m->bytes + m->size, bytes, size);
    m->size += size;
}

static void put_time(message *m, double wall_time) { put_fixed(m, 1, WIRE_64, &wall_time, sizeof wall_time); }

static void put_step(message *m, uint64_t step) {
    put_varint(m, 2 << 3 | WIRE_VARINT);
    put_varint(m, step);
}

/* ---------------------------------------------------------------------------------------------------------- writing */

ons_status *ons_tensorboard_flush(ons_tensorboard *board) {
    const uint8_t *at = board->buffer;
    size_t size = board->used;
    board->used = 0;
    while (size > 0) {
        ssize_t count = write(board->descriptor, at, size);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return ons_status_system(count < 0 ? errno : ENOSPC, "cannot write '%s'", board->path);
        at += count;
        size -= (size_t)count;
    }
    return NULL;
}

static void put(ons_tensorboard *board, const void *bytes, size_t size) {
    memcpy(board->buffer + board->used, bytes, size);
    board->used += size;
}

static ons_status *put_record(ons_tensorboard *board, const message *m) {
    uint64_t length = m->size;
    if (board->used + m->size + 16 > sizeof board->buffer) ONS_TRY(ons_tensorboard_flush(board));
    uint32_t length_crc = ons_masked_crc32c(&length, sizeof length), crc = ons_masked_crc32c(m->bytes, m->size);
    put(board, &length, sizeof length);
    put(board, &length_crc, sizeof length_crc);
    put(board, m->bytes, m->size);
    put(board, &crc, sizeof crc);
    return NULL;
}

static ons_status *put_start(ons_tensorboard *board, double wall_time, bool resumed, uint64_t step) {
    static const char version[] = "brain.Event:2";
    message m = {0};
    put_time(&m, wall_time);
    put_fixed(&m, 3, WIRE_BYTES, version, strlen(version));
    ONS_TRY(put_record(board, &m));
    if (resumed) { /* a session that starts at a step makes viewers forget that step and all after it */
        static const uint8_t start[] = {1 << 3 | WIRE_VARINT, 1};
        m.size = 0;
        put_time(&m, wall_time);
        put_step(&m, step + 1);
        put_fixed(&m, 7, WIRE_BYTES, start, sizeof start);
        ONS_TRY(put_record(board, &m));
    }
    return ons_tensorboard_flush(board);
}

static ons_status *open_file(ons_tensorboard *board, const char *folder, double wall_time) {
    ONS_TRY(ons_folder_make(folder));
    char host[128] = "";
    if (gethostname(host, sizeof host - 1) != 0 || host[0] == '\0') snprintf(host, sizeof host, "localhost");
    for (int attempt = 0; attempt < 1000 && board->descriptor < 0; ++attempt) {
        free(board->path);
        board->path = NULL;
        if (asprintf(&board->path, "%s/events.out.tfevents.%010lld.%s.%ld.%d", folder, (long long)wall_time, host,
                     (long)getpid(), attempt) < 0) {
            board->path = NULL;
            return ons_status_out_of_memory();
        }
        board->descriptor = open(board->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (board->descriptor < 0 && errno != EEXIST) break;
    }
    return board->descriptor >= 0 ? NULL : ons_status_system(errno, "cannot write '%s'", board->path);
}

ons_status *ons_tensorboard_open(const char *folder, double wall_time, bool resumed, uint64_t step,
                                 ons_tensorboard **result) {
    ons_tensorboard *board = calloc(1, sizeof *board);
    if (board == NULL) return ons_status_out_of_memory();
    board->descriptor = -1;
    ons_status *status = open_file(board, folder, wall_time);
    if (status == NULL) status = put_start(board, wall_time, resumed, step);
    if (status != NULL) {
        ons_status_free(ons_tensorboard_close(board));
        return status;
    }
    *result = board;
    return NULL;
}

ons_status *ons_tensorboard_scalar(ons_tensorboard *board, const char *tag, uint64_t step, double wall_time,
                                   double value) {
    size_t length = strlen(tag);
    ONS_CHECK(length <= TAG_MAX, ONS_INVALID_ARGUMENT, "a TensorBoard tag of %zu bytes; at most %d", length, TAG_MAX);
    float number = (float)value;
    message entry = {0}, summary = {0}, event = {0};
    put_fixed(&entry, 1, WIRE_BYTES, tag, length);
    put_fixed(&entry, 2, WIRE_32, &number, sizeof number);
    put_fixed(&summary, 1, WIRE_BYTES, entry.bytes, entry.size);
    put_time(&event, wall_time);
    put_step(&event, step);
    put_fixed(&event, 5, WIRE_BYTES, summary.bytes, summary.size);
    return put_record(board, &event);
}

ons_status *ons_tensorboard_close(ons_tensorboard *board) {
    if (board == NULL) return NULL;
    ons_status *status = board->descriptor >= 0 ? ons_tensorboard_flush(board) : NULL;
    if (board->descriptor >= 0) close(board->descriptor);
    free(board->path);
    free(board);
    return status;
}
