# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The package as `colcon build` installs it, with copies and with links: everything is found."""

from __future__ import annotations

from collections.abc import Iterator
import os
from pathlib import Path
import re
import shutil
import subprocess

from isolation import domain_id
import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ('action_lifecycle', 'config', 'launch', 'package.xml', 'resource', 'setup.cfg',
           'setup.py')
EXECUTABLES = set(re.findall(r"'(\w+) = [\w.]+:main", (ROOT / 'setup.py').read_text('utf-8')))


@pytest.fixture(scope='module', params=[
    'copies', pytest.param('links', marks=pytest.mark.long)])
def workspace(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """Give a workspace with only this package, over the interfaces that are built already."""
    folder: Path = tmp_path_factory.mktemp(request.param)
    for name in SOURCES:
        source, target = ROOT / name, folder / 'src' / name
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns('__pycache__'))
        else:
            target.parent.mkdir(exist_ok=True)
            shutil.copy(source, target)
    subprocess.run(
        ['colcon', 'build', '--base-paths', 'src',
         *(['--symlink-install'] if request.param == 'links' else [])],
        cwd=folder, env=_environment(), check=True, stdout=subprocess.DEVNULL, timeout=120)
    yield folder


def _environment() -> dict[str, str]:
    """Return the environment without the workspace that this test is part of."""
    ours = {str(ROOT), *(f'{ROOT}/{part}/action_lifecycle' for part in ('build', 'install'))}
    result = {
        name: os.pathsep.join(
            entry for entry in value.split(os.pathsep)
            if entry not in ours and not entry.startswith(f'{ROOT}/install/action_lifecycle/'))
        if name.endswith('PATH') else value for name, value in os.environ.items()}
    return {**result, 'ROS_DOMAIN_ID': str(domain_id())}


def _in(workspace: Path, command: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        ['bash', '-c', f'source install/local_setup.bash && exec {command}'], cwd=workspace,
        env={**_environment(), 'ROS_LOG_DIR': str(workspace)}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def files(folder: Path) -> list[Path]:
    """Return all files; a folder may be left over from another version, with its caches."""
    return [path for path in folder.rglob('*') if path.is_file()]


def test_pytest_finds_the_plugin(workspace: Path) -> None:
    out, _ = _in(workspace, 'python3 -m pytest --fixtures -q').communicate(timeout=60)
    assert 'scripted_robot' in out


def test_every_file_is_installed(workspace: Path) -> None:
    share = workspace / 'install/action_lifecycle/share/action_lifecycle'
    for folder in ('config', 'launch'):
        for path in files(workspace / 'src' / folder):
            assert (share / path.relative_to(workspace / 'src')).exists()
    where = _in(workspace, "python3 -c 'import action_lifecycle; "
                "print(action_lifecycle.__path__[0])'").communicate(timeout=30)[0].strip()
    assert where.startswith(str(workspace))
    for path in files(workspace / 'src/action_lifecycle'):
        assert (Path(where) / path.relative_to(workspace / 'src/action_lifecycle')).exists(), path


def test_the_command_is_found_and_reads_what_is_installed(workspace: Path) -> None:
    share = 'install/action_lifecycle/share/action_lifecycle/config'
    run = _in(workspace, 'ros2 run action_lifecycle action_lifecycle validate '
              f'{share}/graphs/action.yaml {share}/flows/pick_and_place.yaml '
              f'{share}/facts/cell.yaml')
    output = run.communicate(timeout=60)[0]
    assert (run.returncode, output.count(': ok (')) == (0, 3), output


def test_each_executable_is_found_and_loads(workspace: Path) -> None:
    listed = _in(workspace, 'ros2 pkg executables action_lifecycle').communicate(timeout=30)[0]
    assert {line.split()[-1] for line in listed.splitlines()} >= EXECUTABLES
    loaded = _in(workspace, 'python3 -c "from importlib.metadata import entry_points as found; '
                 "[script.load() for script in found(group='console_scripts') "
                 "if script.value.startswith('action_lifecycle.')]\"")
    assert (loaded.communicate(timeout=60)[0], loaded.returncode) == ('', 0)
