#include "planner/memory/stage.h"

#include <math.h>
#include <stdlib.h>

/* -------------------------------------------------------------------------------------------------------- workspace */

/* `t` and `n`: of all tensors and nodes, and a little more. */
static ons_status *allocate_stage(ons_memory_workspace *w, ons_arena *a, size_t t, size_t n) {
    ONS_NEW(w->tensors, a, t);
    ONS_NEW(w->candidates, a, t);
    ONS_NEW(w->by_saver, a, t);
    ONS_NEW(w->local, a, t);
    ONS_NEW(w->local_stage, a, t);
    ONS_NEW(w->forward_seconds, a, n);
    ONS_NEW(w->backward_seconds, a, n);
    ONS_NEW(w->gradient_alive, a, n);
    ONS_NEW(w->gradient_before, a, n);
    return NULL;
}

static ons_status *allocate_walk_tensors(ons_memory_workspace *w, ons_arena *a, size_t t) {
    ONS_NEW(w->in_before, a, t);
    ONS_NEW(w->out_after, a, t);
    ONS_NEW(w->first_source, a, t);
    ONS_NEW(w->last_source, a, t);
    ONS_NEW(w->first_source_slot, a, t);
    ONS_NEW(w->need, a, t);
    ONS_NEW(w->start, a, t);
    ONS_NEW(w->out_end, a, t);
    ONS_NEW(w->in_end, a, t);
    ONS_NEW(w->swaps, a, t);
    ONS_NEW(w->by_start, a, t);
    ONS_NEW(w->by_out, a, t);
    ONS_NEW(w->gone_from, a, t);
    ONS_NEW(w->wake_next, a, t);
    return NULL;
}

static ons_status *allocate_walk_nodes(ons_memory_workspace *w, ons_arena *a, size_t n) {
    ONS_NEW(w->wake_head, a, n);
    ONS_NEW(w->reruns, a, n);
    ONS_NEW(w->rerun_slot, a, n);
    ONS_NEW(w->rerun_part, a, n);
    ONS_NEW(w->rerun_walk, a, n);
    ONS_NEW(w->stack, a, n);
    ONS_NEW(w->group_begin, a, n);
    ONS_NEW(w->backward_part, a, n);
    ONS_NEW(w->parts, a, 3 * n);
    ONS_NEW(w->changes, a, 3 * n);
    return NULL;
}

static ons_status *allocate_search(ons_memory_workspace *w, ons_arena *a, size_t t, size_t n) {
    for (size_t i = 0; i < ONS_DECISION_SETS; ++i) ONS_NEW(w->decisions[i], a, t);
    ONS_NEW(w->order, a, t);
    ONS_NEW(w->score, a, t);
    ONS_NEW(w->moves, a, t);
    ONS_NEW(w->crossing, a, n);
    ONS_NEW(w->link_slack, a, n);
    ONS_NEW(w->boundary, a, n);
    ONS_NEW(w->layer_score, a, n);
    ONS_NEW(w->rerun_flag, a, n);
    ONS_NEW(w->visited, a, n);
    return NULL;
}

static ons_status *allocate(const ons_workload *work, ons_arena *arena, ons_memory_workspace **workspace) {
    ONS_NEW(*workspace, arena, 1);
    (*workspace)->work = work;
    (*workspace)->arena = arena;
    size_t tensors = (size_t)work->tensor_count + 2, nodes = (size_t)work->node_count + 2;
    ONS_TRY(allocate_stage(*workspace, arena, tensors, nodes));
    ONS_TRY(allocate_walk_tensors(*workspace, arena, tensors));
    ONS_TRY(allocate_walk_nodes(*workspace, arena, nodes));
    return allocate_search(*workspace, arena, tensors, nodes);
}

ons_status *ons_memory_workspace_new(const ons_workload *work, ons_memory_workspace **workspace) {
    ons_arena *arena = ons_arena_new();
    *workspace = NULL;
    if (arena == NULL) return ons_status_out_of_memory();
    ons_status *status = allocate(work, arena, workspace);
    if (status != NULL) {
        ons_arena_free(arena);
        *workspace = NULL;
    }
    return status;
}

void ons_memory_workspace_free(ons_memory_workspace *workspace) {
    if (workspace != NULL) ons_arena_free(workspace->arena);
}

/* ---------------------------------------------------------------------------------------------------------- opening */

static double ticks(double seconds) { return rint(seconds * 0x1p44) * 0x1p-44; }

static uint32_t add_tensor(ons_memory_workspace *w, uint32_t id, uint32_t producer, uint32_t born) {
    const ons_stage_problem *p = w->problem;
    const ons_work_tensor *t = &w->work->tensors[id];
    uint32_t index = w->tensor_count++;
    w->tensors[index] = (ons_stage_tensor){
        .bytes = t->bytes,
        .copy_seconds = p->host_bandwidth > 0 ? ticks(p->host_latency + (double)t->bytes / p->host_bandwidth) : 0,
        .tensor = id,
        .producer = producer,
        .born = born,
        .last_read = ONS_NO_NODE,
        .last_use = born,
        .first_saver = ONS_NO_NODE,
        .last_saver = ONS_NO_NODE,
        .can_rerun = producer != ONS_NO_NODE && w->work->nodes[p->first + producer].recomputable,
    };
    w->local[id] = index;
    w->local_stage[id] = w->opening;
    return index;
}

