/* Whatever the schedule, a run has the bits of one stage: every generator, with one to three stages on a device. */
#include <criterion/criterion.h>

#include "base/status.h"
#include "tests/rooms/pipeline/pipeline_run.h"
#include "tests/rooms/planner/random_work.h"

static void must(ons_status *status, const pipeline_setting *s) {
    cr_assert_null(status, "%s, %s, %u stages on %u devices, %s, %u micro-batches, seed %llu: %s", s->model,
                   s->kind->name, s->stages, s->devices, pipeline_eviction_name(s->eviction), s->micro_batches,
                   (unsigned long long)s->seed, ons_status_get_message(status));
}

static pipeline_record run_whole(pipeline_setting s) {
    pipeline_record whole;
    s.stages = s.devices = 1;
    s.eviction = PIPELINE_KEEPS;
    s.kind = &ons_generator_one_f_one_b;
    must(pipeline_run(&s, &whole), &s);
    return whole;
}

static void compare(const pipeline_setting *s, const pipeline_record *whole) {
    pipeline_record cut;
    must(pipeline_run(s, &cut), s);
    must(pipeline_compare(whole, &cut), s);
    pipeline_record_free(&cut);
}

static bool takes(const ons_generator *generator, uint32_t stages, uint32_t devices) {
    uint32_t chunks = stages / devices;
    return !generator->asynchronous && generator->group == NULL && (generator->chunks > 1 || chunks == 1) &&
           (generator != &ons_generator_v || chunks <= 2);
}

static void try_schedules(pipeline_setting s) {
    pipeline_record whole = run_whole(s);
    for (const ons_generator *const *g = ons_generators; *g != NULL; ++g)
        for (s.devices = 1; s.devices <= 3; ++s.devices)
            for (uint32_t chunks = 1; chunks <= 3; ++chunks) {
                s.stages = s.devices * chunks;
                s.kind = *g;
                s.seed = 17 * s.devices + chunks;
                if (takes(*g, s.stages, s.devices)) compare(&s, &whole);
            }
    pipeline_record_free(&whole);
}

Test(schedules, multilayer_perceptron) {
    try_schedules((pipeline_setting){.model = "mlp", .micro_batches = 4, .steps = 2});
}

Test(schedules, convolutions_and_statistics) {
    try_schedules((pipeline_setting){.model = "lenet", .micro_batches = 6, .steps = 2});
}

Test(schedules, gpt_with_tied_weights) {
    try_schedules((pipeline_setting){.model = "gpt_tied", .micro_batches = 4, .steps = 2});
}

Test(schedules, residual_network) {
    try_schedules((pipeline_setting){.model = "resnet18", .micro_batches = 4, .steps = 2});
}

Test(schedules, uneven_last_micro_batch) {
    try_schedules((pipeline_setting){.model = "cnn_dynamic", .micro_batches = 4, .more = 3, .steps = 3});
}

Test(schedules, fewer_micro_batches_than_stages) {
    try_schedules((pipeline_setting){.model = "mlp", .micro_batches = 2, .steps = 2});
}

Test(schedules, swapped_and_made_again) {
    static const char *const models[] = {"mlp", "lenet", "gpt_tied"};
    for (int i = 0; i < 3; ++i)
        try_schedules((pipeline_setting){.model = models[i],
                                         .micro_batches = 4,
                                         .steps = 2,
                                         .eviction = PIPELINE_SWAPS_AND_RECOMPUTES,
                                         .one_in = 2});
}

/* Nodes anywhere: stages read what others made long before, with more micro-batches in between than there is room for
 * between neighbours. */
Test(schedules, connections_that_skip_stages) {
    static const char *const models[] = {"mlp", "gpt_tied"};
    for (int i = 0; i < 2; ++i)
        try_schedules((pipeline_setting){.model = models[i], .micro_batches = 12, .steps = 1, .scattered = true});
}

/* ------------------------------------------------------------------------------------------- weight gradients apart */

/* Weight gradients that wait: they come in the order of input gradients, of each stage. */
typedef struct waiting {
    ons_action *items;
    uint32_t count;
} waiting;

static bool is_first_of_its_stage(const waiting *w, uint32_t index) {
    for (uint32_t i = 0; i < index; ++i)
        if (w->items[i].stage == w->items[index].stage) return false;
    return true;
}

static void put_some(waiting *w, random_source *random, double chance, ons_action_list *to) {
    for (uint32_t i = 0; i < w->count;) {
        if (!is_first_of_its_stage(w, i) || !random_chance(random, chance)) {
            ++i;
            continue;
        }
        to->items[to->count++] = w->items[i];
        --w->count;
        for (uint32_t k = i; k < w->count; ++k) w->items[k] = w->items[k + 1];
    }
}

