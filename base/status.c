#include "base/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

struct ons_status {
    ons_status_code code;
    char *message;
};

/* Used where there is not even memory for a message; never freed. */
static ons_status out_of_memory = {ONS_OUT_OF_MEMORY, (char *)"out of host memory"};

/* Whether a terminal would act on the character at `text`, which is not the end. A line that begins with a blank
 * continues the message: ours do. */
static bool acts(const char *text) { return text[0] == '\n' ? text[1] != ' ' : ons_is_control(text, 2); }

/* Texts from files may stand in a message: what would change the terminal, or pretend to be another message, is spelled
 * as in C. Takes over `message`; NULL: no memory. */
static char *show(char *message) {
    if (message == NULL) return NULL;
    size_t size = 1;
    bool whole = true;
    for (const char *at = message; *at != '\0'; ++at) {
        whole &= !acts(at);
        size += acts(at) ? strlen("\\xff") : 1;
    }
    if (whole) return message;
    char *shown = malloc(size), *to = shown;
    for (const char *at = message; shown != NULL && *at != '\0'; ++at)
        if (*at == '\n' && acts(at))
            to = stpcpy(to, "\\n");
        else if (acts(at))
            to += sprintf(to, "\\x%02x", (unsigned char)*at);
        else
            *to++ = *at;
    if (shown != NULL) *to = '\0';
    free(message);
    return shown;
}

static ons_status *wrap(ons_status_code code, char *message) {
    ons_status *status = malloc(sizeof *status);
    if (status == NULL || message == NULL) {
        free(status);
        free(message);
        return &out_of_memory;
    }
    *status = (ons_status){code, message};
    return status;
}

ons_status *ons_status_new(ons_status_code code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *message = NULL;
    if (vasprintf(&message, format, arguments) < 0) message = NULL;
    va_end(arguments);
    return wrap(code, show(message));
}

ons_status *ons_status_at(ons_status *status, const char *format, ...) {
    if (status == NULL) return status;
    va_list arguments;
    va_start(arguments, format);
    char *place = NULL;
    if (vasprintf(&place, format, arguments) < 0) place = NULL;
    va_end(arguments);
    char *message = NULL;
    place = show(place);
    if (place != NULL && asprintf(&message, "%s: %s", place, status->message) >= 0) {
        if (status == &out_of_memory) { /* the static one stays as it is: there was memory for a message, after all */
            free(place);
            return wrap(ONS_OUT_OF_MEMORY, message);
        }
        free(status->message);
        status->message = message;
    }
    free(place);
    return status;
}

ons_status *ons_status_system(int error_number, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *what = NULL;
    if (vasprintf(&what, format, arguments) < 0) what = NULL;
    va_end(arguments);
    char reason[128];
    ons_status *status = ons_status_new(ONS_IO_ERROR, "%s: %s", what == NULL ? "" : what,
                                        strerror_r(error_number, reason, sizeof reason));
    free(what);
    return status;
}

ons_status *ons_status_out_of_memory(void) { return &out_of_memory; }

ons_status_code ons_status_get_code(const ons_status *status) { return status == NULL ? ONS_OK : status->code; }

const char *ons_status_get_message(const ons_status *status) { return status == NULL ? "" : status->message; }

void ons_status_free(ons_status *status) {
    if (status == NULL || status == &out_of_memory) return;
    free(status->message);
    free(status);
}
