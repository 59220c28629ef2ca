/* Loaded before the C library: records what a program does to the files below one folder.
 *
 *   ONSTAGE_POWER_FOLDER=F   the folder, absolute and without links
 *   ONSTAGE_POWER_RECORD=R   the record, outside of F; history.h has its lines
 *
 * Each call and its line are made under one lock, so that lines stand in the order of the calls. Writes through a
 * mapping are not seen; power_test.sh compares what the record leads to with what the run left. */
#include <dlfcn.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES_MAX = 1024 };

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char folder[PATH_MAX];
static FILE *record;
static bool tracked[FILES_MAX]; /* by descriptor */

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("ONSTAGE_POWER_FOLDER"), *out = getenv("ONSTAGE_POWER_RECORD");
    if (path == NULL || out == NULL || strlen(path) >= sizeof folder) return;
    strcpy(folder, path);
    record = fopen(out, "w");
}

__attribute__((destructor)) static void end(void) {
    if (record != NULL) fclose(record);
    record = NULL;
}

/* The path relative to the folder, "." for the folder itself; false: it lies elsewhere. The file need not exist. */
static bool is_below(const char *path, char relative[PATH_MAX]) {
    char parent[PATH_MAX], name[PATH_MAX], real[PATH_MAX], whole[2 * PATH_MAX];
    if (record == NULL || strlen(path) >= PATH_MAX) return false;
    size_t length = strlen(folder);
    strcpy(parent, path);
    strcpy(name, path);
    if (realpath(path, whole) == NULL) {
        if (realpath(dirname(parent), real) == NULL) return false;
        snprintf(whole, sizeof whole, "%s/%s", real, basename(name));
    }
    if (strncmp(whole, folder, length) != 0 || (whole[length] != '/' && whole[length] != '\0')) return false;
    snprintf(relative, PATH_MAX, "%s", whole[length] == '\0' ? "." : whole + length + 1);
    return true;
}

static bool is_tracked(int file) { return record != NULL && file >= 0 && file < FILES_MAX && tracked[file]; }

static int note_open(int file, const char *path, int flags) {
    char relative[PATH_MAX];
    if (file < 0 || file >= FILES_MAX || !is_below(path, relative)) return file;
    tracked[file] = true;
    fprintf(record, "open %d %d %s\n", file, (flags & O_TRUNC) != 0, relative);
    return file;
}

static void note_bytes(int file, const void *bytes, ssize_t count, off_t offset) {
    if (count <= 0 || !is_tracked(file)) return;
    fprintf(record, "write %d %lld %zd\n", file, (long long)offset, count);
    fwrite(bytes, 1, (size_t)count, record);
    fputc('\n', record);
}

int open(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    pthread_mutex_lock(&lock);
    int file = note_open(REAL(open)(path, flags, mode), path, flags);
    pthread_mutex_unlock(&lock);
    return file;
}

int open64(const char *path, int flags, ...) __attribute__((alias("open")));

int close(int file) {
    pthread_mutex_lock(&lock);
    if (is_tracked(file)) fprintf(record, "close %d\n", file);
    if (file >= 0 && file < FILES_MAX) tracked[file] = false;
    int result = REAL(close)(file);
    pthread_mutex_unlock(&lock);
    return result;
}

ssize_t write(int file, const void *bytes, size_t size) {
    if (!is_tracked(file)) return REAL(write)(file, bytes, size);
    pthread_mutex_lock(&lock);
    ssize_t count = REAL(write)(file, bytes, size);
    note_bytes(file, bytes, count, lseek(file, 0, SEEK_CUR) - count);
    pthread_mutex_unlock(&lock);
    return count;
}

ssize_t pwrite(int file, const void *bytes, size_t size, off_t offset) {
    pthread_mutex_lock(&lock);
    ssize_t count = REAL(pwrite)(file, bytes, size, offset);
    note_bytes(file, bytes, count, offset);
    pthread_mutex_unlock(&lock);
    return count;
}

int ftruncate(int file, off_t size) {
    pthread_mutex_lock(&lock);
    int result = REAL(ftruncate)(file, size);
    if (result == 0 && is_tracked(file)) fprintf(record, "truncate %d %lld\n", file, (long long)size);
    pthread_mutex_unlock(&lock);
    return result;
}

static int note_sync(int result, int file) {
    if (result == 0 && is_tracked(file)) fprintf(record, "sync %d\n", file);
    return result;
}

int fsync(int file) {
    pthread_mutex_lock(&lock);
    int result = note_sync(REAL(fsync)(file), file);
    pthread_mutex_unlock(&lock);
    return result;
}

/* The size of a file counts as data here, as it does where the file has grown. */
int fdatasync(int file) {
    pthread_mutex_lock(&lock);
    int result = note_sync(REAL(fdatasync)(file), file);
    pthread_mutex_unlock(&lock);
    return result;
}

int rename(const char *from, const char *to) {
    char old[PATH_MAX], new[PATH_MAX];
    pthread_mutex_lock(&lock);
    bool below = is_below(from, old) && is_below(to, new);
    int result = REAL(rename)(from, to);
    if (result == 0 && below) fprintf(record, "rename %s\nto %s\n", old, new);
    pthread_mutex_unlock(&lock);
    return result;
}

/* Of unlink, rmdir and mkdir. */
static int note_name(int result, bool below, const char *what, const char *relative) {
    if (result == 0 && below) fprintf(record, "%s %s\n", what, relative);
    return result;
}

int unlink(const char *path) {
    char relative[PATH_MAX];
    pthread_mutex_lock(&lock);
    bool below = is_below(path, relative);
    int result = note_name(REAL(unlink)(path), below, "remove", relative);
    pthread_mutex_unlock(&lock);
    return result;
}

int rmdir(const char *path) {
    char relative[PATH_MAX];
    pthread_mutex_lock(&lock);
    bool below = is_below(path, relative);
    int result = note_name(REAL(rmdir)(path), below, "remove", relative);
    pthread_mutex_unlock(&lock);
    return result;
}

int mkdir(const char *path, mode_t mode) {
    char relative[PATH_MAX];
    pthread_mutex_lock(&lock);
    bool below = is_below(path, relative);
    int result = note_name(REAL(mkdir)(path, mode), below, "folder", relative);
    pthread_mutex_unlock(&lock);
    return result;
}
