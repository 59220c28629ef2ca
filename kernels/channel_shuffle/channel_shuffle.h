/* ChannelShuffle: what its files share. */
#ifndef ONSTAGE_KERNELS_CHANNEL_SHUFFLE_CHANNEL_SHUFFLE_H
#define ONSTAGE_KERNELS_CHANNEL_SHUFFLE_CHANNEL_SHUFFLE_H

#include "kernels/common/operator/kernel.h"

enum { GROUPS };

ons_status *ons_channel_shuffle_prepare(ons_prepare *p);

#endif
