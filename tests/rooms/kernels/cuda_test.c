/* Every CUDA kernel on every case of its operator, on a GPU: put on a stream, and recorded as a CUDA graph, with the
 * same bits. Where there is no GPU it says 'not run' and nothing passes. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "tests/rooms/kernels/captured_cuda.h"
#include "tests/rooms/kernels/fixture.h"
#include "tests/rooms/kernels/harness.h"
#include "tests/rooms/kernels/target_cuda.h"

/* ONSTAGE_TEST_OPERATOR: names or patterns, separated by commas. */
static bool is_named(const char *name) {
    const char *only = getenv("ONSTAGE_TEST_OPERATOR");
    if (only == NULL || only[0] == '\0') return true;
    char text[256], *rest = NULL;
    snprintf(text, sizeof text, "%s", only);
    for (char *each = strtok_r(text, ",", &rest); each != NULL; each = strtok_r(NULL, ",", &rest))
        if (fnmatch(each, name, 0) == 0) return true;
    return false;
}

/* ONSTAGE_TEST_SHARE=I/N: every N-th operator, from the I-th on. */
static bool is_in_share(size_t index) {
    unsigned share = 1, shares = 1;
    const char *wanted = getenv("ONSTAGE_TEST_SHARE");
    if (wanted != NULL) cr_assert(sscanf(wanted, "%u/%u", &share, &shares) == 2 && share >= 1 && share <= shares);
    return index % shares == share - 1;
}

/* False: there is no GPU, and the test is skipped. */
static bool has_gpu(void) {
    const char *why_not = ons_target_cuda_why_not();
    if (why_not == NULL) return true;
    fprintf(stderr, "%s\n", why_not); /* Criterion itself says nothing of what it skips */
    return false;
}

/* Where a kernel never ends, or ends the process, this is the last line. */
static void tell_begun(const ons_operator *op) { fprintf(stderr, "begins: %s\n", op->name); }

/* Returns how many failed. */
static size_t check_cases(const ons_operator *op, size_t *cases) {
    size_t failed = 0;
    for (const ons_case *example = ons_cases_of(op); example->name != NULL; ++example) {
        if (example->benchmark) continue;
        ons_status *status =
            ons_check_kernel(ons_kernels_registry(), op, example, ons_target_captured(), 1, ons_test_seed());
        ++*cases;
        failed += status != NULL;
        cr_expect(status == NULL, "%s/%s: %s (ONSTAGE_TEST_SEED=%llu)", op->name, example->name,
                  ons_status_get_message(status), (unsigned long long)ons_test_seed());
        ons_status_free(status);
    }
    return failed;
}

/* All in one process: a context of its own for every operator would take longer than its kernels. */
Test(cuda, kernels) {
    if (!has_gpu()) cr_skip_test("not run: no GPU");
    const ons_registry *registry = ons_kernels_registry();
    size_t kernels = 0, cases = 0, failed = 0;
    for (size_t i = 0; i < registry->count; ++i) {
        const ons_operator *op = registry->operators[i];
        if (!ons_target_runs(&ons_target_cuda, op) || !is_in_share(i) || !is_named(op->name)) continue;
        ++kernels;
        tell_begun(op);
        failed += check_cases(op, &cases);
    }
    cr_expect(kernels > 0, "no operator of those that are asked for has a CUDA kernel in this build");
    fprintf(stderr, "CUDA: %zu kernels, %zu cases, %zu failed\n", kernels, cases, failed);
}

/* `count`: cases by what became of them; returns how many failed. */
static size_t check_halves(const ons_operator *op, size_t count[ONS_HALF_CHECKED + 1]) {
    static const ons_dtype dtypes[] = {ONS_BFLOAT16, ONS_FLOAT16};
    size_t failed = 0;
    for (const ons_case *example = ons_cases_of(op); example->name != NULL; ++example)
        for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0] && !example->benchmark; ++i) {
            ons_half outcome;
            ons_status *status = ons_check_half(ons_kernels_registry(), op, example, ons_target_captured(), dtypes[i],
                                                ons_test_seed(), &outcome);
            ++count[outcome];
            failed += status != NULL;
            cr_expect(status == NULL, "%s: %s (ONSTAGE_TEST_SEED=%llu)", op->name, ons_status_get_message(status),
                      (unsigned long long)ons_test_seed());
            ons_status_free(status);
        }
    return failed;
}

/* The float32 cases as training in bf16 and fp16 has them. */
Test(cuda, halves) {
    if (!has_gpu()) cr_skip_test("not run: no GPU");
    const ons_registry *registry = ons_kernels_registry();
    size_t count[ONS_HALF_CHECKED + 1] = {0}, failed = 0;
    for (size_t i = 0; i < registry->count; ++i) {
        const ons_operator *op = registry->operators[i];
        if (!ons_target_runs(&ons_target_cuda, op) || !is_in_share(i) || !is_named(op->name)) continue;
        tell_begun(op);
        failed += check_halves(op, count);
    }
    fprintf(stderr, "CUDA in half types: %zu cases, %zu failed; left out: %zu refused, %zu too large for the type\n",
            count[ONS_HALF_CHECKED], failed, count[ONS_HALF_REFUSED], count[ONS_HALF_OVERFLOWS]);
}

