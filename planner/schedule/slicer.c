#include "planner/schedule/slicer.h"

#include <string.h>

/* When a stage's first micro-batch behind the sliced ones must be through it at the latest: then the first gradient
 * comes back to it, if the first micro-batch is sliced. The last stage is not asked. */
static double gradient_arrives(const ons_slicer_stages *s, uint32_t stage) {
    double seconds = 0;
    for (uint32_t i = 0; i + 1 < s->stages; ++i) seconds += (s->forward[i] + s->transfer) / 2;
    seconds += s->forward[s->stages - 1];
    for (uint32_t i = s->stages - 1; i > stage; --i) seconds += s->backward[i] + s->transfer;
    return seconds;
}

/* The first stage has done its halves of so many micro-batches. It is the first to be done, since it waits for nobody;
 * the paper adds what a blocked send costs it, which ours do not. */
static double halves_end(const ons_slicer_stages *s, uint32_t micro_batches) { return micro_batches * s->forward[0]; }

uint32_t ons_slicer_count(const ons_slicer_stages *s) {
    uint32_t most = s->stages < s->micro_batches ? s->stages : s->micro_batches;
    if (s->stages < ONS_SLICES_STAGES) return 0;
    for (uint32_t sliced = 1; sliced + 1 < most; ++sliced) {
        uint32_t stage = s->stages - 1 - sliced;
        double begin = gradient_arrives(s, stage);
        for (uint32_t i = stage; i > 0; --i) begin -= s->forward[i] + s->transfer;
        begin -= s->forward[0];
        /* Figure 8 and the text: enough are sliced when the next one, whole, begins in time. (Line 34 of the listing
         * has the comparison the other way round.) */
        if (begin >= halves_end(s, sliced)) return sliced;
    }
    return most > 1 ? most - 1 : 1;
}

ons_status *ons_schedule_slice(const ons_schedule *s, uint32_t micro_batches, ons_arena *arena, ons_schedule *sliced) {
    ONS_CHECK(!s->asynchronous, ONS_UNSUPPORTED, "an asynchronous schedule has no beginning of a step to slice");
    *sliced = *s;
    ONS_NEW(sliced->lists, arena, s->devices);
    for (uint32_t device = 0; device < s->devices; ++device) {
        const ons_action_list *from = &s->lists[device];
        ons_action_list *to = &sliced->lists[device];
        *to = *from;
        ONS_NEW(to->items, arena, from->count);
        memcpy(to->items, from->items, from->count * sizeof *to->items);
        for (uint32_t i = 0; i < to->count && to->items[i].kind == ONS_ACTION_FORWARD; ++i)
            to->items[i].halved = to->items[i].micro_batch < micro_batches;
    }
    return NULL;
}
