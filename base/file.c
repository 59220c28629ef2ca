#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---------------------------------------------------------------------------------------------------------- reading */

static ons_status *map_descriptor(int descriptor, const char *path, ons_mapping *mapping) {
    struct stat information;
    if (fstat(descriptor, &information) != 0) return ons_status_system(errno, "cannot read '%s'", path);
    ONS_CHECK(S_ISREG(information.st_mode), ONS_IO_ERROR, "cannot read '%s': it is %s, not a file", path,
              S_ISDIR(information.st_mode) ? "a folder" : "a device or pipe");
    *mapping =
        (ons_mapping){.device = information.st_dev, .number = information.st_ino, .changed = information.st_mtim};
    mapping->bytes = (const uint8_t *)"";
    if (information.st_size == 0) return NULL; /* cannot be mapped */
    size_t size = (size_t)information.st_size;
    void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (bytes == MAP_FAILED) return ons_status_system(errno, "cannot map '%s'", path);
    mapping->bytes = bytes;
    mapping->size = size;
    return NULL;
}

ons_status *ons_mapping_check(const ons_mapping *mapping, const char *path) {
    struct stat now;
    if (stat(path, &now) != 0 || now.st_dev != mapping->device || now.st_ino != mapping->number) return NULL;
    bool same = (uint64_t)now.st_size == mapping->size && now.st_mtim.tv_sec == mapping->changed.tv_sec &&
                now.st_mtim.tv_nsec == mapping->changed.tv_nsec;
    ONS_CHECK(same, ONS_IO_ERROR, "'%s' was written into while it was in use", path);
    return NULL;
}

ons_status *ons_mapping_open_both(const char *path, ons_mapping *mapping, ons_file_reader *reader) {
    *mapping = (ons_mapping){0};
    *reader = (ons_file_reader){0};
    /* Non-blocking, so that a pipe without a writer is refused instead of waited for. */
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) return ons_status_system(errno, "cannot open '%s'", path);
    ons_status *status = map_descriptor(descriptor, path, mapping);
    if (status == NULL)
        *reader = (ons_file_reader){true, descriptor};
    else
        close(descriptor);
    return status;
}

ons_status *ons_mapping_open(const char *path, ons_mapping *mapping) {
    ons_file_reader reader;
    ons_status *status = ons_mapping_open_both(path, mapping, &reader);
    ons_file_reader_close(&reader);
    return status;
}

ons_status *ons_file_read(const ons_file_reader *reader, uint64_t offset, void *bytes, size_t size) {
    char *to = bytes;
    while (size > 0) {
        ssize_t got = pread(reader->descriptor, to, size, (off_t)offset);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return ons_status_system(errno, "cannot be read");
        ONS_CHECK(got > 0, ONS_IO_ERROR, "it has become shorter while it was in use: there are no bytes from %llu on",
                  (unsigned long long)offset);
        to += got;
        offset += (uint64_t)got;
        size -= (size_t)got;
    }
    return NULL;
}

void ons_file_reader_close(ons_file_reader *reader) {
    if (reader->open) close(reader->descriptor);
    *reader = (ons_file_reader){0};
}

void ons_mapping_give_back(const ons_mapping *mapping) {
    if (mapping->size > 0) madvise((void *)(uintptr_t)mapping->bytes, mapping->size, MADV_DONTNEED);
}

void ons_mapping_close(ons_mapping *mapping) {
    if (mapping->size > 0) munmap((void *)(uintptr_t)mapping->bytes, mapping->size);
    *mapping = (ons_mapping){0};
}

/* ---------------------------------------------------------------------------------------------------------- writing */

enum { BUFFER_BYTES = 256 * 1024, START_BYTES = 8 << 20 };

struct ons_file_writer {
    int descriptor;
    char *path;       /* the target, links resolved */
    char *temporary;  /* NULL: the target is written directly */
    uint64_t written; /* handed to the system */
    uint64_t started; /* of them, on their way to the disk */
    size_t buffered;
    unsigned char buffer[BUFFER_BYTES];
};

