/* Prints the table of docs/operators.md from the registry, so that it cannot say what is not so. */
#include <stdio.h>
#include <string.h>

#include "kernels/kernels.h"

static const char HEADING[] =
    "# Operators\n\n"
    "Printed by `./bazelw run //docs:operators`; a test compares this file with the program's registry.\n\n"
    "Files of opsets 1 to 28 are read. A node in an older form of its operator is turned into today's form first.\n"
    "\"By its parts\": before anything runs, the node is replaced by nodes of other operators, which have gradient and "
    "kernel.\n"
    "`onstage check MODEL.onnx` lists every node of a model that cannot be trained.\n\n";

static bool is_internal(const ons_operator *op) { return strcmp(op->opset.domain, "onstage") == 0; }

static void print_reason(const char *yes, bool has, const char *why_not) {
    if (has)
        printf(" %s |", yes);
    else
        printf(" no: %s |", why_not == NULL ? "" : why_not);
}

static void print_row(const ons_operator *op) {
    bool expands = (op->roles.traits & ONS_TRAIT_EXPANDS) != 0;
    const char *domain = op->opset.domain;
    if (is_internal(op))
        printf("| %s |", op->name);
    else
        printf("| %s%s%s | %u to %u |", domain, domain[0] == '\0' ? "" : ".", op->name, op->opset.first,
               op->opset.last);
    print_reason(expands ? "by its parts" : "yes", expands || op->gradient.build != NULL, op->gradient.why_not);
    const char *why_not = NULL;
    bool runs = ons_backend_has(ons_backend_find("cpu"), op, &why_not);
    print_reason(expands ? "by its parts" : "yes", expands || runs, why_not);
    putchar('\n');
}

static void print_rows(const ons_registry *registry, bool internal) {
    for (size_t i = 0; i < registry->count; ++i)
        if (is_internal(registry->operators[i]) == internal) print_row(registry->operators[i]);
}

/* ---------------------------------------------------------------------------------------- official cases' gradients */

/* A row of the committed results of //tests/agreement/backend:gradients. */
typedef struct checked {
    const char *name;
    unsigned cases, elements, kinks;
    double error;
} checked;

#define GRADIENT_ROW(NAME, CASES, ELEMENTS, KINKS, ERROR) {NAME, CASES, ELEMENTS, KINKS, ERROR},
static const checked packaged[] = {
#include "tests/agreement/backend/gradients.inc"
    {NULL, 0, 0, 0, 0}};
static const checked newest[] = {
#include "tests/agreement/backend/gradients_newest.inc"
    {NULL, 0, 0, 0, 0}};

static const char GRADIENTS[] =
    "\n## Gradients on the official cases\n\n"
    "The node cases of the packaged set (onnx 1.12) and of the newest one (onnx 1.23.2): each gradient against finite\n"
    "differences in double, with a random cotangent. The error is relative to the gradient's largest element, or to "
    "1.\n"
    "\"Without derivative\": elements that lie on a kink, a jump, the edge of the domain or the steps of a cast to "
    "half\n"
    "precision; there, the gradient has to lie between the slopes of both sides, or within 5 % of the slope over many\n"
    "steps. Function bodies (\"_expanded\") are checked, too, and not counted here.\n\n"
    "| operator | cases, 1.12 | cases, newest | elements | without derivative | worst error "
    "|\n|---|---|---|---|---|---|\n";

static checked find_checked(const checked *list, const char *name) {
    for (; list->name != NULL; ++list)
        if (strcmp(list->name, name) == 0) return *list;
    return (checked){.name = name};
}

static bool has_gradient(const ons_operator *op) {
    return !is_internal(op) && (op->gradient.build != NULL || (op->roles.traits & ONS_TRAIT_EXPANDS) != 0);
}

static bool print_gradient(const ons_operator *op) {
    checked old = find_checked(packaged, op->name), new = find_checked(newest, op->name);
    if (old.cases + new.cases == 0) return false;
    printf("| %s | %u | %u | %u | %u | %.0e |\n", op->name, old.cases, new.cases, old.elements + new.elements,
           old.kinks + new.kinks, old.error > new.error ? old.error : new.error);
    return true;
}

static void print_gradients(const ons_registry *registry) {
    fputs(GRADIENTS, stdout);
    for (size_t i = 0; i < registry->count; ++i)
        if (has_gradient(registry->operators[i])) print_gradient(registry->operators[i]);
    puts("\nNo official case has a gradient of these; their own cases are checked in the same way by "
         "//tests/rooms/kernels:operators_test:\n");
    const char *before = "";
    for (size_t i = 0; i < registry->count; ++i) {
        const ons_operator *op = registry->operators[i];
        if (!has_gradient(op) || find_checked(packaged, op->name).cases + find_checked(newest, op->name).cases > 0)
            continue;
        printf("%s%s%s%s", before, op->opset.domain, op->opset.domain[0] == '\0' ? "" : ".", op->name);
        before = ", ";
    }
    puts(".");
}

int main(void) {
    const ons_registry *registry = ons_kernels_registry();
    fputs(HEADING, stdout);
    puts("## In files\n\n| operator | opsets | gradient | CPU kernel |\n|---|---|---|---|");
    print_rows(registry, false);
    puts("\n## Made by onstage\n\nGradients, losses, optimisers and fused forms: no file can name them.\n\n"
         "| operator | gradient | CPU kernel |\n|---|---|---|");
    print_rows(registry, true);
    print_gradients(registry);
    return fflush(stdout) == 0 ? 0 : 1;
}
