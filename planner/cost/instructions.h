/* What kernels gain from one set of a processor's instructions to another, as it was surveyed.
 *
 * Peaks of products and of memory, which datasheets state, do not say it: with wider registers kernels divide their
 * work otherwise, and some problems gain several times what large products do, others nothing. The surveys are measured
 * on standard problems by bench/pytorch/instruction_survey.py: operators, by what they have to do, and their times with
 * each set on one machine. surveys/ holds one for each kind of machine, as the same instructions gain more where
 * registers are as wide as they are than where a wide one is worked on in two halves.
 */
#ifndef ONSTAGE_PLANNER_COST_INSTRUCTIONS_H
#define ONSTAGE_PLANNER_COST_INSTRUCTIONS_H

#include <stdbool.h>

#include "planner/cost/node_amount.h"

/* Of the machine that was surveyed, with these instructions. */
typedef struct ons_instruction_set {
    const char *name;        /* "v4": as a device profile has it in "instructions", and kernels/kernels.h */
    double matrix_flops;     /* FLOP/s of large float32 products */
    double memory_bandwidth; /* bytes/s */
} ons_instruction_set;

/* From the one set to the other on the machine of a survey. */
typedef struct ons_instruction_change {
    const struct ons_instruction_survey *survey;
    const ons_instruction_set *from, *to;
} ons_instruction_change;

/* Finds the survey that has both sets and whose large products gain a factor nearest to `gain`, FLOP/s with the one
 * set ÷ with the other. Returns false where none has both, or a name is NULL. */
bool ons_instruction_change_find(const char *from, const char *to, double gain, ons_instruction_change *change);

/* Gives the factor by which a node's time changes on the machine of the survey: from the problems of its operator,
 * those nearest in bytes, FLOPs a byte and share of bytes written counting most. Where the operator was not surveyed,
 * from all that are products, or all that are not, as it is. */
double ons_instruction_change_factor(const ons_instruction_change *change, const char *operator_name,
                                     const ons_node_amount *amount);

#endif
