"""Bodies and the results of TF Serving's parser, rapidjson 1.1: a document, or a message with an offset."""

import json
import math
import random

import pytest

from seqattn_tf.serving.api.json_parser import parse_document
from seqattn_tf.serving.api.json_reader import read_document
from seqattn_tf.serving.errors import ServingError

BIG = "Number too big to be stored in double."
NO_VALUE = "Invalid value."
NO_ESCAPE = "Invalid escape character in string."
NO_PAIR = "The surrogate pair in string is invalid."


def padded(text):
    """Return a body that is large enough to be scanned with arrays, with the text at an unaligned position."""
    return b'{"a": [' + b"0.125, " * 400 + text + b"]}"


def long_offset(within):
    return len(padded(b"")) - 2 + within


REFUSED = [  # body | message | offset
    (b" \n", "The document is empty.", 2),
    (b"]", "The document is empty.", 0),
    (b" , 1", "The document is empty.", 1),
    (b"instances = [1, 2]", NO_VALUE, 0),
    (b"{", "Missing a name for object member.", 1),
    (b"{1: 2}", "Missing a name for object member.", 1),
    (b'{"a": 1,}', "Missing a name for object member.", 8),
    (b' {"a" 1}', "Missing a colon after a name of object member.", 6),
    (b'{"a"', "Missing a colon after a name of object member.", 4),
    (b'{"a":', NO_VALUE, 5),
    (b'{"a": }', NO_VALUE, 6),
    (b'{"a": [1,]}', NO_VALUE, 9),
    ('{"é": nul}'.encode(), NO_VALUE, 10),
    (b'{"a": tru', NO_VALUE, 9),
    (b'{"a": falsy}', NO_VALUE, 10),
    (b'{"a": Nan}', NO_VALUE, 8),
    (b'{"a": Infinit}', NO_VALUE, 13),
    (b'{"a": -}', NO_VALUE, 7),
    (b'{"a": +1}', NO_VALUE, 6),
    (b'{"a": .5}', NO_VALUE, 6),
    (b'{"a": 1.}', "Miss fraction part in number.", 8),
    (b'{"a": 1.e5}', "Miss fraction part in number.", 8),
    (b'{"a": 1e}', "Miss exponent in number.", 8),
    (b'{"a": 1e-}', "Miss exponent in number.", 9),
    (b'{"a": [01]}', "Missing a comma or ']' after an array element.", 8),
    (b'{"]a": [1, {"b": 1} "]"', "Missing a comma or ']' after an array element.", 20),
    (b'{"[a": [1, 2] "b"', "Missing a comma or '}' after an object member.", 14),
    (b"[" * 200_000, NO_VALUE, 200_000),
    (b'{"a": "b', "Missing a closing quotation mark in string.", 8),
    (b'{"a": "b\0"}', "Missing a closing quotation mark in string.", 8),
    (b'{"a": "\\x"}', NO_ESCAPE, 7),
    (b'{"a": "\n"}', NO_ESCAPE, 7),
    (b'{"a": "b\\u12x4"}', "Incorrect hex digit after \\u escape in string.", 8),
    (b'{"a": "\\ud800"}', NO_PAIR, 7),
    (b'{"a": "\\ud800\\n"}', NO_PAIR, 7),
    (b'{"a": "\\ud800\\u0041"}', NO_PAIR, 7),
    (b'{"a": "\\\\ud83d", "b": "\\ud83d"}', NO_PAIR, 23),
    (b"1e", "Miss exponent in number.", 2),
    (b'{"a": 1e400}', BIG, 6),
    (b'{"a": -1E+0000309}', BIG, 6),
    (b'{"a": 0.25e311}', BIG, 6),
    (b'{"a": ' + b"9" * 400 + b"}", BIG, 6),
    (b'{"a": -' + b"1" * 5000 + b"e-4990}", BIG, 6),
    (padded(b"1e400"), BIG, long_offset(0)),
    (padded(b"0, -2.5E+999"), BIG, long_offset(3)),
    (padded(b"9" * 309), BIG, long_offset(0)),
    (padded(b"9" * 400 + b".5"), BIG, long_offset(0)),
    (padded(b'"1e400", nul'), NO_VALUE, long_offset(12)),
]


