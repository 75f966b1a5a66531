"""A process that can take no more than its share, and does not outlive the one it works for."""

from __future__ import annotations

import fcntl
import os
import resource
import signal

from write_side.imports.files import Limits


def confine(limits: Limits) -> None:
    """Bounds memory, processor and wall time of this process, which is stopped beyond them.

    It may write no file, and a signal ends it when nobody is left to read its standard output.
    """
    for kind, limit in (
        (resource.RLIMIT_AS, limits.memory_bytes),
        (resource.RLIMIT_CPU, limits.cpu_seconds),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(kind, (limit, limit))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, limits.seconds)
    end_with_reader(True)


def end_with_reader(is_armed: bool) -> None:
    """The pipe itself sends the signal: no thread has to watch while a parser runs.

    Not to be armed while writing: the signal also comes when there is room again.
    """
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    fcntl.fcntl(1, fcntl.F_SETOWN, os.getpid())
    flags = fcntl.fcntl(1, fcntl.F_GETFL) & ~os.O_ASYNC
    fcntl.fcntl(1, fcntl.F_SETFL, flags | (os.O_ASYNC if is_armed else 0))
