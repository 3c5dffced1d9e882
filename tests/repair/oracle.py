"""What Python itself says: makes values and literals by chance, hands their texts over, compares what comes back.

    python3 oracle.py values|pretty|grammar|slips SEED COUNT

It drives. A line of output is a JSON list of texts; the answer is a line with a JSON list of `[status, text]`, one
for each, in order. At the end comes one JSON object: how many of each outcome, and the first that are wrong.
Written for Python 3.8 and later, its standard library alone.
"""

import ast
import io
import json
import math
import pprint
import random
import re
import sys
import tokenize
import warnings

BATCH = 200
SHOWN = 20


def main():
    what, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    warnings.simplefilter("ignore")  # '\d' is a literal, with a warning
    if hasattr(sys, "set_int_max_str_digits"):
        sys.set_int_max_str_digits(0)
    chance = random.Random(seed)
    make = {"values": value_case, "pretty": pretty_case, "grammar": grammar_case, "slips": slip_case}[what]
    judge = {"values": judge_value, "grammar": judge_grammar}.get(what, judge_literal)
    counts, wrong, refused = {}, [], []
    while count > 0:
        cases = [make(chance) for _ in range(min(BATCH, count))]
        count -= len(cases)
        print(json.dumps([text for text, _ in cases]), flush=True)
        for (text, meant), (status, result) in zip(cases, json.loads(sys.stdin.readline())):
            outcome = judge(text, meant, status, result)
            counts[outcome] = counts.get(outcome, 0) + 1
            if outcome == "wrong":
                wrong.append([text, status, result])
            elif outcome in ("refused", "truncated"):
                refused.append(text)
    wrong = sorted(wrong, key=lambda it: len(it[0]))[:SHOWN]
    print(json.dumps({"counts": counts, "wrong": wrong, "refused": sorted(refused, key=len)[:SHOWN]}), flush=True)


def judge_value(text, meant, status, result):
    """The repr of a value of JSON's kinds is followed to its end, whatever it holds; with two exceptions.

    `"it's\\x1b"` looks like JSON with a backslash too few, unless something else in the text is Python's; and `'C:\\temp'`
    like a path of a drive.
    """
    if status == "refused" and result == text and PYTHONS_ESCAPE.search(text) and not pythons_own(meant):
        return "no evidence"
    if status == "refused" and result == text and DRIVE.search(text):
        return "a drive's path"
    if status not in ("valid", "repaired"):
        return "wrong"
    return status if same(meant, result) else "wrong"


DRIVE = re.compile(r"(['\"])[A-Za-z]:(?=\\)(?:(?!\1)[^\\]|\\.)*?\\[abfnrtv]")
PYTHONS_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*\\[^\"\\/bfnrtu]")


def pythons_own(value):
    """Whether the value's repr holds what only Python writes."""
    if isinstance(value, dict):
        return any(pythons_own(key) or pythons_own(item) for key, item in value.items())
    if isinstance(value, list):
        return any(pythons_own(item) for item in value)
    return isinstance(value, (tuple, bool)) or value is None or repr(value).startswith("'")


def judge_literal(text, meant, status, result):
    """What Python reads otherwise, or cannot read, must have been left alone; unless it is JSON as it stands."""
    if status == "valid":
        return "valid"
    if status != "repaired":
        return status if result == text else "wrong"
    if same(meant, result):
        return "repaired"
    # Beside another backslash, in a text with nothing of Python, `\a` and `\v` are no control characters.
    of_json = re.search(r"\\[av]", text) and "'" not in re.sub(r'"(?:[^"\\]|\\.)*"|#[^\n]*', "", text)
    return "excluded: backslashes of JSON" if of_json and re.search(r"\\\\[av]", result) else "wrong"


def judge_grammar(text, meant, status, result):
    """As `judge_literal`; what the rules refuse on purpose is excluded from the share that is read."""
    outcome = judge_literal(text, meant, status, result)
    reason = None if outcome == "wrong" else why_refused(text, meant)
    return outcome if reason is None else "excluded: " + reason


