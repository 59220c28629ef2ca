#include "kernels/grid_sample/grid.h"

#include <string.h>

#include "kernels/grid_sample/grid_look.h"

static ons_status *read_attributes(const ons_operands *o, ons_grid *g) {
    const char *mode = ons_attribute_string(o, ONS_GRID_MODE), *padding = ons_attribute_string(o, ONS_GRID_PADDING);
    g->align_corners = ons_attribute_int(o, ONS_GRID_ALIGN_CORNERS) != 0;
    if (strcmp(mode, "linear") == 0 || strcmp(mode, "bilinear") == 0) /* the names of opset 20 and of opset 16 */
        g->mode = ONS_GRID_LINEAR;
    else if (strcmp(mode, "cubic") == 0 || strcmp(mode, "bicubic") == 0)
        g->mode = ONS_GRID_CUBIC;
    else if (strcmp(mode, "nearest") == 0)
        g->mode = ONS_GRID_NEAREST;
    else
        return ons_node_error(o, "unknown mode '%s'", mode);
    if (strcmp(padding, "zeros") == 0)
        g->padding = ONS_GRID_ZEROS;
    else if (strcmp(padding, "border") == 0)
        g->padding = ONS_GRID_BORDER;
    else if (strcmp(padding, "reflection") == 0)
        g->padding = ONS_GRID_REFLECTION;
    else
        return ons_node_error(o, "unknown padding_mode '%s'", padding);
    return NULL;
}

ons_status *ons_grid_of(const ons_operands *o, const ons_type *x, const ons_type *grid, ons_grid *g) {
    char left[ONS_TYPE_TEXT], right[ONS_TYPE_TEXT];
    uint32_t rank = x->shape.rank;
    *g = (ons_grid){.combinations = 1};
    ONS_TRY(read_attributes(o, g));
    if (rank < 3 || rank > 2 + ONS_GRID_DIMS)
        return ons_node_error(o, "%s has not 1 to 3 spatial dimensions", ons_type_print(x, left));
    g->dims = (int32_t)rank - 2;
    if (grid->shape.rank != rank || grid->shape.dims[rank - 1] != g->dims || grid->shape.dims[0] != x->shape.dims[0] ||
        !ons_dtype_is_float(grid->dtype))
        return ons_node_error(o, "%s is no grid for %s", ons_type_print(grid, right), ons_type_print(x, left));
    g->batch = x->shape.dims[0];
    g->channels = x->shape.dims[1];
    g->result = (ons_shape){.rank = rank, .dims = {g->batch, g->channels}};
    for (int32_t i = 0; i < g->dims; ++i) {
        g->lengths[i] = x->shape.dims[2 + i];
        g->result.dims[2 + i] = grid->shape.dims[1 + i];
        g->combinations *= ons_grid_taps_of(g);
    }
    ONS_TRY_AT(ons_shape_check(&g->result), "node '%s'", o->name);
    g->inputs = ons_shape_span(&x->shape, 2, rank);
    g->outputs = ons_shape_span(&g->result, 2, rank);
    if (g->inputs == 0 && g->outputs > 0) return ons_node_error(o, "nothing to sample in %s", ons_type_print(x, left));
    return NULL;
}
