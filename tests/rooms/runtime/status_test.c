#include <criterion/criterion.h>

#include "base/status.h"
#include "tests/rooms/runtime/scratch.h"

static void expect_message(ons_status *status, const char *message) {
    cr_expect_str_eq(ons_status_get_message(status), message);
    ons_status_free(status);
}

/* Names come from files. */
Test(status, what_a_terminal_would_act_on_is_spelled_out) {
    expect_message(ons_status_new(ONS_INVALID_DATA, "'%s'", "a\x1b[2J\rb\x7f"), "'a\\x1b[2J\\x0db\\x7f'");
    expect_message(ons_status_new(ONS_INVALID_DATA, "'%s'", "x\nonstage: all is well"), "'x\\nonstage: all is well'");
    expect_message(ons_status_new(ONS_INVALID_DATA, "'%s'", "\xc2\x9b"), "'\\xc2\x9b'");
    expect_message(ons_status_at(ons_status_new(ONS_INVALID_DATA, "b"), "a\t%s", "\b"), "a\\x09\\x08: b");
    expect_message(ons_status_system(2, "%s", "\x1b"), "\\x1b: No such file or directory");
}

Test(status, ours_stays_as_it_is) {
    expect_message(ons_status_new(ONS_INVALID_DATA, "two:\n  'ä'\n  'b'"), "two:\n  'ä'\n  'b'");
}
