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

/* ---------------------------------------------------------------------------------------------------------- by hand */

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
    check_result v;
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
    expect_refusal(STAGES(", \"swap\": [{\"tensor\": \"x\"}]") ACTIONS(FIRST, SECOND), "no host");
    expect_refusal(STAGES(", \"replicas\": 2") ACTIONS(FIRST, SECOND), "replicas");
    expect_refusal(STAGES(", \"micro_batch\": 2") ACTIONS(FIRST, SECOND), "micro_batch");
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

/* ------------------------------------------------------------------------------------------------------ with a host */

#define SWAPPED(swap)                                                                                                  \
    "{\"stages\": [{\"device\": 0, \"names\": [\"p\", \"q\", \"r\"], \"swap\": [" swap "]}], \"actions\": "            \
    "[[\"0F0-1\", \"0B0-1\", \"0U1\"]]}"
#define SWAP(tensor, out, in) "{\"tensor\": \"" tensor "\", \"out_after\": \"" out "\", \"in_before\": \"" in "\"}"
#define SWAP_GONE(tensor, out, in, gone)                                                                               \
    "{\"tensor\": \"" tensor "\", \"out_after\": \"" out "\", \"in_before\": \"" in "\", \"gone_before\": \"" gone "\"}"

static judged judge_swapped(const char *json, double bandwidth) {
    judged j = pose(PROBLEM, CHAIN);
    j.in.memory_bytes = 0;
    j.in.host_bandwidth = bandwidth;
    j.in.host_latency = 0.5;
    judge(&j, json);
    return j;
}

static void expect_swapped(const char *json, double bandwidth, double seconds, int64_t bytes) {
    judged j = judge_swapped(json, bandwidth);
    cr_assert_null(j.status, "%s", ons_status_get_message(j.status));
    cr_assert_float_eq(j.v.step_seconds, seconds, 1e-12, "%.15g", j.v.step_seconds);
    cr_assert_eq(j.v.memory_bytes, bytes, "%ld", (long)j.v.memory_bytes);
    drop(&j);
}

/* Copies of v take a second: out 5 to 6 and 11 to 12, back 12 to 13 and 16 to 17, for which r waits. */
Test(instances, what_is_swapped_is_waited_for_and_gives_memory) {
    expect_swapped(SWAPPED(SWAP("v", "q", "r")), 2000, 20, 1000 + 2 * 41);
    /* A second and a half: the second one is there when the first comes back at 12. */
    expect_swapped(SWAPPED(SWAP("v", "q", "r")), 1000, 21, 2000 + 2 * 41);
}

/* Copies of u take 4.5 s: out 1 to 5.5, for which r waits half a second, and back with r or behind it. */
Test(instances, copies_to_the_host_are_waited_for_where_it_says_so) {
    expect_swapped(SWAPPED(SWAP_GONE("u", "p", "q", "r")), 10, 28, 2 * 1001 + 40);
    expect_swapped(SWAPPED(SWAP_GONE("u", "p", "r", "r")), 10, 26, 2 * 1001 + 40);
}

static void expect_swap_refusal(const char *json, const char *word) {
    judged j = judge_swapped(json, 1000);
    cr_assert_not_null(j.status, "taken: %s", json);
    cr_assert_eq(ons_status_get_code(j.status), ONS_INVALID_DATA);
    cr_assert_not_null(strstr(ons_status_get_message(j.status), word), "'%s' is not in: %s", word,
                       ons_status_get_message(j.status));
    drop(&j);
}

Test(instances, swaps_that_cannot_be_are_refused_with_the_reason) {
    expect_swap_refusal(SWAPPED(SWAP("v", "p", "r")), "before it is made");
    expect_swap_refusal(SWAPPED(SWAP("v", "q", "q")), "comes back behind");
    expect_swap_refusal(SWAPPED(SWAP("z", "q", "r")), "a tensor that is not there");
    expect_swap_refusal(SWAPPED(SWAP("v", "z", "r")), "out_after");
    expect_swap_refusal(SWAPPED(SWAP("v", "q", "r") ", " SWAP("v", "q", "r")), "twice");
    expect_swap_refusal(SWAPPED(SWAP_GONE("u", "p", "q", "q")), "gone_before");
    expect_swap_refusal(SWAPPED(SWAP("v", "q", "r") "], \"recompute\": [\"v\""), "does not keep");
    expect_swap_refusal(SWAPPED("{\"tensor\": \"v\", \"out_after\": \"q\"}"), "in_before");
}

