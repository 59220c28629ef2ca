/* The spans of Sin and Cos: the vector form, and libm for the few arguments that it does not reach. */
#ifndef ONSTAGE_KERNELS_TRIGONOMETRY_SINE_H
#define ONSTAGE_KERNELS_TRIGONOMETRY_SINE_H

#include <stdint.h>

/* out[i] = sin(in[i] + quarter_turns·π/2); may be the same memory. */
void ons_sine_span(const float *in, float *out, int64_t count, int quarter_turns);

#endif
