/* What a person sees while a model trains: one live line on a terminal, plain lines elsewhere. */
#ifndef ONSTAGE_TOOLS_PROGRESS_H
#define ONSTAGE_TOOLS_PROGRESS_H

#include "include/onstage.h"

/* "1.5 MiB" and "2:05" into `text`, which is returned. */
enum { ONS_SHORT_TEXT = 32 };
const char *ons_print_bytes(int64_t bytes, char text[static ONS_SHORT_TEXT]);
const char *ons_print_seconds(double seconds, char text[static ONS_SHORT_TEXT]);

/* Of the terminal that is written to; 80 where there is none. */
int ons_terminal_columns(void);

/* Once before training, after every step, and once after. */
void ons_progress_begin(const ons_trainer_status *status);
void ons_progress_step(const ons_step_report *report);
void ons_progress_end(void);

#endif
