/* Plans as files: they come back as they were, say which field is wrong, and simulate to what they predict; and what
 * is said where nothing fits is true. Random problems; a failure names the seed. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "planner/plan/plan_replay.h"
#include "planner/search/least_memory.h"
#include "planner/search/slices.h"
#include "tests/rooms/planner/planning_case.h"

static ons_arena *arena;

static void make_arena(void) { arena = ons_arena_new(); }
static void free_arena(void) { ons_arena_free(arena); }

TestSuite(plan, .init = make_arena, .fini = free_arena);

static void expect_success(ons_status *status, uint64_t seed) {
    cr_assert(status == NULL, "seed %llu: %s", (unsigned long long)seed,
              status != NULL ? ons_status_get_message(status) : "");
}

/* ----------------------------------------------------------------------------------------------------- random plans */

static ons_planning_problem random_problem(uint64_t seed, uint32_t most_nodes) {
    ons_arena_free(arena);
    arena = ons_arena_new();
    planning_case c = {.seed = seed,
                       .least_nodes = 8,
                       .most_nodes = most_nodes,
                       .least_stages = 2,
                       .most_stages = most_nodes / 6,
                       .memory = ons_memory_strategy_find("capuchin")};
    ons_planning_problem problem;
    expect_success(planning_case_make(&c, arena, &problem), seed);
    return problem;
}

static ons_planned search(const ons_planning_problem *problem, uint64_t seed) {
    ons_planned planned;
    expect_success(ons_planner_search(problem, ons_partition_strategy_find("auto"), arena, &planned), seed);
    return planned;
}

static const char *maybe(random_source *random, const char *text) { return random_chance(random, 0.5) ? text : NULL; }

/* With whatever a file may hold, texts that must be escaped too. */
static void make_subject(uint64_t seed, const ons_planning_problem *problem, ons_plan *plan) {
    static ons_plan_setting dims[] = {{"batch", "8"}, {"sequence \"long\"", "512"}}, libraries[] = {{"oneDNN", "3.7"}};
    random_source random = {seed};
    plan->subject = (ons_plan_subject){.model = "folder/\xc3\xa9t\xc3\xa9 \\ \"net\".onnx",
                                       .digest = maybe(&random, "0123456789abcdef"),
                                       .dims = dims,
                                       .dim_count = random_below(&random, 3),
                                       .batch = 8 * (int64_t)problem->pipeline.micro_batches,
                                       .micro_batches = problem->pipeline.micro_batches,
                                       .loss = maybe(&random, "cross_entropy"),
                                       .optimizer = maybe(&random, "adamw"),
                                       .precision = maybe(&random, "fp32"),
                                       .device_profile = maybe(&random, "a100-40gb"),
                                       .threads = random_below(&random, 100),
                                       .trainable_elements = (int64_t)(random_next(&random) >> 12),
                                       .trainable_digest = maybe(&random, "fedcba9876543210"),
                                       .libraries = libraries,
                                       .library_count = random_below(&random, 2)};
    plan->reproducible = random_chance(&random, 0.5);
    plan->partition = "auto";
}

/* False: nothing fits. */
static bool random_plan(uint64_t seed, ons_planning_problem *problem, ons_planned *planned, ons_plan *plan) {
    *problem = random_problem(seed, 36);
    *planned = search(problem, seed);
    if (!planned->partition.feasible) return false;
    *plan = (ons_plan){0};
    make_subject(seed, problem, plan);
    expect_success(ons_planner_fill(planned, arena, plan), seed);
    return true;
}

static char *print(const ons_plan *plan, uint64_t seed) {
    char *text;
    expect_success(ons_plan_print(plan, &text), seed);
    return text;
}

static ons_plan parse(const char *text, uint64_t seed) {
    ons_plan plan;
    expect_success(ons_plan_parse(text, strlen(text), arena, &plan), seed);
    return plan;
}

