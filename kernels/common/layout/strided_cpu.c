#include "kernels/common/layout/strided.h"

#include <omp.h>

#include "kernels/common/layout/channels.h"

enum { TILE = 16 };

ons_strided ons_strided_dense(ons_dtype dtype, const ons_shape *shape) {
    ons_strided s = {.rank = shape->rank, .size = ons_dtype_size(dtype)};
    memcpy(s.dims, shape->dims, sizeof shape->dims);
    ons_dense_strides(shape, s.from);
    ons_dense_strides(shape, s.to);
    return s;
}

ons_strided ons_strided_box(ons_dtype dtype, const ons_shape *dims, ons_layout layout, const int64_t *from,
                            const int64_t *to) {
    ons_strided s = {.rank = dims->rank, .size = ons_dtype_size(dtype)};
    for (uint32_t place = 0; place < s.rank; ++place) {
        uint32_t axis = ons_channels_axis(layout, s.rank, place);
        s.dims[place] = dims->dims[axis];
        s.from[place] = from[axis];
        s.to[place] = to[axis];
    }
    return s;
}

static void move_axis_to_end(ons_strided *s, uint32_t axis) {
    int64_t dim = s->dims[axis], from = s->from[axis], to = s->to[axis];
    for (uint32_t i = axis; i + 1 < s->rank; ++i) {
        s->dims[i] = s->dims[i + 1];
        s->from[i] = s->from[i + 1];
        s->to[i] = s->to[i + 1];
    }
    s->dims[s->rank - 1] = dim;
    s->from[s->rank - 1] = from;
    s->to[s->rank - 1] = to;
}

/* Drops axes of one element and joins neighbours that are one axis on both sides. */
static void join_axes(ons_strided *s) {
    uint32_t rank = 0;
    for (uint32_t i = 0; i < s->rank; ++i) {
        if (s->dims[i] == 1) continue;
        int64_t dim = s->dims[i], from = s->from[i], to = s->to[i];
        if (rank > 0 && s->from[rank - 1] == from * dim && s->to[rank - 1] == to * dim) {
            s->dims[rank - 1] *= dim;
            s->from[rank - 1] = from;
            s->to[rank - 1] = to;
            continue;
        }
        s->dims[rank] = dim;
        s->from[rank] = from;
        s->to[rank] = to;
        ++rank;
    }
    s->rank = rank;
}

static void add_front_axis(ons_strided *s) {
    for (uint32_t i = s->rank; i > 0; --i) {
        s->dims[i] = s->dims[i - 1];
        s->from[i] = s->from[i - 1];
        s->to[i] = s->to[i - 1];
    }
    s->dims[0] = 1;
    s->from[0] = s->to[0] = 0;
    ++s->rank;
}

/* The axis along which one side is contiguous; rank where there is none. */
static uint32_t contiguous_axis(const ons_strided *s, const int64_t *strides) {
    for (uint32_t i = s->rank; i-- > 0;)
        if (strides[i] == 1) return i;
    return s->rank;
}

void ons_strided_plan(ons_strided *s) {
    join_axes(s);
    while (s->rank < 2) add_front_axis(s);
    uint32_t writes = contiguous_axis(s, s->to), reads = contiguous_axis(s, s->from);
    uint32_t last = writes < s->rank ? writes : reads < s->rank ? reads : s->rank - 1;
    bool repeats = writes < s->rank && s->from[writes] == 0; /* one element a row: nothing to transpose */
    s->tiles = writes < s->rank && reads < s->rank && s->from[writes] != 1 && s->to[reads] != 1 && !repeats;
    if (s->tiles) {
        move_axis_to_end(s, reads);
        writes -= reads < writes;
        last = writes;
    }
    move_axis_to_end(s, last);
}

/* ---- inner loops: `rows` × `columns` elements */

typedef struct block {
    int64_t rows, columns;
    int64_t from_row, to_row;       /* distances of rows */
    int64_t from_column, to_column; /* distances of columns */
} block;

/* Rows that follow each other on one side lie apart on the other, where the processor does not foresee them: they are
 * fetched some rows before. */
static void copy_whole_rows(const block *b, size_t size, const char *from, char *to) {
    enum { LINE = 64, AHEAD = 2048 };
    int64_t bytes = b->columns * (int64_t)size, from_row = b->from_row * (int64_t)size,
            to_row = b->to_row * (int64_t)size;
    int64_t ahead = bytes < LINE || bytes > AHEAD ? 0 : AHEAD / bytes;
    for (int64_t r = 0; r < b->rows; ++r) {
        for (int64_t at = 0; ahead > 0 && r + ahead < b->rows && at < bytes; at += LINE) {
            __builtin_prefetch(from + (r + ahead) * from_row + at, 0);
            __builtin_prefetch(to + (r + ahead) * to_row + at, 1);
        }
        memcpy(to + r * to_row, from + r * from_row, (size_t)bytes);
    }
}

/* Element `i` of memory in which all have one size; they are moved, not looked at. */
typedef uint64_t load_element(const void *from, int64_t i);
typedef void store_element(void *to, int64_t i, uint64_t element);