def why_refused(text, meant):
    """Why the rules refuse a literal that Python reads: JSON cannot write it, or it has another reading."""
    texts, numbers, keys_fit = [], [], True
    for key, value in leaves(meant):
        texts += [it for it in (key, value) if isinstance(it, str)]
        numbers.append(value)
        keys_fit &= key is None or isinstance(key, str) or type(key) is int
    if not keys_fit:
        return "a key that is no string or integer"
    if any(isinstance(it, float) and math.isinf(it) for it in numbers):
        return "an infinite float"
    if any(SURROGATE_PAIR.search(it) for it in texts):
        return "a surrogate pair in two escapes"
    strings, names, tuple_there, adjacent = read_tokens(text)
    if adjacent:
        return adjacent
    stated = names or tuple_there or any(it.prefix for it in strings)
    pythons = stated or any(len(it.quote) == 3 for it in strings)
    for it in strings:
        escapes = [] if it.prefix in ("r", "R") else [found[1] for found in ESCAPE.finditer(it.body)]
        kinds = {escape[0] for escape in escapes}
        if "N" in kinds:
            return "a character by its name"
        if re.match(r"[A-Za-z]:\\", it.body) and kinds & set("abfnrtv"):
            if it.quote != '"' or kinds - set("\"'\\/abfnrtuUxv01234567\r\n"):
                return "a drive's path with control escapes"
        if it.is_key and kinds - set("\"'\\abfnrtvuUxN01234567\r\n"):
            return "an unknown escape in a key"
        if kinds & set("avU") and not pythons:
            return "an escape of Python's alone without its evidence"
        if it.quote == '"' and kinds & set("01234567x\r\n") and not pythons and all(it.quote == '"' for it in strings):
            return "an escape that JSON lacks in double quotes without evidence"
        if len(it.quote) == 3 and "\n" in it.body and kinds & set("ntr") and not stated:
            return "three quotes with line breaks both raw and escaped"
    return None


SURROGATE_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
ESCAPE = re.compile(r"\\(\r\n|[0-7]{1,3}|.)", re.DOTALL)


def leaves(value, key=None):
    """The values without members, each with its key; keys of containers stand alone."""
    if isinstance(value, Source):
        yield key, None
        for name, item in value:
            yield from leaves(item, name)
    elif isinstance(value, list):
        yield key, None
        for item in value:
            yield from leaves(item)
    else:
        yield key, value


class String:
    def __init__(self, token, is_key):
        self.is_key = is_key
        self.prefix, rest = re.match("([a-zA-Z]*)(.*)", token, re.DOTALL).groups()
        self.quote = rest[:3] if rest[:3] in ("\"\"\"", "'''") else rest[:1]
        self.body = rest[len(self.quote):-len(self.quote)]


def read_tokens(text):
    """The strings; whether there are names and tuples; why strings side by side are refused, if there are such."""
    skipped = (tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT)
    tokens = tokenize.generate_tokens(io.StringIO(text.lstrip(" \t")).readline)
    tokens = [token for token in tokens if token.type not in skipped]
    strings, names, tuple_there, adjacent = [], False, False, None
    open_brackets, side_by_side = [], []
    for before, token, after in zip([None] + tokens, tokens, tokens[1:] + [None]):
        if token.type == tokenize.STRING:
            strings.append(String(token.string, after is not None and after.string == ":"))
            if before is not None and before.type == tokenize.STRING:
                if before.end[0] == token.start[0]:
                    adjacent = "strings side by side on one line"
                side_by_side.append(open_brackets[-1] if open_brackets else None)
                if after is not None and after.string == ":":
                    adjacent = "strings side by side as a key"
        elif token.type == tokenize.NAME:
            names = True
        elif token.string in ("(", "[", "{"):
            open_brackets.append({"bracket": token.string, "items": after.string != ")", "comma": False})
        elif token.string in (")", "]", "}"):
            closed = open_brackets.pop()
            tuple_there |= closed["bracket"] == "(" and (closed["comma"] or not closed["items"])
        elif token.string == "," and open_brackets:
            open_brackets[-1]["comma"] = True
    for it in side_by_side:
        if it is not None and (it["bracket"] == "[" or it["bracket"] == "(" and it["comma"]):
            adjacent = adjacent or "strings side by side in a list"
    return strings, names, tuple_there, adjacent