static double replay(const ons_plan *plan, uint64_t seed) {
    ons_pipeline_forecast f;
    expect_success(ons_plan_replay(plan, arena, &f), seed);
    ons_simulation_free(f.simulation);
    return f.iteration_seconds;
}

enum { PLANS = 100, REFUSALS = 12 };

/* Property 14 of a plan. */
Test(plan, survives_write_read_write) {
    uint32_t made = 0, swaps = 0;
    for (uint64_t seed = 1; seed <= PLANS; ++seed) {
        ons_planning_problem problem;
        ons_planned planned;
        ons_plan plan;
        if (!random_plan(seed, &problem, &planned, &plan)) continue;
        ++made;
        if (!plan.schedule.asynchronous) expect_success(ons_plan_slice(&plan, seed % 4, arena), seed);
        char *first = print(&plan, seed);
        ons_plan again = parse(first, seed);
        cr_assert_eq(ons_plan_count_slices(&plan), ons_plan_count_slices(&again));
        char *second = print(&again, seed);
        cr_assert_str_eq(first, second, "seed %llu", (unsigned long long)seed);
        for (uint32_t i = 0; i < plan.pipeline.stages; ++i) swaps += plan.stages[i].decision_count;
        free(first);
        free(second);
    }
    cr_expect_gt(made, PLANS / 4);
    cr_expect_gt(swaps, 100);
}

/* The file says all that the simulator needs: what was planned, what the plan says and what is read back from it take
 * the same time, with swap, recompute and every schedule. */
Test(plan, simulates_to_what_it_predicts) {
    for (uint64_t seed = 1; seed <= PLANS; ++seed) {
        ons_planning_problem problem;
        ons_planned planned;
        ons_plan plan;
        if (!random_plan(seed, &problem, &planned, &plan)) continue;
        ons_pipeline_setup setup = {
            .problem = &planned.problem, .first = planned.partition.first, .solutions = planned.solutions};
        ons_pipeline_forecast whole, f;
        expect_success(ons_pipeline_simulate(&setup, arena, &whole), seed);
        char *text = print(&plan, seed);
        ons_plan again = parse(text, seed);
        free(text);
        expect_success(ons_plan_replay(&again, arena, &f), seed);
        cr_expect(f.iteration_seconds == plan.step_seconds, "seed %llu: %.17g, not %.17g", (unsigned long long)seed,
                  f.iteration_seconds, plan.step_seconds);
        cr_expect(whole.iteration_seconds == plan.step_seconds, "seed %llu: planned %.17g, not %.17g",
                  (unsigned long long)seed, whole.iteration_seconds, plan.step_seconds);
        for (uint32_t i = 0; i < plan.pipeline.stages; ++i) {
            cr_expect(f.devices[i].peak_bytes == whole.devices[i].peak_bytes, "seed %llu: peak of device %u",
                      (unsigned long long)seed, i);
            cr_expect(f.devices[i].swapped_out_bytes == whole.devices[i].swapped_out_bytes, "seed %llu: copies of %u",
                      (unsigned long long)seed, i);
        }
        ons_simulation_free(f.simulation);
        ons_simulation_free(whole.simulation);
    }
}

/* A person may edit the order of actions: what is simulated is what stands there. */
Test(plan, follows_edited_actions) {
    for (uint64_t seed = 1;; ++seed) {
        ons_planning_problem problem;
        ons_planned planned;
        ons_plan plan;
        cr_assert_leq(seed, PLANS);
        if (!random_plan(seed, &problem, &planned, &plan)) continue;
        if (plan.pipeline.generator != &ons_generator_one_f_one_b || plan.pipeline.micro_batches < 4) continue;
        ons_pipeline gpipe = plan.pipeline;
        gpipe.generator = &ons_generator_gpipe;
        double before = replay(&plan, seed);
        expect_success(ons_schedule_make(&gpipe, arena, &plan.schedule), seed);
        plan.pipeline = gpipe;
        cr_expect(replay(&plan, seed) != before, "seed %llu", (unsigned long long)seed);
        return;
    }
}

