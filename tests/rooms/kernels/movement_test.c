/* Operators that move and reduce: older opsets' attributes that became inputs, and indices found wrong while running.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "graph/upgrade.h"
#include "kernels/common/math/vector_math.h"
#include "kernels/common/operator/kernel.h"
#include "kernels/operators.h"
#include "tests/rooms/kernels/harness.h"

/* A node of an old file on its way to today's form. */
typedef struct scene {
    ons_store store;
    ons_graph *graph;
    ons_upgrade upgrade;
} scene;

static void expect_success(ons_status *status) { cr_assert(status == NULL, "%s", ons_status_get_message(status)); }

static void open_scene(scene *s, int64_t opset) {
    *s = (scene){0};
    expect_success(ons_store_init(&s->store));
    expect_success(ons_graph_new(&s->store, "old", &s->graph));
    s->upgrade.graph = s->graph;
    s->upgrade.opset = opset;
    s->upgrade.node_name = "node";
    cr_assert(ons_vector_push(&s->upgrade.inputs, 0)); /* the data */
}

static void close_scene(scene *s) {
    ons_vector_free(&s->upgrade.attributes);
    ons_vector_free(&s->upgrade.inputs);
    ons_graph_free(s->graph);
    ons_store_free(&s->store);
}

static void set_integers(scene *s, const char *name, const int64_t *values, uint32_t count) {
    ons_attribute value = {.kind = ONS_ATTRIBUTE_INTS, .count = count, .ints = values};
    expect_success(ons_upgrade_set(&s->upgrade, name, value));
}

/* Input `index` is now a constant of these integers, and the attribute is gone. */
static void expect_input(const scene *s, const char *name, uint32_t index, const int64_t *values, uint32_t count) {
    cr_assert(index < s->upgrade.inputs.count, "'%s' did not become input %u", name, index);
    const ons_tensor *made = ons_graph_constant(s->graph, s->upgrade.inputs.items[index]);
    cr_assert(made != NULL && made->type.dtype == ONS_INT64 && ons_shape_elements(&made->type.shape) == count);
    cr_expect(memcmp(made->data, values, count * sizeof *values) == 0);
    cr_expect(ons_upgrade_find(&s->upgrade, name) == NULL);
}

static void expect_moved(const ons_operator *op, int64_t opset, const char *name, uint32_t index) {
    static const int64_t values[] = {1, 2};
    scene s;
    open_scene(&s, opset);
    set_integers(&s, name, values, 2);
    expect_success(op->forms.upgrade(&s.upgrade));
    expect_input(&s, name, index, values, 2);
    close_scene(&s);
}

Test(movement, attributes_of_older_opsets_become_inputs) {
    expect_moved(&ons_op_squeeze, 11, "axes", 1);
    expect_moved(&ons_op_unsqueeze, 11, "axes", 1);
    expect_moved(&ons_op_split, 11, "split", 1);
    expect_moved(&ons_op_pad, 10, "pads", 1);
    expect_moved(&ons_op_slice, 9, "starts", 1);
    expect_moved(&ons_op_slice, 9, "ends", 2);
    expect_moved(&ons_op_slice, 9, "axes", 3);
    expect_moved(&ons_op_reduce_sum, 11, "axes", 1);
    expect_moved(&ons_op_reduce_mean, 17, "axes", 1);
    expect_moved(&ons_op_reduce_max, 17, "axes", 1);
    expect_moved(&ons_op_reduce_log_sum_exp, 17, "axes", 1);
}

Test(movement, the_value_of_a_constant_of_shape_becomes_an_input) {
    scene s;
    open_scene(&s, 9);
    ons_type type = ons_type_make(ONS_INT64, (ons_shape){1, {1}});
    void *data;
    ons_attribute value = {.kind = ONS_ATTRIBUTE_TENSOR};
    expect_success(ons_store_add(&s.store, &type, &data, &value.tensor));
    *(int64_t *)data = 7;
    expect_success(ons_upgrade_set(&s.upgrade, "value", value));
    expect_success(ons_op_constant_of_shape.forms.upgrade(&s.upgrade));
    expect_input(&s, "value", 1, (const int64_t[]){7}, 1);
    close_scene(&s);
}