def same(meant, result):
    try:
        return exact(json.loads(result, object_pairs_hook=Pairs)) == exact(meant)
    except (ValueError, TypeError):
        return False


class Pairs(list):
    """The members of an object in the order and the number in which they stand."""


class Source(list):
    """The members of a dict as its literal has them; Python itself keeps only the last of two."""


def exact(value):
    """A form in which only equal values are equal: `1`, `1.0` and `True` are three, `0.0` and `-0.0` are two."""
    if isinstance(value, (Pairs, Source)):
        return ("object", tuple((key_text(key), exact(item)) for key, item in value))
    if isinstance(value, dict):
        return exact(Source(value.items()))
    if isinstance(value, (list, tuple)):
        return ("array", tuple(exact(item) for item in value))
    if value is None or isinstance(value, (bool, int, str)):
        return (type(value).__name__, value)
    if isinstance(value, float):
        return ("float", repr(value))  # beyond the range of floats JSON's own number is infinite, too
    raise TypeError(value)


def key_text(key):
    if isinstance(key, str):
        return key
    if isinstance(key, int) and not isinstance(key, bool):
        return json.dumps(key)
    raise TypeError(key)


# Values, and what `repr` makes of them.

CHARACTERS = (
    "abcXYZ019 _-.,:;!?()[]{}<>#/*=+&%$@^~|`"
    "'\"\\'\"\\'\"\\"
    "\n\r\t\0\a\b\f\v\x1b\x7f\x85\xa0\xad"
    "éßñ中文字典列表。，：“”‘’「」\u2028\u2029\u200b\ufeff\ue000\U0001f600\U00010348\U000e0001\ud800\udfff"
)
WORDS = [
    "content", "status", "in_progress", "id", "1", "it's", 'say "hi"', "C:\\new\\temp", "\\", "'", '"', "", " ",
    "创建项目结构和主程序文件", "#", "{'a': 1}", '{"a": 1}', "None", "True", "\\u0041", "\\x41", "'''", '"""', "```",
    "\ud83d", "\udc00", "a\nb", "\\'", '\\"', "r'", "u\"", "](", "', '", "\": \"", "\\\\", "\\\n",
]


def value_case(chance):
    value = a_value(chance, chance.choice([1, 2, 3, 4, 6]), chance.choice([0, 9, 9, 9, 9]))
    return repr(value), value


def pretty_case(chance):
    """As `pprint` writes it: long strings in several pieces, one below the other."""
    value = a_value(chance, chance.choice([2, 3]), 9)
    width = chance.choice([1, 10, 20, 40])
    return pprint.pformat(value, width=width, indent=chance.choice([1, 1, 4]), sort_dicts=False), value


def a_value(chance, depth, least=0):
    kind = chance.randrange(least, 16 if depth > 0 else 9)
    if kind < 4:
        return a_string(chance)
    if kind < 6:
        return an_integer(chance)
    if kind < 8:
        return a_float(chance)
    if kind == 8:
        return chance.choice([None, True, False])
    length = chance.choice([0, 1, 1, 2, 3, 5])
    if kind < 13:
        return {a_key(chance): a_value(chance, depth - 1) for _ in range(length)}
    items = [a_value(chance, depth - 1) for _ in range(length)]
    return tuple(items) if kind == 15 else items


def a_key(chance):
    return an_integer(chance) if chance.randrange(8) == 0 else a_string(chance)


def a_string(chance):
    if chance.randrange(3) == 0:
        return chance.choice(WORDS)
    if chance.randrange(4) == 0:
        return joined(chance.choice(WORDS) for _ in range(chance.randrange(4)))
    return joined(
        chance.choice(CHARACTERS) if chance.randrange(20) else chr(chance.randrange(0x110000))
        for _ in range(chance.choice([1, 2, 3, 8, 30]))
    )