#define DEFINE_ELEMENT(BITS)                                                                                           \
    static inline uint64_t load_##BITS(const void *from, int64_t i) { return ((const uint##BITS##_t *)from)[i]; }      \
    static inline void store_##BITS(void *to, int64_t i, uint64_t element) {                                           \
        ((uint##BITS##_t *)to)[i] = (uint##BITS##_t)element;                                                           \
    }

DEFINE_ELEMENT(8)
DEFINE_ELEMENT(16)
DEFINE_ELEMENT(32)
DEFINE_ELEMENT(64)

/* The loops below are compiled for each size, with bounds that the elements cannot lie over. */
__attribute__((always_inline)) static inline void copy_rows_by(const block b, const void *from, void *to,
                                                               load_element *load, store_element *store) {
    for (int64_t r = 0; r < b.rows; ++r) {
        int64_t source = r * b.from_row, target = r * b.to_row;
        if (b.from_column == 0 && b.to_column == 1) {
            uint64_t element = load(from, source);
            for (int64_t c = 0; c < b.columns; ++c) store(to, target + c, element);
        } else {
            for (int64_t c = 0; c < b.columns; ++c)
                store(to, target + c * b.to_column, load(from, source + c * b.from_column));
        }
    }
}

/* The part of a transposition that fills no whole register block. Rows are contiguous in `from`, columns in `to`. */
__attribute__((always_inline)) static inline void transpose_by(const block b, const void *from, void *to,
                                                               load_element *load, store_element *store) {
    for (int64_t r = 0; r < b.rows; ++r)
        for (int64_t c = 0; c < b.columns; ++c) store(to, r * b.to_row + c, load(from, c * b.from_column + r));
}

typedef uint32_t lanes8 __attribute__((vector_size(32)));

/* 8 × 8 elements of four bytes: pairs, then pairs of pairs, then halves change places. */
static inline void transpose_8x8(const uint32_t *restrict from, int64_t from_column, uint32_t *restrict to,
                                 int64_t to_row) {
    lanes8 a[8], b[8];
    for (int i = 0; i < 8; ++i) memcpy(&a[i], from + i * from_column, sizeof a[i]);
    for (int i = 0; i < 8; i += 2) {
        b[i] = __builtin_shufflevector(a[i], a[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
        b[i + 1] = __builtin_shufflevector(a[i], a[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    }
    for (int i = 0; i < 8; i += 4)
        for (int k = 0; k < 2; ++k) {
            a[i + k] = __builtin_shufflevector(b[i + k], b[i + k + 2], 0, 1, 8, 9, 4, 5, 12, 13);
            a[i + k + 2] = __builtin_shufflevector(b[i + k], b[i + k + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        }
    for (int i = 0; i < 4; ++i) {
        b[i] = __builtin_shufflevector(a[i], a[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        b[i + 4] = __builtin_shufflevector(a[i], a[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
    for (int i = 0; i < 8; ++i) memcpy(to + i * to_row, &b[i], sizeof b[i]);
}

static void transpose_words(const block *b, const uint32_t *from, uint32_t *to) {
    if (b->rows == TILE && b->columns == TILE) {
        for (int r = 0; r < TILE; r += 8)
            for (int c = 0; c < TILE; c += 8)
                transpose_8x8(from + c * b->from_column + r, b->from_column, to + r * b->to_row + c, b->to_row);
    } else {
        transpose_by(*b, from, to, load_32, store_32);
    }
}

static void copy_tile(size_t size, const block *b, const char *from, char *to) {
    switch (size) {
    case 1: transpose_by(*b, from, to, load_8, store_8); break;
    case 2: transpose_by(*b, from, to, load_16, store_16); break;
    case 4: transpose_words(b, (const uint32_t *)from, (uint32_t *)to); break;
    default: transpose_by(*b, from, to, load_64, store_64); break;
    }
}

/* Narrow tiles, as groups of channels and blocks of pixels have: `width` is the distance of columns in `from`, or all
 * columns of a row of `to`. The loops are compiled for each width, so that vectors are separated and interleaved. */
__attribute__((always_inline)) static inline void separate_rows(const block *b, const uint32_t *restrict from,
                                                                uint32_t *restrict to, int64_t width) {
    for (int64_t r = 0; r < b->rows; ++r)
        for (int64_t c = 0, columns = b->columns, at = r * b->to_row; c < columns; ++c)
            to[at + c] = from[c * width + r];
}
__attribute__((always_inline)) static inline void interleave_columns(const block *b, const uint32_t *restrict from,
                                                                     uint32_t *restrict to, int64_t width) {
    for (int64_t r = 0, rows = b->rows, from_column = b->from_column; r < rows; ++r)
        for (int64_t c = 0; c < width; ++c) to[r * width + c] = from[c * from_column + r];
}

static bool separate(const block *b, const uint32_t *from, uint32_t *to) {
    if (b->rows > b->from_column) return false;
    switch (b->from_column) {
    case 2: separate_rows(b, from, to, 2); return true;
    case 3: separate_rows(b, from, to, 3); return true;
    case 4: separate_rows(b, from, to, 4); return true;
    default: return false;
    }
}

static bool interleave(const block *b, const uint32_t *from, uint32_t *to) {
    if (b->columns != b->to_row) return false;
    switch (b->columns) {
    case 2: interleave_columns(b, from, to, 2); return true;
    case 3: interleave_columns(b, from, to, 3); return true;
    case 4: interleave_columns(b, from, to, 4); return true;
    default: return false;
    }
}

static void copy_tiles(size_t size, const block *b, const char *from, char *to) {
    bool words = size == sizeof(uint32_t);
    if (words && (separate(b, (const void *)from, (void *)to) || interleave(b, (const void *)from, (void *)to))) return;
    for (int64_t r = 0; r < b->rows; r += TILE)
        for (int64_t c = 0; c < b->columns; c += TILE) {
            block tile = *b;
            tile.rows = b->rows - r < TILE ? b->rows - r : TILE;
            tile.columns = b->columns - c < TILE ? b->columns - c : TILE;
            int64_t from_offset = r * b->from_row + c * b->from_column, to_offset = r * b->to_row + c * b->to_column;
            copy_tile(size, &tile, from + from_offset * (int64_t)size, to + to_offset * (int64_t)size);
        }
}

static void copy_rows(size_t size, const block *b, const char *from, char *to) {
    if (b->from_column == 1 && b->to_column == 1) {
        copy_whole_rows(b, size, from, to);
        return;
    }
    switch (size) {
    case 1: copy_rows_by(*b, from, to, load_8, store_8); break;
    case 2: copy_rows_by(*b, from, to, load_16, store_16); break;
    case 4: copy_rows_by(*b, from, to, load_32, store_32); break;
    default: copy_rows_by(*b, from, to, load_64, store_64); break;
    }
}

/* Units of work [begin, end): a row, or TILE rows, of one combination of the outer axes. */
static void copy_units(const ons_strided *s, int64_t begin, int64_t end, const char *from, char *to) {
    uint32_t row = s->rank - 2, column = s->rank - 1;
    int64_t height = s->tiles ? TILE : 1, units = (s->dims[row] + height - 1) / height;
    for (int64_t unit = begin; unit < end;) {
        int64_t first = unit % units, outer = unit / units;
        int64_t count = units - first < end - unit ? units - first : end - unit;
        int64_t from_offset = s->from_offset, to_offset = s->to_offset;
        for (uint32_t axis = row; axis-- > 0;) {
            int64_t index = outer % s->dims[axis];
            outer /= s->dims[axis];
            from_offset += index * s->from[axis];
            to_offset += index * s->to[axis];
        }
        int64_t first_row = first * height, last_row = (first + count) * height;
        last_row = last_row < s->dims[row] ? last_row : s->dims[row];
        from_offset += first_row * s->from[row];
        to_offset += first_row * s->to[row];
        block b = {last_row - first_row, s->dims[column], s->from[row], s->to[row], s->from[column], s->to[column]};
        (s->tiles ? copy_tiles : copy_rows)(s->size, &b, from + from_offset * (int64_t)s->size,
                                            to + to_offset * (int64_t)s->size);
        unit += count;
    }
}

/* One long row is cut so that threads can share it. */
static bool copy_single_row(const ons_strided *s, int64_t elements, const char *from, char *to) {
    if (s->rank != 2 || s->dims[0] != 1 || s->from[1] != 1 || s->to[1] != 1) return false;
    from += s->from_offset * (int64_t)s->size;
    to += s->to_offset * (int64_t)s->size;
    enum { PIECE = 64 * 1024 };
    int64_t bytes = elements * (int64_t)s->size;
#pragma omp parallel for schedule(static) if (elements > ONS_PARALLEL_GRAIN)
    for (int64_t at = 0; at < bytes; at += PIECE)
        memcpy(to + at, from + at, (size_t)(bytes - at < PIECE ? bytes - at : PIECE));
    return true;
}

void ons_strided_copy(const ons_strided *s, const void *from, void *to) {
    int64_t elements = 1, units = 1;
    for (uint32_t axis = 0; axis < s->rank; ++axis) elements *= s->dims[axis];
    if (elements == 0 || copy_single_row(s, elements, from, to)) return;
    for (uint32_t axis = 0; axis + 2 < s->rank; ++axis) units *= s->dims[axis];
    units *= s->tiles ? (s->dims[s->rank - 2] + TILE - 1) / TILE : s->dims[s->rank - 2];
#pragma omp parallel if (elements > ONS_PARALLEL_GRAIN)
    {
        int64_t threads = omp_get_num_threads(), thread = omp_get_thread_num();
        copy_units(s, units * thread / threads, units * (thread + 1) / threads, from, to);
    }
}

ons_status *ons_strided_prepare(ons_prepare *p, const ons_strided *s) {
    ons_strided *state;
    ONS_NEW_STATE(state, p);
    *state = *s;
    ons_strided_plan(state);
    p->implementation = state->tiles ? "tiles" : "rows";
    return NULL;
}

void ons_strided_run(const ons_launch *launch) {
    ons_strided_copy(launch->state, launch->inputs[0], launch->outputs[0]);
}
