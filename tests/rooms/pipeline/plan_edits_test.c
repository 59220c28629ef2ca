/* A plan's file that a person has changed, or runs with options that say something else: refused with the field or the
 * option, alike for training and for simulating. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/rooms/training/fixture.h"

static const char model_path[] = "tests/agreement/golden/dynamo_gpt/model.onnx";

static ons_config *configure(void) {
    ons_config *c;
    must(ons_config_new(&c));
    must(ons_config_set(c, "input", "tokens=tests/agreement/golden/dynamo_gpt/input.npy"));
    must(ons_config_set(c, "target", "tests/agreement/golden/dynamo_gpt/target.npy"));
    must(ons_config_set(c, "loss", "cross_entropy"));
    must(ons_config_set(c, "threads", "1"));
    must(ons_config_set(c, "steps", "1"));
    return c;
}

static ons_config *configure_stages(void) {
    ons_config *c = configure();
    must(ons_config_set(c, "stages", "2"));
    must(ons_config_set(c, "batch", "16"));
    must(ons_config_set(c, "micro-batches", "4"));
    return c;
}

static void set_memory(ons_config *c, int64_t bytes) {
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)bytes);
    must(ons_config_set(c, "memory", text));
}

static void plan_into(const ons_config *c, const char *path) {
    ons_planning *planning;
    must(ons_planning_new(model_path, c, &planning));
    must(ons_planning_write(planning, path));
    ons_planning_free(planning);
}

/* The number that stands before or behind these words of a refusal. */
static int64_t number_told(const char *message, const char *words, bool before) {
    const char *at = strstr(message, words);
    cr_assert_not_null(at, "'%s' lacks '%s'", message, words);
    if (before)
        while (at > message && at[-1] >= '0' && at[-1] <= '9') --at;
    else
        at += strlen(words);
    int64_t number = strtoll(at, NULL, 10);
    cr_assert_gt(number, 0, "'%s' has no number at '%s'", message, words);
    return number;
}

/* The least memory that a plan takes here. */
static int64_t least_planned(ons_config *c) {
    ons_planning *planning = NULL;
    set_memory(c, 1000);
    ons_status *status = ons_planning_new(model_path, c, &planning);
    cr_assert_not_null(status);
    int64_t least = number_told(ons_status_get_message(status), "found that does is --memory ", false);
    ons_status_free(status);
    return least;
}

static ons_json *parse_file(const char *path) {
    ons_json *plan;
    contents text = read_file(path);
    must(ons_json_parse(text.bytes, text.size, &plan));
    free(text.bytes);
    return plan;
}

/* What the largest stage takes where nothing is capped. */
static int64_t whole_planned(const char *path) {
    double whole = 0;
    ons_config *c = configure_stages();
    plan_into(c, path);
    ons_config_free(c);
    ons_json *plan = parse_file(path), *stage;
    cJSON_ArrayForEach(stage, cJSON_GetObjectItem(cJSON_GetObjectItem(plan, "layout"), "stages")) {
        double bytes = cJSON_GetObjectItem(stage, "arena_bytes")->valuedouble;
        whole = bytes > whole ? bytes : whole;
    }
    cJSON_Delete(plan);
    return (int64_t)whole;
}

static void write_text(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    cr_assert_geq(fputs(text, file), 0);
    cr_assert_eq(fclose(file), 0);
}

/* This machine, but that copies cost nothing: whatever its layouts, memory that lacks is made by swapping. */
static const char swapping_machine[] =
    "{\"onstage_device_profile\": 1, \"name\": \"cpu\", \"title\": \"copies at no cost\", \"kind\": \"cpu\","
    " \"this_machine\": true, \"memory_bytes\": 0, \"reserve_bytes\": 0, \"matrix_flops\": {\"fp32\": 3.2e10},"
    " \"precision\": \"fp32\", \"vector_flops\": 8e9, \"memory_bandwidth\": 1e10, \"launch_seconds\": 2e-7,"
    " \"link\": {\"bandwidth\": 5e9, \"latency\": 1e-5}, \"host\": {\"bandwidth\": 1e12, \"latency\": 1e-9},"
    " \"efficiency\": {\"matrix\": {\"share\": 0.8, \"half\": 2e5}, \"vector\": {\"share\": 0.8, \"half\": 5e4},"
    " \"memory\": {\"share\": 0.8, \"half\": 2e4}}}";

/* Two stages under a cap a quarter of the way from the least that is possible here to what they would take: the first
 * one swaps. */
static void write_plan(const char *path) {
    char profile[PATH_BYTES];
    ons_config *c = configure_stages();
    int64_t least = least_planned(c);
    set_memory(c, least + (whole_planned(path) - least) / 4);
    scratch_path(profile, "profile.json");
    write_text(profile, swapping_machine);
    must(ons_config_set(c, "device-profile", profile));
    plan_into(c, path);
    unlink(profile);
    ons_config_free(c);
}

