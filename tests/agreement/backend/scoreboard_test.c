/* What the committed scoreboard of the packaged set says passes must pass. */
#include <criterion/criterion.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "tests/agreement/backend/suite.h"

enum { LINE_BYTES = 1024 };

/* Of the sets that Debian 12 and 13 package, and of the newest. */
static const char *const sheets[] = {"docs/backend_scoreboard.md", "docs/backend_scoreboard_1.17.md",
                                     "docs/backend_scoreboard_newest.md"};
enum { SHEETS = sizeof sheets / sizeof sheets[0] };

static bool holds(const ons_mapping *sheet, const char *row) {
    return memmem(sheet->bytes, sheet->size, row, strlen(row)) != NULL;
}

/* Opens the sheet of a set of that many cases. Systems that package yet another set are told which sheet it is held
 * against: what the newest one lists may fail, nothing else. */
static void open_sheet(size_t cases, ons_mapping *sheet) {
    char row[LINE_BYTES];
    snprintf(row, sizeof row, "\n| all | %zu |", cases);
    for (int i = 0; i < SHEETS; ++i) {
        cr_assert_null(ons_mapping_open(sheets[i], sheet), "%s", sheets[i]);
        if (holds(sheet, row)) return;
        if (i == SHEETS - 1) break;
        ons_mapping_close(sheet);
    }
    cr_log_warn("no sheet is of a set of %zu cases: this one is held against %s", cases, sheets[SHEETS - 1]);
}

/* Whether the sheet has a row for the case among those that do not pass. */
static bool is_listed(const ons_mapping *sheet, const suite_case *each) {
    char row[LINE_BYTES];
    snprintf(row, sizeof row, "\n| %s/%s |", each->set, each->name);
    return holds(sheet, row);
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
    cr_assert_null(suite_find(suite_packaged(), &s));
    open_sheet(s.cases.count, &sheet);
    int broken = 0;
    for (size_t i = 0; i < s.cases.count; ++i) check_case(&sheet, &s.cases.items[i], &broken);
    cr_expect_eq(broken, 0, "%d cases of %zu are broken", broken, s.cases.count);
    suite_free(&s);
    ons_mapping_close(&sheet);
}

/* All of them, and no other: every folder of these is a case. */
Test(scoreboard, the_packaged_set_is_complete) {
    static const char *const sets[] = {"node", "pytorch-converted", "pytorch-operator", "simple"};
    size_t folders = 0;
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; ++i) {
        char pattern[LINE_BYTES];
        glob_t found;
        snprintf(pattern, sizeof pattern, "%s/%s/*/", suite_packaged(), sets[i]);
        cr_assert_eq(glob(pattern, 0, NULL, &found), 0, "nothing is like %s", pattern);
        folders += found.gl_pathc;
        globfree(&found);
    }
    suite s;
    cr_assert_null(suite_find(suite_packaged(), &s));
    cr_expect_eq(s.cases.count, folders, "%zu cases were found in %zu folders", s.cases.count, folders);
    suite_free(&s);
}
