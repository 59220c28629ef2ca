/* A stage's memory, played node by node. The transient part falls into cells at the ends of all places; each cell knows
 * what was last put there, and whether something on its way still reads it. */
#include <stdlib.h>
#include <string.h>

#include "graph/sharing.h"
#include "runtime/verify/verify_steps.h"

enum { SCRATCH = 0xfffffffeu, COMING = 0xfffffffdu };

/* What lies in a cell: a value, or one of the above; all 0: nothing. */
typedef struct content {
    uint32_t half;  /* which of the two programs' */
    uint32_t value; /* plus 1 */
    uint32_t micro_batch;
} content;

typedef struct cells {
    uint32_t first, end;
} cells;

/* Bytes that something on its way reads. */
typedef struct loan {
    uint32_t half, transfer, copy; /* of the receiver */
    cells where;
} loan;

/* What one program puts into the memory. */
typedef struct tenant {
    const ons_stage_program *s;
    const ons_graph *graph;
    const ons_liveness *l;
    const ons_arena_layout *layout;
    uint32_t *rings;    /* of each buffer */
    ons_value_id *root; /* of each value: whose bytes it shows */
    bool *of_step;      /* of each value: made before the micro-batches */
    /* of each half, where there are any */
    const ons_liveness *half_l[2];
    struct half_place *half_places[2]; /* [buffer] */
} tenant;

/* Where a half's buffer lies: in one of the whole program's. */
typedef struct half_place {
    ons_buffer_id in; /* ONS_NONE: nowhere */
    int64_t offset, bytes;
    bool own; /* the half's alone */
} half_place;

typedef struct memory {
    tenant tenants[2];
    uint32_t tenant_count;
    const tenant *t; /* whose step is played */
    uint32_t stage;
    int64_t *edges; /* where cells begin, ascending */
    uint32_t edge_count;
    content *contents; /* of each cell */
    uint32_t *loans_of;
    ONS_VECTOR(loan) loans;
    const ons_verify_step *step; /* that is played */
    ons_node_id node;            /* ONS_NONE: none */
} memory;

static const char *name_of(const tenant *t, ons_value_id value) { return ons_graph_value(t->graph, value)->name; }

/* ----------------------------------------------------------------------------------------------------------- places */

static uint32_t place_count(const tenant *t, ons_buffer_id buffer) {
    if (t->rings[buffer] > 0) return t->rings[buffer];
    const ons_slot_group *group = ons_arena_layout_group(t->layout, t->layout->offsets[buffer]);
    return group != NULL ? group->slots : 1;
}

static int64_t place_begin(const tenant *t, ons_buffer_id buffer, uint32_t turn) {
    int64_t offset = t->layout->offsets[buffer];
    if (t->rings[buffer] > 0)
        return ons_arena_layout_place(t->layout, offset, 0) +
               (int64_t)(turn % t->rings[buffer]) * ons_arena_align(t->l->buffers[buffer].bytes);
    return ons_arena_layout_place(t->layout, offset, turn);
}

static bool has_place(const tenant *t, ons_buffer_id buffer) {
    return buffer != ONS_NONE && !t->l->buffers[buffer].persistent && t->l->buffers[buffer].bytes > 0;
}

