#include "runtime/data/inflate.h"

#include <string.h>
#include <zlib.h>

enum { PIECE = 1 << 30, RATIO_MAX = 1032 };

bool ons_inflate_plausible(size_t size, uint64_t unpacked) { return unpacked / RATIO_MAX <= size; }

static ons_status *malformed(void) { return ons_status_new(ONS_INVALID_DATA, "the compressed data are damaged"); }

/* zlib counts in 32 bits: large buffers are handed over in pieces. */
static void refill(z_stream *stream, size_t *in_left, size_t *out_left) {
    if (stream->avail_in == 0) {
        stream->avail_in = (uInt)(*in_left < PIECE ? *in_left : PIECE);
        *in_left -= stream->avail_in;
    }
    if (stream->avail_out == 0) {
        stream->avail_out = (uInt)(*out_left < PIECE ? *out_left : PIECE);
        *out_left -= stream->avail_out;
    }
}

/* Everything is out: only the end, with the checksum, may be left. */
static ons_status *expect_end(z_stream *stream, size_t in_left) {
    unsigned char spare;
    for (;;) {
        size_t nothing = 0;
        stream->next_out = &spare;
        stream->avail_out = 1;
        refill(stream, &in_left, &nothing);
        int result = inflate(stream, Z_NO_FLUSH);
        if (stream->avail_out == 0)
            return ons_status_new(ONS_INVALID_DATA, "more compressed data than the header announces");
        if (result == Z_STREAM_END) return NULL;
        if (result != Z_OK || (stream->avail_in == 0 && in_left == 0)) return malformed();
    }
}

static ons_status *run_inflate(z_stream *stream, size_t in_left, ons_packing packing, size_t wanted, bool to_the_end,
                               size_t *made) {
    size_t out_left = wanted;
    bool ended = false;
    while (stream->avail_out > 0 || out_left > 0) {
        refill(stream, &in_left, &out_left);
        if (ended) { /* gzip files may be several, one after the other */
            if (packing != ONS_PACKING_GZIP || stream->avail_in == 0) break;
            if (inflateReset(stream) != Z_OK) return malformed();
        }
        int result = inflate(stream, Z_NO_FLUSH);
        ended = result == Z_STREAM_END;
        if (!ended && (result != Z_OK || (stream->avail_in == 0 && in_left == 0 && stream->avail_out > 0)))
            return malformed();
        *made = wanted - out_left - stream->avail_out;
    }
    ONS_CHECK(!to_the_end || *made == wanted, ONS_INVALID_DATA, "the compressed data end after %zu of %zu bytes", *made,
              wanted);
    return !to_the_end || ended ? NULL : expect_end(stream, in_left);
}

ons_status *ons_inflate(const uint8_t *packed, size_t size, ons_packing packing, void *destination, size_t wanted,
                        bool to_the_end, size_t *made) {
    *made = 0;
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)packed, .next_out = destination};
    int window_bits = packing == ONS_PACKING_GZIP ? 15 + 16 : -15;
    if (inflateInit2(&stream, window_bits) != Z_OK) return ons_status_out_of_memory();
    ons_status *status = run_inflate(&stream, size, packing, wanted, to_the_end, made);
    inflateEnd(&stream);
    return status;
}
