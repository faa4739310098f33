# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Writes the types of the table as packages into a colcon workspace, and builds them."""

from __future__ import annotations

import os
from pathlib import Path
import subprocess

from interface_table import definition, nested_types, Package, Table
from steps import step

NEEDED = ('action_msgs', 'builtin_interfaces', 'service_msgs', 'unique_identifier_msgs')
FLAGS = ('-DBUILD_TESTING=OFF', '-DCMAKE_C_FLAGS=-O0 -g0', '-DCMAKE_CXX_FLAGS=-O0 -g0')

CMAKE = """cmake_minimum_required(VERSION 3.16)
project({name})
find_package(ament_cmake REQUIRED)
find_package(rosidl_default_generators REQUIRED)
{packages}
rosidl_generate_interfaces(${{PROJECT_NAME}} {files}
  DEPENDENCIES {dependencies})
foreach(part typesupport_c typesupport_fastrtps_c typesupport_introspection_c generator_py)
  if(TARGET ${{PROJECT_NAME}}__rosidl_${{part}})
    set_target_properties(${{PROJECT_NAME}}__rosidl_${{part}}
      PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 40)
  endif()
endforeach()
ament_export_dependencies(rosidl_default_runtime)
ament_package()
"""
PACKAGE = """<?xml version="1.0"?>
<package format="3">
  <name>{name}</name>
  <version>0.0.0</version>
  <description>Types of {repository} at {commit}, for tests</description>
  <maintainer email="maintainers@users.noreply.a-seed-3a295fbf.example">tests</maintainer>
  <license>Apache-2.0</license>
  <buildtool_depend>ament_cmake</buildtool_depend>
  <buildtool_depend>rosidl_default_generators</buildtool_depend>
{depends}
  <member_of_group>rosidl_interface_packages</member_of_group>
  <export><build_type>ament_cmake</build_type></export>
</package>
"""


def write(table: Table, workspace: Path) -> None:
    """Write a package for each package of the table that has types into WORKSPACE/src."""
    for name, package in table.items():
        if package.types:
            _write_package(name, package, workspace / 'src' / name)


def _write_package(name: str, package: Package, folder: Path) -> None:
    files = []
    for key, parts in package.types.items():
        file = f'{key}.{key.partition("/")[0]}'
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(definition(parts), encoding='utf-8')
        files.append(file)
    contained = {kind.partition('/')[0] for parts in package.types.values()
                 for kind in nested_types(parts)}
    dependencies = sorted({*NEEDED, *contained} - {name})
    (folder / 'CMakeLists.txt').write_text(CMAKE.format(
        name=name, files=' '.join(files), dependencies=' '.join(dependencies),
        packages='\n'.join(f'find_package({other} REQUIRED)' for other in dependencies)))
    (folder / 'package.xml').write_text(PACKAGE.format(
        name=name, repository=package.repository, commit=package.commit,
        depends='\n'.join(f'  <depend>{other}</depend>' for other in dependencies)))


def build(workspace: Path) -> None:
    """Build the workspace with colcon; raises CalledProcessError if that fails."""
    environment = {**os.environ, 'MAKEFLAGS': f'-j{(os.cpu_count() or 1) + 1}'}
    with step(f'build the interfaces in {workspace}'):
        subprocess.run(['colcon', 'build', '--merge-install', '--cmake-args', *FLAGS],
                       check=True, cwd=workspace, env=environment)