/* -------------------------------------------------------------------------------------- copies, and several at once */

/* What GRAPH costs for two micro-batches at once. */
static const char GRAPH_OF_TWO[] =
    "{\"onstage_cost_graph\": 1, \"name\": \"two\","
    "\"nodes\": [{\"name\": \"b\", \"forward_seconds\": 1.5, \"input_gradient_seconds\": 3,"
    "             \"weight_gradient_seconds\": 1.5},"
    "            {\"name\": \"a\", \"forward_seconds\": 3, \"input_gradient_seconds\": 1.5,"
    "             \"weight_gradient_seconds\": 1.5, \"update_seconds\": 0.25}],"
    "\"tensors\": [{\"name\": \"y\", \"bytes\": 60, \"producer\": \"b\", \"savers\": []},"
    "              {\"name\": \"x\", \"bytes\": 20, \"producer\": null, \"readers\": [\"a\"], \"savers\": [\"a\"]},"
    "              {\"name\": \"h\", \"bytes\": 40, \"producer\": \"a\", \"readers\": [\"b\"], \"savers\": [\"b\"]}],"
    "\"weights\": []}";

static const char PROBLEM_OF_GROUPS[] =
    "{\"onstage_instance\": 1, \"name\": \"groups\", \"graph\": \"\", \"devices\": 3, \"stages_of_a_device\": 1,"
    " \"micro_batches\": 4, \"memory_bytes\": 280, \"link_bandwidth\": 20, \"link_latency\": 0.5,"
    " \"copies_of_a_stage\": 2, \"at_once\": {\"micro_batches\": 2, \"graph\": \"\"},"
    " \"objective\": \"step_seconds\"}";

#define GROUPS(first, second)                                                                                          \
    "{\"stages\": [{\"device\": 0, \"names\": [\"a\"]" first "}, {\"device\": 2, \"names\": [\"b\"]" second "}], "
#define TWICE(first, second, third) "\"actions\": [[" first "], [" second "], [" third "]]}"
#define COPIES                      ", \"replicas\": 2"
#define TWO                         ", \"micro_batch\": 2"
#define OF_0                        "\"0F0-1\", \"0B0-1\", \"0U1\""
#define OF_1                        "\"0.1F0-1\", \"0.1B0-1\", \"0.1U1\""
#define OF_2                        "\"1F0\", \"1B0\", \"1F1\", \"1B1\", \"1U1\""

static judged pose_groups(void) {
    judged j = pose(PROBLEM_OF_GROUPS, GRAPH);
    cr_assert_null(instance_parse_graph_at_once(GRAPH_OF_TWO, strlen(GRAPH_OF_TWO), j.arena, &j.in));
    return j;
}

/* Device 0 has a's forward parts of the micro-batches 0 and 2 up to 4 s, device 1 those of 1 and 3. b's first, of 0 and
 * 1, runs from 3.5 to 5, its backward part to 9.5, the others to 11 and 15.5; half of a gradient is under way for 1.5
 * s, so a's last backward part ends at 19, and both copies have added up their 100 bytes at 25. */
Test(instances, copies_and_several_at_once_are_as_reckoned_by_hand) {
    judged j = pose_groups();
    judge(&j, GROUPS(COPIES, TWO) TWICE(OF_0, OF_1, OF_2));
    cr_assert_null(j.status, "%s", ons_status_get_message(j.status));
    cr_assert_float_eq(j.v.step_seconds, 25.25, 1e-12, "%.15g", j.v.step_seconds);
    cr_assert_float_eq(j.v.bottleneck_seconds, 3, 1e-12, "%.15g", j.v.bottleneck_seconds);
    cr_assert_eq(j.v.memory_bytes, 280, "%ld", (long)j.v.memory_bytes);
    j.in.memory_bytes = 279;
    judge(&j, GROUPS(COPIES, TWO) TWICE(OF_0, OF_1, OF_2));
    cr_assert_not_null(j.status);
    drop(&j);
}

