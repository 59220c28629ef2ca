/* HannWindow: a window of one cosine, from 0 to 1. */
#include "kernels/signal/signal_window.h"

ONS_DEFINE_SIGNAL_WINDOW(hann_window, "HannWindow", 0.5, 0.5, 0);