static void expect_words(ons_status *status, const char *words, const char *path, const char *who) {
    cr_assert_not_null(status, "%s takes a plan that should be refused with '%s'", who, words);
    const char *message = ons_status_get_message(status);
    cr_expect_not_null(strstr(message, words), "%s: '%s' lacks '%s'", who, message, words);
    cr_expect_not_null(strstr(message, path), "%s: '%s' does not name the file", who, message);
    ons_status_free(status);
}

static ons_status *try_training(const ons_config *c) {
    ons_model *model;
    ons_trainer *trainer = NULL;
    must(ons_model_load(model_path, c, &model));
    ons_status *status = ons_trainer_new(model, c, &trainer);
    ons_trainer_free(trainer);
    ons_model_free(model);
    return status;
}

/* Both refuse the text as a plan. */
static void expect_refused(const char *text, const char *words) {
    char path[PATH_BYTES];
    scratch_path(path, "plan.json");
    write_text(path, text);
    ons_config *c = configure();
    ons_replay *replay = NULL;
    ons_status *status = ons_replay_new(path, c, &replay);
    expect_words(status, words, path, "simulate");
    must(ons_config_set(c, "plan", path));
    expect_words(try_training(c), words, path, "train");
    ons_config_free(c);
    unlink(path);
}

static ons_json *read_plan(void) {
    char path[PATH_BYTES];
    scratch_path(path, "made.json");
    write_plan(path);
    ons_json *plan = parse_file(path);
    unlink(path);
    return plan;
}

static ons_json *decisions_of(const ons_json *plan) { return cJSON_GetObjectItem(plan, "decisions"); }

static ons_json *swaps_of(const ons_json *plan) {
    ons_json *stage = cJSON_GetArrayItem(cJSON_GetObjectItem(decisions_of(plan), "stages"), 0);
    ons_json *swaps = cJSON_GetObjectItem(stage, "swap");
    cr_assert_geq(cJSON_GetArraySize(swaps), 2, "nothing to exchange");
    return swaps;
}

static void refuse_and_free(ons_json *plan, const char *words) {
    char *text = cJSON_Print(plan);
    expect_refused(text, words);
    cJSON_free(text);
    cJSON_Delete(plan);
}

/* The first swap, and the first one after it that has another node there. */
static void exchange(const ons_json *plan, const char *field) {
    ons_json *swaps = swaps_of(plan), *first = cJSON_GetArrayItem(swaps, 0), *other = first->next;
    char *mine = strdup(cJSON_GetObjectItem(first, field)->valuestring);
    while (other != NULL && strcmp(cJSON_GetObjectItem(other, field)->valuestring, mine) == 0) other = other->next;
    cr_assert_not_null(other, "all swaps have the same %s", field);
    cJSON_SetValuestring(cJSON_GetObjectItem(first, field), cJSON_GetObjectItem(other, field)->valuestring);
    cJSON_SetValuestring(cJSON_GetObjectItem(other, field), mine);
    free(mine);
}

/* Bits would stay right; times and memory would be another plan's. */
Test(plan_edits, exchanged_nodes_are_refused) {
    static const char *const fields[] = {"out_after", "in_before", "gone_before"};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; ++i) {
        char words[64];
        ons_json *plan = read_plan();
        exchange(plan, fields[i]);
        snprintf(words, sizeof words, "decisions.stages[0]: '%s'", fields[i]);
        refuse_and_free(plan, words);
    }
}

Test(plan_edits, a_swap_that_was_taken_out_is_refused) {
    ons_json *plan = read_plan();
    cJSON_DeleteItemFromArray(swaps_of(plan), 0);
    refuse_and_free(plan, "decisions.stages[0]: 'tensor'");
}

Test(plan_edits, a_copy_that_is_no_longer_waited_for_is_refused) {
    ons_json *plan = read_plan();
    cJSON_DeleteItemFromObject(cJSON_GetArrayItem(swaps_of(plan), 0), "gone_before");
    refuse_and_free(plan, "decisions.stages[0]: 'gone_before'");
}

Test(plan_edits, a_capacity_that_is_not_kept_is_refused) {
    ons_json *plan = read_plan();
    cJSON_SetNumberValue(cJSON_GetObjectItem(decisions_of(plan), "capacity_bytes"), 100000);
    refuse_and_free(plan, "decisions.capacity_bytes");
}

/* All forward parts first: more micro-batches on their way than 1f1b has places for. */
Test(plan_edits, an_order_that_needs_more_places_is_refused) {
    static const char *const parts[] = {"F0", "F1", "F2", "F3", "B0", "B1", "B2", "B3", "U3"};
    ons_json *plan = read_plan(), *actions = cJSON_GetObjectItem(decisions_of(plan), "actions");
    for (int device = 0; device < 2; ++device) {
        ons_json *list = cJSON_CreateArray();
        for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i) {
            char action[16];
            snprintf(action, sizeof action, "%d%s", device, parts[i]);
            cJSON_AddItemToArray(list, cJSON_CreateString(action));
        }
        cr_assert_eq(cJSON_GetArraySize(cJSON_GetArrayItem(actions, device)), cJSON_GetArraySize(list));
        cJSON_ReplaceItemInArray(actions, device, list);
    }
    refuse_and_free(plan, "decisions.actions[0][2] (\"0F2\"): one micro-batch more waits");
}

