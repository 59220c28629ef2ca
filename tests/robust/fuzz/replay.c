/* The files of a folder given to a fuzz target, each once: what fuzzing has found before is tried by every build. A
 * damaged file must neither take long nor take much, so a process has limits. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
/* Targets with something to prepare have it. */
__attribute__((weak)) int LLVMFuzzerInitialize(int *argc, char ***argv);

enum { SECONDS = 30 };

static char current[600] = "nothing yet\n";

/* An alarm says which file it was, and ends the process as it would have. */
static void tell(void) { fputs(current, stderr); }

static int replay(const char *path) {
    struct stat information;
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = NULL;
    int result = 1;
    if (file != NULL && fstat(fileno(file), &information) == 0)
        bytes = malloc((size_t)information.st_size + 1); /* exactly as large but for one, for the sanitizers */
    if (bytes != NULL && fread(bytes, 1, (size_t)information.st_size, file) == (size_t)information.st_size) {
        snprintf(current, sizeof current, "%s\n", path);
        tell();
        alarm(SECONDS);
        result = LLVMFuzzerTestOneInput(bytes, (size_t)information.st_size);
        alarm(0);
    }
    if (file != NULL) fclose(file);
    free(bytes);
    return result;
}

int main(int count, char **arguments) {
#ifndef __SANITIZE_ADDRESS__
    const struct rlimit limit = {(rlim_t)4 << 30, (rlim_t)4 << 30};
    setrlimit(RLIMIT_AS, &limit);
#endif
    setenv("GOMP_SPINCOUNT", "3000", 0);
    if (LLVMFuzzerInitialize != NULL) LLVMFuzzerInitialize(&count, &arguments);
    struct dirent **entries;
    int found = count == 2 ? scandir(arguments[1], &entries, NULL, alphasort) : -1, passed = 0, failed = 0;
    if (found < 0) return 1;
    for (int i = 0; i < found; ++i) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", arguments[1], entries[i]->d_name);
        if (entries[i]->d_name[0] != '.') ++*(replay(path) == 0 ? &passed : &failed);
        free(entries[i]);
    }
    free(entries);
    printf("%d files, %d that cannot be read\n", passed + failed, failed);
    return failed > 0 || passed == 0;
}
