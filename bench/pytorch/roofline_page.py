"""The page that roofline.py writes."""

import os

from compare import upper_quartile

SHARE, BAR = 0.02, 0.75  # operators above this share of a step should reach so much of their roofline


def ms(seconds):
    return f"{1e3 * seconds:.3g}"


def grouped(nodes, key):
    """Lists of nodes by key, those that take longest first."""
    groups = {}
    for node in nodes:
        groups.setdefault(key(node), []).append(node)
    return sorted(groups.items(), key=lambda item: -sum(n.seconds for n in item[1]))


def times(nodes):
    return (sum(getattr(n, name) for n in nodes) for name in ("seconds", "floor", "near_floor"))


def head(about, options, now):
    command = about["command"].replace("compare.py", "roofline.py")
    return "\n".join([
        "# Training steps and their rooflines, on the CPU", "",
        f"{about['cpu']}, {about['threads']} threads, {now:%F %H:%M}; load at the start {os.getloadavg()[0]:.2f} on {os.cpu_count()} processors. "
        f"PyTorch {about['torch']} with oneDNN {about['torch_onednn']} ({about['torch_capability']}).",
        f"`{command}`; what is measured and how: [bench/README.md](../README.md).", "",
    ])


def against(r, side, seconds, digits="{:.2f}"):
    """Steps of a side, 0 ours and 1 PyTorch's, over so many seconds, and the upper quartile of its rounds over the same."""
    step = r[("onstage_seconds", "pytorch_seconds")[side]]
    return f"{digits} ({{:.2f}})".format(step / seconds, upper_quartile([both[side] for both in r["rounds"]]) / seconds)


def variants_line(r):
    """What of PyTorch is compared, and what else was tried."""
    tried = ", ".join(f"{name} {ms(result['seconds'])}" for name, result in r["pytorch_variants"].items())
    return f"PyTorch is {r['pytorch_variant']}; " + (f"tried before the rounds, ms: {tried}." if tried else "no other variant was tried.")


def shapes_text(shapes):
    return ", ".join("x".join(map(str, shape)) for shape in shapes if shape)


def shape_text(node):
    """Of a product rows, columns and what is summed over; else the first operands."""
    if node.parts and len(node.parts) == 1 and node.parts[0][0].startswith("product 1 "):
        return " · ".join(node.parts[0][0].split()[2:])
    return shapes_text(node.inputs[:3])


def operator_row(name, nodes, step):
    seconds, floor, near = times(nodes)
    return (
        f"| {name[0]}, {name[1].replace('_', ' ')} | {len(nodes)} | {ms(seconds)} | {seconds / step:.1%} | {ms(floor)} | **{floor / seconds:.2f}** "
        f"| {near / seconds:.2f} |"
    )


def misses(nodes, step):
    seconds, floor, _ = times(nodes)
    return seconds > SHARE * step and floor < BAR * seconds


def exceptions(result):
    """Nodes of one shape that take more than their share and reach less than the bar; and, of an operator that does so in all its
    shapes together and in none alone, those of the shape that takes longest."""
    found, step = [], result["profiled_step"]
    for _, nodes in grouped(result["nodes"], lambda n: (n.operator, n.phase)):
        shapes = [same for _, same in grouped(nodes, lambda n: n.entry["key"])]
        missed = [same for same in shapes if misses(same, step)]
        found += missed or (shapes[:1] if misses(nodes, step) else [])
    return found


def exception_row(nodes, step):
    seconds, floor, near = times(nodes)
    first = nodes[0]
    return (
        f"| {first.operator}, {first.phase.replace('_', ' ')} | {shape_text(first)} | {len(nodes)} | {seconds / step:.1%} | {ms(seconds / len(nodes))} "
        f"| {ms(floor / len(nodes))} by {first.by} | **{floor / seconds:.2f}** | {near / seconds:.2f} | {first.entry['implementation']} |"
    )


def section(r):
    roofline, step = max(r["products"], r["bytes_seconds"]), r["profiled_step"]
    both = r["products"] + r["bytes_seconds"]
    moved = ", ".join(f"{kind} {size / 1e6:.1f}" for kind, size in r["moved"].items())
    operators = [o for o in grouped(r["nodes"], lambda n: (n.operator, n.phase)) if sum(n.seconds for n in o[1]) > SHARE * step]
    rest = step - sum(n.seconds for o in operators for n in o[1])
    lines = [
        f"## {r['what']}, batch {r['batch']}, {r['optimizer']}", "",
        f"Products and convolutions {ms(r['products'])} ms. Moved: {sum(r['moved'].values()) / 1e6:.1f} MB ({moved}) at {r['bandwidth'] / 1e9:.1f} GB/s, "
        f"the rate of a stream of {r['footprint'] / 1e6:.1f} MB, which is the step's memory: {ms(r['bytes_seconds'])} ms.", "",
        f"Steps of {len(r['rounds'])} rounds by turns, in brackets their upper quartile. {variants_line(r)}", "",
        "| | ms | ÷ roofline | ÷ (products + memory) |", "|---|--:|--:|--:|",
        f"| roofline, the longer of both | {ms(roofline)} | 1 | |",
        f"| onstage | {ms(r['onstage_seconds'])} | {against(r, 0, roofline, '**{:.2f}**')} | {against(r, 0, both)} |",
        f"| PyTorch ({r['pytorch_variant']}) | {ms(r['pytorch_seconds'])} | {against(r, 1, roofline)} | {against(r, 1, both)} |",
        "", f"Of the step that was profiled, {ms(step)} ms:", "",
        "| operator | nodes | ms | share | its roofline, ms | reached | by memory of its own size |", "|---|--:|--:|--:|--:|--:|--:|",
        *(operator_row(*o, step) for o in operators),
        f"| all else, and between nodes | | {ms(rest)} | {rest / step:.1%} | | | |", "",
    ]  # fmt: skip
    missed = exceptions(r)
    if missed:
        lines += [f"Above {SHARE:.0%} of the step and below {BAR:.0%} of their roofline, in one shape or in all (then the one that takes longest):", "",
                  "| operator | shape | nodes | share | ms each | its roofline | reached | by memory of its own size | kernel |",
                  "|---|---|--:|--:|--:|--:|--:|--:|---|", *(exception_row(nodes, step) for nodes in missed), ""]
    else:
        lines += [f"No operator above {SHARE:.0%} of the step, nor a shape of one, is below {BAR:.0%} of its roofline.", ""]
    return "\n".join(lines)


def summary(results):
    lines = [
        "## All", "", "| model | batch | roofline ms | onstage ÷ | PyTorch ÷ | PyTorch's variant | onstage ÷ PyTorch | operators below the bar, share of the step |",
        "|---|--:|--:|--:|--:|---|--:|---|",
    ]  # fmt: skip
    for r in results:
        roofline, missed = max(r["products"], r["bytes_seconds"]), exceptions(r)
        share = sum(n.seconds for nodes in missed for n in nodes) / r["profiled_step"]
        lines.append(
            f"| {r['what']} | {r['batch']} | {ms(roofline)} | {against(r, 0, roofline)} | {against(r, 1, roofline)} | {r['pytorch_variant']} "
            f"| {r['time_ratio']:.2f} ({r['upper_time_ratio']:.2f}) | {len(missed)}, {share:.0%} |"
        )
    lines += ["", "÷: over the roofline; in brackets the upper quartile of the rounds."]
    return "\n".join([*lines, "", f"Load at the end {os.getloadavg()[0]:.2f}."])
