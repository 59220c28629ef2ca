#include "planner/memory/search.h"

#include <math.h>
#include <string.h>

void ons_search_note(ons_search *s, const uint8_t *decisions, const ons_walk *walk, ons_prefetch prefetch) {
    if (walk->total < s->least) s->least = walk->total;
    if (walk->total > s->w->problem->capacity_bytes) return;
    bool better = walk->seconds < s->best_seconds ||
                  (walk->seconds == s->best_seconds && (!s->found || walk->total < s->best_total));
    if (!better) return;
    s->found = true;
    s->best_seconds = walk->seconds;
    s->best_total = walk->total;
    s->best_prefetch = prefetch;
    memcpy(s->best, decisions, s->w->tensor_count);
}

bool ons_search_allows(const ons_search *s, uint32_t tensor, uint8_t decision) {
    const ons_stage_tensor *t = &s->w->tensors[tensor];
    return decision == ONS_SWAP ? s->rule->swaps && t->can_swap : s->rule->recomputes && t->can_recompute;
}

/* ---------------------------------------------------------------------------------------------- what `current` does */

/* link_slack[i]: seconds by which another copy back may delay those that are needed before the backward part of i or at
 * it, until one of them is late. */
static void occupy_link(ons_memory_workspace *w, uint32_t tensor) {
    const ons_stage_tensor *t = &w->tensors[tensor];
    for (uint32_t i = 0; i <= t->last_saver; ++i) w->link_slack[i] -= t->copy_seconds;
}

static void find_slack(ons_memory_workspace *w) {
    double *copies = w->layer_score, after = 0; /* of what is needed at each position, and from there on */
    memset(copies, 0, w->node_count * sizeof *copies);
    w->link_busy = 0;
    for (uint32_t i = 0; i < w->swap_count; ++i) {
        const ons_stage_tensor *t = &w->tensors[w->swaps[i]];
        copies[t->last_saver] += t->copy_seconds;
        w->link_busy += t->copy_seconds;
    }
    for (uint32_t i = w->node_count; i-- > 0;) {
        after += copies[i];
        w->link_slack[i] = w->parts[w->backward_part[i]].start - w->parts[w->node_count].start - after;
    }
    for (uint32_t i = 1; i < w->node_count; ++i) {
        if (w->link_slack[i] > w->link_slack[i - 1]) w->link_slack[i] = w->link_slack[i - 1];
    }
}

void ons_search_settle(ons_search *s) {
    ons_walk walk;
    ons_stage_walk(s->w, s->current, s->rule->prefetch, &walk);
    ons_search_adopt(s, &walk);
}

void ons_search_adopt(ons_search *s, const ons_walk *walk) {
    ons_memory_workspace *w = s->w;
    s->now = *walk;
    for (uint32_t i = 0; i < w->node_count; ++i) w->rerun_flag[i] = w->rerun_walk[i] == w->walk_number;
    find_slack(w);
    s->peak_forward = s->now.peak_part < w->node_count;
    s->peak_position = s->now.peak_part;
    if (s->peak_forward) return;
    for (s->peak_position = w->node_count - 1; w->backward_part[s->peak_position] < s->now.peak_part;)
        --s->peak_position;
}

/* Seconds of nodes that would run again for a tensor besides those that do; marks them where asked. */
static double visit_reruns(ons_search *s, uint32_t tensor, bool mark) {
    ons_memory_workspace *w = s->w;
    uint32_t depth = 0;
    double seconds = 0;
    ++w->visit;
    w->visited[w->tensors[tensor].producer] = w->visit;
    w->stack[depth++] = w->tensors[tensor].producer;
    while (depth > 0) {
        uint32_t node = w->stack[--depth], position = w->problem->first + node;
        if (w->rerun_flag[node]) continue;
        if (mark) w->rerun_flag[node] = 1;
        seconds += w->forward_seconds[node];
        ons_work_list reads = ons_work_reads(w->work, position);
        for (uint32_t i = 0; i < reads.count; ++i) {
            uint32_t source = w->local[reads.items[i]];
            const ons_stage_tensor *t = &w->tensors[source];
            bool again = s->current[source] == ONS_RECOMPUTE || (t->first_saver == ONS_NO_NODE && t->can_rerun);
            if (!again || w->visited[t->producer] == w->visit) continue;
            w->visited[t->producer] = w->visit;
            w->stack[depth++] = t->producer;
        }
    }
    return seconds;
}

void ons_search_expect(ons_search *s, ons_move move) {
    ons_memory_workspace *w = s->w;
    if (move.decision == ONS_RECOMPUTE) {
        visit_reruns(s, move.tensor, true);
        return;
    }
    occupy_link(w, move.tensor);
    w->link_busy += w->tensors[move.tensor].copy_seconds;
    for (uint32_t i = w->tensors[move.tensor].last_saver + 1; i < w->node_count; ++i) {
        if (w->link_slack[i] > w->link_slack[i - 1]) w->link_slack[i] = w->link_slack[i - 1];
    }
}

/* -------------------------------------------------------------------------------------------------------- estimates */

/* What is freed counts once for each micro-batch that waits, and for the one that runs where, kept, it would be alive
 * when most is needed. */
