/* The command line: of ons_options() each subcommand takes those that it reads, and refuses the others by name. */
#ifndef ONSTAGE_TOOLS_ARGUMENTS_H
#define ONSTAGE_TOOLS_ARGUMENTS_H

#include "include/onstage.h"

typedef struct ons_subcommand {
    const char *name;             /* "onstage train" */
    ons_command command;          /* its bit in ons_option.commands */
    const char *summary;          /* stands above the options */
    const char *epilogue;         /* stands below; may be NULL */
    bool model_optional;          /* *model may come back NULL */
    const char *file, *file_kind; /* the argument and what it is; NULL: MODEL.onnx, model */
} ons_subcommand;

/* Parses; gives the exit code, 0 where all is well. Ends the process after --help, and with exit code 1 where there is
 * no such option. *config is the caller's. */
int ons_parse_arguments(const ons_subcommand *subcommand, int argc, char **argv, ons_config *config,
                        const char **model);

/* Ctrl-C, SIGTERM, and a terminal that hangs up (unless it is ignored, as nohup has it) call `stop`. */
void ons_catch_stops(void (*stop)(int number));

/* Prints "onstage: MESSAGE" and gives the exit code; frees the status. 0 for NULL. */
int ons_report_failure(ons_status *status);

#endif
