#include "planner/workload/print.h"

#include <stdio.h>

const char *ons_bytes_print(double bytes, char text[static ONS_BYTES_TEXT]) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    int unit = 0;
    for (; bytes >= 1024 && unit < 4; ++unit) bytes /= 1024;
    snprintf(text, ONS_BYTES_TEXT, unit == 0 || bytes >= 100 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
    return text;
}

const char *ons_seconds_print(double seconds, char text[static ONS_SECONDS_TEXT]) {
    static const char *const units[] = {"s", "ms", "µs"};
    enum { HOUR = 3600, DAY = 24 * HOUR };
    int unit = 0;
    if (seconds >= 2 * HOUR) {
        bool days = seconds >= 2 * DAY;
        snprintf(text, ONS_SECONDS_TEXT, "%.1f %s", seconds / (days ? DAY : HOUR), days ? "d" : "h");
        return text;
    }
    for (; seconds < 1 && unit < 2; ++unit) seconds *= 1e3;
    snprintf(text, ONS_SECONDS_TEXT, "%.*f %s", seconds >= 100 ? 0 : seconds >= 10 ? 1 : 2, seconds, units[unit]);
    return text;
}

const char *ons_stages_print(uint32_t stages, uint32_t devices, char text[static ONS_STAGES_TEXT]) {
    int length = snprintf(text, ONS_STAGES_TEXT, "%u stage%s", stages, stages == 1 ? "" : "s");
    if (devices != stages)
        snprintf(text + length, ONS_STAGES_TEXT - (size_t)length, " on %u device%s", devices, devices == 1 ? "" : "s");
    return text;
}
