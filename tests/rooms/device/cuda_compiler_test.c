/* Kernels that are compiled while the program runs, and the folder that keeps them. NVRTC needs no GPU; where it is
 * missing this is skipped, and not passed. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device/cuda_compiler.h"

enum { WRITERS = 8, ROUNDS = 3 };

static const ons_cuda_source source = {.text = "extern \"C\" __global__ void one(float *x) { *x = *x * 2 + 1; }"};

static void need_nvrtc(void) {
    void *image = NULL;
    size_t bytes;
    ons_status *status = ons_cuda_compile_image(&source, "sm_90", NULL, &image, &bytes, NULL);
    free(image);
    if (status == NULL) return;
    printf("not run: %s\n", ons_status_get_message(status));
    ons_status_free(status);
    cr_skip_test("not run: no NVRTC");
}

Test(cuda_compiler, virtual_architectures_give_ptx) {
    need_nvrtc();
    void *image = NULL;
    size_t bytes = 0;
    ons_status *status = ons_cuda_compile_image(&source, "compute_80", NULL, &image, &bytes, NULL);
    cr_assert(status == NULL, "%s", ons_status_get_message(status));
    const char *ptx = image;
    cr_assert(bytes > 0 && ptx[bytes - 1] == '\0', "PTX is text");
    cr_expect(strstr(ptx, ".target sm_80") != NULL, "%s", ptx);
    cr_expect(strstr(ptx, "fma.rn.f32") == NULL, "multiplication and addition are joined");
    free(image);
}

Test(cuda_compiler, refusals_say_why) {
    need_nvrtc();
    void *image = NULL;
    size_t bytes = 0;
    ons_status *status = ons_cuda_compile_image(&source, "sm_20", NULL, &image, &bytes, NULL);
    cr_assert(status != NULL && image == NULL);
    cr_expect(strstr(ons_status_get_message(status), "NVRTC") != NULL);
    ons_status_free(status);
    ons_cuda_source broken = {.text = "nonsense"};
    status = ons_cuda_compile_image(&broken, "sm_90", NULL, &image, &bytes, NULL);
    cr_assert(status != NULL && image == NULL);
    cr_expect(strstr(ons_status_get_message(status), "nonsense") != NULL, "%s", ons_status_get_message(status));
    ons_status_free(status);
}

/* What is in the folder must be whole whenever it is found. */
static void *compile_in(void *folder) {
    for (int i = 0; i < ROUNDS; ++i) {
        void *image = NULL;
        size_t bytes = 0;
        ons_status *status = ons_cuda_compile_image(&source, "sm_90", folder, &image, &bytes, NULL);
        bool well = status == NULL && bytes > 4 && memcmp(image, "\177ELF", 4) == 0;
        ons_status_free(status);
        free(image);
        if (!well) return folder;
    }
    return NULL;
}

/* Threads of two processes write one file at a time. */
Test(cuda_compiler, many_may_write_the_folder, .timeout = 120) {
    need_nvrtc();
    char folder[] = "/tmp/onstage_kernels_XXXXXX", command[64];
    cr_assert(mkdtemp(folder) != NULL);
    pid_t child = fork();
    cr_assert(child >= 0);
    pthread_t threads[WRITERS];
    void *problem = NULL;
    int failed = 0, ended = 0;
    for (int i = 0; i < WRITERS; ++i) failed += pthread_create(&threads[i], NULL, compile_in, folder) != 0;
    for (int i = 0; i < WRITERS; ++i) {
        failed += pthread_join(threads[i], &problem) != 0 || problem != NULL;
    }
    if (child == 0) _exit(failed);
    cr_assert(waitpid(child, &ended, 0) == child);
    cr_expect(failed == 0 && ended == 0, "%d threads here, %d there met code that is not whole", failed, ended);
    void *image = NULL;
    size_t bytes;
    bool found = false;
    ons_status *status = ons_cuda_compile_image(&source, "sm_90", folder, &image, &bytes, &found);
    cr_expect(status == NULL && found, "nothing was kept");
    ons_status_free(status);
    free(image);
    /* Nothing but the file is left. */
    snprintf(command, sizeof command, "test \"$(ls -A %s | wc -l)\" = 1", folder);
    cr_expect(system(command) == 0, "%s has other files, too", folder);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    (void)!system(command);
}
