#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planner/cost/device_profile.h"

static void expect_success(ons_status *status) {
    cr_assert_null(status, "%s", ons_status_get_message(status));
    ons_status_free(status);
}

static ons_device_profile load(const char *name, ons_arena *arena) {
    ons_device_profile profile;
    expect_success(ons_device_profile_load(name, arena, &profile));
    return profile;
}

Test(device_profile, every_shipped_one_loads_under_its_name_and_states_its_sources) {
    ons_arena *arena = ons_arena_new();
    static const char *const numbers[] = {"memory_bytes",     "reserve_bytes",  "matrix_flops", "vector_flops",
                                          "memory_bandwidth", "launch_seconds", "link",         "host",
                                          "efficiency"};
    size_t count = 0;
    for (const char *const *name = ons_device_profile_names(); *name != NULL; ++name, ++count) {
        ons_device_profile p = load(*name, arena);
        cr_expect_str_eq(p.name, *name);
        for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i)
            cr_expect_not_null(strstr(p.sources, numbers[i]), "%s: where does %s come from?", *name, numbers[i]);
        cr_expect_gt(p.memory_bytes - p.reserve_bytes, (int64_t)1 << 28, "%s", *name);
        cr_expect_eq(p.precision, ONS_PRECISION_FP32, "%s", *name);
    }
    cr_expect_eq(count, 8);
    ons_arena_free(arena);
}

Test(device_profile, the_paper_s_machine) {
    ons_arena *arena = ons_arena_new();
    ons_device_profile p = load("a100-40gb", arena);
    cr_expect_eq(p.memory_bytes, (int64_t)40 << 30);
    cr_expect_eq(p.matrix_flops, 19.5e12); /* fp32, as torch computes it by default */
    cr_expect_eq(p.matrix_flops_of[ONS_PRECISION_BF16], 312e12);
    cr_expect_lt(p.link_bandwidth, 32e9); /* PCIe 4.0, no NVLink */
    ons_arena_free(arena);
}

Test(device_profile, this_machine_is_asked_when_the_profile_is_read) {
    ons_arena *arena = ons_arena_new();
    ons_device_profile p = load("cpu", arena);
    cr_expect_geq(p.matrix_flops, 32e9);
    cr_expect_gt(p.memory_bytes, (int64_t)1 << 28);
    ons_arena_free(arena);
}

Test(device_profile, what_is_printed_reads_back_to_the_same_text) {
    ons_arena *arena = ons_arena_new();
    for (const char *const *name = ons_device_profile_names(); *name != NULL; ++name) {
        ons_device_profile p = load(*name, arena), again;
        p.fit_error = 0.0625;
        char *text, *second;
        expect_success(ons_device_profile_print(&p, &text));
        expect_success(ons_device_profile_parse(text, strlen(text), arena, &again));
        expect_success(ons_device_profile_print(&again, &second));
        cr_expect_str_eq(text, second);
        cr_expect_eq(again.fit_error, 0.0625);
        cr_expect_eq(again.memory_bytes, p.memory_bytes);
        cr_expect_eq(again.matrix_flops, p.matrix_flops);
        cr_expect_str_eq(again.sources, p.sources);
        free(text);
        free(second);
    }
    ons_arena_free(arena);
}

Test(device_profile, a_measured_profile_is_read_as_one) {
    ons_arena *arena = ons_arena_new();
    ons_device_profile p = load("v100-16gb", arena), inner;
    char *text, *whole;
    expect_success(ons_device_profile_print(&p, &text));
    cr_assert_gt(asprintf(&whole, "{\"onstage_profile\": 1, \"device\": %s, \"nodes\": []}", text), 0);
    expect_success(ons_device_profile_parse(whole, strlen(whole), arena, &inner));
    cr_expect_str_eq(inner.name, "v100-16gb");
    free(text);
    free(whole);
    ons_arena_free(arena);
}

/* Parses `text`, which is freed, as a profile, or as a measured one, without what the print says of its kind. */
static bool is_processor(char *text, bool measured, const char *kind) {
    ons_arena *arena = ons_arena_new();
    ons_device_profile profile;
    char *place = strstr(text, "\"kind\":\t\"gpu\","), *changed;
    cr_assert_not_null(place, "%s", text);
    cr_assert_gt(asprintf(&changed, "%s%.*s%s%s%s", measured ? "{\"onstage_profile\": 1, \"device\": " : "",
                          (int)(place - text), text, kind, place + strlen("\"kind\":\t\"gpu\","), measured ? "}" : ""),
                 0);
    expect_success(ons_device_profile_parse(changed, strlen(changed), arena, &profile));
    free(changed);
    free(text);
    ons_arena_free(arena);
    return profile.processor;
}

