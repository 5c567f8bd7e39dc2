"""When this process came to its last collectives, and where it was at a few looks: who is always last is a straggler.

torch's flight recorder keeps the time of each call. Reading the whole of it takes up to 30 milliseconds, so the question
comes once a minute.
"""
import sys

from . import answers, channel, counters, native

_LAST = 100  # collectives
_LOOKS = 10
_BETWEEN_LOOKS = 0.02  # seconds; meanwhile no other question has its answer
_FRAMES = 24
_NANOSECONDS = 1000  # of a microsecond


def read():
    """{"came": [[group, number, microseconds since 1970], …], "looks": [{"times", "frames"}, …]}: the newest collective
    last, and the frames of the main thread, the innermost last."""
    looks = _looks()
    return {"came": [[name, number, one["time_created_ns"] // _NANOSECONDS]
                     for name, number, one in counters.recorded()[-_LAST:]],
            "looks": [{"times": count, "frames": frames} for frames, count in looks.items()]}


def _looks():
    looks = {}
    for _ in range(_LOOKS):
        if channel.is_ending():
            break
        frame = sys._current_frames().get(answers.main_thread)
        if frame is not None:
            frames = tuple(answers.frames_of(frame, _FRAMES))
            looks[frames] = looks.get(frames, 0) + 1
        frame = None  # it would keep the program's variables
        native.sleep(_BETWEEN_LOOKS)
    return looks
