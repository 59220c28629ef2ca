/* The published problems (bench/instances/): every stored solution is what the set says, solutions that were tampered
 * with are refused, and the checker agrees with problems reckoned by hand. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "bench/instances/check.h"

static const char FOLDER[] = "bench/instances";

/* --------------------------------------------------------------------------------------------------------------- by
 * hand
 */

/* Two nodes on two devices, two micro-batches; a message takes 1.5 s. */
static const char GRAPH[] =
    "{\"onstage_cost_graph\": 1, \"name\": \"two\","
    "\"nodes\": [{\"name\": \"a\", \"forward_seconds\": 2, \"input_gradient_seconds\": 1,"
    "             \"weight_gradient_seconds\": 1, \"update_seconds\": 0.25},"
    "            {\"name\": \"b\", \"forward_seconds\": 1, \"input_gradient_seconds\": 2,"
    "             \"weight_gradient_seconds\": 1}],"
    "\"tensors\": [{\"name\": \"x\", \"bytes\": 10, \"producer\": null, \"readers\": [\"a\"], \"savers\": [\"a\"]},"
    "              {\"name\": \"h\", \"bytes\": 20, \"producer\": \"a\", \"readers\": [\"b\"], \"savers\": [\"b\"]},"
    "              {\"name\": \"y\", \"bytes\": 30, \"producer\": \"b\", \"readers\": [], \"savers\": []}],"
    "\"weights\": [{\"name\": \"wa\", \"bytes\": 100, \"users\": [\"a\"]},"
    "              {\"name\": \"wb\", \"bytes\": 50, \"users\": [\"b\"]}]}";

static const char PROBLEM[] =
    "{\"onstage_instance\": 1, \"name\": \"two\", \"graph\": \"\", \"devices\": 2, \"stages_of_a_device\": 0,"
    " \"micro_batches\": 2, \"memory_bytes\": 260, \"link_bandwidth\": 20, \"link_latency\": 0.5,"
    " \"objective\": \"step_seconds\"}";

#define STAGES(more)           "{\"stages\": [{\"device\": 0, \"names\": [\"a\"]" more "}, {\"device\": 1, \"names\": [\"b\"]}],"
#define ACTIONS(first, second) "\"actions\": [[" first "], [" second "]]}"
#define FIRST                  "\"0F0-1\", \"0B0\", \"0B1\", \"0U1\""
#define SECOND                 "\"1F0\", \"1B0\", \"1F1\", \"1B1\", \"1U1\""

typedef struct judged {
    ons_arena *arena;
    instance in;
    verdict v;
    ons_status *status;
} judged;

static judged pose(const char *problem, const char *graph) {
    judged j = {.arena = ons_arena_new()};
    cr_assert_null(instance_parse(problem, strlen(problem), j.arena, &j.in));
    cr_assert_null(instance_parse_graph(graph, strlen(graph), j.arena, &j.in));
    return j;
}

static void judge(judged *j, const char *json) {
    j->status = instance_check(&j->in, json, strlen(json), j->arena, &j->v);
}

static void drop(judged *j) {
    ons_status_free(j->status);
    instance_free(&j->in);
    ons_arena_free(j->arena);
}

Test(instances, times_and_memory_are_those_reckoned_by_hand) {
    judged j = pose(PROBLEM, GRAPH);
    judge(&j, STAGES("") ACTIONS(FIRST, SECOND));
    cr_assert_null(j.status, "%s", ons_status_get_message(j.status));
    cr_assert_float_eq(j.v.step_seconds, 15.25, 1e-12, "%.15g", j.v.step_seconds);
    cr_assert_float_eq(j.v.bottleneck_seconds, 4, 1e-12);
    cr_assert_eq(j.v.memory_bytes, 260, "%ld", (long)j.v.memory_bytes);
    drop(&j);
}

/* Device 1: F0 3.5 to 4.5, I0 to 6.5, whose gradient is there at 8, F1 to 7.5, I1 to 9.5, then both W and U to 11.5;
 * device 0: both F to 4, B0 8 to 10, B1 from 11 (9.5 and 1.5) to 13, U to 13.25. */
Test(instances, weight_gradients_may_come_later) {
    judged j = pose(PROBLEM, GRAPH);
    j.in.memory_bytes = 0;
    judge(&j, STAGES("") ACTIONS(FIRST, "\"1F0\", \"1I0\", \"1F1\", \"1I1\", \"1W0-1\", \"1U1\""));
    cr_assert_null(j.status, "%s", ons_status_get_message(j.status));
    cr_assert_float_eq(j.v.step_seconds, 13.25, 1e-12, "%.15g", j.v.step_seconds);
    drop(&j);
}

Test(instances, bounds_are_those_reckoned_by_hand) {
    judged j = pose(PROBLEM, GRAPH);
    double bound;
    const char *from;
    cr_assert_null(instance_bound(&j.in, j.arena, &bound, &from));
    cr_assert_float_eq(bound, 10, 1e-12, "b begins after 2 s and takes 2 times 4");
    j.in.objective = BOTTLENECK_SECONDS;
    j.in.stages_of_a_device = 1;
    cr_assert_null(instance_bound(&j.in, j.arena, &bound, &from));
    cr_assert_float_eq(bound, 4, 1e-12);
    drop(&j);
}

