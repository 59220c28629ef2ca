/* The spots are kept in the order of their offsets, in blocks that know of their spots when they are alive and how far
 * apart they lie. A block of which none is alive at the time in question, or all are and no gap is wide enough, is
 * passed over as a whole: 200,000 nodes are laid out in a second instead of in a minute. */
#include "graph/first_fit.h"

#include <string.h>

enum { BLOCK_SPOTS = 512 };

typedef struct block {
    ons_spot *spots; /* BLOCK_SPOTS places */
    uint32_t count;
    uint32_t first_least, first_most, last_least, last_most; /* of the spots */
    int64_t end;                                             /* the highest of the spots */
    int64_t gap; /* the widest between a spot and the ends of all before it in the block */
} block;

struct ons_first_fit {
    block *blocks;
    uint32_t count;
    int64_t slot_bytes;
};

ons_status *ons_first_fit_new(uint32_t capacity, int64_t slot_bytes, ons_arena *arena, ons_first_fit **result) {
    ons_first_fit *fit;
    ONS_NEW(fit, arena, 1);
    /* Blocks are split when they are full, so that all but one are at least half full. */
    size_t blocks = (size_t)capacity / (BLOCK_SPOTS / 2) + 2;
    ons_spot *spots;
    ONS_NEW(fit->blocks, arena, blocks);
    ONS_NEW(spots, arena, blocks * BLOCK_SPOTS);
    for (size_t i = 0; i < blocks; ++i) fit->blocks[i].spots = spots + i * BLOCK_SPOTS;
    fit->slot_bytes = slot_bytes;
    *result = fit;
    return NULL;
}

void ons_first_fit_clear(ons_first_fit *fit) {
    for (uint32_t i = 0; i < fit->count; ++i) fit->blocks[i].count = 0;
    fit->count = 0;
}

static uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }
static uint32_t most(uint32_t a, uint32_t b) { return a > b ? a : b; }

static void summarise(block *b) {
    const ons_spot *spots = b->spots;
    *b = (block){b->spots, b->count, spots->first, spots->first, spots->last, spots->last, spots->end, 0};
    for (uint32_t i = 1; i < b->count; ++i) {
        b->first_least = least(b->first_least, spots[i].first);
        b->first_most = most(b->first_most, spots[i].first);
        b->last_least = least(b->last_least, spots[i].last);
        b->last_most = most(b->last_most, spots[i].last);
        if (spots[i].offset - b->end > b->gap) b->gap = spots[i].offset - b->end;
        if (spots[i].end > b->end) b->end = spots[i].end;
    }
}

/* Makes the upper half of a full block one of its own, behind it. */
static void split(ons_first_fit *fit, uint32_t at) {
    block spare = fit->blocks[fit->count], *full = &fit->blocks[at];
    memmove(full + 2, full + 1, (fit->count - at - 1) * sizeof *full);
    full[1] = (block){.spots = spare.spots, .count = BLOCK_SPOTS - BLOCK_SPOTS / 2};
    full->count = BLOCK_SPOTS / 2;
    memcpy(full[1].spots, full->spots + full->count, full[1].count * sizeof *full->spots);
    ++fit->count;
    summarise(full);
    summarise(full + 1);
}

/* The last block that begins at or below the offset; the first where none does. */
static uint32_t find_block(const ons_first_fit *fit, int64_t offset) {
    uint32_t low = 0, high = fit->count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (fit->blocks[middle].spots[0].offset <= offset)
            low = middle;
        else
            high = middle;
    }
    return low;
}

void ons_first_fit_add(ons_first_fit *fit, ons_spot spot) {
    if (fit->count == 0) fit->count = 1;
    uint32_t at = find_block(fit, spot.offset);
    if (fit->blocks[at].count == BLOCK_SPOTS) {
        split(fit, at);
        at = find_block(fit, spot.offset);
    }
    block *b = &fit->blocks[at];
    uint32_t place = b->count;
    while (place > 0 && b->spots[place - 1].offset > spot.offset) --place;
    memmove(b->spots + place + 1, b->spots + place, (b->count - place) * sizeof spot);
    b->spots[place] = spot;
    ++b->count;
    summarise(b);
}

/* What is looked for, and how far the search has come: nothing below `offset` will do. */
typedef struct search {
    uint32_t first, last;
    int64_t bytes, offset;
} search;

/* Whether there is no place among and before the block's spots, as far as the block as a whole can tell; the search is
 * behind it then. */
static bool pass_over(const ons_first_fit *fit, const block *b, search *s) {
    if (b->last_most < s->first || b->first_least > s->last) return true;
    bool all_alive = b->last_least >= s->first && b->first_most <= s->last;
    bool beside_slot = s->offset >= fit->slot_bytes || b->spots[b->count - 1].offset <= fit->slot_bytes;
    if (!all_alive || !beside_slot || b->spots[0].offset - s->offset >= s->bytes || b->gap >= s->bytes) return false;
    s->offset = b->end > s->offset ? b->end : s->offset;
    return true;
}

/* Whether there is a place that ends before `offset`, where the next spot that is alive begins. */
static bool fits_before(const ons_first_fit *fit, search *s, int64_t offset) {
    bool across = s->offset < fit->slot_bytes && s->offset + s->bytes > fit->slot_bytes;
    if (across && offset > fit->slot_bytes) s->offset = fit->slot_bytes;
    return offset - s->offset >= s->bytes;
}

static bool fits_in(const ons_first_fit *fit, const block *b, search *s) {
    for (const ons_spot *spot = b->spots; spot < b->spots + b->count; ++spot) {
        if (spot->last < s->first || spot->first > s->last) continue;
        if (fits_before(fit, s, spot->offset)) return true;
        if (spot->end > s->offset) s->offset = spot->end;
    }
    return false;
}

int64_t ons_first_fit_find(const ons_first_fit *fit, uint32_t first, uint32_t last, int64_t bytes, int64_t from) {
    search s = {first, last, bytes, from};
    for (uint32_t i = 0; i < fit->count; ++i) {
        const block *b = &fit->blocks[i];
        if (!pass_over(fit, b, &s) && fits_in(fit, b, &s)) return s.offset;
    }
    fits_before(fit, &s, INT64_MAX);
    return s.offset;
}
