#include "engine/plan/arena_search.h"

#include <stdbool.h>

enum { ATTEMPTS = 6, UNUSED = 64 };

typedef struct search {
    const ons_arena_search_options *o;
    int64_t fits, fails; /* the largest capacity whose plan fits, 0: none; the smallest whose plan does not */
    int64_t last, bytes; /* the last one that was tried, and what it took */
    int64_t least;       /* 0: not known */
    int64_t stride;      /* how many times the difference to go on: doubled while plans stay on one side of the cap */
    bool fitted;         /* the last plan did */
} search;

static ons_status *try_capacity(search *s, int64_t capacity) {
    s->last = capacity;
    ONS_TRY(s->o->attempt(s->o->context, capacity, &s->bytes));
    if (s->bytes == INT64_MAX) return NULL; /* less than the least */
    bool fitted = s->bytes <= s->o->cap;
    s->stride = s->stride > 0 && fitted == s->fitted ? 2 * s->stride : 1;
    s->fitted = fitted;
    if (s->bytes > s->o->cap)
        s->fails = capacity < s->fails ? capacity : s->fails;
    else
        s->fits = capacity > s->fits ? capacity : s->fits;
    return NULL;
}

static ons_status *find_least(search *s) { return s->least > 0 ? NULL : s->o->least(s->o->context, &s->least); }

/* By how much the next capacity differs from the last: by what that plan left unused or took too much, and by ever more
 * while the plans stay on one side, since plans change in steps. */
static int64_t find_change(const search *s) {
    int64_t change = s->stride * (s->o->cap - s->bytes), step = s->stride / 2 * (s->o->cap / UNUSED);
    if (change < 0) return change < -step ? change : -step;
    return change;
}

/* Between what is known already. */
static ons_status *find_next(search *s, int64_t *next) {
    *next = s->bytes == INT64_MAX ? 0 : s->last + find_change(s);
    if (*next <= 0) ONS_TRY(find_least(s));
    int64_t low = s->fits > 0 ? s->fits : s->least;
    if (s->bytes == INT64_MAX) *next = s->least;
    if (*next < s->least) *next = s->least;
    if (*next >= s->fails || *next < low) *next = low + (s->fails - low) / 2;
    return NULL;
}

/* Planning again is worth it as long as more than this share of the cap stays unused. */
static bool is_good(const search *s) { return s->bytes <= s->o->cap && s->o->cap - s->bytes <= s->o->cap / UNUSED; }

ons_status *ons_arena_search(const ons_arena_search_options *options, int64_t *bytes) {
    search s = {.o = options, .fails = INT64_MAX / 2, .last = -1};
    int64_t next = options->cap;
    for (int attempt = 0; attempt < ATTEMPTS && next != s.last && next != s.fits; ++attempt) {
        ONS_TRY(try_capacity(&s, next));
        if (is_good(&s)) break;
        ONS_TRY(find_next(&s, &next));
    }
    if (s.fits == 0) ONS_TRY(find_least(&s));
    int64_t best = s.fits > 0 ? s.fits : s.least;
    if (s.last != best) ONS_TRY(try_capacity(&s, best));
    *bytes = s.bytes;
    return NULL;
}
