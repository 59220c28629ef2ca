"""Loops, scans, functions and branches that multiply. Numbers at @hostile: exit codes of check, inspect and plan."""

from building import BOOL, FLOAT, INT64, ONE, UINT8, Graph, around, filled, floats, function, hostile, integer, ints, loop, node, number, untyped, value, wire, yes


# ---------------------------------------------------------------------------------------------------------------- loops

ADD = [node("Add", "a a", "b")]


@hostile(3, 3, 3)
def loop_2_62():
    return around([loop(ADD, "b")], [integer("n", 2**62), ONE])


@hostile(3, 3, 3)
def loop_of_data_2_62():
    return around([loop(ADD, "b", state="h")], [integer("n", 2**62)])


@hostile(0, 0, 0)
def loop_negative():
    return around([loop(ADD, "b")], [integer("n", -(2**63)), ONE])


@hostile(3, 3, 3)
def loop_empty_body():
    return around([loop([], "a")], [integer("n", 2**62), ONE])


@hostile(3, 3, 3)
def loop_longest():
    """As many steps as may be, each with one node that trains."""
    return around([loop([node("Mul", "a w", "b")], "b", state="h")], [integer("n", 4096)])


@hostile(3, 3, 3)
def loop_many_nodes():
    """Nearly as many nodes as may be."""
    nodes = [node("Mul", "a w" if k == 0 else f"b{k - 1} w", f"b{k}") for k in range(15)]
    return around([loop(nodes, "b14", state="h")], [integer("n", 4096)])


@hostile(0, 0, 0)
def loop_within_budget():
    """As many nodes as a file of this size may have."""
    nodes = [node("Mul", "a w" if k == 0 else f"b{k - 1} w", f"b{k}") for k in range(15)]
    return around([loop(nodes, "b14", state="h")], [integer("n", 145)])


@hostile(0, 0, 0)
def loop_collects_within_budget():
    return around([loop([node("Mul", "a w", "b")], "b", state="h", outputs="q r", more=["b"])], [integer("n", 740)])


@hostile(0, 0, 0)
def scan_within_budget():
    return around([scan([node("Mul", "a w", "b")], "h")], shape=(555, 2))


@hostile(3, 3, 3)
def loop_collects():
    """Each step's result is kept."""
    return around([loop([node("Mul", "a w", "b")], "b", state="h", outputs="q r", more=["b"])], [integer("n", 4096)])


def parallel(steps):
    """Steps beside each other: any order is legal, and the planner has a choice."""
    nodes = [node("Cast", "i", "f", to=FLOAT), node("Mul", "h f", "g"), node("Mul", "g w", "b")]
    return around([loop(nodes, "a", outputs="q r", more=["b"])], [integer("n", steps), ONE])


@hostile(0, 0, 0)
def loop_of_50_parallel_steps():
    return parallel(50)


@hostile(0, 0, 0)
def loop_of_200_parallel_steps():
    return parallel(200)


@hostile(0, 0, 0)
def loop_of_430_parallel_steps():
    return parallel(430)


@hostile(3, 3, 3)
def loops_nested_2():
    inner = loop([node("Add", "d d", "e")], "e", trips="n", state="a", inner="d", outputs="b")
    return around([loop([inner], "b")], [integer("n", 2**40), ONE])


@hostile(3, 3, 3)
def loops_nested_3():
    inmost = loop([node("Add", "k k", "l")], "l", trips="n", state="d", inner="k", outputs="e")
    inner = loop([inmost], "e", trips="n", state="a", inner="d", outputs="b")
    return around([loop([inner], "b")], [integer("n", 60), ONE])


@hostile(3, 3, 3)
def loops_nested_3_of_data():
    inmost = loop([node("Mul", "k w", "l")], "l", trips="n", state="d", inner="k", outputs="e")
    inner = loop([inmost], "e", trips="n", state="a", inner="d", outputs="b")
    return around([loop([inner], "b", state="h")], [integer("n", 39)])


@hostile(3, 3, 3)
def loops_nested_empty():
    inmost = loop([], "k", trips="n", state="d", inner="k", outputs="e")
    inner = loop([inmost], "e", trips="n", state="a", inner="d", outputs="b")
    return around([loop([inner], "b")], [integer("n", 4096), ONE])


@hostile(3, 3, 3)
def loop_trips_by_arithmetic():
    return around([node("Mul", "m m", "n"), loop(ADD, "b")], [integer("m", 2**31), ONE])


@hostile(3, 3, 3)
def loop_trips_by_shape():
    nodes = [node("Shape", "z", "s0"), node("ReduceMax", "s0", "n", keepdims=0), loop(ADD, "b")]
    return around(nodes, [ONE], inputs=[value("z", [2**40], UINT8)])