static void add_arrivals(ons_memory_workspace *w, ons_work_list list) {
    for (uint32_t i = 0; i < list.count; ++i) {
        uint32_t id = list.items[i], producer = w->work->tensors[id].producer;
        bool made_here = producer != ONS_NO_NODE && producer >= w->problem->first;
        if (!made_here && w->local_stage[id] != w->opening) add_tensor(w, id, ONS_NO_NODE, 0);
    }
}

static void note_uses(ons_memory_workspace *w, uint32_t position, uint32_t local) {
    ons_work_list reads = ons_work_reads(w->work, position), saves = ons_work_saves(w->work, position);
    for (uint32_t i = 0; i < reads.count; ++i) {
        ons_stage_tensor *t = &w->tensors[w->local[reads.items[i]]];
        t->last_read = t->last_use = local;
    }
    for (uint32_t i = 0; i < saves.count; ++i) {
        ons_stage_tensor *t = &w->tensors[w->local[saves.items[i]]];
        if (t->first_saver == ONS_NO_NODE) t->first_saver = local;
        t->last_saver = local;
    }
}

static bool is_used_from(const ons_work_tensor *t, uint32_t position) {
    return (t->reader_count > 0 && t->readers[t->reader_count - 1] >= position) ||
           (t->saver_count > 0 && t->savers[t->saver_count - 1] >= position);
}

/* The gradient of a tensor lives from the backward part of its last reader, or from the stage's first backward part
 * where a later stage sends it, to that of its producer, or to the stage's last backward part. */
static void add_gradient(ons_memory_workspace *w, const ons_stage_tensor *s) {
    const ons_work_tensor *t = &w->work->tensors[s->tensor];
    uint32_t read = s->last_read, count = w->node_count, to = s->producer == ONS_NO_NODE ? 0 : s->producer;
    if (t->gradient_bytes == 0 || (s->producer == ONS_NO_NODE && read == ONS_NO_NODE)) return;
    bool arrives = t->reader_count > 0 && t->readers[t->reader_count - 1] >= w->problem->end;
    uint32_t from = arrives ? count - 1 : read == ONS_NO_NODE ? to : read;
    w->gradient_alive[to] += t->gradient_bytes;
    w->gradient_alive[from + 1] -= t->gradient_bytes;
    w->gradient_before[to] += t->gradient_bytes;
    w->gradient_before[arrives ? count : from] -= t->gradient_bytes;
}

static void find_gradients(ons_memory_workspace *w) {
    const ons_work_node *nodes = w->work->nodes + w->problem->first;
    for (uint32_t i = 0; i <= w->node_count; ++i) w->gradient_alive[i] = w->gradient_before[i] = 0;
    for (uint32_t i = 0; i < w->tensor_count; ++i) add_gradient(w, &w->tensors[i]);
    for (uint32_t i = 1; i < w->node_count; ++i) {
        w->gradient_alive[i] += w->gradient_alive[i - 1];
        w->gradient_before[i] += w->gradient_before[i - 1];
    }
    for (uint32_t i = 0; i < w->node_count; ++i) w->gradient_alive[i] += nodes[i].backward_bytes;
}

static void find_candidates(ons_memory_workspace *w) {
    w->candidate_count = 0;
    for (uint32_t i = 0; i < w->tensor_count; ++i) {
        ons_stage_tensor *t = &w->tensors[i];
        if (is_used_from(&w->work->tensors[t->tensor], w->problem->end) && t->producer != ONS_NO_NODE)
            t->last_use = w->node_count - 1;
        if (t->first_saver == ONS_NO_NODE || t->bytes == 0) continue;
        t->can_swap = w->problem->host_bandwidth > 0;
        t->can_recompute = t->can_rerun;
        if (t->can_swap || t->can_recompute) w->candidates[w->candidate_count++] = i;
    }
}

/* Counted by last saver; `stack` is free here. */
static void sort_by_saver(ons_memory_workspace *w) {
    uint32_t *next = w->stack, before = 0;
    for (uint32_t i = 0; i < w->node_count; ++i) next[i] = 0;
    for (uint32_t i = 0; i < w->candidate_count; ++i) ++next[w->tensors[w->candidates[i]].last_saver];
    for (uint32_t i = w->node_count; i-- > 0;) {
        uint32_t count = next[i];
        next[i] = before;
        before += count;
    }
    for (uint32_t i = 0; i < w->candidate_count; ++i) {
        uint32_t t = w->candidates[i];
        w->by_saver[next[w->tensors[t].last_saver]++] = t;
    }
}

