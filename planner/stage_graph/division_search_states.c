#include "planner/stage_graph/division_search_states.h"

#include <stdlib.h>

enum { FIRST_SLOTS = 1 << 10 };

typedef struct ons_states_slot slot;

bool ons_states_make(ons_states *s) {
    *s = (ons_states){.capacity = FIRST_SLOTS, .round = 1};
    s->slots = calloc(FIRST_SLOTS, sizeof *s->slots);
    return s->slots != NULL;
}

void ons_states_free(ons_states *s) { free(s->slots); }

void ons_states_forget(ons_states *s) {
    ++s->round;
    s->count = 0;
}

/* Packs a state into bits; the widths are the bounds that stand beside its fields (division_search_states.h), so that
 * two states never share a key. */
static void make_key(const ons_state *s, uint64_t key[2]) {
    key[0] = (uint64_t)s->part << 42 | (uint64_t)s->from << 26 | (uint64_t)s->to << 10 | s->devices;
    key[1] = (uint64_t)s->next_in_flight << 16 | (uint64_t)s->next_pace << 8 | s->own_pace;
}

/* Open addressing: the slot of the key, or the free one where it would go. Slots of earlier rounds count as free, which
 * makes forgetting all states O(1). */
static slot *find(slot *slots, uint32_t capacity, uint32_t round, const uint64_t key[2]) {
    uint64_t at = (key[0] ^ (key[1] * 0xff51afd7ed558ccdu)) * 0x9e3779b97f4a7c15u;
    at ^= at >> 32;
    for (;; ++at) {
        slot *x = &slots[at & (capacity - 1)];
        if (x->round != round || (x->key[0] == key[0] && x->key[1] == key[1])) return x;
    }
}

bool ons_states_get(const ons_states *s, const ons_state *state, ons_found *found) {
    uint64_t key[2];
    make_key(state, key);
    const slot *x = find(s->slots, s->capacity, s->round, key);
    if (x->round != s->round) return false;
    *found = x->found;
    return true;
}

static bool grow(ons_states *s) {
    slot *larger = calloc((size_t)s->capacity * 2, sizeof *larger);
    if (larger == NULL) return false;
    for (uint32_t i = 0; i < s->capacity; ++i)
        if (s->slots[i].round == s->round) *find(larger, s->capacity * 2, s->round, s->slots[i].key) = s->slots[i];
    free(s->slots);
    s->slots = larger;
    s->capacity *= 2;
    return true;
}

bool ons_states_put(ons_states *s, const ons_state *state, ons_found found) {
    uint64_t key[2];
    if (s->count >= s->capacity / 2 && !grow(s)) return false;
    make_key(state, key);
    slot *x = find(s->slots, s->capacity, s->round, key);
    if (x->round != s->round) ++s->count;
    *x = (slot){{key[0], key[1]}, found, s->round};
    return true;
}
