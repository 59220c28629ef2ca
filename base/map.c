#include "base/map.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

/* Names are short and not chosen by an adversary who gains more than a slow load. */
static uint32_t hash_text(const char *text) {
    uint64_t hash = ons_hash_text(ONS_HASH_BASIS, text);
    return (uint32_t)(hash ^ (hash >> 32));
}

static struct ons_map_slot *find_slot(struct ons_map_slot *slots, uint32_t capacity, const char *key) {
    uint32_t index = hash_text(key) & (capacity - 1);
    while (slots[index].key != NULL && strcmp(slots[index].key, key) != 0) index = (index + 1) & (capacity - 1);
    return &slots[index];
}

static ons_status *grow(ons_map *map) {
    uint32_t capacity = map->capacity == 0 ? 64 : map->capacity * 2;
    ONS_CHECK(capacity > map->capacity, ONS_OUT_OF_MEMORY, "too many names");
    struct ons_map_slot *slots = calloc(capacity, sizeof *slots);
    if (slots == NULL) return ons_status_out_of_memory();
    for (uint32_t i = 0; i < map->capacity; ++i)
        if (map->slots[i].key != NULL) *find_slot(slots, capacity, map->slots[i].key) = map->slots[i];
    free(map->slots);
    map->slots = slots;
    map->capacity = capacity;
    return NULL;
}

void ons_map_free(ons_map *map) {
    free(map->slots);
    *map = (ons_map){0};
}

ons_status *ons_map_set(ons_map *map, const char *key, uint32_t value) {
    if ((map->count + 1) * 2 > map->capacity) ONS_TRY(grow(map));
    struct ons_map_slot *slot = find_slot(map->slots, map->capacity, key);
    map->count += slot->key == NULL;
    *slot = (struct ons_map_slot){key, value};
    return NULL;
}

uint32_t ons_map_get(const ons_map *map, const char *key) {
    if (map->capacity == 0 || key == NULL) return ONS_MAP_ABSENT;
    const struct ons_map_slot *slot = find_slot(map->slots, map->capacity, key);
    return slot->key == NULL ? ONS_MAP_ABSENT : slot->value;
}
