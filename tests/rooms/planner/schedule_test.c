/* Lists of actions: those of the presets can run, and the check finds what cannot, whatever made the lists. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "planner/schedule/schedule.h"
#include "tests/rooms/planner/random_work.h"

static ons_arena *arena;

static void make_arena(void) { arena = ons_arena_new(); }
static void free_arena(void) { ons_arena_free(arena); }

TestSuite(schedule, .init = make_arena, .fini = free_arena);

static void expect_success(ons_status *status) {
    cr_assert(status == NULL, "%s", status != NULL ? ons_status_get_message(status) : "");
}

static void expect_refusal(ons_status *status, const char *part) {
    cr_assert_not_null(status, "expected a failure with '%s'", part);
    cr_expect_eq(ons_status_get_code(status), ONS_INVALID_DATA);
    cr_expect(strstr(ons_status_get_message(status), part) != NULL, "'%s' lacks '%s'", ons_status_get_message(status),
              part);
    ons_status_free(status);
}

/* ---------------------------------------------------------------------------------------------------------- presets */

/* Each stage feeds the next one. */
static ons_stage_edges chain(uint32_t stages, uint32_t ahead) {
    ons_stage_edge *edges = ons_arena_allocate(arena, stages, sizeof *edges);
    for (uint32_t i = 0; i + 1 < stages; ++i) edges[i] = (ons_stage_edge){i, i + 1, true, false, ahead};
    return (ons_stage_edges){edges, stages - 1};
}

/* With no message buffered. */
static ons_status *verify_meeting(const ons_schedule *schedule) {
    const ons_stage_edges edges = chain(schedule->stages, 0);
    return ons_schedule_verify(schedule, &edges, arena);
}

static ons_schedule make(const ons_generator *generator, uint32_t stages, uint32_t micro_batches) {
    const ons_pipeline p = {generator, stages, micro_batches, 0, 1};
    ons_schedule schedule;
    expect_success(ons_schedule_make(&p, arena, &schedule));
    return schedule;
}

static uint32_t most_in_flight(const ons_action_list *list) {
    uint32_t now = 0, most = 0;
    for (uint32_t i = 0; i < list->count; ++i) {
        if (list->items[i].kind == ONS_ACTION_FORWARD && ++now > most) most = now;
        if (list->items[i].kind == ONS_ACTION_BACKWARD) --now;
    }
    return most;
}

/* Micro-batches in flight as the papers have them: all (GPipe), as many as there are stages from here on (the others).
 */
static uint32_t expected_in_flight(const ons_generator *generator, uint32_t stages, uint32_t stage, uint32_t m) {
    uint32_t behind = generator == &ons_generator_gpipe ? m : stages - stage;
    return behind < m || generator->asynchronous ? behind : m;
}

static const ons_generator *const straight[] = {&ons_generator_gpipe, &ons_generator_one_f_one_b,
                                                &ons_generator_pipedream};

Test(schedule, presets_run_and_hold_what_the_memory_formula_says) {
    for (size_t g = 0; g < 3; ++g)
        for (uint32_t stages = 1; stages <= 9; ++stages)
            for (uint32_t m = 1; m <= 12; ++m) {
                ons_schedule s = make(straight[g], stages, m);
                expect_success(verify_meeting(&s));
                for (uint32_t stage = 0; stage < stages; ++stage) {
                    const ons_stage_load *load = &s.loads[stage];
                    uint32_t expected = expected_in_flight(straight[g], stages, stage, m);
                    cr_assert_eq(load->in_flight, expected, "%s, stage %u of %u, %u micro-batches", straight[g]->name,
                                 stage, stages, m);
                    cr_assert_eq(most_in_flight(&s.lists[stage]), expected < m ? expected : m);
                    cr_assert_eq(load->versions, straight[g]->asynchronous ? expected : 1);
                    cr_assert_eq(load->forward_first, straight[g] == &ons_generator_gpipe && m > 1);
                    cr_assert_eq(s.lists[stage].count, 2 * m + (straight[g]->asynchronous ? m : 1));
                }
            }
}

/* What is left out of a step leaves the schedule of a shorter one. */
Test(schedule, presets_are_shortened_to_presets) {
    for (size_t g = 0; g < 3; ++g)
        for (uint32_t stages = 1; stages <= 5; ++stages)
            for (uint32_t m = 1; m <= 8; ++m) {
                ons_schedule whole = make(straight[g], stages, 8), shorter, own = make(straight[g], stages, m);
                expect_success(ons_schedule_shorten(&whole, m, arena, &shorter));
                cr_assert(ons_schedule_equal(&shorter, &own), "%s, %u stages, %u micro-batches", straight[g]->name,
                          stages, m);
            }
}

