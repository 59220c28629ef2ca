/* Kernels that take several nodes by one launch (ons_kernel's run_multi_tensor), against one launch for each, to the
 * bit. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "graph/evaluate.h"
#include "graph/passes/update.h"
#include "kernels/kernels.h"
#include "tests/rooms/kernels/emulation/emulation.h"
#include "tests/rooms/kernels/harness.h"

enum { OPERANDS_MOST = 8, NODES_MOST = 160 };

/* A node with its operands, and two sets of results. */
typedef struct node {
    ons_fixture fixture;
    ons_prepare prepare;
    const ons_kernel *kernel;
    void *inputs[OPERANDS_MOST], *scratch;
    void *outputs[2][OPERANDS_MOST];
    size_t bytes[OPERANDS_MOST]; /* of the outputs */
} node;

static void *allocate(size_t bytes) { return aligned_alloc(64, (bytes + 127) / 64 * 64); }

/* `shift`: the operands do not lie where four of them can be read at once. False: there is no kernel for such types. */
static bool make(node *n, const ons_operator *op, const ons_case *example, uint64_t seed, bool shift) {
    *n = (node){.prepare = {.threads = 1, .scratch_limit = INT64_MAX}};
    cr_assert_null(ons_fixture_init(&n->fixture, ons_kernels_registry(), op, example, seed));
    const ons_operands *o = &n->fixture.operands;
    n->prepare.operands = o;
    n->prepare.arena = n->fixture.arena;
    ons_status *refused = ons_backend_prepare(ons_backend_find("cuda"), &n->prepare, &n->kernel);
    if (refused != NULL) {
        bool lowers = o->inputs[0].dtype == ONS_FLOAT32 && ons_dtype_is_half(o->outputs[0].dtype);
        cr_assert(!lowers, "%s", ons_status_get_message(refused));
        ons_status_free(refused);
        ons_fixture_free(&n->fixture);
        return false;
    }
    n->scratch = allocate((size_t)n->prepare.scratch_bytes);
    for (uint32_t i = 0; i < o->input_count; ++i) {
        if (!ons_has_input(o, i)) continue;
        size_t size = ons_dtype_size(o->inputs[i].dtype);
        int64_t elements = ons_shape_elements(&o->inputs[i].shape);
        n->inputs[i] = (char *)allocate((size_t)elements * size + size) + (shift ? size : 0);
        ons_narrow(o->inputs[i].dtype, n->fixture.input_words[i], elements, n->inputs[i]);
    }
    for (uint32_t i = 0; i < o->output_count; ++i) {
        n->bytes[i] = (size_t)ons_shape_elements(&o->outputs[i].shape) * ons_dtype_size(o->outputs[i].dtype);
        for (int k = 0; k < 2; ++k) {
            n->outputs[k][i] = (char *)allocate(n->bytes[i] + 8) + (shift ? ons_dtype_size(o->outputs[i].dtype) : 0);
            memset(n->outputs[k][i], 0xa5, n->bytes[i]);
        }
    }
    return true;
}

static ons_launch launch_of(node *n, int results, const ons_step *step) {
    return (ons_launch){.inputs = (const void *const *)n->inputs,
                        .outputs = n->outputs[results],
                        .scratch = n->scratch,
                        .state = n->prepare.state,
                        .device_step = step};
}

static bool is_usable(const ons_case *example) { return example->error == NULL && !example->benchmark; }

/* Every case several times, in turn, so that tables overflow, and nodes that cannot share a launch are neighbours. */
static void expect_same(const ons_operator *op) {
    static node nodes[NODES_MOST];
    static ons_launch launches[NODES_MOST];
    const ons_step step = {.step = 3, .micro_batch = 1, .learning_rate = 0.01F, .rate_share = 0.5};
    const uint64_t seed = ons_test_seed();
    uint32_t count = 0;
    for (uint32_t round = 0; count < NODES_MOST - 16 && round < 40; ++round)
        for (const ons_case *example = ons_cases_of(op); example->name != NULL && count < NODES_MOST; ++example) {
            bool small = strcmp(example->name, "threads") != 0 || round % 8 == 0;
            if (!is_usable(example) || !small) continue;
            count += make(&nodes[count], op, example, seed + count, count % 5 == 4);
        }
    cr_assert_gt(count, 64);
    for (uint32_t i = 0; i < count; ++i) {
        const ons_launch one = launch_of(&nodes[i], 0, &step);
        nodes[i].kernel->run(&one);
        launches[i] = launch_of(&nodes[i], 1, &step);
    }
    nodes[0].kernel->run_multi_tensor(launches, count);
    for (uint32_t i = 0; i < count; ++i) {
        const ons_operands *o = &nodes[i].fixture.operands;
        for (uint32_t k = 0; k < o->output_count; ++k)
            cr_expect(memcmp(nodes[i].outputs[0][k], nodes[i].outputs[1][k], nodes[i].bytes[k]) == 0,
                      "%s/%s: result %u of node %u differs (ONSTAGE_TEST_SEED=%llu)", op->name,
                      nodes[i].fixture.example->name, k, i, (unsigned long long)seed);
        ons_fixture_free(&nodes[i].fixture);
    }
}

