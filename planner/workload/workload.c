#include "planner/workload/workload.h"

#include <math.h>

#include "planner/workload/workload_index.h"

/* --------------------------------------------------------------------------------------------------------- checking */

static bool is_cost(double seconds) { return isfinite(seconds) && seconds >= 0; }

static ons_status *check_list(const ons_workload *work, const uint32_t *list, uint32_t count, uint32_t from,
                              const char *what, const char *name) {
    for (uint32_t i = 0; i < count; ++i) {
        ONS_CHECK(list[i] < work->node_count && list[i] >= from, ONS_INVALID_DATA,
                  "'%s': %s %u is no node at or after the one that makes it", name, what, list[i]);
        ONS_CHECK(i == 0 || list[i] > list[i - 1], ONS_INVALID_DATA, "'%s': its %ss are not in rising order", name,
                  what);
    }
    return NULL;
}

/* All bytes together must fit a number even when every micro-batch of a long pipeline holds them. */
static ons_status *add_bytes(int64_t *sum, int64_t bytes, const char *name) {
    ONS_CHECK(bytes >= 0, ONS_INVALID_DATA, "'%s': a negative size", name);
    ONS_CHECK(!__builtin_add_overflow(*sum, bytes, sum) && *sum < INT64_MAX >> 16, ONS_INVALID_DATA,
              "'%s': the sizes up to here add up to more than a machine can address", name);
    return NULL;
}

static ons_status *check_nodes(const ons_workload *work, int64_t *sum) {
    for (uint32_t i = 0; i < work->node_count; ++i) {
        const ons_work_node *n = &work->nodes[i];
        ONS_CHECK(is_cost(n->forward_seconds) && is_cost(n->input_gradient_seconds) &&
                      is_cost(n->weight_gradient_seconds) && is_cost(n->late_weight_seconds) &&
                      is_cost(n->update_seconds),
                  ONS_INVALID_DATA, "node '%s': a time is negative or no number", n->name);
        ONS_CHECK(n->late_weight_seconds <= n->weight_gradient_seconds, ONS_INVALID_DATA,
                  "node '%s': more late weight gradients than weight gradients", n->name);
        ONS_TRY(add_bytes(sum, n->forward_bytes, n->name));
        ONS_TRY(add_bytes(sum, n->backward_bytes, n->name));
    }
    return NULL;
}