Test(schedule, one_forward_one_backward_as_drawn) {
    static const char *const drawn[] = {"F0F1F2B0F3B1B2B3U3", "F0F1B0F2B1F3B2B3U3", "F0B0F1B1F2B2F3B3U3"};
    ons_schedule s = make(&ons_generator_one_f_one_b, 3, 4);
    for (uint32_t stage = 0; stage < 3; ++stage) {
        char text[64] = "";
        for (uint32_t i = 0; i < s.lists[stage].count; ++i) {
            const ons_action *a = &s.lists[stage].items[i];
            char letter = a->kind == ONS_ACTION_FORWARD ? 'F' : a->kind == ONS_ACTION_BACKWARD ? 'B' : 'U';
            size_t used = strlen(text);
            text[used] = letter;
            text[used + 1] = (char)('0' + a->micro_batch);
            cr_expect_eq(a->stage, stage);
        }
        cr_expect_str_eq(text, drawn[stage]);
    }
}

Test(schedule, a_pipeline_of_nothing_is_refused) {
    static const ons_pipeline wrong[] = {{&ons_generator_gpipe, 0, 3, 0, 1},
                                         {&ons_generator_gpipe, 3, 0, 0, 1},
                                         {&ons_generator_gpipe, 3, 3, 2, 1},
                                         {&ons_generator_one_f_one_b, 3, 3, 4, 1}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        ons_schedule schedule;
        ons_status *status = ons_schedule_make(&wrong[i], arena, &schedule);
        cr_assert_not_null(status, "%zu", i);
        cr_expect_eq(ons_status_get_code(status), ONS_INVALID_ARGUMENT);
        ons_status_free(status);
    }
}

/* -------------------------------------------------------------------------------------------------- lists as a text */

/* "F0.1 B0.1 …": kind, stage, micro-batch. F B I W U, and r a: receive and send an activation, s g: a gradient. */
static ons_action_list parse(const char *text) {
    static const char letters[] = "FBIWUarsgAoiR"; /* in the order of ons_action_kind */
    ons_action_list list = {ons_arena_allocate(arena, strlen(text) + 1, sizeof(ons_action)), 0};
    while (*text != '\0') {
        char *end;
        ons_action a = {.kind = (ons_action_kind)(strchr(letters, *text) - letters)};
        a.stage = (uint32_t)strtoul(text + 1, &end, 10);
        a.micro_batch = (uint32_t)strtoul(end + 1, &end, 10);
        list.items[list.count++] = a;
        for (text = end; *text == ' ';) ++text;
    }
    return list;
}

static ons_status *verify(ons_schedule schedule, const char *const *texts) {
    ons_action_list *lists = ons_arena_allocate(arena, schedule.devices, sizeof *lists);
    for (uint32_t i = 0; i < schedule.devices; ++i) lists[i] = parse(texts[i]);
    schedule.lists = lists;
    return verify_meeting(&schedule);
}

static ons_status *verify_two(const char *first, const char *second) {
    return verify((ons_schedule){.stages = 2, .micro_batches = 2, .devices = 2}, (const char *const[]){first, second});
}

#define GOOD0 "F0.0 F0.1 B0.0 B0.1 U0.1"
#define GOOD1 "F1.0 B1.0 F1.1 B1.1 U1.1"