static void free_writer(ons_file_writer *writer) {
    if (writer == NULL) return;
    if (writer->descriptor >= 0) close(writer->descriptor);
    free(writer->temporary);
    free(writer->path);
    free(writer);
}

static bool is_gone(long process) {
    return process > 0 && process != (long)getpid() && kill((pid_t)process, 0) != 0 && errno == ESRCH;
}

/* The number of the process in "….PID-N.tmp"; 0: no such name. */
static long writer_of(const char *name) {
    const char *dash = strrchr(name, '-'), *dot = dash;
    if (dash == NULL || dash[1 + strspn(dash + 1, "0123456789")] != '.') return 0;
    if (strcmp(strrchr(dash, '.'), ".tmp") != 0 || strchr(dash, '.') != strrchr(dash, '.')) return 0;
    while (dot > name && *dot != '.') --dot;
    return strspn(dot + 1, "0123456789") == (size_t)(dash - dot - 1) ? strtol(dot + 1, NULL, 10) : 0;
}

void ons_file_remove_leftover(const char *path) {
    long process = writer_of(path);
    int descriptor = process <= 0 ? -1 : open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (descriptor < 0) return;
    bool unlocked = flock(descriptor, LOCK_EX | LOCK_NB) == 0;
    bool known = unlocked || errno == EWOULDBLOCK;
    /* Under the lock: a writer that has just made the file waits for it, and then sees that the file is gone. */
    if (known ? unlocked : is_gone(process)) unlink(path);
    close(descriptor);
}

/* What killed writers have left of the same target. */
static void remove_leftovers(const char *target) {
    const char *slash = strrchr(target, '/'), *name = slash == NULL ? target : slash + 1;
    char *folder = slash == NULL ? strdup(".") : strndup(target, (size_t)(slash - target) + 1), *path;
    DIR *directory = folder == NULL ? NULL : opendir(folder);
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
        size_t length = strlen(name);
        if (strncmp(entry->d_name, name, length) != 0 || writer_of(entry->d_name + length) == 0) continue;
        if (asprintf(&path, "%s/%s", folder, entry->d_name) < 0) break;
        ons_file_remove_leftover(path);
        free(path);
    }
    if (directory != NULL) closedir(directory);
    free(folder);
}

/* Made, locked and still there: numbers of processes are used again, so that somebody writes it is told by the lock. */
static bool make_temporary(ons_file_writer *writer) {
    struct stat information;
    /* Created with the user's umask, unlike what mkstemp makes. */
    writer->descriptor = open(writer->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (writer->descriptor < 0) return errno != EEXIST;
    while (flock(writer->descriptor, LOCK_EX) != 0 && errno == EINTR) {
    }
    if (fstat(writer->descriptor, &information) != 0 || information.st_nlink > 0) return true;
    close(writer->descriptor);
    writer->descriptor = -1;
    errno = EEXIST;
    return false;
}

/* Opens a fresh file beside the target. */
static ons_status *open_temporary(ons_file_writer *writer) {
    static atomic_uint counter;
    remove_leftovers(writer->path);
    for (int attempt = 0; attempt < 100; ++attempt) {
        free(writer->temporary);
        writer->temporary = NULL;
        if (asprintf(&writer->temporary, "%s.%ld-%u.tmp", writer->path, (long)getpid(), counter++) < 0) {
            writer->temporary = NULL;
            return ons_status_out_of_memory();
        }
        if (make_temporary(writer)) break;
    }
    if (writer->descriptor < 0) {
        ons_status *status = ons_status_system(errno, "cannot write '%s'", writer->path);
        free(writer->temporary);
        writer->temporary = NULL;
        return status;
    }
    return NULL;
}

/* Where the link at `path` leads, though there is no file yet: what it names, relative to its folder. */
static char *follow_link(const char *path) {
    char name[PATH_MAX];
    ssize_t length = readlink(path, name, sizeof name - 1);
    if (length <= 0) return NULL;
    name[length] = '\0';
    const char *slash = strrchr(path, '/');
    char *whole = NULL;
    if (name[0] == '/' || slash == NULL) return strdup(name);
    return asprintf(&whole, "%.*s/%s", (int)(slash - path), path, name) < 0 ? NULL : whole;
}

char *ons_file_target(const char *path) {
    enum { LINKS_MAX = 40 };
    char *target = realpath(path, NULL), *next;
    if (target != NULL) return target;
    target = strdup(path);
    for (int i = 0; i < LINKS_MAX && target != NULL && (next = follow_link(target)) != NULL; ++i) {
        free(target);
        target = next;
    }
    return target;
}

/* A device or a pipe, which /dev/stdout and links may lead to. Opening a pipe without a reader would block. */
static ons_status *open_directly(ons_file_writer *writer, const char *path) {
    writer->path = strdup(path);
    if (writer->path == NULL) return ons_status_out_of_memory();
    writer->descriptor = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK);
    ONS_CHECK(writer->descriptor >= 0 || errno != ENXIO, ONS_IO_ERROR,
              "cannot write '%s': no program reads this pipe; start the reader first", path);
    if (writer->descriptor < 0) return ons_status_system(errno, "cannot write '%s'", path);
    int flags = fcntl(writer->descriptor, F_GETFL);
    if (flags >= 0) (void)fcntl(writer->descriptor, F_SETFL, flags & ~O_NONBLOCK);
    return NULL;
}

