/* Numbers of FakeQuantize's inputs, and how its kernels are prepared. For C: the .cu file includes fake_quantize.h. */
#ifndef ONSTAGE_KERNELS_FAKE_QUANTIZE_FAKE_QUANTIZE_NODE_H
#define ONSTAGE_KERNELS_FAKE_QUANTIZE_FAKE_QUANTIZE_NODE_H

#include "graph/operator.h"
#include "kernels/fake_quantize/fake_quantize.h"

enum { X, FROM_SCALE, TO_SCALE, FROM_ZERO, TO_ZERO };

ons_status *ons_fake_quantize_prepare(ons_prepare *p);

#endif
