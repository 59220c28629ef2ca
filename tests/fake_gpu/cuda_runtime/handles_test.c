/* Matrix products on several GPUs of a process: what cuBLASLt keeps for one GPU is not for another. The library here
 * only looks at its handles. */
#include <criterion/criterion.h>
#include <cublasLt.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda.h"
#include "device/device_kind.h"
#include "kernels/common/gemm/cuda_gemm.h"
#include "tests/fake_gpu/cuda_runtime/fake_cuda.h"

enum { GPUS = 3 };

static char handles[GPUS]; /* their addresses are what the program gets */
static int created, used, wrong;

static void use(cublasLtHandle_t handle) {
    ++used;
    wrong += (char *)(void *)handle != &handles[ons_cuda_current()];
}

static cublasStatus_t create(cublasLtHandle_t *handle) {
    ++created;
    *handle = (cublasLtHandle_t)(void *)&handles[ons_cuda_current()];
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t make(void **result) {
    static char thing;
    *result = &thing;
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t do_nothing(void) { return CUBLAS_STATUS_SUCCESS; }

static cublasStatus_t choose(cublasLtHandle_t handle, cublasLtMatmulDesc_t o, cublasLtMatrixLayout_t a,
                             cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                             cublasLtMatmulPreference_t preference, int wanted,
                             cublasLtMatmulHeuristicResult_t *results, int *found) {
    (void)o, (void)a, (void)b, (void)c, (void)d, (void)preference;
    use(handle);
    memset(results, 0, (size_t)wanted * sizeof *results);
    *found = 1;
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t multiply(cublasLtHandle_t handle) {
    use(handle);
    return CUBLAS_STATUS_SUCCESS;
}

static ons_status *load(const char *file, const ons_cuda_symbol *symbols) {
    ONS_CHECK(strstr(file, "cublasLt") != NULL, ONS_UNSUPPORTED, "no %s", file);
    for (; symbols->name != NULL; ++symbols) {
        bool creates = strcmp(symbols->name, "cublasLtCreate") == 0, makes = strstr(symbols->name, "Create") != NULL;
        *symbols->address = creates                                                        ? (void *)create
                            : makes                                                        ? (void *)make
                            : strcmp(symbols->name, "cublasLtMatmulAlgoGetHeuristic") == 0 ? (void *)choose
                            : strcmp(symbols->name, "cublasLtMatmul") == 0                 ? (void *)multiply
                                                                                           : (void *)do_nothing;
    }
    return NULL;
}

Test(handles, of_cublaslt_belong_to_a_gpu, .timeout = 60) {
    ons_cuda_gemm_call gemm = {.dtype = ONS_FLOAT32, .batch = 1, .m = 4, .n = 4, .k = 4, .alpha = 1, .alignment = 64};
    fake_cuda_machine(GPUS, 13000, 9);
    fake_cuda_load = load;
    for (int gpu = 0; gpu < GPUS; ++gpu) {
        ons_device *device;
        ons_cuda_plan *plan;
        ons_status *status = ons_cuda_kind.device_new(gpu, 0, false, &device);
        if (status == NULL) status = ons_cuda_plan_new(&gemm, &plan);
        cr_assert_null(status, "%s", status == NULL ? "" : ons_status_get_message(status));
        for (int i = 0; i < 2; ++i) ons_cuda_plan_run(plan, 0, &(ons_cuda_gemm_memory){NULL});
        ons_cuda_plan_free(plan);
        device->free(device);
    }
    cr_expect_eq(created, GPUS);
    cr_expect_eq(used, 3 * GPUS);
    cr_expect_eq(wrong, 0, "%d calls have the handle of another GPU", wrong);
}
