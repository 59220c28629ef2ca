#include "planner/simulate/stage_tasks.h"

#include <math.h>
#include <stdlib.h>

#include "planner/memory/stage.h"
#include "planner/partition/devices.h"
#include "planner/partition/reduce.h"

/* What runs again for which backward part, how long tensors live and when a swapped one is counted as gone are taken
 * from the walk that evaluates decisions (planner/memory/evaluate.c), so that the simulation repeats what was planned.
 * Its parts are the forward parts, then for each backward part what is run again for it and the part itself. A part
 * allocates before it runs and frees after it. */
typedef struct maker {
    const ons_split *split;
    const ons_workload *work;
    const ons_stage_solution *solution;
    ons_memory_workspace *walk;
    double period; /* seconds of the stage alone */
    ons_arena *arena;
    ons_stage_tasks *tasks;
    ons_stage_link *pairs;
    uint32_t stage, first, end, count; /* positions */
    /* By part. Bytes: of tensors that it puts into memory and takes out of it, and of what it needs while it runs. */
    int64_t *made, *freed, *transient;
    double *seconds, *weight_seconds; /* all, and of these those of weight gradients */
    ons_action_kind *kind;
    bool *cut;       /* a piece starts with it */
    uint32_t *piece; /* that holds it */
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

/* ------------------------------------------------------------------------------------------------------------ parts */

static void set_part(maker *m, uint32_t part, ons_action_kind kind, double seconds, int64_t bytes) {
    m->kind[part] = kind;
    m->seconds[part] = seconds;
    m->transient[part] = bytes;
    m->cut[part] = part == 0 || m->kind[part - 1] != kind;
}

/* What copies take from the processors that compute: behind the one trigger, and before the other. */
static void charge_copies(maker *m, double share) {
    const ons_memory_workspace *w = m->walk;
    for (uint32_t i = 0; share > 0 && i < w->swap_count; ++i) {
        uint32_t t = w->swaps[i];
        m->seconds[w->out_after[t]] += share * w->tensors[t].copy_seconds;
        m->seconds[w->backward_part[w->in_before[t]]] += share * w->tensors[t].copy_seconds;
    }
}

/* Lists parts in the order of the walk: forward parts by rising position, then backward parts by falling position, each
 * behind what runs again for it. */
static void list_parts(maker *m) {
    const ons_work_node *nodes = m->work->nodes + m->first;
    const ons_memory_workspace *w = m->walk;
    uint32_t next = 0;
    for (uint32_t i = 0; i < m->count; ++i)
        set_part(m, i, ONS_ACTION_FORWARD, nodes[i].forward_seconds, nodes[i].forward_bytes);
    for (uint32_t i = m->count; i-- > 0;) {
        for (uint32_t part = w->group_begin[i]; part < w->backward_part[i]; ++part) {
            const ons_work_node *again = &nodes[w->reruns[next++]];
            set_part(m, part, ONS_ACTION_RECOMPUTE, again->forward_seconds, again->forward_bytes);
        }
        double weight = nodes[i].weight_gradient_seconds;
        m->weight_seconds[w->backward_part[i]] = weight;
        set_part(m, w->backward_part[i], ONS_ACTION_BACKWARD, nodes[i].input_gradient_seconds + weight,
                 nodes[i].backward_bytes);
    }
}

/* ---------------------------------------------------------------------------------------------------------- tensors */

static void add_alive_bytes(maker *m, uint32_t from, uint32_t to, int64_t bytes) {
    m->made[from] += bytes;
    m->freed[to] += bytes;
}

/* The first part that starts when the copy out has ended, counted on over the periods. */
static uint64_t find_gone(const maker *m, uint32_t local) {
    const ons_memory_workspace *w = m->walk;
    double periods = floor(w->out_end[local] / m->period), rest = w->out_end[local] - periods * m->period;
    uint32_t part = 0;
    while (part < w->part_count && w->parts[part].start < rest) ++part;
    uint64_t gone = (uint64_t)periods * w->part_count + part, used = w->tensors[local].last_use;
    return gone > used ? gone : used + 1;
}

/* Copies name parts until finish_copies knows the pieces. Where a copy starts, is waited for, or frees its memory, a
 * piece begins. Where the plan counts on the memory being free before the copy back, pieces wait for the copy to the
 * host; where it is not free before then, nobody need. */
static void swap_tensor(maker *m, uint32_t local, const ons_stage_load *load) {
    const ons_memory_workspace *w = m->walk;
    const ons_stage_tensor *s = &w->tensors[local];
    ons_stage_copy *c = &m->tasks->copies[m->tasks->copy_count++];
    *c = (ons_stage_copy){.tensor = s->tensor,
                          .name = m->work->tensors[s->tensor].name,
                          .bytes = s->bytes,
                          .seconds = s->copy_seconds,
                          .out_after = w->out_after[local],
                          .used_by = s->last_use,
                          .in_before = w->start[local],
                          .needed_by = w->need[local],
                          .gone_forward = ONS_NO_NODE,
                          .gone_backward = ONS_NO_NODE};
    m->cut[c->out_after + 1] = m->cut[c->used_by + 1] = m->cut[c->in_before] = m->cut[c->needed_by] = true;
    if (!(m->period > 0)) return;
    uint64_t gone = find_gone(m, local);
    uint64_t waiting = load->in_flight > 1 ? load->in_flight - 1 : 0;
    if (gone >= waiting * w->part_count + c->in_before) return;
    uint32_t part = (uint32_t)(gone % w->part_count);
    c->gone_later = (uint32_t)(gone / w->part_count);
    *(part < m->count ? &c->gone_forward : &c->gone_backward) = part;
    m->cut[part] = true;
}

static bool is_sent(const maker *m, const ons_work_tensor *t) {
    return (t->reader_count > 0 && t->readers[t->reader_count - 1] >= m->end) ||
           (t->saver_count > 0 && t->savers[t->saver_count - 1] >= m->end);
}

/* Where the walk has a value in memory: it is made in the part in which it is born and freed behind its last use, and
 * again where it runs again. A value that a later stage still needs is freed when it was sent (pipeline_links.c). */
static void place_value(maker *m, uint32_t local, ons_decision decision, const ons_stage_load *load) {
    const ons_memory_workspace *w = m->walk;
    const ons_stage_tensor *s = &w->tensors[local];
    const ons_work_tensor *t = &m->work->tensors[s->tensor];
    bool saved = s->first_saver != ONS_NO_NODE, source = w->last_source[local] != ONS_NO_NODE;
    bool again = s->producer != ONS_NO_NODE && w->rerun_walk[s->producer] == w->walk_number;
    uint32_t end = saved ? w->backward_part[s->first_saver] : 0, rerun = again ? w->rerun_part[s->producer] : 0;
    if (source && w->last_source[local] > end) end = w->last_source[local];
    /* What arrives from another stage is allocated by the transfer. */
    if (s->producer != ONS_NO_NODE || t->producer == ONS_NO_NODE) m->made[s->born] += s->bytes;
    if (decision == ONS_SWAP) {
        swap_tensor(m, local, load);
        m->freed[end] += s->bytes;
        if (again && (rerun < w->start[local] || rerun > end)) add_alive_bytes(m, rerun, rerun, s->bytes);
    } else if (decision == ONS_KEEP && (saved || (source && !s->can_rerun))) {
        m->freed[end] += s->bytes;
        if (again && rerun > end) add_alive_bytes(m, rerun, rerun, s->bytes);
    } else {
        if (s->producer != ONS_NO_NODE && is_sent(m, t))
            m->tasks->sent[m->tasks->sent_count++] = s->tensor;
        else
            m->freed[s->last_use] += s->bytes;
        if (again) add_alive_bytes(m, rerun, end > rerun ? end : rerun, s->bytes);
    }
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

/* Gradients that come from later stages are put into memory by their transfers, one for each such stage, and all are
 * freed by the backward part of the node that made the value. Where none comes, the last reader in this stage makes the
 * gradient. */
static void place_gradient(maker *m, const ons_stage_tensor *s) {
    const ons_work_tensor *t = &m->work->tensors[s->tensor];
    const uint32_t *part = m->walk->backward_part;
    bool made = s->producer != ONS_NO_NODE, read = s->last_read != ONS_NO_NODE;
    if (made) {
        uint32_t arriving = count_gradients(m, t);
        if (arriving == 0) m->made[part[read ? s->last_read : s->producer]] += t->gradient_bytes;
        m->freed[part[s->producer]] += t->gradient_bytes * (arriving == 0 ? 1 : arriving);
    } else if (t->producer != ONS_NO_NODE && read) {
        m->made[part[s->last_read]] += t->gradient_bytes; /* freed when it was sent */
    }
}

static int by_tensor(const void *left, const void *right) {
    const ons_tensor_decision *a = left, *b = right;
    return a->tensor < b->tensor ? -1 : a->tensor > b->tensor;
}

/* A sorted copy of the decisions, so that a tensor's is found. */
static ons_status *sort_decisions(const maker *m, ons_tensor_decision **sorted, uint32_t *count) {
    *count = m->solution != NULL && m->solution->decisions != NULL ? m->solution->decision_count : 0;
    ONS_NEW(*sorted, m->arena, *count);
    if (*count == 0) return NULL;
    memcpy(*sorted, m->solution->decisions, *count * sizeof **sorted);
    qsort(*sorted, *count, sizeof **sorted, by_tensor);
    return NULL;
}

static ons_decision find_decision(const ons_tensor_decision *sorted, uint32_t count, uint32_t tensor) {
    ons_tensor_decision key = {.tensor = tensor};
    const ons_tensor_decision *found = count > 0 ? bsearch(&key, sorted, count, sizeof *sorted, by_tensor) : NULL;
    return found != NULL ? found->decision : ONS_KEEP;
}

/* ----------------------------------------------------------------------------------------------------------- pieces */

/* Memory within a piece, relative to its start. */
typedef struct level {
    int64_t now, most;
} level;

static void run_part(const maker *m, level *l, uint32_t part, int64_t freed) {
    l->now += m->made[part];
    if (l->now + m->transient[part] > l->most) l->most = l->now + m->transient[part];
    l->now -= freed;
}

/* Joins parts [from, to) to pieces, which begin where `cut` says so. A piece takes the most that it needs at its start
 * and gives back at its end what it does not leave full: so the peak over time is that of the parts, without a task for
 * each of them. `kept` is the same where nothing is freed before weight gradients are made. */
static ons_status *make_pieces(maker *m, uint32_t from, uint32_t to, ons_stage_piece **pieces, uint32_t *count) {
    level l = {0, 0}, kept = {0, 0};
    *count = 0;
    for (uint32_t part = from; part < to; ++part) *count += m->cut[part];
    ONS_NEW(*pieces, m->arena, *count);
    ons_stage_piece *piece = *pieces - 1;
    for (uint32_t part = from; part < to; ++part) {
        if (m->cut[part]) ++piece;
        piece->kind = m->kind[part];
        piece->seconds += m->seconds[part];
        piece->weight_seconds += m->weight_seconds[part];
        m->piece[part] = (uint32_t)(piece - *pieces);
        run_part(m, &l, part, m->freed[part]);
        run_part(m, &kept, part, 0);
        if (part + 1 < to && !m->cut[part + 1]) continue;
        piece->start_bytes = l.most;
        piece->end_bytes = l.now - l.most;
        piece->kept_start_bytes = kept.most;
        piece->freed_bytes = kept.now - l.now;
        l = kept = (level){0, 0};
    }
    return NULL;
}

static ons_status *make_all_pieces(maker *m) {
    ONS_TRY(make_pieces(m, 0, m->count, &m->tasks->forward, &m->tasks->forward_count));
    return make_pieces(m, m->count, m->walk->part_count, &m->tasks->backward, &m->tasks->backward_count);
}

/* --------------------------------------------------------------------------------------------------------- messages */

/* What a stage sends and receives: at most one link with each other stage, and each way. */
static ons_stage_link *link_with(const maker *m, uint32_t other) {
    uint32_t stages = m->split->stages;
    ons_stage_link *link =
        other < m->stage ? &m->pairs[(size_t)other * stages + m->stage] : &m->pairs[(size_t)m->stage * stages + other];
    return link->to == 0 ? NULL : link;
}

/* The ends of what comes to the stage over the link, or of what leaves it; NULL where nothing does. A gradient goes the
 * other way. */
static ons_message_ends *find_ends(const maker *m, ons_stage_link *link, bool comes) {
    if ((link->to == m->stage) == comes) return &link->ends;
    return link->gradient ? &link->gradient_ends : NULL;
}

/* A piece begins where a message is read; where no time has passed before, it is the one that is there. */
static void cut_at_reader(maker *m, const ons_stage_link *link, ons_message_ends *ends) {
    bool forward = ends == &link->ends;
    uint32_t local = ends->read_by - m->first, part = forward ? local : m->walk->backward_part[local];
    while (!m->cut[part] && m->seconds[part - 1] == 0) --part;
    m->cut[part] = true;
    ends->read_by = part;
}

static void cut_at_readers(maker *m) {
    m->cut[0] = m->cut[m->count] = true;
    for (uint32_t other = 0; other < m->split->stages; ++other) {
        ons_stage_link *link = link_with(m, other);
        ons_message_ends *ends = link != NULL ? find_ends(m, link, true) : NULL;
        if (ends != NULL) cut_at_reader(m, link, ends);
    }
}

/* The message leaves when the node has made it: what the piece does afterwards does not hold it. */
static void find_maker(const maker *m, const ons_stage_link *link, ons_message_ends *ends) {
    bool forward = ends == &link->ends;
    uint32_t local = ends->made_by - m->first, part = forward ? local : m->walk->backward_part[local];
    uint32_t end = forward ? m->count : m->walk->part_count, piece = m->piece[part];
    if (!forward) ends->early_seconds = ends->early_weight_seconds = m->work->nodes[ends->made_by].late_weight_seconds;
    while (++part < end && m->piece[part] == piece) {
        ends->early_seconds += m->seconds[part];
        ends->early_weight_seconds += m->weight_seconds[part];
    }
    ends->made_by = piece;
}

static void finish_messages(const maker *m) {
    for (uint32_t other = 0; other < m->split->stages; ++other) {
        ons_stage_link *link = link_with(m, other);
        ons_message_ends *leaves = link != NULL ? find_ends(m, link, false) : NULL;
        ons_message_ends *comes = link != NULL ? find_ends(m, link, true) : NULL;
        if (leaves != NULL) find_maker(m, link, leaves);
        if (comes != NULL) comes->read_by = m->piece[comes->read_by];
    }
}

/* What a whole backward piece frees on its way stays until the weight gradients are made, whose one piece takes nothing
 * more and frees it all. */
ons_status *ons_stage_tasks_divide(const ons_stage_tasks *tasks, ons_arena *arena, ons_stage_tasks *divided) {
    ons_stage_piece *pieces, weight = {.kind = ONS_ACTION_WEIGHT_GRADIENT};
    ONS_NEW(pieces, arena, tasks->backward_count);
    for (uint32_t i = 0; i < tasks->backward_count; ++i) {
        const ons_stage_piece *whole = &tasks->backward[i];
        int64_t net = whole->start_bytes + whole->end_bytes;
        pieces[i] = (ons_stage_piece){
            .kind = whole->kind == ONS_ACTION_BACKWARD ? ONS_ACTION_INPUT_GRADIENT : whole->kind,
            .seconds = whole->seconds - whole->weight_seconds,
            .start_bytes = whole->kept_start_bytes,
            .end_bytes = net + whole->freed_bytes - whole->kept_start_bytes,
        };
        weight.seconds += whole->weight_seconds;
        weight.end_bytes -= whole->freed_bytes;
    }
    *divided = *tasks;
    divided->backward = pieces;
    divided->weight_gradient = weight;
    return NULL;
}

/* ----------------------------------------------------------------------------------------------------------- copies */

typedef struct sort_entry {
    uint32_t key, copy;
} sort_entry;

static int by_key(const void *left, const void *right) {
    const sort_entry *a = left, *b = right;
    if (a->key != b->key) return a->key < b->key ? -1 : 1;
    return a->copy < b->copy ? -1 : a->copy > b->copy;
}

static ons_status *sort_copies(const ons_stage_tasks *tasks, ons_arena *arena, size_t offset, uint32_t **sorted) {
    uint32_t count = tasks->copy_count;
    sort_entry *entries;
    ONS_NEW(entries, arena, count);
    ONS_NEW(*sorted, arena, count);
    for (uint32_t i = 0; i < count; ++i) {
        entries[i].copy = i;
        memcpy(&entries[i].key, (const char *)&tasks->copies[i] + offset, sizeof entries[i].key);
    }
    qsort(entries, count, sizeof *entries, by_key);
    for (uint32_t i = 0; i < count; ++i) (*sorted)[i] = entries[i].copy;
    return NULL;
}

ons_status *ons_stage_tasks_sort(ons_stage_tasks *t, ons_arena *arena) {
    ONS_TRY(sort_copies(t, arena, offsetof(ons_stage_copy, out_after), &t->by_out));
    ONS_TRY(sort_copies(t, arena, offsetof(ons_stage_copy, used_by), &t->by_used));
    ONS_TRY(sort_copies(t, arena, offsetof(ons_stage_copy, in_before), &t->by_in));
    ONS_TRY(sort_copies(t, arena, offsetof(ons_stage_copy, needed_by), &t->by_needed));
    ONS_TRY(sort_copies(t, arena, offsetof(ons_stage_copy, gone_forward), &t->by_gone_forward));
    return sort_copies(t, arena, offsetof(ons_stage_copy, gone_backward), &t->by_gone_backward);
}

/* Puts pieces where copies named parts. Copies that start together are served in the order in which they are needed,
 * since a stream serves tasks in the order of adding. */
static ons_status *finish_copies(maker *m) {
    ons_stage_tasks *t = m->tasks;
    uint32_t *by_need;
    ons_stage_copy *copies = t->copies;
    ONS_TRY(sort_copies(t, m->arena, offsetof(ons_stage_copy, needed_by), &by_need));
    ONS_NEW(t->copies, m->arena, t->copy_count);
    for (uint32_t i = 0; i < t->copy_count; ++i) {
        ons_stage_copy *c = &t->copies[i];
        *c = copies[by_need[i]];
        c->out_after = m->piece[c->out_after];
        c->used_by = m->piece[c->used_by];
        c->in_before = m->piece[c->in_before];
        c->needed_by = m->piece[c->needed_by];
        if (c->gone_forward != ONS_NO_NODE) c->gone_forward = m->piece[c->gone_forward];
        if (c->gone_backward != ONS_NO_NODE) c->gone_backward = m->piece[c->gone_backward];
    }
    return ons_stage_tasks_sort(t, m->arena);
}

static ons_status *allocate(maker *m) {
    size_t parts = (size_t)m->walk->part_count + 1, tensors = m->walk->tensor_count;
    ONS_NEW(m->made, m->arena, parts);
    ONS_NEW(m->freed, m->arena, parts);
    ONS_NEW(m->transient, m->arena, parts);
    ONS_NEW(m->seconds, m->arena, parts);
    ONS_NEW(m->weight_seconds, m->arena, parts);
    ONS_NEW(m->kind, m->arena, parts);
    ONS_NEW(m->cut, m->arena, parts);
    ONS_NEW(m->piece, m->arena, parts);
    ONS_NEW(m->tasks->sent, m->arena, tensors);
    ONS_NEW(m->tasks->copies, m->arena, tensors);
    return NULL;
}

/* Values and copies say where parts must be cut; then parts are joined to pieces, and messages and copies, which named
 * parts, name pieces. */
static ons_status *make(maker *m, const ons_stage_load *load) {
    ons_tensor_decision *decisions;
    uint32_t count;
    ONS_TRY(sort_decisions(m, &decisions, &count));
    ONS_TRY(allocate(m));
    list_parts(m);
    charge_copies(m, m->split->problem->host_share);
    for (uint32_t i = 0; i < m->walk->tensor_count; ++i) {
        place_value(m, i, find_decision(decisions, count, m->walk->tensors[i].tensor), load);
        place_gradient(m, &m->walk->tensors[i]);
    }
    cut_at_readers(m);
    ONS_TRY(make_all_pieces(m));
    finish_messages(m);
    return finish_copies(m);
}

ons_status *ons_stage_tasks_make(const ons_split *split, uint32_t stage, const ons_stage_solution *solution,
                                 ons_stage_link *pairs, ons_memory_workspace *workspace, ons_arena *arena,
                                 ons_stage_tasks *tasks) {
    const ons_planning_problem *p = split->problem;
    const ons_workload *work =
        p->stage_works != NULL ? p->stage_works[stage] : ons_device_work(p, split->schedule->device_of[stage]);
    maker m = {.split = split,
               .work = work,
               .solution = solution,
               .walk = workspace,
               .arena = arena,
               .tasks = tasks,
               .pairs = pairs,
               .stage = stage,
               .first = split->first[stage],
               .end = split->first[stage + 1]};
    ons_stage_problem problem = {.work = work,
                                 .first = m.first,
                                 .end = m.end,
                                 .load = split->schedule->loads[stage],
                                 .host_bandwidth = p->host_bandwidth,
                                 .host_latency = p->host_latency,
                                 .host_share = p->host_share};
    ons_stage_solution walked;
    bool decided = solution != NULL && solution->decisions != NULL;
    *tasks = (ons_stage_tasks){.divisible = true};
    m.count = m.end - m.first;
    ONS_TRY_AT(ons_memory_evaluate(&problem, decided ? solution->decisions : NULL,
                                   decided ? solution->decision_count : 0, workspace, &walked),
               "stage %u", stage);
    m.period = walked.seconds;
    ONS_TRY(make(&m, &problem.load));
    tasks->held_bytes = walked.memory.weights + walked.memory.gradients + walked.memory.states + walked.memory.versions;
    tasks->reduce_seconds = ons_reduce_stage_seconds(p, split->schedule, stage, m.first, m.end);
    tasks->update_seconds = ons_work_update_seconds(work, m.first, m.end);
    return NULL;
}
