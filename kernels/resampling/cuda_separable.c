#include "kernels/resampling/cuda_separable.h"

#include <string.h>

#include "kernels/common/elementwise/cuda_elementwise.h"

static int64_t taps_of(const ons_axis_map *map) { return map->first[map->outputs]; }

static void write_tables(const ons_axis_map *map, const ons_cuda_map *to, uint32_t *tables) {
    for (int64_t i = 0; i <= map->outputs; ++i) tables[to->first + i] = (uint32_t)map->first[i];
    for (int64_t i = 0, n = taps_of(map); i < n; ++i) {
        float weight = (float)map->weight[i];
        tables[to->index + i] = (uint32_t)map->index[i];
        memcpy(&tables[to->weight + i], &weight, sizeof weight);
    }
}

/* Sizes, and where each axis' tables lie; the largest tensor between two axes. */
static ons_status *place_maps(const ons_operands *o, uint32_t rank, const ons_axis_map *maps, ons_cuda_separable *s,
                              int64_t *largest) {
    int64_t dims[ONS_RANK_MAX];
    for (uint32_t i = 0; i < rank; ++i) dims[i] = maps[i].inputs;
    *largest = 0;
    for (uint32_t i = 0; i < rank; ++i) {
        if (maps[i].identity) continue;
        ons_cuda_map *map = &s->maps[s->count++];
        *map = (ons_cuda_map){.outer = 1, .inner = 1, .inputs = maps[i].inputs, .outputs = maps[i].outputs};
        for (uint32_t k = 0; k < rank; ++k) *(k < i ? &map->outer : k > i ? &map->inner : &(int64_t){0}) *= dims[k];
        dims[i] = maps[i].outputs;
        if (taps_of(&maps[i]) > INT32_MAX || maps[i].inputs > INT32_MAX)
            return ons_node_error(o, "an axis is too long for the CUDA kernel");
        map->first = s->words;
        map->index = map->first + map->outputs + 1;
        map->weight = map->index + taps_of(&maps[i]);
        s->words = map->weight + taps_of(&maps[i]);
        int64_t elements = map->outer * map->outputs * map->inner;
        *largest = elements > *largest ? elements : *largest;
    }
    s->elements = 1;
    for (uint32_t i = 0; i < rank; ++i) s->elements *= dims[i];
    return NULL;
}

ons_status *ons_cuda_separable_prepare(ons_prepare *p, uint32_t rank, const ons_axis_map *maps, double fill) {
    const ons_operands *o = p->operands;
    ons_cuda_separable *s;
    uint32_t *tables;
    int64_t largest;
    ONS_TRY(ons_cuda_require_plain(o));
    ONS_TRY(ons_cuda_require_float(o, o->inputs[0].dtype));
    ONS_NEW_STATE(s, p);
    s->dtype = o->inputs[0].dtype;
    s->fill = (float)fill;
    ONS_TRY(place_maps(o, rank, maps, s, &largest));
    ONS_NEW(tables, p->arena, (size_t)s->words + 1);
    for (uint32_t i = 0, next = 0; i < rank; ++i)
        if (!maps[i].identity) write_tables(&maps[i], &s->maps[next++], tables);
    s->tables = tables;
    int64_t at = (s->words * 4 + 63) / 64 * 64, buffer = s->count > 1 ? (largest * 4 + 63) / 64 * 64 : 0;
    s->buffers[0] = at;
    s->buffers[1] = at + buffer;
    p->scratch_bytes = at + 2 * buffer;
    p->implementation = "cuda:axis by axis";
    return NULL;
}
