#include "tests/pipeline/sweep_mpi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/transport/transport.h"

enum { STAGES_MOST = 64, PATH_BYTES = 256, STALL_SECONDS = 60 };

/* What mpirun runs: this program with these arguments. */
enum { PART_ARGUMENTS = 13, NUMBERS = 9 };

/* ------------------------------------------------------------------------------------------------------------ one part
 */

static ons_status *run_part(const pipeline_setting *s, const char *folder) {
    pipeline_record record;
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%u", folder, s->transport->rank);
    ons_status *status = pipeline_run(s, &record);
    if (status == NULL) {
        status = pipeline_record_write(&record, path);
        pipeline_record_free(&record);
    }
    return status;
}

static uint32_t number(const char *text) { return (uint32_t)strtoul(text, NULL, 10); }

/* Told once, by the rank that has to. */
static int end(ons_transport *transport, ons_status *status) {
    bool failed = status != NULL;
    if (failed && transport != NULL) {
        transport->fail(transport, status);
        ons_status *first = transport->failure(transport);
        if (first != NULL && transport->tells(transport)) fprintf(stderr, "%s\n", ons_status_get_message(first));
        ons_status_free(first);
    } else if (failed) {
        fprintf(stderr, "%s\n", ons_status_get_message(status));
    }
    ons_status_free(status);
    if (transport != NULL) transport->free(transport);
    return failed;
}

bool sweep_is_part(int argc, char **argv, int *code) {
    if (argc != PART_ARGUMENTS || strcmp(argv[1], "--part") != 0) return false;
    pipeline_setting s = {
        .model = argv[3],
        .stages = number(argv[4]),
        .kind = ons_generators[number(argv[5])],
        .relief = (pipeline_relief)number(argv[6]),
        .micro_batches = number(argv[7]),
        .threads = number(argv[8]),
        .steps = number(argv[9]),
        .seed = strtoull(argv[10], NULL, 10),
        .one_in = number(argv[11]) / 2,
        .scattered = number(argv[11]) % 2,
        .more = number(argv[12]),
    };
    ons_status *status = ons_mpi_transport_new(STALL_SECONDS, &s.transport);
    if (status == NULL) status = run_part(&s, argv[2]);
    *code = end(s.transport, status);
    return true;
}

/* ----------------------------------------------------------------------------------------------------------- all parts
 */

/* Among all generators. */
static uint64_t place_of(const ons_generator *generator) {
    uint64_t place = 0;
    while (ons_generators[place] != generator) ++place;
    return place;
}

static void become_mpirun(const pipeline_setting *s, const char *folder, const char *program) {
    char numbers[NUMBERS][24], log[PATH_BYTES];
    const uint64_t values[NUMBERS] = {
        s->stages, place_of(s->kind), (uint64_t)s->relief,          s->micro_batches, s->threads,
        s->steps,  s->seed,           2 * s->one_in + s->scattered, s->more};
    for (int i = 0; i < NUMBERS; ++i) snprintf(numbers[i], sizeof numbers[i], "%llu", (unsigned long long)values[i]);
    snprintf(log, sizeof log, "%s/log", folder);
    if (freopen(log, "w", stderr) == NULL || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) _exit(126);
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    setenv("HOME", folder, 0); /* Open MPI 5 does not start without one */
    /* Some containers forbid reading another process's memory (what Open MPI 4 and 5 call it). */
    setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", 1);
    setenv("OMPI_MCA_smsc", "^cma", 1);
    execlp("timeout", "timeout", "-k", "5", "300", "mpirun", "-n", numbers[0], "--oversubscribe", "--bind-to", "none",
           "--mca", "btl", "self,vader", program, "--part", folder, s->model, numbers[0], numbers[1], numbers[2],
           numbers[3], numbers[4], numbers[5], numbers[6], numbers[7], numbers[8], (char *)NULL);
    _exit(127);
}

/* The first line that somebody wrote, mpirun's rules apart. */
static ons_status *complain(const char *folder, int how) {
    char path[PATH_BYTES], line[512] = "it said nothing";
    snprintf(path, sizeof path, "%s/log", folder);
    FILE *log = fopen(path, "r");
    while (log != NULL && fgets(line, sizeof line, log) != NULL && (line[0] == '\n' || line[0] == '-')) {
    }
    if (log != NULL) fclose(log);
    line[strcspn(line, "\n")] = '\0';
    return ons_status_new(ONS_DEFECT, "mpirun ended with %d: %s", WIFEXITED(how) ? WEXITSTATUS(how) : -1, line);
}

static ons_status *run_parts(const pipeline_setting *s, const char *folder) {
    char program[PATH_BYTES * 4];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    ONS_CHECK(length > 0, ONS_IO_ERROR, "this program has no name");
    program[length] = '\0';
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) become_mpirun(s, folder, program);
    int how = -1;
    if (child > 0) waitpid(child, &how, 0);
    return how == 0 ? NULL : complain(folder, how);
}

static ons_status *compare(const pipeline_setting *s, const pipeline_record *whole, const char *folder,
                           pipeline_record *parts) {
    for (uint32_t i = 0; i < s->stages; ++i) {
        char path[PATH_BYTES];
        snprintf(path, sizeof path, "%s/%u", folder, i);
        ONS_TRY(pipeline_record_read(path, &parts[i]));
        if (i > 0) parts[0].memory += parts[i].memory;
    }
    return pipeline_compare_parts(whole, parts, s->stages);
}

static void remove_folder(const char *folder, uint32_t stages) {
    char path[PATH_BYTES];
    for (uint32_t i = 0; i < stages; ++i) {
        snprintf(path, sizeof path, "%s/%u", folder, i);
        unlink(path);
    }
    snprintf(path, sizeof path, "%s/log", folder);
    unlink(path);
    rmdir(folder);
}

ons_status *sweep_by_processes(const pipeline_setting *s, const pipeline_record *whole, pipeline_record *first) {
    char folder[] = "/tmp/sweep.XXXXXX";
    pipeline_record parts[STAGES_MOST] = {{.arena = NULL}};
    ONS_CHECK(s->stages <= STAGES_MOST && mkdtemp(folder) != NULL, ONS_IO_ERROR, "no folder for records in /tmp");
    ons_status *status = run_parts(s, folder);
    if (status == NULL) status = compare(s, whole, folder, parts);
    remove_folder(folder, s->stages);
    for (uint32_t i = 1; i < s->stages; ++i) pipeline_record_free(&parts[i]);
    *first = parts[0];
    return status;
}
