/* Times every case that is marked as a benchmark: bench [OPERATOR] [--case NAME] [--threads N] [--seconds S] [--all]
 * [--layout N] [--cold] [--processor-time] One line a case: median seconds, arithmetic and memory rates by the
 * operator's own cost. --seconds: how long each is run [0.5]. --all: every case.
 * --layout: inputs come in this layout, where the operator takes it (1: channels last).
 * --cold: other memory is written between runs, so that operands are not in the caches.
 * --processor-time: seconds that all threads together computed, for machines with other work to do. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/kernels.h"
#include "tests/rooms/kernels/harness.h"
#include "tests/rooms/kernels/prepared_node.h"

enum { RUNS_MAX = 1000, OTHER_BYTES = 128 << 20, LINE = 64 };

typedef struct options {
    const char *operator_name, *case_name; /* NULL: all */
    ons_offer layout;
    int threads;
    double seconds;
    bool all;
    char *other; /* written between runs; NULL: nothing is */
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

/* By all threads, as what ran before in a step would have done. */
static void write_other(char *other) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < OTHER_BYTES; i += LINE) ++other[i];
}

/* Runs for about so many seconds, at least five times. */
static double median_time(const ons_prepared_node *node, const options *chosen) {
    double times[RUNS_MAX], start = now();
    int runs = 0;
    ons_prepared_node_run(node);
    while (runs < RUNS_MAX && (runs < 5 || now() - start < chosen->seconds)) {
        if (chosen->other != NULL) write_other(chosen->other);
        double before = now();
        ons_prepared_node_run(node);
        times[runs++] = now() - before;
    }
    qsort(times, (size_t)runs, sizeof times[0], compare_times);
    return times[runs / 2];
}

static void print_result(const ons_fixture *fixture, const ons_prepare *p, double seconds) {
    char text[ONS_CASE_TEXT];
    ons_cost cost = fixture->op->cost(&fixture->operands);
    printf("%-48s %10.1f us %8.1f GFLOP/s %8.1f GB/s  %s\n", ons_case_print(fixture->op, fixture->example, text),
           1e6 * seconds, 1e-9 * cost.flops / seconds, 1e-9 * cost.bytes / seconds,
           p->implementation == NULL ? "" : p->implementation);
}

static ons_status *run_case(ons_fixture *fixture, const options *chosen) {
    ons_prepared_node node;
    bool differs;
    if (chosen->layout != ONS_OFFER_ONNX) {
        ons_operands operands;
        ONS_TRY(ons_choose_case_layouts(fixture, false, chosen->layout, &operands, &differs));
        fixture->operands = operands;
    }
    ons_status *status = ons_prepared_node_init(&node, fixture, chosen->threads, false);
    if (status == NULL) print_result(fixture, &node.prepare, median_time(&node, chosen));
    ons_prepared_node_free(&node);
    return status;
}

static bool run_operator(const ons_registry *registry, const ons_operator *op, const options *chosen) {
    bool fine = true;
    for (const ons_case *example = ons_cases_of(op); example->name != NULL; ++example) {
        if ((!example->benchmark && !chosen->all) || example->error != NULL || example->fault != NULL ||
            (chosen->case_name != NULL && strcmp(chosen->case_name, example->name) != 0) ||
            !ons_target_runs(&ons_target_cpu, op) || ons_is_view(op))
            continue;
        ons_fixture fixture;
        ons_status *status = ons_fixture_init(&fixture, registry, op, example, ons_test_seed());
        if (status == NULL) status = run_case(&fixture, chosen);
        ons_fixture_free(&fixture);
        if (status != NULL) fprintf(stderr, "%s/%s: %s\n", op->name, example->name, ons_status_get_message(status));
        fine &= status == NULL;
        ons_status_free(status);
    }
    return fine;
}

int main(int count, char **arguments) {
    static char other[OTHER_BYTES];
    options chosen = {.threads = omp_get_max_threads(), .seconds = 0.5};
    for (int i = 1; i < count; ++i) {
        if (strcmp(arguments[i], "--threads") == 0 && i + 1 < count)
            chosen.threads = atoi(arguments[++i]);
        else if (strcmp(arguments[i], "--seconds") == 0 && i + 1 < count)
            chosen.seconds = atof(arguments[++i]);
        else if (strcmp(arguments[i], "--case") == 0 && i + 1 < count)
            chosen.case_name = arguments[++i];
        else if (strcmp(arguments[i], "--layout") == 0 && i + 1 < count)
            chosen.layout = (ons_offer)atoi(arguments[++i]);
        else if (strcmp(arguments[i], "--cold") == 0)
            chosen.other = other;
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
