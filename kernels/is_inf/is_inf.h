/* IsInf: what its files share. */
#ifndef ONSTAGE_KERNELS_IS_INF_IS_INF_H
#define ONSTAGE_KERNELS_IS_INF_IS_INF_H

enum { DETECT_NEGATIVE, DETECT_POSITIVE };

#endif