int ons_file_own_descriptor(const char *path) {
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; ++i) {
        size_t length = strlen(folders[i]);
        const char *number = path + length;
        if (strncmp(path, folders[i], length) == 0 && *number != '\0' && strlen(number) < 9 &&
            number[strspn(number, "0123456789")] == '\0')
            return atoi(number);
    }
    return -1;
}

/* What this process has open goes on from where it is, be it a file, a pipe or a socket. */
static ons_status *go_on_with(ons_file_writer *writer, int descriptor, const char *path) {
    writer->path = strdup(path);
    if (writer->path == NULL) return ons_status_out_of_memory();
    writer->descriptor = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    return writer->descriptor >= 0 ? NULL : ons_status_system(errno, "cannot write '%s'", path);
}

static ons_status *open_writer(ons_file_writer *writer, const char *path) {
    struct stat information;
    int own = ons_file_own_descriptor(path);
    if (own >= 0) return go_on_with(writer, own, path);
    bool exists = stat(path, &information) == 0;
    ONS_CHECK(!exists || !S_ISDIR(information.st_mode), ONS_IO_ERROR, "cannot write '%s': it is a folder", path);
    if (exists && !S_ISREG(information.st_mode)) return open_directly(writer, path);
    writer->path = ons_file_target(path);
    if (writer->path == NULL) return ons_status_out_of_memory();
    if (!exists) return open_temporary(writer);
    /* Replacing would succeed where writing is forbidden: respect a read-only file. */
    if (access(writer->path, W_OK) != 0) return ons_status_system(errno, "cannot write '%s'", path);
    ONS_TRY(open_temporary(writer));
    /* Without the bits that let a program run as the file's owner: the contents are new. */
    (void)fchmod(writer->descriptor, information.st_mode & 0777);
    return NULL;
}

ons_status *ons_file_writer_open(const char *path, ons_file_writer **result) {
    ONS_CHECK(path != NULL && path[0] != '\0', ONS_INVALID_ARGUMENT, "a file to be written has no name");
    ons_file_writer *writer = calloc(1, sizeof *writer);
    if (writer == NULL) return ons_status_out_of_memory();
    writer->descriptor = -1;
    ons_status *status = open_writer(writer, path);
    if (status != NULL) {
        free_writer(writer);
        return status;
    }
    *result = writer;
    return NULL;
}

/* The disk begins with what there is, while the rest is computed and copied; fsync at the end waits for all. */
static void start_writing(ons_file_writer *writer) {
    if (writer->written - writer->started < START_BYTES) return;
    sync_file_range(writer->descriptor, (off_t)writer->started, (off_t)(writer->written - writer->started),
                    SYNC_FILE_RANGE_WRITE);
    writer->started = writer->written;
}

