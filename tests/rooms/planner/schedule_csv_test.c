/* PyTorch's schedule files: what is written reads again, whatever is between the cells; what is damaged is refused with
 * its place, or is another schedule that can run. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planner/schedule/csv.h"
#include "tests/rooms/planner/random_work.h"

static ons_arena *arena;

static void make_arena(void) { arena = ons_arena_new(); }
static void free_arena(void) { ons_arena_free(arena); }

TestSuite(schedule_csv, .init = make_arena, .fini = free_arena);

static void expect_success(ons_status *status) {
    cr_assert(status == NULL, "%s", status != NULL ? ons_status_get_message(status) : "");
}

static ons_status *parse(const char *text, ons_schedule *s) {
    return ons_schedule_parse_csv(text, strlen(text), arena, s);
}

static void expect_refusal(const char *text, const char *part) {
    ons_schedule s;
    ons_status *status = parse(text, &s);
    cr_assert_not_null(status, "'%s' is no schedule", text);
    cr_expect_eq(ons_status_get_code(status), ONS_INVALID_DATA);
    cr_expect(strstr(ons_status_get_message(status), part) != NULL, "'%s' lacks '%s'", ons_status_get_message(status),
              part);
    ons_status_free(status);
}

static ons_schedule read(const char *text) {
    ons_schedule s;
    expect_success(parse(text, &s));
    return s;
}

static char *print(const ons_schedule *s) {
    char *text;
    expect_success(ons_schedule_print_csv(s, &text));
    return text;
}

/* ------------------------------------------------------------------------------------------------------- round trip */

Test(schedule_csv, what_generators_make_reads_as_it_was_written) {
    uint32_t read_again = 0;
    for (const ons_generator *const *g = ons_generators; *g != NULL; ++g)
        for (uint32_t stages = 1; stages <= 8; ++stages)
            for (uint32_t m = 1; m <= 9; m += 2) {
                const ons_pipeline p = {*g, stages, m, 0, 1};
                ons_schedule made;
                bool unsaid = (*g)->asynchronous || (*g)->group != NULL;
                ons_status *status = unsaid ? NULL : ons_schedule_make(&p, arena, &made);
                if (status != NULL || unsaid) {
                    ons_status_free(status); /* it has no such schedule */
                    continue;
                }
                char *first = print(&made);
                ons_schedule again = read(first);
                char *second = print(&again);
                cr_expect_str_eq(first, second);
                cr_expect(ons_schedule_equal(&made, &again), "%s, %u stages, %u micro-batches", (*g)->name, stages, m);
                free(first);
                free(second);
                ++read_again;
            }
    cr_expect(read_again > 100);
}

Test(schedule_csv, an_asynchronous_schedule_is_not_written) {
    const ons_pipeline p = {&ons_generator_pipedream, 2, 2, 0, 1};
    ons_schedule s;
    char *text = NULL;
    expect_success(ons_schedule_make(&p, arena, &s));
    ons_status *status = ons_schedule_print_csv(&s, &text);
    cr_assert_not_null(status);
    cr_expect_eq(ons_status_get_code(status), ONS_UNSUPPORTED);
    ons_status_free(status);
}

/* ---------------------------------------------------------------------------------------------------------- dialect */

static const char plain[] = "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n";