/* Everything behind this check indexes by these numbers and adds these sizes without looking again. */
static ons_status *check(const ons_workload *work) {
    int64_t sum = 0;
    ONS_CHECK(work->node_count > 0, ONS_INVALID_DATA, "there is no node to plan");
    ONS_CHECK(work->node_count < UINT32_MAX / 2, ONS_INVALID_DATA, "more nodes than can be numbered");
    ONS_TRY(check_nodes(work, &sum));
    for (uint32_t i = 0; i < work->tensor_count; ++i) {
        const ons_work_tensor *t = &work->tensors[i];
        bool outside = t->producer == ONS_NO_NODE;
        ONS_CHECK(outside || t->producer < work->node_count, ONS_INVALID_DATA,
                  "'%s': node %u makes it, but there is none", t->name, t->producer);
        ONS_TRY(add_bytes(&sum, t->bytes, t->name));
        ONS_TRY(add_bytes(&sum, t->gradient_bytes, t->name));
        ONS_TRY(check_list(work, t->readers, t->reader_count, outside ? 0 : t->producer + 1, "reader", t->name));
        ONS_TRY(check_list(work, t->savers, t->saver_count, outside ? 0 : t->producer, "saver", t->name));
    }
    for (uint32_t i = 0; i < work->weight_count; ++i) {
        const ons_work_weight *w = &work->weights[i];
        ONS_TRY(add_bytes(&sum, w->bytes, w->name));
        ONS_TRY(add_bytes(&sum, w->gradient_bytes, w->name));
        ONS_TRY(add_bytes(&sum, w->state_bytes, w->name));
        ONS_CHECK(w->user_count > 0, ONS_INVALID_DATA, "weight '%s': no node uses it", w->name);
        ONS_TRY(check_list(work, w->users, w->user_count, 0, "user", w->name));
    }
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------ lists */

/* Lists are filled in two passes: count into begin[i + 1], then sum, then place. */
static ons_status *new_lists(ons_work_lists *lists, uint32_t count, ons_arena *arena) {
    ONS_NEW(lists->begin, arena, (size_t)count + 2);
    return NULL;
}

static ons_status *sum_lists(ons_work_lists *lists, uint32_t count, ons_arena *arena, uint32_t **next) {
    uint64_t sum = 0;
    ONS_NEW(*next, arena, (size_t)count + 1);
    for (uint32_t i = 0; i < count; ++i) {
        (*next)[i] = (uint32_t)sum;
        sum += lists->begin[i + 1];
        ONS_CHECK(sum < UINT32_MAX, ONS_UNSUPPORTED,
                  "too many tensors cross from node to node to be planned: over 4 billion pairs");
        lists->begin[i + 1] = (uint32_t)sum;
    }
    ONS_NEW(lists->items, arena, (size_t)sum + 1);
    return NULL;
}

/* The cuts that a value of these users crosses: [*from, *to). */
static void span(uint32_t producer, ons_work_list a, ons_work_list b, uint32_t *from, uint32_t *to) {
    uint32_t last = a.count > 0 ? a.items[a.count - 1] : 0;
    if (b.count > 0 && b.items[b.count - 1] > last) last = b.items[b.count - 1];
    *from = producer + 1;
    *to = a.count + b.count == 0 ? *from : last + 1;
}

static void tensor_span(const ons_work_tensor *t, uint32_t *from, uint32_t *to) {
    if (t->producer == ONS_NO_NODE) {
        *from = *to = 0;
        return;
    }
    span(t->producer, (ons_work_list){t->readers, t->reader_count}, (ons_work_list){t->savers, t->saver_count}, from,
         to);
}

static void weight_span(const ons_work_weight *w, uint32_t *from, uint32_t *to) {
    span(w->users[0], (ons_work_list){w->users, w->user_count}, (ons_work_list){NULL, 0}, from, to);
}

/* What one item belongs to: nodes from a list, or all cuts of a span. */
typedef struct membership {
    ons_work_list nodes;
    uint32_t from, to;
} membership;
typedef void find_membership(const ons_workload *work, uint32_t item, membership *m);

static void produced(const ons_workload *work, uint32_t item, membership *m) {
    uint32_t producer = work->tensors[item].producer;
    if (producer != ONS_NO_NODE) *m = (membership){.from = producer, .to = producer + 1};
}
static void read_by(const ons_workload *work, uint32_t item, membership *m) {
    m->nodes = (ons_work_list){work->tensors[item].readers, work->tensors[item].reader_count};
}
static void saved_by(const ons_workload *work, uint32_t item, membership *m) {
    m->nodes = (ons_work_list){work->tensors[item].savers, work->tensors[item].saver_count};
}
static void used_by(const ons_workload *work, uint32_t item, membership *m) {
    m->nodes = (ons_work_list){work->weights[item].users, work->weights[item].user_count};
}
static void crosses(const ons_workload *work, uint32_t item, membership *m) {
    tensor_span(&work->tensors[item], &m->from, &m->to);
}
static void weight_crosses(const ons_workload *work, uint32_t item, membership *m) {
    weight_span(&work->weights[item], &m->from, &m->to);
}

/* Turns "what an item belongs to" round into "which items belong to each node or cut", in two passes over the items:
 * one counts, one places. Items are met in rising order, so that every list ascends. */
static ons_status *make_lists(const ons_workload *work, uint32_t items, find_membership *find, ons_arena *arena,
                              ons_work_lists *lists) {
    uint32_t *next;
    ONS_TRY(new_lists(lists, work->node_count, arena));
    for (uint32_t item = 0; item < items; ++item) {
        membership m = {0};
        find(work, item, &m);
        for (uint32_t i = 0; i < m.nodes.count; ++i) ++lists->begin[m.nodes.items[i] + 1];
        for (uint32_t i = m.from; i < m.to; ++i) ++lists->begin[i + 1];
    }
    ONS_TRY(sum_lists(lists, work->node_count, arena, &next));
    for (uint32_t item = 0; item < items; ++item) {
        membership m = {0};
        find(work, item, &m);
        for (uint32_t i = 0; i < m.nodes.count; ++i) lists->items[next[m.nodes.items[i]]++] = item;
        for (uint32_t i = m.from; i < m.to; ++i) lists->items[next[i]++] = item;
    }
    return NULL;
}

static ons_work_list list_of(const ons_work_lists *lists, uint32_t i) {
    return (ons_work_list){lists->items + lists->begin[i], lists->begin[i + 1] - lists->begin[i]};
}

ons_work_list ons_work_produces(const ons_workload *work, uint32_t node) {
    return list_of(&work->index->produces, node);
}
ons_work_list ons_work_reads(const ons_workload *work, uint32_t node) { return list_of(&work->index->reads, node); }
ons_work_list ons_work_saves(const ons_workload *work, uint32_t node) { return list_of(&work->index->saves, node); }
ons_work_list ons_work_uses(const ons_workload *work, uint32_t node) { return list_of(&work->index->uses, node); }
ons_work_list ons_work_crossing(const ons_workload *work, uint32_t cut) {
    return cut < work->node_count ? list_of(&work->index->crossing, cut) : (ons_work_list){NULL, 0};
}

/* ----------------------------------------------------------------------------------------------------- sums, maxima */

/* Adds `bytes` to [from, to) of a list that is summed up afterwards. */
static void add_span(int64_t *changes, uint32_t from, uint32_t to, int64_t bytes) {
    if (from >= to) return;
    changes[from] += bytes;
    changes[to] -= bytes;
}

static void sum_changes(int64_t *changes, uint32_t count) {
    for (uint32_t i = 1; i <= count; ++i) changes[i] += changes[i - 1];
}

/* A sparse table: row r holds the greatest of each 2^r neighbours. Any range is two of these that may overlap, which a
 * greatest number does not mind, so that a question takes O(1). */
ons_status *ons_range_maximum_make(ons_range_maximum *m, int64_t *values, uint32_t count, ons_arena *arena) {
    uint32_t levels = 1;
    while (count >> levels != 0) ++levels;
    ONS_NEW(m->rows, arena, levels);
    m->rows[0] = values;
    for (uint32_t level = 1; level < levels; ++level) {
        uint32_t half = 1u << (level - 1), width = count - (1u << level) + 1;
        ONS_NEW(m->rows[level], arena, width);
        for (uint32_t i = 0; i < width; ++i) {
            int64_t a = m->rows[level - 1][i], b = m->rows[level - 1][i + half];
            m->rows[level][i] = a > b ? a : b;
        }
    }
    return NULL;
}

int64_t ons_range_maximum_find(const ons_range_maximum *m, uint32_t first, uint32_t end) {
    uint32_t level = 31u - (uint32_t)__builtin_clz(end - first);
    int64_t a = m->rows[level][first], b = m->rows[level][end - (1u << level)];
    return a > b ? a : b;
}

static uint32_t last_of(const uint32_t *list, uint32_t count, uint32_t otherwise) {
    return count > 0 ? list[count - 1] : otherwise;
}

/* Bytes alive while each part runs, were all nodes one stage. */
static ons_status *find_alive(const ons_workload *work, ons_work_index *x, ons_arena *arena) {
    uint32_t count = work->node_count;
    int64_t *forward, *backward;
    ONS_NEW(forward, arena, (size_t)count + 1);
    ONS_NEW(backward, arena, (size_t)count + 1);
    for (uint32_t i = 0; i < work->tensor_count; ++i) {
        const ons_work_tensor *t = &work->tensors[i];
        if (t->producer == ONS_NO_NODE) continue;
        uint32_t read = last_of(t->readers, t->reader_count, t->producer);
        add_span(forward, t->producer, t->saver_count > 0 ? count : read + 1, t->bytes);
        if (t->saver_count > 0) add_span(backward, t->savers[0], count, t->bytes);
        add_span(backward, t->producer, read + 1, t->gradient_bytes);
    }
    sum_changes(forward, count);
    sum_changes(backward, count);
    for (uint32_t i = 0; i < count; ++i) {
        forward[i] += work->nodes[i].forward_bytes;
        backward[i] += work->nodes[i].backward_bytes;
    }
    ONS_TRY(ons_range_maximum_make(&x->forward_alive, forward, count, arena));
    return ons_range_maximum_make(&x->backward_alive, backward, count, arena);
}

static ons_status *sum_nodes(const ons_workload *work, ons_work_index *x, ons_arena *arena) {
    size_t count = (size_t)work->node_count + 1;
    ONS_NEW(x->forward_seconds, arena, count);
    ONS_NEW(x->backward_seconds, arena, count);
    ONS_NEW(x->weight_seconds, arena, count);
    ONS_NEW(x->update_seconds, arena, count);
    for (uint32_t i = 0; i < work->node_count; ++i) {
        const ons_work_node *n = &work->nodes[i];
        x->forward_seconds[i + 1] = x->forward_seconds[i] + n->forward_seconds;
        x->backward_seconds[i + 1] = x->backward_seconds[i] + n->input_gradient_seconds + n->weight_gradient_seconds;
        x->weight_seconds[i + 1] = x->weight_seconds[i] + n->weight_gradient_seconds;
        x->update_seconds[i + 1] = x->update_seconds[i] + n->update_seconds;
    }
    return NULL;
}

/* Makes sums over all nodes in front of a position, so that any interval is a difference of two, and sums of what
 * crosses each cut. A saved tensor counts at its first saver, whose backward part, of all savers, runs last and frees
 * it. */
static ons_status *sum_tensors(const ons_workload *work, ons_work_index *x, ons_arena *arena) {
    size_t count = (size_t)work->node_count + 2;
    ONS_NEW(x->saved_by_producer, arena, count);
    ONS_NEW(x->gradients_by_producer, arena, count);
    ONS_NEW(x->saved_by_saver, arena, count);
    ONS_NEW(x->cut_bytes, arena, count);
    ONS_NEW(x->cut_gradient_bytes, arena, count);
    ONS_NEW(x->outside, arena, (size_t)work->tensor_count + 1);
    for (uint32_t i = 0; i < work->tensor_count; ++i) {
        const ons_work_tensor *t = &work->tensors[i];
        uint32_t from, to;
        tensor_span(t, &from, &to);
        add_span(x->cut_bytes, from, to, t->bytes);
        add_span(x->cut_gradient_bytes, from, to, t->gradient_bytes);
        if (t->producer == ONS_NO_NODE) x->outside[x->outside_count++] = i;
        if (t->producer != ONS_NO_NODE) x->gradients_by_producer[t->producer + 1] += t->gradient_bytes;
        if (t->saver_count == 0 || t->producer == ONS_NO_NODE) continue;
        x->saved_by_producer[t->producer + 1] += t->bytes;
        x->saved_by_saver[t->savers[0] + 1] += t->bytes;
    }
    sum_changes(x->saved_by_producer, work->node_count);
    sum_changes(x->gradients_by_producer, work->node_count);
    sum_changes(x->saved_by_saver, work->node_count);
    sum_changes(x->cut_bytes, work->node_count);
    sum_changes(x->cut_gradient_bytes, work->node_count);
    return NULL;
}

/* A weight counts at its first user. An interval that holds a later user but not the first finds it among the weights
 * that cross its beginning (find_weights). */
static ons_status *sum_weights(const ons_workload *work, ons_work_index *x, ons_arena *arena) {
    size_t count = (size_t)work->node_count + 2;
    ONS_NEW(x->weights, arena, count);
    ONS_NEW(x->gradients, arena, count);
    ONS_NEW(x->states, arena, count);
    ONS_NEW(x->trained, arena, count);
    for (uint32_t i = 0; i < work->weight_count; ++i) {
        const ons_work_weight *w = &work->weights[i];
        uint32_t at = w->users[0] + 1;
        x->weights[at] += w->bytes;
        x->gradients[at] += w->gradient_bytes;
        x->states[at] += w->state_bytes;
        if (w->gradient_bytes > 0) x->trained[at] += w->bytes;
    }
    sum_changes(x->weights, work->node_count);
    sum_changes(x->gradients, work->node_count);
    sum_changes(x->states, work->node_count);
    sum_changes(x->trained, work->node_count);
    return NULL;
}

ons_status *ons_workload_finish(ons_workload *work, ons_arena *arena) {
    ons_work_index *x;
    ONS_TRY(check(work));
    ONS_NEW(x, arena, 1);
    ONS_TRY(sum_nodes(work, x, arena));
    ONS_TRY(sum_tensors(work, x, arena));
    ONS_TRY(sum_weights(work, x, arena));
    ONS_TRY(find_alive(work, x, arena));
    ONS_TRY(make_lists(work, work->tensor_count, produced, arena, &x->produces));
    ONS_TRY(make_lists(work, work->tensor_count, read_by, arena, &x->reads));
    ONS_TRY(make_lists(work, work->tensor_count, saved_by, arena, &x->saves));
    ONS_TRY(make_lists(work, work->weight_count, used_by, arena, &x->uses));
    ONS_TRY(make_lists(work, work->tensor_count, crosses, arena, &x->crossing));
    ONS_TRY(make_lists(work, work->weight_count, weight_crosses, arena, &x->crossing_weights));
    work->index = x;
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------ stage costs */

double ons_work_forward_seconds(const ons_workload *work, uint32_t first, uint32_t end) {
    return work->index->forward_seconds[end] - work->index->forward_seconds[first];
}
double ons_work_backward_seconds(const ons_workload *work, uint32_t first, uint32_t end) {
    return work->index->backward_seconds[end] - work->index->backward_seconds[first];
}
double ons_work_weight_seconds(const ons_workload *work, uint32_t first, uint32_t end) {
    return work->index->weight_seconds[end] - work->index->weight_seconds[first];
}
double ons_work_seconds(const ons_workload *work, uint32_t first, uint32_t end) {
    return ons_work_forward_seconds(work, first, end) + ons_work_backward_seconds(work, first, end);
}
double ons_work_update_seconds(const ons_workload *work, uint32_t first, uint32_t end) {
    double beside = end > first ? work->step_seconds : 0;
    return work->index->update_seconds[end] - work->index->update_seconds[first] + beside;
}
int64_t ons_work_cut_bytes(const ons_workload *work, uint32_t cut) { return work->index->cut_bytes[cut]; }
int64_t ons_work_cut_gradient_bytes(const ons_workload *work, uint32_t cut) {
    return work->index->cut_gradient_bytes[cut];
}

/* The first of an ascending list that is at least `least`, or `otherwise`. */
static uint32_t first_from(const uint32_t *list, uint32_t count, uint32_t least, uint32_t otherwise) {
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (list[middle] < least)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count ? list[low] : otherwise;
}

static bool any_within(const uint32_t *list, uint32_t count, uint32_t first, uint32_t end) {
    return first_from(list, count, first, end) < end;
}

/* The difference of the sums has every weight whose first user is in the interval. A weight of earlier users that is
 * used here as well is a copy of its own in this stage. */
static void find_weights(const ons_workload *work, uint32_t first, uint32_t end, const ons_stage_load *load,
                         ons_stage_memory *m) {
    const ons_work_index *x = work->index;
    int64_t trained = x->trained[end] - x->trained[first];
    m->weights = x->weights[end] - x->weights[first];
    m->gradients = x->gradients[end] - x->gradients[first];
    m->states = x->states[end] - x->states[first];
    ons_work_list shared = list_of(&x->crossing_weights, first);
    for (uint32_t i = 0; i < shared.count; ++i) {
        const ons_work_weight *w = &work->weights[shared.items[i]];
        if (!any_within(w->users, w->user_count, first, end)) continue;
        m->weights += w->bytes;
        m->gradients += w->gradient_bytes;
        m->states += w->state_bytes;
        if (w->gradient_bytes > 0) trained += w->bytes;
    }
    if (!load->accumulates) m->gradients = 0;
    m->versions = load->versions > 1 ? (int64_t)(load->versions - 1) * trained : 0;
}

int64_t ons_work_apart_bytes(const ons_workload *work, uint32_t first, uint32_t end, const ons_stage_load *load) {
    const ons_work_index *x = work->index;
    return load->apart ? load->between * (x->gradients_by_producer[end] - x->gradients_by_producer[first]) : 0;
}

void ons_work_stage_memory(const ons_workload *work, uint32_t first, uint32_t end, const ons_stage_load *load,
                           ons_stage_memory *m) {
    const ons_work_index *x = work->index;
    *m = (ons_stage_memory){0};
    find_weights(work, first, end, load, m);
    int64_t saved = x->saved_by_saver[end] - x->saved_by_saver[first];
    /* An unsplit run holds at these positions, beside the stage's own, what earlier nodes saved for themselves. */
    int64_t forward = ons_range_maximum_find(&x->forward_alive, first, end) - x->saved_by_producer[first];
    int64_t backward = ons_range_maximum_find(&x->backward_alive, first, end) - x->saved_by_saver[first];
    ons_work_list arriving = ons_work_crossing(work, first);
    for (uint32_t i = 0; i < arriving.count; ++i) {
        const ons_work_tensor *t = &work->tensors[arriving.items[i]];
        if (t->saver_count == 0) continue;
        bool saves = any_within(t->savers, t->saver_count, first, end);
        if (saves || any_within(t->readers, t->reader_count, first, end)) forward += t->bytes;
        if (!saves || t->savers[0] >= first) continue;
        backward += t->bytes;
        saved += t->bytes;
    }
    int64_t data = 0;
    for (uint32_t i = 0; i < x->outside_count; ++i) {
        const ons_work_tensor *t = &work->tensors[x->outside[i]];
        bool saves = any_within(t->savers, t->saver_count, first, end);
        if (saves || any_within(t->readers, t->reader_count, first, end)) data += t->bytes;
        if (saves) saved += t->bytes;
    }
    m->peak = data + (forward > backward ? forward : backward);
    m->stash = load->in_flight > 1 ? (int64_t)(load->in_flight - 1) * saved : 0;
    m->stash += ons_work_apart_bytes(work, first, end, load);
    m->transfers =
        ons_work_cut_bytes(work, first) + (end < work->node_count ? ons_work_cut_gradient_bytes(work, end) : 0);
    m->total = m->weights + m->gradients + m->states + m->versions + m->stash + m->peak + m->transfers;
}
