# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The network between a robot and its viewer is cut: the page says so, and recovers by itself.

Viewer and browser run on a host of their own: a network namespace, connected to the robot by a
pair of virtual interfaces of which one is taken down. Needs root and iproute2.
"""

from __future__ import annotations

from collections.abc import Iterator
import os
from pathlib import Path
import re
import shutil
import subprocess
from typing import Any

from chromium import find_chromium, start_browser
import pytest

pytest.importorskip('action_lifecycle_msgs')

from .browser_rig import Pages, Viewer  # noqa: E402
from .live_rig import LiveRig, TOKEN  # noqa: E402
from .test_live import waits  # noqa: E402

pytestmark = [
    pytest.mark.long, pytest.mark.xdist_group('live_viewer'),
    pytest.mark.skipif(os.geteuid() != 0 or not shutil.which('ip'), reason='no root, or no ip')]
UDP = """\
<profiles xmlns="http://www.eprosima.com/XMLSchemas/fastRTPS_Profiles">
  <transport_descriptors>
    <transport_descriptor><transport_id>udp</transport_id><type>UDPv4</type></transport_descriptor>
  </transport_descriptors>
  <participant profile_name="udp" is_default_profile="true"><rtps>
    <userTransports><transport_id>udp</transport_id></userTransports>
    <useBuiltinTransports>false</useBuiltinTransports>
    <builtin><discovery_config>
      <leaseDuration><sec>3</sec></leaseDuration>
      <leaseAnnouncement><nanosec>250000000</nanosec></leaseAnnouncement>
    </discovery_config></builtin>
  </rtps></participant>
</profiles>
"""


def ip(*arguments: str) -> None:
    """Run iproute2's command."""
    subprocess.run(['ip', *arguments], check=True, timeout=10.0)


class Host:
    """Another host on a network with this machine."""

    def __init__(self) -> None:
        self.name = f'al{os.getpid()}'
        self._link = f'{self.name}r'
        net = f'198.18.{os.getpid() % 256}'  # for tests, by RFC 2544
        ip('netns', 'add', self.name)
        ip('link', 'add', self._link, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', self.name)
        ip('address', 'add', f'{net}.1/24', 'dev', self._link)
        ip('-n', self.name, 'address', 'add', f'{net}.2/24', 'dev', 'eth0')
        for interface in ('lo', 'eth0'):
            ip('-n', self.name, 'link', 'set', interface, 'up')
        self.connect()
        ip('-n', self.name, 'route', 'add', 'default', 'via', f'{net}.1')  # for multicast

    def inside(self, *command: str) -> list[str]:
        """Return the command that runs a command on this host."""
        return ['ip', 'netns', 'exec', self.name, *command]

    def cut(self) -> None:
        """Cut its network."""
        ip('link', 'set', self._link, 'down')

    def connect(self) -> None:
        """Connect its network."""
        ip('link', 'set', self._link, 'up')

    def close(self) -> None:
        """Remove it."""
        ip('netns', 'delete', self.name)


class FarRig(LiveRig):
    """A robot here, and its viewer and a browser on another host, which has no journal."""

    def __init__(self, folder: Path, host: Host) -> None:
        self._host = host
        (folder / 'udp.xml').write_text(UDP)
        self._udp = {'FASTRTPS_DEFAULT_PROFILES_FILE': str(folder / 'udp.xml'),
                     'ROS_AUTOMATIC_DISCOVERY_RANGE': 'SUBNET'}
        super().__init__(folder)

    def spawn(self, *arguments: Any, **options: Any) -> Any:
        self.environment.update(self._udp)
        return super().spawn(*arguments, **options)

    def start_web(self) -> None:
        (self.folder / 'home').mkdir()
        self.viewer = Viewer(
            [*self._host.inside('web'), '--ros-args', '-p', 'autostart:=true', '-p',
             f'token_file:={self.token}', '-p', f'port:={self.port}'],
            self.folder, {**self.environment, 'HOME': str(self.folder / 'home')})

    def close(self) -> None:
        self.viewer.end()
        super().close()


@pytest.fixture
def host() -> Iterator[Host]:
    host = Host()
    yield host
    host.close()


@pytest.fixture
def far(host: Host, tmp_path: Path) -> Iterator[FarRig]:
    far = FarRig(tmp_path, host)
    yield far
    far.close()


@pytest.fixture
def far_pages(host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pages]:
    browser = tmp_path / 'chromium'
    browser.write_text(f'#!/bin/sh\nexec {" ".join(host.inside(str(find_chromium())))} "$@"\n')
    browser.chmod(0o755)
    with start_browser(str(browser)) as chromium:
        pages = Pages(chromium, tmp_path)
        yield pages
        pages.close()
    assert not pages.errors, '\n'.join(pages.errors)


def test_a_cut_network_is_told_and_what_happened_meanwhile_is_shown(
    far: FarRig, host: Host, far_pages: Pages
) -> None:
    page, handle = far.begin(far_pages, '/', 'cleo', 'cut', waits(700.0))
    far.until_look(page, 'wait', 'Verifying')
    host.cut()
    far.until_link(page, '3 nodes are gone', 40.0)
    far.click(page, '[data-order=pause]')
    far.until_text(page, '.q-notification', 'action_lifecycle is gone')
    done = handle.get_result_async()
    far.level = 701.0
    far.until(done.done, 20.0, 'the flow goes on without its viewer')
    assert not page.locator('g.box[data-path=last].look-succeeded').count()
    host.connect()
    far.until_link(page, 'Live', 60.0)
    far.until_look(page, 'last', 'Succeeded', 40.0)
    assert TOKEN not in re.sub(r'\s', '', far.viewer.text)
