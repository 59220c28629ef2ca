#include "engine/config/schedule_file.h"

#include <inttypes.h>
#include <string.h>

#include "base/file.h"
#include "planner/schedule/csv.h"

/* An option that says the same is fine. */
static ons_status *check_count(const ons_config *c, const char *option, int64_t said, uint32_t written) {
    if (!ons_config_is_given(c, option) || said == 0 || said == written) return NULL;
    return ons_status_new(ONS_INVALID_ARGUMENT,
                          "--%s %" PRId64 " beside --schedule %s, which is written for %u: leave --%s out", option,
                          said, c->schedule, written, option);
}

static ons_status *check_alone(const ons_config *c, const char *option) {
    ONS_CHECK(!ons_config_is_given(c, option), ONS_INVALID_ARGUMENT,
              "--%s beside --schedule %s, which is a schedule itself: leave one of them out", option, c->schedule);
    return NULL;
}

static ons_status *read_schedule(const char *path, ons_arena *arena, ons_schedule *schedule) {
    ons_mapping file;
    ONS_TRY(ons_mapping_open(path, &file));
    ons_status *status = ons_schedule_parse_csv((const char *)file.bytes, file.size, arena, schedule);
    ons_mapping_close(&file);
    return status == NULL ? NULL : ons_status_at(status, "%s", path);
}

ons_status *ons_config_follow_schedule(ons_config *c, ons_arena *arena) {
    ons_schedule *schedule;
    if (c->schedule == NULL) return NULL;
    ONS_TRY(check_alone(c, "pipeline"));
    ONS_TRY(check_alone(c, "plan"));
    ONS_NEW(schedule, arena, 1);
    ONS_TRY(read_schedule(c->schedule, arena, schedule));
    ONS_TRY(check_count(c, "stages", c->stages, schedule->stages));
    ONS_TRY(check_count(c, "devices", c->devices, schedule->devices));
    ONS_TRY(check_count(c, "micro-batches", c->micro_batches, schedule->micro_batches));
    c->stages = schedule->stages;
    c->devices = schedule->devices;
    c->micro_batches = schedule->micro_batches;
    const char *slash = strrchr(c->schedule, '/'); /* a plan says nothing of where it was made */
    const char *name = ons_arena_copy_text(arena, slash == NULL ? c->schedule : slash + 1);
    if (name == NULL) return ons_status_out_of_memory();
    return ons_generator_of_lists(schedule, name, arena, &c->generator);
}
