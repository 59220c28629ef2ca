/* BlackmanWindow: a window of two cosines. */
#include "kernels/signal/signal_window.h"

ONS_DEFINE_SIGNAL_WINDOW(blackman_window, "BlackmanWindow", 0.42, 0.5, 0.08);
