/* ReduceLogSumExp: what its files share. */
#ifndef ONSTAGE_KERNELS_REDUCE_LOG_SUM_EXP_REDUCE_LOG_SUM_EXP_H
#define ONSTAGE_KERNELS_REDUCE_LOG_SUM_EXP_REDUCE_LOG_SUM_EXP_H

#include "kernels/common/layout/strided.h"
#include "kernels/common/rows/rows.h"

typedef struct state {
    ons_axis_view view;
    bool moves; /* the reduced axes are not neighbours: they are brought to the end in scratch */
    ons_strided move;
} state;

#endif
