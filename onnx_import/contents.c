#include "onnx_import/contents.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    BITS_ENOUGH = 48,       /* of different numbers, beyond chance */
    BITS_TELLING = 20,      /* of a random float32 */
    BITS_PLAIN = 8,         /* of a number with few digits */
    DIFFERENT_MAX = 8,      /* numbers that are counted: more tell no more */
    PLAIN_MASK = 0xfff,     /* the last digits of a float32 that a plain number does not have */
    ANCHORS_MAX = 64,       /* places where a view may begin that are tried */
    STEP_MAX = 3,           /* of a slice */
    LOOKED_AT = 1 << 16,    /* elements of a large tensor */
    ELEMENTS_MAX = 1 << 22, /* that are searched for repeats */
    DIFFERENT_ALONE = 512,  /* numbers of which no two are equal by chance: one time in a hundred and thirty */
    CHANCE_BITS = 25,       /* n numbers are equal in n² / 2^25 pairs by chance */
};

/* --------------------------------------------------------------------------------------------------------- elements */

static uint64_t bits_at(const ons_tensor *tensor, int64_t index) {
    size_t size = ons_dtype_size(tensor->type.dtype);
    uint64_t bits = 0;
    memcpy(&bits, (const char *)tensor->data + (size_t)index * size, size); /* little-endian, at any alignment */
    return bits;
}

/* Zeros, ones, quarters, and all numbers of half precision. */
static bool is_plain(ons_dtype dtype, uint64_t bits) {
    if (dtype == ONS_FLOAT64) return (bits & 0xfffffffful) == 0;
    return dtype != ONS_FLOAT32 || (bits & PLAIN_MASK) == 0;
}

/* Bits by which the elements, `stride` apart, differ from chance; counted until they are enough. */
static int count_bits(const ons_tensor *tensor, int64_t elements) {
    uint64_t seen[DIFFERENT_MAX];
    int different = 0, bits = 0;
    for (int64_t i = 0; i < elements && different < DIFFERENT_MAX && bits < BITS_ENOUGH; ++i) {
        uint64_t here = bits_at(tensor, i);
        bool new = true;
        for (int k = 0; k < different && new; ++k) new = seen[k] != here;
        if (!new) continue;
        seen[different++] = here;
        bits += is_plain(tensor->type.dtype, here) ? BITS_PLAIN : BITS_TELLING;
    }
    return bits;
}

bool ons_contents_tell(const ons_tensor *tensor) {
    return count_bits(tensor, ons_shape_elements(&tensor->type.shape)) >= BITS_ENOUGH;
}

bool ons_contents_are_plain(const ons_tensor *tensor) {
    int64_t elements = ons_shape_elements(&tensor->type.shape), plain = 0;
    elements = elements < LOOKED_AT ? elements : LOOKED_AT;
    for (int64_t i = 0; i < elements; ++i) plain += is_plain(tensor->type.dtype, bits_at(tensor, i));
    return 2 * plain > elements;
}

/* ------------------------------------------------------------------------------------------------------------ views */

/* A view that is being looked for. */
typedef struct view {
    const ons_tensor *whole, *part;
    int64_t elements; /* of the whole */
    int64_t offset;
    int64_t *strides;
} view;

static int64_t stride_of(const ons_shape *shape, uint32_t axis) {
    int64_t stride = 1;
    for (uint32_t i = axis + 1; i < shape->rank; ++i) stride *= shape->dims[i];
    return stride;
}

/* Whether the part's elements along one axis, from the first on, lie `stride` apart in the whole. */
static bool fits_along(const view *v, uint32_t axis, int64_t stride) {
    const ons_shape *shape = &v->part->type.shape;
    int64_t own = stride_of(shape, axis), last = v->offset + stride * (shape->dims[axis] - 1);
    if (last < 0 || last >= v->elements) return false;
    bool fits = true;
    for (int64_t i = 1; i < shape->dims[axis] && fits; ++i)
        fits = bits_at(v->part, i * own) == bits_at(v->whole, v->offset + i * stride);
    return fits;
}

