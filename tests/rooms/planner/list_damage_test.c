/* The check of lists accepts random ones that can run, and refuses damaged ones with the action's name. A failure names
 * the seed. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "planner/plan/plan_check.h"
#include "tests/rooms/planner/longest_path.h"
#include "tests/rooms/planner/random_lists.h"

enum { LISTS = 1000 };

static ons_arena *arena;

static void make_arena(void) { arena = ons_arena_new(); }
static void free_arena(void) { ons_arena_free(arena); }

TestSuite(list_damage, .init = make_arena, .fini = free_arena);

static void expect_success(ons_status *status, uint64_t seed) {
    cr_assert(status == NULL, "seed %llu: %s", (unsigned long long)seed,
              status != NULL ? ons_status_get_message(status) : "");
}

static void expect_part(ons_status *status, const char *part, uint64_t seed) {
    cr_assert_not_null(status, "seed %llu: expected a failure with '%s'", (unsigned long long)seed, part);
    cr_expect(strstr(ons_status_get_message(status), part) != NULL, "seed %llu: '%s' lacks '%s'",
              (unsigned long long)seed, ons_status_get_message(status), part);
    ons_status_free(status);
}

/* A plan whose layout has places for what these lists keep. */
static ons_plan plan_for(const ons_schedule *lists) {
    ons_plan plan = {.stages = ons_arena_allocate(arena, lists->stages, sizeof *plan.stages)};
    for (uint32_t i = 0; i < lists->stages; ++i) plan.stages[i].load = lists->loads[i];
    return plan;
}

static ons_status *check(ons_plan *plan, ons_schedule *lists) {
    ONS_TRY(ons_schedule_take(lists, arena));
    ONS_TRY(ons_schedule_verify(lists, NULL, arena));
    plan->schedule = *lists;
    return ons_plan_check_places(plan);
}

/* Whether or not they can run: with a place too few taken, others may wait for ever as well. */
static ons_status *check_places(ons_plan *plan, ons_schedule *lists) {
    ONS_TRY(ons_schedule_take(lists, arena));
    plan->schedule = *lists;
    return ons_plan_check_places(plan);
}

static void expect_places(const ons_schedule *lists, uint64_t seed) {
    for (uint32_t i = 0; i < lists->stages; ++i)
        cr_assert_eq(lists->loads[i].in_flight, random_lists_in_flight(&lists->lists[lists->device_of[i]], i),
                     "seed %llu, stage %u", (unsigned long long)seed, i);
}

static ons_plan make_legal(random_source *random, uint64_t seed, ons_schedule *lists) {
    *lists = random_lists_make(random, arena);
    expect_success(ons_schedule_take(lists, arena), seed);
    ons_plan plan = plan_for(lists);
    expect_success(check(&plan, lists), seed);
    expect_places(lists, seed);
    return plan;
}

Test(list_damage, legal_lists_are_accepted) {
    uint32_t shared = 0, apart = 0, waiting = 0;
    for (uint64_t seed = 1; seed <= LISTS; ++seed) {
        random_source random = {seed};
        ons_schedule lists;
        make_legal(&random, seed, &lists);
        shared += lists.stages > lists.devices;
        for (uint32_t i = 0; i < lists.stages; ++i) {
            apart += lists.loads[i].apart;
            waiting += lists.loads[i].in_flight > 2;
        }
        free_arena(), make_arena();
    }
    cr_expect(shared > LISTS / 3 && apart > LISTS && waiting > LISTS, "%u, %u, %u", shared, apart, waiting);
}

/* What must be said of the action. */
static void name_action(list_damage damage, const ons_action *a, char part[static 64]) {
    const char *kind = ons_action_name(a->kind);
    if (damage == ACTION_TWICE)
        snprintf(part, 64, "%s of stage %u, micro-batch %u comes twice", kind, a->stage, a->micro_batch);
    else if (damage == PLACE_OVERRUN)
        snprintf(part, 64, "(\"%uF%u\"): one micro-batch more waits", a->stage, a->micro_batch);
    else if (damage == CIRCULAR_WAIT)
        snprintf(part, 64, "the schedule hangs with room for ");
    else if (a->kind == ONS_ACTION_UPDATE && damage == ACTION_MISSING)
        snprintf(part, 64, "stage %u: no update follows micro-batch %u", a->stage, a->micro_batch);
    else
        snprintf(part, 64, "stage %u, micro-batch %u: ", a->stage, a->micro_batch);
}