Test(schedule, rules_are_checked) {
    expect_success(verify_two(GOOD0, GOOD1));
    expect_refusal(verify_two("F0.0 F0.1 B0.0 U0.1", GOOD1), "micro-batch 1: backward is missing");
    expect_refusal(verify_two("F0.0 B0.0 B0.1 U0.1", GOOD1), "micro-batch 1: forward is missing");
    expect_refusal(verify_two("F0.0 F0.1 B0.0 B0.1", GOOD1), "no update");
    expect_refusal(verify_two("F0.0 F0.1 F0.1 B0.0 B0.1 U0.1", GOOD1), "comes twice");
    expect_refusal(verify_two("F0.0 B0.1 B0.0 F0.1 U0.1", GOOD1), "backward stands before forward");
    expect_refusal(verify_two("F0.0 F0.1 B0.0 U0.1 B0.1", GOOD1), "update stands before backward");
    expect_refusal(verify_two("F0.0 F0.1 B0.0 U0.0 B0.1 U0.1", GOOD1), "synchronous step has one");
    expect_refusal(verify_two("F0.0 F0.1 B0.1 B0.0 U0.1", GOOD1), "ascending order");
    expect_refusal(verify_two("F0.0 F0.1 B0.0 B0.2 U0.1", GOOD1), "there are 2 stages and 2 micro-batches");
    expect_refusal(verify_two("F0.0 F0.1 B0.0 B0.1 U0.1 F1.0", GOOD1), "on device");
    expect_refusal(verify_two("F0.0 F0.1 B0.0 I0.1 W0.1 B0.1 U0.1", GOOD1), "either backward, or input gradient");
    expect_refusal(verify_two("F0.0 F0.1 B0.0 W0.1 I0.1 U0.1", GOOD1), "weight gradient stands before input");
    expect_refusal(verify_two("F0.0 o0.0 F0.1 B0.0 B0.1 U0.1", GOOD1), "swap out and swap in come together");
    expect_success(verify_two("F0.0 o0.0 F0.1 i0.0 B0.0 R0.1 B0.1 U0.1", GOOD1));
    expect_success(verify((ons_schedule){.stages = 1, .micro_batches = 2, .devices = 1, .asynchronous = true},
                          (const char *const[]){"F0.0 F0.1 B0.0 U0.0 B0.1 U0.1"}));
    expect_refusal(verify((ons_schedule){.stages = 1, .micro_batches = 2, .devices = 1, .asynchronous = true},
                          (const char *const[]){"F0.0 F0.1 B0.0 B0.1 U0.0 U0.1"}),
                   "stands behind the gradient of micro-batch 1");
}

/* --------------------------------------------------------------------------------------------------------- deadlock */

Test(schedule, lists_that_wait_for_each_other_hang) {
    expect_refusal(verify_two("F0.0 B0.0 F0.1 B0.1 U0.1", "F1.0 F1.1 B1.0 B1.1 U1.1"),
                   "device 0 stands at action 1, backward of stage 0, micro-batch 0, waiting to receive the gradient "
                   "of micro-batch 0 from stage 1");
}

/* Were sends not to wait, this would run: it is what simulators without a rendezvous accept. */
Test(schedule, sends_that_wait_for_each_other_hang) {
    static const char *const sends_first[] = {
        "F0.0 a0.0 F0.1 a0.1 F0.2 a0.2 g0.0 B0.0 g0.1 B0.1 g0.2 B0.2 U0.2",
        "r1.0 F1.0 I1.0 s1.0 W1.0 r1.1 F1.1 I1.1 s1.1 W1.1 r1.2 F1.2 I1.2 s1.2 W1.2 U1.2"};
    static const char *const together[] = {
        "F0.0 a0.0 F0.1 a0.1 F0.2 a0.2 g0.0 B0.0 g0.1 B0.1 g0.2 B0.2 U0.2",
        "r1.0 F1.0 I1.0 s1.0 r1.1 W1.0 F1.1 I1.1 s1.1 r1.2 W1.1 F1.2 I1.2 s1.2 W1.2 U1.2"};
    ons_schedule schedule = {.stages = 2, .micro_batches = 3, .devices = 2};
    expect_refusal(verify(schedule, sends_first), "hangs with room for 0 messages");
    expect_success(verify(schedule, together));
    expect_refusal(verify(schedule, (const char *const[]){sends_first[0], "r1.0 F1.0 B1.0 s1.0 F1.1 B1.1 F1.2 B1.2 "
                                                                          "U1.2"}),
                   "receive activation is missing, though other");
    expect_refusal(verify((ons_schedule){.stages = 1, .micro_batches = 1, .devices = 1},
                          (const char *const[]){"F0.0 a0.0 B0.0 U0.0"}),
                   "send activation has nothing to carry");
}

/* Two stages on each device, as interleaved schedules have. */
Test(schedule, devices_may_hold_several_stages) {
    ons_schedule schedule = {.stages = 4, .micro_batches = 1, .devices = 2};
    expect_success(
        verify(schedule, (const char *const[]){"F0.0 F2.0 B2.0 U2.0 B0.0 U0.0", "F1.0 F3.0 B3.0 U3.0 B1.0 U1.0"}));
    expect_refusal(
        verify(schedule, (const char *const[]){"F2.0 F0.0 B2.0 U2.0 B0.0 U0.0", "F1.0 F3.0 B3.0 U3.0 B1.0 U1.0"}),
        "hangs");
    expect_success(
        verify(schedule, (const char *const[]){"F0.0 F1.0 B1.0 B0.0 U0.0 U1.0", "F2.0 F3.0 B3.0 B2.0 U3.0 U2.0"}));
    expect_refusal(
        verify(schedule, (const char *const[]){"F1.0 F0.0 B1.0 B0.0 U0.0 U1.0", "F2.0 F3.0 B3.0 B2.0 U3.0 U2.0"}),
        "needs what stage 0 computes later on the same device");
}

