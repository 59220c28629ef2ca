/* Text that is taken for an array: said so, with what makes an array of it. */
#ifndef ONSTAGE_RUNTIME_DATA_TEXT_ARRAY_H
#define ONSTAGE_RUNTIME_DATA_TEXT_ARRAY_H

#include "base/status.h"

/* Tests whether the bytes are lines of numbers or of values between commas, semicolons or tabs. */
bool ons_text_array_recognise(const uint8_t *bytes, size_t size);

/* Makes a failure, ONS_INVALID_DATA, with a line of Python that writes the file `path` (NULL: some file) as .npy. */
ons_status *ons_text_array_refuse(const uint8_t *bytes, size_t size, const char *path);

#endif
