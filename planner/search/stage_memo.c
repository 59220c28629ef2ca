#include "planner/search/stage_memo.h"

#include <stdlib.h>
#include <string.h>

typedef struct memo_entry {
    uint32_t first, end; /* end 0: free */
    ons_stage_load load;
    int64_t capacity;
    bool exactly, solved;
    ons_stage_evaluation evaluation;
    ons_stage_solution solution; /* where `solved` */
} memo_entry;

struct ons_stage_memo {
    memo_entry *items;   /* open addressing; */
    uint32_t size, used; /* a power of two, at most half full */
    ons_arena *arena;    /* of decisions */
};

enum { FIRST_SIZE = 1 << 8 };

ons_status *ons_stage_memo_new(ons_stage_memo **memo) {
    ons_stage_memo *made = calloc(1, sizeof *made);
    *memo = NULL;
    if (made == NULL) return ons_status_out_of_memory();
    made->size = FIRST_SIZE;
    made->items = calloc(made->size, sizeof *made->items);
    made->arena = ons_arena_new();
    if (made->items == NULL || made->arena == NULL) {
        ons_stage_memo_free(made);
        return ons_status_out_of_memory();
    }
    *memo = made;
    return NULL;
}

void ons_stage_memo_free(ons_stage_memo *memo) {
    if (memo == NULL) return;
    ons_arena_free(memo->arena);
    free(memo->items);
    free(memo);
}

static bool is_same(const memo_entry *a, const memo_entry *b) {
    const ons_stage_load *x = &a->load, *y = &b->load;
    return a->first == b->first && a->end == b->end && a->capacity == b->capacity && a->exactly == b->exactly &&
           x->in_flight == y->in_flight && x->versions == y->versions && x->accumulates == y->accumulates &&
           x->forward_first == y->forward_first && x->apart == y->apart && x->before_input == y->before_input &&
           x->between == y->between;
}

static uint32_t hash(const memo_entry *e) {
    uint64_t h = ((uint64_t)e->first << 32 | e->end) * 0x9e3779b97f4a7c15u;
    h = (h ^ h >> 29 ^ (uint64_t)e->capacity) * 0xbf58476d1ce4e5b9u;
    h = (h ^ h >> 31 ^ e->load.in_flight) * 0x94d049bb133111ebu;
    return (uint32_t)(h >> 32);
}

static memo_entry *find(memo_entry *items, uint32_t size, const memo_entry *key) {
    uint32_t at = hash(key) & (size - 1);
    while (items[at].end != 0 && !is_same(&items[at], key)) at = (at + 1) & (size - 1);
    return &items[at];
}

static ons_status *grow(ons_stage_memo *m) {
    ONS_CHECK(m->size <= UINT32_MAX / 4, ONS_OUT_OF_MEMORY, "more stages were looked at than can be kept");
    uint32_t size = 2 * m->size;
    memo_entry *items = calloc(size, sizeof *items);
    if (items == NULL) return ons_status_out_of_memory();
    for (uint32_t i = 0; i < m->size; ++i)
        if (m->items[i].end != 0) *find(items, size, &m->items[i]) = m->items[i];
    free(m->items);
    m->items = items;
    m->size = size;
    return NULL;
}

static memo_entry make_key(const ons_stage_costs *costs, uint32_t first, uint32_t end, uint32_t stage, int64_t capacity,
                           bool exactly) {
    return (memo_entry){.first = first,
                        .end = end,
                        .load = ons_stage_costs_problem(costs)->schedule->loads[stage],
                        .capacity = capacity,
                        .exactly = exactly};
}

static ons_status *add(ons_stage_memo *m, const memo_entry *entry) {
    if (m->used >= m->size / 2) ONS_TRY(grow(m));
    memo_entry *at = find(m->items, m->size, entry);
    m->used += at->end == 0;
    *at = *entry;
    return NULL;
}

ons_status *ons_stage_memo_evaluate(ons_stage_memo *m, ons_stage_costs *costs, uint32_t first, uint32_t end,
                                    uint32_t stage, int64_t capacity, bool exactly, ons_stage_evaluation *evaluation) {
    memo_entry entry = make_key(costs, first, end, stage, capacity, exactly);
    const memo_entry *known = find(m->items, m->size, &entry);
    *evaluation = known->evaluation;
    if (known->end != 0) return NULL;
    ons_stage_costs_set_capacity(costs, capacity);
    ONS_TRY(exactly ? ons_stage_costs_evaluate_exactly(costs, first, end, stage, evaluation)
                    : ons_stage_costs_evaluate(costs, first, end, stage, evaluation));
    entry.evaluation = *evaluation;
    return add(m, &entry);
}

ons_status *ons_stage_memo_solve(ons_stage_memo *m, ons_stage_costs *costs, uint32_t first, uint32_t end,
                                 uint32_t stage, int64_t capacity, ons_stage_solution *solution) {
    memo_entry entry = make_key(costs, first, end, stage, capacity, false);
    ons_stage_evaluation evaluation;
    ONS_TRY(ons_stage_memo_evaluate(m, costs, first, end, stage, capacity, false, &evaluation));
    const memo_entry *known = find(m->items, m->size, &entry);
    *solution = known->solution;
    if (known->solved) return NULL;
    ons_stage_costs_set_capacity(costs, capacity);
    ONS_TRY(ons_stage_costs_solution(costs, first, end, stage, solution));
    const ons_tensor_decision *from = solution->decisions; /* of the costs */
    if (from != NULL) {
        ONS_NEW(solution->decisions, m->arena, solution->decision_count);
        memcpy(solution->decisions, from, solution->decision_count * sizeof *from);
    }
    entry.evaluation = evaluation;
    entry.solution = *solution;
    entry.solved = true;
    return add(m, &entry);
}
