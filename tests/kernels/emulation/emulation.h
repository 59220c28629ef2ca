/* Where the emulated GPU's work goes. */
#ifndef ONSTAGE_TESTS_KERNELS_EMULATION_EMULATION_H
#define ONSTAGE_TESTS_KERNELS_EMULATION_EMULATION_H

#include <stdint.h>

/* Work that a launch puts on a stream: `run(argument)` does it, as often as one likes; then `drop(argument)`. */
typedef void ons_emulation_put_function(uintptr_t stream, void (*run)(void *argument), void (*drop)(void *argument),
                                        void *argument);

/* NULL: work is done where it is launched. One piece of work at a time may run. */
extern ons_emulation_put_function *ons_emulation_put;

#endif
