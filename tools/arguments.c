#include "tools/arguments.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/nearest.h"
#include "base/status.h"

enum { KEY_FIRST = 1000, KEY_NEGATIVE = 10000, KEY_END = 20000, HELP_BYTES = 1024 };

typedef struct parsing {
    const ons_subcommand *subcommand;
    ons_config *config;
    const char *model;
    const char *to_output; /* the option that writes to the standard output; NULL: none */
    ons_status *failure;
} parsing;

static const char *file_of(const ons_subcommand *s) { return s->file == NULL ? "MODEL.onnx" : s->file; }
static const char *file_kind(const ons_subcommand *s) { return s->file_kind == NULL ? "model" : s->file_kind; }

/* ------------------------------------------------------------------------------------------------------------ names */

static bool reads(const ons_subcommand *s, const ons_option *option) { return (option->commands & s->command) != 0; }

/* Whether the word, without its dashes and what stands behind '=', is the option or the beginning of its name. */
static bool is_named(const ons_option *option, const char *word, size_t length, bool whole) {
    if (option->argument == NULL && length > 3 && strncmp(word, "no-", 3) == 0) word += 3, length -= 3;
    return strncmp(option->name, word, length) == 0 && (!whole || option->name[length] == '\0');
}

static const ons_option *find_option(unsigned commands, const char *word, size_t length, bool whole) {
    for (const ons_option *option = ons_options(); option->name != NULL; ++option)
        if ((option->commands & commands) != 0 && is_named(option, word, length, whole)) return option;
    return NULL;
}

/* "train, profile, plan" */
static const char *list_readers(const ons_option *option, char text[static HELP_BYTES]) {
    static const char *const names[] = {
#define COMMAND(NAME, SUMMARY) #NAME,
#include "tools/commands.inc"
#undef COMMAND
    };
    text[0] = '\0';
    for (size_t i = 0, used = 0; i < sizeof names / sizeof names[0]; ++i)
        if (option->commands >> i & 1)
            used += (size_t)snprintf(text + used, HELP_BYTES - used, "%s%s", used > 0 ? ", " : "", names[i]);
    return text;
}

/* An option that is none of the subcommand's; NULL where it is argp's own. */
static ons_status *refuse(const ons_subcommand *s, const char *word, size_t length) {
    static const char *const own[] = {"help", "usage", "version", "h", "V", "?"};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; ++i)
        if (strlen(own[i]) == length && strncmp(own[i], word, length) == 0) return NULL;
    char readers[HELP_BYTES], name[HELP_BYTES];
    snprintf(name, sizeof name, "%.*s", (int)(length < 200 ? length : 200), word);
    bool out = length == 1 && *word == 'o';
    const ons_option *other = out ? find_option(~0u, "out", 3, true) : find_option(~0u, word, length, true);
    if (other != NULL)
        return ons_status_new(ONS_INVALID_ARGUMENT, "`%s` does not read --%s; it is an option of %s", s->name,
                              other->name, list_readers(other, readers));
    ons_nearest nearest = ons_nearest_to(name);
    for (const ons_option *option = ons_options(); option->name != NULL; ++option)
        if (reads(s, option)) ons_nearest_try(&nearest, option->name);
    return ons_status_new(ONS_INVALID_ARGUMENT, "there is no option --%s%s; `%s --help` lists them", name,
                          ons_nearest_hint(&nearest), s->name);
}

/* The option that a word names, in full or by its beginning. "-o" is --out, also with the file right behind it. */
static const ons_option *option_of(const ons_subcommand *s, size_t dashes, const char *word, size_t length) {
    const ons_option *option = find_option(s->command, word, length, true);
    if (option != NULL || find_option(~0u, word, length, true) != NULL) return option; /* another command's */
    if (dashes == 1 && *word == 'o') return find_option(s->command, "out", 3, true);
    return find_option(s->command, word, length, false);
}

/* Before argp sees them, which would say less. */
static ons_status *check_names(const ons_subcommand *s, int argc, char **argv) {
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; ++i) {
        size_t dashes = strspn(argv[i], "-");
        const char *word = argv[i] + dashes;
        if (dashes == 0 || *word == '\0') continue; /* a file */
        size_t length = strcspn(word, "=");
        const ons_option *option = option_of(s, dashes, word, length);
        if (option == NULL) ONS_TRY(refuse(s, word, length));
        bool attached = word[length] == '=' || (length > 1 && option != NULL && !is_named(option, word, length, false));
        if (option != NULL && option->argument != NULL && !attached) ++i; /* which may begin with a dash */
    }
    return NULL;
}

/* ---------------------------------------------------------------------------------------------------------- parsing */