static bool fits_everywhere(const view *v) {
    const ons_shape *shape = &v->part->type.shape;
    int64_t index[ONS_RANK_MAX] = {0}, place = v->offset;
    for (int64_t k = 0, n = ons_shape_elements(shape); k < n; ++k) {
        if (place < 0 || place >= v->elements || bits_at(v->part, k) != bits_at(v->whole, place)) return false;
        for (uint32_t axis = shape->rank; axis-- > 0;) { /* the next index */
            place += v->strides[axis];
            if (++index[axis] < shape->dims[axis]) break;
            place -= v->strides[axis] * shape->dims[axis];
            index[axis] = 0;
        }
    }
    return true;
}

/* The strides of the whole's axes, forwards and backwards, and by several at once. */
static bool choose_stride(view *v, uint32_t axis, bool used[static ONS_RANK_MAX]) {
    const ons_shape *whole = &v->whole->type.shape;
    for (int64_t step = 1; step <= STEP_MAX; ++step)
        for (uint32_t i = whole->rank; i-- > 0;)
            for (int sign = 1; sign >= -1; sign -= 2) {
                int64_t stride = sign * step * stride_of(whole, i);
                if (used[i] || whole->dims[i] < v->part->type.shape.dims[axis] || !fits_along(v, axis, stride))
                    continue;
                used[i] = true;
                v->strides[axis] = stride;
                return true;
            }
    return false;
}

static bool fits_at(view *v, int64_t offset) {
    const ons_shape *shape = &v->part->type.shape;
    bool used[ONS_RANK_MAX] = {false}, fits = true;
    v->offset = offset;
    for (uint32_t axis = shape->rank; axis-- > 0 && fits;) {
        v->strides[axis] = 0;
        fits = shape->dims[axis] == 1 || choose_stride(v, axis, used);
    }
    return fits && fits_everywhere(v);
}

bool ons_contents_find_view(const ons_tensor *whole, const ons_tensor *part, int64_t *offset,
                            int64_t strides[static ONS_RANK_MAX]) {
    view v = {.whole = whole, .part = part, .elements = ons_shape_elements(&whole->type.shape), .strides = strides};
    if (whole->type.dtype != part->type.dtype || v.elements < ons_shape_elements(&part->type.shape) ||
        !ons_contents_tell(part))
        return false;
    uint64_t first = bits_at(part, 0);
    int tried = 0;
    for (int64_t i = 0; i < v.elements && tried < ANCHORS_MAX; ++i) {
        if (bits_at(whole, i) != first) continue;
        *offset = i;
        if (fits_at(&v, i)) return true;
        ++tried;
    }
    return false;
}

/* ---------------------------------------------------------------------------------------------------------- repeats */

/* The elements as vectors along some of the axes, at places along the others. */
typedef struct vectors {
    const ons_tensor *tensor;
    int64_t *place, *along; /* offsets of each place, and of each element of a vector */
    int64_t places, length;
} vectors;

/* All offsets along the axes that are marked. */
static int64_t list_offsets(const ons_shape *shape, uint32_t axes, int64_t *offsets) {
    int64_t count = 1;
    offsets[0] = 0;
    for (uint32_t axis = 0; axis < shape->rank; ++axis) {
        if ((axes >> axis & 1) == 0) continue;
        int64_t stride = stride_of(shape, axis), dim = shape->dims[axis];
        for (int64_t k = count; k-- > 0;) /* each becomes `dim` ones, from the last on */
            for (int64_t i = dim; i-- > 0;) offsets[k * dim + i] = offsets[k] + i * stride;
        count *= dim;
    }
    return count;
}

static uint64_t hash_vector(const vectors *v, int64_t place) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (int64_t i = 0; i < v->length; ++i) {
        hash = (hash ^ bits_at(v->tensor, v->place[place] + v->along[i])) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    return hash;
}

static bool is_equal(const vectors *v, int64_t a, int64_t b) {
    bool equal = true;
    for (int64_t i = 0; i < v->length && equal; ++i)
        equal = bits_at(v->tensor, v->place[a] + v->along[i]) == bits_at(v->tensor, v->place[b] + v->along[i]);
    return equal;
}

/* Vectors of nothing but plain numbers are equal for no reason. */
static bool is_telling(const vectors *v, int64_t place) {
    int64_t needed = ons_dtype_size(v->tensor->type.dtype) < 4 ? 6 : 1, telling = 0;
    uint64_t last = 0;
    for (int64_t i = 0; i < v->length && telling < needed; ++i) {
        uint64_t bits = bits_at(v->tensor, v->place[place] + v->along[i]);
        bool half = ons_dtype_size(v->tensor->type.dtype) < 4;
        telling += half ? (i == 0 || bits != last) && bits != 0 : !is_plain(v->tensor->type.dtype, bits);
        last = bits;
    }
    return telling >= needed;
}

