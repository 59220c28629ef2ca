#include "kernels/pooling/global_pool.h"

ons_status *ons_global_pool_infer(ons_operands *o) {
    ons_shape shape = o->inputs[0].shape;
    if (shape.rank < 2) return ons_node_error(o, "the input needs batch and channels");
    if (!ons_dtype_is_float(o->inputs[0].dtype))
        return ons_node_error(o, "pooling of %s is not supported", ons_dtype_name(o->inputs[0].dtype));
    for (uint32_t i = 2; i < shape.rank; ++i) shape.dims[i] = 1;
    o->outputs[0] = ons_type_make(o->inputs[0].dtype, shape);
    return NULL;
}
