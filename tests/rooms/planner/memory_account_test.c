/* The evaluation of memory decisions against the plainest account there is: every micro-batch of a 1F1B stage is run,
 * every part with what it reads and makes, and a tensor is alive from the part that makes it to the last that reads it.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rooms/planner/random_stage.h"

enum { CASES = 400, NODES = 32, TENSORS = 128, PARTS = 4096 };

typedef enum kind { FORWARD, AGAIN, BACKWARD } kind;

typedef struct part {
    kind kind;
    uint32_t batch, node;
} part;

typedef struct account {
    const ons_stage_problem *p;
    bool recompute[TENSORS];
    uint32_t in_before[TENSORS];
    /* What runs again before the backward part of each node, ascending: the same for every micro-batch. */
    uint32_t again[NODES][NODES], again_count[NODES];
    bool runs_again[NODES];
    part parts[PARTS];
    int64_t alive[PARTS];
    uint32_t part_count, batches;
} account;

static ons_arena *arena;

static bool in_stage(const account *a, uint32_t node) {
    return node != ONS_NO_NODE && node >= a->p->first && node < a->p->end;
}

static bool lists(const uint32_t *list, uint32_t count, uint32_t item) {
    for (uint32_t i = 0; i < count; ++i) {
        if (list[i] == item) return true;
    }
    return false;
}

static bool is_saved(const account *a, const ons_work_tensor *t) {
    for (uint32_t i = 0; i < t->saver_count; ++i) {
        if (in_stage(a, t->savers[i])) return true;
    }
    return false;
}

static bool made_again(const account *a, uint32_t tensor) {
    const ons_work_tensor *t = &a->p->work->tensors[tensor];
    if (a->recompute[tensor]) return true;
    return !is_saved(a, t) && in_stage(a, t->producer) && a->p->work->nodes[t->producer].recomputable;
}

static void run_again(account *a, uint32_t node, uint32_t before) {
    if (a->runs_again[node]) return;
    a->runs_again[node] = true;
    for (uint32_t i = 0; i < a->p->work->tensor_count; ++i) {
        const ons_work_tensor *t = &a->p->work->tensors[i];
        if (lists(t->readers, t->reader_count, node) && made_again(a, i)) run_again(a, t->producer, before);
    }
    a->again[before][a->again_count[before]++] = node;
}

static int by_number(const void *a, const void *b) {
    return *(const uint32_t *)a < *(const uint32_t *)b ? -1 : *(const uint32_t *)a > *(const uint32_t *)b;
}

static void add_part(account *a, kind what, uint32_t batch, uint32_t node) {
    cr_assert(a->part_count < PARTS);
    a->parts[a->part_count++] = (part){what, batch, node};
}

static void run_forward(account *a, uint32_t batch) {
    for (uint32_t i = a->p->first; i < a->p->end; ++i) add_part(a, FORWARD, batch, i);
}

static void run_backward(account *a, uint32_t batch) {
    for (uint32_t i = a->p->end; i-- > a->p->first;) {
        for (uint32_t j = 0; j < a->again_count[i]; ++j) add_part(a, AGAIN, batch, a->again[i][j]);
        add_part(a, BACKWARD, batch, i);
    }
}

static void run_all(account *a) {
    uint32_t k = a->p->load.in_flight;
    for (uint32_t i = a->p->end; i-- > a->p->first;) {
        for (uint32_t t = 0; t < a->p->work->tensor_count; ++t) {
            if (a->recompute[t] && a->in_before[t] == i) run_again(a, a->p->work->tensors[t].producer, i);
        }
        qsort(a->again[i], a->again_count[i], sizeof **a->again, by_number);
    }
    a->batches = 2 * k + 1;
    for (uint32_t i = 0; i + 1 < k; ++i) run_forward(a, i);
    for (uint32_t i = 0; i < a->batches; ++i) {
        if (i + k - 1 < a->batches) run_forward(a, i + k - 1);
        run_backward(a, i);
    }
}

static bool needs(const account *a, const part *p, uint32_t tensor, bool remade) {
    const ons_work_tensor *t = &a->p->work->tensors[tensor];
    bool again = made_again(a, tensor);
    if (p->kind == FORWARD) {
        bool leaves = in_stage(a, t->producer) && (t->reader_count + t->saver_count > 0) && p->node == a->p->end - 1;
        uint32_t last = 0;
        if (t->reader_count > 0) last = t->readers[t->reader_count - 1];
        if (t->saver_count > 0 && t->savers[t->saver_count - 1] > last) last = t->savers[t->saver_count - 1];
        return !remade && (lists(t->readers, t->reader_count, p->node) || (leaves && last >= a->p->end));
    }
    if (remade != again) return false;
    if (p->kind == AGAIN) return lists(t->readers, t->reader_count, p->node);
    return lists(t->savers, t->saver_count, p->node);
}