static void expect_refusal(const char *json, const char *word) {
    judged j = pose(PROBLEM, GRAPH);
    judge(&j, json);
    cr_assert_not_null(j.status, "taken: %s", json);
    cr_assert_not_null(strstr(ons_status_get_message(j.status), word), "'%s' is not in: %s", word,
                       ons_status_get_message(j.status));
    drop(&j);
}

Test(instances, what_is_no_solution_is_refused_with_the_reason) {
    expect_refusal(STAGES("") ACTIONS("\"0F0-1\", \"0B0\", \"0U1\"", SECOND), "0U1");
    expect_refusal(STAGES("") ACTIONS("\"0F0-1\", \"0B0\", \"0B0\", \"0B1\", \"0U1\"", SECOND), "0B0");
    expect_refusal(STAGES("") ACTIONS("\"0B0\", \"0F0-1\", \"0B1\", \"0U1\"", SECOND), "0B0");
    expect_refusal(STAGES("") ACTIONS("\"0F0\", \"0B0\", \"0F1\", \"0B1\"", SECOND), "updated");
    expect_refusal(STAGES("") ACTIONS("\"0F0\", \"0B0\", \"0F1\", \"0B1\", \"0U1\"", "\"1F0-1\", \"1B0-1\", \"1U1\""),
                   "waits for ever");
    expect_refusal(STAGES("") ACTIONS(SECOND, FIRST), "list of device 0");
    expect_refusal(STAGES("") ACTIONS("\"0F0-2\"", SECOND), "no action");
    expect_refusal(STAGES(", \"recompute\": [\"h\", \"z\"]") ACTIONS(FIRST, SECOND), "recompute");
    expect_refusal(STAGES(", \"swap\": [{\"tensor\": \"h\"}]") ACTIONS(FIRST, SECOND), "swap");
    expect_refusal("{\"stages\": [{\"device\": 0, \"names\": [\"a\"]}]," ACTIONS("\"0F0-1\", \"0B0-1\", \"0U1\"", ""),
                   "'b' is in no stage");
    expect_refusal("{\"stages\": [{\"device\": 0, \"names\": [\"a\", \"a\", \"b\"]}]," ACTIONS("", ""), "twice");
    expect_refusal("{\"stages\": [{\"device\": 0, \"names\": [\"b\", \"a\"]}]," ACTIONS("", ""), "in front of");
    expect_refusal("{\"stages\": [{\"device\": 2, \"names\": [\"a\", \"b\"]}]," ACTIONS("", ""), "device 2");
    expect_refusal("{\"stages\": 1}", "stages");
}

Test(instances, a_byte_too_much_is_refused) {
    judged j = pose(PROBLEM, GRAPH);
    j.in.memory_bytes = 259;
    judge(&j, STAGES("") ACTIONS(FIRST, SECOND));
    cr_assert_not_null(j.status);
    cr_assert_not_null(strstr(ons_status_get_message(j.status), "260"), "%s", ons_status_get_message(j.status));
    drop(&j);
}

/* -------------------------------------------------------------------------------------------------- computing again */

static const char CHAIN[] =
    "{\"onstage_cost_graph\": 1, \"name\": \"three\","
    "\"nodes\": [{\"name\": \"p\", \"forward_seconds\": 1, \"input_gradient_seconds\": 1},"
    "            {\"name\": \"q\", \"forward_seconds\": 4, \"input_gradient_seconds\": 1},"
    "            {\"name\": \"r\", \"forward_seconds\": 1, \"input_gradient_seconds\": 1, \"recomputable\": false}],"
    "\"tensors\": [{\"name\": \"u\", \"bytes\": 40, \"gradient_bytes\": 0, \"producer\": \"p\", \"readers\": [\"q\"],"
    "               \"savers\": [\"q\"]},"
    "              {\"name\": \"v\", \"bytes\": 1000, \"gradient_bytes\": 0, \"producer\": \"q\","
    "               \"readers\": [\"r\"], \"savers\": [\"r\"]},"
    "              {\"name\": \"w\", \"bytes\": 1, \"gradient_bytes\": 0, \"producer\": \"r\", \"savers\": [\"r\"]}],"
    "\"weights\": []}";

#define ONE_STAGE(again)                                                                                               \
    "{\"stages\": [{\"device\": 0, \"names\": [\"p\", \"q\", \"r\"], \"recompute\": [" again "]}], \"actions\": "      \
    "[[\"0F0-1\", \"0B0-1\", \"0U1\"]]}"

