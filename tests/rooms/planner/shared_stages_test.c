/* Stages on several devices at once: Chimera's closed form, steps computed by hand, lists of random plans against a
 * naive reference, and lists that are not valid. */
#include <criterion/criterion.h>
#include <math.h>

#include "planner/shared_stages/chimera.h"
#include "planner/shared_stages/placed_lists.h"
#include "planner/shared_stages/placed_simulation.h"
#include "planner/shared_stages/placements.h"
#include "tests/rooms/planner/random_work.h"

enum { MOST_STAGES = 40 };

static ons_arena *arena;

static void make_arena(void) { arena = ons_arena_new(); }
static void free_arena(void) { ons_arena_free(arena); }

TestSuite(shared_stages, .init = make_arena, .fini = free_arena);

static void expect_success(ons_status *status) {
    cr_assert(status == NULL, "%s", status != NULL ? ons_status_get_message(status) : "");
}

static void expect_refusal(ons_status *status, const char *part) {
    cr_assert_not_null(status, "expected a failure with '%s'", part);
    cr_expect(strstr(ons_status_get_message(status), part) != NULL, "'%s' lacks '%s'", ons_status_get_message(status),
              part);
    ons_status_free(status);
}

static ons_placed_forecast simulate(const ons_placed_plan *plan, const ons_action_list *lists) {
    ons_placed_forecast f;
    expect_success(ons_placed_simulate(plan, lists, arena, &f));
    ons_simulation_free(f.simulation);
    return f;
}

static void expect_seconds(double seconds, double expected, const char *what) {
    cr_expect(fabs(seconds - expected) <= 1e-12 * expected, "%s: %.15g, not %.15g", what, seconds, expected);
}

/* ---------------------------------------------------------------------------------------------------------- Chimera */

static ons_placed_plan both_ways(uint32_t devices, uint32_t parts, double f, double b, double sum) {
    ons_placed_plan plan = {.batch = parts};
    ons_placed_stage stages[MOST_STAGES];
    uint32_t first;
    for (uint32_t i = 0; i < devices; ++i)
        stages[i] = (ons_placed_stage){.samples = 1, .forward = f, .input = b / 2, .weight = b / 2, .sum = sum};
    ons_placed_line line = {.stages = stages, .count = devices, .devices = devices, .both_ways = true};
    expect_success(ons_placed_plan_add_line(&plan, &line, arena, &first));
    return plan;
}

/* N = D: N f + (N + D - 2) b for b >= f; run backwards, the same schedule says what b < f takes. */
Test(shared_stages, chimera_takes_what_its_closed_form_says) {
    static const double ratios[] = {1, 1.25, 1.5, 2, 2.5, 3, 4, 0.5, 0.25};
    for (uint32_t d = 2; d <= 12; d += 2)
        for (size_t i = 0; i < sizeof ratios / sizeof *ratios; ++i) {
            double f = 1e-3, b = ratios[i] * f, expected = d * fmin(f, b) + (2 * d - 2) * fmax(f, b);
            ons_placed_plan plan = both_ways(d, d, f, b, 0);
            ons_action_list *lists;
            expect_success(ons_chimera_lists(&plan, arena, &lists));
            ons_placed_forecast forecast = simulate(&plan, lists);
            cr_expect(fabs(forecast.seconds - expected) <= 1e-12 * expected, "N = D = %u, b = %g f: %.15g, not %.15g",
                      d, ratios[i], forecast.seconds, expected);
            if (i == 0) /* D - 2 of 2 N + D - 2 slots are bubbles */
                cr_expect(fabs(forecast.bubble_share - (d - 2.0) / (3 * d - 2)) < 1e-12, "D = %u: bubbles %.15g", d,
                          forecast.bubble_share);
        }
}

/* (m + p - 1)(f + b), whether devices look at times or not. */
Test(shared_stages, a_line_at_its_limits_is_1f1b) {
    for (uint32_t p = 1; p <= 8; ++p)
        for (uint32_t m = p; m <= 3 * p; m += p) {
            ons_placed_plan plan = {.batch = m};
            ons_placed_stage stages[MOST_STAGES];
            for (uint32_t i = 0; i < p; ++i)
                stages[i] = (ons_placed_stage){.samples = 1, .forward = 1, .input = 1, .weight = 1.5};
            ons_placed_line line = {.stages = stages, .count = p, .devices = p};
            ons_placed_order order = {.type = ONS_BACKWARD_FIRST, .lockstep = m == p};
            ons_action_list *lists;
            uint32_t first, *limits;
            expect_success(ons_placed_plan_add_line(&plan, &line, arena, &first));
            expect_success(ons_placed_limits(&plan, 0, arena, &limits));
            cr_expect_eq(limits[0], p);
            order.limits = limits;
            expect_success(ons_placed_lists_make(&plan, &order, arena, &lists));
            expect_seconds(simulate(&plan, lists).seconds, (m + p - 1) * 3.5, "1F1B");
        }
}

