/* Which operators a test program looks at: names, NULL at the end; none: all. */
#ifndef ONSTAGE_TESTS_ROOMS_KERNELS_EMULATION_SELECTION_H
#define ONSTAGE_TESTS_ROOMS_KERNELS_EMULATION_SELECTION_H

extern const char *const ons_emulation_only[];

#endif
