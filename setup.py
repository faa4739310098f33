# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Install the Python package, its launch files and its configuration the ament_python way."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from setuptools import find_packages, setup

PACKAGE = 'action_lifecycle'
HERE = Path(__file__).parent


def shared(folder: str) -> list[tuple[str, list[str]]]:
    """Return data_files entries that put the files of `folder` below share/, folder by folder."""
    files = sorted(path for path in (HERE / folder).rglob('*')
                   if path.is_file() and '__pycache__' not in path.parts)
    return [(f'share/{PACKAGE}/{parent.relative_to(HERE)}',
             [str(path.relative_to(HERE)) for path in group])
            for parent, group in groupby(files, key=lambda path: path.parent)]


setup(
    name=PACKAGE,
    version='0.1.0',
    packages=find_packages(include=[PACKAGE, f'{PACKAGE}.*']),
    package_data={'': ['*.xml', '*.lua', '*/*.xml', '*/*.lua', '*.html', '*.js', '*.css'],
                  PACKAGE: ['py.typed']},
    data_files=[
        ('share/ament_index/resource_index/packages', [f'resource/{PACKAGE}']),
        (f'share/{PACKAGE}', ['package.xml']),
        *shared('launch'),
        *shared('config'),
    ],
    install_requires=['setuptools'],
    extras_require={'argcomplete': ['argcomplete'], 'bags': ['mcap', 'rosbags'],
                    'celery': ['celery'], 'mcp': ['mcp'], 'openai': ['openai'],
                    'report': ['matplotlib'], 'sim': ['matplotlib', 'mujoco>=4,<5'],
                    'test': ['pytest', 'pytest-timeout'],  # by this, `colcon test` knows pytest
                    'vda5050': ['paho-mqtt'], 'web': ['nicegui>=3,<4', 'pillow']},
    zip_safe=False,
    maintainer='action_lifecycle maintainers',
    maintainer_email='maintainers@users.noreply.a-seed-3a295fbf.example',
    description='Explicit, checked and journaled lifecycles for the actions of a robot',
    license='Apache-2.0',
    entry_points={
        'console_scripts': [
            'action_lifecycle = action_lifecycle.cli:main',
            'action_lifecycle_node = action_lifecycle.executables:action_lifecycle_node',
            'world_model_bridge = action_lifecycle.executables:world_model_bridge',
            'agent = action_lifecycle.executables:agent',
            'language_model = action_lifecycle.executables:language_model',
            'ledger = action_lifecycle.executables:ledger',
            'web = action_lifecycle.executables:web',
            'markers = action_lifecycle.executables:markers',
            'vda5050 = action_lifecycle.executables:vda5050',
            'composed = action_lifecycle.executables:composed',
            'scripted_robot = action_lifecycle.executables:scripted_robot',
            'sim_cell = action_lifecycle.executables:sim_cell',
            'sim_estop = action_lifecycle.executables:sim_estop',
        ],
        'pytest11': ['action_lifecycle = action_lifecycle.pytest_plugin'],
        'ros2cli.command': ['flow = action_lifecycle.cli.ros2_flow:FlowCommand'],
        'action_lifecycle.states': ['invoker = action_lifecycle.invoke.states:InvokerState'],
    },
)