/* A value that skips stages is wanted long after it was made: only a send that does not hold up its device can run. */
Test(schedule, connections_that_skip_stages) {
    ons_schedule schedule = make(&ons_generator_one_f_one_b, 4, 6);
    ons_stage_edge items[] = {
        {0, 1, true, false, 0}, {1, 2, true, false, 0}, {2, 3, true, false, 0}, {0, 3, true, false, 0}};
    const ons_stage_edges edges = {items, 4};
    expect_refusal(ons_schedule_verify(&schedule, &edges, arena), "hangs");
    items[3].detached = true;
    expect_success(ons_schedule_verify(&schedule, &edges, arena));
    items[3].detached = false;
    items[3].ahead = ons_schedule_ahead(&schedule, 0, 3);
    expect_success(ons_schedule_verify(&schedule, &edges, arena));
}

/* ------------------------------------------------------------------------------------------------- random schedules */

typedef struct random_schedule {
    ons_schedule s;
    ons_action_list *lists;
    uint32_t *device_of;
} random_schedule;

static bool done(const random_schedule *r, uint32_t stage, uint32_t mb, ons_action_kind kind) {
    const ons_action_list *list = &r->lists[r->device_of[stage]];
    for (uint32_t i = 0; i < list->count; ++i)
        if (list->items[i].stage == stage && list->items[i].micro_batch == mb && list->items[i].kind == kind)
            return true;
    return false;
}

/* Whether the action could run next if messages were buffered, in the order of micro-batches. */
static bool may_run(const random_schedule *r, ons_action a) {
    if (done(r, a.stage, a.micro_batch, a.kind)) return false;
    bool last = a.stage + 1 == r->s.stages;
    switch ((int)a.kind) {
    case ONS_ACTION_FORWARD:
        return (a.stage == 0 || done(r, a.stage - 1, a.micro_batch, ONS_ACTION_FORWARD)) &&
               (a.micro_batch == 0 || done(r, a.stage, a.micro_batch - 1, ONS_ACTION_FORWARD));
    case ONS_ACTION_BACKWARD:
        return done(r, a.stage, a.micro_batch, ONS_ACTION_FORWARD) &&
               (last || done(r, a.stage + 1, a.micro_batch, ONS_ACTION_BACKWARD)) &&
               (a.micro_batch == 0 || done(r, a.stage, a.micro_batch - 1, ONS_ACTION_BACKWARD));
    default: return a.micro_batch + 1 == r->s.micro_batches && done(r, a.stage, a.micro_batch, ONS_ACTION_BACKWARD);
    }
}

/* Runs a random action that can run, until all have run: a schedule that needs buffers, or none. */
static random_schedule make_schedule(random_source *random) {
    static const ons_action_kind kinds[] = {ONS_ACTION_FORWARD, ONS_ACTION_BACKWARD, ONS_ACTION_UPDATE};
    random_schedule r = {.s = {.stages = 1 + random_below(random, 4), .micro_batches = 1 + random_below(random, 4)}};
    uint32_t total = r.s.stages * (2 * r.s.micro_batches + 1);
    r.s.devices = 1 + random_below(random, r.s.stages);
    r.lists = ons_arena_allocate(arena, r.s.devices, sizeof *r.lists);
    r.device_of = ons_arena_allocate(arena, r.s.stages, sizeof *r.device_of);
    for (uint32_t i = 0; i < r.s.devices; ++i)
        r.lists[i].items = ons_arena_allocate(arena, total, sizeof *r.lists[i].items);
    for (uint32_t i = 0; i < r.s.stages; ++i) r.device_of[i] = i < r.s.devices ? i : random_below(random, r.s.devices);
    for (uint32_t made = 0; made < total;) {
        ons_action a = {.kind = kinds[random_below(random, 3)],
                        .stage = random_below(random, r.s.stages),
                        .micro_batch = random_below(random, r.s.micro_batches)};
        if (!may_run(&r, a)) continue;
        ons_action_list *list = &r.lists[r.device_of[a.stage]];
        list->items[list->count++] = a;
        ++made;
    }
    r.s.lists = r.lists;
    return r;
}

