/* Malformed models: whatever is wrong with a node, the whole way from file to step ends in a result or in an error that
 * names the node; never in a crash, a hang or a huge allocation.
 *
 * ONSTAGE_TEST_MUTANTS=20000 tries more of each operator, ONSTAGE_TEST_SEED=7 others, ONSTAGE_TEST_OPERATOR=Pad that
 * one alone, ONSTAGE_TEST_MUTANT=12 number 12 alone, printed. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "device/device.h"
#include "graph/passes/autograd.h"
#include "graph/passes/bind.h"
#include "graph/passes/fuse.h"
#include "kernels/kernels.h"
#include "onnx_import/import.h"
#include "runtime/program/device_context.h"
#include "tests/rooms/kernels/mutant.h"

enum { MUTANTS = 40, SECONDS = 20, RUN_BYTES = 4 << 20 };

#if defined(__SANITIZE_ADDRESS__)
enum { IS_SANITIZED = 1 };
#else
enum { IS_SANITIZED = 0 };
#endif

/* What is being tried, for the handler of a crash. */
static char current[MUTANT_TEXT + 64];

static void report_crash(int number) {
    static const char crash[] = "\nCRASH OR HANG: ";
    ssize_t written = write(2, crash, sizeof crash - 1);
    written += write(2, current, strlen(current));
    written += write(2, "\n", 1);
    signal(number, SIG_DFL);
    raise(number);
    _exit(written > 0 ? 99 : 98);
}

/* A hang is an alarm, a huge allocation fails. */
static void watch(void) {
    const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; ++i) signal(signals[i], report_crash);
    struct rlimit limit = {(rlim_t)3 << 30, (rlim_t)3 << 30};
    if (!IS_SANITIZED) cr_assert_eq(setrlimit(RLIMIT_AS, &limit), 0);
}

typedef struct trial {
    mutant m;
    bytes file_bytes;
    ons_model_file *file;
    ons_store store;
    ons_graph *imported, *graph;
    ons_device_context *device_context;
    ons_program *program;
} trial;

static ons_status *bind(trial *t) {
    t->file_bytes = mutant_model(&t->m);
    ONS_TRY(ons_model_file_open_memory(t->file_bytes.data, t->file_bytes.count, &t->file));
    ONS_TRY(ons_store_init(&t->store));
    ONS_TRY(ons_import(t->file, ons_kernels_registry(), NULL, &t->store, NULL, &t->imported));
    ons_bind_options options = {.mode = {.training = true}};
    return ons_bind(t->imported, ons_kernels_registry(), &options, NULL, &t->graph);
}

/* The gradients of all float inputs, from each float output. */
static ons_status *differentiate(trial *t) {
    ons_graph *graph = t->graph;
    size_t outputs = graph->outputs.count;
    uint32_t count = 0;
    ons_value_id *inputs;
    ons_parameter_gradient *gradients;
    ONS_NEW(inputs, graph->arena, graph->inputs.count + 1);
    for (size_t i = 0; i < graph->inputs.count; ++i)
        if (ons_graph_value(graph, graph->inputs.items[i])->type.dtype == ONS_FLOAT32)
            inputs[count++] = graph->inputs.items[i];
    for (size_t i = 0; i < outputs && count > 0; ++i) {
        ons_value_id output = graph->outputs.items[i], cotangent;
        ons_type type = ons_graph_value(graph, output)->type;
        if (type.dtype != ONS_FLOAT32) continue;
        ONS_NEW(gradients, graph->arena, count + 1);
        ONS_TRY(ons_graph_add_value(graph, "cotangent", ONS_INPUT, &type, &cotangent));
        ONS_PUSH(&graph->inputs, cotangent);
        ONS_TRY(ons_differentiate(graph, ons_kernels_registry(), output, cotangent, inputs, count, NULL, gradients));
        for (uint32_t k = 0; k < count; ++k)
            for (uint32_t use = 0; use < gradients[k].use_count; ++use)
                ONS_PUSH(&graph->outputs, gradients[k].uses[use]);
        return NULL;
    }
    return NULL;
}

/* Whether it is small enough to run. */
static bool is_small(const ons_graph *graph) {
    double sum = 0;
    for (ons_value_id id = 0; id < graph->values.count; ++id)
        sum += 8 * (double)ons_shape_elements(&ons_graph_value(graph, id)->type.shape);
    return sum < RUN_BYTES;
}

static ons_status *prepare(trial *t) {
    ons_device *device;
    ONS_TRY(ons_cpu_device_new(0, false, &device));
    ONS_TRY(ons_device_context_new(device, ons_kernels_registry(), 1, &t->device_context));
    ons_program_options options = {.kept = t->graph->outputs.items, .kept_count = t->graph->outputs.count};
    ONS_TRY(ons_device_context_add(t->device_context, t->graph, &options, &t->program));
    return ons_device_context_start(t->device_context);
}

typedef struct work {
    trial *trial;
    ons_program_fault fault;
} work;

