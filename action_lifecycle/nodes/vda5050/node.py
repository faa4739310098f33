# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The vda5050 node: connects a robot to a fleet manager that speaks VDA 5050 over MQTT.

It commands nothing itself: an order becomes flows of the action node, a cancelOrder cancels them.
If it is killed, the order goes on; when it is back, it follows the flow and reports the state.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from action_lifecycle_msgs.msg import SafetyState

from .fact_values import FactValues
from .flow_orders import FlowOrders
from .instant_actions import InstantActions
from .order_runner import OrderRunner
from .robot_state import RobotState
from ...documents.errors import LifecycleError
from ...documents.json_text import read_object
from ...graphs.packaged import config_file
from ...journal.location import default_journal
from ...ros.interfaces.names import name_fault
from ...ros.interfaces.qos import state_qos
from ...ros.node.diagnostics import Health, OK, WARN
from ...ros.node.lifecycle_node import ManagedNode
from ...ros.node.process import run
from ...ros.node.timers import Throttle
from ...vda5050.broker import Broker, BrokerError, check_url, MAX_MESSAGE
from ...vda5050.errors import OrderRefused
from ...vda5050.factsheet import factsheet
from ...vda5050.fields import VERSION, VERSIONS
from ...vda5050.identity import Identity, level_fault, serial_fault
from ...vda5050.judge import check_header
from ...vda5050.mapping import LIMITS, read_mapping
from ...vda5050.record import read_record

PERIOD = 0.1
"""Minimum time (s) between two state messages."""
TICK = 0.5
"""Period (s) in which it is checked whether a state message is due."""
LONGEST_INTERVAL = 30.0
"""Maximum time (s) between two state messages, by the specification."""


