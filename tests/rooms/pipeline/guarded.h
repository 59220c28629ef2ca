/* The devices of the runs that are tested: what is outside the arena must stay untouched, and what the arena holds
 * beside weights, states and constants is overwritten between steps. The linker puts guarded_device_new in the place of
 * ons_cpu_device_new. */
#ifndef ONSTAGE_TESTS_ROOMS_PIPELINE_GUARDED_H
#define ONSTAGE_TESTS_ROOMS_PIPELINE_GUARDED_H

#include "runtime/program/device_context.h"

/* Overwrites the transient part of the machine's arena with what is no number. While nothing runs. */
ons_status *guarded_poison(ons_device_context *device_context);

/* Fails unless the machine took one arena, as large as predicted, and everything around it is as it was. */
ons_status *guarded_check(const ons_device_context *device_context);

#endif
