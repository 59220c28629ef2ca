/* Every CUDA kernel whose source needs no library, on every case of its operator, on an emulated GPU. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "tests/rooms/kernels/emulation/emulated.h"
#include "tests/rooms/kernels/emulation/selection.h"
#include "tests/rooms/kernels/harness.h"

static bool is_listed(const ons_operator *op) {
    if (ons_emulation_only[0] == NULL) return true;
    for (size_t i = 0; ons_emulation_only[i] != NULL; ++i)
        if (strcmp(ons_emulation_only[i], op->name) == 0) return true;
    return false;
}

static bool is_selected(const ons_operator *op) {
    const char *only = getenv("ONSTAGE_TEST_OPERATOR");
    return ons_target_runs(&ons_target_emulated, op) && is_listed(op) &&
           (only == NULL || only[0] == '\0' || strcmp(only, op->name) == 0);
}

ParameterizedTestParameters(emulation, kernel) {
    const ons_registry *registry = ons_kernels_registry();
    int *numbers = cr_malloc((registry->count + 1) * sizeof *numbers);
    size_t count = 0;
    for (size_t i = 0; i < registry->count; ++i)
        if (is_selected(registry->operators[i])) numbers[count++] = (int)i;
    return cr_make_param_array(int, numbers, count);
}

ParameterizedTest(int *number, emulation, kernel) {
    const ons_registry *registry = ons_kernels_registry();
    const ons_operator *op = registry->operators[*number];
    for (const ons_case *example = ons_cases_of(op); example->name != NULL; ++example) {
        if (example->benchmark) continue;
        ons_status *status = ons_check_kernel(registry, op, example, &ons_target_emulated, 1, ons_test_seed());
        cr_expect(status == NULL, "%s/%s: %s (ONSTAGE_TEST_SEED=%llu)", op->name, example->name,
                  ons_status_get_message(status), (unsigned long long)ons_test_seed());
        ons_status_free(status);
    }
}

/* Half types come as a training graph has them (graph/passes/precision.h). */
ParameterizedTestParameters(emulation, half) {
    const ons_registry *registry = ons_kernels_registry();
    int *numbers = cr_malloc((registry->count + 1) * sizeof *numbers);
    size_t count = 0;
    for (size_t i = 0; i < registry->count; ++i) {
        const ons_operator *op = registry->operators[i];
        if (is_selected(op) && ons_roles_precision(&op->roles) != ONS_PRECISION_FULL) numbers[count++] = (int)i;
    }
    return cr_make_param_array(int, numbers, count);
}

ParameterizedTest(int *number, emulation, half) {
    const ons_registry *registry = ons_kernels_registry();
    const ons_operator *op = registry->operators[*number];
    static const ons_dtype dtypes[] = {ONS_BFLOAT16, ONS_FLOAT16};
    size_t count[ONS_HALF_CHECKED + 1] = {0};
    for (const ons_case *example = ons_cases_of(op); example->name != NULL; ++example)
        for (size_t i = 0; i < 2 && !example->benchmark; ++i) {
            ons_half outcome;
            ons_status *status =
                ons_check_half(registry, op, example, &ons_target_emulated, dtypes[i], ons_test_seed(), &outcome);
            ++count[outcome];
            cr_expect(status == NULL, "%s: %s (ONSTAGE_TEST_SEED=%llu)", op->name, ons_status_get_message(status),
                      (unsigned long long)ons_test_seed());
            ons_status_free(status);
        }
    cr_log_info("%s: %zu cases; left out: %zu refused, %zu too large for the type\n", op->name, count[ONS_HALF_CHECKED],
                count[ONS_HALF_REFUSED], count[ONS_HALF_OVERFLOWS]);
}

/* The check that a GPU does with 1024 and 197 positions; rows beyond whole tiles of 64. */
Test(emulation, attention, .timeout = 300) {
    static const ons_dtype dtypes[] = {ONS_BFLOAT16, ONS_FLOAT16, ONS_FLOAT32};
    const ons_operator *op = ons_registry_find_name(ons_kernels_registry(), "onstage", "Attention");
    if (op == NULL || !is_selected(op)) cr_skip_test("it is not what this program looks at");
    for (int causal = 0; causal < 2; ++causal)
        for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; ++i) {
            double worst;
            ons_status *status =
                ons_check_attention(ons_kernels_registry(), &ons_target_emulated, causal == 1 ? 70 : 37, causal == 1,
                                    dtypes[i], ons_test_seed(), &worst);
            cr_expect(status == NULL, "%s", ons_status_get_message(status));
            cr_log_info("attention in %s: %.2g off\n", ons_dtype_name(dtypes[i]), worst);
            ons_status_free(status);
        }
}

/* The emulated build has what the real one has: an empty list of kernels would pass everything. */
Test(emulation, has_kernels) {
    const ons_registry *registry = ons_kernels_registry();
    size_t count = 0;
    for (size_t i = 0; i < registry->count; ++i) count += ons_target_runs(&ons_target_emulated, registry->operators[i]);
    cr_expect(count > 0, "no CUDA kernel is in this test");
    cr_log_info("%zu CUDA kernels\n", count);
}
