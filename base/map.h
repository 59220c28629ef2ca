/* From text to a 32-bit number: the names of a model. Insertion only; open addressing. Keys are not copied: they must
 * outlive the map (they are names in an arena). */
#ifndef ONSTAGE_BASE_MAP_H
#define ONSTAGE_BASE_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

enum { ONS_MAP_ABSENT = 0xffffffffu };

typedef struct ons_map {
    struct ons_map_slot {
        const char *key; /* NULL: free */
        uint32_t value;
    } * slots;
    uint32_t capacity; /* a power of two, or 0 */
    uint32_t count;
} ons_map;

void ons_map_free(ons_map *map);

/* Sets or replaces. */
ons_status *ons_map_set(ons_map *map, const char *key, uint32_t value);

/* ONS_MAP_ABSENT where there is no such key. */
uint32_t ons_map_get(const ons_map *map, const char *key);

#endif