static uint32_t find_edge(const memory *m, int64_t at) {
    uint32_t low = 0, high = m->edge_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (m->edges[middle] < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static cells cells_of(const memory *m, ons_buffer_id buffer, uint32_t turn) {
    if (!has_place(m->t, buffer)) return (cells){0, 0};
    int64_t begin = place_begin(m->t, buffer, turn);
    return (cells){find_edge(m, begin), find_edge(m, begin + m->t->l->buffers[buffer].bytes)};
}

/* The half that is played; NULL: the whole micro-batch is. */
static const half_place *played_half(const memory *m) {
    return m->step->sample_half == ONS_ALL_SAMPLES ? NULL : m->t->half_places[m->step->sample_half - ONS_FIRST_HALF];
}

static const ons_liveness *played_liveness(const memory *m) {
    return m->step->sample_half == ONS_ALL_SAMPLES ? m->t->l : m->t->half_l[m->step->sample_half - ONS_FIRST_HALF];
}

/* Of the micro-batch that is played. */
static cells played_cells(const memory *m, ons_buffer_id buffer) {
    const half_place *half = played_half(m);
    uint32_t turn = m->step->micro_batch;
    if (half == NULL || buffer == ONS_NONE) return cells_of(m, buffer, turn);
    if (!has_place(m->t, half[buffer].in) || half[buffer].bytes == 0) return (cells){0, 0};
    int64_t begin = place_begin(m->t, half[buffer].in, turn) + half[buffer].offset;
    return (cells){find_edge(m, begin), find_edge(m, begin + half[buffer].bytes)};
}

static int compare_edges(const void *left, const void *right) {
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return a < b ? -1 : a > b;
}

static size_t count_places(const tenant *t) {
    size_t places = 0;
    for (uint32_t i = 0; i < t->l->buffer_count; ++i) places += has_place(t, i) ? place_count(t, i) : 0;
    return places;
}

static ons_status *add_edges(memory *m, const tenant *t) {
    for (uint32_t i = 0; i < t->l->buffer_count; ++i)
        for (uint32_t k = 0; has_place(t, i) && k < place_count(t, i); ++k) {
            int64_t begin = place_begin(t, i, k), end = begin + t->l->buffers[i].bytes;
            ONS_CHECK(begin >= 0 && end <= t->layout->bytes, ONS_DEFECT, "stage %u: a buffer lies outside the arena",
                      m->stage);
            m->edges[m->edge_count++] = begin;
            m->edges[m->edge_count++] = end;
        }
    return NULL;
}

static size_t count_half_places(const tenant *t, int half) {
    size_t places = 0;
    for (uint32_t i = 0; t->half_l[half] != NULL && i < t->half_l[half]->buffer_count; ++i)
        places += has_place(t, t->half_places[half][i].in) ? place_count(t, t->half_places[half][i].in) : 0;
    return places;
}

static ons_status *add_half_edges(memory *m, const tenant *t, int half) {
    for (uint32_t i = 0; t->half_l[half] != NULL && i < t->half_l[half]->buffer_count; ++i) {
        const half_place *p = &t->half_places[half][i];
        for (uint32_t k = 0; has_place(t, p->in) && k < place_count(t, p->in); ++k) {
            int64_t begin = place_begin(t, p->in, k) + p->offset, end = begin + p->bytes;
            ONS_CHECK(p->offset + p->bytes <= t->l->buffers[p->in].bytes, ONS_DEFECT,
                      "stage %u: half of a buffer lies outside of it", m->stage);
            m->edges[m->edge_count++] = begin;
            m->edges[m->edge_count++] = end;
        }
    }
    return NULL;
}

static ons_status *find_cells(memory *m, ons_arena *arena) {
    size_t places = 0;
    for (uint32_t i = 0; i < m->tenant_count; ++i)
        places +=
            count_places(&m->tenants[i]) + count_half_places(&m->tenants[i], 0) + count_half_places(&m->tenants[i], 1);
    ONS_NEW(m->edges, arena, 2 * places + 1);
    for (uint32_t i = 0; i < m->tenant_count; ++i) {
        ONS_TRY(add_edges(m, &m->tenants[i]));
        for (int half = 0; half < 2; ++half) ONS_TRY(add_half_edges(m, &m->tenants[i], half));
    }
    qsort(m->edges, m->edge_count, sizeof *m->edges, compare_edges);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < m->edge_count; ++i)
        if (kept == 0 || m->edges[kept - 1] != m->edges[i]) m->edges[kept++] = m->edges[i];
    m->edge_count = kept;
    ONS_NEW(m->contents, arena, kept + 1);
    ONS_NEW(m->loans_of, arena, kept + 1);
    return NULL;
}

/* ----------------------------------------------------------------------------------------------------------- values */

static ons_status *find_roots(tenant *t, ons_arena *arena) {
    const ons_cut_stage *cut = t->s->cut;
    ONS_TRY(ons_find_roots(t->graph, arena, &t->root));
    ONS_NEW(t->of_step, arena, t->graph->values.count + 1);
    ONS_NEW(t->rings, arena, t->l->buffer_count + 1);
    for (ons_node_id id = 0; id < t->graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(t->graph, id);
        for (uint32_t i = 0; i < node->output_count; ++i)
            if (node->outputs[i] != ONS_NONE) t->of_step[node->outputs[i]] = id < cut->end[ONS_PART_BEGIN];
    }
    for (uint32_t i = 0; i < cut->receive_count; ++i) {
        ons_buffer_id buffer = t->l->buffer_of_value[cut->receives[i].value];
        if (buffer != ONS_NONE) t->rings[buffer] = t->s->rings[i];
    }
    return NULL;
}

/* Values that others read lie behind each other in the whole program's places, what a half makes for itself in scratch
 * memory of the part. */
static ons_status *find_half_places(tenant *t, int half, ons_arena *arena) {
    const ons_program *program = t->s->half[half];
    const ons_liveness *l = t->half_l[half] = ons_program_liveness(program);
    const ons_execution_order *order = ons_program_execution_order(program);
    const ons_halves *h = t->s->halves;
    half_place *places;
    ONS_NEW(places, arena, l->buffer_count + 1);
    for (uint32_t i = 0; i < l->buffer_count; ++i) {
        int64_t offset = ons_program_layout(program)->offsets[i];
        ons_part part = ons_execution_order_part(order, l->buffers[i].first);
        places[i] =
            (half_place){offset < 0 ? ONS_NONE : t->l->scratch_of_part[part], offset, l->buffers[i].bytes, true};
    }
    for (ons_value_id id = 0; id < t->graph->values.count; ++id)
        if (h->outer[id])
            places[l->buffer_of_value[id]] =
                (half_place){t->l->buffer_of_value[id], half == 1 && h->split[id] ? h->bytes[0][id] : 0,
                             l->buffers[l->buffer_of_value[id]].bytes, false};
    t->half_places[half] = places;
    return NULL;
}

static cells where(const memory *m, ons_value_id value) {
    return played_cells(m, played_liveness(m)->buffer_of_value[value]);
}

/* What both programs make alike in one place is the first one's. */
static content content_of(const memory *m, ons_value_id value) {
    ons_value_id root = m->t->root[value];
    const ons_buffer_id *shared_buffers = m->t->layout->shared_buffers;
    ons_buffer_id buffer = m->t->l->buffer_of_value[root];
    ons_buffer_id shared_buffer = shared_buffers == NULL || buffer == ONS_NONE ? ONS_NONE : shared_buffers[buffer];
    if (shared_buffer != ONS_NONE) return (content){0, m->tenants[0].l->buffers[shared_buffer].owner + 1, 0};
    const half_place *half = played_half(m);
    if (half != NULL && half[played_liveness(m)->buffer_of_value[root]].own)
        return (content){m->step->half, root + 1, m->step->micro_batch | (uint32_t)m->step->sample_half << 30};
    return (content){m->step->half, root + 1, m->t->of_step[root] ? 0 : m->step->micro_batch};
}

static bool same(content a, content b) {
    return a.half == b.half && a.value == b.value && a.micro_batch == b.micro_batch;
}

static ons_status *complain(const memory *m, const char *what, ons_value_id value, content found) {
    const tenant *from = &m->tenants[found.half];
    const char *node = m->node == ONS_NONE ? "" : ons_graph_node(m->t->graph, m->node)->name;
    const char *other = found.value == 0                           ? "nothing"
                        : found.value == SCRATCH                   ? "scratch of a node"
                        : found.value == COMING                    ? "something that is coming"
                        : found.value <= from->graph->values.count ? name_of(from, found.value - 1)
                                                                   : "something unknown";
    return ons_status_new(ONS_DEFECT, "stage %u, micro-batch %u, node '%s': %s '%s' (there is '%s')", m->stage,
                          m->step->micro_batch, node, what, value == ONS_NONE ? "scratch" : name_of(m->t, value),
                          other);
}

static ons_status *expect(const memory *m, ons_value_id value, content wanted, const char *what) {
    cells at = where(m, value);
    for (uint32_t i = at.first; i < at.end; ++i)
        if (!same(m->contents[i], wanted)) return complain(m, what, value, m->contents[i]);
    return NULL;
}

static ons_status *complain_of_loan(const memory *m, uint32_t cell, ons_value_id value) {
    const char *lent = "";
    for (size_t i = 0; i < m->loans.count; ++i) {
        const loan *l = &m->loans.items[i];
        const tenant *from = &m->tenants[l->half];
        const ons_cut_stage *cut = from->s->cut;
        bool sent = l->transfer < cut->send_count;
        if (l->where.first > cell || l->where.end <= cell) continue;
        lent = name_of(from, sent ? cut->sends[l->transfer].value : cut->swaps[l->transfer - cut->send_count].value);
    }
    return ons_status_new(ONS_DEFECT,
                          "stage %u, micro-batch %u: '%s' is put where '%s' lies, which may still be on its way",
                          m->stage, m->step->micro_batch, value == ONS_NONE ? "scratch" : name_of(m->t, value), lent);
}

static ons_status *put_content(memory *m, cells at, content what, ons_value_id value) {
    for (uint32_t i = at.first; i < at.end; ++i) {
        if (m->loans_of[i] > 0) return complain_of_loan(m, i, value);
        m->contents[i] = what;
    }
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------ nodes */

static bool in_place(const memory *m, const ons_node *node, ons_buffer_id buffer) {
    for (uint32_t i = 0; i < node->output_count; ++i)
        if (node->outputs[i] != ONS_NONE && played_liveness(m)->buffer_of_value[node->outputs[i]] == buffer)
            return true;
    return false;
}

static ons_status *check_inputs(const memory *m, const ons_node *node, bool after) {
    for (uint32_t i = 0; i < node->input_count; ++i) {
        ons_value_id value = node->inputs[i];
        if (value == ONS_NONE || (after && in_place(m, node, played_liveness(m)->buffer_of_value[value]))) continue;
        ONS_TRY(expect(m, value, content_of(m, value), after ? "while it is read, something is put over" : "reads"));
    }
    return NULL;
}

/* Scratch and outputs over each other, or over an input, show afterwards. */
static ons_status *play_node(memory *m, ons_node_id id) {
    const ons_node *node = ons_graph_node(m->t->graph, id);
    const content scratch = {m->step->half, SCRATCH, id};
    if (ons_is_view(node->op)) return NULL;
    m->node = id;
    ONS_TRY(check_inputs(m, node, false));
    cells at = played_cells(m, played_liveness(m)->scratch_of_node[id]);
    ONS_TRY(put_content(m, at, scratch, ONS_NONE));
    for (uint32_t i = 0; i < node->output_count; ++i)
        if (node->outputs[i] != ONS_NONE)
            ONS_TRY(put_content(m, where(m, node->outputs[i]), content_of(m, node->outputs[i]), node->outputs[i]));
    for (uint32_t i = 0; i < node->output_count; ++i)
        if (node->outputs[i] != ONS_NONE)
            ONS_TRY(expect(m, node->outputs[i], content_of(m, node->outputs[i]), "over each other lie outputs,"));
    for (uint32_t i = at.first; i < at.end; ++i)
        if (!same(m->contents[i], scratch)) return complain(m, "over scratch lies", ONS_NONE, m->contents[i]);
    ONS_TRY(check_inputs(m, node, true));
    m->node = ONS_NONE;
    return NULL;
}

/* Of a part in halves: each half computes some nodes, the others run behind both. */
static bool is_played(const memory *m, ons_node_id id) {
    bool in_halves = m->step->sample_half != ONS_ALL_SAMPLES || m->step->behind_halves;
    return !in_halves || m->t->s->halves->runs[id] != m->step->behind_halves;
}

static ons_status *play_load(memory *m) {
    const ons_verify_step *step = m->step;
    if (step->part == ONS_PART_BEGIN || ons_stage_program_kind(m->t->s, step->part) == ONS_PART_END) return NULL;
    for (size_t i = 0; i < m->t->graph->inputs.count; ++i) {
        ons_value_id input = m->t->graph->inputs.items[i];
        if (ons_stage_program_loads(m->t->s, input, step->part))
            ONS_TRY(put_content(m, where(m, input), content_of(m, input), input));
    }
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------ sync points */

static ons_status *note_reader(memory *m, uint32_t transfer, ons_value_id value) {
    ONS_TRY(expect(m, value, content_of(m, value), "leaves, and is not there,"));
    ons_buffer_id buffer = m->t->l->buffer_of_value[value];
    /* The next message into a ring waits for the copy; see receive_value in worker_messages.c. */
    if (!has_place(m->t, buffer) || m->t->rings[buffer] > 0) return NULL;
    loan l = {m->step->half, transfer, m->step->copy, where(m, value)};
    for (uint32_t i = l.where.first; i < l.where.end; ++i) ++m->loans_of[i];
    ONS_PUSH(&m->loans, l);
    return NULL;
}

static void give_back(memory *m, uint32_t transfer) {
    size_t kept = 0;
    for (size_t i = 0; i < m->loans.count; ++i) {
        loan l = m->loans.items[i];
        if (l.half != m->step->half || l.transfer != transfer || l.copy != m->step->copy) {
            m->loans.items[kept++] = l;
            continue;
        }
        for (uint32_t k = l.where.first; k < l.where.end; ++k) --m->loans_of[k];
    }
    m->loans.count = kept;
}

static ons_status *simulate_sync_point(memory *m) {
    const ons_cut_stage *cut = m->t->s->cut;
    uint32_t index = m->step->index;
    const content coming = {m->step->half, COMING, index}, nothing = {0};
    ons_value_id value;
    switch (m->step->sync) {
    case ONS_SYNC_SEND: return note_reader(m, index, cut->sends[index].value);
    case ONS_SYNC_OUT: return note_reader(m, cut->send_count + index, cut->swaps[index].value);
    case ONS_SYNC_GONE: return NULL; /* a wait among the steps */
    case ONS_SYNC_IN: value = cut->swaps[index].back; return put_content(m, where(m, value), coming, value);
    case ONS_SYNC_BACK:
        value = cut->swaps[index].back;
        ONS_TRY(expect(m, value, coming, "while it comes back, something is put over"));
        return put_content(m, where(m, value), content_of(m, value), value);
    case ONS_SYNC_AWAIT:
        value = cut->receives[index].value;
        ONS_TRY(expect(m, value, nothing, "while it is received, something is in the place of"));
        return put_content(m, where(m, value), content_of(m, value), value);
    case ONS_SYNC_RELEASE:
        value = cut->receives[index].value;
        ONS_TRY(expect(m, value, content_of(m, value), "its place is given back before it came:"));
        return put_content(m, where(m, value), nothing, value);
    }
    return NULL;
}

static ons_status *play_step(memory *m) {
    const ons_verify_step *step = m->step;
    switch (step->kind) {
    case ONS_VERIFY_LOAD: return play_load(m);
    case ONS_VERIFY_SYNC: return simulate_sync_point(m);
    case ONS_VERIFY_WAIT: give_back(m, step->index); return NULL;
    case ONS_VERIFY_NODES:
        for (ons_node_id id = step->first; id < step->end; ++id)
            if (is_played(m, id)) ONS_TRY(play_node(m, id));
        return NULL;
    }
    return NULL;
}

static ons_status *replay_steps(memory *m, const ons_verify_steps *steps, ons_arena *arena) {
    for (uint32_t i = 0; i < m->tenant_count; ++i) {
        tenant *t = &m->tenants[i];
        ONS_TRY(find_roots(t, arena));
        for (int half = 0; half < 2 && t->s->halves != NULL; ++half) ONS_TRY(find_half_places(t, half, arena));
    }
    ONS_TRY(find_cells(m, arena));
    for (size_t i = 0; i < steps->count; ++i) {
        m->step = &steps->items[i];
        m->t = &m->tenants[m->step->half];
        ONS_TRY(play_step(m));
    }
    return NULL;
}

ons_status *ons_verify_memory(const ons_lineup *lineup, uint32_t stage, const ons_verify_steps *steps) {
    ons_arena *arena = ons_arena_new();
    if (arena == NULL) return ons_status_out_of_memory();
    memory m = {.stage = stage, .node = ONS_NONE};
    for (; m.tenant_count < 2 && lineup->programs[m.tenant_count] != NULL; ++m.tenant_count) {
        const ons_stage_program *s = lineup->programs[m.tenant_count];
        m.tenants[m.tenant_count] = (tenant){
            .s = s,
            .graph = s->cut->graph,
            .l = ons_program_liveness(s->program),
            .layout = ons_program_layout(s->program),
        };
    }
    ons_status *status = replay_steps(&m, steps, arena);
    ons_vector_free(&m.loans);
    ons_arena_free(arena);
    return status;
}