Test(shared_stages, gradients_of_copies_in_turn_are_summed_at_the_end) {
    ons_placed_plan plan = both_ways(2, 2, 1, 2, 0.25);
    ons_action_list *lists;
    expect_success(ons_chimera_lists(&plan, arena, &lists));
    expect_seconds(simulate(&plan, lists).seconds, 2 * 1 + 2 * 2 + 0.25, "two devices");
}

Test(shared_stages, chimera_is_of_as_many_micro_batches_as_devices) {
    ons_placed_plan plan = both_ways(4, 8, 1, 2, 0);
    ons_action_list *lists;
    expect_refusal(ons_chimera_lists(&plan, arena, &lists), "as many micro-batches");
    uint32_t first;
    ons_placed_stage stages[3] = {{.samples = 1}, {.samples = 1}, {.samples = 1}};
    ons_placed_line odd = {.stages = stages, .count = 3, .devices = 3, .both_ways = true};
    expect_refusal(ons_placed_plan_add_line(&plan, &odd, arena, &first), "even number");
}

/* ---------------------------------------------------------------------------------------------------------- by hand */

/* Two devices, each with a shard of the embedding, a stage and a shard of the head; one micro-batch:
 * embedding 1, sum 0.5; stages 2 and 3 with a message of 0.25 between; gather 0.125, head 1, statistics 0.5. Back: head
 * 2, sum 0.5, stages 6 and 4 with the message, gather 0.25, embedding 1. */
Test(shared_stages, shards_wait_for_each_other) {
    ons_placed_stage stages[] = {
        {.together = true, .samples = 1, .forward = 1, .weight = 1, .collectives = {0, 0.5, 0.25, 0}},
        {.samples = 1, .forward = 2, .input = 2, .weight = 2},
        {.samples = 1, .forward = 3, .input = 3, .weight = 3},
        {.together = true, .samples = 1, .forward = 1, .input = 1, .weight = 1, .collectives = {0.125, 0.5, 0, 0.5}}};
    ons_placed_plan plan = {.batch = 1};
    ons_placed_line line = {.stages = stages, .count = 4, .devices = 2, .message = 0.25, .gradient_message = 0.25};
    ons_placed_order order = {.type = ONS_BACKWARD_FIRST};
    ons_action_list *lists;
    uint32_t first;
    expect_success(ons_placed_plan_add_line(&plan, &line, arena, &first));
    expect_success(ons_placed_lists_make(&plan, &order, arena, &lists));
    double forward = 1.5 + 2 + 0.25 + 3 + 0.125 + 1 + 0.5, backward = 2.5 + 6 + 0.25 + 4 + 0.25 + 1;
    expect_seconds(simulate(&plan, lists).seconds, forward + backward, "whole backward parts");
    order.apart = true; /* the way back is the input gradients' alone; the weight gradients lie in its shade */
    expect_success(ons_placed_lists_make(&plan, &order, arena, &lists));
    backward = 1 + 0.5 + 3 + 0.25 + 2 + 0.25 + 0 + 2 + 1;
    cr_expect(simulate(&plan, lists).seconds <= forward + backward + 1);
}

typedef struct towers {
    ons_placed_plan plan;
    ons_placed_stage loss;
} towers;

/* Two towers of a device each: 1 forward and 2 back, and 3 forward and 1 back; a loss of 0.5 each way. */
static towers make_towers(int64_t batch, int64_t group, double gather, bool holds) {
    towers t = {.plan = {.batch = batch},
                .loss = {.samples = group, .forward = 0.5, .input = 0.5, .collectives = {gather}, .holds = holds}};
    ons_placed_stage a = {.samples = 1, .forward = 1, .input = 1, .weight = 1},
                     b = {.samples = 1, .forward = 3, .input = 1};
    uint32_t last[2];
    ons_placed_line line = {.stages = &a, .count = 1, .devices = 1};
    expect_success(ons_placed_plan_add_line(&t.plan, &line, arena, &last[0]));
    line.stages = &b;
    line.first_device = 1;
    expect_success(ons_placed_plan_add_line(&t.plan, &line, arena, &last[1]));
    expect_success(ons_placed_plan_add_barrier(&t.plan, &t.loss, last, 2, arena));
    return t;
}