Test(schedule_csv, the_same_schedule_in_other_words) {
    static const char *const others[] = {
        "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1", /* no line's end */
        "\xef\xbb\xbf"
        "0F0,0F1,0B0,0B1\r\n1F0,1B0,1F1,1B1\r\n",
        "# by hand\n\n0F0,0F1,,,0B0,0B1\n  \n,1F0,1B0,1F1,1B1,,\n\n",
        " 0F0 ,\t0F1, 0B0,\"0B1\"\n\" 1F0\",1B0,1F1,1B1 \n",
        "0F0,0F1,0BW0,0BW1\n1F0,1BW0,1F1,1BW1\n",
        "0UNSHARD,0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1,0REDUCE_GRAD,0RESHARD\n"
        "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\n",
        "0F0,0SEND_F0,0WAIT_SEND_F0,0F1,0SEND_F1,0WAIT_SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1,0REDUCE_GRAD,0WAIT_REDUCE_"
        "GRAD\n"
        "1RECV_F0,1F0,1B0,1SEND_B0,1WAIT_SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1,1WAIT_SEND_B1\n",
        "0F0,0F1,0B0,0B1\n1F0,(1B0;1F1)OVERLAP_F_B,1B1\n",
        "00F00,0F1,0B0,0B01\n1F0,1B0,1F1,1B1\n",
    };
    ons_schedule expected = read(plain);
    for (size_t i = 0; i < sizeof others / sizeof *others; ++i) {
        ons_schedule s = read(others[i]);
        cr_expect(ons_schedule_equal(&s, &expected), "%s", others[i]);
    }
    cr_expect_eq(expected.stages, 2);
    cr_expect_eq(expected.devices, 2);
    cr_expect_eq(expected.micro_batches, 2);
}

/* Earlier files: B beside W is the input gradient. */
Test(schedule_csv, gradients_apart_in_both_spellings) {
    ons_schedule now = read("0F0,0F1,0I0,0W0,0B1\n"), earlier = read("0F0,0F1,0B0,0W0,0BW1\n");
    cr_expect(ons_schedule_equal(&now, &earlier));
    cr_expect_eq(earlier.lists[0].items[2].kind, ONS_ACTION_INPUT_GRADIENT);
}

Test(schedule_csv, whole_gradients_beside_others_apart_are_two_in_a_row) {
    ons_schedule mixed = read("0F0,0F1,0I0,0W0,0B1\n"), apart = read("0F0,0F1,0I0,0W0,0I1,0W1\n");
    cr_expect(ons_schedule_equal(&mixed, &apart));
}

Test(schedule_csv, updates_come_behind_the_last_gradient_of_the_device) {
    ons_schedule s = read("0F0,2F0,2B0,0B0\n1F0,1I0,1W0\n");
    cr_expect_eq(s.stages, 3);
    cr_expect_eq(s.devices, 2);
    cr_expect_eq(s.device_of[2], 0);
    cr_expect_eq(s.lists[0].count, 6);
    cr_expect_eq(s.lists[0].items[4].kind, ONS_ACTION_UPDATE);
    cr_expect_eq(s.lists[0].items[4].stage, 2);
    cr_expect_eq(s.lists[1].items[3].kind, ONS_ACTION_UPDATE);
}

/* ----------------------------------------------------------------------------------------------------------- damage */

Test(schedule_csv, a_cell_that_is_none_has_its_place) {
    static const char *const cells[] = {"F0",         "0",
                                        "0X0",        "0F",
                                        "0F-1",       "0F0x",
                                        "0 F0",       "0f0",
                                        "-1F0",       "0F4294967295",
                                        "0U0",        "4294967295F0",
                                        "0SEND_F0 1", "(0F0",
                                        "()X",        "(0F0;1X1)OVERLAP_F_B",
                                        "0FB0",       "\x01",
                                        "=1+1",       "\"",
                                        "0BACKWARD0"};
    for (size_t i = 0; i < sizeof cells / sizeof *cells; ++i) {
        char text[256];
        snprintf(text, sizeof text, "0F0,0B0\n\n1F0,,%s,1B0\n", cells[i]);
        expect_refusal(text, "line 3, column 3: '");
    }
}