/* Keeps the order of a list, but weight gradients come by chance, some of them right behind their input gradients as a
 * whole backward part; updates come last. */
static void take_apart(const ons_action_list *from, random_source *random, ons_arena *arena, ons_action_list *to) {
    waiting w = {ons_arena_allocate(arena, from->count, sizeof *w.items), 0}, updates = w;
    updates.items = ons_arena_allocate(arena, from->count, sizeof *updates.items);
    *to = (ons_action_list){ons_arena_allocate(arena, 2 * from->count, sizeof *to->items), 0};
    for (uint32_t i = 0; i < from->count; ++i) {
        ons_action a = from->items[i];
        if (a.kind == ONS_ACTION_UPDATE) {
            updates.items[updates.count++] = a;
            continue;
        }
        bool whole = a.kind == ONS_ACTION_BACKWARD && random_chance(random, 0.2);
        put_some(&w, random, whole ? 1 : 0.3, to); /* gradients are added in the order of micro-batches */
        if (a.kind == ONS_ACTION_BACKWARD && !whole) {
            a.kind = ONS_ACTION_WEIGHT_GRADIENT;
            w.items[w.count++] = a;
            a.kind = ONS_ACTION_INPUT_GRADIENT;
        }
        to->items[to->count++] = a;
    }
    while (w.count > 0) put_some(&w, random, 0.5, to);
    put_some(&updates, random, 1, to);
}

static const ons_generator *make_apart(const pipeline_setting *s, ons_arena *arena) {
    const ons_pipeline p = {s->kind, s->stages, s->micro_batches, s->devices, 1};
    ons_schedule *schedule = ons_arena_allocate(arena, 1, sizeof *schedule);
    random_source random = {s->seed};
    const ons_generator *generator;
    must(ons_schedule_make(&p, arena, schedule), s);
    for (uint32_t i = 0; i < s->devices; ++i) {
        const ons_action_list from = schedule->lists[i];
        take_apart(&from, &random, arena, &schedule->lists[i]);
    }
    must(ons_schedule_put_updates_last(schedule, arena), s);
    must(ons_schedule_verify(schedule, NULL, arena), s);
    must(ons_generator_of_lists(schedule, s->kind->name, arena, &generator), s);
    return generator;
}

/* False where what is swapped or made again cannot be in such lists. */
static bool compare_unless_refused(const pipeline_setting *s, const pipeline_record *whole) {
    pipeline_record cut;
    ons_status *status = pipeline_run(s, &cut);
    if (status != NULL && s->eviction != PIPELINE_KEEPS && ons_status_get_code(status) == ONS_UNSUPPORTED) {
        ons_status_free(status);
        return false;
    }
    must(status, s);
    must(pipeline_compare(whole, &cut), s);
    pipeline_record_free(&cut);
    return true;
}

static void try_apart(pipeline_setting s, uint64_t seeds) {
    static const ons_generator *const generators[] = {&ons_generator_v, &ons_generator_interleaved,
                                                      &ons_generator_one_f_one_b};
    pipeline_record whole = run_whole(s);
    uint64_t compared = 0;
    for (uint64_t seed = 1; seed <= seeds; ++seed) {
        ons_arena *arena = ons_arena_new();
        s.seed = seed;
        s.kind = generators[seed % 3];
        s.devices = 1 + (uint32_t)(seed / 3 % 3);
        s.stages = s.devices * s.kind->chunks;
        s.kind = make_apart(&s, arena);
        compared += compare_unless_refused(&s, &whole);
        ons_arena_free(arena);
    }
    cr_expect(compared > seeds / 2, "%s: %llu of %llu", s.model, (unsigned long long)compared,
              (unsigned long long)seeds);
    pipeline_record_free(&whole);
}

Test(schedules, weight_gradients_at_any_time) {
    static const char *const models[] = {"mlp", "lenet", "gpt_tied"};
    for (int i = 0; i < 3; ++i) {
        try_apart((pipeline_setting){.model = models[i], .micro_batches = 1, .steps = 1}, 9);
        try_apart((pipeline_setting){.model = models[i], .micro_batches = 4, .steps = 2}, 18);
    }
}

Test(schedules, weight_gradients_at_any_time_of_what_is_swapped_and_made_again) {
    static const char *const models[] = {"lenet", "gpt_tied"};
    for (int i = 0; i < 2; ++i)
        try_apart((pipeline_setting){.model = models[i],
                                     .micro_batches = 4,
                                     .steps = 1,
                                     .eviction = PIPELINE_SWAPS_AND_RECOMPUTES,
                                     .one_in = 2},
                  18);
}
