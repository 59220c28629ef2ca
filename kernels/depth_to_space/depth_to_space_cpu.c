/* DepthToSpace on the CPU. */
#include "kernels/depth_to_space/depth_to_space.h"

#include "kernels/depth_to_space/depth_space.h"

ons_status *ons_depth_to_space_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ons_strided copy =
        ons_depth_space_copy(&o->inputs[0], &o->outputs[0], ons_attribute_int(o, BLOCKSIZE), is_crd(o), true);
    return ons_strided_prepare(p, &copy);
}

ONS_KERNELS(cpu, depth_to_space, ONS_KERNEL(ons_depth_to_space_prepare, ons_strided_run))
