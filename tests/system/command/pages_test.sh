#!/usr/bin/env bash
# What is made of the program's lists: the manual page, bash's completion, and the words that docs/plan.schema.json allows.
set -uo pipefail
source "${BASH_SOURCE[0]%/*}/cases.sh"
page=$root/tools/onstage.1
manual=$root/tools/manual

begin "the manual page has every option of the help, and its heading for the environment"
for command in check inspect train eval profile plan simulate; do "$onstage" "$command" --help; done |
    sed -nE 's/^ *(-., )?--([a-z0-9-]+).*/\2/p' | grep -vxE 'help|usage|version' | sort -u >options
missing=$(while IFS= read -r option; do
    grep -qF -- "\\fB\\-\\-${option//-/\\-}\\fR" "$page" || echo "$option"
done <options)
if (($(wc -l <options) < 60)); then fail "$name" "$(wc -l <options) options"
elif [[ -n $missing ]]; then fail "$name" "$missing"
elif ! grep -q '^\.SH ENVIRONMENT' "$page" || ! grep -q '^\\fBONSTAGE_CPU\\fR' "$page"; then fail "$name" "no ONSTAGE_CPU"
else pass "$name"; fi

begin "the manual page is whole"
if ! command -v groff >/dev/null; then pass "$name (no groff here)"
elif groff -K utf8 -man -Tutf8 -ww "$page" >/dev/null 2>warnings && [[ ! -s warnings ]]; then pass "$name"
else fail "$name" "$(head -3 warnings)"; fi

# shellcheck disable=SC1091  # made by the build
source "$root/tools/onstage.bash"
# WORD...: what completes the last of these words, sorted, in one line. Bash has parted them at '='.
completed() {
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
    compopt() { :; } # which only a shell that completes has
    _onstage
    printf '%s\n' "${COMPREPLY[@]}" | sort | paste -sd' '
}
# EXPECTED WORD...
completes() {
    begin "completion of ${*:2}"
    local found
    found=$(completed "${@:2}")
    if [[ $found == "$1" ]]; then pass "$name"; else fail "$name" "'$found'"; fi
}
completes "plan profile" onstage p
completes "cpu cuda" onstage train net.onnx --device =
completes "cuda" onstage train net.onnx --device = cu
completes "cpu cuda" onstage train net.onnx --device c
completes "adagrad adam adamw" onstage train net.onnx --optimizer = ad
completes "--optimizer=" onstage train net.onnx --opt
completes "" onstage eval net.onnx --opt
completes "--no-strict" onstage check net.onnx --no-st
begin "completion of a file"
touch net.onnx other.txt
if [[ $(completed onstage check net) == net.onnx && $(completed onstage train net.onnx --target = oth) == other.txt ]]; then
    pass "$name"
else
    fail "$name" "$(completed onstage check net)"
fi

for option in loss optimizer precision; do
    begin "docs/plan.schema.json has the words of --$option"
    words=$("$manual" words "$option" | sed 's/.*/"&"/' | paste -sd, | sed 's/,/, /g')
    if grep -qF "\"$option\": {\"enum\": [$words]}" "$root/docs/plan.schema.json"; then pass "$name"; else fail "$name" "$words"; fi
done

report_and_exit