/* Gives each place the number of the first place with its vector; returns how many there are. `slots` has 2^bits. */
static int64_t number_places(const vectors *v, int64_t *slots, int bits, int64_t *number) {
    int64_t count = 0;
    uint64_t mask = ((uint64_t)1 << bits) - 1;
    memset(slots, 0xff, (size_t)(mask + 1) * sizeof *slots);
    for (int64_t p = 0; p < v->places; ++p) {
        uint64_t slot = hash_vector(v, p) & mask;
        while (slots[slot] >= 0 && !is_equal(v, slots[slot], p)) slot = (slot + 1) & mask;
        bool before = slots[slot] >= 0 && is_telling(v, p);
        if (slots[slot] < 0) slots[slot] = p;
        number[p] = before ? number[slots[slot]] : count++;
    }
    return count;
}

/* The best way found so far to say which are the same. */
typedef struct choice {
    int64_t unique; /* numbers */
    int64_t length; /* of the vectors */
    int64_t *index; /* of each element */
} choice;

typedef struct repeat_search {
    const ons_tensor *tensor;
    int64_t elements;
    int64_t *place, *along, *slots, *number;
    int bits;
    choice best, alone; /* by vectors of several elements; by single ones */
} repeat_search;

static void fill_index(const vectors *v, const int64_t *number, int64_t *index) {
    for (int64_t p = 0; p < v->places; ++p)
        for (int64_t i = 0; i < v->length; ++i) index[v->place[p] + v->along[i]] = number[p] * v->length + i;
}

static void try_axes(repeat_search *s, uint32_t axes) {
    const ons_shape *shape = &s->tensor->type.shape;
    vectors v = {.tensor = s->tensor, .place = s->place, .along = s->along};
    v.length = list_offsets(shape, axes, s->along);
    v.places = list_offsets(shape, ~axes, s->place);
    int64_t unique = number_places(&v, s->slots, s->bits, s->number) * v.length;
    choice *into = v.length > 1 ? &s->best : &s->alone;
    bool better = unique < into->unique || (unique == into->unique && v.length > into->length);
    if (!better || unique == s->elements) return;
    into->unique = unique;
    into->length = v.length;
    fill_index(&v, s->number, into->index);
}

/* Whether index[i, j] can be told from the order alone: a symmetric matrix, or one that is the same along diagonals. */
static bool has_order(const ons_tensor *tensor, bool (*same)(const ons_tensor *tensor, int64_t i, int64_t j)) {
    const ons_shape *shape = &tensor->type.shape;
    if (shape->rank != 2 || shape->dims[0] < 3 || shape->dims[1] < 3) return false;
    bool all = true;
    for (int64_t i = 0; i < shape->dims[0] && all; ++i)
        for (int64_t j = 0; j < shape->dims[1] && all; ++j) all = same(tensor, i, j);
    return all;
}

static bool is_same_mirrored(const ons_tensor *t, int64_t i, int64_t j) {
    int64_t n = t->type.shape.dims[1];
    return t->type.shape.dims[0] == n && bits_at(t, i * n + j) == bits_at(t, j * n + i);
}

static bool is_same_diagonal(const ons_tensor *t, int64_t i, int64_t j) {
    int64_t n = t->type.shape.dims[1];
    return i == 0 || j == 0 || bits_at(t, i * n + j) == bits_at(t, (i - 1) * n + j - 1);
}

static bool is_same_across(const ons_tensor *t, int64_t i, int64_t j) {
    int64_t n = t->type.shape.dims[1];
    return i == 0 || j == n - 1 || bits_at(t, i * n + j) == bits_at(t, (i - 1) * n + j + 1);
}

static double chance_of(double numbers) { return numbers * numbers / (double)(1 << CHANCE_BITS); }

/* Whether single numbers can be told from each other. */
static bool tell_alone(const repeat_search *s) {
    if (ons_dtype_size(s->tensor->type.dtype) < 4) return false;
    return s->alone.unique <= DIFFERENT_ALONE || has_order(s->tensor, is_same_mirrored) ||
           has_order(s->tensor, is_same_diagonal) || has_order(s->tensor, is_same_across);
}