@pytest.mark.parametrize(("body", "message", "offset"), REFUSED)
def test_what_is_no_json(body, message, offset):
    with pytest.raises(ServingError) as raised:
        parse_document(body)
    assert raised.value.code == "INVALID_ARGUMENT"
    assert raised.value.message == f"JSON Parse error: {message} at offset: {offset}"


READ = [  # body | the value of "a"
    (b'\xef\xbb\xbf {"a": [true, false, null, {}, [], ""]} trailing', [True, False, None, {}, [], ""]),
    (b'{"a": [Inf, -Inf, Infinity, -Infinity]}', [math.inf, -math.inf, math.inf, -math.inf]),
    (b'{"a": [1, -2.5, 3e2, 1E-3, -0]}', [1, -2.5, 300.0, 0.001, 0]),
    (b'{"a": [1.5e309, 1e-400]}', [math.inf, 0.0]),
    (b'{"a": [18446744073709551615, -9223372036854775808, Inf]}', [2**64 - 1, -(2**63), math.inf]),
    (b'{"a": [18446744073709551616, Inf]}', [2.0**64, math.inf]),
    (b'{"a": 1, "a": 2, "b": 3, "a": 4}', 1),
    (b'{"b": Inf, "a": {"c": [1], "c": 2}}', {"c": [1]}),
    (b'{"a": "\xff\xc3\xa9"}', "\udcffé"),
    (b'{"a": "\\ud83d\\ude00"}', "\N{GRINNING FACE}"),
    (b'{"a": "\\ud83d\\ude00", "b": Inf}', "\N{GRINNING FACE}"),
    (b'{"a": "\\\\ud800"}', "\\ud800"),
    (b'{"a": "\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9", "b": Inf}', '"\\/\b\f\n\r\té'),
    (b'{"a": "\\uDC00"}', "\udced\udcb0\udc80"),  # three bytes that are not valid UTF-8
    (b'{"a": "\\\\ud83d\\udc00"}', "\\ud83d\udced\udcb0\udc80"),
    (b'{"a": "1e400 9' + b"9" * 400 + b'"}', "1e400 9" + "9" * 400),
    (b'{"a": ' + b"9" * 308 + b"}", float("9" * 308)),
    (b'{"a": 0.' + b"0" * 500 + b"1}", 0.0),
    (b'\r\n\t {"a":1}\0{', 1),
]


@pytest.mark.parametrize(("body", "value"), READ)
def test_what_is_read(body, value):
    assert parse_document(body)["a"] == value


def test_nan_with_and_without_a_minus():
    assert all(math.isnan(value) for value in parse_document(b'{"a": [NaN, -NaN]}')["a"])


@pytest.mark.parametrize("body", [b"", b"[1]", b"3", b'"text"', b"1.5", b"[Inf]"])
def test_what_is_no_object(body):
    with pytest.raises(ServingError, match=r"(?s)JSON (Parse error: The document is empty$|Value: .* Is not object)"):
        parse_document(body)


def test_large_bodies_are_read_by_the_quick_parser(monkeypatch):
    monkeypatch.setattr("seqattn_tf.serving.api.json_parser.read_document", None)
    document = {
        "a": [[0.1, 1e-7, 3e99]] * 500,
        "text": "line 1e40 of file123 \N{GRINNING FACE}" * 99,
        "hex": "7e123456",
    }
    assert parse_document(json.dumps(document).encode()) == document


def some_value(draw, depth=0):
    """Draw a value of any kind; lists and objects have a limited depth."""
    kinds = [None, True, draw.randrange(-(10**18), 10**18), draw.uniform(-1, 1) * 10.0 ** draw.randrange(-300, 300)]
    kinds.append("".join(draw.choice('ae1"\\\n/é\N{GRINNING FACE}{}[],: ') for _ in range(draw.randrange(9))))
    if depth < 4:
        kinds.append([some_value(draw, depth + 1) for _ in range(draw.randrange(4))])
        kinds.append({draw.choice("abc") * 2: some_value(draw, depth + 1) for _ in range(draw.randrange(4))})
    return draw.choice(kinds)


def test_the_quick_parser_and_the_careful_one_agree():
    draw = random.Random(0)
    for number in range(500):
        document = {"a": [some_value(draw) for _ in range(3)]}
        body = json.dumps(document, ensure_ascii=bool(number % 2), indent=number % 3 or None).encode()
        assert parse_document(body) == read_document(body) == document
