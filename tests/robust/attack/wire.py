"""Protobuf messages as trees that can be built, changed and written again, without a schema compiler.

A message is a list of [field, wire type, value]; a value is an int, bytes, or a list again where the schema below knows
a message of ONNX there.
"""

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5

SCHEMA = {
    "Model": {7: "Graph", 8: "OpsetId", 14: "Entry", 25: "Function"},
    "OpsetId": {},
    "Entry": {},
    "Function": {7: "Node", 9: "OpsetId"},
    "Graph": {1: "Node", 5: "Tensor", 11: "ValueInfo", 12: "ValueInfo", 13: "ValueInfo"},
    "Node": {5: "Attribute"},
    "Attribute": {5: "Tensor", 6: "Graph", 10: "Tensor", 11: "Graph"},
    "Tensor": {13: "Entry"},
    "ValueInfo": {2: "Type"},
    "Type": {1: "TensorType"},
    "TensorType": {2: "Shape"},
    "Shape": {1: "Dimension"},
    "Dimension": {},
}


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def write_varint(value):
    value &= (1 << 64) - 1
    result = bytearray()
    while value >= 0x80:
        result.append(value & 0x7F | 0x80)
        value >>= 7
    result.append(value)
    return bytes(result)


def parse(data, kind="Model"):
    fields, at = [], 0
    while at < len(data):
        key, at = read_varint(data, at)
        field, wire = key >> 3, key & 7
        if wire == VARINT:
            value, at = read_varint(data, at)
        elif wire == BYTES:
            size, at = read_varint(data, at)
            value, at = data[at : at + size], at + size
            if field in SCHEMA[kind]:
                value = parse(value, SCHEMA[kind][field])
        else:
            size = 8 if wire == FIXED64 else 4
            value, at = data[at : at + size], at + size
        fields.append([field, wire, value])
    return fields


def write(fields):
    parts = []
    for field, wire, value in fields:
        parts.append(write_varint(field << 3 | wire))
        if wire == VARINT:
            parts.append(write_varint(value))
        elif wire == BYTES:
            value = write(value) if isinstance(value, list) else value
            parts += [write_varint(len(value)), value]
        else:
            parts.append(value)
    return b"".join(parts)


def messages(fields, kind="Model"):
    """All messages of the tree with their kinds, outermost first."""
    found = [(kind, fields)]
    for field, _, value in fields:
        if isinstance(value, list):
            found += messages(value, SCHEMA[kind][field])
    return found


# What probes build models of.


def number(field, value):
    return [field, VARINT, value]


def text(field, value):
    return [field, BYTES, value.encode() if isinstance(value, str) else value]


def inside(field, *fields):
    return [field, BYTES, list(fields)]


def tensor(name, dims, data=b"", data_type=1):
    return [number(1, d) for d in dims] + [number(2, data_type), text(8, name), text(9, data)]


def value_info(name, dims, data_type=1):
    shape = inside(2, *[inside(1, text(2, d) if isinstance(d, str) else number(1, d)) for d in dims])
    return [text(1, name), inside(2, inside(1, number(1, data_type), shape))]


def node(operator, inputs, outputs, *attributes, name=""):
    fields = [text(1, i) for i in inputs] + [text(2, o) for o in outputs]
    return fields + [text(3, name), text(4, operator)] + list(attributes)


def int_attribute(name, value):
    return inside(5, text(1, name), number(3, value), number(20, 2))


def ints_attribute(name, values):
    return inside(5, text(1, name), *[number(8, v) for v in values], number(20, 7))


def model(nodes, inputs, outputs, initializers=(), opset=17):
    graph = [inside(1, *n) for n in nodes] + [text(2, "g")]
    graph += [inside(5, *t) for t in initializers]
    graph += [inside(11, *i) for i in inputs] + [inside(12, *o) for o in outputs]
    return write([number(1, 8), inside(7, *graph), inside(8, text(1, ""), number(2, opset))])
