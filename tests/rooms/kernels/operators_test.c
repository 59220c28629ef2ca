/* Every operator, every case. Cases are written in the operators' folders. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include "kernels/kernels.h"
#include "tests/rooms/kernels/harness.h"
#include "tests/rooms/kernels/sparse/sparse.h"

/* Tests run in processes of their own, which under the sanitizers take longer to begin and end than most cases: a test
 * has some cases. */
enum { CASES_A_TEST = 16 };

/* Of the operator in the registry, and of its cases in its list. */
typedef struct position {
    uint32_t op;
    uint32_t first;
} position;

static void expect_success(ons_status *status, const ons_operator *op, const ons_case *example, const char *check) {
    char text[160] = "";
    if (example != NULL) ons_case_print(op, example, text);
    cr_expect(status == NULL, "%s: %s: %s (ONSTAGE_TEST_SEED=%llu)", example != NULL ? text : op->name, check,
              ons_status_get_message(status), (unsigned long long)ons_test_seed());
    ons_status_free(status);
}

static const ons_target *const targets[] = {&ons_target_cpu, &ons_target_sparse, NULL};

/* ONSTAGE_TEST_OPERATOR=Softmax tests that one alone. */
static bool is_selected(const ons_operator *op) {
    const char *only = getenv("ONSTAGE_TEST_OPERATOR");
    return only == NULL || only[0] == '\0' || strcmp(only, op->name) == 0;
}

static uint32_t count_cases(const ons_operator *op) {
    const ons_case *list = ons_cases_of(op);
    uint32_t count = 0;
    while (list[count].name != NULL) ++count;
    return count;
}

/* One test an operator, or as many as its cases need. */
static struct criterion_test_params make_positions(bool cases) {
    const ons_registry *registry = ons_kernels_registry();
    size_t most = 0, count = 0;
    for (size_t i = 0; i < registry->count; ++i) most += 1 + count_cases(registry->operators[i]) / CASES_A_TEST;
    position *positions = cr_malloc((most + 1) * sizeof *positions);
    for (uint32_t i = 0; i < registry->count; ++i) {
        const ons_operator *op = registry->operators[i];
        uint32_t end = cases ? count_cases(op) : 1;
        for (uint32_t first = 0; is_selected(op) && first < end; first += CASES_A_TEST)
            positions[count++] = (position){i, first};
    }
    return cr_make_param_array(position, positions, count);
}

ParameterizedTestParameters(operators, descriptor) { return make_positions(false); }

ParameterizedTest(position *at, operators, descriptor) {
    const ons_registry *registry = ons_kernels_registry();
    const ons_operator *op = registry->operators[at->op];
    const ons_case *cases = ons_cases_of(op);
    expect_success(ons_check_descriptor(op, cases), op, NULL, "descriptor");
    for (size_t i = 0; targets[i] != NULL; ++i)
        expect_success(ons_check_kernel_list(targets[i]->backend(), op), op, NULL, "kernels");
    for (const ons_case *example = cases; example->name != NULL; ++example)
        if (example->benchmark)
            expect_success(ons_check_shapes(registry, op, example, ons_test_seed()), op, example, "shapes and cost");
    expect_success(ons_check_saved(registry, op, cases, ons_test_seed()), op, NULL, "saved for backward");
}

ParameterizedTestParameters(operators, behaviour) { return make_positions(true); }

static void check_case(const ons_registry *registry, const ons_operator *op, const ons_case *example) {
    uint64_t seed = ons_test_seed();
    cr_log_info("%s/%s\n", op->name, example->name); /* --verbose names the case that crashes */
    expect_success(ons_check_shapes(registry, op, example, seed), op, example, "shapes and cost");
    for (size_t i = 0; targets[i] != NULL; ++i)
        for (int threads = 1; threads <= 2; ++threads)
            expect_success(ons_check_kernel(registry, op, example, targets[i], threads, seed), op, example, "kernel");
    expect_success(ons_check_gradient(registry, op, example, seed), op, example, "gradient");
    expect_success(ons_check_expansion(registry, op, example, seed), op, example, "expansion");
}

ParameterizedTest(position *at, operators, behaviour) {
    const ons_registry *registry = ons_kernels_registry();
    const ons_operator *op = registry->operators[at->op];
    const ons_case *cases = ons_cases_of(op);
    for (uint32_t i = at->first; i < at->first + CASES_A_TEST && cases[i].name != NULL; ++i)
        if (!cases[i].benchmark) check_case(registry, op, &cases[i]);
}

Test(operators, registry) {
    ons_status *status = ons_check_registry(ons_kernels_registry());
    cr_expect(status == NULL, "%s", ons_status_get_message(status));
    ons_status_free(status);
}

Test(operators, are_listed_in_order) {
    static const char *const symbols[] = {
#define ONS_OPERATOR(SYMBOL)            #SYMBOL,
#define ONS_GRAPH_OPERATOR(SYMBOL, WHY) #SYMBOL,
#include "kernels/operators.inc"
#undef ONS_OPERATOR
#undef ONS_GRAPH_OPERATOR
    };
    for (size_t i = 1; i < sizeof symbols / sizeof symbols[0]; ++i)
        cr_expect(strcmp(symbols[i - 1], symbols[i]) < 0, "operators.inc: %s stands before %s", symbols[i - 1],
                  symbols[i]);
}