/* With room for every message, so that lists alone can hold them up. */
static ons_status *verify_with_room(const ons_schedule *lists) {
    ons_stage_edge edges[16];
    for (uint32_t i = 0; i + 1 < lists->stages; ++i)
        edges[i] = (ons_stage_edge){i, i + 1, true, false, lists->micro_batches};
    return ons_schedule_verify(lists, &(ons_stage_edges){edges, lists->stages - 1}, arena);
}

/* What is named is an action that can never run. */
static void expect_stuck(const ons_schedule *lists, uint64_t seed) {
    ons_status *status = verify_with_room(lists);
    cr_assert_not_null(status, "seed %llu: accepted", (unsigned long long)seed);
    uint32_t device, at;
    const char *message = ons_status_get_message(status), *place = strstr(message, "device ");
    stage_times times[16];
    for (uint32_t i = 0; i < lists->stages; ++i) times[i] = (stage_times){1, 1, 1};
    longest_path path = longest_path_find(lists, times, 0, arena);
    cr_assert(place != NULL && sscanf(place, "device %u stands at action %u", &device, &at) == 2, "%s", message);
    const ons_action *a = &lists->lists[device].items[at];
    uint32_t index = a->stage * lists->micro_batches + a->micro_batch;
    double end = a->kind == ONS_ACTION_FORWARD ? path.forward[index] : path.gradient[index];
    cr_expect(end < 0, "seed %llu: it runs: %s", (unsigned long long)seed, message);
    ons_status_free(status);
}

/* One that there is a place for, in lists of this seed or, by chance, a later draw. */
static void damage_once(uint64_t seed) {
    random_source random = {seed};
    list_damage damage = (list_damage)(seed % LIST_DAMAGES);
    ons_action action;
    for (;;) {
        ons_schedule lists;
        ons_plan plan = make_legal(&random, seed, &lists);
        char part[64];
        if (!random_lists_damage(&random, damage, arena, &lists, &action)) continue;
        name_action(damage, &action, part);
        ons_status *status = damage == PLACE_OVERRUN ? check_places(&plan, &lists) : check(&plan, &lists);
        expect_part(status, part, seed);
        if (damage == CIRCULAR_WAIT) expect_stuck(&lists, seed);
        return;
    }
}

Test(list_damage, damaged_lists_are_refused) {
    for (uint64_t seed = 1; seed <= LISTS; ++seed) {
        damage_once(seed);
        free_arena(), make_arena();
    }
}

/* Without places for more than 1F1B's first stage keeps, weight gradients cannot all wait for the end. */
Test(list_damage, all_weight_gradients_last_overrun_the_places_of_zb_h1) {
    ons_schedule lists;
    expect_success(ons_schedule_make(&(ons_pipeline){&ons_generator_zero_bubble, 4, 8, 4, 1}, arena, &lists), 0);
    ons_plan plan = plan_for(&lists);
    expect_success(check(&plan, &lists), 0);
    for (uint32_t device = 0; device < lists.devices; ++device) {
        ons_action_list *list = &lists.lists[device];
        ons_action *sorted = ons_arena_allocate(arena, list->count, sizeof *sorted);
        uint32_t count = 0;
        for (int last = 0; last < 2; ++last) /* weight gradients and the update behind the others, in their order */
            for (uint32_t i = 0; i < list->count; ++i) {
                ons_action_kind kind = list->items[i].kind;
                bool waits = kind == ONS_ACTION_WEIGHT_GRADIENT || kind == ONS_ACTION_UPDATE;
                if (waits == (last == 1)) sorted[count++] = list->items[i];
            }
        list->items = sorted;
    }
    expect_success(ons_schedule_verify(&lists, NULL, arena), 0);
    expect_part(check(&plan, &lists),
                "(\"0F4\"): one micro-batch more waits for its backward part in stage 0 than the 4", 0);
}
