# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Changes the CMake files of ROS wheels so that interfaces can be built with them here."""

from __future__ import annotations

from pathlib import Path
import re
import subprocess

INCLUDES = ('import sysconfig, numpy\n'
            'print(sysconfig.get_path("include"))\nprint(numpy.get_include())')


def point_at_python(prefix: Path) -> None:
    """Replace the include folders of the wheels' build machine by those of the prefix's Python."""
    include, numpy_include = subprocess.check_output(
        [str(prefix / 'bin/python'), '-c', INCLUDES], text=True).splitlines()
    for path in prefix.glob('share/*/cmake/*.cmake'):
        text = path.read_text()
        ours = re.sub(r'/opt/python/[^";]*?/include/python3\.\d+', include, text)
        ours = re.sub(r'/opt/python/[^";]*?/numpy/_core/include', numpy_include, ours)
        if ours != text:
            path.write_text(ours)


def leave_out_cpp_type_support(prefix: Path) -> None:
    """
    Build interfaces for Python only, in half of the time.

    There is no rclcpp here, so no C++ node could use the rest. What nothing in Python links to is
    not registered with rosidl_generate_interfaces.
    """
    share = prefix / 'share'
    for path in (share / 'rosidl_generator_cpp/cmake/register_cpp.cmake',
                 *(share / f'{name}/cmake/{name}-extras.cmake' for name in (
                     'rosidl_typesupport_cpp', 'rosidl_typesupport_fastrtps_cpp',
                     'rosidl_typesupport_introspection_cpp'))):
        path.write_text(re.sub(r'ament_register_extension\([^)]*\)', '', path.read_text()))
