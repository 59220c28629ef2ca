#include "tools/progress.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"

/* On a terminal that is this process's alone, where a line replaces the one before: mpirun gives each process a
 * terminal and mixes what they and their errors say. */
static bool live;
static bool line_open;    /* there is one, and no line feed behind it */
static double last_shown; /* seconds */

const char *ons_print_bytes(int64_t bytes, char text[static ONS_SHORT_TEXT]) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double size = (double)bytes;
    int unit = 0;
    for (; size >= 1024 && unit < 4; ++unit) size /= 1024;
    snprintf(text, ONS_SHORT_TEXT, unit == 0 || size >= 100 ? "%.0f %s" : "%.1f %s", size, units[unit]);
    return text;
}

const char *ons_print_seconds(double seconds, char text[static ONS_SHORT_TEXT]) {
    long whole = isfinite(seconds) && seconds > 0 && seconds < 1e9 ? lround(seconds) : 0;
    if (whole >= 3600)
        snprintf(text, ONS_SHORT_TEXT, "%ld:%02ld:%02ld", whole / 3600, whole / 60 % 60, whole % 60);
    else
        snprintf(text, ONS_SHORT_TEXT, "%ld:%02ld", whole / 60, whole % 60);
    return text;
}

void ons_progress_begin(const ons_trainer_status *s) {
    char arena[ONS_SHORT_TEXT], transient[ONS_SHORT_TEXT];
    printf("%" PRId64 " sample%s, %" PRId64 " step%s of %" PRId64, s->samples, s->samples == 1 ? "" : "s", s->steps,
           s->steps == 1 ? "" : "s", s->batch);
    if (s->replicas > 1) printf(" in %" PRId64 " replicas", s->replicas);
    if (s->micro_batches > 1) printf(" %s %" PRId64 " micro-batches", s->replicas > 1 ? "of" : "in", s->micro_batches);
    printf(", %" PRId64 " weights, %d thread%s, memory %s (activations and gradients %s)\n", s->trainable_elements,
           s->threads, s->threads == 1 ? "" : "s", ons_print_bytes(s->arena_bytes, arena),
           ons_print_bytes(s->transient_bytes, transient));
    if (s->step > 0) printf("resumed after step %" PRId64 "\n", s->step);
    fflush(stdout);
    for (size_t i = 0; i < s->assumption_count; ++i)
        fprintf(stderr, "note: %s; %s\n", s->assumptions[i].what, s->assumptions[i].remedy);
    fputs(s->notes, stderr);
    live = isatty(STDOUT_FILENO) && s->processes == 1;
    last_shown = ons_clock_seconds();
}

enum { LINE_BYTES = 256, COLUMNS_USUAL = 80 };

int ons_terminal_columns(void) {
    struct winsize size = {0};
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : COLUMNS_USUAL;
}

static void format_line(const ons_step_report *r, char line[static LINE_BYTES]) {
    char memory[ONS_SHORT_TEXT], left[ONS_SHORT_TEXT];
    snprintf(line, LINE_BYTES,
             "step %" PRId64 "/%" PRId64 "  epoch %.2f  loss %.4f  lr %.3g  %.0f samples/s  memory %s  left %s",
             r->step, r->steps, r->epoch, r->loss, r->learning_rate, r->samples_per_second,
             ons_print_bytes(r->memory_peak_bytes, memory), ons_print_seconds(r->seconds_left, left));
}

/* The line of progress for narrow terminals. */
static void format_short_line(const ons_step_report *r, char line[static LINE_BYTES]) {
    char memory[ONS_SHORT_TEXT], left[ONS_SHORT_TEXT];
    snprintf(line, LINE_BYTES, "%" PRId64 "/%" PRId64 "  loss %.4f  lr %.3g  %.0f samples/s  %s  left %s", r->step,
             r->steps, r->loss, r->learning_rate, r->samples_per_second, ons_print_bytes(r->memory_peak_bytes, memory),
             ons_print_seconds(r->seconds_left, left));
}

static void print_line(const ons_step_report *r) {
    char line[LINE_BYTES];
    format_line(r, line);
    if (!live) {
        printf("%s\n", line);
        return;
    }
    int columns = ons_terminal_columns(); /* a line must not wrap: a carriage return goes back to its last part alone */
    if ((int)strlen(line) >= columns) format_short_line(r, line);
    printf("\r%.*s\033[K", columns - 1, line);
}

static void print_validation(const ons_step_report *r) {
    printf("step %" PRId64 "/%" PRId64 "  epoch %.2f  loss %.4f  validation loss %.4f", r->step, r->steps, r->epoch,
           r->loss, r->validation_loss);
    if (!isnan(r->validation_accuracy)) printf("  accuracy %.2f %%", 100 * r->validation_accuracy);
    printf("\n");
}

void ons_progress_step(const ons_step_report *r) {
    const double interval = live ? 0.1 : 5; /* seconds between lines */
    double time = ons_clock_seconds();
    if (r->validated) {
        fputs(live ? "\r\033[K" : "", stdout);
        print_validation(r);
        fflush(stdout);
        line_open = false;
        last_shown = time;
        return;
    }
    if (time - last_shown < interval && r->step != r->steps) return;
    last_shown = time;
    print_line(r);
    line_open = live;
    fflush(stdout);
}

void ons_progress_end(void) {
    if (line_open) putchar('\n'); /* the last line stays */
    line_open = false;
    fflush(stdout);
}
