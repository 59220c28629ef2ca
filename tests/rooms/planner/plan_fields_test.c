/* Plans as files: whatever is wrong, the message says which field. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "tests/rooms/planner/random_plan.h"

enum { SEEDS = 1000 };

TestSuite(plan_fields, .init = plan_make_arena, .fini = plan_free_arena);

/* A plan with a bit of everything that files hold. */
static char *rich_plan(void) {
    for (uint64_t seed = 1; seed <= SEEDS; ++seed) {
        ons_planning_problem problem;
        ons_planned planned;
        ons_plan plan;
        if (!plan_make_random(seed, &problem, &planned, &plan)) continue;
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
        if (all) return plan_print(&plan, seed);
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

Test(plan_fields, every_broken_field_is_named) {
    char *text = rich_plan();
    ons_json *root;
    plan_expect_success(ons_json_parse(text, strlen(text), &root), 0);
    plan_expect_success(parse_json(root), 0);
    uint32_t broken = break_all(root, root, false);
    cr_expect_gt(broken, 300);
    plan_expect_success(parse_json(root), 0); /* all was put back */
    ons_json_free(root);
    free(text);
}

Test(plan_fields, damaged_files_are_refused) {
    plan_expect_refusal("", "");
    plan_expect_refusal("{", "line 1");
    plan_expect_refusal("[]", "'version' is missing");
    plan_expect_refusal("{\"version\": 1}", "'version' is 1; this program reads plans of version 2: plan again");
    char *text = rich_plan();
    char *action = strstr(text, "\"0F0\"");
    cr_assert_not_null(action);
    action[2] = 'X';
    plan_expect_refusal(text, "actions[0][0]");
    action[2] = 'F';
    action[3] = '9';
    ons_plan plan;
    ons_status *status = ons_plan_parse(text, strlen(text), plan_arena, &plan);
    cr_assert_not_null(status, "a forward part twice, or of a micro-batch that is none");
    ons_status_free(status);
    free(text);
}
