/* Processes that are late, each for a random time before every step and every message, come to the bits of training in
 * sequence: stages, replicas, copies of stages and stages of different micro-batches. LATE_SEED=N: by that seed. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/status.h"
#include "tests/rooms/pipeline/sweep_mpi.h"

typedef struct late_case {
    const char *name;
    pipeline_setting setting;
} late_case;

static const uint32_t copies[] = {2, 1, 2}, sizes[] = {1, 2, 4};

static const late_case cases[] = {
    {"four stages", {.model = "mlp", .micro_batches = 6, .more = 3, .stages = 4, .devices = 4, .steps = 4}},
    {"interleaved stages",
     {.model = "gpt_tied",
      .kind = &ons_generator_interleaved,
      .micro_batches = 4,
      .stages = 4,
      .devices = 2,
      .steps = 3,
      .eviction = PIPELINE_SWAPS_AND_RECOMPUTES,
      .one_in = 2}},
    {"three replicas", {.model = "mlp", .micro_batches = 2, .replicas = 3, .stages = 1, .devices = 1, .steps = 8}},
    {"three replicas of two stages",
     {.model = "lenet", .micro_batches = 2, .more = 2, .replicas = 3, .stages = 2, .devices = 2, .steps = 4}},
    {"running statistics",
     {.model = "cnn_dynamic", .micro_batches = 2, .replicas = 2, .stages = 2, .devices = 2, .steps = 4}},
    {"copies of stages", {.model = "mlp", .micro_batches = 6, .stages = 3, .devices = 5, .copies = copies, .steps = 5}},
    {"stages of different micro-batches",
     {.model = "mlp", .micro_batches = 4, .stages = 3, .devices = 3, .sizes = sizes, .steps = 5}},
};

/* In one process, and in sequence. */
static ons_status *run_in_sequence(pipeline_setting s, pipeline_record *record) {
    s.late = false;
    s.eviction = PIPELINE_KEEPS;
    s.replayed = s.sizes != NULL;
    s.grouped = s.replicas > 1 || (s.copies != NULL && !s.replayed);
    if (s.copies == NULL && s.sizes == NULL) {
        s.stages = s.devices = 1;
        s.kind = &ons_generator_one_f_one_b;
    }
    return pipeline_run(&s, record);
}

static ons_status *run(pipeline_setting s, uint64_t seed) {
    pipeline_record wanted, first = {.arena = NULL};
    s.late = true;
    s.threads = 1;
    s.seed = seed;
    if (s.kind == NULL) s.kind = &ons_generator_one_f_one_b;
    ONS_TRY(run_in_sequence(s, &wanted));
    ons_status *status = sweep_by_processes(&s, &wanted, &first);
    pipeline_record_free(&first);
    pipeline_record_free(&wanted);
    return status;
}

int main(int argc, char **argv) {
    int code, failed = 0;
    if (sweep_is_part(argc, argv, &code)) return code;
    const char *given = getenv("LATE_SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 10) : (uint64_t)time(NULL) % 1000000;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        ons_status *status = run(cases[i].setting, seed);
        printf("%s, seed %llu: %s\n", cases[i].name, (unsigned long long)seed,
               status == NULL ? "ok" : ons_status_get_message(status));
        failed += status != NULL;
        ons_status_free(status);
    }
    return failed != 0;
}
