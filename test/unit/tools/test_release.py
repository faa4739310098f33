# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Both packages can be released: what bloom reads is there, is valid and agrees."""

from __future__ import annotations

from pathlib import Path

import pytest

catkin_package = pytest.importorskip('catkin_pkg.package')
changelog = pytest.importorskip('catkin_pkg.changelog')
pytest.importorskip('docutils')

ROOT = Path(__file__).parents[3]
FOLDERS = [ROOT, ROOT / 'action_lifecycle_msgs']


@pytest.mark.parametrize('folder', FOLDERS, ids=lambda folder: folder.name)
def test_the_description_is_valid_without_a_warning(folder: Path) -> None:
    warnings: list[str] = []
    package = catkin_package.parse_package(str(folder), warnings=warnings)
    package.validate(warnings=warnings)
    assert warnings == []
    assert package.description and package.maintainers and package.licenses


@pytest.mark.parametrize('folder', FOLDERS, ids=lambda folder: folder.name)
def test_the_changelog_is_one_of_catkin_with_the_next_or_this_version_first(folder: Path) -> None:
    package = catkin_package.parse_package(str(folder))
    log = changelog.get_changelog_from_path(str(folder), package.name)
    lines = (folder / 'CHANGELOG.rst').read_text('utf-8').splitlines()
    assert lines[1] == f'Changelog for package {package.name}'
    released = [version for version, _, _ in log.foreach_version()]
    assert 'Forthcoming' in lines or released[:1] == [package.version]
    for version in released:
        assert log.get_content_of_version(version)
