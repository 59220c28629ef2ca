/* When the address sanitizer is told of a program's memory that holds something, or nothing. */
#include "runtime/program/poison.h"
#include "runtime/program/program_state.h"

static const ons_part_place first_place = {0};

/* ----------------------------------------------------------------------------------------------------------- deaths */

/* Whether others read the buffer when nodes are done with it, and so say themselves when it holds nothing. */
static ons_status *find_leaving(const ons_program *p, const ons_program_options *o, ons_arena *arena, bool **result) {
    bool *leaves;
    ONS_NEW(leaves, arena, p->liveness.buffer_count + 1);
    for (ons_value_id id = 0; id < p->graph->values.count; ++id) {
        ons_buffer_id buffer = p->liveness.buffer_of_value[id];
        if (buffer == ONS_NONE) continue;
        if ((o->stays != NULL && o->stays[id] > 0) || p->rings[buffer] > 0) leaves[buffer] = true;
    }
    *result = leaves;
    return NULL;
}

/* A stage's data, and what comes back from the host, is put in for every micro-batch; elsewhere what no node makes may
 * have been put in once for all. */
static bool is_made(const ons_program *p, const ons_program_options *o, ons_value_id owner) {
    if (owner == ONS_NONE || ons_program_makes(p, owner)) return true;
    return o->arrives != NULL && ons_graph_value(p->graph, owner)->producer == ONS_NONE;
}

/* What stays until the micro-batch ends because the order of its parts is not known: the part of the greatest number
 * need not be the last. */
static bool ends_with_any_part(const ons_program *p, const ons_program_options *o, const ons_buffer *buffer) {
    const ons_execution_order *order = &p->execution_order;
    return o->unordered && buffer->last + 1 >= ons_execution_order_last(order) &&
           ons_execution_order_part(order, buffer->first) != ons_execution_order_part(order, buffer->last);
}

/* What is made once for all micro-batches is not looked after. */
static bool dies(const ons_program *p, const ons_program_options *o, ons_buffer_id id) {
    const ons_buffer *buffer = &p->liveness.buffers[id];
    return is_made(p, o, buffer->owner) && !buffer->persistent && buffer->last < p->execution_order.count &&
           buffer->first >= ons_execution_order_first(&p->execution_order) && !ends_with_any_part(p, o, buffer);
}

ons_status *ons_program_note_deaths(ons_program *p, const ons_program_options *options) {
    if (!ONS_POISONS || p->discrete_memory || p->halves != NULL) return NULL;
    uint32_t positions = p->execution_order.count;
    bool *leaves;
    ONS_TRY(find_leaving(p, options, p->arena, &leaves));
    ONS_NEW(p->dying, p->arena, p->liveness.buffer_count + 1);
    ONS_NEW(p->dying_at, p->arena, positions + 2);
    /* Sorted by position: counted, then placed. */
    for (ons_buffer_id id = 0; id < p->liveness.buffer_count; ++id)
        if (!leaves[id] && dies(p, options, id)) ++p->dying_at[p->liveness.buffers[id].last + 2];
    for (uint32_t i = 2; i < positions + 2; ++i) p->dying_at[i] += p->dying_at[i - 1];
    for (ons_buffer_id id = 0; id < p->liveness.buffer_count; ++id)
        if (!leaves[id] && dies(p, options, id)) p->dying[p->dying_at[p->liveness.buffers[id].last + 1]++] = id;
    return NULL;
}

bool ons_program_poisons(const ons_program *p) { return p->dying != NULL; }

void ons_program_stop_poisoning(ons_program *p) { p->dying = NULL; }

/* -------------------------------------------------------------------------------------------------------- poisoning */

static void revive_buffer(const ons_program *p, ons_buffer_id id, const ons_part_place *part_place) {
    if (id == ONS_NONE || p->liveness.buffers[id].persistent) return;
    void *address = ons_program_buffer_address(p, id, part_place != NULL ? part_place : &first_place, false);
    ons_unpoison(address, p->liveness.buffers[id].bytes);
    ons_poison_tail(address, p->liveness.buffers[id].bytes);
}

static void bury_buffer(const ons_program *p, ons_buffer_id id, const ons_part_place *part_place) {
    void *address = ons_program_buffer_address(p, id, part_place != NULL ? part_place : &first_place, false);
    ons_poison(address, p->liveness.buffers[id].bytes);
}

void ons_program_revive_written(const ons_program *p, const launch *l, const ons_part_place *part_place) {
    if (p->dying == NULL) return;
    const ons_node *node = ons_graph_node(p->graph, l->node);
    for (uint32_t i = 0; i < node->output_count; ++i)
        if (node->outputs[i] != ONS_NONE) revive_buffer(p, p->liveness.buffer_of_value[node->outputs[i]], part_place);
    revive_buffer(p, p->liveness.scratch_of_node[l->node], part_place);
}

void ons_program_bury_dead(const ons_program *p, uint32_t first, uint32_t end, const ons_part_place *part_place) {
    if (p->dying == NULL) return;
    for (uint32_t i = p->dying_at[first]; i < p->dying_at[end]; ++i) bury_buffer(p, p->dying[i], part_place);
}

void ons_program_bury(const ons_program *p, ons_value_id value, const ons_part_place *part_place) {
    ons_buffer_id id = p->liveness.buffer_of_value[value];
    if (p->dying == NULL || id == ONS_NONE) return;
    const ons_buffer *buffer = &p->liveness.buffers[id];
    bool kept = buffer->persistent || buffer->last >= p->execution_order.count;
    if (!kept && buffer->first >= ons_execution_order_first(&p->execution_order)) bury_buffer(p, id, part_place);
}

void ons_program_revive(const ons_program *p, ons_value_id value, const ons_part_place *part_place) {
    if (p->dying != NULL) revive_buffer(p, p->liveness.buffer_of_value[value], part_place);
}

void *ons_program_address_to_write(const ons_program *p, ons_value_id value, const ons_part_place *part_place) {
    ons_program_revive(p, value, part_place);
    return ons_program_address(p, value, part_place);
}

void ons_program_bury_all(const ons_program *p) {
    if (p->dying != NULL) ons_poison(p->transient, p->layout.bytes);
}

void ons_program_revive_all(const ons_program *p) {
    if (p->dying != NULL) ons_unpoison(p->transient, p->layout.bytes);
}
