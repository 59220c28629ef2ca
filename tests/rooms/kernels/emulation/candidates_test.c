/* Which of cuBLASLt's algorithms a product runs by where the library refuses some of them. */
#include <criterion/criterion.h>
#include <signal.h>

#include "kernels/common/gemm/cuda_gemm.h"
#include "tests/rooms/kernels/emulation/fake_cublaslt.h"

enum { SIZE = 2, WORKSPACE = 1 << 12 };

static const float a[SIZE * SIZE] = {1, 2, 3, 4}, b[SIZE * SIZE] = {5, 6, 7, 8};
static const float wanted[SIZE * SIZE] = {19, 22, 43, 50};

static ons_status *plan_new(ons_cuda_plan **plan) {
    const ons_cuda_gemm_call gemm = {.dtype = ONS_FLOAT32,
                                     .batch = 1,
                                     .m = SIZE,
                                     .n = SIZE,
                                     .k = SIZE,
                                     .alpha = 1,
                                     .alignment = 4,
                                     .workspace_bytes = WORKSPACE};
    return ons_cuda_plan_new(&gemm, plan);
}

static ons_cuda_plan *plan_made(void) {
    ons_cuda_plan *plan = NULL;
    ons_status *status = plan_new(&plan);
    cr_assert_null(status, "%s", ons_status_get_message(status));
    cr_expect_eq(fake_cublaslt.asked, 8);
    return plan;
}

/* Whether the product came. */
static bool runs(ons_cuda_plan *plan) {
    _Alignas(256) static char workspace[WORKSPACE];
    float c[SIZE * SIZE] = {0};
    cr_assert_leq(ons_cuda_plan_workspace(plan), WORKSPACE);
    ons_cuda_plan_run(plan, 0, &(ons_cuda_gemm_memory){.a = a, .b = b, .c = c, .workspace = workspace});
    bool same = true;
    for (int i = 0; i < SIZE * SIZE; ++i) same = same && c[i] == wanted[i];
    return same;
}

Test(candidates, the_first_where_none_is_refused) {
    ons_cuda_plan *plan = plan_made();
    cr_expect(runs(plan));
    cr_expect_eq(fake_cublaslt.ran, 0);
    cr_expect_eq(fake_cublaslt.launches, 1);
    ons_cuda_plan_free(plan);
}

/* It stays what it is when others could run, too: the bits of later steps, and of recordings, are those of the first.
 */
Test(candidates, the_first_that_can_be_launched) {
    fake_cublaslt.refused = 0x7;
    ons_cuda_plan *plan = plan_made();
    cr_expect(runs(plan));
    cr_expect_eq(fake_cublaslt.ran, 3);
    cr_expect_eq(fake_cublaslt.launches, 4);
    fake_cublaslt.refused = 0;
    for (int i = 0; i < 3; ++i) cr_expect(runs(plan));
    cr_expect_eq(fake_cublaslt.ran, 3);
    cr_expect_eq(fake_cublaslt.launches, 7);
    ons_cuda_plan_free(plan);
}

Test(candidates, another_plan_of_the_shape_comes_to_the_same) {
    fake_cublaslt.refused = 0x2b;
    for (int i = 0; i < 2; ++i) {
        ons_cuda_plan *plan = plan_made();
        cr_expect(runs(plan));
        cr_expect_eq(fake_cublaslt.ran, 2);
        ons_cuda_plan_free(plan);
    }
}

/* What the library says cannot run is not tried. */
Test(candidates, what_is_offered_as_unsound_is_passed_over) {
    fake_cublaslt.unsound = 0x5;
    fake_cublaslt.refused = 0x2;
    ons_cuda_plan *plan = plan_made();
    cr_expect(runs(plan));
    cr_expect_eq(fake_cublaslt.ran, 3);
    cr_expect_eq(fake_cublaslt.launches, 2);
    ons_cuda_plan_free(plan);
    fake_cublaslt.unsound = 0x3ff;
    ons_status *status = plan_new(&plan);
    cr_assert_not_null(status, "a plan without any algorithm");
    cr_expect_eq(ons_status_get_code(status), ONS_UNSUPPORTED);
    ons_status_free(status);
}

/* A failure is none of the algorithm's, and the GPU has had it: nothing else is tried. Here it ends the program. */
Test(candidates, a_failure_is_no_refusal, .signal = SIGABRT) {
    fake_cublaslt.broken = 0x1;
    runs(plan_made());
}

Test(candidates, all_are_refused, .signal = SIGABRT) {
    fake_cublaslt.refused = 0x3ff;
    runs(plan_made());
}
