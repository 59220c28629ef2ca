/* Which cuts between the balanced ones are worth a look (DawnPiper, section B.2: communication optimisation). */
#include <math.h>

#include "planner/partition/dawnpiper.h"
#include "planner/partition/link.h"

/* The nearest node that follows on every path from both; each node's own lies behind it, so the earlier one moves. */
static uint32_t common_post_dominator(const uint32_t *post_dominator, uint32_t a, uint32_t b) {
    while (a != b) {
        if (a < b)
            a = post_dominator[a];
        else
            b = post_dominator[b];
    }
    return a;
}

ons_status *ons_cut_finder_make(const ons_planning_problem *problem, ons_arena *arena, ons_cut_finder *finder) {
    const ons_workload *work = problem->work;
    *finder = (ons_cut_finder){.problem = problem};
    ONS_NEW(finder->post_dominator, arena, (size_t)work->node_count + 1);
    ONS_NEW(finder->seen, arena, (size_t)work->node_count + 1);
    for (uint32_t node = work->node_count; node-- > 0;) {
        uint32_t nearest = ONS_NO_NODE;
        ons_work_list made = ons_work_produces(work, node);
        for (uint32_t i = 0; i < made.count; ++i) {
            const ons_work_tensor *t = &work->tensors[made.items[i]];
            for (uint32_t r = 0; r < t->reader_count; ++r)
                nearest = nearest == ONS_NO_NODE
                              ? t->readers[r]
                              : common_post_dominator(finder->post_dominator, nearest, t->readers[r]);
        }
        finder->post_dominator[node] = nearest == ONS_NO_NODE ? work->node_count : nearest;
    }
    return NULL;
}

static uint32_t last_use(const ons_work_tensor *t) {
    uint32_t read = t->reader_count > 0 ? t->readers[t->reader_count - 1] : t->producer;
    uint32_t saved = t->saver_count > 0 ? t->savers[t->saver_count - 1] : t->producer;
    return read > saved ? read : saved;
}

typedef struct cut_range {
    uint32_t first, last;
} cut_range;

/* It crosses every cut of the interval: no choice of a cut avoids it, so it ranks none. */
static bool is_inevitable(const ons_work_tensor *t, cut_range range) {
    return t->producer < range.first && last_use(t) >= range.last;
}

/* Whether what `node` makes is all that crosses `cut`. */
static bool crosses_alone(const ons_workload *work, cut_range range, uint32_t cut, uint32_t node) {
    ons_work_list c = ons_work_crossing(work, cut);
    for (uint32_t i = 0; i < c.count; ++i) {
        const ons_work_tensor *t = &work->tensors[c.items[i]];
        if (t->producer != node && !is_inevitable(t, range)) return false;
    }
    return true;
}

/* Where several tensors cross: the cut behind the node in which they meet, if its output alone crosses there. */
static uint32_t move_cut(const ons_cut_finder *finder, cut_range range, uint32_t cut) {
    const ons_workload *work = finder->problem->work;
    ons_work_list c = ons_work_crossing(work, cut);
    uint32_t met = ONS_NO_NODE, crossing = 0;
    for (uint32_t i = 0; i < c.count; ++i) {
        const ons_work_tensor *t = &work->tensors[c.items[i]];
        if (is_inevitable(t, range)) continue;
        ++crossing;
        met = met == ONS_NO_NODE ? t->producer : common_post_dominator(finder->post_dominator, met, t->producer);
    }
    if (crossing < 2 || met >= work->node_count) return cut;
    return crosses_alone(work, range, met + 1, met) ? met + 1 : cut;
}

static double transfer(const ons_planning_problem *p, uint32_t cut) {
    if (p->link_bandwidth <= 0) return 0;
    int64_t forward = ons_work_cut_bytes(p->work, cut), backward = ons_work_cut_gradient_bytes(p->work, cut);
    return ons_link_seconds(ons_link_in_node(p), forward > backward ? forward : backward);
}

/* The theorem's second condition: sending takes less time than either side, stage by stage, computes. */
static bool is_quick(const ons_planning_problem *p, const ons_cut_range *s, uint32_t stage, uint32_t cut) {
    double left = ons_work_seconds(p->work, s->first, cut) / (stage - s->low + 1);
    double right = ons_work_seconds(p->work, cut, s->end) / (s->high - stage);
    return transfer(p, cut) <= fmin(left, right);
}

/* Goes from the compute-balanced cut towards the memory-balanced one, as the paper sorts them. Each stage must keep a
 * node at least, and a cut to which two others move counts once. */
uint32_t ons_identify_and_sort(ons_cut_finder *finder, const ons_cut_range *span, uint32_t stage,
                               const ons_balanced_cuts *interval, uint32_t *cuts) {
    const ons_planning_problem *p = finder->problem;
    uint32_t least = span->first + (stage - span->low + 1), most = span->end - (span->high - stage);
    bool rising = interval->compute <= interval->memory;
    cut_range range = {rising ? interval->compute : interval->memory, rising ? interval->memory : interval->compute};
    uint32_t count = 0, width = range.last - range.first + 1, fallback = interval->compute;
    ++finder->serial;
    for (uint32_t i = 0; i < width; ++i) {
        uint32_t cut = move_cut(finder, range, rising ? range.first + i : range.last - i);
        if (cut < least || cut > most || finder->seen[cut] == finder->serial) continue;
        finder->seen[cut] = finder->serial;
        if (is_quick(p, span, stage, cut))
            cuts[count++] = cut;
        else if (transfer(p, cut) < transfer(p, fallback))
            fallback = cut;
    }
    if (count == 0) cuts[count++] = fallback; /* every cut is slow: the least slow */
    return count;
}
