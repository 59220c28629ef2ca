#include "runtime/checkpoint/checkpoint_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "runtime/checkpoint/checkpoint_files.h"

struct ons_checkpoint_lock {
    int descriptor;
    bool made; /* the folder */
    char *folder, *path;
};

enum { HOLDER_BYTES = 160 };

/* "process 123 on HOST", as its holder has written it. */
static ons_status *refuse(const ons_checkpoint_lock *lock) {
    char holder[HOLDER_BYTES] = "";
    ssize_t length = pread(lock->descriptor, holder, sizeof holder - 1, 0);
    holder[length > 0 ? length : 0] = '\0';
    holder[strcspn(holder, "\n")] = '\0';
    return ons_status_new(ONS_INVALID_ARGUMENT,
                          "--checkpoint %s: %s trains there (it holds %s); wait for its end, or give another folder",
                          lock->folder, holder[0] == '\0' ? "another process" : holder, lock->path);
}

static void sign(const ons_checkpoint_lock *lock) {
    char host[64] = "", holder[HOLDER_BYTES];
    if (gethostname(host, sizeof host - 1) != 0) snprintf(host, sizeof host, "this machine");
    int length = snprintf(holder, sizeof holder, "process %ld on %s\n", (long)getpid(), host);
    /* Without room on the disk it is held all the same. */
    if (ftruncate(lock->descriptor, 0) != 0 || pwrite(lock->descriptor, holder, (size_t)length, 0) != length) errno = 0;
}

/* *again: whoever held the file has just removed it. */
static ons_status *try_to_take(ons_checkpoint_lock *lock, bool *again) {
    struct stat information;
    *again = false;
    lock->descriptor = open(lock->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (lock->descriptor < 0) return ons_status_system(errno, "cannot write '%s'", lock->path);
    if (flock(lock->descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return refuse(lock);
    *again = fstat(lock->descriptor, &information) == 0 && information.st_nlink == 0;
    if (!*again) sign(lock);
    return NULL;
}

static ons_status *take_lock(ons_checkpoint_lock *lock, const char *folder) {
    lock->folder = strdup(folder);
    lock->path = ons_checkpoint_join(folder, "lock");
    if (lock->folder == NULL || lock->path == NULL) return ons_status_out_of_memory();
    lock->made = access(folder, F_OK) != 0;
    ONS_TRY(ons_folder_make(folder));
    for (bool again = true; again;) {
        if (lock->descriptor >= 0) close(lock->descriptor);
        ONS_TRY(try_to_take(lock, &again));
    }
    return NULL;
}

static void free_lock(ons_checkpoint_lock *lock) {
    if (lock->descriptor >= 0) close(lock->descriptor);
    free(lock->path);
    free(lock->folder);
    free(lock);
}

ons_status *ons_checkpoint_lock_take(const char *folder, ons_checkpoint_lock **result) {
    ons_checkpoint_lock *lock = calloc(1, sizeof *lock);
    if (lock == NULL) return ons_status_out_of_memory();
    lock->descriptor = -1;
    ons_status *status = take_lock(lock, folder);
    if (status != NULL) {
        if (lock->made) rmdir(folder);
        free_lock(lock);
        return status;
    }
    *result = lock;
    return NULL;
}

void ons_checkpoint_lock_release(ons_checkpoint_lock *lock) {
    if (lock == NULL) return;
    unlink(lock->path); /* while it is held: who opens it now waits for nothing */
    if (lock->made) rmdir(lock->folder);
    free_lock(lock);
}
