/* Times every case that is marked as a benchmark: bench [OPERATOR] [--threads N] [--seconds S] [--all]
 * [--processor-time] One line a case: median seconds, arithmetic and memory rates by the operator's own cost.
 * --seconds: how long each is run [0.5]. --all: every case.
 * --processor-time: seconds that all threads together computed, for machines with other work to do. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "graph/evaluate.h"
#include "kernels/kernels.h"
#include "tests/rooms/kernels/harness.h"

enum { RUNS_MAX = 1000 };

typedef struct options {
    const char *operator_name; /* NULL: all */
    int threads;
    double seconds;
    bool all;
} options;

static clockid_t clock_of_times = CLOCK_MONOTONIC;

static double now(void) {
    struct timespec time;
    clock_gettime(clock_of_times, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int compare_times(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Runs for about so many seconds, at least five times. */
static double median_time(ons_run_function *run, const ons_launch *launch, double seconds) {
    double times[RUNS_MAX], start = now();
    int runs = 0;
    run(launch);
    while (runs < RUNS_MAX && (runs < 5 || now() - start < seconds)) {
        double before = now();
        run(launch);
        times[runs++] = now() - before;
    }
    qsort(times, (size_t)runs, sizeof times[0], compare_times);
    return times[runs / 2];
}

typedef struct buffers {
    ons_buffer inputs[64], outputs[64], scratch;
    const void *input_pointers[64];
    void *output_pointers[64];
} buffers;

static ons_status *set_up(const ons_fixture *fixture, const ons_target *target, int64_t scratch_bytes, buffers *b) {
    const ons_operands *o = &fixture->operands;
    for (uint32_t i = 0; i < o->input_count; ++i) {
        if (!ons_has_input(o, i)) continue;
        ONS_TRY(ons_buffer_init(&b->inputs[i], target, ons_bytes_of(fixture->registry, &o->inputs[i])));
        char *bytes;
        ONS_NEW(bytes, fixture->arena, b->inputs[i].bytes + 64);
        ons_narrow(o->inputs[i].dtype, fixture->input_words[i], ons_shape_elements(&o->inputs[i].shape), bytes);
        ons_buffer_write(&b->inputs[i], bytes);
        b->input_pointers[i] = b->inputs[i].data;
    }
    for (uint32_t i = 0; i < o->output_count; ++i) {
        if (!ons_has_output(o, i)) continue;
        ONS_TRY(ons_buffer_init(&b->outputs[i], target, ons_bytes_of(fixture->registry, &o->outputs[i])));
        ons_buffer_fill(&b->outputs[i], 0);
        b->output_pointers[i] = b->outputs[i].data;
    }
    for (const ons_alias *alias = o->op->aliases; alias->kind != ONS_ALIAS_END; ++alias)
        if (alias->kind == ONS_ALIAS_STATE && ons_has_input(o, alias->input) && ons_has_output(o, alias->output))
            b->output_pointers[alias->output] = b->inputs[alias->input].data;
    return ons_buffer_init(&b->scratch, target, (size_t)scratch_bytes);
}

static void print_result(const ons_fixture *fixture, const ons_prepare *p, double seconds) {
    char text[ONS_CASE_TEXT];
    ons_cost cost = fixture->op->cost(&fixture->operands);
    printf("%-48s %10.1f us %8.1f GFLOP/s %8.1f GB/s  %s\n", ons_case_print(fixture->op, fixture->example, text),
           1e6 * seconds, 1e-9 * cost.flops / seconds, 1e-9 * cost.bytes / seconds,
           p->implementation == NULL ? "" : p->implementation);
}

static ons_status *run_case(ons_fixture *fixture, const ons_target *target, const options *chosen) {
    buffers memory = {0};
    const ons_kernel *kernel = NULL;
    ons_prepare p = {.operands = &fixture->operands,
                     .threads = chosen->threads,
                     .scratch_limit = INT64_MAX,
                     .arena = fixture->arena};
    omp_set_num_threads(chosen->threads);
    ons_fault fault = {0};
    ons_status *status = ons_backend_prepare(target->backend(), &p, &kernel);
    if (status == NULL) status = set_up(fixture, target, p.scratch_bytes, &memory);
    if (status == NULL)
        print_result(fixture, &p,
                     median_time(kernel->run,
                                 &(ons_launch){.inputs = memory.input_pointers,
                                               .outputs = memory.output_pointers,
                                               .scratch = memory.scratch.data,
                                               .state = p.state,
                                               .step = &fixture->step,
                                               .fault = &fault},
                                 chosen->seconds));
    for (uint32_t i = 0; i < 64; ++i) {
        ons_buffer_free(&memory.inputs[i]);
        ons_buffer_free(&memory.outputs[i]);
    }
    ons_buffer_free(&memory.scratch);
    if (p.destroy != NULL) p.destroy(p.state);
    return status;
}

static bool run_operator(const ons_registry *registry, const ons_operator *op, const options *chosen) {
    bool fine = true;
    for (const ons_case *example = ons_cases_of(op); example->name != NULL; ++example) {
        if ((!example->benchmark && !chosen->all) || example->error != NULL || example->fault != NULL ||
            !ons_target_runs(&ons_target_cpu, op) || ons_is_view(op))
            continue;
        ons_fixture fixture;
        ons_status *status = ons_fixture_init(&fixture, registry, op, example, ons_test_seed());
        if (status == NULL) status = run_case(&fixture, &ons_target_cpu, chosen);
        ons_fixture_free(&fixture);
        if (status != NULL) fprintf(stderr, "%s/%s: %s\n", op->name, example->name, ons_status_get_message(status));
        fine &= status == NULL;
        ons_status_free(status);
    }
    return fine;
}

int main(int count, char **arguments) {
    options chosen = {.threads = omp_get_max_threads(), .seconds = 0.5};
    for (int i = 1; i < count; ++i) {
        if (strcmp(arguments[i], "--threads") == 0 && i + 1 < count)
            chosen.threads = atoi(arguments[++i]);
        else if (strcmp(arguments[i], "--seconds") == 0 && i + 1 < count)
            chosen.seconds = atof(arguments[++i]);
        else if (strcmp(arguments[i], "--all") == 0)
            chosen.all = true;
        else if (strcmp(arguments[i], "--processor-time") == 0)
            clock_of_times = CLOCK_PROCESS_CPUTIME_ID;
        else
            chosen.operator_name = arguments[i];
    }
    if (chosen.threads < 1) chosen.threads = 1;
    const ons_registry *registry = ons_kernels_registry();
    bool fine = true;
    for (size_t i = 0; i < registry->count; ++i)
        if (chosen.operator_name == NULL || strcmp(chosen.operator_name, registry->operators[i]->name) == 0)
            fine &= run_operator(registry, registry->operators[i], &chosen);
    return fine ? 0 : 1;
}
