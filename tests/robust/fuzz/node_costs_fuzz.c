/* Any bytes as measured costs: what was read prints, and what was printed reads. */
#include "planner/cost/node_costs.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    ons_arena *arena = ons_arena_new();
    ons_node_costs costs, again;
    ons_status *status = ons_node_costs_parse(bytes, size, arena, &costs);
    if (status == NULL) {
        char *text = NULL;
        if (ons_node_costs_print(&costs, &text) != NULL ||
            ons_node_costs_parse(text, strlen(text), arena, &again) != NULL)
            abort();
        free(text);
    } else if (ons_status_get_message(status)[0] == '\0') {
        abort(); /* a failure says something */
    }
    ons_status_free(status);
    ons_arena_free(arena);
    return 0;
}
