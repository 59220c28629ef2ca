/* Prints the table of docs/operators.md from the registry, so that it cannot say what is not so. */
#include <stdio.h>
#include <string.h>

#include "kernels/registry.h"

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
    print_reason(expands ? "by its parts" : "yes", expands || op->cpu.run != NULL, op->cpu.why_not);
    putchar('\n');
}

static void print_rows(const ons_registry *registry, bool internal) {
    for (size_t i = 0; i < registry->count; ++i)
        if (is_internal(registry->operators[i]) == internal) print_row(registry->operators[i]);
}

int main(void) {
    const ons_registry *registry = ons_kernels_registry();
    fputs(HEADING, stdout);
    puts("## In files\n\n| operator | opsets | gradient | CPU kernel |\n|---|---|---|---|");
    print_rows(registry, false);
    puts("\n## Made by onstage\n\nGradients, losses, optimisers and fused forms: no file can name them.\n\n"
         "| operator | gradient | CPU kernel |\n|---|---|---|");
    print_rows(registry, true);
    return fflush(stdout) == 0 ? 0 : 1;
}
