/* When places in a device's streams were reached, by the host's clock: for devices whose work runs later than the host
 * launches it. A mark is an event that tells its time; marks are kept from use to use. */
#ifndef ONSTAGE_RUNTIME_MEASURE_DEVICE_CLOCK_H
#define ONSTAGE_RUNTIME_MEASURE_DEVICE_CLOCK_H

#include "device/device.h"

typedef struct ons_device_clock ons_device_clock;

/* `stream`: of the device, with nothing on it; it is waited for. The device must have timed events. */
ons_status *ons_device_clock_new(ons_device *device, ons_stream *stream, ons_device_clock **clock);
void ons_device_clock_free(ons_device_clock *clock); /* NULL is fine */

/* A mark behind what is on `stream` so far; its number counts from 0 since the last ons_device_clock_reset. Allocates
 * where there have never been so many; that this fails is told by ons_device_clock_failure, and the mark's time is that
 * of the one before. */
uint32_t ons_device_clock_mark(ons_device_clock *clock, ons_stream *stream);

/* When it was reached: as ons_trace_now() would have said then, but for what starting the clock could not tell (some
 * microseconds, the same for all marks). Waits for it. */
int64_t ons_device_clock_time(ons_device_clock *clock, uint32_t mark);

/* Forgets all marks, which must have been reached. */
void ons_device_clock_reset(ons_device_clock *clock);

/* The first failure, once; NULL: none. */
ons_status *ons_device_clock_failure(ons_device_clock *clock);

#endif
