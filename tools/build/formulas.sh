#!/bin/sh
# Prints a C file: the table of kernels/fused_elementwise/formulas.h, from the .cu files that define a formula.
#     formulas.sh "SYMBOL SYMBOL ..." FILE...
# The symbols are kernels/formulas.bzl's list, which says what is compiled without joining multiplications and additions; a formula that
# it lacks is an error, and so is a symbol without a formula.
set -eu
listed=$1
shift

# A file as a C string.
quote() {
    sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/    "/' -e 's/$/\\n"/' "$1"
}

echo '/* Made by tools/build/formulas.sh. */'
echo '#include "kernels/fused_elementwise/formulas.h"'
echo '#include "kernels/operators.h"'
entries=
found=' '
for file in "$@"; do
    case $file in
    *.cu) ;;
    *) continue ;;
    esac
    line=$(sed -nE 's/^ONS_CUDA_(UNARY|BINARY|VARIADIC|COMPARISON|LOGIC|TEST|TERNARY|MIXED|TYPED)(_NUMBERS)?\(([a-z0-9_]+)[,)].*/\1 \3/p' "$file")
    [ -n "$line" ] || continue
    if [ "$(echo "$line" | wc -l)" != 1 ]; then
        echo "$file: one formula to a file" >&2
        exit 1
    fi
    kind=${line% *} symbol=${line#* }
    case " $listed " in
    *" $symbol "*) ;;
    *)
        echo "$file: the formula '$symbol' has to stand in kernels/formulas.bzl" >&2
        exit 1
        ;;
    esac
    found="$found$symbol "
    echo "static const char text_of_$symbol[] ="
    quote "$file"
    echo ';'
    entries="$entries    {&ons_op_$symbol, \"$symbol\", ONS_FORMULA_$kind, \"$file\", text_of_$symbol},
"
done
for symbol in $listed; do
    case $found in
    *" $symbol "*) ;;
    *)
        echo "kernels/formulas.bzl names '$symbol', which has no formula" >&2
        exit 1
        ;;
    esac
done
echo 'const ons_formula ons_formulas[] = {'
printf '%s' "$entries"
echo '};'
echo 'const uint32_t ons_formula_count = sizeof ons_formulas / sizeof ons_formulas[0];'
echo 'const ons_formula_header ons_formula_headers[ONS_FORMULA_HEADERS] = {'
for file in "$@"; do
    case $file in
    */cuda_formula.cuh) echo '    {"kernels/common/elementwise/cuda_elementwise.cuh",' ;;
    */cuda_conversion.cuh) echo '    {"kernels/cast/cuda_conversion.cuh",' ;;
    */fused.cuh) echo '    {"kernels/fused_elementwise/fused.cuh",' ;;
    */fused_arguments.h) echo '    {"kernels/fused_elementwise/fused_arguments.h",' ;;
    *) continue ;;
    esac
    quote "$file"
    echo '    },'
done
echo '};'
