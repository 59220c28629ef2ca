/* Schedules as files that PyTorch's pipelining reads and writes: a line for each device ("rank"), in its cells what the
 * device computes, in order. "2F0" is stage 2, forward, micro-batch 0; B backward, or apart I input gradients and W
 * weight gradients (in earlier files BW the whole, B and W apart). What is sent, received and waited for, unsharded and
 * reduced may be named, and follows from the rest here; an empty cell is a bubble, which follows as well;
 * "(2F1;0B0)OVERLAP_F_B" is one after the other. "2F0/2" is a forward part in two halves of its samples, which
 * PyTorch's own files do not have. */
#ifndef ONSTAGE_PLANNER_SCHEDULE_CSV_H
#define ONSTAGE_PLANNER_SCHEDULE_CSV_H

#include "planner/schedule/schedule.h"

/* Stages, devices and micro-batches follow from the cells; the update of a stage, of which the format knows nothing,
 * comes behind its last gradient. Lines that are empty or begin with '#' are passed over. What is no schedule is
 * ONS_INVALID_DATA, a wrong cell named by line and column. Everything in `arena`; verified but for what stages wait for
 * of each other, which the file does not say: ons_schedule_verify with the edges of the stages that run it. */
ons_status *ons_schedule_parse_csv(const char *text, size_t size, ons_arena *arena, ons_schedule *schedule);

/* Free with free(). Reading it and writing it again gives the same bytes. Updates between micro-batches cannot be said:
 * ONS_UNSUPPORTED. */
ons_status *ons_schedule_print_csv(const ons_schedule *schedule, char **text);

#endif
