"""A small safelaunch for the hook's tests: listens, keeps what comes, asks questions."""
import json
import os
import socket
import tempfile
import threading
import time

TOKEN = "a token"
PATIENCE = 240  # seconds: a limit, after which a test has failed; torch alone may take a minute to load on a busy machine


class Worker:
    """One connection: a process that has the hook."""

    def __init__(self, connection, news):
        self.connection, self.news, self.events = connection, news, []
        self.closed = False

    @property
    def pid(self):
        return self.events[0]["pid"]

    def names(self, *but):
        return [event["e"] for event in self.events if event["e"] not in ("hello",) + but]

    def first(self, name):
        return next((event for event in self.events if event["e"] == name), None)

    def all(self, name):
        return [event for event in self.events if event["e"] == name]

    def ask(self, question, number=1, timeout=PATIENCE):
        """Sends a request and returns the answer."""
        self.connection.send(json.dumps({"q": question, "id": number}).encode())
        return self.wait_for(question, timeout, lambda event: event["id"] == number)

    def wait_for(self, name, timeout=PATIENCE, condition=lambda event: True):
        def found():
            return next((event for event in self.events if event["e"] == name and condition(event)), None)

        return self.news.wait_for(found, timeout, "event %s, have %s" % (name, self.names()))


class News:
    """A condition that every event notifies."""

    def __init__(self):
        self._condition = threading.Condition()

    def notify(self, change):
        with self._condition:
            change()
            self._condition.notify_all()

    def wait_for(self, found, timeout, what):
        with self._condition:
            if not self._condition.wait_for(found, timeout):
                raise AssertionError("waited %s s for %s" % (timeout, what))
            return found()


class Collector:
    def __init__(self, abstract=False, reads=True):
        self._folder = tempfile.TemporaryDirectory(prefix="hook-test-")
        self.name = "@hook-test-%d-%d" % (os.getpid(), time.monotonic_ns()) if abstract else self._folder.name + "/socket"
        self.news = News()
        self.workers = []  # those that have said hello
        self._connections = []
        self._callers = []  # the names of those that connected; a hook has none
        self._readers = []
        self._reads = reads
        self._turn = threading.Lock()  # of _accept and read_all: each connection is read by one of them
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._address = "\0" + self.name[1:] if abstract else self.name
        self._socket.bind(self._address)
        self._socket.listen(64)
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()
        self._folder.cleanup()

    def close(self):
        """Goes away, as a killed safelaunch does."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._socket.close()
        for connection in self._connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def ranks(self):
        """The workers that called init, by rank: what safelaunch takes for a rank."""
        return {
            worker.events[-1]["rank"]: worker
            for worker in sorted(self.workers, key=lambda worker: -len(worker.events))
            if worker.first("init.enter") and "rank" in worker.events[-1]
        }

    def wait_for_worker(self, event, timeout=PATIENCE, **fields):
        def found():
            for worker in self.workers:
                for one in worker.all(event):
                    if all(one.get(key) == value for key, value in fields.items()):
                        return worker
            return None

        return self.news.wait_for(found, timeout, "a worker that sends %s %s" % (event, fields))

    def drained(self, timeout=PATIENCE):
        """Waits until every connection is closed: all events are in, also those of a process whose
        connection nobody had accepted yet when it ended."""
        self._wait_for_the_backlog(timeout)
        self.news.wait_for(lambda: all(worker.closed for worker in self._readers), timeout, "the workers' ends")
        return self

    def _wait_for_the_backlog(self, timeout):
        """The kernel hands connections over in their order: after one of our own, all earlier ones are in."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as last:
            last.bind("")  # the kernel chooses a name
            last.connect(self._address)
            self.news.wait_for(lambda: last.getsockname() in self._callers, timeout, "the backlog's end")

    def _accept(self):
        while True:
            try:
                connection, caller = self._socket.accept()
            except OSError:
                return
            with self._turn:
                self._connections.append(connection)
                if self._reads:
                    self._start_reading(connection)
            self.news.notify(lambda: self._callers.append(caller))

    def read_all(self):
        """Begins to read, after all."""
        with self._turn:
            self._reads = True
            for connection in self._connections:
                self._start_reading(connection)

    def _start_reading(self, connection):
        self._readers.append(Worker(connection, self.news))
        threading.Thread(target=self._read, args=self._readers[-1:], daemon=True).start()

    def _read(self, worker):
        while True:
            try:
                packet = worker.connection.recv(65536)
            except OSError:
                packet = b""
            if not packet:
                worker.connection.close()
                self.news.notify(lambda: setattr(worker, "closed", True))
                return
            self.news.notify(lambda: self._keep(worker, json.loads(packet.decode())))

    def _keep(self, worker, event):
        if not worker.events:
            assert event["e"] == "hello" and event["token"] == TOKEN, event
            self.workers.append(worker)
        worker.events.append(event)
