/* HannWindow: cases for tests and benchmarks. */
#include "kernels/case.h"
#include "kernels/signal/signal_window.h"

const ons_case ons_cases_hann_window[] = {
    ONS_SIGNAL_WINDOW_CASES,
    {.name = NULL},
};