/* The judge by brute force: between computations each device has a set of messages begun, found anew in every round
 * by looking at what stands on either side of where it is. */
typedef struct brute_device {
    uint32_t next;
    bool left[64], wants[64]; /* [stage * 8 + micro-batch * 2 + gradient]: to be sent, to be received */
} brute_device;

static void need(const random_schedule *r, brute_device *d, uint32_t device, bool fresh) {
    if (!fresh || d->next >= r->lists[device].count) return;
    ons_action a = r->lists[device].items[d->next];
    uint32_t slot = a.micro_batch * 2;
    if (a.kind == ONS_ACTION_FORWARD && a.stage > 0 && r->device_of[a.stage - 1] != device)
        d->wants[(a.stage - 1) * 8 + slot] = true;
    if (a.kind == ONS_ACTION_BACKWARD && a.stage + 1 < r->s.stages && r->device_of[a.stage + 1] != device)
        d->wants[(a.stage + 1) * 8 + slot + 1] = true;
}

static bool can_run_brute(const random_schedule *r) {
    brute_device devices[4] = {0};
    for (uint32_t i = 0; i < r->s.devices; ++i) need(r, &devices[i], i, true);
    for (bool progress = true; progress;) {
        progress = false;
        for (uint32_t i = 0; i < r->s.devices; ++i)
            for (uint32_t k = 0; k < r->s.devices; ++k)
                for (uint32_t m = 0; m < 64; ++m)
                    if (devices[i].left[m] && devices[k].wants[m])
                        devices[i].left[m] = devices[k].wants[m] = false, progress = true;
        for (uint32_t i = 0; i < r->s.devices; ++i) {
            brute_device *d = &devices[i];
            bool busy = false;
            for (uint32_t m = 0; m < 64; ++m) busy |= d->left[m] || d->wants[m];
            if (busy || d->next == r->lists[i].count) continue;
            ons_action a = r->lists[i].items[d->next++];
            uint32_t slot = a.stage * 8 + a.micro_batch * 2;
            if (a.kind == ONS_ACTION_FORWARD && a.stage + 1 < r->s.stages && r->device_of[a.stage + 1] != i)
                d->left[slot] = true;
            if (a.kind == ONS_ACTION_BACKWARD && a.stage > 0 && r->device_of[a.stage - 1] != i)
                d->left[slot + 1] = true;
            need(r, d, i, true);
            progress = true;
        }
    }
    for (uint32_t i = 0; i < r->s.devices; ++i) {
        for (uint32_t m = 0; m < 64; ++m)
            if (devices[i].left[m] || devices[i].wants[m]) return false;
        if (devices[i].next < r->lists[i].count) return false;
    }
    return true;
}

Test(schedule, random_schedules_hang_where_brute_force_says_so) {
    uint32_t hung = 0, ran = 0;
    for (uint64_t seed = 1; seed <= 3000; ++seed) {
        random_source random = {seed};
        random_schedule r = make_schedule(&random);
        bool expected = can_run_brute(&r);
        ons_status *status = verify_meeting(&r.s);
        cr_assert_eq(status == NULL, expected, "seed %llu: %s", (unsigned long long)seed,
                     status != NULL ? ons_status_get_message(status) : "brute force hangs");
        if (status != NULL)
            cr_assert(strstr(ons_status_get_message(status), "hangs") != NULL, "seed %llu: %s",
                      (unsigned long long)seed, ons_status_get_message(status));
        ons_status_free(status);
        ++*(expected ? &ran : &hung);
        if (seed % 100 == 0) free_arena(), make_arena();
    }
    cr_assert(hung > 100 && ran > 100, "%u hung, %u ran: the test says little", hung, ran);
}

/* An action that is missing, or stands where another one was, is found, whichever it is. */
Test(schedule, damaged_schedules_are_refused) {
    for (uint64_t seed = 1; seed <= 1000; ++seed) {
        random_source random = {seed};
        const ons_generator *generator = straight[random_below(&random, 2)];
        uint32_t stages = 1 + random_below(&random, 5);
        ons_schedule s = make(generator, stages, 1 + random_below(&random, 6));
        ons_action_list *list = &s.lists[random_below(&random, stages)];
        uint32_t at = random_below(&random, list->count), to = random_below(&random, list->count);
        if (at == to)
            memmove(list->items + at, list->items + at + 1, (--list->count - at) * sizeof *list->items);
        else
            list->items[to] = list->items[at];
        ons_status *status = verify_meeting(&s);
        cr_assert_not_null(status, "seed %llu: action %u of %u in the place of %u passes", (unsigned long long)seed, at,
                           list->count, to);
        ons_status_free(status);
        if (seed % 100 == 0) free_arena(), make_arena();
    }
}

