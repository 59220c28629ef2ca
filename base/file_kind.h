/* What a file is, by its first bytes, for the message where another kind of file was wanted: a pointer that Git LFS
 * left, an error page that was saved as a model, an archive that was not unpacked. */
#ifndef ONSTAGE_BASE_FILE_KIND_H
#define ONSTAGE_BASE_FILE_KIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ons_file_kind {
    const char *what;     /* "an HTML page" */
    const char *remedy;   /* "the download has failed; fetch the file again" */
    bool may_hold_arrays; /* who reads arrays knows more of it */
} ons_file_kind;

/* NULL: none that is known. */
const ons_file_kind *ons_file_kind_find(const uint8_t *bytes, size_t size);

#endif