static void forget_made_for(const ons_json *plan) {
    ons_json *stage;
    cJSON_ArrayForEach(stage, cJSON_GetObjectItem(cJSON_GetObjectItem(plan, "costs"), "stages"))
        cJSON_DeleteItemFromObject(stage, "made_for");
}

Test(plan_edits, a_tensor_that_is_decided_twice_is_refused) {
    ons_json *plan = read_plan(), *swaps = swaps_of(plan);
    forget_made_for(plan);
    cJSON_AddItemToArray(swaps, cJSON_Duplicate(cJSON_GetArrayItem(swaps, 0), true));
    refuse_and_free(plan, "is decided twice");
}

/* Named nodes: as many as 'nodes' says, each in one stage, and of all stages or none. */
Test(plan_edits, node_lists_that_do_not_add_up_are_refused) {
    static const char *const words[] = {"'names' has 1 entries, 'nodes' says", "decisions.stages[1].names[0]: node 'a'",
                                        "decisions.stages[1].names: all stages have it, or none"};
    for (int i = 0; i < 3; ++i) {
        ons_json *plan = read_plan(), *stages = cJSON_GetObjectItem(decisions_of(plan), "stages");
        forget_made_for(plan);
        for (int k = 0; k < 2; ++k) {
            static const char *const node[] = {"a"};
            ons_json *stage = cJSON_GetArrayItem(stages, k);
            cJSON_DeleteItemFromObject(stage, "names");
            if (i == 2 && k == 1) continue;
            cJSON_AddItemToObject(stage, "names", cJSON_CreateStringArray(node, 1));
            cJSON_SetNumberValue(cJSON_GetObjectItem(stage, "nodes"), i == 0 ? 2 : 1);
        }
        refuse_and_free(plan, words[i]);
    }
}

/* Who knows what he does takes out what the costs were made for. */
Test(plan_edits, a_plan_without_what_it_was_made_for_runs) {
    char path[PATH_BYTES];
    ons_json *plan = read_plan();
    exchange(plan, "in_before");
    forget_made_for(plan);
    char *text = cJSON_Print(plan);
    scratch_path(path, "plan.json");
    write_text(path, text);
    ons_config *c = configure();
    must(ons_config_set(c, "plan", path));
    must(ons_config_set(c, "memory", "64MiB"));
    must(try_training(c));
    ons_config_free(c);
    cJSON_free(text);
    cJSON_Delete(plan);
    unlink(path);
}

Test(plan_edits, options_beside_a_plan_agree_or_are_refused) {
    static const struct {
        const char *option, *value, *words; /* NULL: it agrees */
    } options[] = {
        {"stages", "2", NULL},
        {"stages", "1", "--stages 1 beside --plan"},
        {"pipeline", "1f1b", NULL},
        {"pipeline", "gpipe", "--pipeline gpipe beside --plan"},
        {"partition", "auto", NULL},
        {"partition", "uniform", "--partition uniform beside --plan"},
        {"memory-strategy", "capuchin", NULL},
        {"memory-strategy", "none", "--memory-strategy none beside --plan"},
        {"device-profile", "cpu", NULL},
        {"device-profile", "v100-16gb", "--device-profile v100-16gb beside --plan"},
        {"batch", "8", "another batch: 16, and this run has 8"},
        {"micro-batches", "2", "another number of micro-batches: 4, and this run has 2"},
    };
    char path[PATH_BYTES];
    scratch_path(path, "plan.json");
    write_plan(path);
    for (size_t i = 0; i < sizeof options / sizeof *options; ++i) {
        ons_config *c = configure();
        must(ons_config_set(c, "plan", path));
        must(ons_config_set(c, options[i].option, options[i].value));
        ons_status *status = try_training(c);
        if (options[i].words == NULL)
            must(status);
        else
            expect_words(status, options[i].words, path, options[i].option);
        ons_config_free(c);
    }
    unlink(path);
}

static int64_t least_trained(const ons_config *c) {
    ons_status *status = try_training(c);
    cr_assert_not_null(status);
    int64_t least = number_told(ons_status_get_message(status), " are needed in the smallest plan", true);
    ons_status_free(status);
    return least;
}

/* A strategy of the user's choice needs more than the usual one does. */
Test(plan_edits, a_refusal_names_what_the_usual_strategies_need) {
    char words[128];
    ons_config *c = configure_stages();
    set_memory(c, 1000);
    int64_t usual = least_trained(c);
    must(ons_config_set(c, "memory-strategy", "none"));
    snprintf(words, sizeof words, "in the smallest plan that was found with --memory-strategy none, and %lld without;",
             (long long)usual);
    expect_words(try_training(c), words, model_path, "train");
    set_memory(c, usual);
    ons_status *status = try_training(c);
    cr_assert_not_null(status);
    int64_t enough = number_told(ons_status_get_message(status), " are enough", true);
    expect_words(status, "found with --memory-strategy none; leave that out, and ", model_path, "train");
    cr_expect_leq(enough, usual);
    set_memory(c, enough);
    must(ons_config_set(c, "memory-strategy", "capuchin"));
    must(try_training(c));
    ons_config_free(c);
}