int64_t ons_search_saving(const ons_search *s, uint32_t tensor) {
    const ons_stage_tensor *t = &s->w->tensors[tensor];
    uint32_t in_flight = s->w->problem->load.in_flight, waiting = in_flight > 1 ? in_flight - 1 : 0;
    bool covers = s->peak_forward ? t->last_use < s->peak_position : t->last_saver < s->peak_position;
    return t->bytes * ((int64_t)waiting + covers);
}

/* Seconds that a swap makes the stage wait, beside those that it waits already: -FreeTime, where copies share the link
 * and those of a period must fit it. */
static double swap_seconds(const ons_search *s, uint32_t tensor) {
    const ons_memory_workspace *w = s->w;
    const ons_stage_tensor *t = &w->tensors[tensor];
    double charged = 2 * w->problem->host_share * t->copy_seconds;
    if (s->rule->prefetch == ONS_PREFETCH_NEVER) return t->copy_seconds + charged;
    double slack = w->link_slack[t->last_saver], late = slack > 0 ? t->copy_seconds - slack : t->copy_seconds;
    double period = s->now.seconds > w->period_seconds ? s->now.seconds : w->period_seconds;
    bool apart = w->problem->load.forward_first;
    double excess = w->link_busy + t->copy_seconds - (apart ? w->forward_end : period);
    if (excess > t->copy_seconds) excess = t->copy_seconds;
    if (excess < 0) excess = 0;
    if (late < 0) late = 0;
    if (apart) return charged + late + excess; /* one is waited in the backward part, the other in the forward part */
    return charged + (late > excess ? late : excess);
}

double ons_search_rate(const ons_search *s, int64_t saving, double seconds) {
    double least = 1e-9 * s->start_seconds; /* so that what costs nothing is ordered by what it saves */
    if (s->rule->preference == ONS_BY_TIME) return 1 / (seconds + least);
    if (s->rule->preference == ONS_BY_SAVING) return (double)saving;
    return (double)saving / (seconds + least);
}

double ons_search_score(ons_search *s, ons_move move) {
    double seconds = move.decision == ONS_SWAP ? swap_seconds(s, move.tensor) : visit_reruns(s, move.tensor, false);
    return ons_search_rate(s, ons_search_saving(s, move.tensor), seconds);
}

/* Keeps the `most` best options, best first. */
static void insert(ons_search_option *options, uint32_t *count, uint32_t most, ons_search_option added) {
    uint32_t i = *count < most ? (*count)++ : most;
    if (i == most) {
        if (options[most - 1].score >= added.score) return;
        i = most - 1;
    }
    for (; i > 0 && options[i - 1].score < added.score; --i) options[i] = options[i - 1];
    options[i] = added;
}

uint32_t ons_search_options(ons_search *s, bool idle, ons_search_option *options, uint32_t most) {
    ons_memory_workspace *w = s->w;
    uint32_t count = 0;
    for (uint32_t i = 0; i < w->candidate_count; ++i) {
        uint32_t t = w->candidates[i];
        if (s->current[t] != ONS_KEEP || (!idle && ons_search_saving(s, t) == 0)) continue;
        for (int decision = ONS_SWAP; decision <= ONS_RECOMPUTE; ++decision) {
            ons_move move = {t, (uint8_t)decision};
            if (ons_search_allows(s, t, move.decision))
                insert(options, &count, most, (ons_search_option){move, ons_search_score(s, move)});
        }
    }
    return count;
}

/* --------------------------------------------------------------------------------------------------------- FreeTime */

/* Between the end of the copy out and the latest start of the copy back, over the micro-batches in between. */
static double free_time(const ons_memory_workspace *w, uint32_t tensor) {
    const ons_stage_tensor *t = &w->tensors[tensor];
    uint32_t first = w->problem->first, end = w->problem->end, in_flight = w->problem->load.in_flight;
    double period = w->compute_seconds > w->period_seconds ? w->compute_seconds : w->period_seconds;
    double between = ons_work_forward_seconds(w->work, first + t->last_use + 1, end) +
                     ons_work_backward_seconds(w->work, first + t->last_saver + 1, end) +
                     (in_flight > 1 ? (double)(in_flight - 1) * period : 0);
    return between - 2 * t->copy_seconds;
}

uint32_t ons_search_order_hidden(ons_search *s) {
    ons_memory_workspace *w = s->w;
    uint32_t count = 0;
    if (s->rule->hidden == ONS_HIDDEN_AS_RATED) return 0;
    for (uint32_t i = 0; i < w->candidate_count; ++i) {
        uint32_t t = w->candidates[i];
        w->score[t] = w->tensors[t].can_swap ? free_time(w, t) : -1;
        if (w->score[t] < 0) continue;
        if (s->rule->hidden == ONS_HIDDEN_BY_NEED)
            w->score[t] =
                w->tensors[t].can_recompute ? visit_reruns(s, t, false) / w->tensors[t].copy_seconds : INFINITY;
        /* Candidates come by producer, so by FreeTime the list is nearly sorted already. */
        uint32_t j = count++;
        for (; j > 0 && w->score[w->order[j - 1]] < w->score[t]; --j) w->order[j] = w->order[j - 1];
        w->order[j] = t;
    }
    return count;
}
