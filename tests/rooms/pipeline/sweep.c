/* Everything that must have the bits of the uncut run, compared with it: models, schedules, devices, stages on a
 * device, memory, transports, micro-batches, threads. What is asynchronous is compared with training in sequence
 * (delayed.h), replicas with the same groups in sequence (grouped.h). Prints a line for each case, and counts.
 *
 *     ./bazelw run //tests/rooms/pipeline:sweep -- [--models A,B] [--pipelines gpipe,1f1b,…] [--devices 2,3,4]
 *         [--chunks 1,2] [--cuts planned,capped,slices,anywhere/both,…] [--transports local,mpi]
 *         [--micro-batches 1,4,3+2] [--threads 1,2] [--replicas 1,2] [--steps N] [--rounds N] [--seed N] [--one-in N]
 *
 * Cuts: planned      by the planner, what each device takes compared with the plan to the byte (a plan knows of no last
 *                    batch that is smaller: its micro-batches must come out even in the samples)
 *       capped       the same where memory is short (sweep_plan.h)
 *       slices       at random between nodes; slices/swap, /recompute, /both: with random values swapped, made again
 *       anywhere     every node in any stage; anywhere/swap, /recompute, /both: with random values swapped, made again
 *
 * A schedule that does not exist for so many stages, devices or micro-batches, and a model with too few nodes, are
 * refused with ONS_INVALID_ARGUMENT, and counted apart.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/rooms/pipeline/sweep_mpi.h"
#include "tests/rooms/pipeline/sweep_options.h"
#include "tests/rooms/pipeline/sweep_plan.h"

static uint32_t passed, failed, refused;

typedef struct sweep {
    char path[64]; /* of the plan */
    uint64_t plan; /* number of its case over all transports, + 1; 0: there is none */
    int64_t cap;
    ons_status *plan_status;
    uint64_t reference;    /* number of the case that `whole` is for, over all transports, + 1; 0: there is none */
    pipeline_record whole; /* in one stage, or in sequence */
    ons_status *whole_status;
} sweep;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ----------------------------------------------------------------------------------------------------------- a case */

/* Samples that do not come out even. */
static uint32_t more_of(const char *micro_batches) {
    const char *more = strchr(micro_batches, '+');
    return more == NULL ? 0 : (uint32_t)strtoul(more + 1, NULL, 10);
}

static pipeline_eviction eviction_of(const char *cut) {
    const char *name = strchr(cut, '/');
    pipeline_eviction eviction = PIPELINE_KEEPS;
    while (name != NULL && strcmp(name + 1, pipeline_eviction_name(eviction)) != 0) ++eviction;
    return eviction;
}

static bool is_planned(const uint32_t *at) {
    const char *cut = sweep_item(SWEEP_CUTS, at[SWEEP_CUTS]);
    return strcmp(cut, "planned") == 0 || strcmp(cut, "capped") == 0;
}

static pipeline_setting setting_of(const uint32_t *at) {
    const char *micro_batches = sweep_item(SWEEP_MICRO_BATCHES, at[SWEEP_MICRO_BATCHES]);
    const char *cut = sweep_item(SWEEP_CUTS, at[SWEEP_CUTS]);
    const ons_generator *kind = ons_generator_find(sweep_item(SWEEP_PIPELINES, at[SWEEP_PIPELINES]));
    uint32_t devices = (uint32_t)sweep_number(SWEEP_DEVICES, at[SWEEP_DEVICES]);
    return (pipeline_setting){
        .model = sweep_item(SWEEP_MODELS, at[SWEEP_MODELS]),
        .micro_batches = (uint32_t)sweep_number(SWEEP_MICRO_BATCHES, at[SWEEP_MICRO_BATCHES]),
        .more = more_of(micro_batches),
        .threads = (uint32_t)sweep_number(SWEEP_THREADS, at[SWEEP_THREADS]),
        .steps = (uint32_t)sweep_number(SWEEP_STEPS, 0),
        .replicas = (uint32_t)sweep_number(SWEEP_REPLICAS, at[SWEEP_REPLICAS]),
        .devices = devices,
        .stages = devices * (uint32_t)sweep_number(SWEEP_CHUNKS, at[SWEEP_CHUNKS]),
        .kind = kind != NULL ? kind : &ons_generator_gpipe, /* lists of a file are synchronous */
        .eviction = is_planned(at) ? PIPELINE_KEEPS : eviction_of(cut),
        .seed = sweep_seed() + at[SWEEP_ROUNDS],
        .one_in = 1 + at[SWEEP_ROUNDS] % 3,
        .scattered = strncmp(cut, "anywhere", strlen("anywhere")) == 0,
    };
}

/* ------------------------------------------------------------------------------------------------- what cases share */

static ons_status *check_schedule(const pipeline_setting *s, const char *name) {
    ons_schedule schedule;
    const ons_pipeline pipeline = {s->kind, s->stages, s->micro_batches, s->devices, 1};
    ONS_CHECK(ons_generator_find(name) != NULL, ONS_INVALID_ARGUMENT, "schedule %s is for cuts that are planned", name);
    ons_arena *arena = ons_arena_new();
    if (arena == NULL) return ons_status_out_of_memory();
    ons_status *status = ons_schedule_make(&pipeline, arena, &schedule);
    ons_arena_free(arena);
    return status;
}

