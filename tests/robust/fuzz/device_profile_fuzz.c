/* Any bytes as a device profile: what was read prints, and what was printed reads. */
#include "planner/cost/device_profile.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    ons_arena *arena = ons_arena_new();
    ons_device_profile profile, again;
    ons_status *status = ons_device_profile_parse(bytes, size, arena, &profile);
    if (status == NULL) {
        char *text = NULL;
        if (ons_device_profile_print(&profile, &text) != NULL ||
            ons_device_profile_parse(text, strlen(text), arena, &again) != NULL)
            abort();
        free(text);
    } else if (ons_status_get_message(status)[0] == '\0') {
        abort(); /* a failure says something */
    }
    ons_status_free(status);
    ons_arena_free(arena);
    return 0;
}
