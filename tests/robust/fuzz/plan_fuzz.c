/* Any bytes as a plan: what was read prints, what was printed reads and prints the same, and small ones are simulated.
 */
#include <stdlib.h>
#include <string.h>

#include "planner/plan/plan_replay.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void print_again(const ons_plan *plan, ons_arena *arena) {
    char *first = NULL, *second = NULL;
    ons_plan again;
    if (ons_plan_print(plan, &first) != NULL || ons_plan_parse(first, strlen(first), arena, &again) != NULL ||
        ons_plan_print(&again, &second) != NULL || strcmp(first, second) != 0)
        abort();
    free(first);
    free(second);
}

/* What an asynchronous pipeline takes to become steady grows with the square of its stages. */
static void simulate(const ons_plan *plan, ons_arena *arena) {
    if (plan->pipeline.stages > 8 || plan->pipeline.micro_batches > 64) return;
    ons_pipeline_forecast forecast;
    ons_status *status = ons_plan_replay(plan, arena, &forecast);
    if (status == NULL) ons_simulation_free(forecast.simulation);
    ons_status_free(status);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    ons_arena *arena = ons_arena_new();
    ons_plan plan;
    ons_status *status = ons_plan_parse((const char *)bytes, size, arena, &plan);
    if (status == NULL) {
        print_again(&plan, arena);
        simulate(&plan, arena);
    } else if (ons_status_get_message(status)[0] == '\0') {
        abort(); /* a failure says something */
    }
    ons_status_free(status);
    ons_arena_free(arena);
    return 0;
}