/* Options whose file is written, and may be "-", the standard output. */
static bool writes(const ons_option *option) {
    static const char *const all[] = {"out", "output", "log-json", "trace", "report", "svg", "write-schedule"};
    size_t i = 0;
    while (i < sizeof all / sizeof *all && strcmp(all[i], option->name) != 0) ++i;
    return i < sizeof all / sizeof *all;
}

/* Sets the option to what has been the standard output so far; what is printed goes to standard error from here on. */
static ons_status *write_to_output(parsing *p, const ons_option *option, const char *argument) {
    char *path = NULL;
    ONS_CHECK(p->to_output == NULL, ONS_INVALID_ARGUMENT, "--%s and --%s would both go to the standard output",
              p->to_output, option->name);
    p->to_output = option->name;
    fflush(stdout);
    int output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (output < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return ons_status_system(errno, "--%s: no standard output", option->name);
    if (asprintf(&path, "%.*s/dev/fd/%d", (int)strlen(argument) - 1, argument, output) < 0)
        return ons_status_out_of_memory();
    ons_status *status = ons_config_set(p->config, option->name, path);
    free(path);
    return status;
}

static ons_status *set_file(parsing *p, const ons_option *option, const char *argument) {
    size_t length = strlen(argument);
    bool to_output = strcmp(argument, "-") == 0 || (length > 1 && strcmp(argument + length - 2, "=-") == 0);
    return to_output && writes(option) ? write_to_output(p, option, argument)
                                       : ons_config_set(p->config, option->name, argument);
}

static ons_status *set_option(parsing *p, int key, const char *argument) {
    const ons_option *options = ons_options();
    if (key >= KEY_NEGATIVE) return ons_config_set(p->config, options[key - KEY_NEGATIVE].name, "false");
    const ons_option *option = &options[key - KEY_FIRST];
    return set_file(p, option, option->argument == NULL ? "true" : argument);
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
        p->failure = set_file(p, find_option(p->subcommand->command, "out", 3, true), argument);
        return p->failure == NULL ? 0 : EINVAL;
    }
    if (key < KEY_FIRST || key >= KEY_END) /* argp's own keys lie on both sides */
        return ARGP_ERR_UNKNOWN;
    p->failure = set_option(p, key, argument);
    return p->failure == NULL ? 0 : EINVAL; /* which ends the parsing */
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
        if (!reads(subcommand, option)) continue;
        if (strcmp(group, option->group) != 0) table[used++] = (struct argp_option){.doc = option->group};
        group = option->group;
        table[used++] =
            (struct argp_option){option->name, KEY_FIRST + (int)i, option->argument, 0, help_text(option), 0};
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
    *model = NULL;
    ons_status *problem = check_names(subcommand, argc, argv);
    if (problem != NULL) return ons_report_failure(problem);
    static char version[640];
    snprintf(version, sizeof version, "onstage %s\n%s", ons_version(), ons_kernels_version());
    argp_program_version = version;
    argp_err_exit_status = ONS_INVALID_ARGUMENT;
    char *text =
        malloc(strlen(subcommand->summary) + strlen(subcommand->epilogue == NULL ? "" : subcommand->epilogue) + 2);
    if (text != NULL)
        sprintf(text, "%s\v%s", subcommand->summary, subcommand->epilogue == NULL ? "" : subcommand->epilogue);
    struct argp_option *table = make_table(subcommand);
    if (text == NULL || table == NULL) {
        fputs("onstage: out of host memory\n", stderr);
        exit(ONS_OUT_OF_MEMORY);
    }
    parsing p = {.subcommand = subcommand, .config = config};
    const struct argp parser = {.options = table, .parser = parse_one, .args_doc = file_of(subcommand), .doc = text};
    argv[0] = (char *)subcommand->name; /* what argp calls the program */
    program_invocation_name = argv[0];
    error_t error = argp_parse(&parser, argc, argv, ARGP_LONG_ONLY, NULL, &p); /* -lr is --lr */
    if (error == ENOMEM && p.failure == NULL) p.failure = ons_status_out_of_memory();
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
    /* Of several processes one prints for all: the others' failures have no message. */
    if (ons_status_get_message(status)[0] != '\0')
        fprintf(stderr, "%sonstage: %s\n", isatty(STDERR_FILENO) ? "\r\033[K" : "", ons_status_get_message(status));
    ons_status_free(status);
    return code;
}

void ons_catch_stops(void (*stop)(int number)) {
    signal(SIGINT, stop);
    signal(SIGTERM, stop);
    if (signal(SIGHUP, stop) == SIG_IGN) signal(SIGHUP, SIG_IGN);
}
