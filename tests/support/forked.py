"""Python processes that start with TensorFlow imported, by forking a process that has imported it and computed nothing.

`Popen` and `run` have the arguments of those in `subprocess`, for `[sys.executable, "-m", MODULE, ...]` and
`[sys.executable, "-c", CODE, ...]`. Importing TensorFlow costs a process five CPU seconds; a fork costs nothing. If no
server is running (it requires Linux), both start an ordinary process.

The server's child forks again and exits, so that the new process becomes a child of the requesting process, which can
wait for it and kill it, and to which its CPU time is added, as for any other child.
"""

import atexit
import ctypes
import gc
import importlib
import inspect
import os
import pickle
import runpy
import signal
import socket
import struct
import subprocess
import sys
import threading
import traceback

IMPORTED = (
    "tensorflow_text",
    "seqattn_tf.cli",
    "seqattn_tf.checks",
    "seqattn_tf.training.run",
    # A module that is first imported while a test has replaced a function would keep the replacement.
    "seqattn_tf.training.distillation",
    "seqattn_tf.training.quantization",
    "seqattn_tf.batch",
    "seqattn_tf.serving.server",
)
TimeoutExpired = subprocess.TimeoutExpired
PR_SET_CHILD_SUBREAPER = 36
FIELDS = inspect.signature(subprocess.Popen._execute_child)


class Server:
    """The process that forks; `requests` is the socket on which it listens."""

    requests = None
    lock = threading.Lock()


def start_server():
    """Fork the server from this process, which must not have computed anything yet."""
    if sys.platform != "linux" or Server.requests is not None:
        return
    for name in IMPORTED:
        importlib.import_module(name)
    if tensorflow_runs():  # a fork would not contain its threads and would wait for them forever
        raise RuntimeError("conftest.py: expected none that computes with TensorFlow as it is imported. Received: one")
    if ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        return
    Server.requests, listening = socket.socketpair()
    gc.freeze()  # prevents the garbage collector from copying the pages of imported objects
    pid = os.fork()
    if pid == 0:
        Server.requests.close()
        _serve(listening)
    listening.close()
    atexit.register(_stop, pid)


def tensorflow_runs():
    """Return whether TensorFlow has started to compute in this process."""
    from tensorflow.python.eager import context

    return context._context is not None and context._context._context_handle is not None


def _stop(pid):
    Server.requests.close()
    os.waitpid(pid, 0)


class Popen(subprocess.Popen):
    """A `subprocess.Popen` based on a fork.

    Signals have their default handlers in it; `preexec_fn` is not supported.
    """

    def _execute_child(self, *given):
        asked = FIELDS.bind(self, *given).arguments
        if Server.requests is None or str(asked["args"][0]) != sys.executable:  # another interpreter cannot be forked
            return super()._execute_child(*given)
        if asked["preexec_fn"] is not None:
            raise ValueError(f"preexec_fn: expected none. Received: {asked['preexec_fn']!r}")
        _, *command = map(str, asked["args"])
        if command[0] not in ("-m", "-c"):
            raise ValueError(f"args: expected [sys.executable, '-m' or '-c', ...]. Received: {asked['args']!r}")
        env = os.environ if asked["env"] is None else asked["env"]
        request = pickle.dumps((command, dict(env), str(asked["cwd"] or os.getcwd()), asked["start_new_session"]))
        ends = [asked[name] for name in ("p2cread", "c2pwrite", "errwrite")]
        with Server.lock:
            socket.send_fds(
                Server.requests,
                [struct.pack("I", len(request)) + request],
                [own if fd == -1 else fd for own, fd in enumerate(ends)],
            )
            self.pid = struct.unpack("I", Server.requests.recv(4))[0]
        self._child_created = True
        pipes = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
        return self._close_pipe_fds(*(asked[name] for name in pipes))


def run(args, *, input=None, capture_output=False, check=False, timeout=None, **how):
    """Like `subprocess.run`, but based on a fork."""
    pipes = dict.fromkeys(("stdout", "stderr"), subprocess.PIPE) if capture_output else {}
    if input is not None:
        pipes["stdin"] = subprocess.PIPE
    with Popen(args, **pipes, **how) as process:
        try:
            out, err = process.communicate(input, timeout)
        except BaseException:
            process.kill()
            raise
    if check and process.returncode:
        raise subprocess.CalledProcessError(process.returncode, args, out, err)
    return subprocess.CompletedProcess(args, process.returncode, out, err)


def _serve(listening):
    """Fork a process for every request until the other end is closed."""
    while True:
        head, fds, *_ = socket.recv_fds(listening, 4, 3)
        if not head:
            os._exit(0)
        request = listening.recv(struct.unpack("I", head)[0], socket.MSG_WAITALL)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            grandchild = os.fork()
            if grandchild == 0:
                _begin(pickle.loads(request), fds)
            os.write(writing, struct.pack("I", grandchild))
            os._exit(0)
        os.waitpid(child, 0)  # now the grandchild is a child of the requesting process
        listening.send(os.read(reading, 4))
        for fd in (reading, writing, *fds):
            os.close(fd)


def _begin(request, fds):
    """Run `python -m MODULE ...` or `python -c CODE ...` with the given standard streams."""
    status, interrupted = 1, False
    try:
        (kind, what, *arguments), env, folder, session = request
        for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        if session:
            os.setsid()
        for own, fd in enumerate(fds):
            os.dup2(fd, own)
        os.closerange(3, 4096)
        sys.stdin, sys.stdout, sys.stderr = (open(own, mode) for own, mode in enumerate("rww"))  # noqa: SIM115
        os.environ.clear()
        os.environ.update(env)
        os.chdir(folder)
        atexit._clear()
        sys.path[:0] = ["" if kind == "-c" else folder, *filter(None, env.get("PYTHONPATH", "").split(os.pathsep))]
        sys.argv = [what if kind == "-m" else "-c", *arguments]
        if kind == "-m":
            runpy.run_module(what, run_name="__main__", alter_sys=True)
        else:
            main = type(sys)("__main__")
            sys.modules["__main__"] = main
            exec(compile(what, "<string>", "exec"), main.__dict__)
        status = 0
    except SystemExit as leaving:
        status = leaving.code if isinstance(leaving.code, int) else 0 if leaving.code is None else 1
        if isinstance(leaving.code, str):
            print(leaving.code, file=sys.stderr)
    except BaseException as error:
        traceback.print_exc()
        interrupted = isinstance(error, KeyboardInterrupt)
    finally:
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        if interrupted:  # as Python exits
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGINT)
        os._exit(status & 0xFF)