Test(schedule_csv, files_that_are_no_schedule) {
    expect_refusal("", "there is no line with actions");
    expect_refusal("\n# nothing\n\r\n", "there is no line with actions");
    expect_refusal("0F0,0B0\n,,\n", "line 2 has no computation");
    expect_refusal("0F0,0B0\n1SEND_F0\n", "line 2 has no computation");
    expect_refusal("0F0,0B0\n2F0,2B0\n", "no device computes stage 1");
    expect_refusal("0F0,0B0,1F0\n1B0\n", "stage 1 is on device 0, too");
    expect_refusal("0F0,0F0,0B0\n", "twice");
    expect_refusal("0F0,0F1,0B0\n", "stage 0, micro-batch 1: backward is missing");
    expect_refusal("0F0,0F1,0I0,0B1\n", "weight gradient");
    expect_refusal("0B0,0F0\n", "stands before");
    expect_refusal("0F1,0F0,0B0,0B1\n", "overtakes");
    /* Room for what is named would be many gigabytes. */
    expect_refusal("0F0,0B0,4000000000F0,0F4000000000\n", "4 actions are too few for 4000000001 stages");
}

/* The file does not say which stages wait for which: as a line they wait for ever, and beside each other they do not.
 */
Test(schedule_csv, what_stages_wait_for_is_not_in_the_file) {
    ons_schedule s = read("0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n");
    const ons_stage_edges none = {.count = 0};
    ons_status *status = ons_schedule_verify(&s, NULL, arena);
    cr_assert_not_null(status);
    cr_expect_not_null(strstr(ons_status_get_message(status), "hangs"), "%s", ons_status_get_message(status));
    ons_status_free(status);
    expect_success(ons_schedule_verify(&s, &none, arena));
}

static size_t pick_cell(random_source *random, const char *text, size_t *length) {
    size_t size = strlen(text), at = (size_t)random_below(random, size);
    while (at > 0 && text[at - 1] != ',' && text[at - 1] != '\n') --at;
    *length = strcspn(text + at, ",\n");
    return at;
}

/* A cell left out, one twice, two exchanged: refused, or what is read is written as it was, and can run or hangs. */
Test(schedule_csv, damaged_files) {
    uint32_t refused = 0;
    for (uint64_t seed = 1; seed <= 1000; ++seed) {
        random_source random = {seed};
        const ons_generator *const makers[] = {&ons_generator_one_f_one_b, &ons_generator_interleaved,
                                               &ons_generator_zero_bubble, &ons_generator_v};
        const ons_pipeline p = {makers[seed % 4], 4, 4, 0, 1};
        ons_schedule made, s;
        char damaged[4096];
        expect_success(ons_schedule_make(&p, arena, &made));
        char *text = print(&made);
        size_t length, other_length, at = pick_cell(&random, text, &length), other;
        do other = pick_cell(&random, text, &other_length);
        while (other == at);
        if (other < at) {
            size_t swap = at;
            at = other;
            other = swap;
            swap = length;
            length = other_length;
            other_length = swap;
        }
        switch (random_below(&random, 3)) {
        case 0: snprintf(damaged, sizeof damaged, "%.*s%s", (int)at, text, text + at + length); break;
        case 1:
            snprintf(damaged, sizeof damaged, "%.*s%.*s,%s", (int)other, text, (int)length, text + at, text + other);
            break;
        default:
            snprintf(damaged, sizeof damaged, "%.*s%.*s%.*s%.*s%s", (int)at, text, (int)other_length, text + other,
                     (int)(other - at - length), text + at + length, (int)length, text + at,
                     text + other + other_length);
        }
        ons_status *status = parse(damaged, &s);
        if (status != NULL) {
            cr_expect_eq(ons_status_get_code(status), ONS_INVALID_DATA, "seed %llu", (unsigned long long)seed);
            cr_expect(strlen(ons_status_get_message(status)) > 10);
            ons_status_free(status);
            ++refused;
        } else {
            char *again = print(&s);
            cr_expect_str_eq(again, damaged, "seed %llu", (unsigned long long)seed);
            free(again);
            status = ons_schedule_verify(&s, NULL, arena);
            cr_expect(status == NULL || strstr(ons_status_get_message(status), "hangs") != NULL, "seed %llu",
                      (unsigned long long)seed);
            refused += status != NULL;
            ons_status_free(status);
        }
        free(text);
    }
    cr_expect(refused > 700, "%u", refused);
}