Test(shared_stages, a_loss_waits_for_all_micro_batches_of_its_group) {
    ons_placed_order order = {.type = ONS_BACKWARD_FIRST};
    ons_action_list *lists;
    for (int holds = 0; holds < 2; ++holds) {
        towers t = make_towers(2, 2, 0.25, holds == 1);
        expect_success(ons_placed_lists_make(&t.plan, &order, arena, &lists));
        expect_seconds(simulate(&t.plan, lists).seconds, 6 + 0.25 + 0.5 + 0.5 + 4, "a group of two");
    }
    /* Two groups: the second's forward parts run before the first's loss where a device would wait. */
    towers t = make_towers(4, 2, 0.25, false);
    expect_success(ons_placed_lists_make(&t.plan, &order, arena, &lists));
    double step = simulate(&t.plan, lists).seconds;
    cr_expect(step >= 4 * 3 + 2 * (0.5 + 0.5) + 4 * 1 && step < 2 * (6 + 0.25 + 1 + 4), "%.15g", step);
}

/* ----------------------------------------------------------------------------------------------------- random plans */

typedef struct random_plan {
    ons_placed_plan plan;
    ons_placed_order order;
} random_plan;

static double random_seconds(random_source *r) { return 1e-3 * random_below(r, 1000); }

static ons_placed_stage random_costs(random_source *r, bool together, int64_t samples) {
    ons_placed_stage s = {.together = together,
                          .samples = samples,
                          .forward = random_seconds(r),
                          .input = random_seconds(r),
                          .weight = random_seconds(r),
                          .sum = random_chance(r, 0.3) ? random_seconds(r) : 0,
                          .update = random_seconds(r),
                          .held_bytes = random_below(r, 1000),
                          .saved_bytes = random_below(r, 100)};
    for (int i = 0; together && i < ONS_COLLECTIVES; ++i)
        if (random_chance(r, 0.7)) s.collectives[i] = random_seconds(r);
    s.holds = together && random_chance(r, 0.3);
    return s;
}

/* Some placement of some stages; a vocabulary at both ends or not; both ways or not. */
static uint32_t add_random_line(random_source *r, uint32_t first_device, int64_t samples, ons_placed_plan *plan) {
    ons_placed_stage stages[MOST_STAGES];
    bool vocabulary = random_chance(r, 0.5);
    ons_placed_line line = {.stages = stages,
                            .first_device = first_device,
                            .devices = 1 + random_below(r, 5),
                            .placement = random_below(r, 3),
                            .message = random_seconds(r),
                            .gradient_message = random_seconds(r)};
    uint32_t placed = line.devices * (line.placement == ONS_PLACEMENT_ONE_TO_ONE ? 1 : 1 + random_below(r, 3)), first;
    line.both_ways = line.devices % 2 == 0 && plan->batch / samples >= 2 && random_chance(r, 0.5);
    if (vocabulary) stages[line.count++] = random_costs(r, true, samples);
    for (uint32_t i = 0; i < placed; ++i) stages[line.count++] = random_costs(r, false, samples);
    if (vocabulary) stages[line.count++] = random_costs(r, true, samples);
    expect_success(ons_placed_plan_add_line(plan, &line, arena, &first));
    return first + line.count - 1;
}

static random_plan make_random(random_source *r) {
    random_plan x = {.plan = {.batch = 16}};
    uint32_t last[2];
    last[0] = add_random_line(r, 0, 1 << random_below(r, 4), &x.plan);
    if (random_chance(r, 0.5)) {
        last[1] = add_random_line(r, x.plan.devices, 1 << random_below(r, 4), &x.plan);
        ons_placed_stage loss = random_costs(r, true, 1 << random_below(r, 5));
        expect_success(ons_placed_plan_add_barrier(&x.plan, &loss, last, 2, arena));
    }
    x.order = (ons_placed_order){.type = random_below(r, 3),
                                 .forward_depth_first = random_chance(r, 0.5),
                                 .backward_depth_first = random_chance(r, 0.5),
                                 .together_first = random_chance(r, 0.5),
                                 .apart = random_chance(r, 0.5),
                                 .lockstep = random_chance(r, 0.3)};
    uint32_t *limits;
    expect_success(ons_placed_limits(&x.plan, random_below(r, 3), arena, &limits));
    if (random_chance(r, 0.7)) x.order.limits = limits;
    return x;
}

