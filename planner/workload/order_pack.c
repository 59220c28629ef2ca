/* Which order lets a number of stages be filled best: bin packing with precedence.
 *
 * Nodes are taken one after the other, each as soon as all before it were; a node that does not fit into the stage
 * begun (of at most T seconds) begins the next. Of all ways to have taken the same set of nodes only the best matters:
 * fewest stages, then the emptiest last one. So for a given T a dynamic program over those sets is exact, and the
 * least T is found by bisection.
 *
 * The sets stay few because most graphs are chains of small blocks: at a node that has everything before it as its
 * ancestors and everything behind it as its descendants, only one set is possible.
 */
#include <math.h>
#include <stdlib.h>

#include "planner/workload/order.h"

enum {
    LARGEST_BLOCK = 1024, /* larger ones keep their order */
    WIDEST = 1024,        /* sets of one size that are followed */
};
#define WORK      6e7  /* steps that one trial of T may take, about */
#define PRECISION 1e-6 /* of T, relative */
#define COARSE    5e-3 /* instead, once all trials together have taken */
#define LONG_WORK 3e6  /* nodes that were tried after a set */

/* A set of taken nodes of a block. */
typedef struct taken_set {
    uint32_t before, node; /* the step that led to it: index of the step before, position of the node in the block */
    uint32_t stage;        /* that the last node went to */
    double load;           /* seconds of that stage so far */
    double done;           /* seconds of all nodes taken */
} taken_set;

typedef struct taken_step {
    uint32_t before, node;
} taken_step;

/* Sets of one size. */
typedef struct level {
    taken_set *sets;
    uint64_t *masks; /* `words` for each set */
    uint32_t count;
} level;

typedef struct packer {
    const ons_workload *work;
    uint32_t stages;
    const uint32_t *legal;
    uint32_t *position; /* in `legal` */
    ons_work_edges back;
    uint32_t *blocks; /* block b is [blocks[b], blocks[b + 1]) of `legal` */
    uint32_t block_count, largest, branching;
    uint32_t *order;
    uint64_t *needs; /* of the block in work: masks of what must be taken before each node */
    level now, next;
    uint32_t *slots; /* hash table of the next level: index + 1 */
    taken_step *steps;
    double *waste;   /* seconds, of each set of a level: see thin_out */
    uint32_t *ready; /* positions in the block that may be taken next */
    double total;    /* seconds of all nodes */
    double tried;    /* nodes after sets, in all trials */
} packer;

/* ----------------------------------------------------------------------------------------------------------- blocks */

/* Cuts at every node that all before it lead to and that leads to all behind it: all behind it have a predecessor at or
 * behind it, all before it a successor at or before it. */
static ons_status *find_blocks(packer *p, ons_arena *arena) {
    uint32_t count = p->work->node_count, *last_before, *first_after;
    ons_work_edges there;
    ONS_TRY(ons_work_edges_make(p->work, true, arena, &there));
    ONS_NEW(last_before, arena, (size_t)count + 1); /* [q]: least of the last predecessors of positions from q on */
    ONS_NEW(first_after, arena, (size_t)count + 1); /* [q]: greatest of the first successors of positions before q */
    ONS_NEW(p->blocks, arena, (size_t)2 * count + 2);
    last_before[count] = UINT32_MAX;
    for (uint32_t q = count; q-- > 0;) {
        uint32_t node = p->legal[q], last = 0;
        bool any = false;
        for (uint32_t i = p->back.begin[node]; i < p->back.begin[node + 1]; ++i, any = true)
            last = p->position[p->back.next[i]] > last ? p->position[p->back.next[i]] : last;
        /* One more than the position, so that 0 says "none". */
        uint32_t mine = any ? last + 1 : 0;
        last_before[q] = mine < last_before[q + 1] ? mine : last_before[q + 1];
    }
    for (uint32_t q = 0; q < count; ++q) {
        uint32_t node = p->legal[q], first = UINT32_MAX;
        for (uint32_t i = there.begin[node]; i < there.begin[node + 1]; ++i)
            first = p->position[there.next[i]] < first ? p->position[there.next[i]] : first;
        first_after[q + 1] = first > first_after[q] ? first : first_after[q];
    }
    uint32_t begin = 0;
    for (uint32_t q = 0; q < count; ++q) {
        if (last_before[q + 1] < q + 1 || first_after[q] > q) continue;
        if (q > begin) p->blocks[p->block_count++] = begin;
        p->branching += q > begin + 1;
        p->blocks[p->block_count++] = q;
        begin = q + 1;
    }
    if (begin < count) {
        p->blocks[p->block_count++] = begin;
        p->branching += count > begin + 1;
    }
    p->blocks[p->block_count] = count;
    return NULL;
}

