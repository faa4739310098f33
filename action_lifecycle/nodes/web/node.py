# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The web node: shows what robots do, live, in a browser, and sends the orders of people.

It is never a part of the control path: it subscribes, reads the journal, and sends requests. The
executor runs on the main thread, the web server in a second one; see `link`.
"""

from __future__ import annotations

from typing import Any

from .link import full_name, RobotLink
from ..shared.paths import journal_path
from ..shared.ros_log import log_to
from ..shared.urls import url_fault
from ...documents.errors import LifecycleError
from ...journal.location import default_journal
from ...ros.interfaces.names import namespace_fault
from ...ros.node.diagnostics import Health, OK, WARN
from ...ros.node.lifecycle_node import ManagedNode
from ...ros.node.process import run
from ...viewer.access import Access
from ...viewer.app import build
from ...viewer.fleet_watch import Fleet
from ...viewer.record.sources import LocalRows
from ...viewer.robots import Now, Robot
from ...viewer.server import Server, Tls


class WebNode(ManagedNode):
    """
    Managed node `web`.

    Names without `/` at the start are in the namespace of each robot; types without a package are
    those of action_lifecycle_msgs.

    | interface | name | type |
    |---|---|---|
    | subscribes to | `action_lifecycle/state_changes` | msg/ActionStateChange |
    | subscribes to | `action_lifecycle/flow_changes` | msg/FlowChange |
    | subscribes to | `action_lifecycle/actions` | msg/ActionStatusArray |
    | subscribes to | `action_lifecycle/safety` | msg/SafetyState |
    | subscribes to | `world_model_bridge/facts` | msg/WorldState |
    | subscribes to | feedback of `world_model_bridge/execute_motion` | of ExecuteMotion |
    | subscribes to | `NODE/operator_requests` | msg/OperatorRequestArray |
    | subscribes to, while shown | `tf`, `tf_static` | tf2_msgs/msg/TFMessage |
    | subscribes to, while shown | topics with pictures | sensor_msgs/msg/Image, CompressedImage |
    | calls | `ledger/get_rows`, `action_lifecycle/get_rows` | srv/GetRows |
    | calls | `world_model_bridge/get_trace` | srv/GetTrace |
    | calls | `NODE/get_state` | lifecycle_msgs/srv/GetState |
    | calls, for people | `action_lifecycle/control_flow` | srv/ControlFlow |
    | calls, for people | `action_lifecycle/send_event` | srv/SendEvent |
    | calls, for people | `action_lifecycle/clear_stop` | srv/ClearStop |
    | calls, for people | `NODE/respond` | srv/Respond |

    Parameters: `host` (string), `port` (int, 0: a free one): address of the server; `robots`
    (string list): namespaces of the robots, '' is that of this node; `journal_path` (string): file
    of the journal of the only robot; `trace_file` (string): its evidence traces; `token_file`
    (string): file with the token with which people sign in; `host_names` (string list): further
    names of this machine in addresses; `certificate`, `private_key` (string): files for HTTPS;
    `ledger_url` (string): the ledger of the fleet, for its page.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__('web', **kwargs)
        self.declare('host', '127.0.0.1', 'Address at which pages are served; another than that '
                     'of this machine alone needs a token.')
        self.declare('port', 8080, 'Port of the server; 0: a free one.', limits=(0, 65535))
        self.declare('robots', [''], "Namespaces of the robots; '': that of this node.")
        self.declare('journal_path', '', 'File of the journal of the only robot; empty: in the '
                     'ROS home, or read from the robot.')
        self.declare('trace_file', '', 'File of the evidence traces of the only robot; empty: '
                     'beside the journal, or read from the robot.')
        self.declare('token_file', '', 'File with the token to sign in; empty: from the '
                     'environment, or nobody can give orders.')
        self.declare('host_names', [''], 'Further names of this machine in addresses.')
        self.declare('certificate', '', 'PEM file of the certificate for HTTPS; empty: HTTP.')
        self.declare('private_key', '', 'PEM file of its key.')
        self.declare('ledger_url', '', 'Ledger of the fleet, as for the ledger node; empty: no '
                     'page Fleet.', check=url_fault)
        self.robots: dict[str, Robot] = {}  #: by namespace
        self.server: Server | None = None  # one for the process, see `Server`
        self._app: Any = None
        self._is_serving = False
        self.links: list[RobotLink] = []

    def configure(self) -> None:
        """Bind the port and create the subscriptions and clients."""
        self.claim_name()
        log_to(self)
        if self.server is None:
            self._make_server()
        self.links = [RobotLink(self, namespace, robot, self._local(namespace, robot.name))
                      for namespace, robot in self.robots.items()]
        self.add_diagnostics('web', self._health)

    def activate(self) -> None:
        """Serve the pages."""
        assert self.server is not None
        if not self._is_serving:
            self.server.start()
            self._is_serving = True
        assert self.server.loop is not None
        for link in self.links:
            link.open(self.server.loop)
        self.get_logger().info(f'viewer: {self.server.address}')

    def deactivate(self) -> None:
        """Follow the robots no more; the pages say so."""
        for link in self.links:
            link.close()

    def destroy_node(self) -> None:
        """End the server, then destroy the node."""
        if self.server is not None:
            self.server.stop()
        super().destroy_node()

    def _make_server(self) -> None:
        host, port = str(self.parameter('host')), int(self.parameter('port'))
        certificate, key = str(self.parameter('certificate')), str(self.parameter('private_key'))
        if bool(certificate) != bool(key):
            raise LifecycleError('certificate and private_key: expected both, or none')
        if self._app is None:
            names = [name for name in self.parameter('host_names') if name]
            access = Access(host, port, token_file=str(self.parameter('token_file')), names=names,
                            secure=bool(certificate))
            self.robots = self._make_robots()
            url = str(self.parameter('ledger_url'))
            self._app = build(list(self.robots.values()), access,
                              fleet=Fleet(url) if url else None)
        self.server = Server(self._app, host, port, Tls(certificate, key) if key else None)

    def _make_robots(self) -> dict[str, Robot]:
        """Return the robots by their namespaces, relative or absolute as they are given."""
        robots: dict[str, Robot] = {}
        for namespace in self.parameter('robots'):
            if fault := namespace and namespace_fault(namespace):
                raise LifecycleError(f'robots: {fault}')
            name = namespace.strip('/') or self.get_namespace().strip('/') or 'robot'
            if any(robot.name == name for robot in robots.values()):
                raise LifecycleError(f"robots: '{name}' is there twice")
            robots[namespace] = Robot(name, None, now=Now(live=True))
        for name in ('journal_path', 'trace_file'):
            if len(robots) > 1 and self.parameter(name):
                raise LifecycleError(f'{name}: is for one robot, but {len(robots)} are given; '
                                     'leave it empty')
        return robots

    def _local(self, namespace: str, name: str) -> LocalRows:
        path = journal_path(self) if self.parameter('journal_path') \
            else default_journal(full_name(self, namespace, ''))
        return LocalRows(path, name, str(self.parameter('trace_file')) or None)

    def _health(self) -> Health:
        robots = {link.robot.name: ', '.join(
            f'{node} {seen.state}' for node, seen in link.watch.seen.items())
            for link in self.links}
        seen = sum(link.watch.is_there() for link in self.links)
        message = f'{seen} of {len(self.links)} robots seen'
        if self.server is not None:
            message = f'{self.server.address}: {message}'
        return Health(OK if seen == len(self.links) else WARN, message, {
            'pages': sum(link.robot.heard_by for link in self.links), **robots})


def main(args: list[str] | None = None) -> int:
    """Run the node."""
    return run(WebNode, args=args)