/* One micro-batch's tensor, as made first or as made again. */
static void account_for(account *a, uint32_t tensor, uint32_t batch, bool remade) {
    const ons_work_tensor *t = &a->p->work->tensors[tensor];
    uint32_t from = ONS_NO_NODE, to = 0, repeated = ONS_NO_NODE;
    bool used = in_stage(a, t->producer);
    if (remade && !made_again(a, tensor)) return;
    for (uint32_t i = 0; i < a->part_count; ++i) {
        const part *p = &a->parts[i];
        if (p->batch != batch) continue;
        bool made = p->node == t->producer && p->kind == (remade ? AGAIN : FORWARD);
        if (!in_stage(a, t->producer)) made = p->kind == FORWARD && p->node == a->p->first && !remade;
        if (made) from = to = i;
        if (p->kind == AGAIN && p->node == t->producer) repeated = i;
        if (!needs(a, p, tensor, remade)) continue;
        used = true;
        to = i;
    }
    if (from == ONS_NO_NODE || !used) return;
    for (uint32_t i = from; i <= to; ++i) a->alive[i] += t->bytes;
    /* Its producer ran again for another's sake: the bits lie where they lay, or in scratch. */
    if (!remade && !made_again(a, tensor) && repeated != ONS_NO_NODE && repeated > to) a->alive[repeated] += t->bytes;
}

static void account_for_gradient(account *a, uint32_t tensor, uint32_t batch) {
    const ons_work_tensor *t = &a->p->work->tensors[tensor];
    bool here = in_stage(a, t->producer), read = false;
    bool arrives = t->reader_count > 0 && t->readers[t->reader_count - 1] >= a->p->end;
    uint32_t last = here ? t->producer : a->p->first;
    for (uint32_t i = 0; i < t->reader_count; ++i) {
        if (!in_stage(a, t->readers[i])) continue;
        read = true;
        last = t->readers[i];
    }
    if (t->producer == ONS_NO_NODE || (!here && !read)) return;
    bool alive = false;
    for (uint32_t i = 0; i < a->part_count; ++i) {
        const part *p = &a->parts[i];
        if (p->batch != batch || p->kind == FORWARD) continue;
        if (arrives || (p->kind == BACKWARD && p->node == last)) alive = true;
        if (alive) a->alive[i] += t->gradient_bytes;
        if (here && p->kind == BACKWARD && p->node == t->producer) return;
    }
}

static int64_t find_peak(account *a) {
    const ons_workload *w = a->p->work;
    int64_t peak = 0;
    for (uint32_t batch = 0; batch < a->batches; ++batch) {
        for (uint32_t i = 0; i < w->tensor_count; ++i) {
            account_for(a, i, batch, false);
            account_for(a, i, batch, true);
            account_for_gradient(a, i, batch);
        }
    }
    for (uint32_t i = 0; i < a->part_count; ++i) {
        const ons_work_node *n = &w->nodes[a->parts[i].node];
        int64_t bytes = a->alive[i] + (a->parts[i].kind == BACKWARD ? n->backward_bytes : n->forward_bytes);
        if (bytes > peak) peak = bytes;
    }
    return peak;
}

/* A random set of tensors to compute again, some of them early. */
static uint32_t choose(account *a, random_source *random, double share, ons_tensor_decision *decisions) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < a->p->work->tensor_count; ++i) {
        const ons_work_tensor *t = &a->p->work->tensors[i];
        bool candidate = in_stage(a, t->producer) && a->p->work->nodes[t->producer].recomputable && is_saved(a, t);
        if (!candidate || !random_chance(random, share)) continue;
        uint32_t last = 0;
        for (uint32_t j = 0; j < t->saver_count; ++j) {
            if (in_stage(a, t->savers[j])) last = t->savers[j];
        }
        uint32_t early = random_chance(random, 0.3) ? random_below(random, a->p->end - last) : 0;
        a->recompute[i] = true;
        a->in_before[i] = last + early;
        decisions[count++] = (ons_tensor_decision){i, ONS_RECOMPUTE, t->producer, last + early, ONS_NO_NODE};
    }
    return count;
}

static double seconds_again(const account *a) {
    double seconds = 0;
    for (uint32_t i = a->p->first; i < a->p->end; ++i)
        seconds += a->runs_again[i] ? a->p->work->nodes[i].forward_seconds : 0;
    return seconds;
}

Test(memory_account, recomputation_by_running_every_micro_batch) {
    static account a;
    ons_tensor_decision decisions[TENSORS];
    for (uint64_t seed = 1; seed <= CASES; ++seed) {
        random_stage stage;
        random_source random = {seed};
        ons_stage_solution s;
        arena = ons_arena_new();
        cr_assert(random_stage_make(seed, 12, arena, &stage) == NULL);
        memset(&a, 0, sizeof a);
        a.p = &stage.problem;
        cr_assert(stage.work.node_count <= NODES && stage.work.tensor_count <= TENSORS);
        uint32_t count = choose(&a, &random, (double)(seed % 5) / 4, decisions);
        run_all(&a);
        int64_t peak = find_peak(&a);
        cr_assert(ons_memory_evaluate(&stage.problem, decisions, count, stage.workspace, &s) == NULL);
        cr_assert_eq(s.memory.peak + s.memory.stash, peak, "seed %llu: %lld, not %lld", (unsigned long long)seed,
                     (long long)(s.memory.peak + s.memory.stash), (long long)peak);
        cr_assert(fabs(s.recompute_seconds - seconds_again(&a)) < 1e-12, "seed %llu", (unsigned long long)seed);
        if (count == 0) cr_assert_leq(s.memory.total, stage.kept.total, "seed %llu", (unsigned long long)seed);
        random_stage_free(&stage);
        ons_arena_free(arena);
    }
}
