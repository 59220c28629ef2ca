/* Checks a page for the tests of the command: html_check FILE. Every tag is closed by its own, attributes are quoted, &
 * starts a known entity, and nothing is fetched from anywhere: no addresses, scripts or imports. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"

enum { DEPTH = 64, NAME = 16 };

typedef struct page {
    const char *at, *end, *start;
    char open[DEPTH][NAME];
    int depth;
} page;

static int fail(const page *p, const char *why) {
    int length = (int)(p->end - p->at < 60 ? p->end - p->at : 60);
    fprintf(stderr, "html_check: byte %td: %s: %.*s\n", p->at - p->start, why, length, p->at);
    return 1;
}

static bool starts(const page *p, const char *text) {
    size_t length = strlen(text);
    return (size_t)(p->end - p->at) >= length && memcmp(p->at, text, length) == 0;
}

static int check_entity(page *p) {
    static const char *const known[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;", "&#160;"};
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i)
        if (starts(p, known[i])) {
            p->at += strlen(known[i]);
            return 0;
        }
    return fail(p, "an & that is not escaped");
}

static int read_name(page *p, char name[NAME]) {
    size_t length = 0;
    while (p->at < p->end && isalnum((unsigned char)*p->at) && length + 1 < NAME) name[length++] = *p->at++;
    name[length] = '\0';
    return length == 0 ? fail(p, "a < that starts no tag") : 0;
}

static int check_close(page *p) {
    char name[NAME];
    p->at += 2;
    if (read_name(p, name) != 0) return 1;
    if (p->depth == 0 || strcmp(p->open[p->depth - 1], name) != 0) return fail(p, "this tag was not open");
    --p->depth;
    if (p->at == p->end || *p->at != '>') return fail(p, "a closing tag without end");
    ++p->at;
    return 0;
}

static int check_value(page *p) {
    if (!starts(p, "=\"")) return fail(p, "an attribute that is not quoted");
    for (p->at += 2; p->at < p->end && *p->at != '"';) {
        if (*p->at == '<' || *p->at == '>') return fail(p, "a tag within an attribute");
        if (*p->at != '&')
            ++p->at;
        else if (check_entity(p) != 0)
            return 1;
    }
    if (p->at == p->end) return fail(p, "an attribute without end");
    ++p->at;
    return 0;
}

static int check_attributes(page *p, bool *closed) {
    *closed = false;
    while (p->at < p->end && *p->at != '>') {
        if (starts(p, "/>")) {
            *closed = true;
            ++p->at;
            break;
        }
        if (*p->at++ != ' ') return fail(p, "no space in front of an attribute");
        while (p->at < p->end && (isalnum((unsigned char)*p->at) || *p->at == '-')) ++p->at;
        if (check_value(p) != 0) return 1;
    }
    if (p->at == p->end) return fail(p, "a tag without end");
    ++p->at;
    return 0;
}

static int check_open(page *p) {
    char name[NAME];
    bool closed;
    ++p->at;
    if (read_name(p, name) != 0 || check_attributes(p, &closed) != 0) return 1;
    if (closed) return 0;
    if (p->depth == DEPTH) return fail(p, "too many tags in each other");
    strcpy(p->open[p->depth++], name);
    if (strcmp(name, "style") == 0) /* no tags in there */
        while (p->at < p->end && !starts(p, "</style>")) ++p->at;
    return 0;
}

static int check(page *p) {
    static const char first[] = "<!DOCTYPE html>";
    static const char *const foreign[] = {"http:", "https:", "<script", "<link", "<img", "@import", "url("};
    for (; p->at < p->end; ++p->at)
        for (size_t i = 0; i < sizeof foreign / sizeof *foreign; ++i)
            if (starts(p, foreign[i])) return fail(p, "not self-contained");
    p->at = p->start;
    if (!starts(p, first)) return fail(p, "no document type");
    p->at += strlen(first);
    while (p->at < p->end) {
        int failed = 0;
        if (starts(p, "</"))
            failed = check_close(p);
        else if (*p->at == '<')
            failed = check_open(p);
        else if (*p->at == '&')
            failed = check_entity(p);
        else if (*p->at++ == '>')
            failed = fail(p, "a > that is not escaped");
        if (failed != 0) return failed;
    }
    return p->depth == 0 ? 0 : fail(p, p->open[p->depth - 1]);
}

int main(int argc, char **argv) {
    ons_mapping file;
    ons_status *status = argc < 2 ? NULL : ons_mapping_open(argv[1], &file);
    if (argc < 2 || status != NULL) {
        fprintf(stderr, "html_check: %s\n", argc < 2 ? "which file?" : ons_status_get_message(status));
        ons_status_free(status);
        return 2;
    }
    page p = {.at = (const char *)file.bytes, .start = (const char *)file.bytes};
    p.end = p.at + file.size;
    int failed = check(&p);
    ons_mapping_close(&file);
    return failed;
}
