/* NVRTC compiles, the runtime loads: its libraries belong to no context, so a program serves every GPU of its
 * architecture. */
#include "device/cuda_compiler.h"

#include <cuda_runtime_api.h>
#include <nvrtc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/environment.h"
#include "base/file.h"
#include "base/hash.h"
#include "device/cuda.h"
#include "device/cuda_architecture.h"
#include "device/cuda_library.h"

#define FUNCTIONS(X)                                                                                                   \
    X(nvrtcVersion)                                                                                                    \
    X(nvrtcCreateProgram)                                                                                              \
    X(nvrtcDestroyProgram)                                                                                             \
    X(nvrtcCompileProgram)                                                                                             \
    X(nvrtcGetProgramLogSize)                                                                                          \
    X(nvrtcGetProgramLog)                                                                                              \
    X(nvrtcGetCUBINSize)                                                                                               \
    X(nvrtcGetCUBIN)                                                                                                   \
    X(nvrtcGetPTXSize)                                                                                                 \
    X(nvrtcGetPTX)                                                                                                     \
    X(nvrtcGetNumSupportedArchs)                                                                                       \
    X(nvrtcGetSupportedArchs)

struct ons_cuda_program {
    ons_cuda_program *next;
    uint64_t key[2];
    void *image; /* the library may read it later */
    const void *functions[ONS_CUDA_FUNCTIONS];
};

#define FIELD(NAME) __typeof__(&NAME) NAME;
static struct {
    pthread_mutex_t lock;
    bool loaded;
    int major, minor;
    ons_cuda_program *programs;
    FUNCTIONS(FIELD)
} library = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Without joining multiplications and additions, as nvcc compiles the operators' own kernels. */
static const char *const options[] = {"--std=c++17", "--fmad=false"};
enum { OPTIONS = sizeof options / sizeof options[0] };

