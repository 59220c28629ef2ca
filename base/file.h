/* Files: read through a mapping, written whole or not at all.
 *
 * A writer puts everything into a temporary file beside the target; only ons_file_commit, after fsync, gives it its
 * name. So the target is at any moment either what it was or complete, and a full disk or a crash leaves no half file
 * under its name; what a killed writer leaves is removed by the next one. A target that exists and is no regular file
 * (a device, a pipe) is written directly.
 */
#ifndef ONSTAGE_BASE_FILE_H
#define ONSTAGE_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/status.h"

/* A whole file, read-only. The file must not shrink while it is mapped. */
typedef struct ons_mapping {
    const uint8_t *bytes; /* never NULL once open; page-aligned */
    size_t size;
    dev_t device; /* which file it is, and when it was changed last */
    ino_t number;
    struct timespec changed;
} ons_mapping;

/* Fails with the path in the message; also for what is not a regular file. */
ons_status *ons_mapping_open(const char *path, ons_mapping *mapping);
void ons_mapping_close(ons_mapping *mapping); /* a zeroed one is fine */
/* Gives back the memory that holds what was read; bytes that are looked at again are read again. A zeroed one is fine.
 */
void ons_mapping_give_back(const ons_mapping *mapping);
/* Fails where the file at `path` is the one that is mapped, but was written into since. One that was replaced or
 * removed is mapped as it was. */
ons_status *ons_mapping_check(const ons_mapping *mapping, const char *path);

/* A file that may shrink while it is read. */
typedef struct ons_file_reader {
    bool open;
    int descriptor;
} ons_file_reader;

/* Opens the same file both ways; each is closed by itself. */
ons_status *ons_mapping_open_both(const char *path, ons_mapping *mapping, ons_file_reader *reader);
/* All of the bytes at `offset`. Fails where the file has become shorter; the caller says which file it is. */
ons_status *ons_file_read(const ons_file_reader *reader, uint64_t offset, void *bytes, size_t size);
void ons_file_reader_close(ons_file_reader *reader); /* a zeroed one is fine */

typedef struct ons_file_writer ons_file_writer;

/* `path` may be a symbolic link: what it points to is replaced, or made. An existing file's permissions are kept, but
 * for the bits that let a program run as the file's owner or group. */
ons_status *ons_file_writer_open(const char *path, ons_file_writer **writer);

/* The descriptor in the name /dev/fd/N of a file that this process has open; -1: it is another name. A writer of that
 * name goes on where the file is, and replaces nothing. */
int ons_file_own_descriptor(const char *path);
/* The file that a writer of `path` replaces or makes: links are followed, also one that leads to nothing yet. The
 * caller frees it. NULL: memory is short. */
char *ons_file_target(const char *path);

/* Buffered. After a failure the writer can only be discarded. */
ons_status *ons_file_write(ons_file_writer *writer, const void *bytes, size_t size);

/* ons_file_write as the sink of an ons_json_writer; `writer` is an ons_file_writer. */
ons_status *ons_file_sink(void *writer, const void *bytes, size_t size);

/* Bytes written so far. */
uint64_t ons_file_position(const ons_file_writer *writer);

/* All bytes are on the disk, still under the temporary name: what is left to commit hardly fails. For several files
 * that belong together. */
ons_status *ons_file_sync(ons_file_writer *writer);

/* Syncs and gives the file its name. Frees the writer, also on failure, and removes the temporary file then. */
ons_status *ons_file_commit(ons_file_writer *writer);

/* The whole text as a file, or nothing. */
ons_status *ons_file_write_text(const char *path, const char *text);

/* Removes the temporary file and frees the writer. NULL is fine. */
void ons_file_discard(ons_file_writer *writer);

/* Removes a writer's temporary file ("….PID-N.tmp") where the writer is gone: it is locked no more, or where the file
 * system has no locks, its process is not here. Opening a writer does so with what others left of the same target. */
void ons_file_remove_leftover(const char *path);

/* The name of a file that was just made is on the disk then. */
ons_status *ons_file_sync_name(const char *path);

/* Gives a whole file another name in the same folder; the new name is on the disk then. */
ons_status *ons_file_rename(const char *from, const char *to);

/* Makes the folder where there is none; its name is on the disk then. */
ons_status *ons_folder_make(const char *path);

#endif
