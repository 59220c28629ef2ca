#include "tests/agreement/backend/apart.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void run_child(void (*work)(const char *, void *), const char *argument, size_t size, int out) {
    void *result = calloc(1, size);
    if (result == NULL) _exit(1);
    alarm(APART_SECONDS);
    work(argument, result);
    ssize_t written = write(out, result, size); /* less than a pipe holds: in one piece */
    _exit(written == (ssize_t)size ? 0 : 1);
}

static void explain(int status, char *death, size_t size) {
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        snprintf(death, size, "not done after %d seconds", APART_SECONDS);
    else if (WIFSIGNALED(status))
        snprintf(death, size, "crash: %s", strsignal(WTERMSIG(status)));
    else
        snprintf(death, size, "ended with code %d", WEXITSTATUS(status));
}

bool run_apart(void (*work)(const char *argument, void *result), const char *argument, void *result, size_t size,
               char *death, size_t death_size) {
    int ends[2];
    snprintf(death, death_size, "no process could be started");
    if (pipe(ends) != 0) return false;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        run_child(work, argument, size, ends[1]);
    }
    close(ends[1]);
    int status = 0;
    ssize_t got = child < 0 ? -1 : read(ends[0], result, size);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    close(ends[0]);
    if (child > 0) explain(status, death, death_size);
    return got == (ssize_t)size;
}
