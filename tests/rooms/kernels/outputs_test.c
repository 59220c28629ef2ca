/* Outputs that nothing reads. ONNX lets a file leave out or ignore any output, also the first one; a program keeps
 * those that the operator always makes (the first `outputs_min` of its arity) and hands NULL for the others. Every
 * operator with several outputs runs every case with every set of outputs that a program can ask for.
 *
 * ONSTAGE_TEST_OPERATOR=TopK tests that one alone. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdlib.h>
#include <string.h>

#include "graph/evaluate.h"
#include "graph/operands.h"
#include "graph/passes/bind.h"
#include "graph/passes/prune.h"
#include "kernels/kernels.h"
#include "tests/rooms/kernels/harness.h"

/* Sets of more outputs than this are tried with one output read, and with one output left out. */
enum { OUTPUTS_MOST = 5, THREADS = 2 };

typedef struct trial {
    const ons_operator *op;
    const ons_case *example;
    uint32_t outputs;
} trial;

static bool has_several_outputs(const ons_operator *op) {
    const char *only = getenv("ONSTAGE_TEST_OPERATOR");
    bool selected = only == NULL || only[0] == '\0' || strcmp(only, op->name) == 0;
    return selected && op->reference != NULL && op->arity.outputs_max > 1;
}

static bool is_tried(const ons_case *example) {
    return !example->benchmark && example->error == NULL && example->fault == NULL && ons_case_outputs(example) > 1 &&
           ons_case_outputs(example) < 64; /* a set is the bits of a word */
}

static bool is_read(uint64_t set, uint32_t output) { return (set >> output & 1) != 0; }

/* 0: there is none of that number. */
static uint64_t set_number(uint32_t number, uint32_t outputs) {
    uint64_t all = ((uint64_t)1 << outputs) - 1;
    if (outputs <= OUTPUTS_MOST) return number < all ? number + 1 : 0;
    if (number < outputs) return (uint64_t)1 << number;
    if (number < 2 * outputs) return all & ~((uint64_t)1 << (number - outputs));
    return number == 2 * outputs ? all : 0;
}

static ons_status *name_set(ons_status *status, const trial *t, uint64_t set) {
    char text[ONS_CASE_TEXT];
    return ons_status_at(status, "%s, outputs read 0x%llx", ons_case_print(t->op, t->example, text),
                         (unsigned long long)set);
}

static void expect(ons_status *status) {
    cr_expect(status == NULL, "%s", ons_status_get_message(status));
    ons_status_free(status);
}

/* ---------------------------------------------------------------------------------------------------------- kernels */

/* A state is brought up to date whether or not anything reads it. */
static bool is_state(const ons_operands *o, uint32_t output) {
    for (const ons_alias *alias = o->op->aliases; alias->kind != ONS_ALIAS_END; ++alias)
        if (alias->kind == ONS_ALIAS_STATE && alias->output == output && ons_has_input(o, alias->input)) return true;
    return false;
}

/* Leaves the outputs out that no program asks for. False where the operator makes none of those that are read. */
static bool leave_out(ons_fixture *f, uint64_t set, ons_type *outputs) {
    bool any = false;
    for (uint32_t i = 0; i < f->operands.output_count; ++i) {
        any |= is_read(set, i) && f->operands.outputs[i].dtype != ONS_NO_DTYPE;
        outputs[i] = f->operands.outputs[i];
        bool always = i < f->op->arity.outputs_min || is_state(&f->operands, i);
        if (!is_read(set, i) && !always) outputs[i].dtype = ONS_NO_DTYPE;
    }
    return any;
}

static ons_status *check_kernels(const trial *t, uint64_t set) {
    ons_fixture f;
    ons_status *status = ons_fixture_init(&f, ons_kernels_registry(), t->op, t->example, ons_test_seed());
    ons_type *outputs = NULL;
    if (status == NULL) status = ons_fixture_reference(&f);
    if (status == NULL) {
        outputs = ons_arena_allocate(f.arena, f.operands.output_count + 1, sizeof *outputs);
        if (outputs == NULL) status = ons_status_out_of_memory();
    }
    if (status == NULL && leave_out(&f, set, outputs)) {
        f.operands.outputs = outputs;
        status = ons_check_fixture(&f, &ons_target_cpu, THREADS);
    }
    ons_fixture_free(&f);
    return name_set(status, t, set);
}

