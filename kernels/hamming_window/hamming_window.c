/* HammingWindow: a window of one cosine that does not reach 0. */
#include "kernels/signal/signal_window.h"

ONS_DEFINE_SIGNAL_WINDOW(hamming_window, "HammingWindow", 25.0 / 46, 21.0 / 46, 0);
