/* The cost model of all memory strategies: one period of a stage, walked part by part.
 *
 *   compute  F0 F1 F2 F3 │ (again: F2) B3 (again: F1) B2 B1 B0 │ F0 F1 …
 *   out         t0 t1 t2 │t2                                   │
 *   in                   │        t1           t0              │
 *
 * is a period of 1F1B: the forward part of the newest micro-batch, then the backward part of the oldest of the
 * `in_flight` ones.
 *
 * Memory. Every tensor is on the device for intervals of parts, counted from the start of its own forward part. Where
 * in_flight micro-batches share the period, an interval that is longer than a period lies over itself; so one walk over
 * one period finds the peak of all micro-batches together:
 *   kept        from its producer (or the start, where it arrives) to the backward part of its first saver, or to the
 *               last part that runs again and reads it
 *   swapped     until the copy to the host has ended and the last forward part that reads it as well, then from the
 *               start of the copy back. The copy out may end in a later part, of another micro-batch too; the device
 *               waits for it before that part, so what is counted does not depend on timing
 *   recomputed  to its last forward use, then from the part that makes it again
 *   unsaved     to its last forward use; made again where a part that runs again reads it. It is kept where it cannot
 *               be made again (it arrived, or its node may not run twice)
 * and what a part needs beside tensors: scratch, and the gradients that flow. A node runs again at most once for each
 * micro-batch; what it makes that is not wanted then is scratch, or lies where the same bits still are.
 *
 * Time. Copies of one direction are served in the order of their triggers, one after the other. The copy out starts
 * after the forward part `out_after`; the copy back before the group of parts of the backward part `in_before`, when
 * its own copy out has ended. A part waits for the copies of what it reads. Where copies take longer than the period,
 * the excess is waited for too: what a period copies must fit it.
 *
 * In GPipe (load.forward_first) forward parts follow each other without backward parts in between: the copies out of a
 * micro-batch must fit the time of its forward part, and what is more is waited for there. The same is not counted
 * where a pipeline of another kind fills; memory is what is said here as long as the device waits for the copies
 * (planner/simulate/pipeline_simulation.h does).
 */
#include <math.h>
#include <string.h>

#include "planner/memory/stage.h"

/* Micro-batches between their forward and their backward part while another one runs. */
static uint32_t waiting(const ons_memory_workspace *w) {
    return w->problem->load.in_flight > 1 ? w->problem->load.in_flight - 1 : 0;
}

/* -------------------------------------------------------------------------------------------------- what runs again */

static bool needs_rerun(const ons_memory_workspace *w, const uint8_t *decisions, uint32_t tensor) {
    const ons_stage_tensor *t = &w->tensors[tensor];
    return decisions[tensor] == ONS_RECOMPUTE || (t->first_saver == ONS_NO_NODE && t->can_rerun);
}

static void push(ons_memory_workspace *w, uint32_t *depth, uint32_t node, uint32_t position) {
    if (w->rerun_walk[node] == w->walk_number) return;
    w->rerun_walk[node] = w->walk_number;
    w->rerun_slot[node] = position;
    w->stack[(*depth)++] = node;
}

/* They come from the last to the first, nearly. */
static void sort_ascending(uint32_t *list, uint32_t count) {
    for (uint32_t i = 0; i < count / 2; ++i) {
        uint32_t item = list[i];
        list[i] = list[count - 1 - i];
        list[count - 1 - i] = item;
    }
    for (uint32_t i = 1; i < count; ++i) {
        uint32_t item = list[i], j = i;
        for (; j > 0 && list[j - 1] > item; --j) list[j] = list[j - 1];
        list[j] = item;
    }
}

