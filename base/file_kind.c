#include "base/file_kind.h"

#include <stdbool.h>
#include <string.h>

#define UNPACK "unpack it first"
#define EXPORT "export the model to ONNX from the framework that reads it"
#define DECODE "decode it into an array first, for instance with Pillow and numpy.save"
#define SAVE   "convert it to .npy first, for instance with pandas and numpy.save"

/* `magic` stands `at` bytes from the beginning. The first that fits counts: longer ones come before shorter ones. */
static const struct {
    size_t at;
    const char *magic;
    size_t length;
    ons_file_kind kind;
} kinds[] = {
#define MAGIC(AT, TEXT, WHAT, REMEDY)                                                                                  \
    {                                                                                                                  \
        AT, TEXT, sizeof TEXT - 1, { WHAT, REMEDY, false }                                                             \
    }
#define ARRAYS(AT, TEXT, WHAT, REMEDY)                                                                                 \
    {                                                                                                                  \
        AT, TEXT, sizeof TEXT - 1, { WHAT, REMEDY, true }                                                              \
    }
    MAGIC(0, "version https://git-lfs", "a pointer that Git LFS left in the place of the file", "run git lfs pull"),
    MAGIC(0, "<!DOCTYPE html", "an HTML page", "the download has failed; fetch the file again"),
    MAGIC(0, "<!doctype html", "an HTML page", "the download has failed; fetch the file again"),
    MAGIC(0, "<html", "an HTML page", "the download has failed; fetch the file again"),
    MAGIC(0, "<?xml", "an XML file", "the download has failed, or another file was meant"),
    MAGIC(0, "\x89PNG\r\n\x1a\n", "a PNG picture", DECODE),
    MAGIC(0, "\xff\xd8\xff", "a JPEG picture", DECODE),
    MAGIC(0, "GIF8", "a GIF picture", DECODE),
    MAGIC(0, "BM", "a BMP picture", DECODE),
    MAGIC(8, "WEBP", "a WebP picture", DECODE),
    MAGIC(8, "WAVE", "a WAV recording", "decode it into an array first, for instance with soundfile and numpy.save"),
    MAGIC(0, "%PDF-", "a PDF document", "another file was meant"),
    MAGIC(0, "\x89HDF\r\n\x1a\n", "an HDF5 file, as Keras saves models", EXPORT " (tf2onnx), or save arrays as .npy"),
    MAGIC(4, "TFL3", "a TensorFlow Lite model", EXPORT),
    MAGIC(0, "GGUF", "a GGUF model", EXPORT),
    MAGIC(0, "\x80\x02", "a Python pickle, as PyTorch saved models", "load it in PyTorch and call torch.onnx.export"),
    MAGIC(0, "\x80\x03", "a Python pickle", "load it in Python; numpy.save writes arrays, torch.onnx.export models"),
    MAGIC(0, "\x80\x04", "a Python pickle", "load it in Python; numpy.save writes arrays, torch.onnx.export models"),
    MAGIC(0, "\x80\x05", "a Python pickle", "load it in Python; numpy.save writes arrays, torch.onnx.export models"),
    ARRAYS(0, "\x93NUMPY", "a .npy array", "give it to --input or --target; a model was wanted"),
    MAGIC(0,
          "\x7f"
          "ELF",
          "a program or library", "another file was meant"),
    MAGIC(0, "PAR1", "a Parquet table", SAVE),
    MAGIC(0, "ARROW1", "an Arrow table", SAVE),
    ARRAYS(0, "\x1f\x8b", "a gzip file", UNPACK " (gunzip)"),
    MAGIC(0, "BZh", "a bzip2 file", UNPACK " (bunzip2)"),
    MAGIC(0,
          "\xfd"
          "7zXZ",
          "an xz file", UNPACK " (unxz)"),
    MAGIC(0, "\x28\xb5\x2f\xfd", "a zstd file", UNPACK " (unzstd)"),
    MAGIC(0, "7z\xbc\xaf", "a 7z archive", UNPACK),
    MAGIC(0, "Rar!", "a RAR archive", UNPACK),
    MAGIC(257, "ustar", "a tar archive", UNPACK " (tar xf)"),
#undef MAGIC
#undef ARRAYS
};

static const ons_file_kind torch_archive = {"a PyTorch checkpoint (.pt, .pth)",
                                            "load it in PyTorch and call torch.onnx.export", false};
static const ons_file_kind zip_archive = {"a zip archive", UNPACK " (unzip)", true};
static const ons_file_kind safetensors = {"a safetensors file: weights without a model", EXPORT, false};
static const ons_file_kind json_text = {"JSON text", "another file was meant", false};
static const ons_file_kind empty = {"an empty file", "write or fetch it again", false};

static bool begins_with(const uint8_t *bytes, size_t size, size_t at, const char *magic, size_t length) {
    return size >= at + length && memcmp(bytes + at, magic, length) == 0;
}

/* PyTorch's archives have NAME/data.pkl as their first member. */
static const ons_file_kind *find_archive(const uint8_t *bytes, size_t size) {
    enum { LOOKED_AT = 256 };
    if (!begins_with(bytes, size, 0, "PK\3\4", 4)) return NULL;
    bool torch = memmem(bytes, size < LOOKED_AT ? size : LOOKED_AT, "data.pkl", 8) != NULL;
    return torch ? &torch_archive : &zip_archive;
}

/* The length of its header, 8 bytes, in front of "{". */
static bool is_safetensors(const uint8_t *bytes, size_t size) {
    uint64_t header = 0;
    if (size < 10 || bytes[8] != '{' || bytes[9] != '"') return false;
    for (int i = 7; i >= 0; --i) header = header << 8 | bytes[i];
    return header <= size - 8;
}

const ons_file_kind *ons_file_kind_find(const uint8_t *bytes, size_t size) {
    if (size == 0) return &empty;
    const ons_file_kind *archive = find_archive(bytes, size);
    if (archive != NULL) return archive;
    if (is_safetensors(bytes, size)) return &safetensors;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i)
        if (begins_with(bytes, size, kinds[i].at, kinds[i].magic, kinds[i].length)) return &kinds[i].kind;
    return bytes[0] == '{' && size > 1 && strchr("\"\n\r }", bytes[1]) != NULL ? &json_text : NULL;
}