static ons_status *load_locked(void) {
    if (library.loaded) return NULL;
#define SYMBOL(NAME) {#NAME, (void **)&library.NAME},
    const ons_cuda_symbol symbols[] = {FUNCTIONS(SYMBOL){NULL, NULL}};
    ONS_TRY(ons_cuda_library_load("libnvrtc.so.13", "kernels made at run time", symbols));
    ONS_CHECK(library.nvrtcVersion(&library.major, &library.minor) == NVRTC_SUCCESS, ONS_UNSUPPORTED,
              "NVRTC does not tell its version");
    library.loaded = true;
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------- keys */

/* Two sums, one of them FNV's, over everything that the code depends on. */
static void add(uint64_t key[2], const char *text) {
    for (const char *c = text;; ++c) { /* the end counts, too */
        key[0] = ons_hash_bytes(key[0], c, 1);
        key[1] = (key[1] ^ (unsigned char)*c) * 0x9e3779b97f4a7c15u;
        key[1] ^= key[1] >> 29;
        if (*c == '\0') return;
    }
}

static void make_key(const ons_cuda_source *source, const char *architecture, uint64_t key[2]) {
    char version[64];
    snprintf(version, sizeof version, "1 %d.%d", library.major, library.minor);
    key[0] = ONS_HASH_BASIS;
    key[1] = 0x243f6a8885a308d3u;
    add(key, version);
    add(key, architecture);
    for (int i = 0; i < OPTIONS; ++i) add(key, options[i]);
    add(key, source->text);
    for (uint32_t i = 0; i < source->header_count; ++i) {
        add(key, source->headers[i].name);
        add(key, source->headers[i].text);
    }
}

/* ----------------------------------------------------------------------------------------------------------- folder */

/* | "onsk" | key | bytes | sum over the code | code | */
typedef struct file_head {
    char magic[8];
    uint64_t key[2], bytes, sum;
} file_head;

static uint64_t sum_of(const void *bytes, size_t size) { return ons_hash_bytes(ONS_HASH_BASIS, bytes, size); }

static char *path_of(const char *folder, const uint64_t key[2]) {
    char *path = NULL;
    int length =
        asprintf(&path, "%s/%016llx%016llx.cubin", folder, (unsigned long long)key[0], (unsigned long long)key[1]);
    return length < 0 ? NULL : path;
}

/* NULL where there is no such file, or it is damaged. */
static void *read_image(const char *path, const uint64_t key[2], size_t *bytes) {
    ons_mapping file;
    file_head head;
    void *image = NULL;
    ons_status *status = ons_mapping_open(path, &file);
    ons_status_free(status);
    if (status != NULL) return NULL;
    if (file.size > sizeof head) {
        memcpy(&head, file.bytes, sizeof head);
        const char *code = (const char *)file.bytes + sizeof head;
        *bytes = file.size - sizeof head;
        if (memcmp(head.magic, "onskern", 8) == 0 && memcmp(head.key, key, sizeof head.key) == 0 &&
            head.bytes == *bytes && head.sum == sum_of(code, *bytes) && (image = malloc(*bytes)) != NULL)
            memcpy(image, code, *bytes);
    }
    ons_mapping_close(&file);
    return image;
}

static void make_folders(const char *folder) {
    char path[4096];
    size_t length = strlen(folder);
    if (length >= sizeof path) return;
    for (size_t i = 1; i <= length; ++i)
        if (folder[i] == '/' || folder[i] == '\0') {
            memcpy(path, folder, i);
            path[i] = '\0';
            (void)mkdir(path, 0777); /* what fails shows when the file is written */
        }
}

/* A folder that cannot be written costs the next run a compilation, nothing else. */
static void write_image(const char *path, const uint64_t key[2], const void *image, size_t bytes) {
    file_head head = {"onskern", {key[0], key[1]}, bytes, sum_of(image, bytes)};
    ons_file_writer *writer;
    ons_status *status = ons_file_writer_open(path, &writer);
    if (status == NULL) {
        status = ons_file_write(writer, &head, sizeof head);
        if (status == NULL) status = ons_file_write(writer, image, bytes);
        if (status == NULL)
            status = ons_file_commit(writer);
        else
            ons_file_discard(writer);
    }
    ons_status_free(status);
}

/* NULL where neither variable says where it is. */
static char *usual_folder(void) {
    char *folder;
    return ons_cache_path("onstage/kernels", &folder) ? folder : NULL; /* without memory it goes without */
}

/* -------------------------------------------------------------------------------------------------------- compiling */

static ons_status *failed(nvrtcProgram program, nvrtcResult result) {
    size_t size = 0;
    char *log = NULL;
    if (library.nvrtcGetProgramLogSize(program, &size) == NVRTC_SUCCESS && size > 0 && (log = malloc(size)) != NULL &&
        library.nvrtcGetProgramLog(program, log) != NVRTC_SUCCESS)
        log[0] = '\0';
    ons_status *status =
        ons_status_new(ONS_UNSUPPORTED, "NVRTC: status %d: %.2000s", (int)result, log == NULL ? "" : log);
    free(log);
    return status;
}

static ons_status *take_code(nvrtcProgram program, bool is_virtual, void **image, size_t *bytes) {
    nvrtcResult result =
        is_virtual ? library.nvrtcGetPTXSize(program, bytes) : library.nvrtcGetCUBINSize(program, bytes);
    if (result != NVRTC_SUCCESS || *bytes == 0) return failed(program, result);
    *image = malloc(*bytes);
    if (*image == NULL) return ons_status_out_of_memory();
    result = is_virtual ? library.nvrtcGetPTX(program, *image) : library.nvrtcGetCUBIN(program, *image);
    if (result == NVRTC_SUCCESS) return NULL;
    free(*image);
    *image = NULL;
    return failed(program, result);
}

static ons_status *compile(const ons_cuda_source *source, const char *architecture, void **image, size_t *bytes) {
    const char **names = calloc(2 * (size_t)source->header_count + 1, sizeof *names), **texts;
    const char *given[OPTIONS + 1];
    char target[64];
    nvrtcProgram program = NULL;
    if (names == NULL) return ons_status_out_of_memory();
    texts = names + source->header_count;
    for (uint32_t i = 0; i < source->header_count; ++i) {
        names[i] = source->headers[i].name;
        texts[i] = source->headers[i].text;
    }
    snprintf(target, sizeof target, "--gpu-architecture=%s", architecture);
    memcpy(given, options, sizeof options);
    given[OPTIONS] = target;
    nvrtcResult result =
        library.nvrtcCreateProgram(&program, source->text, "fused.cu", (int)source->header_count, texts, names);
    free(names);
    ONS_CHECK(result == NVRTC_SUCCESS, ONS_UNSUPPORTED, "NVRTC makes no program: status %d", (int)result);
    result = library.nvrtcCompileProgram(program, OPTIONS + 1, given);
    ons_status *status = result == NVRTC_SUCCESS ? take_code(program, ons_cuda_is_virtual(architecture), image, bytes)
                                                 : failed(program, result);
    (void)library.nvrtcDestroyProgram(&program);
    return status;
}

static ons_status *find_image(const ons_cuda_source *source, const char *architecture, const char *folder,
                              const uint64_t key[2], void **image, size_t *bytes, bool *found) {
    char *path = folder == NULL ? NULL : path_of(folder, key);
    *image = path == NULL ? NULL : read_image(path, key, bytes);
    if (found != NULL) *found = *image != NULL;
    ons_status *status = NULL;
    if (*image == NULL) {
        status = compile(source, architecture, image, bytes);
        if (status == NULL && path != NULL) {
            make_folders(folder);
            write_image(path, key, *image, *bytes);
        }
    }
    free(path);
    return status;
}

ons_status *ons_cuda_compile_image(const ons_cuda_source *source, const char *architecture, const char *folder,
                                   void **image, size_t *bytes, bool *found) {
    uint64_t key[2];
    pthread_mutex_lock(&library.lock);
    ons_status *status = load_locked();
    pthread_mutex_unlock(&library.lock);
    if (status != NULL) return status;
    make_key(source, architecture, key);
    return find_image(source, architecture, folder, key, image, bytes, found);
}

/* ---------------------------------------------------------------------------------------------------------- loading */

static ons_status *cuda_status(cudaError_t error, const char *what) {
    if (error == cudaSuccess) return NULL;
    (void)cudaGetLastError();
    return ons_status_new(ONS_UNSUPPORTED, "%s: %s (CUDA error %d)", what, cudaGetErrorString(error), (int)error);
}

/* What NVRTC compiles for, for the calling thread's GPU. */
static ons_status *find_architecture(char architecture[ONS_CUDA_ARCHITECTURE_BYTES]) {
    int device = 0, major = 0, minor = 0, count = 0;
    ONS_TRY(cuda_status(cudaGetDevice(&device), "asking for the GPU"));
    ONS_TRY(cuda_status(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), "the GPU's kind"));
    ONS_TRY(cuda_status(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device), "the GPU's kind"));
    ONS_CHECK(library.nvrtcGetNumSupportedArchs(&count) == NVRTC_SUCCESS && count > 0, ONS_UNSUPPORTED,
              "NVRTC does not tell which GPUs it compiles for");
    int *supported = calloc((size_t)count, sizeof *supported);
    if (supported == NULL) return ons_status_out_of_memory();
    ons_status *status = library.nvrtcGetSupportedArchs(supported) == NVRTC_SUCCESS
                             ? ons_cuda_choose_architecture(10 * major + minor, supported, count, architecture)
                             : ons_status_new(ONS_UNSUPPORTED, "NVRTC does not tell which GPUs it compiles for");
    free(supported);
    return status;
}