/* Adds what must run again before the backward part of `position`, given what already has. */
static void find_reruns_at(ons_memory_workspace *w, const uint8_t *decisions, uint32_t position) {
    uint32_t depth = 0, before = w->rerun_count;
    for (uint32_t t = w->wake_head[position]; t != ONS_NO_NODE; t = w->wake_next[t])
        push(w, &depth, w->tensors[t].producer, position);
    while (depth > 0) {
        uint32_t node = w->stack[--depth];
        w->reruns[w->rerun_count++] = node;
        ons_work_list reads = ons_work_reads(w->work, w->problem->first + node);
        for (uint32_t i = 0; i < reads.count; ++i) {
            uint32_t source = w->local[reads.items[i]];
            if (needs_rerun(w, decisions, source)) push(w, &depth, w->tensors[source].producer, position);
        }
    }
    sort_ascending(w->reruns + before, w->rerun_count - before);
}

/* Goes from the last backward part to the first: a node that ran again for a later position is there already for the
 * earlier ones. */
static void find_reruns(ons_memory_workspace *w, const uint8_t *decisions, ons_prefetch prefetch) {
    ++w->walk_number;
    w->rerun_count = 0;
    for (uint32_t i = 0; i < w->node_count; ++i) w->wake_head[i] = ONS_NO_NODE;
    for (uint32_t i = 0; i < w->candidate_count; ++i) {
        uint32_t t = w->candidates[i];
        if (decisions[t] != ONS_RECOMPUTE) continue;
        if (prefetch != ONS_PREFETCH_GIVEN) w->in_before[t] = w->tensors[t].last_saver;
        w->wake_next[t] = w->wake_head[w->in_before[t]];
        w->wake_head[w->in_before[t]] = t;
    }
    for (uint32_t i = w->node_count; i-- > 0;) {
        if (w->wake_head[i] != ONS_NO_NODE) find_reruns_at(w, decisions, i);
    }
}

/* ------------------------------------------------------------------------------------------------------------ parts */

static void add_part(ons_memory_workspace *w, double *now, double seconds, int64_t bytes) {
    w->parts[w->part_count++] = (ons_stage_part){*now, seconds, bytes};
    *now += seconds;
}

static void note_sources(ons_memory_workspace *w, uint32_t node, uint32_t position) {
    ons_work_list reads = ons_work_reads(w->work, w->problem->first + node);
    for (uint32_t i = 0; i < reads.count; ++i) {
        uint32_t t = w->local[reads.items[i]];
        if (w->first_source[t] == ONS_NO_NODE) {
            w->first_source[t] = w->part_count;
            w->first_source_slot[t] = position;
        }
        w->last_source[t] = w->part_count;
    }
}

/* Lays out the period without waiting. Returns its seconds. */
static double make_parts(ons_memory_workspace *w) {
    const ons_work_node *nodes = w->work->nodes + w->problem->first;
    double now = w->forward_end;
    uint32_t next = 0;
    w->part_count = w->node_count; /* the forward parts stay as ons_stage_open made them */
    memset(w->first_source, 0xff, w->tensor_count * sizeof *w->first_source);
    memset(w->last_source, 0xff, w->tensor_count * sizeof *w->last_source);
    for (uint32_t i = w->node_count; i-- > 0;) {
        w->group_begin[i] = w->part_count;
        for (; next < w->rerun_count && w->rerun_slot[w->reruns[next]] == i; ++next) {
            uint32_t node = w->reruns[next];
            w->rerun_part[node] = w->part_count;
            note_sources(w, node, i);
            add_part(w, &now, w->forward_seconds[node], nodes[node].forward_bytes + w->gradient_before[i]);
        }
        w->backward_part[i] = w->part_count;
        add_part(w, &now, w->backward_seconds[i], w->gradient_alive[i]);
    }
    return now;
}

/* ----------------------------------------------------------------------------------------------------------- copies */

/* By `key`, then by need; the lists come nearly sorted. */
static void sort_swaps(const ons_memory_workspace *w, uint32_t *list, const uint32_t *key) {
    for (uint32_t i = 1; i < w->swap_count; ++i) {
        uint32_t item = list[i], j = i;
        for (; j > 0; --j) {
            uint32_t other = list[j - 1];
            if (key[other] < key[item] || (key[other] == key[item] && w->need[other] <= w->need[item])) break;
            list[j] = other;
        }
        list[j] = item;
    }
}

