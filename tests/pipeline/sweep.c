/* Everything that must have the bits of the uncut run, compared with it: models, stages, schedules, what is swapped and
 * computed again, transports, micro-batches, threads. Prints a table, a line each, and counts.
 *
 *     ./bazelw run //tests/pipeline:sweep -- [--models A,B] [--stages 2,3,4,8] [--pipelines gpipe,1f1b]
 *         [--reliefs none,swap,recompute,both] [--micro-batches 1,4,3+2] [--threads 1,2] [--steps N] [--rounds N]
 * [--seed N]
 *         [--cuts slices|anywhere] [--transports local,mpi]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/pipeline/pipeline_run.h"
#include "tests/pipeline/sweep_mpi.h"

enum { MOST = 32 };

/* NAME, VALUE, and the list of its parts. */
typedef struct list {
    const char *name, *text;
    const char *items[MOST];
    int count;
} list;

enum { MODELS, STAGES, PIPELINES, RELIEFS, MICRO_BATCHES, THREADS, STEPS, ROUNDS, SEED, CUTS, TRANSPORTS, LISTS };
static list lists[LISTS] = {
    {"--models", "mlp,mlp_frozen,lenet,cnn_dynamic,dynamo_cnn,gpt_tied,gpt_decomposed,dynamo_gpt,resnet18", {0}, 0},
    {"--stages", "2,3,4,8", {0}, 0},
    {"--pipelines", "gpipe,1f1b", {0}, 0},
    {"--reliefs", "none,swap,recompute,both", {0}, 0},
    {"--micro-batches", "1,4,3+2", {0}, 0}, /* 3+2: three, of which two have a sample more */
    {"--threads", "1,2", {0}, 0},
    {"--steps", "3", {0}, 0},
    {"--rounds", "1", {0}, 0},
    {"--seed", "1", {0}, 0},
    {"--cuts", "slices", {0}, 0}, /* or "anywhere": every node in any stage */
    {"--transports", "local,mpi", {0}, 0},
};

static int passed, failed;

/* The items live as long as the program. */
static void split(list *l) {
    static char copies[LISTS][1024];
    char *rest = copies[l - lists], *item;
    snprintf(rest, sizeof copies[0], "%s", l->text);
    while (l->count < MOST && (item = strsep(&rest, ",")) != NULL) l->items[l->count++] = item;
}

static bool parse(int argc, char **argv) {
    for (int i = 1; i < argc; i += 2) {
        int at = 0;
        while (at < LISTS && strcmp(lists[at].name, argv[i]) != 0) ++at;
        if (at == LISTS || i + 1 == argc) return false;
        lists[at].text = argv[i + 1];
    }
    for (int i = 0; i < LISTS; ++i) split(&lists[i]);
    for (int i = 0; i < lists[TRANSPORTS].count; ++i)
        if (strcmp(lists[TRANSPORTS].items[i], "local") != 0 && strcmp(lists[TRANSPORTS].items[i], "mpi") != 0)
            return false;
    return true;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static uint32_t number(int l, int item) { return (uint32_t)strtoul(lists[l].items[item], NULL, 10); }

/* Samples that do not come out even. */
static uint32_t more_of(int item) {
    const char *more = strchr(lists[MICRO_BATCHES].items[item], '+');
    return more == NULL ? 0 : (uint32_t)strtoul(more + 1, NULL, 10);
}

static void try_cut(const pipeline_setting *s, const pipeline_record *whole, const char *transport) {
    pipeline_record cut = {.arena = NULL};
    double begin = now();
    ons_status *status;
    if (strcmp(transport, "mpi") == 0) {
        status = sweep_by_processes(s, whole, &cut);
    } else {
        status = pipeline_run(s, &cut);
        if (status == NULL) status = pipeline_compare(whole, &cut);
    }
    *(status == NULL ? &passed : &failed) += 1;
    printf("%-16s %6u %-6s %-9s %-9s %u+%u %2u %6llu %5u %5u %10lld %7.2f  %s\n", s->model, s->stages, s->kind->name,
           pipeline_relief_name(s->relief), transport, s->micro_batches, s->more, s->threads,
           (unsigned long long)s->seed, cut.swaps, cut.clones, (long long)cut.memory, now() - begin,
           status == NULL ? "same" : ons_status_get_message(status));
    fflush(stdout);
    ons_status_free(status);
    pipeline_record_free(&cut);
}

static pipeline_relief relief_of(const char *name) {
    pipeline_relief relief = PIPELINE_KEEPS;
    while (relief < PIPELINE_RELIEFS && strcmp(name, pipeline_relief_name(relief)) != 0) ++relief;
    return relief;
}

static void try_cuts(pipeline_setting s, const pipeline_record *whole) {
    for (uint32_t round = 0; round < number(ROUNDS, 0); ++round)
        for (int stages = 0; stages < lists[STAGES].count; ++stages)
            for (int kind = 0; kind < lists[PIPELINES].count; ++kind)
                for (int relief = 0; relief < lists[RELIEFS].count; ++relief) {
                    s.stages = number(STAGES, stages);
                    s.relief = relief_of(lists[RELIEFS].items[relief]);
                    s.seed = number(SEED, 0) + round;
                    s.one_in = 1 + round % 3;
                    s.scattered = strcmp(lists[CUTS].text, "anywhere") == 0;
                    ons_status *status = ons_generator_parse(lists[PIPELINES].items[kind], &s.kind);
                    for (int i = 0; status == NULL && s.relief < PIPELINE_RELIEFS && i < lists[TRANSPORTS].count; ++i)
                        try_cut(&s, whole, lists[TRANSPORTS].items[i]);
                    if (status != NULL || s.relief == PIPELINE_RELIEFS) {
                        fprintf(stderr, "sweep: no such pipeline or relief\n");
                        exit(2);
                    }
                }
}

static void try_model(pipeline_setting s) {
    pipeline_record whole = {.arena = NULL};
    ons_status *status = pipeline_run(&s, &whole);
    if (status == NULL) {
        if (s.more == 0 || !whole.fixed) try_cuts(s, &whole);
    } else {
        ++failed;
        printf("%-16s in one stage, %u micro-batches: %s\n", s.model, s.micro_batches, ons_status_get_message(status));
    }
    ons_status_free(status);
    pipeline_record_free(&whole);
}

int main(int argc, char **argv) {
    int code;
    if (sweep_is_part(argc, argv, &code)) return code;
    if (!parse(argc, argv)) {
        fprintf(stderr, "usage: sweep [--NAME A,B,…]…; names and defaults:\n");
        for (int i = 0; i < LISTS; ++i) fprintf(stderr, "    %s %s\n", lists[i].name, lists[i].text);
        return 2;
    }
    printf("%-16s %6s %-6s %-9s %-9s %3s %2s %6s %5s %5s %10s %7s\n", "model", "stages", "sched.", "relief",
           "transport", "mb", "th", "seed", "swaps", "again", "bytes", "seconds");
    for (int model = 0; model < lists[MODELS].count; ++model)
        for (int micro = 0; micro < lists[MICRO_BATCHES].count; ++micro)
            for (int threads = 0; threads < lists[THREADS].count; ++threads)
                try_model((pipeline_setting){
                    .model = lists[MODELS].items[model],
                    .micro_batches = number(MICRO_BATCHES, micro),
                    .more = more_of(micro),
                    .threads = number(THREADS, threads),
                    .steps = number(STEPS, 0),
                    .stages = 1,
                });
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