class Vda5050Node(ManagedNode):
    """
    Managed node `vda5050`.

    | interface | name | type |
    |---|---|---|
    | subscribes to | `<action_node>/state_changes` | action_lifecycle_msgs/msg/ActionStateChange |
    | subscribes to | `<action_node>/safety` | action_lifecycle_msgs/msg/SafetyState |
    | subscribes to | `<bridge_node>/facts` | action_lifecycle_msgs/msg/WorldState |
    | subscribes to | `<bridge_node>/declared_facts` | action_lifecycle_msgs/msg/WorldState |
    | calls | `<action_node>/execute_flow` | action_lifecycle_msgs/action/ExecuteFlow |
    | calls | `<action_node>/edit_flow` | action_lifecycle_msgs/srv/EditFlow |
    | calls | `<action_node>/control_flow` | action_lifecycle_msgs/srv/ControlFlow |
    | calls | `<action_node>/list_actions` | action_lifecycle_msgs/srv/ListActions |
    | calls | `<action_node>/get_history` | action_lifecycle_msgs/srv/GetHistory |

    Parameters: `broker_url` (string): mqtt:// or mqtts://, without a password; `interface_name`,
    `manufacturer`, `serial_number` (string): the levels of the topics; `protocol_version`
    (string): that of the headers; `mapping_file` (string);
    `order_file` (string): keeps the order over a restart, empty: in the ROS home;
    `action_node`, `bridge_node` (string): names of these nodes; `flow_folders` (string list): as
    for the action node; `state_interval` (double, s): longest time between two state messages;
    `visualization_interval` (double, s): time between two positions, 0: none.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__('vda5050', **kwargs)
        self.declare('broker_url', '', 'mqtt:// or mqtts:// without a password.',
                     check=_url_fault)
        self.declare('interface_name', 'uagv', 'First level of the topics.', check=level_fault)
        self.declare('manufacturer', 'unknown', 'Manufacturer of the robot.', check=level_fault)
        self.declare('serial_number', 'robot', 'Serial number of the robot.', check=serial_fault)
        self.declare('protocol_version', VERSION, 'Version of VDA 5050 in the headers: '
                     + ' or '.join(VERSIONS) + '.', check=_version_fault)
        self.declare('mapping_file', '', 'How orders become flows.')
        self.declare('order_file', '', 'File that keeps the order over a restart; empty: in the '
                     'ROS home.')
        self.declare('action_node', 'action_lifecycle', 'Name of the action node.',
                     check=name_fault)
        self.declare('bridge_node', 'world_model_bridge', 'Name of the bridge.', check=name_fault)
        self.declare('flow_folders', [str(config_file('flows'))],
                     'Folders of nested flows that are given by name, as for the action node.')
        self.declare('state_interval', LONGEST_INTERVAL, 'Longest time (s) between two state '
                     'messages.', limits=(0.5, LONGEST_INTERVAL))
        self.declare('visualization_interval', 1.0, 'Time (s) between two positions; 0: none.',
                     limits=(0.0, 3600.0))

    def configure(self) -> None:
        """Read the files and create the interfaces; nothing is sent yet."""
        for name in ('broker_url', 'mapping_file'):
            if not self.parameter(name):
                raise LifecycleError(f"parameter '{name}': expected a value, got ''")
        self.claim_name()
        self.identity = Identity(*(str(self.parameter(name)) for name in (
            'interface_name', 'manufacturer', 'serial_number', 'protocol_version')))
        self.mapped = read_mapping(
            str(self.parameter('mapping_file')), list(self.parameter('flow_folders')))
        path = str(self.parameter('order_file'))
        record = read_record(
            Path(path).expanduser() if path else default_journal(
                self.get_namespace()).with_suffix('.vda5050.json'), self.identity.name)
        action_node = str(self.parameter('action_node'))
        self.is_connected, self.why = False, 'not connected yet'
        self._broker: Broker | None = None
        self._sent: dict[str, Any] | None = None
        self._is_restored = False
        self._sent_at = self._shown_at = 0.0
        self._throttle = Throttle(self, PERIOD, self._send_changed)
        self.defer(self._throttle.cancel)
        self.facts = FactValues(self, str(self.parameter('bridge_node')),
                                self.mapped.expressions, self._changed, LIMITS)
        self.runner = OrderRunner(
            self, record, self.mapped, FlowOrders(self, action_node), action_node, self._changed,
            lambda: self.robot_state.start())
        self.robot_state = RobotState(self.runner, self.facts, self.mapped)
        self.instants = InstantActions(
            self, self.runner, self.mapped, lambda: self.call_soon(self._send_state),
            self._send_factsheet, self._changed)
        self.add_subscription(SafetyState, f'{action_node}/safety', self._take_safety, state_qos())
        self.add_timer(TICK, self._tick)
        self.add_diagnostics('vda5050', self._health)

    def activate(self) -> None:
        """Go on with the order, and connect."""
        self._broker = Broker(
            str(self.parameter('broker_url')), self.identity,
            lambda topic, payload, retained: self.call_soon(
                lambda: self._take(topic, payload, retained)),
            lambda connected, why: self.call_soon(lambda: self._noted(connected, why)))
        if not self._is_restored:  # later activations find everything as it is
            self._is_restored = True
            self.runner.restore()
            self.instants.restore()
        self._broker.open()

    def deactivate(self) -> None:
        """Disconnect; the order goes on."""
        broker, self._broker = self._broker, None
        self.is_connected, self.why = False, 'the node is not active'
        self._throttle.cancel()
        if broker is not None:
            broker.close()

    # From the broker

    def _noted(self, connected: bool, why: str) -> None:
        if self._broker is None:
            return
        if connected:
            self.get_logger().info(f'connected to the broker as {self.identity.name}')
        elif why and why != self.why:
            self.get_logger().warning(f'{why}; tried again')
        self.is_connected, self.why = connected, why
        if connected:
            self._broker.publish('connection', {'connectionState': 'ONLINE'}, retain=True)
            self._send_factsheet()
            self._send_state()

    def _take(self, topic: str, payload: bytes, retained: bool) -> None:
        if self._broker is None or not payload:  # an empty message removes a retained one
            return
        try:
            if len(payload) > MAX_MESSAGE:
                raise LifecycleError(f'{topic}: longer than {MAX_MESSAGE} bytes')
            message = read_object(payload, topic)
            check_header(topic, message, self.identity, retained=retained)
            (self.runner if topic == 'order' else self.instants).take(message)
        except OrderRefused as refused:
            self.runner.refuse(refused)
        except LifecycleError as failed:
            self.runner.malformed(topic, str(failed))

    # To the broker

    def _changed(self) -> None:
        if self._broker is not None:
            self._throttle.call_soon()

    def _send_changed(self) -> None:
        """Send the state if it has changed."""
        self.instants.settle_pauses()
        message = self.robot_state.message()
        if self._sent is None or _weighty(message) != _weighty(self._sent):
            self._send_state()

    def _send_state(self) -> None:
        if self._broker is None or not self.is_connected:
            return
        self._sent = self.robot_state.message()
        self._sent_at = self.steady()
        self._broker.publish('state', self._sent)

    def _send_factsheet(self) -> None:
        if self._broker is not None:
            self._broker.publish('factsheet', factsheet(
                self.mapped, float(self.parameter('state_interval')),
                float(self.parameter('visualization_interval')), self.identity.version),
                retain=True)

    def _tick(self) -> None:
        if self._broker is None or not self.is_connected:
            return
        now, every = self.steady(), float(self.parameter('visualization_interval'))
        if now >= self._sent_at + float(self.parameter('state_interval')) - TICK:
            self._send_state()
        position = self.robot_state.position() if every and now >= self._shown_at + every else None
        if position is not None:
            self._shown_at = now
            self._broker.publish('visualization', {'agvPosition': position})

    def _take_safety(self, message: SafetyState) -> None:
        self.robot_state.safety = message
        self._changed()

    def _health(self) -> Health:
        record = self.runner.record
        fields = {
            'connected': self.is_connected,
            'order': '' if record.order is None else record.order.order_id,
            'update': '' if record.order is None else record.order.update_id,
            'flow': record.flows[-1] if record.flows else ''}
        return Health(OK, 'connected', fields) if self.is_connected \
            else Health(WARN, self.why or 'not connected', fields)


def _weighty(message: dict[str, Any]) -> dict[str, Any]:
    """Return a state without position and charge, whose changes alone are not sent at once."""
    return {**message, 'agvPosition': None, 'batteryState': message['batteryState']['charging']}


def _version_fault(version: str) -> str:
    return '' if version in VERSIONS else f"{version!r}: expected {' or '.join(VERSIONS)}"


def _url_fault(url: str) -> str:
    try:
        if url:
            check_url(url)
    except BrokerError as error:
        return str(error)
    return ''


def main(args: list[str] | None = None) -> int:
    """Run the node."""
    return run(Vda5050Node, args=args)