/* Position of the backward part in front of which a swapped tensor is read first. */
static uint32_t need_position(const ons_memory_workspace *w, uint32_t t) {
    uint32_t saver = w->tensors[t].last_saver;
    return w->first_source[t] < w->backward_part[saver] ? w->first_source_slot[t] : saver;
}

static void list_swaps(ons_memory_workspace *w, const uint8_t *decisions) {
    uint32_t count = 0;
    w->swap_count = 0;
    for (uint32_t i = 0; i < w->candidate_count; ++i) {
        uint32_t made = w->candidates[i], t = w->by_saver[i];
        if (decisions[made] == ONS_SWAP) w->by_out[count++] = made;
        if (decisions[t] != ONS_SWAP) continue;
        uint32_t backward = w->backward_part[w->tensors[t].last_saver];
        w->need[t] = w->first_source[t] < backward ? w->first_source[t] : backward;
        w->swaps[w->swap_count++] = t;
    }
    sort_swaps(w, w->swaps, w->need);
}

/* From the last copy to the first: each may end no later than it is needed, nor than the next one must start. */
static void hide_copies(ons_memory_workspace *w) {
    double end = INFINITY;
    uint32_t position = 0;
    for (uint32_t i = w->swap_count; i-- > 0;) {
        uint32_t t = w->swaps[i], latest = need_position(w, t);
        double needed = w->parts[w->need[t]].start;
        end = (needed < end ? needed : end) - w->tensors[t].copy_seconds;
        if (position < latest) position = latest;
        while (position + 1 < w->node_count && w->parts[w->group_begin[position]].start > end) ++position;
        w->in_before[t] = position;
    }
}

static void trigger_copies(ons_memory_workspace *w, ons_prefetch prefetch) {
    if (prefetch == ONS_PREFETCH_HIDDEN) hide_copies(w);
    for (uint32_t i = 0; i < w->swap_count; ++i) {
        uint32_t t = w->swaps[i], latest = need_position(w, t);
        if (prefetch != ONS_PREFETCH_GIVEN) w->out_after[t] = w->tensors[t].born;
        if (prefetch == ONS_PREFETCH_NEVER || w->in_before[t] < latest) w->in_before[t] = latest;
        w->start[t] = w->group_begin[w->in_before[t]];
    }
}

/* Copies to the host, with what the period before left unfinished. After one period from an idle start the backlog is
 * what it stays, as long as the copies of a period fit it. Returns the seconds of all. */
static double copy_out(ons_memory_workspace *w, double period) {
    double total = 0;
    for (uint32_t i = 0; i < w->swap_count; ++i) total += w->tensors[w->swaps[i]].copy_seconds;
    if (period < total) period = total;
    /* They come in the order in which they are made, which is right unless the triggers were given. */
    sort_swaps(w, w->by_out, w->out_after);
    double free = 0;
    for (int pass = 0; pass < 2; ++pass) {
        for (uint32_t i = 0; i < w->swap_count; ++i) {
            uint32_t t = w->by_out[i];
            const ons_stage_part *after = &w->parts[w->out_after[t]];
            double ready = after->start + after->seconds;
            free = (free > ready ? free : ready) + w->tensors[t].copy_seconds;
            w->out_end[t] = free;
        }
        free = free > period ? free - period : 0;
    }
    return total;
}

