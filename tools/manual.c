/* Prints what the lists of options, words, commands and environment variables say, so that it cannot say what is not
 * so: manual man          the manual page onstage.1, as troff manual bash         completion of the command, for bash
 *   manual environment  docs/environment.md
 *   manual words NAME   the words of an option, one a line
 */
#include <stdio.h>
#include <string.h>

#include "base/environment.h"
#include "include/onstage.h"
#include "tools/commands.h"

static const struct {
    const char *name, *summary;
} commands[] = {
#define COMMAND(NAME, SUMMARY) {#NAME, SUMMARY},
#include "tools/commands.inc"
#undef COMMAND
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

/* --------------------------------------------------------------------------------------------------------- the page */

/* Text as troff reads it: a dash stays one, and no line begins with a request. */
static void put_troff(const char *text) {
    if (*text == '.' || *text == '\'') fputs("\\&", stdout);
    for (; *text != '\0'; ++text) {
        if (*text == '\\')
            fputs("\\e", stdout);
        else if (*text == '-')
            fputs("\\-", stdout);
        else if (*text == '\n')
            fputs("\n.br\n", stdout);
        else
            putchar(*text);
    }
}

static void put_readers(unsigned read_by) {
    unsigned all = (1u << COMMANDS) - 1;
    if ((read_by & all) == all) return;
    fputs(" (", stdout);
    for (size_t i = 0, count = 0; i < COMMANDS; ++i)
        if (read_by >> i & 1) printf("%s%s", count++ > 0 ? ", " : "", commands[i].name);
    puts(")");
}

static void put_words(const ons_option *option) {
    const char *meaning, *word;
    for (size_t i = 0; (word = ons_option_word(option, i, &meaning)) != NULL; ++i) {
        if (meaning == NULL) continue;
        fputs(".br\n\\fB", stdout);
        put_troff(word);
        fputs("\\fR: ", stdout);
        put_troff(meaning);
        putchar('\n');
    }
}

static void put_option(const ons_option *option) {
    fputs(".TP\n\\fB\\-\\-", stdout);
    put_troff(option->name);
    fputs("\\fR", stdout);
    if (option->argument != NULL) {
        fputs("=\\fI", stdout);
        put_troff(option->argument);
        fputs("\\fR", stdout);
    }
    putchar('\n');
    put_troff(option->help);
    if (option->argument != NULL && option->default_value != NULL) {
        fputs(" [", stdout);
        put_troff(option->default_value);
        putchar(']');
    }
    put_readers(option->commands);
    put_words(option);
}

static void put_variables(void) {
    puts(".SH ENVIRONMENT");
    for (size_t i = 0; i < ONS_VARIABLE_COUNT; ++i) {
        const ons_variable_description *v = &ons_variables[i];
        printf(".TP\n\\fB%s\\fR=\\fI", v->name);
        put_troff(v->values);
        fputs("\\fR\n", stdout);
        put_troff(v->help);
        if (v->default_value != NULL) {
            fputs(" [", stdout);
            put_troff(v->default_value);
            putchar(']');
        }
        putchar('\n');
    }
}

static void print_page(void) {
    puts("'\\\" -*- coding: UTF-8 -*-");
    printf(".TH ONSTAGE 1 \"\" \"onstage %s\" \"User Commands\"\n", ons_version());
    puts(".SH NAME\nonstage \\- trains models exported to ONNX, without Python");
    puts(".SH SYNOPSIS\n\\fBonstage\\fR \\fICOMMAND\\fR \\fIMODEL.onnx\\fR [\\fIOPTION\\fR...]");
    puts(".SH COMMANDS");
    for (size_t i = 0; i < COMMANDS; ++i) {
        printf(".TP\n\\fB%s\\fR\n", commands[i].name);
        put_troff(commands[i].summary);
        putchar('\n');
    }
    puts(".SH OPTIONS\nIn brackets: the default, and the commands that read an option; the others refuse it.");
    const char *group = "";
    for (const ons_option *option = ons_options(); option->name != NULL; ++option) {
        if (strcmp(group, option->group) != 0) printf(".SS %s\n", option->group);
        group = option->group;
        put_option(option);
    }
    puts(".SH EXIT STATUS");
    put_troff(ONS_EXIT_CODES);
    put_variables();
}

/* ------------------------------------------------------------------------------------------------------- completion */

/* What can stand behind "--name=": the option's words, or files. */
static void put_case(const ons_option *option) {
    const char *word;
    printf("    --%s)", option->name);
    if (ons_option_word(option, 0, NULL) != NULL) {
        fputs(" words='", stdout);
        for (size_t i = 0; (word = ons_option_word(option, i, NULL)) != NULL; ++i)
            printf("%s%s", i == 0 ? "" : " ", word);
        putchar('\'');
    }
    bool file = strstr(option->argument, "FILE") != NULL || strcmp(option->argument, "DIR") == 0;
    printf("%s ;;\n", file ? " files=1" : "");
}

static void put_names(unsigned command) {
    for (const ons_option *option = ons_options(); option->name != NULL; ++option) {
        if ((option->commands & command) == 0) continue;
        printf(" --%s%s", option->name, option->argument == NULL ? "" : "=");
        if (option->argument == NULL) printf(" --no-%s", option->name);
    }
}

static void print_completion(void) {
    puts("# Completion of onstage for bash: source this file, or put it into /etc/bash_completion.d.");
    puts("_onstage() {\n  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words='' files=''");
    puts("  COMPREPLY=()");
    /* Bash parts words at '=': "--device" "=" "cp". */
    puts("  [[ $word == = ]] && word='' before=${COMP_WORDS[COMP_CWORD - 1]}");
    puts("  [[ $before == = ]] && before=${COMP_WORDS[COMP_CWORD - 2]}");
    puts("  if ((COMP_CWORD == 1)); then");
    fputs("    mapfile -t COMPREPLY < <(compgen -W '", stdout);
    for (size_t i = 0; i < COMMANDS; ++i) printf("%s ", commands[i].name);
    puts("help --help --version' -- \"$word\")\n    return\n  fi");
    puts("  if [[ $word != -* && $before == --* ]]; then\n    case $before in");
    for (const ons_option *option = ons_options(); option->name != NULL; ++option)
        if (option->argument != NULL) put_case(option);
    puts("    *) files=1 ;;\n    esac");
    puts("    [[ -z $words ]] || mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")");
    puts("    [[ -z $files ]] || mapfile -t -O \"${#COMPREPLY[@]}\" COMPREPLY < <(compgen -f -- \"$word\")\n    "
         "return\n  fi");
    puts("  if [[ $word != -* ]]; then\n    mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n    return\n  fi");
    puts("  case ${COMP_WORDS[1]} in");
    for (size_t i = 0; i < COMMANDS; ++i) {
        printf("  %s) words='--help", commands[i].name);
        put_names(1u << i);
        puts("' ;;");
    }
    puts("  esac\n  compopt -o nospace\n  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n}");
    puts("complete -o filenames -F _onstage onstage");
}

/* ----------------------------------------------------------------------------------------------------------- others */

static void print_environment(void) {
    puts("# Environment variables\n");
    puts("Printed by `./bazelw run //tools:manual -- environment`; a test compares this file with the program's "
         "table.\nOf the program's own variables, those that take certain words refuse another one.\n");
    puts("| variable | values | default | what it says |\n|---|---|---|---|");
    for (size_t i = 0; i < ONS_VARIABLE_COUNT; ++i) {
        const ons_variable_description *v = &ons_variables[i];
        printf("| `%s` | ", v->name);
        for (const char *c = v->values; *c != '\0'; ++c) printf(*c == '|' ? ", " : "%c", *c);
        printf(" | %s | %s |\n", v->default_value == NULL ? "" : v->default_value, v->help);
    }
}

static int print_words(const char *name) {
    for (const ons_option *option = ons_options(); option->name != NULL; ++option) {
        const char *word;
        if (strcmp(option->name, name) != 0) continue;
        for (size_t i = 0; (word = ons_option_word(option, i, NULL)) != NULL; ++i) puts(word);
        return 0;
    }
    fprintf(stderr, "there is no option --%s\n", name);
    return 1;
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "words") == 0 && argc == 3) return print_words(argv[2]);
    static const struct {
        const char *name;
        void (*print)(void);
    } pages[] = {{"man", print_page}, {"bash", print_completion}, {"environment", print_environment}};
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; ++i) {
        if (strcmp(pages[i].name, what) != 0) continue;
        pages[i].print();
        return fflush(stdout) == 0 ? 0 : 1;
    }
    fputs("manual man|bash|environment|words NAME\n", stderr);
    return 1;
}