/* Runs an operator on float32 data and one index operand, and gives what it reports. */
static ons_fault run_indexing(const ons_operator *op, const ons_attribute *attributes, const ons_shape *data_shape,
                              const int64_t *indices, const ons_shape *index_shape, const float *data, float *out) {
    ons_type types[] = {ons_type_make(ONS_FLOAT32, *data_shape), ons_type_make(ONS_INT64, *index_shape)};
    ons_type result = {0};
    ons_tensor unknown[] = {{types[0], NULL}, {types[1], NULL}};
    ons_operands o = {op, "lookup", attributes, types, unknown, &result, 2, 1};
    ons_arena *arena = ons_arena_new();
    cr_assert(arena != NULL);
    expect_success(op->infer(&o));
    ons_prepare p = {.operands = &o, .threads = 1, .scratch_limit = INT64_MAX, .arena = arena};
    const ons_kernel *kernel;
    expect_success(ons_backend_prepare(ons_backend_find("cpu"), &p, &kernel));
    void *scratch = malloc((size_t)p.scratch_bytes + 1);
    cr_assert(scratch != NULL);
    ons_fault fault = {0};
    kernel->run(&(ons_launch){.inputs = (const void *const[]){data, indices},
                              .outputs = (void *const[]){out},
                              .state = p.state,
                              .scratch = scratch,
                              .fault = &fault});
    free(scratch);
    ons_arena_free(arena);
    return fault;
}

Test(movement, an_index_outside_is_a_fault_and_reads_nothing) {
    static const float data[] = {1, 2, 3, 4};
    const ons_attribute axis[] = {{.kind = ONS_ATTRIBUTE_INT, .i = 0}};
    float out[4] = {9, 9, 9, 9};
    ons_fault fault = run_indexing(&ons_op_gather, axis, &(ons_shape){1, {4}}, (const int64_t[]){3, 4, -5, -1},
                                   &(ons_shape){1, {4}}, data, out);
    cr_expect(fault.problem != NULL && fault.index == 1 && fault.value == 4);
    cr_expect(out[0] == 4 && out[1] == 0 && out[2] == 0 && out[3] == 4);

    fault = run_indexing(&ons_op_gather_elements, axis, &(ons_shape){1, {4}}, (const int64_t[]){0, INT64_MIN},
                         &(ons_shape){1, {2}}, data, out);
    cr_expect(fault.problem != NULL && fault.index == 1 && fault.value == INT64_MIN);

    fault = run_indexing(&ons_op_gather_nd, axis, &(ons_shape){2, {2, 2}}, (const int64_t[]){1, 1, 0, INT64_MAX},
                         &(ons_shape){2, {2, 2}}, data, out);
    cr_expect(fault.problem != NULL && fault.index == 3 && fault.value == INT64_MAX);

    fault =
        run_indexing(&ons_op_gather, axis, &(ons_shape){1, {4}}, (const int64_t[]){0}, &(ons_shape){1, {1}}, data, out);
    cr_expect(fault.problem == NULL);
}

/* The gradient of a lookup along a middle axis. Many entries before it are made one by one, a single one by sorted
 * places; a row's summands are added in one order. */
Test(movement, entries_of_a_lookup_have_the_bits_that_each_has_alone) {
    enum { ENTRIES = 64, LENGTH = 7, INNER = 19, PLACES = 40 };
    static float cotangent[ENTRIES * PLACES * INNER], together[ENTRIES * LENGTH * INNER], alone[LENGTH * INNER];
    int64_t indices[PLACES];
    uint64_t drawn = 1;
    for (int i = 0; i < ENTRIES * PLACES * INNER; ++i) {
        drawn = drawn * 6364136223846793005u + 1442695040888963407u;
        cotangent[i] = (float)(int32_t)(drawn >> 32) / (float)(1 + (drawn >> 20) % 4096);
    }
    for (int i = 0; i < PLACES; ++i) indices[i] = i * i % 11 % (LENGTH - 1) - (i % 5 == 0 ? LENGTH : 0);
    const ons_attribute attributes[] = {
        {.kind = ONS_ATTRIBUTE_INT, .i = 1},
        {.kind = ONS_ATTRIBUTE_INTS, .count = 3, .ints = (const int64_t[]){ENTRIES, LENGTH, INNER}},
        {.kind = ONS_ATTRIBUTE_ABSENT}};
    const ons_attribute of_one[] = {
        attributes[0],
        {.kind = ONS_ATTRIBUTE_INTS, .count = 3, .ints = (const int64_t[]){1, LENGTH, INNER}},
        {.kind = ONS_ATTRIBUTE_ABSENT}};
    run_indexing(&ons_op_gather_gradient, attributes, &(ons_shape){3, {ENTRIES, PLACES, INNER}}, indices,
                 &(ons_shape){1, {PLACES}}, cotangent, together);
    for (int64_t entry = 0; entry < ENTRIES; ++entry) {
        run_indexing(&ons_op_gather_gradient, of_one, &(ons_shape){3, {1, PLACES, INNER}}, indices,
                     &(ons_shape){1, {PLACES}}, cotangent + entry * PLACES * INNER, alone);
        for (int64_t i = 0; i < LENGTH * INNER; ++i)
            cr_expect_eq(ons_float_bits(alone[i]), ons_float_bits(together[entry * LENGTH * INNER + i]), "entry %lld",
                         (long long)entry);
    }
}