static void find_times(ons_memory_workspace *w) {
    double now = 0;
    for (uint32_t i = 0; i < w->node_count; ++i) {
        const ons_work_node *n = &w->work->nodes[w->problem->first + i];
        w->forward_seconds[i] = ticks(n->forward_seconds);
        w->backward_seconds[i] = ticks(n->input_gradient_seconds + n->weight_gradient_seconds);
        w->parts[i] = (ons_stage_part){now, w->forward_seconds[i], n->forward_bytes};
        now += w->forward_seconds[i];
    }
    w->forward_end = now;
    w->period_seconds = ticks(w->problem->period_seconds);
}

void ons_stage_open(ons_memory_workspace *w, const ons_stage_problem *problem) {
    w->problem = problem;
    w->work = problem->work; /* the same nodes, perhaps in another device's times */
    w->node_count = problem->end - problem->first;
    w->tensor_count = 0;
    ++w->opening;
    ons_work_stage_memory(w->work, problem->first, problem->end, &problem->load, &w->base);
    w->compute_seconds = ons_work_seconds(w->work, problem->first, problem->end);
    for (uint32_t i = problem->first; i < problem->end; ++i) {
        add_arrivals(w, ons_work_reads(w->work, i));
        add_arrivals(w, ons_work_saves(w->work, i));
    }
    for (uint32_t i = problem->first; i < problem->end; ++i) {
        ons_work_list made = ons_work_produces(w->work, i);
        for (uint32_t j = 0; j < made.count; ++j) add_tensor(w, made.items[j], i - problem->first, i - problem->first);
        note_uses(w, i, i - problem->first);
    }
    find_candidates(w);
    sort_by_saver(w);
    find_gradients(w);
    find_times(w);
}

/* -------------------------------------------------------------------------------------------------------- solutions */

static void put_walk(ons_memory_workspace *w, const ons_walk *walk, ons_stage_solution *solution) {
    solution->seconds = walk->seconds;
    solution->recompute_seconds = walk->recompute_seconds;
    solution->stall_seconds = walk->stall_seconds;
    solution->memory = w->base;
    solution->memory.stash = walk->stash;
    solution->memory.peak = walk->peak;
    solution->memory.total = walk->total;
    solution->feasible = w->problem->capacity_bytes == 0 || walk->total <= w->problem->capacity_bytes;
    solution->least_bytes = solution->feasible ? 0 : walk->total;
}

static ons_status *list_decisions(const ons_memory_workspace *w, const uint8_t *decisions, ons_arena *arena,
                                  ons_stage_solution *solution) {
    uint32_t first = w->problem->first, count = 0;
    for (uint32_t i = 0; i < w->tensor_count; ++i) count += decisions[i] != ONS_KEEP;
    ONS_NEW(solution->decisions, arena, count);
    for (uint32_t i = 0; i < w->tensor_count; ++i) {
        if (decisions[i] == ONS_KEEP) continue;
        bool swaps = decisions[i] == ONS_SWAP;
        solution->decisions[solution->decision_count++] = (ons_tensor_decision){
            .tensor = w->tensors[i].tensor,
            .decision = (ons_decision)decisions[i],
            .out_after = first + (swaps ? w->out_after[i] : w->tensors[i].last_use),
            .in_before = first + w->in_before[i],
            .gone_before = swaps && w->gone_from[i] < w->node_count ? first + (uint32_t)w->gone_from[i] : ONS_NO_NODE,
        };
    }
    return NULL;
}

ons_status *ons_stage_close(ons_memory_workspace *w, const uint8_t *decisions, ons_prefetch prefetch, ons_arena *arena,
                            ons_stage_solution *solution) {
    ons_walk walk;
    *solution = (ons_stage_solution){0};
    ons_stage_walk(w, decisions, prefetch, &walk);
    put_walk(w, &walk, solution);
    return arena != NULL ? list_decisions(w, decisions, arena, solution) : NULL;
}

void ons_stage_refuse(ons_memory_workspace *w, int64_t least_bytes, ons_stage_solution *solution) {
    *solution = (ons_stage_solution){.memory = w->base, .seconds = w->compute_seconds, .least_bytes = least_bytes};
}

bool ons_stage_fits(ons_memory_workspace *w, const ons_stage_problem *problem, ons_stage_solution *solution) {
    ons_stage_memory memory;
    ons_work_stage_memory(problem->work, problem->first, problem->end, &problem->load, &memory);
    if (problem->capacity_bytes == 0 || memory.total <= problem->capacity_bytes) {
        *solution = (ons_stage_solution){
            .feasible = true,
            .seconds = ons_work_seconds(problem->work, problem->first, problem->end),
            .memory = memory,
        };
        return true;
    }
    ons_walk walk;
    ons_stage_open(w, problem);
    uint8_t *keep = w->decisions[0];
    for (uint32_t i = 0; i < w->tensor_count; ++i) keep[i] = ONS_KEEP;
    ons_stage_walk(w, keep, ONS_PREFETCH_HIDDEN, &walk);
    *solution = (ons_stage_solution){0};
    put_walk(w, &walk, solution);
    return solution->feasible;
}
