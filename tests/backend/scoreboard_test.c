/* What the committed scoreboard says passes must pass. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "tests/backend/suite.h"

enum { LINE_BYTES = 1024 };

/* Whether the sheet has a row for the case among those that do not pass. */
static bool is_listed(const ons_mapping *sheet, const suite_case *each) {
    char row[LINE_BYTES];
    snprintf(row, sizeof row, "\n| %s/%s |", each->set, each->name);
    return memmem(sheet->bytes, sheet->size, row, strlen(row)) != NULL;
}

static void check_case(const ons_mapping *sheet, suite_case *each, int *broken) {
    bool listed = is_listed(sheet, each);
    backend_run_apart(each->folder, &each->result);
    bool passes = each->result.verdict == BACKEND_PASS || each->result.verdict == BACKEND_BOUND;
    if (passes == !listed) return;
    if (listed) {
        cr_log_warn("%s/%s passes now: print the scoreboard anew", each->set, each->name);
        return;
    }
    cr_log_error("%s/%s passed and does not any more: %s", each->set, each->name, each->result.reason);
    ++*broken;
}

Test(scoreboard, what_passed_still_passes, .timeout = 600) {
    ons_mapping sheet;
    suite s;
    cr_assert_null(ons_mapping_open("docs/backend_scoreboard.md", &sheet));
    cr_assert_null(suite_find(suite_packaged(), &s));
    int broken = 0;
    for (size_t i = 0; i < s.cases.count; ++i) check_case(&sheet, &s.cases.items[i], &broken);
    cr_expect_eq(broken, 0, "%d cases of %zu are broken", broken, s.cases.count);
    suite_free(&s);
    ons_mapping_close(&sheet);
}

/* All of them, and no other. */
Test(scoreboard, the_packaged_set_is_complete) {
    suite s;
    cr_assert_null(suite_find(suite_packaged(), &s));
    cr_expect_eq(s.cases.count, 1072, "%zu cases were found", s.cases.count);
    suite_free(&s);
}
