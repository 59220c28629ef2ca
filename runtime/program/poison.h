/* Poison: under the address sanitizer, memory of an arena that holds nothing is as good as freed. All transient memory
 * is poisoned in the beginning. A program unpoisons a value's buffer before the node that makes it, and poisons it
 * behind the last node that needs it, in the place that the micro-batch has for it; what lies between the end of a
 * buffer and the next one's alignment is poisoned as well. The layout is the same; other builds do nothing.
 *
 *   a message that comes    holds something when the receiving thread begins to put it in, nothing when it is released
 *   a message or copy       of what leaves holds nothing where the stage has waited until it was gone, because
 * something that leaves             new lies over it, or the pass has ended a copy back             holds something
 * when it begins, nothing behind the last node that reads it data                    of a stage, likewise
 *
 * Left alone are values that the host reads, those that are made once for all micro-batches, and in schedules that
 * change the order of a micro-batch's parts those that stay until its end. A device whose forward parts are computed in
 * halves is not poisoned at all.
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
