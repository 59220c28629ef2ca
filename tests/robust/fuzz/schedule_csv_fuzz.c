/* Any bytes as a schedule file: what is read, written and read again is the same. */
#include <stdlib.h>
#include <string.h>

#include "planner/schedule/csv.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void check(ons_status *status) {
    if (status != NULL) abort();
}

static void check_again(const ons_schedule *schedule, ons_arena *arena) {
    ons_schedule again;
    char *text;
    check(ons_schedule_print_csv(schedule, &text));
    check(ons_schedule_parse_csv(text, strlen(text), arena, &again));
    if (!ons_schedule_equal(schedule, &again)) abort();
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    ons_arena *arena = ons_arena_new();
    ons_schedule schedule;
    if (arena == NULL) abort();
    ons_status *status = ons_schedule_parse_csv((const char *)bytes, size, arena, &schedule);
    if (status == NULL)
        check_again(&schedule, arena);
    else if (ons_status_get_message(status)[0] == '\0')
        abort();
    ons_status_free(status);
    ons_arena_free(arena);
    return 0;
}
