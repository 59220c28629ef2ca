/* How large the processors' caches are, and how large arrays must be that no cache holds them. */
#ifndef ONSTAGE_RUNTIME_MEASURE_CACHE_SIZE_H
#define ONSTAGE_RUNTIME_MEASURE_CACHE_SIZE_H

#include <stdint.h>

/* Gives the bytes of the last-level caches that `threads` threads of this process have between them: a processor with
 * several, each for some of its cores, lets as many threads use as many of them. `folder` NULL: what the system tells
 * in /sys/devices/system/cpu, or, where it tells nothing, in sysconf; 0: nothing is known. */
int64_t ons_cache_bytes(const char *folder, int threads);

/* Gives the bytes of memory that a process may still take without harm to others: what the system calls available, or
 * what it is limited to. */
int64_t ons_memory_available(void);

/* Gives the bytes of each of a few arrays (in whole MiB): four times the cache, as STREAM asks for, within sensible
 * bounds. A cache of 0 bytes is one that nothing is known of. */
int64_t ons_array_beyond_caches(int64_t cache_bytes, int64_t available_bytes);

#endif
