# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
The transitions of a managed node: the order of its callbacks, and the handling of exceptions.

rclpy ignores exceptions in transitions silently, and a transition that the state does not have
ends spin(). Here, exceptions are logged; a LifecycleError is a failure (the state stays), any
other exception is an error (the node becomes unconfigured).
"""

from __future__ import annotations

from collections.abc import Callable
import traceback
from typing import Any

from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn

from .rclpy_internals import lifecycle_state, log_quickly, refuse_impossible_transitions
from ...documents.errors import LifecycleError

SUCCESS = TransitionCallbackReturn.SUCCESS
FAILURE = TransitionCallbackReturn.FAILURE
ERROR = TransitionCallbackReturn.ERROR


class TransitionNode(LifecycleNode):
    """A lifecycle node with the simple callbacks `configure`, `activate`, `halt` and so on."""

    def __init__(self, name: str, **kwargs: Any) -> None:
        self.active = False
        self._halted = False
        super().__init__(name, **kwargs)
        refuse_impossible_transitions(self)
        log_quickly(self.get_logger())

    # -- overridden by nodes

    def configure(self) -> None:
        """Create the entities."""

    def activate(self) -> None:
        """Start the work; services and action servers accept requests afterwards."""

    def halt(self) -> None:
        """Begin to stop the work; called once, before `deactivate`."""

    def busy(self) -> bool:
        """Whether work stopped by `halt` is still running."""
        return False

    def deactivate(self) -> None:
        """Stop the work; called after `halt`."""

    def cleanup(self) -> None:
        """Release what `configure` created, also if it has failed halfway; see also `defer`."""

    # -- overridden by ManagedNode

    def _open(self) -> None:
        """Prepare for `configure`."""

    def _opened(self) -> None:
        """Finish after `configure` has succeeded."""

    def _close(self) -> None:
        """Destroy the entities."""

    def log_exception(self, where: str) -> None:
        """Log the current exception with its traceback."""
        self.get_logger().error(f'{where}: {traceback.format_exc()}')

    # -- transitions

    def start(self) -> bool:
        """Configure and activate; returns whether both succeeded."""
        return bool(self.trigger_configure() == SUCCESS and self.trigger_activate() == SUCCESS)

    def halt_once(self) -> None:
        """Call `halt` unless it was called since the activation."""
        if self.active and not self._halted:
            self._halted = True
            self.halt()

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Create the entities; on failure, destroy them."""
        answer = self._transition('configure', self._open, self.configure)
        if answer == FAILURE:  # after ERROR rclpy calls on_error
            self._release('cleanup')
        if answer != SUCCESS:
            return answer
        self._opened()
        return super().on_configure(state)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Activate the node."""
        super().on_activate(state)
        self._halted = False
        answer = self._transition('activate', self.activate)
        self.active = answer == SUCCESS
        if answer != SUCCESS:
            super().on_deactivate(state)
        return answer

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Deactivate the node; work may still be stopping afterwards."""
        answer = self._transition('deactivate', self.halt_once, self.deactivate)
        self.active = False
        super().on_deactivate(state)
        return answer if answer == SUCCESS else ERROR  # it can't stay active

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Destroy the entities; refused while work is still being stopped."""
        if self.busy():
            self.get_logger().error('cleanup: refused, something is still being stopped')
            return FAILURE
        return self._release('cleanup')

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Deactivate if active, then destroy the entities."""
        if self.active:
            self.on_deactivate(state)
        return self._release('shutdown')

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Destroy the entities after an exception; the node becomes unconfigured."""
        self.active = False
        self._release('error')
        return SUCCESS

    def finish(self) -> None:
        """Shut down from any state."""
        if lifecycle_state(self) != 'finalized':
            self.trigger_shutdown()

    def _release(self, name: str) -> TransitionCallbackReturn:
        answer = self._transition(name, self.cleanup)
        self._close()
        return answer if answer == SUCCESS else ERROR  # the entities are destroyed

    def _transition(self, name: str, *steps: Callable[[], None]) -> TransitionCallbackReturn:
        try:
            for step in steps:
                step()
        except LifecycleError as error:
            self.get_logger().error(f'{name}: {error}')
            return FAILURE
        except Exception:  # rclpy would ignore it
            self.log_exception(name)
            return ERROR
        self.get_logger().debug(f'{name}: done')
        return SUCCESS
