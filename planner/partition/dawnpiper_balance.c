/* Where time, and where memory, is divided evenly (DawnPiper, section B.1 and Algorithm 2). */
#include <math.h>

#include "planner/partition/dawnpiper.h"

static uint32_t clamp(uint32_t cut, const ons_cut_range *s, uint32_t stage) {
    uint32_t least = s->first + (stage - s->low + 1), most = s->end - (s->high - stage);
    return cut < least ? least : cut > most ? most : cut;
}

/* The cut whose cumulative time is nearest to the stages' share. */
static uint32_t balance_compute(const ons_workload *work, const ons_cut_range *s, uint32_t stage) {
    double share = (double)(stage - s->low + 1) / (s->high - s->low + 1);
    double wanted = ons_work_seconds(work, s->first, s->end) * share;
    uint32_t low = s->first, high = s->end;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (ons_work_seconds(work, s->first, middle) < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    if (low > s->first &&
        wanted - ons_work_seconds(work, s->first, low - 1) <= ons_work_seconds(work, s->first, low) - wanted)
        --low;
    return low;
}

/* Algorithm 2 walks the nodes and keeps the peak; the workload's index answers the same without a walk. What is
 * received ahead is left out: it belongs to the cut, not to the nodes. */
static int64_t micro_batch_bytes(const ons_workload *work, uint32_t first, uint32_t end) {
    if (first >= end) return 0;
    ons_stage_load load = {.in_flight = 1, .versions = 1, .accumulates = true};
    ons_stage_memory m;
    ons_work_stage_memory(work, first, end, &load, &m);
    return m.total - m.transfers;
}

static double multiplicity(const ons_planning_problem *p, uint32_t stage) {
    return p->schedule->loads[stage].in_flight;
}

int64_t ons_balance_bytes(const ons_planning_problem *p, uint32_t first, uint32_t end, uint32_t stage) {
    return p->schedule->loads[stage].in_flight * micro_batch_bytes(p->work, first, end);
}

/* The first end at which nodes from `first` on have reached the peak. */
static uint32_t find_end_at_peak(const ons_workload *work, uint32_t first, uint32_t end, double peak) {
    uint32_t low = first, high = end;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if ((double)micro_batch_bytes(work, first, middle) < peak)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* With k_x M_x = `bytes` for every stage but the last: the cut behind `stage`, and whether the last stage is then left
 * with more. */
static bool last_has_more(const ons_planning_problem *p, const ons_cut_range *s, uint32_t stage, double bytes,
                          uint32_t *cut) {
    uint32_t at = s->first;
    for (uint32_t x = s->low; x < s->high; ++x) {
        at = find_end_at_peak(p->work, at, s->end, bytes / multiplicity(p, x));
        if (x == stage) *cut = at;
        if (at == s->end && x > stage) return false;
    }
    return at < s->end && (double)ons_balance_bytes(p, at, s->end, s->high) > bytes;
}

/* Two neighbouring cuts between which memory is even: no cut has exactly that, in general. */
typedef struct cut_pair {
    uint32_t low, high;
} cut_pair;

/* The first stage has less at `low`, not at `high`. */
static cut_pair balance_two(const ons_planning_problem *p, const ons_cut_range *s) {
    cut_pair cut = {s->first, s->end};
    while (cut.low + 1 < cut.high) {
        uint32_t middle = cut.low + (cut.high - cut.low) / 2;
        if (ons_balance_bytes(p, s->first, middle, s->low) < ons_balance_bytes(p, middle, s->end, s->high))
            cut.low = middle;
        else
            cut.high = middle;
    }
    return cut;
}

/* Algorithm 2 takes M_L = M_N / sum of k_L / k_x, as if peaks would add. They do not, so that is where bisection
 * starts; it ends where both sides agree on the cut. */
static cut_pair balance_many(const ons_planning_problem *p, const ons_cut_range *s, uint32_t stage) {
    double whole = (double)micro_batch_bytes(p->work, s->first, s->end), parts = 0;
    double low = 0, high = whole * multiplicity(p, s->low);
    cut_pair found = {s->first, s->end};
    uint32_t cut = s->first;
    for (uint32_t x = s->low; x <= s->high; ++x) parts += 1 / multiplicity(p, x);
    double bytes = whole / parts;
    for (int i = 0; i < 48 && found.low + 1 < found.high; ++i) {
        if (last_has_more(p, s, stage, bytes, &cut)) {
            low = bytes;
            found.low = cut;
        } else {
            high = bytes;
            found.high = cut;
        }
        /* The first guess is near: look around it before the whole range is halved. */
        bytes = i == 0 ? (low > 0 ? fmin(bytes * 1.25, high) : bytes * 0.8) : low + (high - low) / 2;
    }
    return found;
}

ons_balanced_cuts ons_balance(const ons_planning_problem *p, const ons_cut_range *s, uint32_t stage) {
    uint32_t compute = clamp(balance_compute(p->work, s, stage), s, stage);
    cut_pair even = s->high == s->low + 1 ? balance_two(p, s) : balance_many(p, s, stage);
    /* Both of the pair can be best: the interval reaches to the farther one. */
    return (ons_balanced_cuts){compute, clamp(even.high > compute ? even.high : even.low, s, stage)};
}