static void expect_again(const char *json, double seconds, int64_t bytes) {
    judged j = pose(PROBLEM, CHAIN);
    j.in.memory_bytes = 0;
    judge(&j, json);
    cr_assert_null(j.status, "%s", ons_status_get_message(j.status));
    cr_assert_float_eq(j.v.step_seconds, seconds, 1e-12, "%.15g", j.v.step_seconds);
    cr_assert_eq(j.v.memory_bytes, bytes, "%ld", (long)j.v.memory_bytes);
    drop(&j);
}

Test(instances, what_is_computed_again_takes_time_and_gives_memory) {
    expect_again(ONE_STAGE(""), 18, 2 * 1041);
    expect_again(ONE_STAGE("\"v\""), 18 + 2 * 4, 2 * 41 + 1000);
    expect_again(ONE_STAGE("\"u\", \"v\""), 18 + 2 * 5, 2 * 1 + 1040);
    judged j = pose(PROBLEM, CHAIN);
    judge(&j, ONE_STAGE("\"w\""));
    cr_assert_not_null(j.status, "'r' may not run a second time");
    drop(&j);
}

/* --------------------------------------------------------------------------------------------------------------- the
 * set
 */

typedef struct stored {
    judged j;
    ons_mapping file;
} stored;

static bool load(const char *name, stored *s) {
    char path[512];
    *s = (stored){.j = {.arena = ons_arena_new()}};
    ons_status *status = instance_load(FOLDER, name, s->j.arena, &s->j.in);
    cr_assert_null(status, "%s: %s", name, ons_status_get_message(status));
    snprintf(path, sizeof path, "%s/%s", FOLDER, s->j.in.solution);
    cr_assert_null(ons_mapping_open(path, &s->file), "%s", path);
    return true;
}

static void unload(stored *s) {
    ons_mapping_close(&s->file);
    drop(&s->j);
}

static void check_stored(const char *name) {
    stored s;
    double bound;
    const char *from;
    load(name, &s);
    judged *j = &s.j;
    j->status = instance_check(&j->in, s.file.bytes, s.file.size, j->arena, &j->v);
    cr_assert_null(j->status, "%s: %s", name, ons_status_get_message(j->status));
    cr_assert(fabs(j->v.value - j->in.best) <= 1e-9 * j->in.best, "%s: %.15g, not %.15g", name, j->v.value, j->in.best);
    cr_assert_null(instance_bound(&j->in, j->arena, &bound, &from));
    cr_assert(fabs(bound - j->in.bound) <= 1e-9 * bound, "%s: no less than %.15g, not %.15g", name, bound, j->in.bound);
    cr_assert(bound > 0 && bound <= j->v.value * (1 + 1e-9), "%s: bound %.15g, value %.15g", name, bound, j->v.value);
    unload(&s);
}

static void expect_spoiled(stored *s, const char *name, const char *text, const char *what) {
    s->j.status = instance_check(&s->j.in, text, strlen(text), s->j.arena, &s->j.v);
    cr_assert_not_null(s->j.status, "%s: taken with %s", name, what);
    cr_assert_eq(ons_status_get_code(s->j.status), ONS_INVALID_DATA);
    ons_status_free(s->j.status);
    s->j.status = NULL;
}

/* The first node is left out, the first action is, and the device has a byte less than what is taken. */
static void check_spoiled(const char *name) {
    stored s;
    load(name, &s);
    char *text = strndup((const char *)s.file.bytes, s.file.size);
    char *node = strstr(strstr(text, "\"names\": ["), "[") + 1, *behind = strstr(node, "\"");
    behind = strchr(behind + 1, '"') + 1;
    cr_assert_null(instance_check(&s.j.in, text, strlen(text), s.j.arena, &s.j.v));
    int64_t taken = s.j.v.memory_bytes;
    s.j.in.memory_bytes = taken - 1;
    expect_spoiled(&s, name, text, "a byte too few");
    s.j.in.memory_bytes = 0;
    memset(node, ' ', (size_t)(behind - node));
    if (*behind == ',') *behind = ' ';
    expect_spoiled(&s, name, text, "a node too few");
    free(text);
    text = strndup((const char *)s.file.bytes, s.file.size);
    char *action = strstr(text, "\"0F0\"");
    cr_assert_not_null(action);
    action[2] = 'B';
    expect_spoiled(&s, name, text, "a backward part in the place of a forward part");
    free(text);
    unload(&s);
}

static int is_problem(const struct dirent *entry) { return strstr(entry->d_name, ".json") != NULL; }

static int for_all(void (*check)(const char *name)) {
    char path[512];
    struct dirent **entries;
    snprintf(path, sizeof path, "%s/problems", FOLDER);
    int count = scandir(path, &entries, is_problem, alphasort);
    for (int i = 0; i < count; ++i) {
        *strstr(entries[i]->d_name, ".json") = '\0';
        check(entries[i]->d_name);
        free(entries[i]);
    }
    if (count >= 0) free(entries);
    return count;
}

Test(instances, stored_solutions_are_what_the_set_says) { cr_assert_geq(for_all(check_stored), 20); }

Test(instances, stored_solutions_that_were_tampered_with_are_refused) { for_all(check_spoiled); }
