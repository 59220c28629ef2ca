/* SpaceToDepth on the CPU. */
#include "kernels/space_to_depth/space_to_depth.h"

#include "kernels/depth_to_space/depth_space.h"

ons_status *ons_space_to_depth_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ons_strided copy =
        ons_depth_space_copy(&o->outputs[0], &o->inputs[0], ons_attribute_int(o, BLOCKSIZE), is_crd(o), false);
    return ons_strided_prepare(p, &copy);
}

ONS_KERNELS(cpu, space_to_depth, ONS_KERNEL(ons_space_to_depth_prepare, ons_strided_run))
