/* Hardmax: what its files share. */
#ifndef ONSTAGE_KERNELS_HARDMAX_HARDMAX_H
#define ONSTAGE_KERNELS_HARDMAX_HARDMAX_H

/* NaN counts as the largest, as in NumPy. */
#define IS_LARGER(A, B) ((A) > (B) || ((A) != (A) && (B) == (B)))

#endif
