# For bench/attention_rate.sh. Lines: VARIANT ROUND OPERATOR/CASE MICROSECONDS. Prints rows of a table.

# name, q kᵀ, p v; heads of all samples, time, size of a head, whether causal
function add(name, keys, values, heads, time, size, causal) {
    names[++cases] = name
    product[name, 1] = "MatMulTransposed/" keys
    product[name, 2] = "MatMul/" values
    whole[name] = 4e-3 * heads * time * time * size
    forward[name] = 4e-3 * heads * (causal ? time * (time + 1) / 2 : time * time) * size
}

BEGIN {
    add("gpt_64", "gpt_64_keys", "gpt_64_values", 64, 64, 32, 1)
    add("gpt", "gpt_keys", "gpt_values", 64, 128, 32, 1)
    add("gpt_256", "gpt_256_keys", "gpt_256_values", 48, 256, 64, 1)
    add("encoder", "gpt_keys", "gpt_values", 64, 128, 32, 0)
}

{
    if (!($1 in known)) { known[$1] = 1; variants[++variant_count] = $1 }
    if ($2 >= rounds) rounds = $2 + 1
    time_of[$1, $2, $3] = $4
}

function sort(v, n,    i, j, x) {
    for (i = 2; i <= n; ++i) {
        x = v[i]
        for (j = i; j > 1 && v[j - 1] > x; --j) v[j] = v[j - 1]
        v[j] = x
    }
}

function median(v, n) { sort(v, n); return n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2 }

# Fills ratios and rates of one operator.
function take(variant, name, operator, work,    r, round, seconds) {
    for (round = 0; round < rounds; ++round) {
        r = round + 1
        seconds = time_of[variant, round, product[name, 1]] + time_of[variant, round, product[name, 2]]
        reference[r] = whole[name] / seconds
        rate[r] = work / time_of[variant, round, operator "/" name]
        ratio[r] = rate[r] / reference[r]
    }
}

function ratios(    middle) {
    middle = median(ratio, rounds)
    return sprintf("%.2f (%.2f, %.2f)", middle, ratio[1], ratio[rounds])
}

END {
    for (v = 1; v <= variant_count; ++v)
        for (c = 1; c <= cases; ++c) {
            name = names[c]
            take(variants[v], name, "Attention", forward[name])
            line = sprintf("| %s | %s | %.1f | %.1f | %s", variants[v], name, median(reference, rounds), median(rate, rounds), ratios())
            take(variants[v], name, "AttentionGradient", 2.5 * forward[name])
            printf "%s | %.1f | %s |\n", line, median(rate, rounds), ratios()
        }
}
