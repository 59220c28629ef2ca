/* An operator that takes as long as its attributes say, and next to no processor: with it, pipelines that are deeper
 * than a machine has processors take the time that they would take on as many devices.
 *
 *   y = x · w            Sleep: `forward` seconds
 *   dx = dy · w          SleepInputGradient: `input` seconds
 *   dw = Σ dy · x        SleepWeightGradient: `weight` seconds
 *
 * for as many rows as the attribute `rows` says, more or less for others; where it is 0, for any number.
 *
 * x, y: float32[rows, columns], w: float32[columns]. Where both gradients are in one part of a stage, the one of the
 * weight comes first, so that what goes to the stage before leaves at the part's end;
 * with `input_first` 1 it leaves while the other is computed, as it does of most operators. Its cost is
 * SLEEP_FLOPS_PER_SECOND for each second, so that a device profile with that peak knows what it takes.
 *
 * What is linked with this library has it in the registry, and in the table of the CPU's kernels; nothing else has. */
#ifndef ONSTAGE_TESTS_ROOMS_TIMING_SLEEP_OPERATOR_H
#define ONSTAGE_TESTS_ROOMS_TIMING_SLEEP_OPERATOR_H

#include "kernels/backend.h"
#include "tests/rooms/timing/sleep_costs.h"

extern const ons_operator ons_op_sleep, ons_op_sleep_input_gradient, ons_op_sleep_weight_gradient;
extern const ons_kernel sleep_kernels[3]; /* of the three, in this order */

#endif
