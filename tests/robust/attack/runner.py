"""Runs a program under limits and judges how it ended."""

import os
import re
import resource
import signal
import subprocess
import threading

CODES = range(0, 9)  # documented; 9 is a defect
RESIDENT_BYTES = 1 << 30  # beside --memory 256MiB, on small inputs
LINE_BYTES = 16384
SANITIZER = re.compile(rb"(ERROR: AddressSanitizer|ERROR: LeakSanitizer|runtime error:)[^\n]*")
# What a terminal may take for an order: C0 but tab, line feed and carriage return, DEL, and C1.
CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\xc2[\x80-\x9f]")


class Result:
    def __init__(self, code, stdout, stderr, usage, late):
        self.code, self.stdout, self.stderr, self.late = code, stdout, stderr, late
        self.resident, self.seconds = usage.ru_maxrss * 1024, usage.ru_utime + usage.ru_stime

    @property
    def message(self):
        lines = self.stderr.decode(errors="replace").replace("\r", "\n").splitlines()
        said = [line for line in lines if line.startswith("onstage: ")]
        return said[-1] if said else ""


class Program:
    """One binary of onstage; `sanitized` ones take more time and memory."""

    def __init__(self, path):
        self.path = os.path.abspath(path)
        with open(path, "rb") as file:
            self.sanitized = b"__asan_init" in file.read()

    def environment(self, home, more=None):
        result = {
            "PATH": os.environ["PATH"],
            "HOME": home,
            "GOMP_SPINCOUNT": "3000",
            "ASAN_OPTIONS": "detect_leaks=1:allocator_may_return_null=1:max_allocation_size_mb=4096:exitcode=99",
            "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
        }
        result.update(more or {})
        return result

    def start(self, arguments, folder, limits=(), environment=None, program=None):
        """Starts it with files for what it prints; `limits` are pairs of a resource and bytes."""

        def prepare():
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            for kind, most in limits:
                resource.setrlimit(kind, (most, most))
                if kind == resource.RLIMIT_FSIZE:
                    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # as a full disk: a failure

        out = open(os.path.join(folder, ".stdout"), "w+b")
        err = open(os.path.join(folder, ".stderr"), "w+b")
        process = subprocess.Popen([program or self.path, *arguments], cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                   env=self.environment(folder, environment), preexec_fn=prepare)  # fmt: skip
        process.files = (out, err)
        self.last = [program or self.path, *arguments]
        return process

    def wait(self, process, seconds=60):
        late = threading.Event()

        def end():
            late.set()
            os.kill(process.pid, signal.SIGKILL)

        timer = threading.Timer(seconds * (4 if self.sanitized else 1), end)
        timer.start()
        _, status, usage = os.wait4(process.pid, 0)  # nobody else may: poll() and kill() of the process would take its end
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        texts = []
        for file in process.files:
            file.seek(0)
            texts.append(file.read())
            file.close()
            os.unlink(file.name)
        return Result(process.returncode, *texts, usage, late.is_set())

    def run(self, arguments, folder, seconds=60, **options):
        return self.wait(self.start(arguments, folder, **options), seconds)


def spoken_badly(result):
    """What is wrong with the words themselves, or None."""
    said = result.stdout + b"\n" + result.stderr
    if CONTROL.search(said):
        return "prints a control character: " + repr(said[max(0, CONTROL.search(said).start() - 30) :][:80])
    if b"\nFORGED" in said:
        return "a name forges a line"
    longest = max(map(len, said.split(b"\n")))
    return f"prints a line of {longest} bytes" if longest > LINE_BYTES else None


def judge(program, result, folder):
    """What is wrong with an end, or None."""
    report = SANITIZER.search(result.stderr)
    if result.late:
        return "does not end"
    if report:
        return report.group(0).decode(errors="replace")
    if result.code < 0:
        return "died of " + signal.Signals(-result.code).name
    if result.code not in CODES:
        return f"undocumented exit code {result.code}: {result.message}"
    if result.code != 0 and not (result.message or result.stdout.strip()):
        return f"exit code {result.code} without a message"
    if result.resident > RESIDENT_BYTES * (4 if program.sanitized else 1):
        return f"took {result.resident >> 20} MiB"
    left = [name for name in os.listdir(folder) if name.endswith(".tmp")]
    if left:
        return "left behind: " + ", ".join(left)
    return spoken_badly(result)
