/* FNV-1a of 64 bits: for names, and digests of what a person would compare. It is no protection against an adversary.
 */
#ifndef ONSTAGE_BASE_HASH_H
#define ONSTAGE_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

static const uint64_t ONS_HASH_BASIS = 14695981039346656037u; /* where a hash begins */
static const uint64_t ONS_HASH_PRIME = 1099511628211u;

static inline uint64_t ons_hash_bytes(uint64_t hash, const void *bytes, size_t size) {
    const unsigned char *each = bytes;
    for (size_t i = 0; i < size; ++i) hash = (hash ^ each[i]) * ONS_HASH_PRIME;
    return hash;
}

/* Without the text's end, so that texts in a row are as one. */
static inline uint64_t ons_hash_text(uint64_t hash, const char *text) {
    for (; *text != '\0'; ++text) hash = (hash ^ (unsigned char)*text) * ONS_HASH_PRIME;
    return hash;
}

#endif
