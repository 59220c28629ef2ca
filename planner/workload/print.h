/* Figures as people write them. Each returns `text`. */
#ifndef ONSTAGE_PLANNER_WORKLOAD_PRINT_H
#define ONSTAGE_PLANNER_WORKLOAD_PRINT_H

#include <stdbool.h>
#include <stdint.h>

/* "1.5 GiB" */
enum { ONS_BYTES_TEXT = 32 };
const char *ons_bytes_print(double bytes, char text[static ONS_BYTES_TEXT]);

/* "1.23 s", "45.6 ms", "789 µs"; from two hours on "2.5 h", from two days on "3.4 d" */
enum { ONS_SECONDS_TEXT = 32 };
const char *ons_seconds_print(double seconds, char text[static ONS_SECONDS_TEXT]);

/* "8 stages", "8 stages on 4 devices" */
enum { ONS_STAGES_TEXT = 64 };
const char *ons_stages_print(uint32_t stages, uint32_t devices, char text[static ONS_STAGES_TEXT]);

#endif
