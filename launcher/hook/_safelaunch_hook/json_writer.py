"""A JSON writer of a few lines: importing `json` would cost each interpreter start 4 ms."""
from _operator import index  # the C module, which is there; `operator` costs a file

_ESCAPES = {code: "\\u%04x" % code for code in range(32)}
_ESCAPES.update({ord('"'): '\\"', ord("\\"): "\\\\", ord("\n"): "\\n", ord("\t"): "\\t"})
_MOST = 60000  # bytes of a packet, which the protocol allows
_LIMITS = (16000, 4000, 1000, 100)  # characters of a text, numbers of a list; of other items a hundredth


def encode(fields):
    """The packet of an event. Texts and lists are cut until it is small enough."""
    for limit in _LIMITS:
        packet = _write(fields, limit).encode("utf-8", "replace")  # argv may hold lone surrogates
        if len(packet) <= _MOST:
            return packet
    return b'{"e":"hook_error","where":"encode","err":"an event is too large"}'


def integer(value):
    """Gives the plain integer of an integer of any kind (numpy's int64, say), or None."""
    try:
        return int(index(value))
    except TypeError:
        return None


def _write(value, limit):
    if value is None:
        return "null"
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, float):
        return float.__repr__(value) if value - value == 0 else "null"  # JSON has no infinity and no NaN
    if isinstance(value, dict):
        return "{%s}" % ",".join(
            '%s:%s' % (_write(str(key), limit), _write(item, limit)) for key, item in value.items()
        )
    if isinstance(value, (list, tuple)):
        most = limit if value and isinstance(value[0], int) else limit // 100
        return "[%s]" % ",".join(_write(item, limit) for item in value[:most])
    number = integer(value)
    return "%d" % number if number is not None else '"%s"' % _cut(str(value), limit).translate(_ESCAPES)


def _cut(text, limit):
    """Keeps the beginning and more of the end, because the last line of a traceback tells the most."""
    if len(text) <= limit:
        return text
    return text[: limit // 4] + " [...] " + text[-(limit * 3 // 4) :]
