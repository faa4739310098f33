# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The world_model_bridge node: executes motions, reads facts and confirms outcomes."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from action_lifecycle_msgs import srv
from rclpy.qos import QoSProfile
from std_srvs.srv import Trigger

from .black_box import BlackBox, declare_parameters
from .condition_server import ConditionServer
from .facts import Facts
from .motion_server import MotionServer
from .safety_guard import SafetyGuard
from .traces import Traces
from ...documents.errors import LifecycleError
from ...documents.input_file import read_text
from ...lifecycle.states import ErrorCode
from ...ros.interfaces.field_kinds import field_kind
from ...ros.node.lifecycle_node import ManagedNode
from ...ros.node.process import run
from ...ros.node.rclpy_internals import drop_late_responses
from ...ros.node.transitions import SUCCESS
from ...world.facts.facts import FactSet
from ...world.facts.loader import load_facts
from ...world.safety.safety import Safety, SafetyStatus


class _Loaded(NamedTuple):
    """A facts file without faults."""

    text: str
    facts: FactSet


class WorldModelBridge(ManagedNode):
    """
    Managed node `world_model_bridge`, the only node that controls the robot.

    Its parameters:

    | name | type, default | meaning |
    |---|---|---|
    | facts_file | string | facts, e-stop, safety topics, limits; see docs/world.md |
    | stop_file | string | file that keeps a latched stop over a restart; empty: none |
    | trace_file | string | file of the evidence traces; empty: none; see docs/traces.md |
    | trace_limit | double, 200.0 | size (MB) of that file from which on old traces are removed |
    | facts_rate | double, 2.0, dynamic | maximum rate (Hz) of ~/facts |
    | linger | double, 10.0, dynamic | time (s) a topic stays subscribed after its last use |
    | black_box.folder | string | folder of the black boxes; empty: none; see docs/black_box.md |
    | black_box.seconds | double, 10.0 | time (s) before the verdict that a box has; 0: none |
    | black_box.after | double, 0.3 | time (s) after the verdict that a box has |
    | black_box.memory | int, 64 | maximum memory (MB) for the messages that are kept |
    | black_box.total | int, 1000 | maximum size (MB) of all boxes; the oldest are removed |
    | black_box.when | string[] | verdicts for which a box is written |
    | action_node | string, action_lifecycle | node whose changes of actions are in the boxes |
    | autostart, executor | | as for every managed node |

    Interfaces (relative to the node):

    | name | type | |
    |---|---|---|
    | ~/execute_motion | action ExecuteMotion | executes or follows the motion of an action |
    | ~/confirm_outcome | action ConfirmOutcome | confirms conditions by the sensors |
    | ~/evaluate | service Evaluate | evaluates conditions once |
    | ~/check | service Check | checks motions and conditions before anything moves |
    | ~/clear_stop | service ClearStop | releases a latched stop |
    | ~/reload | service std_srvs/Trigger | loads the facts file again, unless something moves |
    | ~/get_trace | service GetTrace | the evidence trace of an attempt, for a viewer |
    | ~/save_black_box | service SaveBlackBox | writes the last seconds of its topics to a bag |
    | ~/facts | topic WorldState, latched | the facts on subscribed topics, on change |
    | ~/all_facts | topic WorldState, latched | as ~/facts; all topics are read while subscribed |
    | ~/declared_facts | topic WorldState, latched | all facts of the file, without values |
    | ~/safety | topic SafetyState, latched | whether motions may run |
    | /diagnostics | topic DiagnosticArray | safety, facts without a value, motions |

    The node sends goals to the action servers that requests name, calls the services and publishes
    on the topics that they name. It subscribes to the topics of the facts file while they are
    needed, and to the safety topics from `configure` on.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__('world_model_bridge', **kwargs)
        self.declare('facts_file', '', 'Facts, e-stop, safety topics and limits (YAML).')
        self.declare('stop_file', '', 'File that keeps a latched stop over a restart; empty: '
                     'none.')
        self.declare('trace_file', '', 'File of the evidence traces; empty: none.')
        self.declare('trace_limit', 200.0, 'Size (MB) of the file of traces from which on the '
                     'oldest are removed; 0: no limit.', limits=(0.0, 1e6))
        self.declare('facts_rate', 2.0, 'Maximum rate (Hz) of ~/facts.',
                     dynamic=True, limits=(0.01, 100.0))
        self.declare('linger', 10.0, 'Time (s) a topic stays subscribed after its last use.',
                     dynamic=True, limits=(0.0, 3600.0))
        declare_parameters(self)
        self._motions: MotionServer | None = None
        self._box: BlackBox | None = None
        self._loaded: _Loaded | None = None  #: what is in use, or is to be
        drop_late_responses(self.create_service(  # it stays while the others are made anew
            Trigger, '~/reload', self.guarded(self._reload, Trigger.Response(), '~/reload')))

    def configure(self) -> None:
        """Load the facts file and create the interfaces."""
        loaded = self._loaded or self._load()
        self.claim_name()
        self._loaded = loaded
        facts = loaded.facts
        self._box = BlackBox(self, facts, loaded.text)
        self._guard = SafetyGuard(self, facts, self._stop, self._box.recorder)
        self._facts = Facts(self, facts, self._box.recorder)
        self._traces = Traces(self, self._facts.model)
        self._motions = MotionServer(self, self._facts, self._guard, self._traces, self._box)
        self._questions = ConditionServer(self, self._facts, self._traces, self._box)
        self.add_service(srv.ClearStop, '~/clear_stop', self._clear_stop)
        self.add_diagnostics('safety', self._guard.health)
        self.add_diagnostics('facts', self._facts.health)
        self.add_diagnostics('motions', self._motions.health)
        self.add_diagnostics('traces', self._traces.health)

    def add_publisher(
        self, message: type, topic: str, qos: QoSProfile, *, always: bool = False
    ) -> Any:
        """Create a publisher; the black box records what some of them publish."""
        publisher = super().add_publisher(message, topic, qos, always=always)
        return publisher if self._box is None else self._box.recorder.published(
            publisher, topic, message)

    def activate(self) -> None:
        """Publish the safety state and the declared facts; nothing has moved yet."""
        self._guard.note_motion(False)
        self._guard.publish()
        self._facts.declare()

    def halt(self) -> None:
        """Stop all motions and interrupt all confirmations."""
        if self._motions is not None:
            self._motions.stop_all(ErrorCode.INTERRUPTED, 'the world model bridge is ending')
            self._questions.cancel_all()

    def busy(self) -> bool:
        """Whether a motion runs, or its stop is not confirmed yet."""
        return self._motions is not None and bool(self._motions.running())

    def cleanup(self) -> None:
        """Unsubscribe."""
        if self._motions is not None:
            self._traces.destroy()
            self._facts.destroy()
            self._guard.destroy()
            self._motions = None
        self._box = self._loaded = None

    def _load(self) -> _Loaded:
        path = self.parameter('facts_file')
        if not path:
            raise LifecycleError("parameter 'facts_file' is empty: expected the path of a file")
        facts = load_facts(path, field_kind)
        return _Loaded(read_text(Path(path).expanduser()), facts)

    def reload(self) -> str:
        """
        Load the facts file again; returns which file is in use.

        Raises LifecycleError, and changes nothing, while something moves or is judged, while a
        stop is latched (without `stop_file` it would be forgotten), or if the file has a fault.
        """
        before = self._loaded
        if before is None:
            raise LifecycleError('the node is not configured; `configure` loads the facts file')
        why = 'a motion runs' if self.busy() else \
            'an outcome is judged' if any(
                server.active() for server in self.goal_servers.values()) else \
            f'a stop is latched: {self._guard.status.reason}' \
            if self._guard.status.state is Safety.STOPPED else ''
        if why:
            raise LifecycleError(f'the facts file is not loaded now: {why}')
        new, active = self._load(), self.active
        if active:
            self.trigger_deactivate()
        self.trigger_cleanup()
        self._loaded = new
        done = self.trigger_configure() == SUCCESS
        if not done:
            self._loaded = before
            self.trigger_configure()
        if active and self.trigger_activate() != SUCCESS:
            raise LifecycleError('the node could not be activated again; see its log')
        if not done:
            raise LifecycleError('the node could not use the file, see its log; the facts of '
                                 f'{before.facts.file} are in use again')
        return f'the facts of {new.facts.file} are in use now, {len(new.facts)} of them; ' \
            f'before, those of {before.facts.file}'

    def _reload(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        try:
            response.message = self.reload()
            response.success = True
        except LifecycleError as error:
            response.message = str(error)
        self.get_logger().info(f'reload: {response.message}')
        return response

    def _stop(self, status: SafetyStatus) -> None:
        """Stop all motions, as safety has become STOPPED."""
        if self._motions is not None:
            self._motions.stop_all(status.code, status.message)
            self.update_diagnostics()

    async def _clear_stop(
        self, request: srv.ClearStop.Request, response: srv.ClearStop.Response
    ) -> srv.ClearStop.Response:
        if not request.actor:
            response.error_code = int(ErrorCode.INVALID_REQUEST)
            response.error_msg = 'actor: expected the name of the person who clears the stop'
            return response
        why = await self._guard.clear(request.seen)
        response.accepted = not why
        if why:
            response.error_code, response.error_msg = int(ErrorCode.NOT_ALLOWED), why
        else:
            self.get_logger().info(f'stop cleared by {request.actor}: {request.reason}')
        return response


def main(args: list[str] | None = None) -> int:
    """Run the node until a signal."""
    return run(WorldModelBridge, args=args)
