/* Actions as short texts, close to PyTorch's schedule files: "2F0" is stage 2, forward, micro-batch 0. */
#ifndef ONSTAGE_PLANNER_SCHEDULE_ACTION_TEXT_H
#define ONSTAGE_PLANNER_SCHEDULE_ACTION_TEXT_H

#include "planner/schedule/schedule.h"

/*   F forward   B backward   I input gradient   W weight gradient   U update
 *   SA RA  send, receive activation   SG RG  send, receive gradient   AR  all-reduce
 *   SO SI  swap out, swap in          RC     recompute
 * "2F0/2" is a forward part in two halves of its samples. */
enum { ONS_ACTION_TEXT = 48 };
const char *ons_action_print(const ons_action *action, char text[static ONS_ACTION_TEXT]);
/* Parses an action, also one of several micro-batches one after another ("2F0-3", "2F0-3/2"), and of a copy of the
 * stage ("2.1F0"). *last: the last micro-batch; `action` is of the first. false where the text is none. */
bool ons_action_parse(const char *text, ons_action *action, uint32_t *last);

#endif
