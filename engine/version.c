#include "include/onstage.h"

const char *ons_version(void) { return ONSTAGE_VERSION; }
