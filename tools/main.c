#include <errno.h>
#include <execinfo.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/nearest.h"
#include "include/onstage.h"
#include "tools/arguments.h"
#include "tools/commands.h"

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
} commands[] = {
#define COMMAND(NAME, SUMMARY) {#NAME, ons_command_##NAME, SUMMARY},
#include "tools/commands.inc"
#undef COMMAND
};

static void print_help(FILE *out) {
    fputs(
        "onstage trains models exported to ONNX, without Python.\n\nUsage: onstage COMMAND MODEL.onnx [OPTION...]\n\n",
        out);
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; ++i)
        fprintf(out, "  %-9s %s\n", commands[i].name, commands[i].summary);
    fprintf(out, "\n`onstage COMMAND --help` shows a command's options, `onstage --version` the version.\n%s",
            ONS_EXIT_CODES);
}

static void print_unknown(const char *name) {
    ons_nearest nearest = ons_nearest_to(name);
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; ++i) ons_nearest_try(&nearest, commands[i].name);
    fprintf(stderr, "onstage: there is no command '%s'%s; `onstage --help` lists them\n", name,
            ons_nearest_hint(&nearest));
}

/* What was printed may still be lost: to a full disk, for instance. A reader that went away (| head) has seen enough.
 */
static int close_output(int code) {
    bool failed = fflush(stdout) != 0 || ferror(stdout) != 0;
    if (!failed || errno == EPIPE) return code;
    fprintf(stderr, "onstage: the standard output cannot be written: %s\n", strerror(errno));
    return code == 0 ? ONS_IO_ERROR : code;
}

/* C++'s std::set_new_handler, where a library has brought C++ with it (oneDNN). */
extern void (*set_new_handler(void (*handler)(void)))(void) __asm__("_ZSt15set_new_handlerPFvvE") __attribute__((weak));

/* The library could only throw, and nobody would catch it. */
static void end_without_memory(void) {
    static const char message[] = "onstage: out of host memory, inside a library\n";
    ssize_t written = write(STDERR_FILENO, message, sizeof message - 1);
    (void)written;
    _exit(ONS_OUT_OF_MEMORY);
}

__attribute__((no_sanitize("address", "thread", "undefined"))) static void handle_failing_new(void) {
    if (set_new_handler != NULL) set_new_handler(end_without_memory);
}

/* Libraries allocate while they are loaded, long before main: what stands in this section runs ahead of them. */
__attribute__((section(".preinit_array"), used)) static void (*const before_libraries)(void) = handle_failing_new;

/* The C library loads what ends a thread when the first one ends, and aborts where it has no memory for it then. */
static void load_unwinder(void) {
    void *frame;
    backtrace(&frame, 1);
}

/* Threads get stacks of the limit's size, and libraries count on more than this. */
static int check_stack(void) {
    enum { STACK_LEAST = 1 << 20 };
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= STACK_LEAST) return 0;
    fprintf(stderr, "onstage: the limit of the stack is %llu KiB; raise it to 1024 or more: ulimit -s 8192\n",
            (unsigned long long)limit.rlim_cur / 1024);
    return ONS_OUT_OF_MEMORY;
}

int main(int argc, char **argv) {
    int refused = check_stack();
    if (refused != 0) return refused;
    load_unwinder();
    ons_shorten_waits(argv);
    /* A reader that went away and a file-size limit are write errors like others, with a message. */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    static char help[] = "--help";
    if (argc == 3 && strcmp(argv[1], "help") == 0) { /* "onstage help train" */
        argv[1] = argv[2];
        argv[2] = help;
    }
    const char *name = argc > 1 ? argv[1] : "";
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; ++i)
        if (strcmp(commands[i].name, name) == 0) return close_output(commands[i].run(argc - 1, argv + 1));
    bool asked = strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0;
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        ons_config *config; /* making one finds fault with the environment */
        int code = ons_report_failure(ons_config_new(&config));
        if (code != 0) return code;
        ons_config_free(config);
        printf("onstage %s\n%s\n", ons_version(), ons_kernels_version());
        return close_output(0);
    }
    if (asked) {
        print_help(stdout);
        return close_output(0);
    }
    if (name[0] == '\0')
        print_help(stderr);
    else
        print_unknown(name);
    return ONS_INVALID_ARGUMENT;
}
