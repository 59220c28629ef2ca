#include "tools/arguments.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEY_FIRST = 1000, KEY_NEGATIVE = 10000, KEY_END = 20000, HELP_BYTES = 512 };

typedef struct parsing {
    const ons_subcommand *subcommand;
    ons_config *config;
    const char *model;
    ons_status *failure;
} parsing;

static const char *file_of(const ons_subcommand *s) { return s->file == NULL ? "MODEL.onnx" : s->file; }
static const char *file_kind(const ons_subcommand *s) { return s->file_kind == NULL ? "model" : s->file_kind; }

static ons_status *set_option(parsing *p, int key, const char *argument) {
    const ons_option *options = ons_options();
    if (key >= KEY_NEGATIVE) return ons_config_set(p->config, options[key - KEY_NEGATIVE].name, "false");
    const ons_option *option = &options[key - KEY_FIRST];
    return ons_config_set(p->config, option->name, option->argument == NULL ? "true" : argument);
}

static error_t parse_one(int key, char *argument, struct argp_state *state) {
    parsing *p = state->input;
    if (key == ARGP_KEY_ARG && p->model == NULL) {
        p->model = argument;
        return 0;
    }
    if (key == ARGP_KEY_ARG) argp_error(state, "one %s at a time: what is '%s'?", file_kind(p->subcommand), argument);
    if (key == ARGP_KEY_END && p->model == NULL && !p->subcommand->model_optional)
        argp_error(state, "which %s? Give %s", file_kind(p->subcommand), file_of(p->subcommand));
    if (key == 'h') argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
    if (key == 'o') {
        p->failure = ons_config_set(p->config, "out", argument);
        return p->failure == NULL ? 0 : EINVAL;
    }
    if (key < KEY_FIRST || key >= KEY_END) /* argp's own keys lie on both sides */
        return ARGP_ERR_UNKNOWN;
    p->failure = set_option(p, key, argument);
    return p->failure == NULL ? 0 : EINVAL; /* which ends the parsing */
}

static bool shows_group(const ons_subcommand *subcommand, const char *group) {
    for (size_t i = 0; subcommand->groups[i] != NULL; ++i)
        if (strcmp(subcommand->groups[i], group) == 0) return true;
    return false;
}

static bool shows_option(const ons_subcommand *subcommand, const ons_option *option) {
    for (size_t i = 0; subcommand->hides[i] != NULL; ++i)
        if (strcmp(subcommand->hides[i], option->name) == 0) return false;
    return shows_group(subcommand, option->group);
}

static char *help_text(const ons_option *option) {
    bool mentioned = option->default_value == NULL || option->argument == NULL || strstr(option->help, "0: ") != NULL;
    char *text = malloc(HELP_BYTES);
    if (text != NULL) snprintf(text, HELP_BYTES, mentioned ? "%s" : "%s [%s]", option->help, option->default_value);
    return text;
}

/* Headings, options and their negations, as argp wants them. Lives until the process ends. */
static struct argp_option *make_table(const ons_subcommand *subcommand) {
    const ons_option *options = ons_options();
    size_t count = 0, used = 0;
    while (options[count].name != NULL) ++count;
    struct argp_option *table = calloc(3 * count + 3, sizeof *table);
    const char *group = "";
    for (size_t i = 0; table != NULL && i < count; ++i) {
        const ons_option *option = &options[i];
        bool shown = shows_option(subcommand, option);
        if (shown && strcmp(group, option->group) != 0) table[used++] = (struct argp_option){.doc = option->group};
        group = shown ? option->group : group;
        int flags = shown ? 0 : OPTION_HIDDEN;
        table[used++] =
            (struct argp_option){option->name, KEY_FIRST + (int)i, option->argument, flags, help_text(option), 0};
        if (option->argument == NULL) {
            char *negative = malloc(HELP_BYTES);
            if (negative != NULL) snprintf(negative, HELP_BYTES, "no-%s", option->name);
            table[used++] = (struct argp_option){negative, KEY_NEGATIVE + (int)i, NULL, OPTION_HIDDEN, NULL, 0};
        }
    }
    if (table != NULL) {
        table[used++] = (struct argp_option){.key = 'h', .flags = OPTION_HIDDEN};
        table[used] = (struct argp_option){.key = 'o', .arg = "FILE", .flags = OPTION_HIDDEN}; /* --out */
    }
    return table;
}

int ons_parse_arguments(const ons_subcommand *subcommand, int argc, char **argv, ons_config *config,
                        const char **model) {
    static char version[640];
    snprintf(version, sizeof version, "onstage %s\n%s", ons_version(), ons_kernels_version());
    argp_program_version = version;
    argp_err_exit_status = ONS_INVALID_ARGUMENT;
    char *text =
        malloc(strlen(subcommand->summary) + strlen(subcommand->epilogue == NULL ? "" : subcommand->epilogue) + 2);
    if (text != NULL)
        sprintf(text, "%s\v%s", subcommand->summary, subcommand->epilogue == NULL ? "" : subcommand->epilogue);
    struct argp_option *table = make_table(subcommand);
    if (text == NULL || table == NULL) exit(ONS_OUT_OF_MEMORY);
    parsing p = {.subcommand = subcommand, .config = config};
    const struct argp parser = {.options = table, .parser = parse_one, .args_doc = file_of(subcommand), .doc = text};
    argv[0] = (char *)subcommand->name; /* what argp calls the program */
    program_invocation_name = argv[0];
    argp_parse(&parser, argc, argv, ARGP_LONG_ONLY, NULL, &p); /* -lr is --lr */
    for (size_t i = 0; table[i].name != NULL || table[i].doc != NULL; ++i) {
        if (table[i].key >= KEY_NEGATIVE) free((char *)table[i].name);
        if (table[i].key >= KEY_FIRST && table[i].key < KEY_NEGATIVE) free((char *)table[i].doc);
    }
    free(table);
    free(text);
    *model = p.model;
    return ons_report_failure(p.failure);
}

int ons_report_failure(ons_status *status) {
    if (status == NULL) return 0;
    int code = (int)ons_status_get_code(status);
    /* Of several processes one speaks for all: the others' failures have no message. */
    if (ons_status_get_message(status)[0] != '\0')
        fprintf(stderr, "%sonstage: %s\n", isatty(STDERR_FILENO) ? "\r\033[K" : "", ons_status_get_message(status));
    ons_status_free(status);
    return code;
}
