/* Measures which way computes a node fastest, where several can, and writes the table that programs go by
 * (kernels/common/choice/choices.h):
 *     choices [--threads 1,2] [--rounds 11] [--passes 2] [--clock] [--only TEXT] [--write FILE]
 * for the variant of our kernels that is in use (ONSTAGE_CPU) and this oneDNN. Ways take turns; a way's share is the
 * median over the rounds of its time over that of the rule's in the same round. A way is written down where it is ahead
 * by a twentieth, and by ten microseconds, in every pass over all nodes, each with other memory. Nodes whose operands
 * fit a core's cache find them there; others find them in memory, as behind other nodes.
 *
 * A time is the processor's of the thread that computed longest, which other programs disturb little; with --clock it
 * is the clock's, for a machine that does nothing else. How recurrent layers divide their work
 * decides how threads wait for each other: that is measured with --clock alone. --only: nodes whose name has this text.
 * FILE is seen from where bazel was run. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "bench/choices_nodes.h"
#include "bench/choices_table.h"
#include "kernels/common/onednn/onednn_versions.h"
#include "kernels/kernels.h"
#include "tests/rooms/kernels/harness.h"
#include "tests/rooms/kernels/prepared_node.h"
#include "tests/rooms/kernels/ways.h"

enum { ROUNDS_MAX = 999, THREADS_MAX = 64, CACHE_BYTES = 1 << 20, SWEPT_BYTES = 32 << 20 };
static const double SAMPLE_SECONDS = 5e-4; /* shorter work is timed several times over */

typedef struct options {
    int threads[THREADS_MAX], thread_counts, rounds, passes;
    bool clock;
    const char *only, *path;
} options;

/* --------------------------------------------------------------------------------------------------------- one node */

static double now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* What a node is timed with. */
typedef struct stopwatch {
    bool clock;
    int threads;
    double start[THREADS_MAX];
} stopwatch;

static void begin(stopwatch *w) {
    if (w->clock) {
        w->start[0] = now(CLOCK_MONOTONIC);
        return;
    }
#pragma omp parallel num_threads(w->threads)
    w->start[omp_get_thread_num()] = now(CLOCK_THREAD_CPUTIME_ID);
}

static double end(const stopwatch *w) {
    if (w->clock) return now(CLOCK_MONOTONIC) - w->start[0];
    double longest = 0;
#pragma omp parallel num_threads(w->threads) reduction(max : longest)
    longest = now(CLOCK_THREAD_CPUTIME_ID) - w->start[omp_get_thread_num()];
    return longest;
}

static char *swept;

/* Puts other bytes in the place of the operands in the caches. */
static void sweep(void) {
    for (size_t i = 0; i < SWEPT_BYTES; i += 64) ++swept[i];
}

static double seconds_of(const ons_prepared_node *node, bool clock, int times) {
    stopwatch watch = {.clock = clock, .threads = node->prepare.threads};
    if (node->bytes > CACHE_BYTES) sweep();
    begin(&watch);
    for (int i = 0; i < times; ++i) ons_prepared_node_run(node);
    return end(&watch) / times;
}

static int by_value(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double median(double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, by_value);
    return values[count / 2];
}

/* Fills shares of all ways that have a node; `seconds` is the rule's median. */
static void time_ways(const ons_prepared_node *nodes, ons_way rule, const options *o, double *shares, double *seconds) {
    static double times[ONS_WAY_COUNT][ROUNDS_MAX], ratios[ROUNDS_MAX];
    int rounds = o->rounds;
    (void)seconds_of(&nodes[rule], o->clock, 1);
    double first = seconds_of(&nodes[rule], o->clock, 1);
    bool hot = nodes[rule].bytes <= CACHE_BYTES;
    int repeat = !hot || first >= SAMPLE_SECONDS ? 1 : (int)(SAMPLE_SECONDS / (first + 1e-7)) + 1;
    for (int round = -1; round < rounds; ++round) /* the first warms */
        for (int i = 0; i < ONS_WAY_COUNT; ++i) {
            int way = round % 2 == 0 ? i : ONS_WAY_COUNT - 1 - i;
            if (nodes[way].kernel == NULL) continue;
            times[way][round < 0 ? 0 : round] = seconds_of(&nodes[way], o->clock, repeat);
        }
    for (int way = 0; way < ONS_WAY_COUNT; ++way) {
        shares[way] = 0;
        if (nodes[way].kernel == NULL) continue;
        for (int round = 0; round < rounds; ++round) ratios[round] = times[way][round] / times[rule][round];
        shares[way] = median(ratios, rounds);
    }
    *seconds = median(times[rule], rounds);
}

