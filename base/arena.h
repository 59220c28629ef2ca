/* Memory that is freed all at once.
 *
 *   arena ──▶ [block 64 KiB: a a a b b c ....] ──▶ [block: d d d d d] ──▶ …      pointers never move
 *
 * Everything that describes a model (graphs, names, attributes, prepared kernels) lives in an arena, so that no error
 * path can leak it. Data of tensors does not: see graph/store.h and device/device.h.
 */
#ifndef ONSTAGE_BASE_ARENA_H
#define ONSTAGE_BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include "base/status.h"

typedef struct ons_arena ons_arena;

/* NULL when memory is short. */
ons_arena *ons_arena_new(void);
void ons_arena_free(ons_arena *arena); /* NULL is fine */

/* `count` zeroed elements of `size` bytes each, aligned to 64. NULL when memory is short or the product overflows;
 * a count of 0 gives a valid pointer. */
void *ons_arena_allocate(ons_arena *arena, size_t count, size_t size);

/* A copy of the text; NULL gives NULL. */
char *ons_arena_copy_text(ons_arena *arena, const char *text);
char *ons_arena_format(ons_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *ons_arena_format_list(ons_arena *arena, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

/* Fails where memory was short for anything that was asked of the arena before: for texts that are only shown, so that
 * not every one of them need be looked at. */
ons_status *ons_arena_check(const ons_arena *arena);

/* Bytes handed out so far. */
size_t ons_arena_used(const ons_arena *arena);

/* Declares nothing, only assigns: ONS_NEW(pointer, arena, count); leaves the function where memory is short. */
#define ONS_NEW(pointer, arena, count)                                                                                 \
    do {                                                                                                               \
        (pointer) = ons_arena_allocate((arena), (count), sizeof *(pointer));                                           \
        if ((pointer) == NULL) return ons_status_out_of_memory();                                                      \
    } while (0)

#endif