/* Bytes of small numbers, of any bits, or all alike. */
static void fill(mutant *m, char *to, int64_t count, size_t size, uint64_t kind) {
    for (int64_t i = 0; i < count * (int64_t)size; ++i)
        to[i] = kind == 0   ? (char)(i % (int64_t)size == 0 ? mutant_draw(m, 4) : 0)
                : kind == 1 ? (char)mutant_draw(m, 256)
                : kind == 2 ? (char)0xff
                            : 0;
}

static void run_program(void *argument, uintptr_t native) {
    (void)native;
    work *w = argument;
    trial *t = w->trial;
    for (size_t i = 0; i < t->graph->inputs.count; ++i) {
        ons_value_id id = t->graph->inputs.items[i];
        const ons_type *type = &ons_graph_value(t->graph, id)->type;
        void *address = ons_program_address_to_write(t->program, id, NULL);
        if (address != NULL)
            fill(&t->m, address, ons_shape_elements(&type->shape), ons_dtype_size(type->dtype), mutant_draw(&t->m, 4));
    }
    ons_step step = {.seed = 1, .step = 1, .counted_targets = 1, .sample_share = 1};
    for (int part = 0; part < ONS_PART_KINDS && w->fault.fault.problem == NULL; ++part)
        ons_program_run(t->program, (ons_part)part, &(ons_run){.step = &step, .fault = &w->fault});
}

static ons_status *run(trial *t) {
    ONS_TRY(bind(t));
    ONS_TRY(ons_graph_verify(t->graph));
    ONS_TRY(differentiate(t));
    ONS_TRY(ons_graph_verify(t->graph));
    if (!is_small(t->graph)) return NULL;
    ONS_TRY(prepare(t));
    for (int round = 0; round < 2; ++round) {
        work w = {.trial = t, .fault = {.node = ONS_NONE}};
        ons_device_context_launch(t->device_context, run_program, &w);
        ons_device_context_wait(t->device_context);
    }
    return NULL;
}

static void close_trial(trial *t) {
    ons_device_context_free(t->device_context);
    ons_graph_free(t->graph);
    ons_graph_free(t->imported);
    ons_store_free(&t->store);
    ons_model_file_close(t->file);
    bytes_free(&t->file_bytes);
}

/* Whether the failure is one that a user can do something about. */
static bool names_the_node(ons_status *status) {
    const char *message = ons_status_get_message(status);
    return strstr(message, "victim") != NULL && ons_status_get_code(status) != ONS_DEFECT;
}

static bool try_mutant(const ons_operator *op, uint64_t seed, uint64_t number, bool print) {
    trial t = {0};
    char text[MUTANT_TEXT];
    mutant_init(&t.m, op, seed, number);
    mutant_print(&t.m, text);
    snprintf(current, sizeof current, "mutant %llu of seed %llu: %s", (unsigned long long)number,
             (unsigned long long)seed, text);
    alarm(SECONDS);
    ons_status *status = run(&t);
    alarm(0);
    bool good = status == NULL || names_the_node(status);
    if (print || !good)
        fprintf(stderr, "%s\n    %s\n", current, status == NULL ? "succeeds" : ons_status_get_message(status));
    ons_status_free(status);
    close_trial(&t);
    return good;
}

static uint64_t number_from(const char *variable, uint64_t otherwise) {
    const char *text = getenv(variable);
    return text == NULL || text[0] == '\0' ? otherwise : strtoull(text, NULL, 10);
}

static bool is_tried(const ons_operator *op) {
    const char *only = getenv("ONSTAGE_TEST_OPERATOR");
    return strcmp(op->opset.domain, "onstage") != 0 && (only == NULL || only[0] == '\0' || strcmp(only, op->name) == 0);
}

/* Every test is a process of its own and has a few neighbours in the registry. */
enum { NEIGHBOURS = 12 };

ParameterizedTestParameters(malformed, models) {
    size_t count = 0, operators = ons_kernels_registry()->count;
    uint32_t *firsts = cr_malloc((operators / NEIGHBOURS + 1) * sizeof *firsts);
    for (uint32_t i = 0; i < operators; i += NEIGHBOURS) firsts[count++] = i;
    return cr_make_param_array(uint32_t, firsts, count);
}

static void try_operator(const ons_operator *op) {
    uint64_t seed = number_from("ONSTAGE_TEST_SEED", 1), count = number_from("ONSTAGE_TEST_MUTANTS", MUTANTS);
    uint64_t only = number_from("ONSTAGE_TEST_MUTANT", UINT64_MAX), bad = 0;
    for (uint64_t i = only == UINT64_MAX ? 0 : only; i < count && bad < 5; ++i) {
        bad += !try_mutant(op, seed, i, only != UINT64_MAX);
        if (only != UINT64_MAX) break;
    }
    cr_expect_eq(bad, 0, "%s: errors that do not name the node (ONSTAGE_TEST_SEED=%llu)", op->name,
                 (unsigned long long)seed);
}

ParameterizedTest(uint32_t *first, malformed, models) {
    const ons_registry *registry = ons_kernels_registry();
    watch();
    for (uint32_t i = *first; i < registry->count && i < *first + NEIGHBOURS; ++i)
        if (is_tried(registry->operators[i])) try_operator(registry->operators[i]);
}
