#include "base/arena.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCK_BYTES = 64 * 1024, ALIGNMENT = 64 };

typedef struct block {
    struct block *previous;
    size_t capacity;
    size_t used;
    _Alignas(ALIGNMENT) unsigned char bytes[];
} block;

struct ons_arena {
    block *last;
    size_t used;
    bool failed;
};

ons_arena *ons_arena_new(void) { return calloc(1, sizeof(ons_arena)); }

void ons_arena_free(ons_arena *arena) {
    if (arena == NULL) return;
    for (block *each = arena->last; each != NULL;) {
        block *previous = each->previous;
        free(each);
        each = previous;
    }
    free(arena);
}

static block *add_block(ons_arena *arena, size_t at_least) {
    size_t capacity = at_least > BLOCK_BYTES ? at_least : BLOCK_BYTES;
    if (capacity > SIZE_MAX - sizeof(block) - ALIGNMENT) return NULL;
    size_t bytes = (sizeof(block) + capacity + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    block *fresh = aligned_alloc(ALIGNMENT, bytes);
    if (fresh == NULL) return NULL;
    *fresh = (block){.previous = arena->last, .capacity = capacity};
    arena->last = fresh;
    return fresh;
}

void *ons_arena_allocate(ons_arena *arena, size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX - ALIGNMENT) return NULL;
    /* Small things pack at 16 bytes, which is all that C asks for; large ones start on a cache line. */
    size_t alignment = bytes >= ALIGNMENT ? ALIGNMENT : 16;
    block *last = arena->last;
    size_t start = last == NULL ? 0 : (last->used + alignment - 1) / alignment * alignment;
    if (last == NULL || start > last->capacity || bytes > last->capacity - start) {
        last = add_block(arena, bytes);
        arena->failed |= last == NULL;
        if (last == NULL) return NULL;
        start = 0;
    }
    last->used = start + bytes;
    arena->used += bytes;
    memset(last->bytes + start, 0, bytes);
    return last->bytes + start;
}

char *ons_arena_copy_text(ons_arena *arena, const char *text) {
    if (text == NULL) return NULL;
    size_t bytes = strlen(text) + 1;
    char *copy = ons_arena_allocate(arena, bytes, 1);
    if (copy != NULL) memcpy(copy, text, bytes);
    return copy;
}

char *ons_arena_format_list(ons_arena *arena, const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    arena->failed |= length < 0;
    char *text = length < 0 ? NULL : ons_arena_allocate(arena, (size_t)length + 1, 1);
    if (text != NULL) vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

char *ons_arena_format(ons_arena *arena, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *text = ons_arena_format_list(arena, format, arguments);
    va_end(arguments);
    return text;
}

ons_status *ons_arena_check(const ons_arena *arena) { return arena->failed ? ons_status_out_of_memory() : NULL; }

size_t ons_arena_used(const ons_arena *arena) { return arena->used; }