/* Copies back; moves the parts by what they wait. Returns the seconds waited. */
static double copy_in(ons_memory_workspace *w, double period) {
    double waited = 0, free = 0, earlier = (double)waiting(w) * period;
    uint32_t next = 0, needed = 0;
    for (uint32_t i = 0; i < w->swap_count; ++i) w->by_start[i] = w->swaps[i];
    sort_swaps(w, w->by_start, w->start);
    for (uint32_t part = w->node_count; part < w->part_count; ++part) {
        double now = w->parts[part].start += waited;
        for (; next < w->swap_count && w->start[w->by_start[next]] == part; ++next) {
            uint32_t t = w->by_start[next];
            double begin = now > free ? now : free;
            if (begin < w->out_end[t] - earlier) begin = w->out_end[t] - earlier;
            w->in_end[t] = free = begin + w->tensors[t].copy_seconds;
        }
        for (; needed < w->swap_count && w->need[w->swaps[needed]] == part; ++needed) {
            double wait = w->in_end[w->swaps[needed]] - w->parts[part].start;
            if (wait <= 0) continue;
            waited += wait;
            w->parts[part].start += wait;
        }
    }
    return waited;
}

/* Seconds that copies add to the period. */
static double find_stall(ons_memory_workspace *w, const uint8_t *decisions, ons_prefetch prefetch, double own) {
    list_swaps(w, decisions);
    if (w->swap_count == 0) return 0;
    trigger_copies(w, prefetch);
    double period = own > w->period_seconds ? own : w->period_seconds;
    double copying = copy_out(w, period);
    double waited = copy_in(w, copying > period ? copying : period);
    period = own + waited > w->period_seconds ? own + waited : w->period_seconds;
    double room = w->problem->load.forward_first ? w->forward_end : period;
    double charged = 2 * w->problem->host_share * copying; /* out and back */
    return waited + (copying > room ? copying - room : 0) + charged;
}

/* ----------------------------------------------------------------------------------------------------------- memory */

typedef struct account {
    ons_memory_workspace *w;
    int64_t *changes;
    int64_t always;   /* bytes over the whole period */
    uint32_t period;  /* parts */
    uint32_t waiting; /* micro-batches that wait: in_flight - 1 */
    double seconds;   /* of the period */
} account;

/* Parts [from, to] of one period. */
static void add_bytes(account *a, uint32_t from, uint32_t to, int64_t bytes) {
    a->changes[from] += bytes;
    a->changes[to + 1] -= bytes;
}

/* Parts [from, to], counted on over the periods. */
static void add_long(account *a, uint32_t from, uint64_t to, int64_t bytes) {
    uint64_t rest = to - from + 1;
    for (; rest >= a->period; rest -= a->period) a->always += bytes;
    if (rest == 0) return;
    if (from + rest <= a->period) {
        add_bytes(a, from, from + (uint32_t)rest - 1, bytes);
    } else {
        add_bytes(a, from, a->period - 1, bytes);
        add_bytes(a, 0, from + (uint32_t)rest - a->period - 1, bytes);
    }
}

/* The first parts that start when the copies out have ended, counted on over the periods. */
static void find_gone(account *a) {
    ons_memory_workspace *w = a->w;
    uint64_t base = 0;
    double begun = 0;
    uint32_t part = 0;
    for (uint32_t i = 0; i < w->swap_count; ++i) {
        uint32_t t = w->by_out[i];
        while (begun + w->parts[part].start < w->out_end[t]) {
            if (++part < a->period) continue;
            part = 0;
            base += a->period;
            begun += a->seconds;
        }
        w->gone_from[t] = base + part;
    }
}

static bool runs_again(const ons_memory_workspace *w, const ons_stage_tensor *t) {
    return t->producer != ONS_NO_NODE && w->rerun_walk[t->producer] == w->walk_number;
}

static void add_swapped(account *a, uint32_t index, const ons_stage_tensor *t, uint32_t end) {
    uint32_t back = a->w->start[index];
    uint64_t gone = a->w->gone_from[index], return_part = (uint64_t)a->waiting * a->period + back;
    if (gone <= t->last_use) gone = t->last_use + 1;
    if (gone >= return_part) {
        a->always += (int64_t)a->waiting * t->bytes;
        add_bytes(a, t->born, end, t->bytes);
        return;
    }
    add_long(a, t->born, gone - 1, t->bytes);
    add_bytes(a, back, end, t->bytes);
    if (!runs_again(a->w, t)) return;
    uint32_t again = a->w->rerun_part[t->producer];
    if (again < back || again > end) add_bytes(a, again, again, t->bytes);
}

