#include "engine/plan/schedule_choice.h"

#include <string.h>

/* What stands in the list of generators is kept as it is; the lists of others are. */
static ons_status *copy_generator(const ons_portfolio_candidate *c, ons_arena *arena, const ons_generator **generator) {
    ons_schedule *schedule;
    const ons_schedule *from = c->schedule;
    const char *name = ons_arena_copy_text(arena, c->name);
    *generator = c->pipeline.generator;
    if (ons_generator_find(c->name) == c->pipeline.generator) return NULL;
    if (name == NULL) return ons_status_out_of_memory();
    ONS_NEW(schedule, arena, 1);
    *schedule = (ons_schedule){.stages = from->stages,
                               .devices = from->devices,
                               .micro_batches = from->micro_batches,
                               .asynchronous = from->asynchronous};
    ONS_NEW(schedule->lists, arena, from->devices);
    for (uint32_t i = 0; i < from->devices; ++i) {
        ons_action_list *list = &schedule->lists[i];
        list->count = from->lists[i].count;
        ONS_NEW(list->items, arena, list->count + 1);
        memcpy(list->items, from->lists[i].items, list->count * sizeof *list->items);
    }
    ONS_TRY(ons_schedule_take(schedule, arena));
    return ons_generator_of_lists(schedule, name, arena, generator);
}

static ons_status *copy(const ons_portfolio_candidate *c, ons_arena *arena, ons_schedule_choice *choice) {
    *choice = (ons_schedule_choice){.pipeline = c->pipeline, .strategy = ons_partition_strategy_find(c->strategy)};
    return copy_generator(c, arena, &choice->pipeline.generator);
}

/* Where not even the first has a schedule, it is for the planner to say why. */
static ons_status *search_portfolio(const ons_planning_problem *problem, const ons_partition_strategy *strategy,
                                    ons_arena *scratch, ons_arena *arena, ons_schedule_choices *choices) {
    const ons_portfolio_options options = {.strategy = strategy};
    ons_portfolio portfolio;
    uint32_t *order;
    ONS_TRY(ons_portfolio_search(problem, &options, scratch, &portfolio));
    ONS_TRY(ons_portfolio_rank(&portfolio, scratch, &order, &choices->count));
    ONS_NEW(choices->items, arena, choices->count);
    for (uint32_t i = 0; i < choices->count; ++i)
        ONS_TRY(copy(&portfolio.candidates[order[i]], arena, &choices->items[i]));
    return NULL;
}

ons_status *ons_schedule_choices_find(const ons_planning_problem *problem, const ons_partition_strategy *strategy,
                                      ons_arena *arena, ons_schedule_choices *choices) {
    ons_arena *scratch = ons_arena_new();
    if (scratch == NULL) return ons_status_out_of_memory();
    ons_status *status = search_portfolio(problem, strategy, scratch, arena, choices);
    ons_arena_free(scratch);
    return status;
}
