/* Loaded before the C library: makes one call of one kind fail, the K-th.
 *
 *   ONSTAGE_FAULT=KIND:K    memory, map, open, read, write, sync, rename, close, room; K = 0: none; "K+": all from
 *                          there on
 *   ONSTAGE_FAULT_CALLS=F   how many calls of the kind there were is written to F at the end
 *   ONSTAGE_FAULT_SYNCED=F  what fsync was called for, a line each, is written to F
 *
 * Calls of libraries count like those of the program itself, but for oneDNN's: it does not look whether it got memory,
 * so the program looks whether there is some before (kernels/common/onednn/onednn.c). */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/types.h>
#include <unistd.h>

/* The C library's own, which take no detour. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

typedef enum kind { NONE, MEMORY, MAP, OPEN, READ, WRITE, SYNC, RENAME, CLOSE, ROOM } kind;

static kind which;
static long at;
static bool lasting;
static atomic_long calls;

__attribute__((constructor)) static void begin(void) {
    static const char *const names[] = {
        [MEMORY] = "memory", [MAP] = "map",       [OPEN] = "open",   [READ] = "read", [WRITE] = "write",
        [SYNC] = "sync",     [RENAME] = "rename", [CLOSE] = "close", [ROOM] = "room"};
    const char *text = getenv("ONSTAGE_FAULT"), *colon = text == NULL ? NULL : strchr(text, ':');
    if (colon == NULL) return;
    for (kind k = MEMORY; k <= ROOM; ++k)
        if (strncmp(text, names[k], (size_t)(colon - text)) == 0) which = k;
    at = strtol(colon + 1, NULL, 10);
    lasting = strchr(colon, '+') != NULL;
    atomic_store(&calls, 0);
}

__attribute__((destructor)) static void end(void) {
    const char *path = getenv("ONSTAGE_FAULT_CALLS");
    long total = atomic_load(&calls);
    which = NONE;
    FILE *out = path == NULL ? NULL : fopen(path, "w");
    if (out == NULL) return;
    fprintf(out, "%ld\n", total);
    fclose(out);
}

static bool fails(kind of, int reason) {
    if (of != which) return false;
    long now = atomic_fetch_add(&calls, 1) + 1;
    bool hit = at > 0 && (now == at || (lasting && now > at));
    if (hit) errno = reason;
    return hit;
}

/* Whether oneDNN calls. */
static bool is_unchecked(const void *caller) {
    Dl_info found;
    return dladdr(caller, &found) != 0 && found.dli_fname != NULL && strstr(found.dli_fname, "libdnnl") != NULL;
}

#define HAS_NO_MEMORY(of) (which == (of) && !is_unchecked(__builtin_return_address(0)) && fails((of), ENOMEM))
#define REAL(name)        ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

void *malloc(size_t size) { return HAS_NO_MEMORY(MEMORY) ? NULL : __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return HAS_NO_MEMORY(MEMORY) ? NULL : __libc_calloc(count, size); }
void *realloc(void *old, size_t size) { return HAS_NO_MEMORY(MEMORY) ? NULL : __libc_realloc(old, size); }
void *aligned_alloc(size_t alignment, size_t size) {
    return HAS_NO_MEMORY(MEMORY) ? NULL : __libc_memalign(alignment, size);
}
int posix_memalign(void **result, size_t alignment, size_t size) {
    void *memory = HAS_NO_MEMORY(MEMORY) ? NULL : __libc_memalign(alignment, size);
    if (memory == NULL) return ENOMEM;
    *result = memory;
    return 0;
}
void *mmap(void *address, size_t size, int protection, int flags, int file, off_t offset) {
    return HAS_NO_MEMORY(MAP) ? MAP_FAILED : REAL(mmap)(address, size, protection, flags, file, offset);
}
int open(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return fails(OPEN, EMFILE) ? -1 : REAL(open)(path, flags, mode);
}
ssize_t read(int file, void *bytes, size_t size) { return fails(READ, EIO) ? -1 : REAL(read)(file, bytes, size); }
ssize_t pread(int file, void *bytes, size_t size, off_t offset) {
    return fails(READ, EIO) ? -1 : REAL(pread)(file, bytes, size, offset);
}
ssize_t write(int file, const void *bytes, size_t size) {
    return fails(WRITE, ENOSPC) ? -1 : REAL(write)(file, bytes, size);
}
static void note_synced(int file) {
    char link[64], path[4096];
    const char *list = getenv("ONSTAGE_FAULT_SYNCED");
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = list == NULL ? -1 : readlink(link, path, sizeof path);
    FILE *out = length < 0 ? NULL : fopen(list, "a");
    if (out == NULL) return;
    fprintf(out, "%.*s\n", (int)length, path);
    fclose(out);
}
int fsync(int file) {
    note_synced(file);
    return fails(SYNC, EIO) ? -1 : REAL(fsync)(file);
}
int rename(const char *from, const char *to) { return fails(RENAME, EIO) ? -1 : REAL(rename)(from, to); }
/* The descriptor is gone either way. */
int close(int file) {
    int result = REAL(close)(file);
    return fails(CLOSE, EIO) ? -1 : result;
}
/* A full disk, which nobody has come to yet. */
int statvfs(const char *path, struct statvfs *found) {
    int result = REAL(statvfs)(path, found);
    if (fails(ROOM, 0)) found->f_bavail = 0;
    return result;
}