@hostile(3, 3, 3)
def loop_forever():
    return around([loop(ADD, "b", trips="", condition="t")], [yes(), ONE])


@hostile(3, 3, 3)
def loop_forever_by_condition():
    nodes = [*ADD, node("Less", "o i", "z"), node("Not", "z", "p")]
    return around([loop(nodes, "b", trips="", condition="t", kept="p")], [yes(), ONE, integer("o", 2**62)])


@hostile(3, 2, 2)
def loop_doubles_by_concat():
    return around([loop([node("Concat", "a a", "b", axis=0)], "b")], [integer("n", 4000), ONE])


@hostile(3, 2, 2)
def loop_doubles_data_by_concat():
    return around([loop([node("Concat", "a a", "b", axis=0)], "b", state="h")], [integer("n", 4000)])


@hostile(3, 2, 2)
def loop_doubles_by_tile():
    return around([loop([node("Tile", "a m", "b")], "b")], [integer("n", 4000), ints("m", 2), ONE])


@hostile(3, 2, 2)
def loop_doubles_by_expand():
    nodes = [node("Shape", "a", "s0"), node("Concat", "m s0", "s1", axis=0), node("Expand", "a s1", "q"), node("Reshape", "q k", "b")]
    return around([loop(nodes, "b")], [integer("n", 4000), ints("m", 2), ints("k", -1), ONE])


@hostile(3, 2, 2)
def loop_doubles_by_pad():
    return around([loop([node("Shape", "a", "s0"), node("Concat", "z s0", "p", axis=0), node("Pad", "a p", "b")], "b")],
                  [integer("n", 4000), ints("z", 0), ONE])  # fmt: skip


@hostile(3, 3, 3)
def loop_doubles_by_resize():
    return around([loop([node("Resize", "a  k", "b")], "b")], [integer("n", 4000), floats("k", 2), ONE])


@hostile(3, 3, 3)
def loop_doubles_by_range():
    nodes = [node("Size", "a", "z"), node("Add", "z z", "e"), node("Range", "o e q", "b")]
    return around([loop(nodes, "b")], [integer("n", 4000), integer("o", 0), integer("q", 1), ints("v", 1)])


@hostile(3, 2, 2)
def loop_doubles_by_gather_nd():
    nodes = [node("Concat", "a a", "p", axis=0), node("Unsqueeze", "p m", "e"), node("GatherND", "a e", "b")]
    return around([loop(nodes, "b")], [integer("n", 4000), ints("m", 1), ints("v", 0)])


@hostile(3, 3, 3)
def loop_inserts():
    """A sequence grows with each step."""
    body = Graph([node("SequenceInsert", "a h", "b")], [value("i", [], INT64), value("c", [], BOOL), untyped("a")], [untyped("c"), untyped("b")])
    nodes = [node("SequenceEmpty", "", "e"), node("Loop", "n  e", "q", body=body), node("ConcatFromSequence", "q", "r", axis=0)]
    return around(nodes, [integer("n", 4096)])


@hostile(0, 0, 0)
def loop_of_none_collects_much():
    body = Graph([node("ConstantOfShape", "k", "b", value=filled())], [value("i", [], INT64), value("c", [], BOOL), untyped("a")],
                 [untyped("c"), untyped("a"), untyped("b")])  # fmt: skip
    return around([node("Loop", "n  v", "q r", body=body)], [integer("n", 0), ints("k", 2**26), ONE])


@hostile(3, 3, 3)
def loop_of_functions():
    functions = [function(f"f{k}", [node(f"f{k - 1}", "a", "c", domain="f"), node(f"f{k - 1}", "c", "b", domain="f")]) for k in range(1, 7)]
    functions.append(function("f0", [node("Mul", "a a", "b")]))
    return around([loop([node("f6", "a", "b", domain="f")], "b", state="h")], [integer("n", 1000)], functions=functions)


# ---------------------------------------------------------------------------------------------------------------- scans


def scan(body_nodes, inputs, outputs="r", scanned=1, body_inputs="a", result="b", axis=0):
    body = Graph(body_nodes, [untyped(i) for i in body_inputs.split(" ")], [untyped(r) for r in result.split(" ")])
    return node("Scan", inputs, outputs, body=body, num_scan_inputs=scanned, scan_input_axes=[axis] * scanned)


@hostile(3, 3, 3)
def scan_huge_axis():
    return around([scan(ADD, "z")], inputs=[value("z", [2**40, 2])])


