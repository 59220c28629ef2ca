#include <stdlib.h>
#include <unistd.h>

#include "base/environment.h"
#include "include/onstage.h"

void ons_shorten_waits(char *const *arguments) {
    if (ons_environment(ONS_ENV_GOMP_SPINCOUNT) != NULL || ons_environment(ONS_ENV_OMP_WAIT_POLICY) != NULL) return;
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length <= 0 || setenv("GOMP_SPINCOUNT", "3000", 1) != 0) return;
    path[length] = '\0';
    execv(path, arguments); /* the path, not the link: it names the process */
}
