#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "tools/arguments.h"
#include "tools/commands.h"

static const ons_subcommand subcommand = {
    .name = "onstage check",
    .command = ONS_COMMAND_CHECK,
    .summary = "Lists every reason why a model cannot be trained. Exit code 0: it can be.",
    .epilogue = "Dimensions that are not bound with --dim are given a size for the check.",
};

enum { NODES_SHOWN = 3 };

/* Whether two problems are one thing to solve: an operator that is missing is so for all its nodes. */
static bool is_same(const ons_problem *a, const ons_problem *b) {
    return strcmp(a->operator_name, b->operator_name) == 0 && strcmp(a->reason, b->reason) == 0 &&
           strcmp(a->remedy, b->remedy) == 0;
}

/* "node 'a' (Loop): ", or "64 nodes (Loop) 'a', 'b', 'c', …: "; "'x': " for what is not a node. */
static void print_nodes(const ons_check *check, size_t first, size_t count) {
    const ons_problem *p = &check->problems[first];
    bool are_nodes = p->operator_name[0] != '\0';
    if (p->node[0] == '\0') return;
    char name[ONS_SHOWN_BYTES];
    if (are_nodes && count == 1) printf("node '%s' (%s): ", ons_shown(p->node, name), p->operator_name);
    if (are_nodes && count == 1) return;
    if (are_nodes) printf("%zu nodes (%s) ", count, p->operator_name);
    size_t shown = 0;
    for (size_t i = first; i < check->count && shown < NODES_SHOWN; ++i)
        if (is_same(&check->problems[i], p))
            printf("%s'%s'", shown++ == 0 ? "" : ", ", ons_shown(check->problems[i].node, name));
    printf("%s: ", count > shown ? ", …" : "");
}

static size_t count_same(const ons_check *check, size_t first) {
    size_t count = 0;
    for (size_t i = first; i < check->count; ++i) count += is_same(&check->problems[i], &check->problems[first]);
    return count;
}

static bool is_first(const ons_check *check, size_t index) {
    for (size_t i = 0; i < index; ++i)
        if (is_same(&check->problems[i], &check->problems[index])) return false;
    return true;
}

/* The data that `onstage train` will ask for. */
static void print_inputs(const ons_check *check) {
    char name[ONS_SHOWN_BYTES];
    for (size_t i = 0; i < check->input_count; ++i) {
        const ons_input_need *each = &check->inputs[i];
        printf("data: --input %s=FILE%s  %s", ons_shown(each->name, name), each->once ? ",once" : "", each->type);
        if (each->once)
            puts(", the same in every step");
        else
            printf(", a sample in each index of axis %u\n", each->axis);
    }
}

static int print_check(const char *model, const ons_check *check) {
    if (check->count == 0) {
        printf("%s: can be trained\n", model);
        print_inputs(check);
        for (size_t i = 0; i < check->assumption_count; ++i)
            printf("note: %s; %s\n", check->assumptions[i].what, check->assumptions[i].remedy);
        return 0;
    }
    size_t distinct = 0, number = 0;
    for (size_t i = 0; i < check->count; ++i) distinct += is_first(check, i);
    printf("%s: cannot be trained, %zu problem%s\n", model, distinct, distinct == 1 ? "" : "s");
    for (size_t i = 0; i < check->count; ++i) {
        const ons_problem *p = &check->problems[i];
        if (!is_first(check, i)) continue;
        printf("%3zu. ", ++number);
        print_nodes(check, i, count_same(check, i));
        printf("%s\n", p->reason);
        if (p->remedy[0] != '\0') printf("     way out: %s\n", p->remedy);
    }
    return ONS_UNSUPPORTED;
}

int ons_command_check(int argc, char **argv) {
    ons_config *config;
    int code = ons_report_failure(ons_config_new(&config));
    if (code != 0) return code;
    const char *model;
    ons_check *check = NULL;
    code = ons_parse_arguments(&subcommand, argc, argv, config, &model);
    if (code == 0) code = ons_report_failure(ons_model_check(model, config, &check));
    if (code == 0) code = print_check(model, check);
    ons_check_free(check);
    ons_config_free(config);
    return code;
}