/* When each action ends where nobody waits for a link, by going over the lists until nothing changes. Collectives that
 * hold devices are as all others here. */
typedef struct reference {
    const ons_placed_plan *plan;
    const ons_action_list *lists;
    double **ends; /* [device][action]; infinite: not known */
} reference;

static bool is_input(ons_action_kind kind) { return kind == ONS_ACTION_BACKWARD || kind == ONS_ACTION_INPUT_GRADIENT; }

/* The end of the last action of the stage that shares samples [from, to), of the wanted type. */
static double reference_end(const reference *x, uint32_t stage, bool input, int64_t from, int64_t to, double message,
                            uint32_t device) {
    const ons_placed_stage *s = &x->plan->stages[stage];
    double last = 0;
    for (uint32_t d = 0; d < x->plan->devices; ++d)
        for (uint32_t i = 0; i < x->lists[d].count; ++i) {
            const ons_action *a = &x->lists[d].items[i];
            int64_t first = a->micro_batch * s->samples;
            if (a->stage != stage || (input ? !is_input(a->kind) : a->kind != ONS_ACTION_FORWARD)) continue;
            if (first >= to || first + s->samples <= from) continue;
            last = fmax(last, x->ends[d][i] + (d == device ? 0 : message));
        }
    return last + s->collectives[input ? ONS_AFTER_BACKWARD : ONS_AFTER_FORWARD];
}

static double reference_begin(const reference *x, const ons_action *a, uint32_t device) {
    const ons_placed_stage *s = &x->plan->stages[a->stage];
    bool input = is_input(a->kind);
    int64_t from = a->micro_batch * s->samples, to = from + s->samples;
    double begin = input ? reference_end(x, a->stage, false, from, to, 0, device) : 0;
    for (uint32_t i = 0; i < x->plan->edge_count; ++i) {
        const ons_placed_edge *e = &x->plan->edges[i];
        uint32_t here = input ? e->from : e->to, there = input ? e->to : e->from;
        if (here != a->stage) continue;
        double message = s->together || x->plan->stages[there].together ? 0 : input ? e->gradient_seconds : e->seconds;
        begin = fmax(begin, reference_end(x, there, input, from, to, message, device));
    }
    return begin + s->collectives[input ? ONS_BEFORE_BACKWARD : ONS_BEFORE_FORWARD];
}

static double reference_seconds(const ons_placed_stage *s, ons_action_kind kind) {
    if (kind == ONS_ACTION_FORWARD) return s->forward;
    if (kind == ONS_ACTION_INPUT_GRADIENT) return s->input;
    return kind == ONS_ACTION_WEIGHT_GRADIENT ? s->weight : s->input + s->weight;
}

static double run_reference(reference *x) {
    double step = 0;
    x->ends = ons_arena_allocate(arena, x->plan->devices, sizeof *x->ends);
    for (uint32_t d = 0; d < x->plan->devices; ++d) {
        x->ends[d] = ons_arena_allocate(arena, x->lists[d].count, sizeof **x->ends);
        for (uint32_t i = 0; i < x->lists[d].count; ++i) x->ends[d][i] = INFINITY;
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t d = 0; d < x->plan->devices; ++d)
            for (uint32_t i = 0; i < x->lists[d].count; ++i) {
                const ons_action *a = &x->lists[d].items[i];
                if (a->kind == ONS_ACTION_UPDATE) continue;
                double begin = i > 0 ? x->ends[d][i - 1] : 0;
                if (a->kind != ONS_ACTION_WEIGHT_GRADIENT) begin = fmax(begin, reference_begin(x, a, d));
                double end = begin + reference_seconds(&x->plan->stages[a->stage], a->kind);
                changed |= end < x->ends[d][i];
                x->ends[d][i] = end;
                if (end < INFINITY) step = fmax(step, end);
            }
    }
    return step;
}

/* Takes away what makes messages and collectives wait, and what comes behind the last gradient. */
static void free_links(ons_placed_plan *plan, bool keep_times) {
    for (uint32_t i = 0; i < plan->stage_count; ++i) {
        plan->stages[i].sum = plan->stages[i].update = 0;
        plan->stages[i].holds = false;
        if (!keep_times) memset(plan->stages[i].collectives, 0, sizeof plan->stages[i].collectives);
    }
    for (uint32_t i = 0; i < plan->edge_count && !keep_times; ++i)
        plan->edges[i].seconds = plan->edges[i].gradient_seconds = 0;
}