static ons_status *load_program(const ons_cuda_source *source, ons_cuda_program *program) {
    cudaLibrary_t loaded;
    ONS_TRY(cuda_status(cudaLibraryLoadData(&loaded, program->image, NULL, NULL, 0, NULL, NULL, 0), "loading kernels"));
    for (int i = 0; i < ONS_CUDA_FUNCTIONS && source->functions[i] != NULL; ++i) {
        cudaKernel_t kernel;
        ONS_TRY(cuda_status(cudaLibraryGetKernel(&kernel, loaded, source->functions[i]), "finding a kernel"));
        program->functions[i] = (const void *)kernel;
    }
    return NULL;
}

static ons_status *compile_locked(const ons_cuda_source *source, const ons_cuda_program **result) {
    char architecture[ONS_CUDA_ARCHITECTURE_BYTES];
    uint64_t key[2];
    size_t bytes;
    ONS_TRY(load_locked());
    ONS_TRY(find_architecture(architecture));
    make_key(source, architecture, key);
    for (const ons_cuda_program *each = library.programs; each != NULL; each = each->next)
        if (memcmp(each->key, key, sizeof key) == 0) {
            *result = each;
            return NULL;
        }
    ons_cuda_program *program = calloc(1, sizeof *program);
    if (program == NULL) return ons_status_out_of_memory();
    memcpy(program->key, key, sizeof key);
    char *folder = usual_folder();
    ons_status *status = find_image(source, architecture, folder, key, &program->image, &bytes, NULL);
    free(folder);
    if (status == NULL) status = load_program(source, program);
    if (status != NULL) {
        free(program->image);
        free(program);
        return status;
    }
    program->next = library.programs;
    library.programs = program;
    *result = program;
    return NULL;
}

ons_status *ons_cuda_compile(const ons_cuda_source *source, const ons_cuda_program **program) {
    pthread_mutex_lock(&library.lock);
    ons_status *status = compile_locked(source, program);
    pthread_mutex_unlock(&library.lock);
    return status;
}

void ons_cuda_program_launch(const ons_cuda_program *program, uint32_t function, uintptr_t stream, int64_t blocks,
                             int threads, const void *arguments, size_t bytes) {
    (void)bytes; /* the kernel knows */
    void *list[] = {(void *)arguments};
    cudaLaunchConfig_t config = {
        .gridDim = {(unsigned)blocks, 1, 1}, .blockDim = {(unsigned)threads, 1, 1}, .stream = (cudaStream_t)stream};
    cudaError_t error = cudaLaunchKernelExC(&config, program->functions[function], list);
    if (error != cudaSuccess) ons_cuda_note((int)error, "launching a fused kernel", cudaGetErrorString(error));
}