static void expect_refusal(const char *text, const char *part) {
    ons_plan plan;
    ons_status *status = ons_plan_parse(text, strlen(text), arena, &plan);
    cr_assert_not_null(status, "expected a failure with '%s'", part);
    cr_expect(strstr(ons_status_get_message(status), part) != NULL, "'%s' lacks '%s'", ons_status_get_message(status),
              part);
    ons_status_free(status);
}

/* The first forward parts of the first device as one entry: "0F0", "0F1", ... */
static char *join_forward_parts(const char *text, uint32_t count, const char *joined) {
    const char *first = strstr(text, "\"0F0\""), *end = first;
    for (uint32_t i = 0; i < count; ++i) end = strchr(strchr(end, '"') + 1, '"') + 1;
    char *edited = ons_arena_format(arena, "%.*s\"%s\"%s", (int)(first - text), text, joined, end);
    cr_assert_not_null(edited);
    return edited;
}

/* An entry may stand for several micro-batches, and names a copy of its stage. */
Test(plan, an_entry_of_several_micro_batches) {
    for (uint64_t seed = 1;; ++seed) {
        ons_planning_problem problem;
        ons_planned planned;
        ons_plan plan, again;
        char *text;
        cr_assert_leq(seed, PLANS);
        if (!random_plan(seed, &problem, &planned, &plan)) continue;
        if (plan.pipeline.generator != &ons_generator_gpipe || plan.pipeline.micro_batches < 3) continue;
        expect_success(ons_plan_print(&plan, &text), seed);
        char *edited = join_forward_parts(text, 3, "0.0F0-2");
        expect_success(ons_plan_parse(edited, strlen(edited), arena, &again), seed);
        cr_expect(ons_schedule_equal(&plan.schedule, &again.schedule), "seed %llu", (unsigned long long)seed);
        edited = join_forward_parts(text, 3, "0F2-0");
        expect_refusal(edited, "actions[0][0]");
        edited = join_forward_parts(text, 3, "0F0-4000000000");
        expect_refusal(edited, "there is no such stage or micro-batch");
        edited = join_forward_parts(text, 3, "0.1F0-2");
        expect_refusal(edited, "stage 0 has one copy, number 0, and no number 1");
        free(text);
        return;
    }
}

/* Every backward action as two: input gradients, and weight gradients right behind them. */
static void divide_backward(ons_plan *plan) {
    for (uint32_t i = 0; i < plan->pipeline.stages; ++i) {
        ons_action_list *list = &plan->schedule.lists[i],
                        divided = {ons_arena_allocate(arena, 2 * list->count, sizeof(ons_action)), 0};
        for (uint32_t k = 0; k < list->count; ++k) {
            ons_action a = list->items[k];
            bool backward = a.kind == ONS_ACTION_BACKWARD;
            if (backward) a.kind = ONS_ACTION_INPUT_GRADIENT;
            divided.items[divided.count++] = a;
            if (backward) a.kind = ONS_ACTION_WEIGHT_GRADIENT, divided.items[divided.count++] = a;
        }
        *list = divided;
    }
    expect_success(ons_schedule_take(&plan->schedule, arena), 0);
    expect_success(ons_generator_of_lists(&plan->schedule, "apart", arena, &plan->pipeline.generator), 0);
}