/* Hands bytes to the system, in as many pieces as it takes. */
static ons_status *write_through(ons_file_writer *writer, const unsigned char *bytes, size_t size) {
    while (size > 0) {
        ssize_t count = write(writer->descriptor, bytes, size < SSIZE_MAX ? size : SSIZE_MAX);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return ons_status_system(count < 0 ? errno : ENOSPC, "cannot write '%s'", writer->path);
        bytes += count;
        size -= (size_t)count;
        writer->written += (uint64_t)count;
    }
    start_writing(writer);
    return NULL;
}

static ons_status *flush(ons_file_writer *writer) {
    size_t size = writer->buffered;
    writer->buffered = 0;
    return write_through(writer, writer->buffer, size);
}

ons_status *ons_file_write(ons_file_writer *writer, const void *bytes, size_t size) {
    if (size >= BUFFER_BYTES) {
        ONS_TRY(flush(writer));
        return write_through(writer, bytes, size);
    }
    if (size > BUFFER_BYTES - writer->buffered) ONS_TRY(flush(writer));
    if (size > 0) memcpy(writer->buffer + writer->buffered, bytes, size);
    writer->buffered += size;
    return NULL;
}

ons_status *ons_file_sink(void *writer, const void *bytes, size_t size) { return ons_file_write(writer, bytes, size); }

uint64_t ons_file_position(const ons_file_writer *writer) { return writer->written + writer->buffered; }

ons_status *ons_file_sync(ons_file_writer *writer) {
    ONS_TRY(flush(writer));
    /* Devices and pipes cannot be synced and need not be. */
    if (fsync(writer->descriptor) != 0 && writer->temporary != NULL)
        return ons_status_system(errno, "cannot write '%s'", writer->path);
    return NULL;
}

/* Some file systems cannot, and folders may be written without being read. */
ons_status *ons_file_sync_name(const char *path) {
    const char *slash = strrchr(path, '/');
    char *folder = slash == NULL ? strdup(".") : strndup(path, slash == path ? 1 : (size_t)(slash - path));
    if (folder == NULL) return ons_status_out_of_memory();
    int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), reason = 0;
    if (descriptor >= 0) {
        reason = fsync(descriptor) == 0 ? 0 : errno;
        close(descriptor);
    }
    free(folder);
    if (reason == 0 || reason == EINVAL || reason == ENOTSUP || reason == EROFS) return NULL;
    return ons_status_system(reason, "'%s' is written, but may be lost with the power: its folder cannot be synced",
                             path);
}

ons_status *ons_file_rename(const char *from, const char *to) {
    if (rename(from, to) != 0) return ons_status_system(errno, "cannot rename '%s' to '%s'", from, to);
    return ons_file_sync_name(to);
}

ons_status *ons_folder_make(const char *path) {
    struct stat information;
    if (mkdir(path, 0777) == 0) return ons_file_sync_name(path);
    if (errno == EEXIST && stat(path, &information) == 0) return NULL;
    return ons_status_system(errno, "cannot make the folder '%s'", path);
}

static ons_status *finish(ons_file_writer *writer) {
    ONS_TRY(ons_file_sync(writer));
    int descriptor = writer->descriptor;
    writer->descriptor = -1;
    if (close(descriptor) != 0 && errno != EINTR) return ons_status_system(errno, "cannot write '%s'", writer->path);
    if (writer->temporary == NULL) return NULL;
    if (rename(writer->temporary, writer->path) != 0)
        return ons_status_system(errno, "cannot replace '%s'", writer->path);
    free(writer->temporary); /* its name is gone */
    writer->temporary = NULL;
    return ons_file_sync_name(writer->path);
}

ons_status *ons_file_commit(ons_file_writer *writer) {
    ons_status *status = finish(writer);
    if (status != NULL)
        ons_file_discard(writer);
    else
        free_writer(writer);
    return status;
}

ons_status *ons_file_write_text(const char *path, const char *text) {
    ons_file_writer *writer;
    ONS_TRY(ons_file_writer_open(path, &writer));
    ons_status *status = ons_file_write(writer, text, strlen(text));
    if (status == NULL) return ons_file_commit(writer);
    ons_file_discard(writer);
    return status;
}

void ons_file_discard(ons_file_writer *writer) {
    if (writer == NULL) return;
    if (writer->temporary != NULL) unlink(writer->temporary);
    free_writer(writer);
}
