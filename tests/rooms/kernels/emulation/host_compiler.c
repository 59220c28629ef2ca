#include "tests/rooms/kernels/emulation/host_compiler.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device/cuda_compiler.h"
#include "tests/rooms/kernels/emulation/emulation.h"

typedef void host_kernel(uint32_t function, uint32_t blocks, uint32_t threads, const void *arguments);

struct ons_cuda_program {
    const ons_cuda_program *next;
    char *text;
    host_kernel *kernel;
};

bool ons_host_compiler_missing;
uint32_t ons_host_compiler_programs, ons_host_compiler_launches;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const ons_cuda_program *programs;

ons_status *__wrap_ons_cuda_compile(const ons_cuda_source *source, const ons_cuda_program **result);
void __wrap_ons_cuda_program_launch(const ons_cuda_program *program, uint32_t function, uintptr_t stream,
                                    int64_t blocks, int threads, const void *arguments, size_t bytes);

/* The emulated GPU's headers include the conversions of half types; here they are the test program's. */
static const char type_header[] = "#include <stdint.h>\n"
                                  "float ons_half_to_float(uint16_t bits);\n"
                                  "uint16_t ons_float_to_half(float value);\n"
                                  "float ons_bfloat16_to_float(uint16_t bits);\n"
                                  "uint16_t ons_float_to_bfloat16(float value);\n";

/* Kernels that are made at run time have no barriers: the threads run one after the other. */
static const char prologue[] = "#define __grid_constant__\n"
                               "#include <cuda_runtime.h>\n"
                               "dim3 gridDim, blockDim, blockIdx, threadIdx;\n";
static const char epilogue[] =
    "extern \"C\" void ons_host_kernel(uint32_t function, uint32_t blocks, uint32_t threads, const void *arguments) {\n"
    "    const ons_fused_arguments &g = *(const ons_fused_arguments *)arguments;\n"
    "    gridDim = dim3(blocks), blockDim = dim3(threads);\n"
    "    for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x)\n"
    "        for (threadIdx.x = 0; threadIdx.x < threads; ++threadIdx.x)\n"
    "            function == 0 ? ons_fused_wide(g) : ons_fused_1(g);\n"
    "}\n";

__attribute__((format(printf, 1, 2))) static char *text_of(const char *format, ...) {
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0) abort();
    va_end(arguments);
    return text;
}

static bool run_command(char *command) {
    bool well = system(command) == 0;
    free(command);
    return well;
}

/* Creates the folders on the way. */
static FILE *create(const char *folder, const char *name) {
    char *path = text_of("%s/%s", folder, name);
    for (char *c = path + strlen(folder) + 1; *c != '\0'; ++c)
        if (*c == '/') {
            *c = '\0';
            mkdir(path, 0700);
            *c = '/';
        }
    FILE *file = fopen(path, "w");
    free(path);
    return file;
}

static void write_text(const char *folder, const char *name, const char *before, const char *text, const char *after) {
    FILE *file = create(folder, name);
    if (file == NULL) abort();
    fprintf(file, "%s%s%s", before, text, after);
    if (fclose(file) != 0) abort();
}

static ons_status *build(const ons_cuda_source *source, const char *folder, host_kernel **kernel) {
    write_text(folder, "graph/type.h", "", type_header, "");
    for (uint32_t i = 0; i < source->header_count; ++i)
        write_text(folder, source->headers[i].name, "", source->headers[i].text, "");
    write_text(folder, "fused.cc", prologue, source->text, epilogue);
    /* As the emulated kernels are compiled: see BUILD. */
    ONS_CHECK(run_command(text_of("g++ -std=gnu++17 -O1 -ffp-contract=off -fwrapv -fPIC -shared -w -I%s "
                                  "-Itests/rooms/kernels/emulation/include -o %s/fused.so %s/fused.cc",
                                  folder, folder, folder)),
              ONS_DEFECT, "the host's compiler refuses a generated kernel in %s", folder);
    char *path = text_of("%s/fused.so", folder);
    void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    free(path);
    ONS_CHECK(library != NULL, ONS_DEFECT, "%s", dlerror());
    *(void **)kernel = dlsym(library, "ons_host_kernel");
    return NULL;
}

static ons_status *compile(const ons_cuda_source *source, const ons_cuda_program **result) {
    for (const ons_cuda_program *each = programs; each != NULL; each = each->next)
        if (strcmp(each->text, source->text) == 0) {
            *result = each;
            return NULL;
        }
    const char *temporary = getenv("TEST_TMPDIR");
    char *folder = text_of("%s/fusedXXXXXX", temporary == NULL ? "/tmp" : temporary);
    ONS_CHECK(mkdtemp(folder) != NULL, ONS_DEFECT, "no folder '%s'", folder);
    host_kernel *kernel;
    ONS_TRY(build(source, folder, &kernel));
    ons_cuda_program *program = calloc(1, sizeof *program);
    if (program == NULL || (program->text = strdup(source->text)) == NULL) abort();
    program->kernel = kernel;
    (void)run_command(text_of("rm -rf %s", folder));
    free(folder);
    program->next = programs;
    programs = program;
    ++ons_host_compiler_programs;
    *result = program;
    return NULL;
}

ons_status *__wrap_ons_cuda_compile(const ons_cuda_source *source, const ons_cuda_program **result) {
    ONS_CHECK(!ons_host_compiler_missing, ONS_UNSUPPORTED, "no compiler, says the test");
    pthread_mutex_lock(&lock);
    ons_status *status = compile(source, result);
    pthread_mutex_unlock(&lock);
    if (status == NULL) return NULL;
    /* A fused node would go on with the operators' own kernels, and nothing would be tested. */
    fprintf(stderr, "%s\n", ons_status_get_message(status));
    abort();
}

typedef struct call {
    const ons_cuda_program *program;
    uint32_t function, blocks, threads;
    max_align_t arguments[];
} call;

static void run(void *argument) {
    const call *c = argument;
    c->program->kernel(c->function, c->blocks, c->threads, c->arguments);
}

void __wrap_ons_cuda_program_launch(const ons_cuda_program *program, uint32_t function, uintptr_t stream,
                                    int64_t blocks, int threads, const void *arguments, size_t bytes) {
    call *c = malloc(sizeof *c + bytes);
    if (c == NULL) abort();
    *c = (call){program, function, (uint32_t)blocks, (uint32_t)threads};
    memcpy(c->arguments, arguments, bytes);
    __atomic_fetch_add(&ons_host_compiler_launches, 1, __ATOMIC_RELAXED);
    if (ons_emulation_put == NULL) {
        run(c);
        free(c);
    } else {
        ons_emulation_put(stream, run, free, c);
    }
}
