#include "bench/shared_stages_page.h"

#include <stdio.h>
#include <time.h>

void page_bar(const char *what, double value, double bar) {
    if (value >= bar)
        printf("- %s: %.3f, the bar is at least %.2f: **reached**\n", what, value, bar);
    else
        printf("- %s: %.3f, the bar is at least %.2f: **missed** by %.1f %%\n", what, value, bar,
               100 * (1 - value / bar));
}

double page_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

const char *page_order(const shared_run *r, ons_arena *arena) {
    const ons_placed_order *o = &r->order;
    const char *more = r->extra > 0 ? ons_arena_format(arena, ", %u more in flight", r->extra) : "";
    return ons_arena_format(arena, "%s%s%s%s%s%s%s", o->type == ONS_INTERLEAVED ? "in turn" : "backward first",
                            o->forward_depth_first ? ", forward deep" : "",
                            o->backward_depth_first ? ", back deep" : "", o->together_first ? ", shards first" : "",
                            o->lockstep ? ", lockstep" : "", o->apart ? ", gradients apart" : "", more);
}