def joined(pieces):
    """Two lone surrogates that met would be one character in JSON, and two in Python: JSON cannot say it."""
    text = ""
    for character in "".join(pieces):
        if not (text and "\ud800" <= text[-1] <= "\udbff" and "\udc00" <= character <= "\udfff"):
            text += character
    return text


def an_integer(chance):
    return chance.choice([
        chance.randrange(-10, 100),
        chance.randrange(-(2**63), 2**63),
        2**64 - 1,
        -(10 ** chance.randrange(1, 300)),
        chance.getrandbits(chance.randrange(1, 1000)),
    ])


def a_float(chance):
    return chance.choice([
        chance.random(),
        chance.uniform(-1e9, 1e9),
        chance.choice([0.0, -0.0, 1e16, 1e-7, 5e-324, 1.7976931348623157e308, 0.1, 1e22, 1e100]),
        chance.random() * 10.0 ** chance.randrange(-300, 300),
    ])


# Literals from Python's own grammar.


def grammar_case(chance):
    while True:
        text = a_literal(chance, chance.choice([1, 2, 3]), 0 if chance.randrange(20) == 0 else 8)
        if chance.randrange(8) == 0:
            text += blank(chance)
        meant, read = evaluated(text)
        if read:
            return text, meant


def slip_case(chance):
    """A literal with a character too many or too few that Python can still read."""
    while True:
        text, _ = chance.choice([grammar_case, value_case])(chance)
        at = chance.randrange(len(text))
        if chance.randrange(2):
            text = text[:at] + text[at + 1:]
        else:
            text = text[:at] + chance.choice("'\"'\"\\,:[]{}()#rbuf x0_.-+ \n\t1ae") + text[at:]
        meant, read = evaluated(text)
        if read and not OTHERS.search(text):
            return text, meant


# What has a meaning of its own, and that is no fault: escapes in which JSON and Python differ mean in double quotes what
# JSON says; `\_` in a key is Markdown's; and a comma behind the value makes no tuple of it.
OTHERS = re.compile(r"\\/|\\u[dD][89abAB]..\\u[dD][c-fC-F]|\\_|,\s*(#.*)?\s*$")


def evaluated(text):
    """The literal's value, dicts with all their members; and whether Python can read it at all."""
    try:
        ast.literal_eval(text)
        return members(ast.parse(text.lstrip(" \t"), mode="eval").body), True
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        return None, False


def members(node):
    if isinstance(node, ast.Dict):
        keys = [ast.literal_eval(key) for key in node.keys]
        return Source(zip(keys, [members(item) for item in node.values]))
    if isinstance(node, (ast.List, ast.Tuple)):
        return [members(item) for item in node.elts]
    return ast.literal_eval(node)


def a_literal(chance, depth, least=0):
    kind = chance.randrange(least, 14 if depth > 0 else 8)
    if kind < 4:
        return string_literals(chance)
    if kind < 7:
        return a_number(chance)
    if kind == 7:
        return chance.choice(["None", "True", "False"])
    if kind == 8:
        return "(" + blank(chance) + a_literal(chance, depth - 1) + blank(chance) + ")"
    length = chance.choice([0, 1, 2, 2, 3])
    if kind < 12:
        members = [
            key_literal(chance) + blank(chance) + ":" + blank(chance) + a_literal(chance, depth - 1)
            for _ in range(length)
        ]
        return bracketed(chance, "{", members, "}")
    items = [a_literal(chance, depth - 1) for _ in range(length)]
    if kind < 13:
        return bracketed(chance, "[", items, "]")
    if length == 1:
        return "(" + items[0] + blank(chance) + "," + blank(chance) + ")"
    return bracketed(chance, "(", items, ")")