Test(multi_tensor, same_bits_as_one_by_one, .timeout = 300) {
    const ons_registry *registry = ons_kernels_registry();
    const ons_backend *cuda = ons_backend_find("cuda");
    size_t tested = 0;
    for (size_t i = 0; i < registry->count; ++i) {
        const ons_operator *op = registry->operators[i];
        const ons_kernel_list *list = cuda->find(cuda, op);
        if (list->count == 0 || list->kernels[0].run_multi_tensor == NULL) continue;
        expect_same(op);
        ++tested;
    }
    cr_expect_geq(tested, 8, "%zu kernels take several nodes", tested);
}

/* How many launches there were. */
static int launches_put;
static void count_launch(uintptr_t stream, void (*run)(void *argument), void (*drop)(void *argument), void *argument) {
    (void)stream;
    ++launches_put;
    run(argument);
    drop(argument);
}

Test(multi_tensor, few_launches) {
    const ons_operator *op = ons_registry_find_name(ons_kernels_registry(), "onstage", "AdamW");
    enum { COUNT = 90 };
    static node nodes[COUNT];
    static ons_launch all[COUNT];
    const ons_step step = {.step = 1, .learning_rate = 0.01F, .rate_share = 0.5};
    for (int i = 0; i < COUNT; ++i) {
        make(&nodes[i], op, &ons_cases_of(op)[0], (uint64_t)i + 1, false);
        all[i] = launch_of(&nodes[i], 0, &step);
    }
    ons_emulation_put = count_launch;
    nodes[0].kernel->run_multi_tensor(all, COUNT);
    ons_emulation_put = NULL;
    cr_expect_leq(launches_put, 3, "%d parameters took %d launches", COUNT, launches_put);
    for (int i = 0; i < COUNT; ++i) ons_fixture_free(&nodes[i].fixture);
}

/* The half parameter is the new parameter, rounded, to the bit, which a tolerance would not tell. */
static bool expect_rounded(const ons_operator *op, const ons_case *example, uint64_t seed, bool shift) {
    node n;
    const ons_step step = {.step = 3, .micro_batch = 1, .learning_rate = 0.01F, .rate_share = 0.5};
    uint32_t half = ons_update_half_output(op);
    if (!is_usable(example) || !make(&n, op, example, seed, shift)) return false;
    const ons_operands *o = &n.fixture.operands;
    bool writes = ons_has_output(o, half) && strstr(example->name, "skipped") == NULL;
    if (writes) {
        const ons_launch one = launch_of(&n, 0, &step);
        int64_t elements = ons_shape_elements(&o->outputs[0].shape);
        double *words = calloc((size_t)elements + 1, sizeof *words);
        uint16_t *rounded = calloc((size_t)elements + 1, sizeof *rounded);
        n.kernel->run(&one);
        ons_widen(ONS_FLOAT32, n.outputs[0][0], elements, words);
        ons_narrow(o->outputs[half].dtype, words, elements, rounded);
        cr_expect(memcmp(rounded, n.outputs[0][half], n.bytes[half]) == 0, "%s/%s (ONSTAGE_TEST_SEED=%llu)", op->name,
                  example->name, (unsigned long long)seed);
        free(words);
        free(rounded);
    }
    ons_fixture_free(&n.fixture);
    return writes;
}

Test(multi_tensor, half_parameters_are_rounded_ones) {
    const ons_registry *registry = ons_kernels_registry();
    size_t optimizers = 0;
    for (size_t i = 0; i < registry->count; ++i) {
        const ons_operator *op = registry->operators[i];
        if (!ons_role_is_optimizer(op->roles.role)) continue;
        size_t tested = 0;
        for (const ons_case *example = ons_cases_of(op); example->name != NULL; ++example)
            for (int shift = 0; shift < 2; ++shift) tested += expect_rounded(op, example, ons_test_seed(), shift == 1);
        cr_expect_geq(tested, 2, "%s writes half parameters in %zu cases", op->name, tested);
        ++optimizers;
    }
    cr_expect_eq(optimizers, 5);
}