/* -------------------------------------------------------------------------------------------------------- one block */

static bool better(const taken_set *a, const taken_set *b) {
    return a->stage != b->stage ? a->stage < b->stage : a->load < b->load;
}

static double node_seconds(const ons_workload *work, uint32_t node) {
    const ons_work_node *n = &work->nodes[node];
    return n->forward_seconds + n->input_gradient_seconds + n->weight_gradient_seconds;
}

/* False where that takes one stage too many. */
static bool add_node(taken_set *set, const ons_workload *work, uint32_t node, double most, uint32_t stages) {
    double seconds = node_seconds(work, node);
    if (set->load + seconds <= most) {
        set->load += seconds;
    } else {
        ++set->stage;
        set->load = seconds;
    }
    set->done += seconds;
    return set->stage < stages;
}

static uint64_t hash(const uint64_t *mask, uint32_t words) {
    uint64_t h = 0;
    for (uint32_t i = 0; i < words; ++i) {
        h = (h ^ mask[i]) * 0x9e3779b97f4a7c15u;
        h ^= h >> 32;
    }
    return h;
}

static bool includes(const uint64_t *mask, const uint64_t *part, uint32_t words) {
    for (uint32_t i = 0; i < words; ++i)
        if ((part[i] & ~mask[i]) != 0) return false;
    return true;
}

/* Puts the set into the next level, or improves the one that is there. Its mask lies behind the level's last. */
static void add_to_next_level(packer *p, const taken_set *set, uint32_t words, uint32_t slot_count) {
    level *next = &p->next;
    const uint64_t *mask = next->masks + (size_t)next->count * words;
    uint32_t at = (uint32_t)hash(mask, words) & (slot_count - 1);
    for (; p->slots[at] != 0; at = (at + 1) & (slot_count - 1)) {
        uint32_t other = p->slots[at] - 1;
        if (memcmp(next->masks + (size_t)other * words, mask, words * sizeof *mask) != 0) continue;
        if (better(set, &next->sets[other])) next->sets[other] = *set;
        return;
    }
    next->sets[next->count++] = *set;
    p->slots[at] = next->count;
}

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Keeps the `width` sets that wasted least: what is not filled of the stages begun. */
static void thin_out(level *l, uint32_t width, uint32_t words, double most, double *waste) {
    if (l->count <= width) return;
    double *sorted = waste + l->count;
    for (uint32_t i = 0; i < l->count; ++i)
        waste[i] = sorted[i] = l->sets[i].stage * most + l->sets[i].load - l->sets[i].done;
    qsort(sorted, l->count, sizeof *sorted, compare_doubles);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < l->count && kept < width; ++i) {
        if (waste[i] > sorted[width - 1]) continue;
        l->sets[kept] = l->sets[i];
        memmove(l->masks + (size_t)kept * words, l->masks + (size_t)i * words, words * sizeof *l->masks);
        ++kept;
    }
    l->count = kept;
}

static uint32_t words_of(uint32_t nodes) { return (nodes + 63) / 64; }

static uint32_t width_of(const packer *p, uint32_t nodes) {
    double width = WORK / ((double)p->branching * nodes * nodes * words_of(nodes));
    return width < 1 ? 1 : width > WIDEST ? WIDEST : (uint32_t)width;
}

/* A power of two with room for every set that `sets` of a block lead to. */
static uint32_t slots_of(uint64_t sets, uint32_t nodes) {
    uint64_t slots = 64;
    while (slots < 2 * sets * nodes) slots *= 2;
    return (uint32_t)slots;
}

static void find_needs(packer *p, uint32_t begin, uint32_t count, uint32_t words) {
    memset(p->needs, 0, (size_t)count * words * sizeof *p->needs);
    for (uint32_t v = 0; v < count; ++v) {
        uint32_t node = p->legal[begin + v];
        for (uint32_t i = p->back.begin[node]; i < p->back.begin[node + 1]; ++i) {
            uint32_t before = p->position[p->back.next[i]];
            if (before >= begin) p->needs[(size_t)v * words + (before - begin) / 64] |= 1ull << (before - begin) % 64;
        }
    }
}