/* All work, of two at once, on three devices; a heaviest node has two copies. */
Test(instances, bounds_know_copies_and_several_at_once) {
    judged j = pose_groups();
    double bound;
    const char *from;
    cr_assert_null(instance_bound(&j.in, j.arena, &bound, &from));
    cr_assert_float_eq(bound, (4 * 6 + 0.25) / 3, 1e-12, "%.15g", bound);
    j.in.devices = 4;
    cr_assert_null(instance_bound(&j.in, j.arena, &bound, &from));
    cr_assert_float_eq(bound, 2 + 4 * 3 / 2.0, 1e-12, "b begins after 2 s: %.15g", bound);
    j.in.objective = BOTTLENECK_SECONDS;
    cr_assert_null(instance_bound(&j.in, j.arena, &bound, &from));
    cr_assert_float_eq(bound, 1.5, 1e-12, "%.15g", bound);
    drop(&j);
}

static void expect_groups_refusal(const char *json, const char *word) {
    judged j = pose_groups();
    judge(&j, json);
    cr_assert_not_null(j.status, "taken: %s", json);
    cr_assert_not_null(strstr(ons_status_get_message(j.status), word), "'%s' is not in: %s", word,
                       ons_status_get_message(j.status));
    drop(&j);
}

Test(instances, groups_that_cannot_be_are_refused_with_the_reason) {
    expect_groups_refusal(GROUPS(", \"replicas\": 3", TWO) TWICE(OF_0, OF_1, OF_2), "replicas");
    expect_groups_refusal(GROUPS(COPIES, ", \"micro_batch\": 4") TWICE(OF_0, OF_1, OF_2), "micro_batch");
    expect_groups_refusal(GROUPS(COPIES, COPIES) TWICE(OF_0, OF_1, OF_2), "no device 3");
    expect_groups_refusal(GROUPS("", TWO) TWICE(OF_0, OF_1, OF_2), "0U1");
    expect_groups_refusal(GROUPS(COPIES, TWO) TWICE(OF_1, OF_0, OF_2), "list of device 0");
    expect_groups_refusal(GROUPS(COPIES, TWO) TWICE(OF_0, "\"0.2F0\"", OF_2), "no action");
    expect_groups_refusal(GROUPS(COPIES, TWO) TWICE("\"0F0-3\"", OF_1, OF_2), "no action");
    expect_groups_refusal(GROUPS(COPIES, TWO) TWICE(OF_0, "\"0.1F0-1\", \"0.1B0-1\"", OF_2), "not updated");
    expect_groups_refusal(GROUPS(COPIES, TWO) TWICE(OF_0, "\"0.1F0\", \"0.1B0\", \"0.1U1\"", OF_2), "0U1");
    expect_groups_refusal("{\"stages\": [{\"device\": 0, \"names\": [\"a\"]" COPIES
                          "}, {\"device\": 1, \"names\": [\"b\"]}], " TWICE(OF_0, OF_1, OF_2),
                          "device 1 has 2 stages");
    judged j = pose_groups();
    j.in.micro_batches = 3;
    judge(&j, GROUPS(COPIES, TWO) TWICE(OF_0, OF_1, OF_2));
    cr_assert_not_null(strstr(ons_status_get_message(j.status), "do not go into"));
    drop(&j);
}

/* ---------------------------------------------------------------------------------------------------------- the set */

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

/* What a problem allows is taken away, where the solution makes use of it. */
static uint32_t swapping, copied, at_once; /* solutions that make use of it */

static void check_allowed(stored *s, const char *name, const char *text) {
    instance allowed = s->j.in;
    swapping += strstr(text, "\"swap\": [{") != NULL;
    copied += strstr(text, "\"replicas\"") != NULL;
    at_once += strstr(text, "\"micro_batch\"") != NULL;
    if (strstr(text, "\"swap\": [{") != NULL) {
        s->j.in.host_bandwidth = 0;
        expect_spoiled(s, name, text, "no host");
    }
    if (strstr(text, "\"replicas\"") != NULL) {
        s->j.in.copies_of_a_stage = 1;
        expect_spoiled(s, name, text, "no copies");
    }
    if (strstr(text, "\"micro_batch\"") != NULL) {
        s->j.in.most_at_once = 1;
        expect_spoiled(s, name, text, "one at once");
    }
    s->j.in = allowed;
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
    check_allowed(&s, name, text);
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

Test(instances, stored_solutions_that_were_tampered_with_are_refused) {
    for_all(check_spoiled);
    cr_expect(swapping >= 3 && copied >= 3 && at_once >= 3, "%u, %u and %u solutions", swapping, copied, at_once);
}
