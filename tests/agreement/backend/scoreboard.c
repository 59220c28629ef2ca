/* Runs a set of official backend cases and prints the scoreboard.
 *
 *     ./bazelw run //tests/agreement/backend:scoreboard > docs/backend_scoreboard.md      the packaged set
 *     ./bazelw run //tests/agreement/backend:scoreboard -- [OPTION]... [FOLDER]           another set, or a single case
 *       --title=TEXT    names the set in the heading
 *       --only=TEXT     only the cases whose "set/name" holds the text
 *       --list          one case a line: verdict, name, reason
 *       --failures      only the failing cases, by operator
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/agreement/backend/suite.h"

typedef struct arguments {
    const char *folder, *title, *only;
    bool list, failures;
} arguments;

typedef struct count {
    int all, of[BACKEND_VERDICTS];
} count;

static const char *const verdict_names[] = {"pass", "pass", "fail", "outside"};

static const char PACKAGED_TITLE[] = "the set that Debian 12 packages as libonnx-testdata 1.12";

static const char *value_of(const char *argument, const char *option) {
    size_t length = strlen(option);
    return strncmp(argument, option, length) == 0 ? argument + length : NULL;
}

static bool read_arguments(int argc, char **argv, arguments *a) {
    *a = (arguments){.folder = suite_packaged(), .title = PACKAGED_TITLE, .only = ""};
    for (int i = 1; i < argc; ++i) {
        const char *title = value_of(argv[i], "--title="), *only = value_of(argv[i], "--only=");
        if (title != NULL)
            a->title = title;
        else if (only != NULL)
            a->only = only;
        else if (strcmp(argv[i], "--list") == 0)
            a->list = true;
        else if (strcmp(argv[i], "--failures") == 0)
            a->failures = true;
        else if (argv[i][0] == '-')
            return false;
        else
            a->folder = argv[i];
    }
    return true;
}

static void run_all(suite *s, const char *only) {
    size_t kept = 0;
    for (size_t i = 0; i < s->cases.count; ++i) {
        suite_case each = s->cases.items[i];
        char name[512];
        snprintf(name, sizeof name, "%s/%s", each.set, each.name);
        if (strstr(name, only) == NULL) {
            free(each.folder), free(each.set);
            continue;
        }
        backend_run_apart(each.folder, &each.result);
        s->cases.items[kept++] = each;
    }
    s->cases.count = kept;
}

/* ------------------------------------------------------------------------------------------------------ short forms */

static void print_case(const suite_case *each) {
    printf("%-7s %s/%s", verdict_names[each->result.verdict], each->set, each->name);
    if (each->result.reason[0] != '\0') printf(": %s", each->result.reason);
    putchar('\n');
}

static int by_operator(const void *first, const void *second) {
    const suite_case *a = first, *b = second;
    int order = strcmp(a->result.operator_name, b->result.operator_name);
    return order != 0 ? order : strcmp(a->name, b->name);
}

static void print_failures(suite *s) {
    const char *last = NULL;
    qsort(s->cases.items, s->cases.count, sizeof *s->cases.items, by_operator);
    for (size_t i = 0; i < s->cases.count; ++i) {
        const suite_case *each = &s->cases.items[i];
        if (each->result.verdict != BACKEND_FAIL) continue;
        if (last == NULL || strcmp(last, each->result.operator_name) != 0) printf("\n%s\n", each->result.operator_name);
        last = each->result.operator_name;
        printf("    %s/%s: %s\n", each->set, each->name, each->result.reason);
    }
}

/* -------------------------------------------------------------------------------------------------------- the sheet */

static void print_count(const char *set, const count *c) {
    int passed = c->of[BACKEND_PASS] + c->of[BACKEND_BOUND];
    printf("| %s | %d | %d | %d | %d | %.1f %% |\n", set, c->all, passed, c->of[BACKEND_FAIL], c->of[BACKEND_OUTSIDE],
           100.0 * passed / (c->all > 0 ? c->all : 1));
}

static void print_counts(const suite *s) {
    count total = {0}, part = {0};
    puts("| set | cases | pass | fail | outside | passing, of all |\n|---|---|---|---|---|---|");
    for (size_t i = 0; i < s->cases.count; ++i) {
        const suite_case *each = &s->cases.items[i];
        ++part.all, ++total.all;
        ++part.of[each->result.verdict], ++total.of[each->result.verdict];
        if (i + 1 < s->cases.count && strcmp(each->set, s->cases.items[i + 1].set) == 0) continue;
        print_count(each->set, &part);
        part = (count){0};
    }
    print_count("all", &total);
}

static void print_reason(const char *reason) {
    for (; *reason != '\0'; ++reason)
        if (*reason == '|')
            fputs("\\|", stdout);
        else
            putchar(*reason == '\n' ? ' ' : *reason);
}

static void print_not_passing(const suite *s, backend_verdict verdict) {
    puts("| case | verdict | reason |\n|---|---|---|");
    for (size_t i = 0; i < s->cases.count; ++i) {
        const suite_case *each = &s->cases.items[i];
        if (each->result.verdict != verdict) continue;
        printf("| %s/%s | %s | ", each->set, each->name, verdict_names[verdict]);
        print_reason(each->result.reason);
        puts(" |");
    }
}

static void print_bound(const suite *s) {
    puts("\n## Passing before anything runs\n\n"
         "Every input of these gives a shape, a trip count or a condition, or an output's shape depends on its "
         "contents: "
         "binding\nthe graph needs them all as constants and computes the whole case.\n");
    for (size_t i = 0; i < s->cases.count; ++i)
        if (s->cases.items[i].result.verdict == BACKEND_BOUND)
            printf("- %s/%s\n", s->cases.items[i].set, s->cases.items[i].name);
}

static void print_sheet(const suite *s, const char *title) {
    printf("# Official ONNX backend tests: %s\n\n", title);
    puts("Printed by `./bazelw run //tests/agreement/backend:scoreboard`; what counts as a pass is said in "
         "[tests/agreement/backend/README.md](../tests/agreement/backend/README.md).\n");
    print_counts(s);
    puts("\n## Failing\n");
    print_not_passing(s, BACKEND_FAIL);
    puts("\n## Outside of a static graph of numbers\n");
    print_not_passing(s, BACKEND_OUTSIDE);
    print_bound(s);
}

int main(int argc, char **argv) {
    arguments a;
    if (!read_arguments(argc, argv, &a)) {
        fputs("usage: scoreboard [--title=TEXT] [--only=TEXT] [--list | --failures] [FOLDER]\n", stderr);
        return 2;
    }
    suite s;
    ons_status *status = suite_find(a.folder, &s);
    if (status != NULL) {
        fprintf(stderr, "scoreboard: %s\n", ons_status_get_message(status));
        ons_status_free(status);
        return 1;
    }
    run_all(&s, a.only);
    if (a.failures)
        print_failures(&s);
    else if (a.list)
        for (size_t i = 0; i < s.cases.count; ++i) print_case(&s.cases.items[i]);
    else
        print_sheet(&s, a.title);
    suite_free(&s);
    return fflush(stdout) == 0 ? 0 : 1;
}