/* Returns the bytes that each waiting micro-batch holds. */
static int64_t add_kept(account *a, const ons_stage_tensor *t, uint32_t end) {
    a->always += (int64_t)a->waiting * t->bytes;
    add_bytes(a, t->born, end, t->bytes);
    if (runs_again(a->w, t) && a->w->rerun_part[t->producer] > end) {
        uint32_t again = a->w->rerun_part[t->producer];
        add_bytes(a, again, again, t->bytes);
    }
    return t->bytes;
}

/* Adds the intervals of a tensor by its decision, as the table at the top of this file has them. Returns the bytes that
 * each waiting micro-batch holds of it. */
static int64_t add_tensor(account *a, uint32_t index, ons_decision decision) {
    const ons_memory_workspace *w = a->w;
    const ons_stage_tensor *t = &w->tensors[index];
    bool saved = t->first_saver != ONS_NO_NODE, source = w->last_source[index] != ONS_NO_NODE;
    uint32_t end = saved ? w->backward_part[t->first_saver] : 0;
    if (source && w->last_source[index] > end) end = w->last_source[index];
    if (decision == ONS_SWAP) {
        add_swapped(a, index, t, end);
        return 0;
    }
    if (decision == ONS_KEEP && (saved || (source && !t->can_rerun))) return add_kept(a, t, end);
    add_bytes(a, t->born, t->last_use, t->bytes);
    if (runs_again(w, t)) {
        uint32_t again = w->rerun_part[t->producer];
        add_bytes(a, again, end > again ? end : again, t->bytes);
    }
    return 0;
}

/* Where weight gradients are apart, what is back for the backward part stays until they are made, as gradients do. */
static int64_t find_apart(const ons_memory_workspace *w, const uint8_t *decisions) {
    const ons_stage_problem *p = w->problem;
    int64_t back = 0;
    if (!p->load.apart) return 0;
    for (uint32_t i = 0; i < w->tensor_count; ++i)
        if (decisions[i] != ONS_KEEP || (w->tensors[i].first_saver == ONS_NO_NODE && runs_again(w, &w->tensors[i])))
            back += w->tensors[i].bytes;
    return ons_work_apart_bytes(p->work, p->first, p->end, &p->load) + p->load.between * back;
}

/* Sums the changes up part by part. What waits is told apart from what runs (`stash` and `peak`), which is how reports
 * show a stage's memory. */
static void find_memory(ons_memory_workspace *w, const uint8_t *decisions, double seconds, ons_walk *walk) {
    account a = {w, w->changes, 0, w->part_count, waiting(w), seconds};
    int64_t held = 0, alive = 0, peak = -1;
    memset(w->changes, 0, (w->part_count + 1) * sizeof *w->changes);
    find_gone(&a);
    for (uint32_t i = 0; i < w->tensor_count; ++i) held += add_tensor(&a, i, (ons_decision)decisions[i]);
    for (uint32_t i = 0; i < w->part_count; ++i) {
        alive += w->changes[i];
        if (alive + w->parts[i].bytes <= peak) continue;
        peak = alive + w->parts[i].bytes;
        walk->peak_part = i;
    }
    const ons_stage_memory *m = &w->base;
    walk->stash = (int64_t)a.waiting * held;
    walk->peak = peak + a.always - walk->stash;
    walk->stash += find_apart(w, decisions);
    walk->total = m->weights + m->gradients + m->states + m->versions + walk->stash + walk->peak + m->transfers;
}