/* Vectors if they say all that single numbers say, apart from what chance says. */
static ons_repeats choose_repeats(const repeat_search *s, const choice **chosen) {
    bool half = ons_dtype_size(s->tensor->type.dtype) < 4;
    double chance = 4 * chance_of((double)s->elements) + 2;
    bool by_vectors = s->best.unique < s->elements;
    bool more = !half && (double)s->alone.unique + chance < (double)s->best.unique;
    *chosen = more ? &s->alone : &s->best;
    if (more) return tell_alone(s) ? ONS_REPEATS_FOUND : ONS_REPEATS_UNSURE;
    if (by_vectors) return ONS_REPEATS_FOUND;
    bool few = !half && s->alone.unique < s->elements && s->elements <= DIFFERENT_ALONE; /* of so few none is chance */
    *chosen = &s->alone;
    return few ? ONS_REPEATS_FOUND : ONS_REPEATS_NONE;
}

/* ---- a margin of zeros */

/* The box outside of which all is zero: its first index and the one behind its last, along each axis. */
static bool find_margin(const ons_tensor *tensor, int64_t begin[static ONS_RANK_MAX],
                        int64_t end[static ONS_RANK_MAX]) {
    const ons_shape *shape = &tensor->type.shape;
    bool margin = false;
    for (uint32_t axis = 0; axis < shape->rank; ++axis) {
        int64_t stride = stride_of(shape, axis), dim = shape->dims[axis];
        begin[axis] = dim;
        end[axis] = 0;
        for (int64_t k = 0, n = ons_shape_elements(shape); k < n; ++k) {
            int64_t i = k / stride % dim;
            if (bits_at(tensor, k) == 0) continue;
            if (i < begin[axis]) begin[axis] = i;
            if (i >= end[axis]) end[axis] = i + 1;
        }
        margin |= begin[axis] > 0 || end[axis] < dim;
    }
    return margin;
}

static int64_t mark_margin(const ons_tensor *tensor, int64_t *index, int64_t count) {
    const ons_shape *shape = &tensor->type.shape;
    int64_t begin[ONS_RANK_MAX], end[ONS_RANK_MAX], elements = ons_shape_elements(shape), kept = 0;
    if (!find_margin(tensor, begin, end)) return count;
    for (int64_t k = 0; k < elements; ++k)
        for (uint32_t axis = 0; axis < shape->rank; ++axis) {
            int64_t i = k / stride_of(shape, axis) % shape->dims[axis];
            if (i < begin[axis] || i >= end[axis]) index[k] = -1;
        }
    int64_t *fresh = malloc((size_t)(count + 1) * sizeof *fresh); /* numbers of those that are left */
    if (fresh == NULL) return -1;
    for (int64_t i = 0; i < count; ++i) fresh[i] = -1;
    for (int64_t k = 0; k < elements; ++k) {
        if (index[k] < 0) continue;
        if (fresh[index[k]] < 0) fresh[index[k]] = kept++;
        index[k] = fresh[index[k]];
    }
    free(fresh);
    return kept;
}

/* ---- all */

static ons_status *prepare(repeat_search *s, ons_arena *arena) {
    size_t count = (size_t)s->elements + 1;
    for (s->bits = 2; (1ll << s->bits) < 2 * s->elements; ++s->bits) continue;
    s->best.unique = s->alone.unique = s->elements;
    s->place = malloc(count * sizeof *s->place);
    s->along = malloc(count * sizeof *s->along);
    s->number = malloc(count * sizeof *s->number);
    s->slots = malloc(sizeof *s->slots << s->bits);
    s->best.index = ons_arena_allocate(arena, count, sizeof *s->best.index);
    s->alone.index = ons_arena_allocate(arena, count, sizeof *s->alone.index);
    bool all = s->place && s->along && s->number && s->slots && s->best.index && s->alone.index;
    return all ? NULL : ons_status_out_of_memory();
}

