/* The texts of engine/model/notes.inc as formats: ons_note_NAME for ons_note (engine/model/assumptions.h),
 * ons_refusal_NAME for ons_status_new and ONS_CHECK. The compiler checks the arguments against them. */
#ifndef ONSTAGE_ENGINE_MODEL_NOTES_H
#define ONSTAGE_ENGINE_MODEL_NOTES_H

#include <inttypes.h>

/* Between a note's text and its remedy. */
#define ONS_NOTE_SEPARATOR "\037"

#define ONS_NOTE(NAME, TEXT, REMEDY, EVIDENCE)                                                                         \
    __attribute__((unused)) static const char ons_note_##NAME[] = TEXT ONS_NOTE_SEPARATOR REMEDY;
#define ONS_REFUSAL(NAME, TEXT, REMEDY, EVIDENCE)                                                                      \
    __attribute__((unused)) static const char ons_refusal_##NAME[] = TEXT "; " REMEDY;
#include "engine/model/notes.inc"
#undef ONS_NOTE
#undef ONS_REFUSAL

#endif
