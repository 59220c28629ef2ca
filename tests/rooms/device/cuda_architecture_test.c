/* Kernels that are compiled while the program runs: for which GPU. */
#include <criterion/criterion.h>
#include <string.h>

#include "device/cuda_architecture.h"

static void expect_architecture(int capability, const char *expected) {
    static const int supported[] = {75, 80, 86, 90, 100, 120};
    char is[ONS_CUDA_ARCHITECTURE_BYTES];
    ons_status *status = ons_cuda_choose_architecture(capability, supported, 6, is);
    cr_assert(status == NULL, "%s", ons_status_get_message(status));
    cr_expect(strcmp(is, expected) == 0, "%d: %s instead of %s", capability, is, expected);
}

Test(cuda_compiler, known_gpus_get_their_own_code) {
    expect_architecture(80, "sm_80");
    expect_architecture(90, "sm_90");
    expect_architecture(120, "sm_120");
}

Test(cuda_compiler, unknown_gpus_get_the_nearest_below) {
    expect_architecture(89, "compute_86");
    expect_architecture(103, "compute_100");
    expect_architecture(130, "compute_120");
}

Test(cuda_compiler, older_gpus_are_told_what_is_the_case) {
    static const int supported[] = {90, 80, 75};
    char is[ONS_CUDA_ARCHITECTURE_BYTES];
    ons_status *status = ons_cuda_choose_architecture(70, supported, 3, is);
    cr_assert(status != NULL && ons_status_get_code(status) == ONS_UNSUPPORTED);
    cr_expect(strstr(ons_status_get_message(status), "7.5") != NULL, "%s", ons_status_get_message(status));
    cr_expect(strstr(ons_status_get_message(status), "7.0") != NULL, "%s", ons_status_get_message(status));
    ons_status_free(status);
}
