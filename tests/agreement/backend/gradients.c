/* Checks the gradient of every official node case against finite differences and prints a row for each operator, for
 * docs/operators.c to include.
 *
 *     ./bazelw run //tests/agreement/backend:gradients > tests/agreement/backend/gradients.inc
 *     ./bazelw run //tests/agreement/backend:gradients -- --list [--only=TEXT] [FOLDER]     one case a line
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "tests/agreement/backend/gradient.h"
#include "tests/agreement/backend/suite.h"

typedef struct row {
    const ons_operator *op;
    uint32_t cases, elements, kinks;
    double error;
} row;

typedef struct table {
    row *rows;
    size_t count;
    int wrong;
} table;

static row *find_row(const table *t, const char *name) {
    for (size_t i = 0; i < t->count; ++i)
        if (strcmp(t->rows[i].op->name, name) == 0 && strcmp(t->rows[i].op->opset.domain, "onstage") != 0)
            return &t->rows[i];
    return NULL;
}

static void print_case(const suite_case *each, const gradient_result *r) {
    if (!r->agrees)
        printf("WRONG   %s/%s (%s): %s\n", each->set, each->name, r->operator_name, r->reason);
    else if (r->differentiable)
        printf("ok      %s/%s (%s): %u elements, %u on kinks, %u rounded, error %.1e\n", each->set, each->name,
               r->operator_name, r->elements, r->kinks, r->rounded, r->error);
    else
        printf("none    %s/%s (%s): %s\n", each->set, each->name, r->operator_name, r->reason);
}

static void check(table *t, const suite_case *each, bool list) {
    gradient_result r;
    backend_gradient_apart(each->folder, &r);
    if (list) print_case(each, &r);
    t->wrong += !r.agrees;
    row *found = r.single ? find_row(t, r.operator_name) : NULL;
    if (found == NULL || !r.agrees || !r.differentiable) return;
    ++found->cases;
    found->elements += r.elements;
    found->kinks += r.kinks + r.rounded;
    if (r.error > found->error) found->error = r.error;
}

static void print_rows(const table *t) {
    puts("/* Printed by ./bazelw run //tests/agreement/backend:gradients: operator, official cases, elements checked, "
         "those of "
         "them on "
         "a\n * kink, worst error. */");
    for (size_t i = 0; i < t->count; ++i)
        if (t->rows[i].cases > 0)
            printf("GRADIENT_ROW(\"%s\", %u, %u, %u, %.1e)\n", t->rows[i].op->name, t->rows[i].cases,
                   t->rows[i].elements, t->rows[i].kinks, t->rows[i].error);
}

int main(int argc, char **argv) {
    const char *folder = suite_packaged(), *only = "node/";
    bool list = false;
    for (int i = 1; i < argc; ++i) {
        if (strncmp(argv[i], "--only=", 7) == 0)
            only = argv[i] + 7;
        else if (strcmp(argv[i], "--list") == 0)
            list = true;
        else
            folder = argv[i];
    }
    const ons_registry *registry = ons_kernels_registry();
    table t = {.rows = calloc(registry->count, sizeof *t.rows), .count = registry->count};
    suite s = {0};
    ons_status *status = t.rows == NULL ? ons_status_out_of_memory() : suite_find(folder, &s);
    for (size_t i = 0; t.rows != NULL && i < registry->count; ++i) t.rows[i].op = registry->operators[i];
    for (size_t i = 0; status == NULL && i < s.cases.count; ++i) {
        char name[512];
        snprintf(name, sizeof name, "%s/%s", s.cases.items[i].set, s.cases.items[i].name);
        if (strstr(name, only) != NULL) check(&t, &s.cases.items[i], list);
    }
    if (status != NULL) fprintf(stderr, "gradients: %s\n", ons_status_get_message(status));
    if (status == NULL && !list) print_rows(&t);
    int code = status != NULL || (t.wrong > 0 && !list) ? 1 : 0;
    if (t.wrong > 0) fprintf(stderr, "gradients: %d cases disagree; see --list\n", t.wrong);
    ons_status_free(status);
    suite_free(&s);
    free(t.rows);
    return code;
}
