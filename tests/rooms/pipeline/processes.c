/* Trains each case by processes and in sequence, and compares the bits. PROCESSES_SEED=N: the seed of those that are
 * late. */
#include "tests/rooms/pipeline/processes.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/status.h"
#include "tests/rooms/pipeline/sweep_mpi.h"

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
    s.threads = 1;
    s.seed = s.late ? seed : 0;
    if (s.kind == NULL) s.kind = &ons_generator_one_f_one_b;
    if (s.sizes != NULL) ONS_TRY(pipeline_find_cut(&s));
    ONS_TRY(run_in_sequence(s, &wanted));
    ons_status *status = sweep_by_processes(&s, &wanted, &first);
    pipeline_record_free(&first);
    pipeline_record_free(&wanted);
    return status;
}

int main(int argc, char **argv) {
    int code, failed = 0;
    if (sweep_is_part(argc, argv, &code)) return code;
    const char *given = getenv("PROCESSES_SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 10) : (uint64_t)time(NULL) % 1000000;
    for (const process_case *c = process_cases; c->name != NULL; ++c) {
        ons_status *status = run(c->setting, seed);
        printf("%s, seed %llu: %s\n", c->name, (unsigned long long)seed,
               status == NULL ? "ok" : ons_status_get_message(status));
        failed += status != NULL;
        ons_status_free(status);
    }
    return failed != 0;
}
