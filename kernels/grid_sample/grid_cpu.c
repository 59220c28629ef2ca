/* What the CPU runs of grid.h. */
#include "kernels/grid_sample/grid_look.h"

void ons_grid_look_at_block(const ons_grid *g, const float *places, int64_t count, bool slopes, ons_grid_block *block) {
    for (int64_t i = 0; i < count; ++i) {
        ons_grid_view view;
        double place[ONS_GRID_DIMS] = {0};
        for (int32_t j = 0; j < g->dims; ++j) place[j] = places[i * g->dims + j];
        ons_grid_look(g, place, &view);
        for (int32_t k = 0; k < g->combinations; ++k) {
            bool inside = view.element[k] >= 0;
            block->element[k][i] = inside ? (int32_t)view.element[k] : 0;
            block->weight[k][i] = inside ? (float)view.weight[k] : 0;
            for (int32_t j = 0; slopes && j < g->dims; ++j)
                block->slope[j][k][i] = inside ? (float)view.slope[j][k] : 0;
        }
    }
}

ons_status *ons_grid_prepare(ons_prepare *p, const ons_grid *grid) {
    const ons_operands *o = p->operands;
    for (uint32_t i = 0; i < o->input_count; ++i) ONS_TRY(ons_require_float32_of(o, &o->inputs[i]));
    if (grid->inputs > INT32_MAX) return ons_node_error(o, "%lld positions in a plane", (long long)grid->inputs);
    ons_grid_state *state;
    ONS_NEW_STATE(state, p);
    *state = (ons_grid_state){*grid, p->threads};
    p->scratch_bytes = p->threads * (int64_t)((sizeof(ons_grid_block) + 63) / 64 * 64);
    return NULL;
}
