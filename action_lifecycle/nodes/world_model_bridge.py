# Copyright 2026 action_lifecycle maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""The node between the lifecycle and the robot: motions out, facts and confirmations in."""

from __future__ import annotations

from typing import Any

from action_lifecycle_msgs import srv

from .bridge_facts import Facts
from .bridge_motions import Motions
from .bridge_questions import Questions
from .bridge_safety import Guard
from ..engine.errors import LifecycleError
from ..lifecycle.states import ErrorCode
from ..ros.field_kinds import field_kind
from ..ros.lifecycle_node import ManagedNode
from ..ros.process import run
from ..world import load_facts, SafetyStatus


class WorldModelBridge(ManagedNode):
    """
    The only node that touches the robot.

    Parameters of its own:

    | name | type, default | meaning |
    |---|---|---|
    | facts_file | string | facts, e-stop, safety topics, limits; see docs/world.md |
    | stop_file | string | keeps a latched stop over a restart; empty: none |
    | facts_rate | double, 2.0, dynamic | Hz at most at which ~/facts is published |
    | linger | double, 10.0, dynamic | s that a topic stays subscribed after its last use |
    | autostart, executor | | as every managed node |

    Interfaces (relative to the node):

    | name | type | |
    |---|---|---|
    | ~/execute_motion | action ExecuteMotion | executes or follows the motion of an action |
    | ~/confirm_outcome | action ConfirmOutcome | decides by the sensors |
    | ~/evaluate | service Evaluate | judges conditions once |
    | ~/check | service Check | checks motions and conditions before anything moves |
    | ~/clear_stop | service ClearStop | releases a latched stop |
    | ~/facts | topic WorldState, latched | the facts that are read now, on change |
    | ~/declared_facts | topic WorldState, latched | all facts of the file, without values |
    | ~/safety | topic SafetyState, latched | whether motions may run |
    | /diagnostics | topic DiagnosticArray | safety, facts without a value, motions |

    Calls out to the action servers that requests name, subscribes to the topics of the facts file
    while they are needed. Safety topics are watched from configure on.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__('world_model_bridge', **kwargs)
        self.declare('facts_file', '', 'Facts, e-stop, safety topics and limits (YAML).')
        self.declare('stop_file', '', 'File that keeps a latched stop over a restart; empty: '
                     'none.')
        self.declare('facts_rate', 2.0, 'Hz at most at which ~/facts is published.',
                     dynamic=True, limits=(0.01, 100.0), changed=self._set_facts_rate)
        self.declare('linger', 10.0, 'Seconds that a topic stays subscribed after its last use.',
                     dynamic=True, limits=(0.0, 3600.0), changed=self._set_linger)
        self._motions: Motions | None = None

    def configure(self) -> None:
        """Load the facts file and create everything."""
        path = self.parameter('facts_file')
        if not path:
            raise LifecycleError("parameter 'facts_file' is empty: expected the path of a file")
        self.claim_name()
        facts = load_facts(path, field_kind)
        self._guard = Guard(self, facts, self._stop, self.parameter('stop_file'))
        self._facts = Facts(self, facts, rate=self.parameter('facts_rate'),
                            linger=self.parameter('linger'), on_trouble=self._report_trouble)
        self._motions = Motions(self, self._facts, self._guard)
        self._questions = Questions(self, self._facts)
        self.add_service(srv.ClearStop, '~/clear_stop', self._clear_stop)
        self.add_diagnostics('safety', self._guard.health)
        self.add_diagnostics('facts', self._facts.health)
        self.add_diagnostics('motions', self._motions.health)

    def activate(self) -> None:
        """Tell whether motions may run; nothing has moved yet."""
        self._guard.note_motion(False)
        self._guard.publish()
        self._facts.declare()

    def halt(self) -> None:
        """Stop every motion, close every question."""
        if self._motions is not None:
            self._motions.stop_all(ErrorCode.INTERRUPTED, 'the world model bridge is ending')
            self._questions.cancel_all()

    def busy(self) -> bool:
        """Whether a motion has not been seen to stop yet."""
        return self._motions is not None and bool(self._motions.running())

    def cleanup(self) -> None:
        """Unsubscribe."""
        if self._motions is not None:
            self._facts.destroy()
            self._guard.destroy()
            self._motions = None

    def _set_facts_rate(self, rate: float) -> None:
        if self._motions is not None:
            self._facts.set_rate(rate)

    def _set_linger(self, seconds: float) -> None:
        if self._motions is not None:
            self._facts.subscriptions.linger = seconds

    def _stop(self, status: SafetyStatus) -> None:
        """Stop every motion: safety says so."""
        if self._motions is not None:
            self._motions.stop_all(status.code, status.told)
            self.update_diagnostics()

    def _clear_stop(
        self, request: srv.ClearStop.Request, response: srv.ClearStop.Response
    ) -> srv.ClearStop.Response:
        if not request.actor:
            response.error_code = int(ErrorCode.INVALID_REQUEST)
            response.error_msg = 'actor: expected who clears the stop'
            return response
        why = self._guard.clear()
        response.accepted = not why
        if why:
            response.error_code, response.error_msg = int(ErrorCode.NOT_ALLOWED), why
        else:
            self.get_logger().info(f'stop cleared by {request.actor}: {request.reason}')
        return response

    def _report_trouble(self) -> None:
        for trouble in self._facts.subscriptions.trouble():
            self.get_logger().error(trouble)


def main(args: list[str] | None = None) -> int:
    """Run the node until a signal."""
    return run(WorldModelBridge, args=args)


if __name__ == '__main__':
    raise SystemExit(main())