/* Input and weight gradients may be put apart in the file: it says what of each part is the one and the other. */
Test(plan, follows_gradients_apart) {
    uint32_t divided = 0, kept = 0, faster = 0;
    for (uint64_t seed = 1; seed <= PLANS; ++seed) {
        ons_planning_problem problem;
        ons_planned planned;
        ons_plan plan;
        if (!random_plan(seed, &problem, &planned, &plan) || ons_pipeline_is_asynchronous(&plan.pipeline)) continue;
        ons_pipeline_forecast together, apart, direct;
        expect_success(ons_plan_replay(&plan, arena, &together), seed);
        divide_backward(&plan);
        ons_pipeline_setup setup = {.problem = &planned.problem,
                                    .first = planned.partition.first,
                                    .solutions = planned.solutions,
                                    .schedule = &plan.schedule};
        expect_success(ons_pipeline_simulate(&setup, arena, &direct), seed);
        char *text = print(&plan, seed);
        ons_plan again = parse(text, seed);
        free(text);
        expect_success(ons_plan_replay(&again, arena, &apart), seed);
        cr_expect_eq(apart.iteration_seconds, direct.iteration_seconds, "seed %llu", (unsigned long long)seed);
        for (uint32_t i = 0; i < plan.pipeline.stages; ++i) {
            double busy = together.devices[i].busy_seconds;
            cr_expect_eq(apart.devices[i].peak_bytes, direct.devices[i].peak_bytes, "seed %llu: peak of device %u",
                         (unsigned long long)seed, i);
            cr_expect_float_eq(apart.devices[i].busy_seconds, busy, 1e-9 * busy, "seed %llu: device %u",
                               (unsigned long long)seed, i);
        }
        uint32_t decisions = 0;
        for (uint32_t i = 0; i < plan.pipeline.stages; ++i) decisions += plan.stages[i].decision_count;
        ++divided;
        kept += decisions == 0; /* copies back have less to hide behind */
        faster += decisions == 0 && apart.iteration_seconds < together.iteration_seconds * (1 - 1e-6);
        ons_simulation_free(together.simulation);
        ons_simulation_free(apart.simulation);
        ons_simulation_free(direct.simulation);
    }
    cr_expect_gt(divided, PLANS / 8);
    cr_expect_gt(kept, 0u);
    cr_expect_gt(faster, kept / 2, "the stage in front waits for input gradients alone: %u of %u", faster, kept);
}

Test(plan, of_an_earlier_version_does_not_take_gradients_apart) {
    ons_planning_problem problem;
    ons_planned planned;
    ons_plan plan;
    uint64_t seed = 1;
    while (!random_plan(seed, &problem, &planned, &plan) || ons_pipeline_is_asynchronous(&plan.pipeline)) ++seed;
    divide_backward(&plan);
    for (uint32_t i = 0; i < plan.pipeline.stages; ++i) plan.parts.stages[i].divisible = false;
    char *text = print(&plan, seed), *second;
    cr_expect_null(strstr(text, "weight_gradient_seconds"));
    ons_plan again = parse(text, seed);
    second = print(&again, seed);
    cr_expect_str_eq(text, second);
    free(text);
    free(second);
    ons_pipeline_forecast f;
    ons_status *status = ons_plan_replay(&again, arena, &f);
    cr_assert_not_null(status);
    cr_expect_not_null(strstr(ons_status_get_message(status), "plan again"), "%s", ons_status_get_message(status));
    ons_status_free(status);
}

/* ---------------------------------------------------------------------------------------------------- broken fields */

/* A plan with a bit of everything that files hold. */
static char *rich_plan(void) {
    for (uint64_t seed = 1; seed <= 10 * PLANS; ++seed) {
        ons_planning_problem problem;
        ons_planned planned;
        ons_plan plan;
        if (!random_plan(seed, &problem, &planned, &plan)) continue;
        uint32_t swapped = 0, recomputed = 0, gone = 0;
        for (uint32_t i = 0; i < plan.pipeline.stages; ++i) {
            for (uint32_t k = 0; k < plan.stages[i].decision_count; ++k) {
                swapped += plan.stages[i].decisions[k].decision == ONS_SWAP;
                recomputed += plan.stages[i].decisions[k].decision == ONS_RECOMPUTE;
            }
            for (uint32_t k = 0; k < plan.parts.stages[i].copy_count; ++k)
                gone += plan.parts.stages[i].copies[k].gone_backward != ONS_NO_NODE;
        }
        bool all = swapped > 0 && recomputed > 0 && gone > 0 && plan.parts.link_count > 0 &&
                   plan.subject.dim_count > 0 && !plan.reproducible && plan.subject.digest != NULL;
        if (all) return print(&plan, seed);
    }
    cr_assert_fail("no plan has it all");
    return NULL;
}

