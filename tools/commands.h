/* The subcommands; each returns the exit code. argv[0] is the subcommand's name. */
#ifndef ONSTAGE_TOOLS_COMMANDS_H
#define ONSTAGE_TOOLS_COMMANDS_H

int ons_command_check(int argc, char **argv);
int ons_command_inspect(int argc, char **argv);
int ons_command_train(int argc, char **argv);
int ons_command_eval(int argc, char **argv);
int ons_command_profile(int argc, char **argv);
int ons_command_plan(int argc, char **argv);
int ons_command_simulate(int argc, char **argv);

#endif