/* Once for all transports. */
static void make_plan(sweep *w, const pipeline_setting *s, const uint32_t *at, uint64_t number) {
    uint64_t plan = number / sweep_count(SWEEP_TRANSPORTS) + 1;
    const char *schedule = sweep_item(SWEEP_PIPELINES, at[SWEEP_PIPELINES]);
    bool capped = strcmp(sweep_item(SWEEP_CUTS, at[SWEEP_CUTS]), "capped") == 0;
    if (w->plan == plan) return;
    w->plan = plan;
    w->cap = 0;
    ons_status_free(w->plan_status);
    if (s->kind->asynchronous && s->replicas > 1)
        w->plan_status = ons_status_new(ONS_INVALID_ARGUMENT, "replicas of updates that do not wait");
    else
        w->plan_status =
            is_planned(at) ? sweep_plan(s, schedule, capped, w->path, &w->cap) : check_schedule(s, schedule);
}

/* In one stage; of what is asynchronous in sequence, with the cut of this case. */
static void run_reference(sweep *w, pipeline_setting s, uint64_t number) {
    bool asynchronous = s.kind->asynchronous;
    uint64_t alike = sweep_product() / ((uint64_t)sweep_count(SWEEP_MODELS) * sweep_count(SWEEP_MICRO_BATCHES) *
                                        sweep_count(SWEEP_THREADS) * sweep_count(SWEEP_REPLICAS));
    uint64_t reference = asynchronous ? sweep_product() + w->plan : number / alike + 1;
    if (w->reference == reference) return;
    w->reference = reference;
    pipeline_record_free(&w->whole);
    ons_status_free(w->whole_status);
    if (!asynchronous) {
        s.stages = s.devices = 1;
        s.kind = &ons_generator_one_f_one_b;
        s.eviction = PIPELINE_KEEPS;
        s.scattered = false;
        s.plan = NULL;
        s.grouped = s.replicas > 1;
    }
    s.cap = 0;
    s.delayed = asynchronous;
    w->whole_status = pipeline_run(&s, &w->whole);
}

/* ---------------------------------------------------------------------------------------------------------- running */

static void print_head(void) {
    printf("seed %llu, one case in %llu of %llu\n", (unsigned long long)sweep_seed(),
           (unsigned long long)sweep_number(SWEEP_ONE_IN, 0), (unsigned long long)sweep_product());
    printf("%-14s %-15s %3s %3s %3s %-16s %-5s %3s %2s %6s %5s %5s %10s %7s\n", "model", "schedule", "rep", "dev",
           "stg", "cut", "over", "mb", "th", "seed", "swaps", "again", "bytes", "seconds");
}

static void print_case(const pipeline_setting *s, const uint32_t *at, const pipeline_record *cut, double seconds,
                       const char *result) {
    printf("%-14s %-15s %3u %3u %3u %-16s %-5s %u+%u %2u %6llu %5u %5u %10lld %7.2f  %s\n", s->model,
           sweep_item(SWEEP_PIPELINES, at[SWEEP_PIPELINES]), s->replicas, s->devices, s->stages,
           sweep_item(SWEEP_CUTS, at[SWEEP_CUTS]), sweep_item(SWEEP_TRANSPORTS, at[SWEEP_TRANSPORTS]), s->micro_batches,
           s->more, s->threads, (unsigned long long)s->seed, cut->swaps, cut->clones, (long long)cut->memory, seconds,
           result);
    fflush(stdout);
}

static ons_status *run_cut(const sweep *w, const pipeline_setting *s, const char *transport, pipeline_record *cut) {
    if (w->whole_status != NULL)
        return ons_status_new(ONS_DEFECT, "the reference: %s", ons_status_get_message(w->whole_status));
    if (strcmp(transport, "mpi") == 0) return sweep_by_processes(s, &w->whole, cut);
    ONS_TRY(pipeline_run(s, cut));
    return pipeline_compare(&w->whole, cut);
}

static void try_case(sweep *w, uint64_t number) {
    uint32_t at[SWEEP_DIMENSIONS];
    double begin = now();
    pipeline_record cut = {.arena = NULL};
    sweep_decode(number, at);
    pipeline_setting s = setting_of(at);
    ons_status *status = NULL;
    make_plan(w, &s, at, number);
    s.plan = is_planned(at) ? w->path : NULL;
    s.cap = w->cap;
    bool declined = w->plan_status != NULL && ons_status_get_code(w->plan_status) == ONS_INVALID_ARGUMENT;
    const char *result = w->plan_status == NULL ? "same" : ons_status_get_message(w->plan_status);
    if (w->plan_status == NULL) {
        run_reference(w, s, number);
        if (s.more > 0 && w->whole.fixed) return; /* the model has one size of micro-batch alone */
        status = run_cut(w, &s, sweep_item(SWEEP_TRANSPORTS, at[SWEEP_TRANSPORTS]), &cut);
        if (status != NULL) result = ons_status_get_message(status);
    }
    *(declined ? &refused : w->plan_status == NULL && status == NULL ? &passed : &failed) += 1;
    print_case(&s, at, &cut, now() - begin, result);
    ons_status_free(status);
    pipeline_record_free(&cut);
}

int main(int argc, char **argv) {
    int code;
    sweep w = {.plan = 0};
    if (sweep_is_part(argc, argv, &code)) return code;
    if (!sweep_parse(argc, argv)) return 2;
    snprintf(w.path, sizeof w.path, "/tmp/sweep-%d.json", (int)getpid());
    print_head();
    for (uint64_t number = 0; number < sweep_product(); ++number)
        if (sweep_is_drawn(number)) try_case(&w, number);
    unlink(w.path);
    ons_status_free(w.plan_status);
    ons_status_free(w.whole_status);
    pipeline_record_free(&w.whole);
    printf("%u refused\n%u passed, %u failed\n", refused, passed, failed);
    return failed != 0 || passed == 0;
}