static char *print_v100(void) {
    ons_arena *arena = ons_arena_new();
    ons_device_profile p = load("v100-16gb", arena);
    char *text;
    expect_success(ons_device_profile_print(&p, &text));
    ons_arena_free(arena);
    return text;
}

Test(device_profile, processors_are_told_from_others) {
    ons_arena *arena = ons_arena_new();
    for (const char *const *name = ons_device_profile_names(); *name != NULL; ++name)
        cr_expect_eq(load(*name, arena).processor, strcmp(*name, "cpu") == 0, "%s", *name);
    ons_arena_free(arena);
    cr_expect_not(is_processor(print_v100(), false, ""));
    cr_expect(is_processor(print_v100(), true, ""), "what was measured so far were processors");
    cr_expect_not(is_processor(print_v100(), true, "\"kind\": \"gpu\","));
    cr_expect(is_processor(print_v100(), false, "\"kind\": \"cpu\","));
}

/* Loads a shipped profile's text with one piece replaced; the failure must hold `expected`. */
static void refuse(const char *piece, const char *replacement, const char *expected) {
    ons_arena *arena = ons_arena_new();
    ons_device_profile p = load("v100-16gb", arena);
    char *text, *changed;
    expect_success(ons_device_profile_print(&p, &text));
    char *place = strstr(text, piece);
    cr_assert_not_null(place, "no %s in %s", piece, text);
    cr_assert_gt(asprintf(&changed, "%.*s%s%s", (int)(place - text), text, replacement, place + strlen(piece)), 0);
    ons_status *status = ons_device_profile_parse(changed, strlen(changed), arena, &p);
    cr_expect_not_null(status, "%s: accepted", replacement);
    cr_expect_not_null(strstr(ons_status_get_message(status), expected), "%s", ons_status_get_message(status));
    ons_status_free(status);
    free(text);
    free(changed);
    ons_arena_free(arena);
}

Test(device_profile, instructions_are_kept_where_they_are_said) {
    ons_arena *arena = ons_arena_new();
    ons_device_profile p = load("cpu", arena), again;
    cr_expect_null(p.instructions, "the program may run anywhere");
    p.instructions = "v4";
    char *text;
    expect_success(ons_device_profile_print(&p, &text));
    expect_success(ons_device_profile_parse(text, strlen(text), arena, &again));
    cr_expect_str_eq(again.instructions, "v4");
    free(text);
    ons_arena_free(arena);
}

Test(device_profile, failures_name_the_field) {
    refuse("\"memory_bandwidth\"", "\"memory_bandwith\"", "'memory_bandwith' is no field");
    refuse("900000000000", "-1", "'memory_bandwidth' is -1");
    refuse("900000000000", "0", "'memory_bandwidth' is 0");
    refuse("900000000000", "\"fast\"", "'memory_bandwidth' is not a number");
    refuse("17179869184", "1", "'reserve_bytes'");
    refuse("17179869184", "0", "'memory_bytes' is 0");
    refuse("17179869184", "-5", "'memory_bytes' is negative");
    refuse("17179869184", "1.5", "'memory_bytes' is not a whole number");
    refuse("\"fp32\",", "\"tf32\",", "'matrix_flops': 'tf32' is missing");
    refuse("\"fp32\",", "\"fp8\",", "fp8");
    refuse("\"gpu\"", "\"tpu\"", "'kind': 'tpu' is neither cpu nor gpu");
    refuse("\"latency\"", "\"delay\"", "'link': 'delay'");
    refuse("\"share\"", "\"part\"", "'efficiency': 'matrix': 'part'");
    refuse("\"onstage_device_profile\":\t1", "\"onstage_device_profile\":\t2", "knows version 1");
}

