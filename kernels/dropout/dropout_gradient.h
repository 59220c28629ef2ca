/* DropoutGradient: what its files share. */
#ifndef ONSTAGE_KERNELS_DROPOUT_DROPOUT_GRADIENT_H
#define ONSTAGE_KERNELS_DROPOUT_DROPOUT_GRADIENT_H

enum { RATIO };

#endif