static ons_status *prepare_ways(ons_fixture *fixture, int threads, const ons_choice_question *question,
                                ons_prepared_node *nodes) {
    for (ons_way way = 0; way < ONS_WAY_COUNT; ++way) {
        if ((question->possible & ONS_WAY_BIT(way)) == 0) continue;
        ons_choice_table with;
        ONS_TRY(ons_table_with_way(fixture->arena, question, way, &with));
        ons_choice_table_replace(&with);
        ons_status *status = ons_prepared_node_init(&nodes[way], fixture, threads, true);
        ons_choice_table_replace(NULL);
        ONS_TRY(status);
    }
    return NULL;
}

static ons_choice_result *find_result(ons_choice_results *results, const ons_choice_question *question) {
    for (size_t i = 0; i < results->all.count; ++i)
        if (ons_questions_are_same(&results->all.items[i].question, question)) return &results->all.items[i];
    return NULL;
}

static ons_status *note(ons_choice_results *results, const ons_choice_question *question, const double *shares,
                        double seconds) {
    ons_choice_result *known = find_result(results, question);
    if (known == NULL) {
        ons_choice_result fresh = {.question = *question, .seconds = seconds};
        ONS_PUSH(&results->all, fresh);
        known = &results->all.items[results->all.count - 1];
    }
    for (int way = 0; way < ONS_WAY_COUNT; ++way)
        if (shares[way] > known->shares[way]) known->shares[way] = shares[way];
    if (seconds < known->seconds) known->seconds = seconds;
    return NULL;
}

static ons_status *measure(ons_fixture *fixture, int threads, const ons_choice_question *question, const options *o,
                           const char *name, ons_choice_results *results) {
    ons_prepared_node nodes[ONS_WAY_COUNT] = {{.arena = NULL}};
    double shares[ONS_WAY_COUNT], seconds;
    ons_status *status = prepare_ways(fixture, threads, question, nodes);
    if (status == NULL) {
        time_ways(nodes, question->rule, o, shares, &seconds);
        status = note(results, question, shares, seconds);
        printf("%d threads  %-58s %10.1f us by %s", threads, name, 1e6 * seconds, ons_ways[question->rule].name);
        for (int way = 0; way < ONS_WAY_COUNT; ++way)
            if (shares[way] > 0 && way != (int)question->rule) printf("  %s %.3f", ons_ways[way].name, shares[way]);
        printf("\n");
        fflush(stdout);
    }
    for (int way = 0; way < ONS_WAY_COUNT; ++way) ons_prepared_node_free(&nodes[way]);
    return status;
}

/* -------------------------------------------------------------------------------------------------------- all nodes */

static const ons_operator *find_operator(const char *name) {
    const ons_registry *registry = ons_kernels_registry();
    for (size_t i = 0; i < registry->count; ++i)
        if (strcmp(registry->operators[i]->name, name) == 0) return registry->operators[i];
    return NULL;
}

/* `before`: what earlier nodes of the same pass have asked is not measured again. */
static ons_status *measure_node(const ons_choice_node *node, const options *o, int threads, ons_choice_results *before,
                                ons_choice_results *results) {
    ons_fixture fixture;
    ons_questions questions = {.count = 0};
    ons_status *status =
        ons_fixture_init(&fixture, ons_kernels_registry(), find_operator(node->op), &node->example, ons_test_seed());
    if (status == NULL) status = ons_questions_of(&fixture, threads, &questions);
    double nothing[ONS_WAY_COUNT] = {0};
    for (uint32_t i = 0; i < questions.count && status == NULL; ++i) {
        if (questions.items[i].point != node->point || find_result(before, &questions.items[i]) != NULL) continue;
        status = measure(&fixture, threads, &questions.items[i], o, node->name, results);
        if (status == NULL) status = note(before, &questions.items[i], nothing, 0);
    }
    ons_fixture_free(&fixture);
    return status == NULL ? NULL : ons_status_at(status, "%s", node->name);
}

