/* AlignAxis: what its files share. */
#ifndef ONSTAGE_KERNELS_ALIGN_AXIS_ALIGN_AXIS_H
#define ONSTAGE_KERNELS_ALIGN_AXIS_ALIGN_AXIS_H

enum { AXIS };

#endif
