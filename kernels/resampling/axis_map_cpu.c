/* What the CPU runs of axis_map.h. */
#include "kernels/resampling/axis_map.h"

ons_status *ons_axis_map_transpose(ons_arena *arena, const ons_axis_map *map, ons_axis_map *transposed) {
    if (map->identity) {
        *transposed = *map;
        return NULL;
    }
    int64_t taps = map->first[map->outputs];
    int64_t *next;
    ONS_TRY(ons_axis_map_make(arena, map->outputs, map->inputs, taps, transposed));
    ONS_NEW(next, arena, (size_t)map->inputs + 1);
    for (int64_t t = 0; t < taps; ++t) ++transposed->first[map->index[t] + 1];
    for (int64_t i = 0; i < map->inputs; ++i) transposed->first[i + 1] += transposed->first[i];
    memcpy(next, transposed->first, (size_t)map->inputs * sizeof *next);
    for (int64_t i = 0; i < map->outputs; ++i)
        for (int64_t t = map->first[i]; t < map->first[i + 1]; ++t) {
            int64_t at = next[map->index[t]]++;
            transposed->index[at] = i;
            transposed->weight[at] = map->weight[t];
        }
    return NULL;
}
