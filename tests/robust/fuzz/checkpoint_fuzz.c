/* A folder of checkpoints with any bytes in its files. An even first byte: the others are the JSON beside a good data
 * file; an odd one: they are the data, and the JSON is right. */
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "runtime/checkpoint/checkpoint.h"
#include "tests/robust/fuzz/fuzz.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);

static char folder[] = "/tmp/checkpoint-fuzz.XXXXXX";

static void remove_folder(void) {
    char path[64];
    for (int data = 0; data < 2; ++data) {
        snprintf(path, sizeof path, "%s/step-00000005.%s", folder, data ? "safetensors" : "json");
        remove(path);
    }
    remove(folder);
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    if (mkdtemp(folder) == NULL) abort();
    return atexit(remove_folder);
}

static void write_file(const char *end, const void *bytes, size_t size) {
    char path[64];
    snprintf(path, sizeof path, "%s/step-00000005.%s", folder, end);
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(bytes, 1, size, file) != size || fclose(file) != 0) abort();
}

static void write_json(const void *data, size_t size) {
    char text[512];
    int length =
        snprintf(text, sizeof text,
                 "{\"format\":\"onstage checkpoint 1\",\"step\":5,\"epoch\":1,\"position\":2,\"seed\":3,\"threads\":1,"
                 "\"optimizer\":\"adam\",\"options_digest\":\"x\",\"versions\":\"y\",\"more\":{\"z\":[1]},"
                 "\"file\":\"step-00000005.safetensors\",\"bytes\":%zu,\"crc32\":%lu}",
                 size, crc32_z(crc32_z(0, NULL, 0), data, size));
    write_file("json", text, (size_t)length);
}

static void read_all(const ons_safetensors *file) {
    for (size_t i = 0; i < file->count; ++i) {
        const ons_tensor *tensor = &file->tensors[i].tensor;
        const volatile uint8_t *at = tensor->data;
        for (int64_t k = 0; k < ons_type_dense_bytes(&tensor->type); ++k) (void)at[k];
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    static const char good[] =
        "\x3c\0\0\0\0\0\0\0{\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}      12345678";
    if (size == 0) return 0;
    bool data = bytes[0] & 1;
    write_file("safetensors", data ? bytes + 1 : (const void *)good, data ? size - 1 : sizeof good - 1);
    if (data)
        write_json(bytes + 1, size - 1);
    else
        write_file("json", bytes + 1, size - 1);
    ons_checkpoint checkpoint;
    bool found;
    ons_status *status = ons_checkpoint_open_newest(folder, &checkpoint, &found);
    if (status != NULL && (found || ons_status_get_message(status)[0] == '\0')) abort();
    for (uint32_t i = 0; status == NULL && found && i < checkpoint.part_count; ++i)
        read_all(&checkpoint.parts[i].tensors);
    ons_status_free(status);
    ons_checkpoint_close(&checkpoint);
    return 0;
}
