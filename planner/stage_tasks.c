#include "planner/stage_tasks.h"

#include <stdlib.h>

#include "planner/workload_index.h"

/* Everything below counts positions from the stage's first node. A part allocates before it runs and frees after it. */
typedef struct maker {
    const ons_split *split;
    const ons_workload *work;
    const ons_stage_solution *solution;
    ons_arena *arena;
    ons_stage_tasks *tasks;
    uint32_t stage, first, end, count;
    bool apart;
    int64_t *forward_new, *forward_freed, *backward_new, *backward_freed;
    bool *forward_cut, *backward_cut; /* a piece starts with this part */
    int64_t *recompute_new;           /* in front of the backward part */
    double *recompute_share, share_sum;
    bool *recomputes;
    uint32_t *forward_piece, *backward_piece; /* pieces that hold the parts */
    uint32_t *backward_front;                 /* the piece with which the backward part's begins: a recompute, if any */
} maker;

uint32_t ons_split_stage_of(const ons_split *split, uint32_t position) {
    uint32_t low = 0, high = split->stages - 1;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (split->first[middle + 1] <= position)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* How many of an ascending list are below `bound`. */
static uint32_t count_below(const uint32_t *list, uint32_t count, uint32_t bound) {
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (list[middle] < bound)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool ons_within(const uint32_t *list, uint32_t count, uint32_t from, uint32_t end, uint32_t *first, uint32_t *last) {
    uint32_t a = count_below(list, count, from), b = count_below(list, count, end);
    if (a == b) return false;
    *first = list[a];
    *last = list[b - 1];
    return true;
}

/* --------------------------------------------------------------------------------------------------------- tensors */

static const ons_tensor_decision *find_decision(const maker *m, uint32_t tensor) {
    if (m->solution == NULL) return NULL;
    uint32_t low = 0, high = m->solution->decision_count;
    const ons_tensor_decision *d = m->solution->decisions;
    while (low < high) { /* they were sorted by tensor */
        uint32_t middle = low + (high - low) / 2;
        if (d[middle].tensor < tensor)
            low = middle + 1;
        else
            high = middle;
    }
    return low < m->solution->decision_count && d[low].tensor == tensor && d[low].decision != ONS_KEEP ? &d[low] : NULL;
}

/* A tensor's use in the stage, positions local. */
typedef struct usage {
    uint32_t tensor;
    bool made, arrives, sent, saved;
    uint32_t producer;  /* where it is made; 0 where it comes from elsewhere */
    uint32_t last_read; /* forward part after which the stage reads it no more */
    uint32_t first_saver, last_saver;
} usage;

static uint32_t larger(uint32_t a, uint32_t b) { return a > b ? a : b; }

static void swap_tensor(maker *m, const usage *u, const ons_tensor_decision *d) {
    const ons_work_tensor *t = &m->work->tensors[u->tensor];
    const ons_planning_problem *p = m->split->problem;
    ons_stage_copy *c = &m->tasks->copies[m->tasks->copy_count++];
    uint32_t out_after = u->sent ? m->count - 1 : larger(d->out_after - m->first, u->last_read);
    uint32_t in_before = larger(d->in_before - m->first, u->last_saver);
    *c = (ons_stage_copy){u->tensor, t->bytes,     0, u->arrives ? ONS_NO_NODE : u->producer, out_after,
                          in_before, u->last_saver};
    if (p->host_bandwidth > 0) c->seconds = (double)t->bytes / p->host_bandwidth + p->host_latency;
    m->forward_cut[u->producer] = true;
    if (out_after + 1 < m->count) m->forward_cut[out_after + 1] = true;
    m->backward_cut[in_before] = m->backward_cut[u->last_saver] = true;
    m->backward_freed[u->first_saver] += t->bytes;
}

static void recompute_tensor(maker *m, const usage *u, const ons_tensor_decision *d) {
    int64_t bytes = m->work->tensors[u->tensor].bytes;
    uint32_t in_before = larger(d->in_before - m->first, u->last_saver);
    double share = m->work->nodes[m->first + u->producer].forward_seconds;
    m->recomputes[in_before] = true;
    m->recompute_new[in_before] += bytes;
    m->recompute_share[in_before] += share;
    m->share_sum += share;
    m->backward_freed[u->first_saver] += bytes;
    if (u->sent)
        m->tasks->sent[m->tasks->sent_count++] = u->tensor;
    else
        m->forward_freed[u->last_read] += bytes;
}

static void place_value(maker *m, const usage *u) {
    int64_t bytes = m->work->tensors[u->tensor].bytes;
    const ons_tensor_decision *d = u->saved ? find_decision(m, u->tensor) : NULL;
    if (!u->arrives) m->forward_new[u->producer] += bytes; /* what arrives is allocated by the transfer */
    if (d != NULL && d->decision == ONS_SWAP)
        swap_tensor(m, u, d);
    else if (d != NULL && u->made)
        recompute_tensor(m, u, d);
    else if (u->saved)
        m->backward_freed[u->first_saver] += bytes;
    else if (u->sent)
        m->tasks->sent[m->tasks->sent_count++] = u->tensor;
    else
        m->forward_freed[u->last_read] += bytes;
}

/* Each later stage that reads the tensor sends a gradient of it. */
static uint32_t count_gradients(const maker *m, const ons_work_tensor *t) {
    uint32_t stages = 0;
    for (uint32_t i = count_below(t->readers, t->reader_count, m->end); i < t->reader_count; ++stages) {
        uint32_t stage = ons_split_stage_of(m->split, t->readers[i]);
        i = count_below(t->readers, t->reader_count, m->split->first[stage + 1]);
    }
    return stages;
}

static void place_gradient(maker *m, const usage *u) {
    const ons_work_tensor *t = &m->work->tensors[u->tensor];
    uint32_t first, last;
    bool read = ons_within(t->readers, t->reader_count, m->first, m->end, &first, &last);
    if (u->made) {
        uint32_t arriving = count_gradients(m, t);
        if (arriving == 0) m->backward_new[read ? last - m->first : u->producer] += t->gradient_bytes;
        m->backward_freed[u->producer] += t->gradient_bytes * (arriving == 0 ? 1 : arriving);
    } else if (u->arrives && read) {
        m->backward_new[last - m->first] += t->gradient_bytes; /* freed when it was sent */
    }
}

static void place(maker *m, uint32_t tensor) {
    const ons_work_tensor *t = &m->work->tensors[tensor];
    uint32_t first, last;
    usage u = {.tensor = tensor};
    bool outside = t->producer == ONS_NO_NODE;
    bool read = ons_within(t->readers, t->reader_count, m->first, m->end, &first, &last);
    u.made = !outside && t->producer >= m->first;
    u.arrives = !outside && !u.made;
    u.producer = u.made ? t->producer - m->first : 0;
    u.last_read = read ? last - m->first : u.producer;
    u.saved = ons_within(t->savers, t->saver_count, m->first, m->end, &first, &last);
    if (!u.made && !read && !u.saved) return;
    u.first_saver = u.saved ? first - m->first : 0;
    u.last_saver = u.saved ? last - m->first : 0;
    u.sent = u.made && ((t->reader_count > 0 && t->readers[t->reader_count - 1] >= m->end) ||
                        (t->saver_count > 0 && t->savers[t->saver_count - 1] >= m->end));
    place_value(m, &u);
    place_gradient(m, &u);
}

static void place_tensors(maker *m) {
    ons_work_list arriving = ons_work_crossing(m->work, m->first);
    for (uint32_t i = 0; i < arriving.count; ++i) place(m, arriving.items[i]);
    for (uint32_t i = 0; i < m->work->index->outside_count; ++i) place(m, m->work->index->outside[i]);
    for (uint32_t node = m->first; node < m->end; ++node) {
        ons_work_list made = ons_work_produces(m->work, node);
        for (uint32_t i = 0; i < made.count; ++i) place(m, made.items[i]);
    }
}

/* ---------------------------------------------------------------------------------------------------------- pieces */

/* Memory within a piece, relative to its start. */
typedef struct level {
    int64_t now, most;
} level;

static void run_part(level *l, int64_t made, int64_t transient, int64_t freed) {
    l->now += made;
    if (l->now + transient > l->most) l->most = l->now + transient;
    l->now -= freed;
}

static void close_piece(ons_stage_piece *piece, level *l) {
    piece->start_bytes = l->most;
    piece->end_bytes = l->now - l->most;
    *l = (level){0, 0};
}

static ons_status *make_forward(maker *m) {
    uint32_t pieces = 0;
    level l = {0, 0};
    for (uint32_t i = 0; i < m->count; ++i) pieces += i == 0 || m->forward_cut[i];
    ONS_NEW(m->tasks->forward, m->arena, pieces);
    for (uint32_t i = 0; i < m->count; ++i) {
        const ons_work_node *node = &m->work->nodes[m->first + i];
        if (i == 0 || m->forward_cut[i]) m->tasks->forward[m->tasks->forward_count++].kind = ONS_ACTION_FORWARD;
        ons_stage_piece *piece = &m->tasks->forward[m->tasks->forward_count - 1];
        m->forward_piece[i] = m->tasks->forward_count - 1;
        piece->seconds += node->forward_seconds;
        run_part(&l, m->forward_new[i], node->forward_bytes, m->forward_freed[i]);
        if (i + 1 == m->count || m->forward_cut[i + 1]) close_piece(piece, &l);
    }
    return NULL;
}

/* The judge of the decisions knows what recomputation takes in all, sources included; what runs in front of which
 * backward part is its share by the time of the nodes whose results are wanted there. */
static void put_recompute(maker *m, uint32_t i, uint32_t places) {
    double total = m->solution->recompute_seconds;
    ons_stage_piece *piece = &m->tasks->backward[m->tasks->backward_count++];
    piece->kind = ONS_ACTION_RECOMPUTE;
    piece->seconds = m->share_sum > 0 ? total * (m->recompute_share[i] / m->share_sum) : total / places;
    piece->start_bytes = m->recompute_new[i];
}

static ons_status *make_backward(maker *m) {
    uint32_t pieces = 0, places = 0;
    int64_t freed_late = 0;
    level l = {0, 0};
    for (uint32_t i = 0; i < m->count; ++i) {
        places += m->recomputes[i];
        pieces += i + 1 == m->count || m->backward_cut[i] || m->recomputes[i];
    }
    ONS_NEW(m->tasks->backward, m->arena, (size_t)pieces + places);
    for (uint32_t i = m->count; i-- > 0;) {
        const ons_work_node *node = &m->work->nodes[m->first + i];
        bool starts = i + 1 == m->count || m->backward_cut[i] || m->recomputes[i];
        if (starts) {
            m->backward_front[i] = m->tasks->backward_count;
            if (m->recomputes[i]) put_recompute(m, i, places);
            m->tasks->backward[m->tasks->backward_count++].kind =
                m->apart ? ONS_ACTION_INPUT_GRADIENT : ONS_ACTION_BACKWARD;
        }
        ons_stage_piece *piece = &m->tasks->backward[m->tasks->backward_count - 1];
        m->backward_piece[i] = m->tasks->backward_count - 1;
        piece->seconds += node->input_gradient_seconds;
        *(m->apart ? &m->tasks->weight_gradient.seconds : &piece->seconds) += node->weight_gradient_seconds;
        run_part(&l, m->backward_new[i], node->backward_bytes, m->apart ? 0 : m->backward_freed[i]);
        freed_late += m->apart ? m->backward_freed[i] : 0;
        if (i == 0 || m->backward_cut[i - 1] || m->recomputes[i - 1]) close_piece(piece, &l);
    }
    m->tasks->weight_gradient.kind = ONS_ACTION_WEIGHT_GRADIENT;
    m->tasks->weight_gradient.end_bytes = -freed_late;
    return NULL;
}

/* ---------------------------------------------------------------------------------------------------------- copies */

typedef struct sort_entry {
    uint32_t key, copy;
} sort_entry;

static int by_key(const void *left, const void *right) {
    const sort_entry *a = left, *b = right;
    if (a->key != b->key) return a->key < b->key ? -1 : 1;
    return a->copy < b->copy ? -1 : a->copy > b->copy;
}

static ons_status *sort_copies(maker *m, size_t offset, uint32_t **sorted) {
    uint32_t count = m->tasks->copy_count;
    sort_entry *entries;
    ONS_NEW(entries, m->arena, count);
    ONS_NEW(*sorted, m->arena, count);
    for (uint32_t i = 0; i < count; ++i) {
        entries[i].copy = i;
        memcpy(&entries[i].key, (const char *)&m->tasks->copies[i] + offset, sizeof entries[i].key);
    }
    qsort(entries, count, sizeof *entries, by_key);
    for (uint32_t i = 0; i < count; ++i) (*sorted)[i] = entries[i].copy;
    return NULL;
}

/* From parts to pieces. */
static ons_status *finish_copies(maker *m) {
    for (uint32_t i = 0; i < m->tasks->copy_count; ++i) {
        ons_stage_copy *c = &m->tasks->copies[i];
        if (c->made_in != ONS_NO_NODE) c->made_in = m->forward_piece[c->made_in];
        c->out_after = m->forward_piece[c->out_after];
        c->in_before = m->backward_front[c->in_before];
        c->needed_by = m->backward_piece[c->needed_by];
    }
    ONS_TRY(sort_copies(m, offsetof(ons_stage_copy, made_in), &m->tasks->by_made));
    ONS_TRY(sort_copies(m, offsetof(ons_stage_copy, out_after), &m->tasks->by_out));
    ONS_TRY(sort_copies(m, offsetof(ons_stage_copy, in_before), &m->tasks->by_in));
    return sort_copies(m, offsetof(ons_stage_copy, needed_by), &m->tasks->by_needed);
}

static int by_tensor(const void *left, const void *right) {
    const ons_tensor_decision *a = left, *b = right;
    return a->tensor < b->tensor ? -1 : a->tensor > b->tensor;
}

/* A sorted copy of the decisions, so that a tensor's is found. */
static ons_status *sort_decisions(maker *m) {
    if (m->solution == NULL || m->solution->decisions == NULL || m->solution->decision_count == 0) {
        m->solution = NULL;
        return NULL;
    }
    ons_stage_solution *sorted;
    uint32_t count = m->solution->decision_count;
    ONS_NEW(sorted, m->arena, 1);
    *sorted = *m->solution;
    ONS_NEW(sorted->decisions, m->arena, count);
    memcpy(sorted->decisions, m->solution->decisions, count * sizeof *sorted->decisions);
    qsort(sorted->decisions, count, sizeof *sorted->decisions, by_tensor);
    for (uint32_t i = 0; i < count; ++i) {
        const ons_tensor_decision *d = &sorted->decisions[i];
        if (d->decision == ONS_KEEP) continue;
        ONS_CHECK(d->tensor < m->work->tensor_count && (i == 0 || d->tensor != d[-1].tensor), ONS_INVALID_ARGUMENT,
                  "stage %u: a decision about tensor %u, which is no tensor or was decided already", m->stage,
                  d->tensor);
        ONS_CHECK(d->in_before >= m->first && d->in_before < m->end &&
                      (d->decision != ONS_SWAP || (d->out_after >= m->first && d->out_after < m->end)),
                  ONS_INVALID_ARGUMENT, "stage %u, tensor '%s': a trigger outside of the stage's nodes %u to %u",
                  m->stage, m->work->tensors[d->tensor].name, m->first, m->end - 1);
    }
    m->solution = sorted;
    return NULL;
}

static ons_status *allocate(maker *m) {
    uint32_t n = m->count, made = 0;
    for (uint32_t node = m->first; node < m->end; ++node) made += ons_work_produces(m->work, node).count;
    ONS_NEW(m->forward_new, m->arena, n);
    ONS_NEW(m->forward_freed, m->arena, n);
    ONS_NEW(m->backward_new, m->arena, n);
    ONS_NEW(m->backward_freed, m->arena, n);
    ONS_NEW(m->forward_cut, m->arena, n);
    ONS_NEW(m->backward_cut, m->arena, n);
    ONS_NEW(m->recompute_new, m->arena, n);
    ONS_NEW(m->recompute_share, m->arena, n);
    ONS_NEW(m->recomputes, m->arena, n);
    ONS_NEW(m->forward_piece, m->arena, n);
    ONS_NEW(m->backward_piece, m->arena, n);
    ONS_NEW(m->backward_front, m->arena, n);
    ONS_NEW(m->tasks->sent, m->arena, made);
    ONS_NEW(m->tasks->copies, m->arena, m->solution == NULL ? 0 : m->solution->decision_count);
    return NULL;
}

ons_status *ons_stage_tasks_make(const ons_split *split, uint32_t stage, const ons_stage_solution *solution, bool apart,
                                 ons_arena *arena, ons_stage_tasks *tasks) {
    const ons_planning_problem *p = split->problem;
    maker m = {.split = split,
               .work = p->work,
               .solution = solution,
               .arena = arena,
               .tasks = tasks,
               .apart = apart,
               .stage = stage,
               .first = split->first[stage],
               .end = split->first[stage + 1]};
    *tasks = (ons_stage_tasks){0};
    m.count = m.end - m.first;
    ONS_TRY(sort_decisions(&m));
    ONS_TRY(allocate(&m));
    place_tensors(&m);
    ONS_TRY(make_forward(&m));
    ONS_TRY(make_backward(&m));
    ONS_TRY(finish_copies(&m));
    ons_stage_memory memory;
    ons_stage_load load = ons_pipeline_load(&p->pipeline, stage);
    ons_work_stage_memory(p->work, m.first, m.end, &load, &memory);
    tasks->held_bytes = memory.weights + memory.gradients + memory.states + memory.versions;
    tasks->update_seconds = ons_work_update_seconds(p->work, m.first, m.end);
    return NULL;
}