/* -------------------------------------------------------------------------------------------------- gradients apart */

/* Every backward action in two, the weight gradient as much later as chance has it. */
static ons_action_list divide(random_source *random, const ons_action_list *list) {
    ons_action_list r = {ons_arena_allocate(arena, 2 * (size_t)list->count + 1, sizeof *r.items), 0};
    uint32_t waiting = 0, next = 0; /* weight gradients that are due, and the first of them */
    ons_action weight = {.kind = ONS_ACTION_WEIGHT_GRADIENT, .stage = list->items[0].stage};
    for (uint32_t i = 0; i < list->count; ++i) {
        ons_action a = list->items[i];
        bool last = a.kind == ONS_ACTION_UPDATE;
        for (; waiting > 0 && (last || random_chance(random, 0.4)); --waiting) {
            weight.micro_batch = next++;
            r.items[r.count++] = weight;
        }
        waiting += a.kind == ONS_ACTION_BACKWARD;
        if (a.kind == ONS_ACTION_BACKWARD) a.kind = ONS_ACTION_INPUT_GRADIENT;
        r.items[r.count++] = a;
    }
    return r;
}

static uint32_t find_action(const ons_action_list *list, ons_action_kind kind, uint32_t micro_batch) {
    uint32_t at = 0;
    while (at < list->count && (list->items[at].kind != kind || list->items[at].micro_batch != micro_batch)) ++at;
    cr_assert_lt(at, list->count);
    return at;
}

static void exchange(ons_action_list *list, ons_action_kind a, ons_action_kind b, uint32_t micro_batch) {
    uint32_t i = find_action(list, a, micro_batch), k = find_action(list, b, micro_batch);
    ons_action kept = list->items[i];
    list->items[i] = list->items[k];
    list->items[k] = kept;
}

/* Each exactly once, forward before input gradient before weight gradient; nothing else passes. */
Test(schedule, gradients_apart_keep_their_order) {
    uint32_t ran = 0;
    for (uint64_t seed = 1; seed <= 1000; ++seed) {
        random_source random = {seed};
        const ons_generator *generator = straight[random_below(&random, 2)];
        uint32_t stages = 1 + random_below(&random, 5);
        ons_schedule s = make(generator, stages, 2 + random_below(&random, 6));
        uint32_t at = random_below(&random, stages), micro_batch = random_below(&random, s.micro_batches);
        for (uint32_t i = 0; i < stages; ++i)
            if (i == at || random_chance(&random, 0.7)) s.lists[i] = divide(&random, &s.lists[i]);
        ons_status *status = verify_meeting(&s);
        /* A computation between a send and a receive can make two devices wait for each other. */
        bool hangs = status != NULL && strstr(ons_status_get_message(status), "hangs") != NULL;
        cr_assert(status == NULL || hangs, "seed %llu: %s", (unsigned long long)seed, ons_status_get_message(status));
        ons_status_free(status);
        ran += !hangs;
        if (hangs) continue;
        uint32_t damage = random_below(&random, 4);
        ons_action_list *list = &s.lists[at];
        if (damage == 0) exchange(list, ONS_ACTION_INPUT_GRADIENT, ONS_ACTION_WEIGHT_GRADIENT, micro_batch);
        if (damage == 1) exchange(list, ONS_ACTION_FORWARD, ONS_ACTION_INPUT_GRADIENT, micro_batch);
        ons_action *weight = &list->items[find_action(list, ONS_ACTION_WEIGHT_GRADIENT, micro_batch)];
        if (damage == 2) weight->micro_batch = (micro_batch + 1) % s.micro_batches; /* one twice, one never */
        if (damage == 3) *weight = list->items[--list->count];                      /* without its update */
        status = verify_meeting(&s);
        cr_assert_not_null(status, "seed %llu: damage %u of stage %u, micro-batch %u passes", (unsigned long long)seed,
                           damage, at, micro_batch);
        ons_status_free(status);
        if (seed % 100 == 0) free_arena(), make_arena();
    }
    cr_assert_gt(ran, 500, "%u ran: the test says little", ran);
}