@hostile(3, 3, 3)
def scan_longest():
    return around([scan([node("Mul", "a w", "b")], "h")], shape=(4096, 2))


@hostile(3, 3, 3)
def scan_within_scan():
    inner = scan([node("Mul", "d w", "e")], "a", "b", body_inputs="d", result="e")
    return around([scan([inner], "h")], shape=(4096, 4096, 2))


@hostile(3, 3, 3)
def scan_of_none_is_wide():
    return around([scan(ADD, "z")], inputs=[value("z", [0, 2**28])])


@hostile(3, 3, 3)
def scan_of_samples():
    body = Graph([node("Mul", "a w", "b")], [untyped("a")], [untyped("b")])
    return around([node("Scan", " h", "r", body=body, num_scan_inputs=1)], shape=(4096, 4096, 2), opset=8)


# ----------------------------------------------------------------------------------------------- functions and branches


def tower(depth, calls, leaf):
    """Functions of which each calls the next `calls` times."""
    functions = [function("0", [leaf])]
    for k in range(1, depth):
        inner = [node(str(k - 1), "a" if c == 0 else f"c{c}", "b" if c == calls - 1 else f"c{c + 1}", domain="f") for c in range(calls)]
        functions.append(function(str(k), inner))
    return functions, node(str(depth - 1), "h", "r", domain="f")


@hostile(3, 3, 3)
def functions_twice():
    functions, call = tower(13, 2, node("Mul", "a a", "b"))
    return around([call], functions=functions)


@hostile(0, 0, 0)
def functions_within_budget():
    functions, call = tower(11, 2, node("Mul", "a a", "b"))
    del functions[-1]
    call = node("9", "h", "r", domain="f")
    return around([call], functions=functions)


@hostile(3, 3, 3)
def functions_many_times():
    functions, call = tower(5, 10, node("Mul", "a a", "b"))
    return around([call], functions=functions)


@hostile(3, 3, 3)
def functions_eight_times():
    functions, call = tower(5, 8, node("Mul", "a a", "b"))
    return around([call], functions=functions)


@hostile(3, 3, 3)
def functions_of_nothing():
    functions, call = tower(6, 8, node("Identity", "a", "b"))
    return around([call], functions=functions)


@hostile(3, 3, 3)
def functions_unread():
    """What the calls make is not read."""
    functions, call = tower(6, 8, node("Identity", "a", "b"))
    return around([call, node("Mul", "h h", "y")], functions=functions, result="y")


@hostile(2, 2, 2)
def function_calls_itself():
    return around([node("0", "h", "r", domain="f")], functions=[function("0", [node("0", "a", "b", domain="f")])])


@hostile(2, 2, 2)
def functions_call_each_other():
    functions = [function("0", [node("1", "a", "b", domain="f")]), function("1", [node("0", "a", "b", domain="f")])]
    return around([node("0", "h", "r", domain="f")], functions=functions)


@hostile(0, 0, 0)
def functions_of_branches():
    """Both branches of each function call the next."""
    functions = [function("0", [node("Mul", "a a", "b")], "a t")]
    for k in range(1, 7):
        branch = Graph([node(str(k - 1), "a t", "e", domain="f")], outputs=[untyped("e")])
        functions.append(function(str(k), [node("If", "t", "b", then_branch=branch, else_branch=branch)], "a t"))
    nodes = [node("ReduceMax", "x", "q", keepdims=0), node("Less", "q q", "t"), node("6", "h t", "r", domain="f")]
    return around(nodes, functions=functions)


@hostile(0, 0, 0)
def branches_deep():
    graph = Graph([node("Mul", "h h", "r")], outputs=[untyped("r")])
    other = Graph([], outputs=[untyped("h")])
    while len(wire.write(graph.fields)) < 800:
        graph = Graph([node("If", "t", "r", then_branch=graph, else_branch=other)], outputs=[untyped("r")])
    return around(graph_nodes(graph), [yes()])


def graph_nodes(graph):
    return [f[2] for f in graph.fields if f[0] == 1]


@hostile(2, 2, 2)
def graphs_100_deep():
    """Nothing but graphs in attributes of nodes."""
    data = b""
    for _ in range(100):
        for field in (6, 5, 1):
            data = wire.write([wire.text(field, data)])
    return wire.write([wire.number(1, 8), wire.text(7, data)])


@hostile(2, 2, 2)
def types_deep():
    data = wire.write([wire.inside(1, wire.number(1, FLOAT))])
    for _ in range(200):
        data = wire.write([wire.inside(4, wire.text(1, data))])
        if len(data) > 800:
            break
    return around([node("Relu", "h", "r")], inputs=[[wire.text(1, "z"), wire.text(2, data)]])
