/* The subcommands; each returns the exit code. argv[0] is the subcommand's name. */
#ifndef ONSTAGE_TOOLS_COMMANDS_H
#define ONSTAGE_TOOLS_COMMANDS_H

#define COMMAND(NAME, SUMMARY) int ons_command_##NAME(int argc, char **argv);
#include "tools/commands.inc"
#undef COMMAND

#define ONS_EXIT_CODES                                                                                                 \
    "Exit codes: 0 success, 1 wrong arguments, 2 not a valid model, 3 not supported, 4 data that do not fit,\n"        \
    "5 a file cannot be read or written, 6 too little memory, 7 the loss is no longer a number,\n"                     \
    "8 stopped by the user, 9 a defect in onstage.\n"

#endif
