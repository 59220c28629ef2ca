/* What kernels gain from one set of a processor's instructions to another, as it was surveyed.
 *
 * Peaks of products and of memory, which datasheets state, do not say it: with wider registers kernels divide their
 * work otherwise, and some problems gain several times what large products do, others nothing. The table is measured on
 * standard problems by bench/pytorch/instruction_survey.py: operators, by what they have to do, and their times with
 * each set on one machine (instruction_survey.inc).
 */
#ifndef ONSTAGE_PLANNER_COST_INSTRUCTIONS_H
#define ONSTAGE_PLANNER_COST_INSTRUCTIONS_H

#include "planner/cost/node_amount.h"

typedef struct ons_instruction_set {
    const char *name; /* "v4": as a device profile has it in "instructions", and kernels/kernels.h */
    /* Of the machine that was surveyed, with these instructions. */
    double matrix_flops;     /* FLOP/s of large float32 products */
    double memory_bandwidth; /* bytes/s */
    int column;              /* of the table */
} ons_instruction_set;

/* The set of that name; NULL where it was not surveyed, or the name is NULL. */
const ons_instruction_set *ons_instruction_set_find(const char *name);

/* Gives the factor by which a node's time changes from the one set to the other on the machine that was surveyed: from
 * the problems of its operator, those nearest in bytes, FLOPs a byte and share of bytes written counting most. Where
 * the operator was not surveyed, from all that are products, or all that are not, as it is. */
double ons_instructions_factor(const ons_instruction_set *from, const ons_instruction_set *to,
                               const char *operator_name, const ons_node_amount *amount);

#endif