def bracketed(chance, opening, items, closing):
    text = opening + blank(chance)
    for place, item in enumerate(items):
        if place > 0:
            text += blank(chance) + "," + (blank(chance) or " ")
        text += item
    if items and chance.randrange(4) == 0:
        text += blank(chance) + ","
    return text + blank(chance) + closing


def key_literal(chance):
    if chance.randrange(8) == 0:
        sign = chance.choice(["", "", "-", "+"])
        return chance.choice([lambda chance: sign + an_int_literal(chance), string_literals])(chance)
    return one_string(chance, chance.choice(["'", "'", "'", '"', '"', "'", '"', "'''"]))


def blank(chance):
    kind = chance.randrange(24)
    if kind < 14:
        return ""
    if kind < 19:
        return " "
    return chance.choice(
        ["\n", "  \n\t", "\n    ", "\n  ", " # one, two\n", "  #\n", "\n# it's {'a': [\n", " \\\n ", "\r\n", "\f"]
    )


def string_literals(chance):
    count = chance.choice([1, 1, 1, 1, 1, 1, 2, 3])
    between = chance.choice([" ", "  ", "\n", "\n  ", "\n    ", "", "  # goes on\n", " \\\n  "])
    return between.join(one_string(chance) for _ in range(count))


def one_string(chance, quote=None):
    prefix = chance.choice(["", "", "", "", "", "", "", "r", "u", "R", "U"])
    quote = quote or chance.choice(["'", "'", "'", '"', "'''", '"""'])
    pieces = [chance.choice(["C:", "d:"]) + chance.choice(ESCAPES)] if chance.randrange(60) == 0 else []
    for _ in range(chance.choice([0, 1, 1, 2, 4])):
        if chance.randrange(3):
            pieces.append(chance.choice(PLAIN))
        elif prefix in ("r", "R"):
            pieces.append(chance.choice(["\\d+", "\\n", "\\\\", "\\" + quote[0], "\\u", "\\x4"]))
        elif chance.randrange(40) == 0 and quote[0] == "'":
            pieces.append(chance.choice(["\\ud83d\\ude00", "\\ud83d", "\\U0000d83d"]))
        else:
            pieces.append(chance.choice(ESCAPES))
        if chance.randrange(6) == 0:
            pieces.append("\n" if len(quote) == 3 else '"' if quote == "'" else "'")
    return prefix + quote + "".join(pieces) + quote


PLAIN = ["a", "bc", "Z9", " ", "中文", "é", "\U0001f600", ",", ":", "{", "]", "#", "(", "-"]
ESCAPES = [
    "\\n", "\\t", "\\\\", "\\'", '\\"', "\\x41", "\\xe9", "\\101", "\\0", "\\7", "\\377", "\\u4e2d", "\\U0001f600",
    "\\N{EM DASH}", "\\a", "\\v", "\\d", "\\ ", "\\\n", "\\\r\n", "\\udc80", "\\b", "\\f", "\\r",
]


def a_number(chance):
    sign = chance.choice(["", "", "", "", "", "-", "-", "+", "- "])
    number = chance.choice([an_int_literal, a_float_literal])(chance)
    return sign + ("(" + number + ")" if chance.randrange(40) == 0 else number)


def an_int_literal(chance):
    number = chance.choice([0, 1, 7, chance.randrange(1000), chance.randrange(10**12), chance.getrandbits(120)])
    return chance.choice([
        str(number), str(number), f"{number:_}", hex(number), hex(number).upper().replace("X", "x"), f"0X{number:x}",
        oct(number), bin(number), f"{number:#_x}", f"0b_{number:b}", "00" if chance.randrange(4) == 0 else "0",
    ])


def a_float_literal(chance):
    return chance.choice(
        ["0.5", ".5", "5.", "1e5", "1E+5", "1_0.2_5", "3.14e-10", "0e0", "0_0.5", "1_000.0", "1e22", "0.1", "9.e3", "1_0e1_0",
         ".1_0e+2", "07e1", "5.E-3", "1e400" if chance.randrange(4) == 0 else "1e300"]
    )


if __name__ == "__main__":
    main()
