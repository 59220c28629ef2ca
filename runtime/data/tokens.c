#include "runtime/data/tokens.h"

#include <string.h>

#include "runtime/data/npy.h"

/* llm.c's header: 256 words of 4 bytes, of which the first three say something: magic, version, number of tokens. */
enum { LLMC_HEADER = 256 * 4 };

static const struct {
    uint32_t magic, version;
    ons_dtype dtype;
} llmc_formats[] = {
    {20240520, 1, ONS_UINT16}, /* GPT-2's vocabulary */
    {20240801, 7, ONS_UINT32}, /* Llama 3's */
};
enum { LLMC_FORMATS = sizeof llmc_formats / sizeof llmc_formats[0] };

static uint32_t word_at(const uint8_t *bytes, size_t index) {
    uint32_t word;
    memcpy(&word, bytes + 4 * index, sizeof word);
    return word;
}

static int recognise_llmc(const uint8_t *bytes, size_t size) {
    for (int i = 0; size >= LLMC_HEADER && i < LLMC_FORMATS; ++i)
        if (word_at(bytes, 0) == llmc_formats[i].magic) return i;
    return -1;
}

static ons_status *place(ons_array *stream, ons_dtype dtype, uint64_t count, const uint8_t *bytes, size_t size,
                         size_t offset) {
    ons_type type = ons_type_make(dtype, (ons_shape){.rank = 1, .dims = {(int64_t)count}});
    return ons_array_place(stream, &type, bytes, size, offset);
}

static ons_status *parse_raw(const uint8_t *bytes, size_t size, ons_dtype dtype, ons_array *stream) {
    size_t width = ons_dtype_size(dtype);
    ONS_CHECK(dtype == ONS_UINT8 || dtype == ONS_UINT16 || dtype == ONS_UINT32, ONS_INVALID_ARGUMENT,
              "tokens of type %s; they are uint8, uint16 or uint32", ons_dtype_name(dtype));
    ONS_CHECK(size % width == 0, ONS_INVALID_DATA, "%zu bytes are not a whole number of %s tokens", size,
              ons_dtype_name(dtype));
    return place(stream, dtype, size / width, bytes, size, 0);
}

static ons_status *parse(const uint8_t *bytes, size_t size, ons_dtype dtype, ons_array *stream) {
    if (ons_npy_recognise(bytes, size)) {
        ONS_TRY(ons_npy_parse(bytes, size, stream));
        char text[ONS_TYPE_TEXT];
        ONS_CHECK(stream->type.shape.rank == 1 && ons_dtype_is_integer(stream->type.dtype), ONS_INVALID_DATA,
                  "tokens are integers in one dimension, not %s", ons_type_print(&stream->type, text));
        return NULL;
    }
    int format = recognise_llmc(bytes, size);
    if (format >= 0) {
        ONS_CHECK(word_at(bytes, 1) == llmc_formats[format].version, ONS_UNSUPPORTED,
                  "a token file of llm.c, but version %u of it; known is %u", word_at(bytes, 1),
                  llmc_formats[format].version);
        return place(stream, llmc_formats[format].dtype, word_at(bytes, 2), bytes, size, LLMC_HEADER);
    }
    return parse_raw(bytes, size, dtype == ONS_NO_DTYPE ? ONS_UINT16 : dtype, stream);
}

static ons_status *cut(ons_tokens *tokens, uint64_t length) {
    uint64_t count = (uint64_t)tokens->stream.type.shape.dims[0];
    ONS_CHECK(length >= 1 && length <= INT64_MAX / 16, ONS_INVALID_ARGUMENT,
              "a window of %llu tokens; give --seq at least 1", (unsigned long long)length);
    ONS_CHECK(count > length, ONS_INVALID_DATA,
              "%llu tokens are too few for one window of %llu and the token after it; use a smaller --seq",
              (unsigned long long)count, (unsigned long long)length);
    tokens->length = length;
    tokens->windows = (count - 1) / length;
    return NULL;
}

ons_status *ons_tokens_open_memory(const uint8_t *bytes, size_t size, ons_dtype dtype, uint64_t length,
                                   ons_tokens *tokens) {
    *tokens = (ons_tokens){0};
    ons_status *status = parse(bytes, size, dtype, &tokens->stream);
    if (status == NULL) status = cut(tokens, length);
    if (status != NULL) ons_tokens_close(tokens);
    return status;
}

static ons_dtype dtype_by_name(const char *path) {
    static const struct {
        const char *end;
        ons_dtype dtype;
    } ends[] = {{".u8", ONS_UINT8}, {".txt", ONS_UINT8}, {".u16", ONS_UINT16}, {".u32", ONS_UINT32}};
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot != NULL && i < sizeof ends / sizeof ends[0]; ++i)
        if (strcmp(dot, ends[i].end) == 0) return ends[i].dtype;
    return ONS_NO_DTYPE;
}

ons_status *ons_tokens_open(const char *path, ons_dtype dtype, uint64_t length, ons_tokens *tokens) {
    *tokens = (ons_tokens){0};
    ons_mapping mapping;
    ons_file_reader reader;
    ONS_TRY(ons_mapping_open_both(path, &mapping, &reader));
    dtype = dtype == ONS_NO_DTYPE ? dtype_by_name(path) : dtype;
    ons_status *status = ons_tokens_open_memory(mapping.bytes, mapping.size, dtype, length, tokens);
    if (status == NULL && tokens->stream.memory == NULL) {
        tokens->stream.mapping = mapping;
        tokens->stream.reader = reader;
    } else {
        ons_mapping_close(&mapping);
        ons_file_reader_close(&reader);
    }
    return ons_status_at(status, "'%s'", path);
}

void ons_tokens_close(ons_tokens *tokens) {
    ons_array_close(&tokens->stream);
    *tokens = (ons_tokens){0};
}
