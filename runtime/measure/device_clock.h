/* When places in a device's streams were reached, by the host's clock: for devices whose work runs later than the host
 * launches it. A timestamp is an event that tells its time; events are kept from use to use. */
#ifndef ONSTAGE_RUNTIME_MEASURE_DEVICE_CLOCK_H
#define ONSTAGE_RUNTIME_MEASURE_DEVICE_CLOCK_H

#include "device/device.h"

typedef struct ons_device_clock ons_device_clock;

/* `stream`: of the device, with nothing on it; it is waited for. The device must have timed events. */
ons_status *ons_device_clock_new(ons_device *device, ons_stream *stream, ons_device_clock **clock);
void ons_device_clock_free(ons_device_clock *clock); /* NULL is fine */

/* Puts a timestamp behind what is on `stream` so far; its number counts from 0 since the last ons_device_clock_reset.
 * Allocates where there have never been so many; where that fails, ons_device_clock_failure says so, and the timestamp
 * is that of the one before. */
uint32_t ons_device_clock_timestamp(ons_device_clock *clock, ons_stream *stream);

/* Gives the time when a timestamp was reached: as ons_trace_now() would have said then, but for what starting the clock
 * could not tell (some microseconds, the same for all timestamps). Waits for it. */
int64_t ons_device_clock_time(ons_device_clock *clock, uint32_t timestamp);

/* Forgets all timestamps, which must have been reached. */
void ons_device_clock_reset(ons_device_clock *clock);

/* Gives the first failure, once; NULL: none. */
ons_status *ons_device_clock_failure(ons_device_clock *clock);

#endif