/* What the stages begun leave unused is lost; with too much of it the rest cannot fit any more. */
static bool is_lost(const packer *p, const taken_set *set, double most) {
    double room = p->stages * most - (set->stage * most + set->load), left = p->total - set->done;
    return left > room * (1 + 1e-12) + 1e-12 * p->total;
}

/* Puts the set with `v` taken as well into the next level. */
static void take_node(packer *p, uint32_t s, uint32_t begin, uint32_t v, double most, uint32_t words, uint32_t slots) {
    const uint64_t *mask = p->now.masks + (size_t)s * words;
    taken_set set = p->now.sets[s];
    if (!add_node(&set, p->work, p->legal[begin + v], most, p->stages) || is_lost(p, &set, most)) return;
    set.node = v;
    uint64_t *larger = p->next.masks + (size_t)p->next.count * words;
    memcpy(larger, mask, words * sizeof *mask);
    larger[v / 64] |= 1ull << v % 64;
    add_to_next_level(p, &set, words, slots);
}

/* The nodes that may follow. One that takes no time is taken before all others: that is never worse. */
static uint32_t find_ready(packer *p, const uint64_t *mask, uint32_t begin, uint32_t count, uint32_t words) {
    uint32_t ready = 0;
    for (uint32_t v = 0; v < count; ++v) {
        if ((mask[v / 64] >> v % 64 & 1) != 0 || !includes(mask, p->needs + (size_t)v * words, words)) continue;
        if (node_seconds(p->work, p->legal[begin + v]) <= 0) {
            p->ready[0] = v;
            return 1;
        }
        p->ready[ready++] = v;
    }
    return ready;
}

/* Every set of the level with one node more. */
static void extend(packer *p, uint32_t begin, uint32_t count, double most) {
    uint32_t words = words_of(count), slots = slots_of(p->now.count, count);
    memset(p->slots, 0, slots * sizeof *p->slots);
    p->next.count = 0;
    for (uint32_t s = 0; s < p->now.count; ++s) {
        uint32_t ready = find_ready(p, p->now.masks + (size_t)s * words, begin, count, words);
        p->tried += ready;
        for (uint32_t i = 0; i < ready; ++i) take_node(p, s, begin, p->ready[i], most, words, slots);
    }
}

/* Takes all nodes of a block; false where the stages are too few. */
static bool take_block(packer *p, uint32_t begin, uint32_t end, double most, taken_set *set) {
    uint32_t count = end - begin, words = words_of(count), step_count = 1;
    find_needs(p, begin, count, words);
    memset(p->now.masks, 0, words * sizeof *p->now.masks);
    p->now.sets[0] = *set;
    p->now.sets[0].before = 0;
    p->now.count = 1;
    for (uint32_t size = 0; size < count; ++size) {
        extend(p, begin, count, most);
        thin_out(&p->next, width_of(p, count), words, most, p->waste);
        if (p->next.count == 0) return false;
        for (uint32_t s = 0; s < p->next.count; ++s) {
            taken_set *taken = &p->next.sets[s];
            p->steps[step_count] = (taken_step){taken->before, taken->node};
            taken->before = step_count++;
        }
        level swapped = p->now;
        p->now = p->next;
        p->next = swapped;
    }
    *set = p->now.sets[0];
    uint32_t step = set->before;
    for (uint32_t i = end; i-- > begin; step = p->steps[step].before)
        p->order[i] = p->legal[begin + p->steps[step].node];
    return true;
}

static bool take_in_turn(packer *p, uint32_t begin, uint32_t end, double most, taken_set *set) {
    for (uint32_t i = begin; i < end; ++i) {
        if (!add_node(set, p->work, p->legal[i], most, p->stages)) return false;
        p->order[i] = p->legal[i];
    }
    return true;
}

/* ------------------------------------------------------------------------------------------------------ all of them */

/* Whether stages of at most `most` seconds do; `p->order` then says how. */
static bool pack(packer *p, double most) {
    taken_set set = {0};
    for (uint32_t b = 0; b < p->block_count; ++b) {
        uint32_t begin = p->blocks[b], end = p->blocks[b + 1];
        bool choice = end - begin > 1 && end - begin <= LARGEST_BLOCK;
        if (!(choice ? take_block : take_in_turn)(p, begin, end, most, &set)) return false;
    }
    return true;
}