static ons_status *parse_json(const ons_json *root) {
    ons_plan plan;
    ons_arena *scratch = ons_arena_new();
    char *text = cJSON_PrintUnformatted(root);
    ons_status *status = ons_plan_parse(text, strlen(text), scratch, &plan);
    free(text);
    ons_arena_free(scratch);
    return status;
}

/* "[3]" for an element. */
static void name_of(const ons_json *parent, const ons_json *child, char text[static 64]) {
    if (child->string != NULL) {
        snprintf(text, 64, "%s", child->string);
        return;
    }
    int index = 0;
    for (const ons_json *each = parent->child; each != child; each = each->next) ++index;
    snprintf(text, 64, "[%d]", index);
}

static void expect_named(const ons_json *root, const char *name, const char *how) {
    ons_status *status = parse_json(root);
    cr_expect(status != NULL, "'%s' %s is taken", name, how);
    if (status == NULL) return;
    cr_expect(strstr(ons_status_get_message(status), name) != NULL, "'%s' %s: '%s'", name, how,
              ons_status_get_message(status));
    ons_status_free(status);
}

static bool may_be_missing(const char *name) {
    static const char *const names[] = {"digest",
                                        "loss",
                                        "optimizer",
                                        "objective",
                                        "precision",
                                        "device_profile",
                                        "trainable_digest",
                                        "planning_seconds",
                                        "gradient_bytes",
                                        "gone_in_backward",
                                        "gone_in_forward",
                                        "made_for",
                                        "made_by",
                                        "read_by",
                                        "made_early_seconds",
                                        "gradient_made_by",
                                        "gradient_read_by",
                                        "gradient_made_early_seconds",
                                        "gradient_made_early_weight_seconds"};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
        if (strcmp(names[i], name) == 0) return true;
    return false;
}

/* Another type in its place: for every field, what it can never be. */
static ons_json *other_type(const ons_json *item) {
    return cJSON_IsString(item) ? cJSON_CreateNumber(7.5) : cJSON_CreateString("no such thing");
}

static void break_one(ons_json *root, ons_json *parent, ons_json *child, bool setting) {
    char name[64];
    name_of(parent, child, name);
    ons_json *own = cJSON_Duplicate(child, true), *other = other_type(child);
    if (child->string != NULL) other->string = strdup(child->string);
    cJSON_ReplaceItemViaPointer(parent, child, other); /* frees the child */
    expect_named(root, name, "of another type");
    bool element = other->string == NULL;
    if (!element && !setting && !may_be_missing(name)) {
        char *moved = other->string; /* under another name it is missing */
        other->string = strdup("elsewhere");
        expect_named(root, name, "left out");
        free(other->string);
        other->string = moved;
    }
    if (cJSON_IsNumber(own)) {
        ons_json *negative = cJSON_CreateNumber(-1);
        if (!element) negative->string = strdup(name);
        cJSON_ReplaceItemViaPointer(parent, other, negative);
        other = negative;
        expect_named(root, name, "below zero");
    }
    cJSON_ReplaceItemViaPointer(parent, other, own);
}

static uint32_t break_all(ons_json *root, ons_json *parent, bool settings) {
    uint32_t count = 0;
    int number = 0;
    for (ons_json *child = parent->child; child != NULL; ++number) {
        ons_json *next = child->next;
        break_one(root, parent, child, settings);
        child = parent->child; /* it was taken out and put back */
        for (int i = 0; i < number; ++i) child = child->next;
        ++count;
        bool named = child->string != NULL;
        bool dims = named && (strcmp(child->string, "dims") == 0 || strcmp(child->string, "libraries") == 0);
        count += break_all(root, child, dims);
        child = next;
    }
    return count;
}