/* ------------------------------------------------------------------------------------------------------------ graph */

static bool is_in_files(const ons_operator *op) { return strcmp(op->opset.domain, "onstage") != 0; }

/* Every output that kernels always make has a value. */
static ons_status *check_whole(const ons_graph *graph) {
    for (ons_node_id id = 0; id < graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(graph, id);
        for (uint32_t i = 0; i < node->op->arity.outputs_min; ++i)
            ONS_CHECK(i < node->output_count && node->outputs[i] != ONS_NONE, ONS_DEFECT,
                      "node '%s' (%s) has no output %u, which its kernels write", node->name, node->op->name, i);
    }
    return ons_graph_verify(graph);
}

/* What the file says: outputs that are not read have no name, or a name that nothing reads. */
static void read_outputs(ons_fixture *f, uint64_t set, bool named) {
    ons_node *node = ons_graph_node(f->graph, f->node);
    f->graph->outputs.count = 0;
    for (uint32_t i = 0; i < node->output_count; ++i) {
        if (node->outputs[i] == ONS_NONE) continue;
        if (is_read(set, i))
            f->graph->outputs.items[f->graph->outputs.count++] = node->outputs[i];
        else if (!named)
            node->outputs[i] = ONS_NONE;
    }
}

static ons_status *bind_and_prune(ons_fixture *f, bool training) {
    ons_graph *bound = NULL;
    ons_bind_options options = {.mode = {.training = training}};
    ons_status *status = ons_bind(f->graph, f->registry, &options, NULL, &bound);
    if (status == NULL) status = ons_prune(bound, NULL, &(ons_tracked_values){0});
    if (status == NULL) status = check_whole(bound);
    ons_graph_free(bound);
    return status;
}

static ons_status *check_graph(const trial *t, uint64_t set, bool named, bool training) {
    ons_fixture f;
    ons_status *status = ons_fixture_init(&f, ons_kernels_registry(), t->op, t->example, ons_test_seed());
    if (status == NULL) {
        read_outputs(&f, set, named);
        if (f.graph->outputs.count > 0) status = bind_and_prune(&f, training);
    }
    ons_fixture_free(&f);
    return name_set(status, t, set);
}

/* ------------------------------------------------------------------------------------------------------------ tests */

static struct criterion_test_params operators(bool in_files) {
    const ons_registry *registry = ons_kernels_registry();
    uint32_t *positions = cr_malloc((registry->count + 1) * sizeof *positions), count = 0;
    for (uint32_t i = 0; i < registry->count; ++i)
        if (has_several_outputs(registry->operators[i]) && (!in_files || is_in_files(registry->operators[i])))
            positions[count++] = i;
    return cr_make_param_array(uint32_t, positions, count);
}

ParameterizedTestParameters(outputs, kernels_write_what_is_read_and_nothing_else) { return operators(false); }

ParameterizedTest(uint32_t *at, outputs, kernels_write_what_is_read_and_nothing_else) {
    const ons_operator *op = ons_kernels_registry()->operators[*at];
    if (ons_is_view(op) || !ons_target_runs(&ons_target_cpu, op)) return;
    for (const ons_case *example = ons_cases_of(op); example->name != NULL; ++example) {
        if (!is_tried(example)) continue;
        trial t = {op, example, ons_case_outputs(example)};
        cr_log_info("%s/%s\n", op->name, example->name); /* --verbose names the case that crashes */
        for (uint32_t i = 0; set_number(i, t.outputs) != 0; ++i) expect(check_kernels(&t, set_number(i, t.outputs)));
    }
}

ParameterizedTestParameters(outputs, a_bound_graph_has_all_outputs_that_kernels_write) { return operators(true); }

ParameterizedTest(uint32_t *at, outputs, a_bound_graph_has_all_outputs_that_kernels_write) {
    const ons_operator *op = ons_kernels_registry()->operators[*at];
    for (const ons_case *example = ons_cases_of(op); example->name != NULL; ++example) {
        if (!is_tried(example)) continue;
        trial t = {op, example, ons_case_outputs(example)};
        cr_log_info("%s/%s\n", op->name, example->name);
        for (uint32_t i = 0; set_number(i, t.outputs) != 0; ++i)
            for (int form = 0; form < 4; ++form)
                expect(check_graph(&t, set_number(i, t.outputs), (form & 1) != 0, (form & 2) != 0));
    }
}