/* The slowest stage when each takes from `order` what it can within `most` seconds; infinite where stages are too few.
 */
static double slowest(const packer *p, const uint32_t *order, double most) {
    taken_set set = {0};
    double greatest = 0;
    for (uint32_t i = 0; i < p->work->node_count; ++i) {
        if (!add_node(&set, p->work, order[i], most, p->stages)) return INFINITY;
        greatest = fmax(greatest, set.load);
    }
    return greatest;
}

/* The least slowest stage that the order itself allows. */
static double best_of_order(const packer *p, const uint32_t *order, double low) {
    double high = p->total;
    for (double trial = low; high - low > PRECISION * high; trial = low + (high - low) / 2) {
        double reached = slowest(p, order, trial);
        if (reached <= trial)
            high = reached;
        else
            low = trial;
    }
    return high;
}

/* Makes room for the block that needs most of each; blocks are worked on one after the other. */
static ons_status *reserve(packer *p, ons_arena *arena) {
    size_t sets = 1, masks = 1, slots = 1, steps = 1, needs = 1;
    for (uint32_t b = 0; b < p->block_count; ++b) {
        uint32_t count = p->blocks[b + 1] - p->blocks[b];
        if (count < 2 || count > LARGEST_BLOCK) continue;
        size_t width = width_of(p, count), words = words_of(count), room = width * count + 1;
        if (sets < room) sets = room;
        if (masks < room * words) masks = room * words;
        if (slots < slots_of(width, count)) slots = slots_of(width, count);
        if (steps < room) steps = room;
        if (needs < count * words) needs = count * words;
    }
    ONS_NEW(p->now.sets, arena, sets);
    ONS_NEW(p->next.sets, arena, sets);
    ONS_NEW(p->now.masks, arena, masks);
    ONS_NEW(p->next.masks, arena, masks);
    ONS_NEW(p->slots, arena, slots);
    ONS_NEW(p->steps, arena, steps);
    ONS_NEW(p->needs, arena, needs);
    ONS_NEW(p->waste, arena, 2 * sets);
    ONS_NEW(p->ready, arena, LARGEST_BLOCK);
    return NULL;
}

/* Bisects the time of the slowest stage. No order is below the longest node, nor below all work shared evenly; the
 * legal order reaches `high` without any change. `order` is always one that reaches `high`. */
static ons_status *search_order(packer *p, ons_arena *arena, uint32_t *order) {
    const ons_workload *work = p->work;
    uint32_t count = work->node_count;
    double longest = 0;
    ONS_NEW(p->position, arena, (size_t)count + 1);
    ONS_NEW(p->order, arena, (size_t)count + 1);
    for (uint32_t i = 0; i < count; ++i) {
        p->position[p->legal[i]] = i;
        p->total += node_seconds(work, i);
        longest = fmax(longest, node_seconds(work, i));
    }
    memcpy(order, p->legal, count * sizeof *order);
    ONS_TRY(ons_work_edges_make(work, false, arena, &p->back));
    ONS_TRY(find_blocks(p, arena));
    if (p->branching == 0 || p->stages < 2 || !isfinite(p->total)) return NULL;
    ONS_TRY(reserve(p, arena));
    /* Nothing is below `low`; `high` was reached. */
    double low = fmax(longest, p->total / p->stages), high = best_of_order(p, order, low);
    for (double trial = low; high - low > (p->tried > LONG_WORK ? COARSE : PRECISION) * high;
         trial = low + (high - low) / 2) {
        if (!pack(p, trial)) {
            low = trial;
            continue;
        }
        memcpy(order, p->order, count * sizeof *order);
        high = slowest(p, order, trial);
    }
    return NULL;
}

ons_status *ons_work_order_pack(const ons_workload *work, const uint32_t *legal, uint32_t stages, uint32_t *order) {
    ons_arena *scratch = ons_arena_new();
    if (scratch == NULL) return ons_status_out_of_memory();
    packer p = {.work = work, .legal = legal, .stages = stages};
    ons_status *status = search_order(&p, scratch, order);
    ons_arena_free(scratch);
    return status;
}