void ons_stage_walk(ons_memory_workspace *w, const uint8_t *decisions, ons_prefetch prefetch, ons_walk *walk) {
    find_reruns(w, decisions, prefetch);
    double own = make_parts(w), stall = find_stall(w, decisions, prefetch, own);
    double seconds = own + stall, again = 0;
    for (uint32_t i = 0; i < w->rerun_count; ++i) again += w->forward_seconds[w->reruns[i]];
    walk->recompute_seconds = again;
    walk->stall_seconds = stall;
    /* Not `own`: without decisions the sum is to be the workload's own, to the last bit. */
    walk->seconds = w->compute_seconds + (again + stall);
    find_memory(w, decisions, seconds > w->period_seconds ? seconds : w->period_seconds, walk);
}

/* -------------------------------------------------------------------------------------------------- given decisions */

/* What a plan's file decides may have been edited: whatever a walk relies on is checked here, in words that name the
 * tensor. */
static ons_status *check_decision(ons_memory_workspace *w, const ons_tensor_decision *d, const uint8_t *decisions) {
    ONS_CHECK(d->tensor < w->work->tensor_count, ONS_INVALID_ARGUMENT, "decision about tensor %u: there are %u",
              d->tensor, w->work->tensor_count);
    const char *name = w->work->tensors[d->tensor].name;
    uint32_t first = w->problem->first, end = w->problem->end;
    ONS_CHECK(w->local_stage[d->tensor] == w->opening, ONS_INVALID_ARGUMENT,
              "'%s': no node of the stage makes, reads or saves it", name);
    uint32_t local = w->local[d->tensor];
    const ons_stage_tensor *t = &w->tensors[local];
    ONS_CHECK(decisions[local] == ONS_KEEP, ONS_INVALID_ARGUMENT, "'%s': decided twice", name);
    if (d->decision == ONS_KEEP) return NULL;
    ONS_CHECK(d->decision == ONS_SWAP || d->decision == ONS_RECOMPUTE, ONS_INVALID_ARGUMENT, "'%s': no such decision",
              name);
    ONS_CHECK(t->first_saver != ONS_NO_NODE && t->bytes > 0, ONS_INVALID_ARGUMENT,
              "'%s': no backward part of the stage reads it, so there is nothing to free", name);
    ONS_CHECK(d->in_before >= first + t->last_saver && d->in_before < end, ONS_INVALID_ARGUMENT,
              "'%s': it must be back before the backward part of node %u, in the stage [%u, %u), not %u", name,
              first + t->last_saver, first, end, d->in_before);
    if (d->decision == ONS_RECOMPUTE) {
        ONS_CHECK(t->can_recompute, ONS_INVALID_ARGUMENT,
                  "'%s': it cannot be computed again: it arrives, or its node may run but once", name);
        return NULL;
    }
    ONS_CHECK(t->can_swap, ONS_INVALID_ARGUMENT, "'%s': there is no link to the host to swap over", name);
    ONS_CHECK(d->out_after >= first + t->born && d->out_after < end, ONS_INVALID_ARGUMENT,
              "'%s': it can be copied after the forward parts [%u, %u), not %u", name, first + t->born, end,
              d->out_after);
    return NULL;
}

ons_status *ons_memory_evaluate(const ons_stage_problem *problem, const ons_tensor_decision *list, uint32_t count,
                                ons_memory_workspace *w, ons_stage_solution *solution) {
    ons_stage_open(w, problem);
    uint8_t *decisions = w->decisions[0];
    memset(decisions, ONS_KEEP, w->tensor_count);
    for (uint32_t i = 0; i < count; ++i) {
        ONS_TRY(check_decision(w, &list[i], decisions));
        if (list[i].decision == ONS_KEEP) continue;
        uint32_t local = w->local[list[i].tensor];
        decisions[local] = (uint8_t)list[i].decision;
        w->in_before[local] = list[i].in_before - problem->first;
        w->out_after[local] = list[i].out_after - problem->first; /* of swapped ones alone */
    }
    return ons_stage_close(w, decisions, ONS_PREFETCH_GIVEN, NULL, solution);
}
