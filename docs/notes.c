/* Prints docs/notes.md from the list of notes and refusals, so that it names all of them. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char HEADING[] =
    "# Notes and refusals\n\n"
    "Printed by `./bazelw run //docs:notes`; a test compares this file with the program's list.\n\n"
    "A run whose numbers differ from those of the framework that exported the model says so before its first step. A\n"
    "**note** goes on; `--strict` makes it an error (exit code 3). A **refusal** ends the command. `…` stands for "
    "names "
    "and\nnumbers of the model.\n";

/* Prints a format as text for people: a conversion becomes "…", what would end a table's cell is escaped. */
static void print_format(const char *format) {
    for (const char *at = format; *at != '\0'; ++at) {
        if (*at == '|') putchar('\\');
        if (*at != '%') {
            putchar(*at);
        } else if (at[1] == '%') {
            putchar(*at++);
        } else {
            fputs("…", stdout);
            at += strcspn(at + 1, "diuxsgfe") + 1;
        }
    }
}

static void print_row(const char *name, const char *text, const char *remedy, const char *evidence) {
    printf("| `%s` | ", name);
    print_format(text);
    fputs(" | ", stdout);
    print_format(remedy);
    fputs(" | ", stdout);
    print_format(evidence);
    puts(" |");
}

#define COLUMNS "| name | what it says | what helps | how onstage knows |\n|---|---|---|---|\n"

int main(void) {
    puts(HEADING);
    fputs("## Notes\n\n" COLUMNS, stdout);
#define ONS_NOTE(NAME, TEXT, REMEDY, EVIDENCE) print_row(#NAME, TEXT, REMEDY, EVIDENCE);
#define ONS_REFUSAL(NAME, TEXT, REMEDY, EVIDENCE)
#include "engine/model/notes.inc"
#undef ONS_NOTE
#undef ONS_REFUSAL
    fputs("\n## Refusals\n\n" COLUMNS, stdout);
#define ONS_NOTE(NAME, TEXT, REMEDY, EVIDENCE)
#define ONS_REFUSAL(NAME, TEXT, REMEDY, EVIDENCE) print_row(#NAME, TEXT, REMEDY, EVIDENCE);
#include "engine/model/notes.inc"
#undef ONS_NOTE
#undef ONS_REFUSAL
    return 0;
}