static ons_status *search(repeat_search *s, bool padded, ons_repeats *found, int64_t **index, int64_t *count) {
    const choice *chosen;
    uint32_t all = (1u << s->tensor->type.shape.rank) - 1;
    for (uint32_t axes = 0; axes < all; ++axes) try_axes(s, axes);
    *found = choose_repeats(s, &chosen);
    *index = chosen->index;
    *count = chosen->unique;
    if (*found == ONS_REPEATS_NONE && padded) {
        for (int64_t k = 0; k < s->elements; ++k) (*index)[k] = k;
        *count = s->elements;
    }
    if (*found == ONS_REPEATS_UNSURE || !padded) return NULL;
    int64_t kept = mark_margin(s->tensor, *index, *count);
    if (kept < 0) return ons_status_out_of_memory();
    if (kept < *count) *found = ONS_REPEATS_FOUND;
    *count = kept;
    return NULL;
}

ons_status *ons_contents_find_repeats(const ons_tensor *tensor, bool padded, ons_arena *arena, ons_repeats *found,
                                      int64_t **index, int64_t *count) {
    repeat_search s = {.tensor = tensor, .elements = ons_shape_elements(&tensor->type.shape)};
    *found = ONS_REPEATS_NONE;
    if (s.elements < 2 || tensor->type.shape.rank == 0 || !ons_contents_tell(tensor)) return NULL;
    if (s.elements > ELEMENTS_MAX) {
        *found = ONS_REPEATS_UNSURE;
        return NULL;
    }
    ons_status *status = prepare(&s, arena);
    if (status == NULL) status = search(&s, padded, found, index, count);
    free(s.place);
    free(s.along);
    free(s.number);
    free(s.slots);
    return status;
}

/* ---------------------------------------------------------------------------------------------------------- overlap */

/* Whether two tables have more numbers in common than the `expected` ones that chance gives. */
static bool are_beyond_chance(int64_t common, double expected) {
    const double needed = expected < 1e-4 ? 1 : expected < 1e-2 ? 2 : 3 + 8 * expected;
    return (double)common >= needed;
}

/* Whether one ends with the number that the other begins with, as slices of a line do. */
static bool touches(const ons_tensor *a, const ons_tensor *b) {
    int64_t count = ons_shape_elements(&a->type.shape), most = ons_shape_elements(&b->type.shape);
    if (count == 0 || most == 0) return false;
    bool touching = false;
    for (int64_t k = 1; k <= 2 && k <= count && k <= most && !touching; ++k) {
        touching = true;
        for (int64_t i = 0; i < k && touching; ++i)
            touching = bits_at(a, count - k + i) == bits_at(b, i) && !is_plain(a->type.dtype, bits_at(b, i));
    }
    return touching;
}

ons_status *ons_contents_overlap(const ons_tensor *a, const ons_tensor *b, bool *overlap) {
    enum { SLOT_BITS = 17 };
    const uint64_t mask = (1u << SLOT_BITS) - 1;
    int64_t na = ons_shape_elements(&a->type.shape), nb = ons_shape_elements(&b->type.shape), common = 0, different = 0;
    *overlap = false;
    if (a->type.dtype != b->type.dtype || ons_dtype_size(a->type.dtype) < 4) return NULL;
    uint64_t *slots = calloc(mask + 1, sizeof *slots);
    if (slots == NULL) return ons_status_out_of_memory();
    na = na < LOOKED_AT ? na : LOOKED_AT;
    nb = nb < LOOKED_AT ? nb : LOOKED_AT;
    for (int64_t i = 0; i < na; ++i) {
        uint64_t bits = bits_at(a, i), slot = bits * 0x9e3779b97f4a7c15u >> (64 - SLOT_BITS);
        if (is_plain(a->type.dtype, bits)) continue;
        while (slots[slot] != 0 && slots[slot] != bits) slot = (slot + 1) & mask;
        different += slots[slot] == 0;
        slots[slot] = bits;
    }
    if (2 * different < na) nb = 0; /* numbers of few kinds, as of a quantised weight, are equal anyway */
    for (int64_t i = 0; i < nb; ++i) {
        uint64_t bits = bits_at(b, i), slot = bits * 0x9e3779b97f4a7c15u >> (64 - SLOT_BITS);
        if (is_plain(a->type.dtype, bits)) continue;
        while (slots[slot] != 0 && slots[slot] != bits) slot = (slot + 1) & mask;
        common += slots[slot] == bits;
    }
    free(slots);
    *overlap = are_beyond_chance(common, (double)na * (double)nb / (double)(1 << (CHANCE_BITS - 1))) || touches(a, b) ||
               touches(b, a);
    return NULL;
}