Test(device_profile, a_link_may_say_what_leaves_without_asking) {
    ons_arena *arena = ons_arena_new();
    ons_device_profile p, again;
    char *text;
    ons_status *status = ons_device_profile_load("a100-40gb", arena, &p);
    cr_assert_null(status);
    cr_expect_eq(p.link_eager_bytes, 0, "not said");
    p.link_eager_bytes = 65536;
    cr_assert_null(ons_device_profile_print(&p, &text));
    cr_assert_null(ons_device_profile_parse(text, strlen(text), arena, &again));
    cr_expect_eq(again.link_eager_bytes, 65536);
    *strstr(text, "65536") = '-';
    status = ons_device_profile_parse(text, strlen(text), arena, &again);
    cr_assert_not_null(status);
    cr_expect_not_null(strstr(ons_status_get_message(status), "'link': 'eager_bytes' is negative"), "%s",
                       ons_status_get_message(status));
    ons_status_free(status);
    free(text);
    ons_arena_free(arena);
}

Test(device_profile, an_unknown_name_lists_those_that_there_are) {
    ons_arena *arena = ons_arena_new();
    ons_device_profile p;
    ons_status *status = ons_device_profile_load("a100", arena, &p);
    cr_assert_not_null(status);
    cr_expect_not_null(strstr(ons_status_get_message(status), "a100-40gb, a100-80gb"), "%s",
                       ons_status_get_message(status));
    ons_status_free(status);
    ons_arena_free(arena);
}

Test(device_profile, seconds_follow_the_formula) {
    ons_device_profile p = {.matrix_flops = 100,
                            .vector_flops = 10,
                            .memory_bandwidth = 50,
                            .launch_seconds = 0.5,
                            .matrix = {0.5, 40},
                            .vector = {1, 0},
                            .memory = {0.8, 10}};
    cr_expect_float_eq(ons_device_profile_seconds(&p, 60, 0, true), 0.5 + 100 / 50.0, 1e-12);
    cr_expect_float_eq(ons_device_profile_seconds(&p, 60, 0, false), 0.5 + 6, 1e-12);
    cr_expect_float_eq(ons_device_profile_seconds(&p, 0, 30, false), 0.5 + 1, 1e-12);
    cr_expect_float_eq(ons_device_profile_seconds(&p, 60, 30, true), 0.5 + 2, 1e-12); /* the slower of the two */
    cr_expect_float_eq(ons_device_profile_seconds(&p, 0, 0, true), 0.5, 1e-12);
}

Test(device_profile, another_precision_winds_up_in_the_same_time) {
    ons_arena *arena = ons_arena_new();
    ons_device_profile p = load("a100-40gb", arena);
    double before = p.matrix.half / p.matrix_flops;
    expect_success(ons_device_profile_use(&p, ONS_PRECISION_TF32));
    cr_expect_eq(p.matrix_flops, 156e12);
    cr_expect_float_eq(p.matrix.half / p.matrix_flops, before, 1e-12);
    ons_device_profile v = load("v100-16gb", arena);
    ons_status *status = ons_device_profile_use(&v, ONS_PRECISION_TF32);
    cr_expect_eq(ons_status_get_code(status), ONS_UNSUPPORTED);
    ons_status_free(status);
    ons_arena_free(arena);
}

Test(device_profile, nodes_and_what_joins_them) {
    ons_arena *arena = ons_arena_new();
    ons_device_profile p, again;
    char *text;
    cr_assert_null(ons_device_profile_load("a100-40gb", arena, &p));
    cr_expect_eq(p.node_devices, 0, "not said");
    p.node_devices = 8;
    p.network_bandwidth = 1.25e9;
    p.network_latency = 2e-5;
    p.network_eager_bytes = 65473;
    cr_assert_null(ons_device_profile_print(&p, &text));
    cr_assert_null(ons_device_profile_parse(text, strlen(text), arena, &again));
    cr_expect(again.node_devices == 8 && again.network_bandwidth == 1.25e9 && again.network_latency == 2e-5 &&
              again.network_eager_bytes == 65473);
    static const char other[] = "node_gadgets";
    char *field = strstr(text, "node_devices");
    for (int i = 0; other[i] != '\0'; ++i) field[i] = other[i];
    ons_status *status = ons_device_profile_parse(text, strlen(text), arena, &again);
    cr_expect(status != NULL && strstr(ons_status_get_message(status), "'node_gadgets' is no field") != NULL);
    ons_status_free(status);
    free(text);
    static const char alone[] = "{\"onstage_device_profile\": 1, \"node_devices\": 8}";
    status = ons_device_profile_parse(alone, sizeof alone - 1, arena, &again);
    cr_expect_not_null(status);
    ons_status_free(status);
    ons_arena_free(arena);
}
