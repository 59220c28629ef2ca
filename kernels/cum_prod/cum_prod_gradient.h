/* CumProdGradient: what its files share. */
#ifndef ONSTAGE_KERNELS_CUM_PROD_CUM_PROD_GRADIENT_H
#define ONSTAGE_KERNELS_CUM_PROD_CUM_PROD_GRADIENT_H

enum { X, AXIS, COTANGENT };

#endif
