/* Any bytes as a cost graph, in every order: what was read prints, and reads again to as many nodes. */
#include <stdlib.h>
#include <string.h>

#include "planner/cost/cost_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void check(ons_status *status) {
    if (status != NULL) abort();
}

/* Printing replaces bytes that are no UTF-8, and names may become the same. */
static bool is_ascii(const uint8_t *bytes, size_t size) {
    bool ascii = true;
    for (size_t i = 0; i < size; ++i) ascii = ascii && bytes[i] < 0x80 && bytes[i] != '\\';
    return ascii;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    for (ons_order_kind order = 0; order < ONS_ORDER_COUNT; ++order) {
        ons_arena *arena = ons_arena_new();
        ons_workload work, again;
        ons_cost_file_options options = {order, 3};
        char *text = NULL;
        if (arena == NULL) abort();
        ons_status *status = ons_cost_file_parse(bytes, size, &options, arena, &work);
        if (status == NULL && is_ascii(bytes, size)) {
            check(ons_cost_file_print(&work, &text));
            check(ons_cost_file_parse(text, strlen(text), &options, arena, &again));
            if (again.node_count != work.node_count || again.tensor_count != work.tensor_count) abort();
        } else if (status != NULL && ons_status_get_message(status)[0] == '\0') {
            abort();
        }
        free(text);
        ons_status_free(status);
        ons_arena_free(arena);
    }
    return 0;
}
