/* Poison: under the address sanitizer, memory of an arena that holds nothing is as good as freed. A program poisons a
 * value's buffer behind the last node that needs it, and unpoisons it before the node that makes it; what lies between
 * the end of a buffer and the next one's alignment is poisoned as well. The layout is the same; other builds do
 * nothing. Values of a device are left alone where one of its programs exchanges some with others while it runs (stages
 * of a pipeline, swaps), has its parts run between another one's, or in another order than its nodes stand in: when
 * those are done with them its lifetimes do not say.
 */
#ifndef ONSTAGE_RUNTIME_PROGRAM_POISON_H
#define ONSTAGE_RUNTIME_PROGRAM_POISON_H

#include "graph/arena_layout.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define ONS_POISONS 1
#else
#define ONS_POISONS                                 0
#define ASAN_POISON_MEMORY_REGION(ADDRESS, BYTES)   ((void)(ADDRESS), (void)(BYTES))
#define ASAN_UNPOISON_MEMORY_REGION(ADDRESS, BYTES) ((void)(ADDRESS), (void)(BYTES))
#endif

static inline void ons_poison(void *address, int64_t bytes) { ASAN_POISON_MEMORY_REGION(address, (size_t)bytes); }

static inline void ons_unpoison(void *address, int64_t bytes) { ASAN_UNPOISON_MEMORY_REGION(address, (size_t)bytes); }

/* Of a buffer that is aligned in the arena. */
static inline void ons_poison_tail(void *address, int64_t bytes) {
    ons_poison((char *)address + bytes, ons_arena_align(bytes) - bytes);
}

#endif
