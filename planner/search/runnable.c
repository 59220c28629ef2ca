#include "planner/search/runnable.h"

ons_status *ons_schedule_can_run(const ons_schedule *schedule, bool *can) {
    ons_arena *scratch = ons_arena_new();
    if (scratch == NULL) return ons_status_out_of_memory();
    ons_status *status = ons_schedule_verify(schedule, NULL, scratch);
    ons_arena_free(scratch);
    *can = status == NULL;
    if (*can || ons_status_get_code(status) != ONS_INVALID_DATA) return status;
    ons_status_free(status);
    return NULL;
}
