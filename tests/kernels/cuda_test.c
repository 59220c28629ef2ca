/* Every CUDA kernel on every case of its operator, on a GPU. Where there is none it says 'not run' and nothing passes.
 */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/registry.h"
#include "tests/kernels/backend_cuda.h"
#include "tests/kernels/harness.h"

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

/* All in one process: a context of its own for every operator would take longer than its kernels. */
Test(cuda, kernels) {
    const char *why_not = ons_backend_cuda_why_not();
    if (why_not != NULL) {
        fprintf(stderr, "%s\n", why_not); /* Criterion itself says nothing of what it skips */
        cr_skip_test("%s", why_not);
    }
    const ons_registry *registry = ons_kernels_registry();
    size_t kernels = 0, cases = 0, failed = 0;
    for (size_t i = 0; i < registry->count; ++i) {
        const ons_operator *op = registry->operators[i];
        if (op->cuda.run == NULL || !is_in_share(i) || !is_named(op->name)) continue;
        ++kernels;
        for (const ons_case *example = op->cases; example->name != NULL; ++example) {
            if (example->benchmark) continue;
            ons_status *status = ons_check_kernel(registry, op, example, &ons_backend_cuda, 1, ons_test_seed());
            ++cases;
            failed += status != NULL;
            cr_expect(status == NULL, "%s/%s: %s (ONSTAGE_TEST_SEED=%llu)", op->name, example->name,
                      ons_status_get_message(status), (unsigned long long)ons_test_seed());
            ons_status_free(status);
        }
    }
    cr_expect(kernels > 0, "no operator of those that are asked for has a CUDA kernel in this build");
    fprintf(stderr, "CUDA: %zu kernels, %zu cases, %zu failed\n", kernels, cases, failed);
}

/* What has no kernel is left out with a reason of its own, and told: whoever reads the result sees what was not tried.
 * In a build without CUDA kernels are missing that are there otherwise; those are not meant. */
Test(cuda, refusals) {
    const ons_registry *registry = ons_kernels_registry();
    size_t refused = 0;
    for (size_t i = 0; i < registry->count; ++i) {
        const ons_operator *op = registry->operators[i];
        if (op->cuda.run != NULL || (op->cuda.why_not != NULL && strstr(op->cuda.why_not, "--config=cuda") != NULL))
            continue;
        cr_expect(op->cuda.why_not != NULL && strlen(op->cuda.why_not) > 10, "%s has neither a kernel nor a reason",
                  op->name);
        fprintf(stderr, "no kernel: %s: %s\n", op->name, op->cuda.why_not == NULL ? "" : op->cuda.why_not);
        ++refused;
    }
    cr_expect(refused < registry->count / 2, "%zu of %zu operators are refused", refused, registry->count);
}