Test(plan, every_broken_field_is_named) {
    char *text = rich_plan();
    ons_json *root;
    expect_success(ons_json_parse(text, strlen(text), &root), 0);
    expect_success(parse_json(root), 0);
    uint32_t broken = break_all(root, root, false);
    cr_expect_gt(broken, 300);
    expect_success(parse_json(root), 0); /* all was put back */
    ons_json_free(root);
    free(text);
}

Test(plan, damaged_files_are_refused) {
    expect_refusal("", "");
    expect_refusal("{", "line 1");
    expect_refusal("[]", "'version' is missing");
    expect_refusal("{\"version\": 1}", "'version' is 1; this program reads plans of version 2: plan again");
    char *text = rich_plan();
    char *action = strstr(text, "\"0F0\"");
    cr_assert_not_null(action);
    action[2] = 'X';
    expect_refusal(text, "actions[0][0]");
    action[2] = 'F';
    action[3] = '9';
    ons_plan plan;
    ons_status *status = ons_plan_parse(text, strlen(text), arena, &plan);
    cr_assert_not_null(status, "a forward part twice, or of a micro-batch that is none");
    ons_status_free(status);
    free(text);
}

/* Bytes that do not add up in 64 bits. */
Test(plan, sums_of_bytes_are_checked) {
    ons_planning_problem problem;
    ons_planned planned;
    ons_plan plan;
    uint64_t seed = 1;
    while (!random_plan(seed, &problem, &planned, &plan)) ++seed;
    ons_stage_tasks *t = &plan.parts.stages[0];
    ons_stage_piece *many;
    many = ons_arena_allocate(arena, 2000, sizeof *many);
    for (uint32_t i = 0; i < 2000; ++i)
        many[i] = (ons_stage_piece){.kind = ONS_ACTION_FORWARD,
                                    .seconds = 1e-3,
                                    .start_bytes = INT64_C(1) << 53,
                                    .end_bytes = -(INT64_C(1) << 53)};
    t->forward = many;
    t->forward_count = 2000;
    ons_pipeline_forecast f;
    ons_status *status = ons_plan_replay(&plan, arena, &f);
    cr_assert_not_null(status);
    cr_expect(strstr(ons_status_get_message(status), "do not add up") != NULL, "%s", ons_status_get_message(status));
    ons_status_free(status);
}

/* -------------------------------------------------------------------------------------------------- impossible caps */

/* What the refusal names does, to the byte, and costs what it says. */
Test(plan, smallest_memory_that_is_named_works) {
    uint32_t refused = 0;
    for (uint64_t seed = 1; seed <= REFUSALS; ++seed) {
        ons_planning_problem problem = random_problem(seed, 18);
        random_source random = {seed};
        problem.capacity_bytes = 1 + (int64_t)((double)problem.capacity_bytes * random_unit(&random));
        ons_planned planned = search(&problem, seed);
        if (planned.partition.feasible) continue;
        ++refused;
        ons_least_memory least;
        expect_success(ons_least_memory_find(&problem, ons_partition_strategy_find("auto"), &planned, &least), seed);
        cr_expect_gt(least.capacity_bytes, problem.capacity_bytes, "seed %llu", (unsigned long long)seed);
        problem.capacity_bytes = least.capacity_bytes;
        planned = search(&problem, seed);
        cr_assert(planned.partition.feasible, "seed %llu: %lld bytes do not do", (unsigned long long)seed,
                  (long long)least.capacity_bytes);
        ons_plan plan = {0};
        make_subject(seed, &problem, &plan);
        expect_success(ons_planner_fill(&planned, arena, &plan), seed);
        cr_expect(plan.step_seconds == least.step_seconds, "seed %llu", (unsigned long long)seed);
        for (uint32_t i = 0; i < plan.pipeline.stages; ++i)
            cr_expect_leq(plan.stages[i].memory_bytes, least.capacity_bytes, "seed %llu", (unsigned long long)seed);
        cr_expect_gt(least.uncapped_seconds, 0);
    }
    cr_expect_gt(refused, REFUSALS / 3);
}