/* What a library of NVIDIA's computes where it can, by kernels of ours, in all float types. */
Test(cuda, own_kernels) {
    static const char *const patterns[] = {"*Conv*", "*Pool*", "*Attention*", "*BatchNorm*"};
    if (!has_gpu()) cr_skip_test("not run: no GPU");
    cr_assert_eq(setenv("ONSTAGE_CUDNN", "off", 1), 0);
    const ons_registry *registry = ons_kernels_registry();
    size_t count[ONS_HALF_CHECKED + 1] = {0}, cases = 0, failed = 0;
    for (size_t i = 0; i < registry->count; ++i) {
        const ons_operator *op = registry->operators[i];
        bool meant = false;
        for (size_t k = 0; k < sizeof patterns / sizeof patterns[0]; ++k)
            meant = meant || fnmatch(patterns[k], op->name, 0) == 0;
        if (!meant || !ons_target_runs(&ons_target_cuda, op) || !is_in_share(i) || !is_named(op->name)) continue;
        tell_begun(op);
        failed += check_cases(op, &cases) + check_halves(op, count);
    }
    cr_expect(cases > 0, "no such operator has a CUDA kernel in this build");
    fprintf(stderr, "CUDA by own kernels: %zu cases, %zu failed\n", cases + count[ONS_HALF_CHECKED], failed);
}

/* As GPT-2 and ViT have it, by the library (where there is one) and by kernels of ours, against the reference. */
Test(cuda, attention) {
    static const struct {
        int64_t positions;
        bool causal;
    } forms[] = {{1024, true}, {197, false}};
    static const ons_dtype dtypes[] = {ONS_BFLOAT16, ONS_FLOAT16, ONS_FLOAT32};
    if (!has_gpu()) cr_skip_test("not run: no GPU");
    for (int off = 0; off < 2; ++off) {
        if (off == 1) cr_assert_eq(setenv("ONSTAGE_CUDNN", "off", 1), 0);
        for (size_t i = 0; i < 2; ++i)
            for (size_t k = 0; k < sizeof dtypes / sizeof dtypes[0]; ++k) {
                double worst;
                ons_status *status = ons_check_attention(ons_kernels_registry(), &ons_target_cuda, forms[i].positions,
                                                         forms[i].causal, dtypes[k], ons_test_seed(), &worst);
                cr_expect(status == NULL, "cuDNN %s: %s", off == 1 ? "off" : "where it can",
                          ons_status_get_message(status));
                fprintf(stderr, "attention, %lld positions, %s, cuDNN %s: %.2g off\n", (long long)forms[i].positions,
                        ons_dtype_name(dtypes[k]), off == 1 ? "off" : "where it can", worst);
                ons_status_free(status);
            }
    }
}

/* The case as it would be in another type. */
static ons_case in_type(const ons_case *example, ons_dtype dtype) {
    ons_case copy = *example;
    for (int i = 0; i < ONS_CASE_OPERANDS; ++i)
        if (copy.inputs[i].dtype == ONS_FLOAT32) copy.inputs[i].dtype = dtype;
    return copy;
}

static void tell_implementation(const ons_operator *op, const ons_case *example, ons_dtype dtype, bool tf32) {
    ons_case typed = in_type(example, dtype);
    ons_fixture fixture;
    ons_arena *arena = ons_arena_new();
    ons_status *status = ons_fixture_init(&fixture, ons_kernels_registry(), op, &typed, 1);
    ons_prepare p = {
        .operands = &fixture.operands, .threads = 1, .scratch_limit = INT64_MAX, .arena = arena, .tf32 = tf32};
    const ons_kernel *kernel;
    if (status == NULL) status = ons_backend_prepare(ons_target_cuda.backend(), &p, &kernel);
    cr_expect(status == NULL, "%s: %s", op->name, ons_status_get_message(status));
    fprintf(stderr, "%s, %s: %s\n", op->name, tf32 ? "tf32" : ons_dtype_name(dtype),
            status == NULL ? p.implementation : ons_status_get_message(status));
    if (status == NULL && p.destroy != NULL) p.destroy(p.state);
    ons_status_free(status);
    ons_fixture_free(&fixture);
    ons_arena_free(arena);
}

/* Which types cuBLASLt has epilogues for: it tells nobody without a GPU. Kernels of ours do the same elsewhere, so that
 * this cannot fail but where there is no product at all. */
Test(cuda, epilogues) {
    static const char *const names[] = {"LinearAdd", "LinearGelu", "LinearGeluGradient", "LinearWeightGradient"};
    static const ons_dtype dtypes[] = {ONS_FLOAT32, ONS_FLOAT32, ONS_FLOAT16, ONS_BFLOAT16};
    if (!has_gpu()) cr_skip_test("not run: no GPU");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        const ons_operator *op = ons_registry_find_name(ons_kernels_registry(), "onstage", names[i]);
        cr_assert_not_null(op);
        const ons_case *example = ons_cases_of(op);
        while (example->name != NULL && !example->benchmark) ++example;
        cr_assert_not_null(example->name);
        for (size_t k = 0; k < sizeof dtypes / sizeof dtypes[0]; ++k)
            tell_implementation(op, example, dtypes[k], k == 1);
    }
}

/* What has no kernel is left out with a reason of its own, and told: whoever reads the result sees what was not tried.
 */
Test(cuda, refusals) {
    const ons_registry *registry = ons_kernels_registry();
    const ons_backend *backend = ons_target_cuda.backend();
    size_t refused = 0;
    if (backend == NULL) cr_skip_test("not run: this build has no CUDA");
    for (size_t i = 0; i < registry->count; ++i) {
        const ons_operator *op = registry->operators[i];
        const char *why_not;
        if (ons_backend_has(backend, op, &why_not)) continue;
        cr_expect(why_not != NULL && strlen(why_not) > 10, "%s has neither a kernel nor a reason", op->name);
        fprintf(stderr, "no kernel: %s: %s\n", op->name, why_not == NULL ? "" : why_not);
        ++refused;
    }
    cr_expect(refused < registry->count / 2, "%zu of %zu operators are refused", refused, registry->count);
}