Test(shared_stages, random_plans_run_as_the_reference_says) {
    for (uint64_t seed = 1; seed <= 100; ++seed) {
        random_source r = {seed};
        random_plan x = make_random(&r);
        ons_action_list *lists;
        ons_status *status = ons_placed_lists_make(&x.plan, &x.order, arena, &lists);
        cr_assert(status == NULL, "seed %llu: %s", (unsigned long long)seed,
                  status != NULL ? ons_status_get_message(status) : "");
        ons_placed_forecast whole = simulate(&x.plan, lists);
        cr_expect(whole.seconds >= whole.busy_seconds * (1 - 1e-12), "seed %llu: %g below a device's load of %g",
                  (unsigned long long)seed, whole.seconds, whole.busy_seconds);
        reference known = {.plan = &x.plan, .lists = lists};
        free_links(&x.plan, true);
        double least = run_reference(&known);
        cr_expect(whole.seconds >= least * (1 - 1e-12), "seed %llu: %.15g, but no step is below %.15g",
                  (unsigned long long)seed, whole.seconds, least);
        free_links(&x.plan, false);
        double expected = run_reference(&known), seconds = simulate(&x.plan, lists).seconds;
        cr_expect(fabs(seconds - expected) <= 1e-12 * expected, "seed %llu: %.15g, not %.15g", (unsigned long long)seed,
                  seconds, expected);
    }
}

/* What a device holds at most, by its list. */
static int64_t peak_by_list(const ons_placed_plan *plan, const ons_action_list *lists, uint32_t device) {
    int64_t now = 0, most;
    for (uint32_t i = 0; i < plan->stage_count; ++i)
        for (uint32_t k = 0; k < plan->stages[i].copies; ++k)
            if (plan->stages[i].devices[k] == device) now += plan->stages[i].held_bytes;
    most = now;
    for (uint32_t i = 0; i < lists[device].count; ++i) {
        const ons_action *a = &lists[device].items[i];
        if (a->kind == ONS_ACTION_FORWARD) now += plan->stages[a->stage].saved_bytes;
        if (now > most) most = now;
        if (a->kind == ONS_ACTION_BACKWARD || a->kind == ONS_ACTION_WEIGHT_GRADIENT)
            now -= plan->stages[a->stage].saved_bytes;
    }
    return most;
}

Test(shared_stages, memory_is_what_the_lists_hold) {
    for (uint64_t seed = 500; seed < 560; ++seed) {
        random_source r = {seed};
        random_plan x = make_random(&r);
        ons_action_list *lists;
        int64_t most = 0;
        expect_success(ons_placed_lists_make(&x.plan, &x.order, arena, &lists));
        for (uint32_t i = 0; i < x.plan.devices; ++i) {
            int64_t peak = peak_by_list(&x.plan, lists, i);
            if (peak > most) most = peak;
        }
        cr_expect_eq(simulate(&x.plan, lists).peak_bytes, most, "seed %llu: %lld, not %lld", (unsigned long long)seed,
                     (long long)simulate(&x.plan, lists).peak_bytes, (long long)most);
    }
}

/* ---------------------------------------------------------------------------------------------------- damaged lists */

static void expect_damage_found(const ons_placed_plan *plan, const ons_action_list *lists, uint64_t seed,
                                const char *damage) {
    ons_status *status = ons_placed_lists_check(plan, lists, arena);
    cr_expect_not_null(status, "seed %llu: %s went unnoticed", (unsigned long long)seed, damage);
    ons_status_free(status);
}