static ons_status *measure_all(const options *o, ons_choice_results *results) {
    ons_choice_node node;
    for (int pass = 0; pass < o->passes; ++pass)
        for (int t = 0; t < o->thread_counts; ++t) {
            ons_choice_results before = {{NULL, 0, 0}};
            ons_status *status = NULL;
            for (int i = 0; status == NULL && ons_choice_node_at(i, &node); ++i)
                if (strstr(node.name, o->only) != NULL && (o->clock || node.point != ONS_CHOICE_RECURRENT))
                    status = measure_node(&node, o, o->threads[t], &before, results);
            free(before.all.items);
            ONS_TRY(status);
        }
    return NULL;
}

static void print_winners(const ons_choice_results *results) {
    for (size_t i = 0; i < results->all.count; ++i) {
        const ons_choice_result *r = &results->all.items[i];
        ons_way winner = ons_choice_winner(r);
        if (winner == r->question.rule) continue;
        printf("ahead every time: %s %s over %s, %.3f, %d threads:", ons_choice_points[r->question.point].name,
               ons_ways[winner].name, ons_ways[r->question.rule].name, r->shares[winner], r->question.threads);
        for (int s = 0; s < ONS_CHOICE_SIZES; ++s) printf(" %lld", (long long)r->question.sizes[s]);
        printf("\n");
    }
}

static ons_status *write_table(const char *path, const ons_choice_results *results) {
    char onednn[ONS_ONEDNN_VERSION_TEXT];
    ons_onednn_version(onednn);
    ons_choice_entries entries = {{NULL, 0, 0}};
    ons_status *status =
        ons_choice_table_merge(ons_choice_table_committed(), results, ons_cpu_variant(), onednn, &entries);
    if (status == NULL) status = ons_choice_table_write(path, &entries);
    free(entries.all.items);
    return status;
}

/* ---------------------------------------------------------------------------------------------------------- options */

static bool read_threads(const char *text, options *o) {
    char *end;
    for (o->thread_counts = 0; o->thread_counts < THREADS_MAX; text = end + 1) {
        long count = strtol(text, &end, 10);
        if (end == text || count < 1 || count > THREADS_MAX || (*end != ',' && *end != '\0')) return false;
        o->threads[o->thread_counts++] = (int)count;
        if (*end == '\0') return true;
    }
    return false;
}

static bool read_options(int count, char **words, options *o) {
    *o = (options){.threads = {1, 2}, .thread_counts = 2, .rounds = 11, .passes = 2, .only = ""};
    bool good = true;
    for (int i = 1; i < count && good; i += 2) {
        const char *value = i + 1 < count ? words[i + 1] : "";
        if (strcmp(words[i], "--clock") == 0)
            o->clock = i-- > 0; /* has no value */
        else if (strcmp(words[i], "--threads") == 0)
            good = read_threads(value, o);
        else if (strcmp(words[i], "--rounds") == 0)
            good = (o->rounds = atoi(value)) > 0 && o->rounds <= ROUNDS_MAX;
        else if (strcmp(words[i], "--passes") == 0)
            good = (o->passes = atoi(value)) > 0;
        else if (strcmp(words[i], "--only") == 0)
            o->only = value;
        else if (strcmp(words[i], "--write") == 0)
            good = *(o->path = value) != '\0';
        else
            good = false;
    }
    return good;
}

/* Threads that wait sleep: their waiting is no work. OpenMP reads the variable before main. */
static void let_threads_sleep(char **words) {
    if (getenv("OMP_WAIT_POLICY") != NULL || setenv("OMP_WAIT_POLICY", "passive", 1) != 0) return;
    execv("/proc/self/exe", words);
}

int main(int count, char **words) {
    options o;
    if (!read_options(count, words, &o)) {
        fprintf(stderr, "usage: choices [--threads 1,2] [--rounds 11] [--passes 2] [--clock] [--only TEXT] "
                        "[--write FILE]\n");
        return 1;
    }
    if (!o.clock) let_threads_sleep(words);
    const char *folder = getenv("BUILD_WORKING_DIRECTORY");
    swept = calloc(SWEPT_BYTES, 1);
    if (swept == NULL || (folder != NULL && chdir(folder) != 0)) return 1;
    ons_choice_results results = {{NULL, 0, 0}};
    ons_status *status = measure_all(&o, &results);
    if (status == NULL) print_winners(&results);
    if (status == NULL && o.path != NULL) status = write_table(o.path, &results);
    if (status != NULL) fprintf(stderr, "%s\n", ons_status_get_message(status));
    int rc = status == NULL ? 0 : 1;
    ons_status_free(status);
    free(results.all.items);
    free(swept);
    return rc;
}
