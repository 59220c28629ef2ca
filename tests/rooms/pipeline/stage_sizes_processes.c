/* Stages whose micro-batches are of different sizes, and copies of such stages, each in a process of its own: the bits
 * of their lists carried out one after another. */
#include <stdio.h>
#include <stdlib.h>

#include "base/status.h"
#include "tests/rooms/pipeline/sweep_mpi.h"

enum { STAGES_MOST = 4 };

typedef struct pace_case {
    const char *model;
    uint32_t micro_batches, stages, sizes[STAGES_MOST], copies[STAGES_MOST], in_flight, steps;
    pipeline_eviction eviction;
} pace_case;

/* Units have as many samples as the golden models' batches. */
static const pace_case cases[] = {
    {.model = "mlp", .micro_batches = 4, .stages = 2, .sizes = {1, 2}, .in_flight = 1, .steps = 3},
    {.model = "mlp", .micro_batches = 4, .stages = 2, .sizes = {4, 1}, .in_flight = 2, .steps = 6},
    {.model = "mlp", .micro_batches = 6, .stages = 3, .sizes = {2, 3, 1}, .steps = 3},
    {.model = "gpt_tied", .micro_batches = 4, .stages = 3, .sizes = {1, 2, 4}, .in_flight = 1, .steps = 2},
    {.model = "gpt_decomposed",
     .micro_batches = 4,
     .stages = 4,
     .sizes = {4, 2, 1, 2},
     .in_flight = 2,
     .steps = 2,
     .eviction = PIPELINE_SWAPS_AND_RECOMPUTES},
    {.model = "mlp", .micro_batches = 4, .stages = 2, .sizes = {1, 2}, .copies = {4, 1}, .in_flight = 1, .steps = 6},
    {.model = "mlp", .micro_batches = 12, .stages = 2, .sizes = {3, 2}, .copies = {2, 3}, .steps = 3},
    {.model = "mlp",
     .micro_batches = 12,
     .stages = 3,
     .sizes = {2, 3, 1},
     .copies = {3, 2, 2},
     .in_flight = 1,
     .steps = 3},
    {.model = "gpt_tied",
     .micro_batches = 4,
     .stages = 3,
     .sizes = {1, 2, 4},
     .copies = {2, 2, 1},
     .steps = 2,
     .eviction = PIPELINE_RECOMPUTES},
};

static uint32_t count_devices(const pace_case *c) {
    uint32_t devices = 0;
    for (uint32_t i = 0; i < c->stages; ++i) devices += c->copies[0] == 0 ? 1 : c->copies[i];
    return devices;
}

static ons_status *run(const pace_case *c) {
    pipeline_setting s = {.model = c->model,
                          .kind = &ons_generator_gpipe,
                          .micro_batches = c->micro_batches,
                          .stages = c->stages,
                          .devices = count_devices(c),
                          .sizes = c->sizes,
                          .copies = c->copies[0] == 0 ? NULL : c->copies,
                          .in_flight = c->in_flight,
                          .steps = c->steps,
                          .eviction = c->eviction,
                          .one_in = 2,
                          .threads = 1};
    pipeline_setting replayed = s;
    pipeline_record wanted, first = {.arena = NULL};
    replayed.replayed = true;
    replayed.eviction = PIPELINE_KEEPS;
    ONS_TRY(pipeline_run(&replayed, &wanted));
    ons_status *status = sweep_by_processes(&s, &wanted, &first);
    pipeline_record_free(&first);
    pipeline_record_free(&wanted);
    return status;
}

int main(int argc, char **argv) {
    int code, failed = 0;
    if (sweep_is_part(argc, argv, &code)) return code;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        ons_status *status = run(&cases[i]);
        printf("%s, %u stages, case %zu: %s\n", cases[i].model, cases[i].stages, i,
               status == NULL ? "ok" : ons_status_get_message(status));
        failed += status != NULL;
        ons_status_free(status);
    }
    return failed != 0;
}