Test(shared_stages, damaged_lists_are_refused) {
    for (uint64_t seed = 1000; seed < 1100; ++seed) {
        random_source r = {seed};
        random_plan x = make_random(&r);
        ons_action_list *lists;
        expect_success(ons_placed_lists_make(&x.plan, &x.order, arena, &lists));
        ons_action_list *list = &lists[random_below(&r, x.plan.devices)], whole = *list;
        ons_action *items = ons_arena_allocate(arena, list->count + 1, sizeof *items), *kept = list->items;
        uint32_t at = random_below(&r, list->count);
        list->items = items;

        memcpy(items, kept, at * sizeof *items);
        memcpy(items + at, kept + at + 1, (list->count - at - 1) * sizeof *items);
        --list->count;
        expect_damage_found(&x.plan, lists, seed, "a missing action");

        memcpy(items, kept, whole.count * sizeof *items);
        items[whole.count] = kept[at];
        list->count = whole.count + 1;
        expect_damage_found(&x.plan, lists, seed, "an action that is there twice");

        list->count = whole.count;
        memcpy(items, kept, whole.count * sizeof *items);
        items[at].copy += 1;
        expect_damage_found(&x.plan, lists, seed, "an action of another copy");

        /* a forward part behind its own backward part, wherever those are neighbours or not */
        memcpy(items, kept, whole.count * sizeof *items);
        for (uint32_t i = 0, k = 0; i < whole.count; ++i) {
            if (kept[i].kind != ONS_ACTION_FORWARD) continue;
            for (k = i; k < whole.count; ++k)
                if (is_input(kept[k].kind) && kept[k].stage == kept[i].stage && kept[k].copy == kept[i].copy) break;
            items[i] = kept[k];
            items[k] = kept[i];
            break;
        }
        expect_damage_found(&x.plan, lists, seed, "a forward part behind its backward part");
    }
}

Test(shared_stages, limits_below_a_group_are_refused) {
    towers t = make_towers(4, 2, 0, false);
    uint32_t limits[] = {1, 1, 1};
    ons_placed_order order = {.type = ONS_BACKWARD_FIRST, .limits = limits};
    ons_action_list *lists;
    expect_refusal(ons_placed_lists_make(&t.plan, &order, arena, &lists), "allow more parts in flight");
    limits[0] = limits[1] = 2;
    expect_success(ons_placed_lists_make(&t.plan, &order, arena, &lists));
}

/* One device would come to the second loss while the other comes to the first one's gradients. */
Test(shared_stages, devices_that_hold_each_other_are_refused) {
    static const ons_action both[] = {{ONS_ACTION_FORWARD, 0, 0, 0, false},  {ONS_ACTION_FORWARD, 0, 0, 1, false},
                                      {ONS_ACTION_FORWARD, 2, 0, 0, false},  {ONS_ACTION_FORWARD, 2, 0, 1, false},
                                      {ONS_ACTION_BACKWARD, 2, 0, 0, false}, {ONS_ACTION_BACKWARD, 2, 0, 1, false},
                                      {ONS_ACTION_BACKWARD, 0, 0, 0, false}, {ONS_ACTION_BACKWARD, 0, 0, 1, false},
                                      {ONS_ACTION_UPDATE, 0, 0, 1, false},   {ONS_ACTION_UPDATE, 2, 0, 1, false}};
    enum { COUNT = sizeof both / sizeof *both, TOWERS = 2, LOSS = 2 };
    towers t = make_towers(2, 1, 0.25, true);
    ons_action_list lists[TOWERS];
    for (uint32_t device = 0; device < TOWERS; ++device) {
        lists[device] = (ons_action_list){ons_arena_allocate(arena, COUNT, sizeof *both), COUNT};
        memcpy(lists[device].items, both, sizeof both);
        for (uint32_t i = 0; i < COUNT; ++i) {
            ons_action *a = &lists[device].items[i];
            *(a->stage == LOSS ? &a->copy : &a->stage) = device;
        }
    }
    expect_success(ons_placed_lists_check(&t.plan, lists, arena));
    ons_action second = lists[1].items[3];
    lists[1].items[3] = lists[1].items[4];
    lists[1].items[4] = second;
    expect_refusal(ons_placed_lists_check(&t.plan, lists, arena), "hangs");
    t.plan.stages[LOSS].holds = false; /* beside, each device comes to a part when it likes */
    expect_success(ons_placed_lists_check(&t.plan, lists, arena));
}

Test(shared_stages, plans_that_are_none_are_refused) {
    towers t = make_towers(4, 2, 0, false);
    t.plan.stages[0].samples = 3;
    expect_refusal(ons_placed_plan_check(&t.plan), "do not divide");
    t.plan.stages[0].samples = 1;
    t.plan.devices = 1;
    expect_refusal(ons_placed_plan_check(&t.plan), "but there are 1");
    t.plan.devices = 2;
    t.plan.stages[0].collectives[ONS_AFTER_FORWARD] = 1;
    expect_refusal(ons_placed_plan_check(&t.plan), "no collective");
}
