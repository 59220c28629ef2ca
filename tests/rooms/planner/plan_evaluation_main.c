/* plan_evaluation PLAN.json...: each plan's step in seconds, as docs/plan.md has it, beside what the file says. Fails
 * where one differs by more than one part in a thousand million. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/rooms/planner/plan_evaluation.h"

static char *read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) return NULL;
    size_t size = 0, space = 1 << 16;
    char *text = malloc(space + 1);
    for (size_t got = 1; text != NULL && got > 0; size += got) {
        if (size == space) text = realloc(text, (space *= 2) + 1);
        got = text != NULL ? fread(text + size, 1, space - size, file) : 0;
    }
    if (text != NULL) text[size] = '\0';
    fclose(file);
    return text;
}

static int judge_file(const char *path) {
    char why[PLAN_EVALUATE_TEXT] = "it cannot be read";
    double judged, predicted;
    char *text = read_file(path);
    bool is_judged = text != NULL && plan_evaluate(text, &judged, &predicted, why);
    free(text);
    if (!is_judged) {
        fprintf(stderr, "%s: %s\n", path, why);
        return 2;
    }
    bool agrees = fabs(judged - predicted) <= 1e-9 * predicted;
    printf("%s: %.12g s, predicted %.12g s%s\n", path, judged, predicted, agrees ? "" : ": not the same");
    return agrees ? 0 : 1;
}

int main(int count, char **arguments) {
    int worst = count > 1 ? 0 : 2;
    if (worst > 0) fputs("usage: plan_evaluation PLAN.json...\n", stderr);
    for (int i = 1; i < count; ++i) {
        int result = judge_file(arguments[i]);
        if (result > worst) worst = result;
    }
    return worst;
}
