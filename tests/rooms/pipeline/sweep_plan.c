#include "tests/rooms/pipeline/sweep_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "engine/plan/planning.h"
#include "planner/schedule/csv.h"
#include "planner/schedule/flexpipe.h"
#include "planner/schedule/separate.h"

enum { PATH_BYTES = 256, NOTHING = 1000 /* bytes in which nothing can be trained */ };

typedef struct plan_wish {
    const pipeline_setting *s;
    const char *schedule, *path;
} plan_wish;

/* ----------------------------------------------------------------------------------------------- schedules of lists */

static ons_status *make_flexpipe(const pipeline_setting *s, ons_arena *arena, ons_schedule *schedule) {
    const ons_flexpipe_options options = {
        .placement = ONS_PLACEMENT_CIRCULAR,
        .type = ONS_BACKWARD_FIRST,
        .forward = {.depth_first = true},
    };
    ons_pipeline pipeline = {NULL, s->stages, s->micro_batches, s->devices, 1};
    ONS_TRY(ons_generator_of_flexpipe(&options, "flexpipe", arena, &pipeline.generator));
    return ons_schedule_make(&pipeline, arena, schedule);
}

static ons_status *make_separated(const pipeline_setting *s, ons_arena *arena, ons_schedule *schedule) {
    const ons_generator *base = s->stages > s->devices ? &ons_generator_interleaved : &ons_generator_one_f_one_b;
    const ons_pipeline pipeline = {base, s->stages, s->micro_batches, s->devices, 1};
    ons_schedule whole;
    ons_stage_times *times;
    ONS_TRY(ons_schedule_make(&pipeline, arena, &whole));
    ONS_NEW(times, arena, s->stages);
    for (uint32_t i = 0; i < s->stages; ++i) times[i] = (ons_stage_times){1, 1, 1};
    return ons_schedule_separate(&whole, times, NULL, arena, schedule);
}

static const struct {
    const char *name;
    ons_status *(*make)(const pipeline_setting *setting, ons_arena *arena, ons_schedule *schedule);
} written[] = {{"flexpipe", make_flexpipe}, {"separated", make_separated}};
enum { WRITTEN = sizeof written / sizeof *written };

static uint32_t find_written(const char *schedule) {
    uint32_t i = 0;
    while (i < WRITTEN && strcmp(written[i].name, schedule) != 0) ++i;
    return i;
}

/* A partition strategy that makes the schedule, too. */
static bool is_partition(const char *schedule) {
    const ons_partition_strategy *strategy = ons_partition_strategy_find(schedule);
    return strategy != NULL && strategy->search == NULL;
}

bool sweep_knows_schedule(const char *schedule) {
    return find_written(schedule) < WRITTEN || is_partition(schedule) || ons_generator_find(schedule) != NULL;
}

static ons_status *write_schedule(const pipeline_setting *s, uint32_t which, ons_arena *arena, const char *path) {
    ons_schedule schedule;
    char *text;
    ONS_TRY(written[which].make(s, arena, &schedule));
    ONS_TRY(ons_schedule_print_csv(&schedule, &text));
    ons_status *status = ons_file_write_text(path, text);
    free(text);
    return status;
}

static ons_status *set_schedule(const plan_wish *w, ons_config *config) {
    char path[PATH_BYTES];
    uint32_t which = find_written(w->schedule);
    if (is_partition(w->schedule)) return ons_config_set(config, "partition", w->schedule);
    if (which == WRITTEN) return ons_config_set(config, "pipeline", w->schedule);
    snprintf(path, sizeof path, "%s.csv", w->path);
    ons_arena *arena = ons_arena_new();
    if (arena == NULL) return ons_status_out_of_memory();
    ons_status *status = write_schedule(w->s, which, arena, path);
    ons_arena_free(arena);
    return status != NULL ? status : ons_config_set(config, "schedule", path);
}

/* --------------------------------------------------------------------------------------------------------- planning */

static ons_status *set_number(ons_config *config, const char *option, int64_t value) {
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)value);
    return ons_config_set(config, option, text);
}

static ons_status *configure(const plan_wish *w, int64_t cap, ons_config *config) {
    ONS_TRY(pipeline_configure(w->s, config));
    if (w->s->more > 0) ONS_TRY(set_number(config, "batch", config->batch + w->s->more));
    ONS_TRY(set_number(config, "stages", w->s->stages));
    ONS_TRY(set_number(config, "devices", w->s->devices));
    ONS_TRY(set_schedule(w, config));
    return cap > 0 ? set_number(config, "memory", cap) : NULL;
}

static int64_t find_largest(const ons_plan *plan) {
    int64_t largest = 0;
    for (uint32_t i = 0; i < plan->pipeline.stages; ++i)
        if (plan->stages[i].memory_bytes > largest) largest = plan->stages[i].memory_bytes;
    return largest;
}

static ons_status *plan_with(const plan_wish *w, const ons_config *config, int64_t *largest) {
    char model[PATH_BYTES];
    ons_planning *planning = NULL;
    snprintf(model, sizeof model, "tests/agreement/golden/%s/model.onnx", w->s->model);
    ONS_TRY(ons_planning_new(model, config, &planning));
    *largest = find_largest(&planning->plan);
    ons_status *status = ons_planning_write(planning, w->path);
    ons_planning_free(planning);
    return status;
}

/* *largest: of the devices' arenas. */
static ons_status *plan(const plan_wish *w, int64_t cap, int64_t *largest) {
    ons_config *config;
    char lists[PATH_BYTES];
    ONS_TRY(ons_config_new(&config));
    ons_status *status = configure(w, cap, config);
    if (status == NULL) status = plan_with(w, config, largest);
    ons_config_free(config);
    snprintf(lists, sizeof lists, "%s.csv", w->path);
    unlink(lists);
    return status;
}

/* A refusal names it. */
static ons_status *find_least(const plan_wish *w, int64_t *least) {
    static const char words[] = "--memory ";
    int64_t largest;
    ons_status *refusal = plan(w, NOTHING, &largest);
    ONS_CHECK(refusal != NULL, ONS_DEFECT, "a plan for %d bytes", NOTHING);
    const char *told = strstr(ons_status_get_message(refusal), words);
    if (ons_status_get_code(refusal) != ONS_OUT_OF_MEMORY || told == NULL) return refusal;
    *least = strtoll(told + strlen(words), NULL, 10);
    ons_status_free(refusal);
    return NULL;
}

/* What is possible without a cap is so with one that is not below the least. */
static ons_status *plan_capped(const plan_wish *w, int64_t largest, int64_t *cap) {
    int64_t least;
    ONS_TRY(find_least(w, &least));
    *cap = least < largest ? least + (largest - least) / 5 : largest;
    return plan(w, *cap, &largest);
}

ons_status *sweep_plan(const pipeline_setting *setting, const char *schedule, bool capped, const char *path,
                       int64_t *cap) {
    const plan_wish wish = {setting, schedule, path};
    int64_t largest;
    *cap = 0;
    ONS_TRY(plan(&wish, 0, &largest));
    ons_status *problem = capped ? plan_capped(&wish, largest, cap) : NULL;
    if (problem == NULL) return NULL;
    ons_status *defect = ons_status_new(ONS_DEFECT, "with a cap: %s", ons_status_get_message(problem));
    ons_status_free(problem);
    return defect;
}
