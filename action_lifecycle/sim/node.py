# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""The cell as a ROS 2 node: the interfaces of real hardware, and a few switches for tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from builtin_interfaces.msg import Time as TimeMessage
from rcl_interfaces.msg import ParameterDescriptor, SetParametersResult
import rclpy
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future
from rclpy.time import Time
from rosgraph_msgs.msg import Clock as ClockMessage
from std_msgs.msg import Bool
from std_srvs.srv import Trigger

from .camera import CameraPublisher
from .cell import Cell, CellConfig, PARTS
from .drive_servers import ArmServer, GripperServer
from .picture import PictureProcess
from .ros_samples import SamplePublisher
from .sensors import TOPICS
from ..documents.errors import LifecycleError
from ..documents.suggestions import nearest
from ..ros.node.executor import make_executor
from ..ros.node.process import spin_until_signal

BATCH = 8_000_000  #: ns of simulated time between two messages on /clock
TURN = 0.016  #: s of wall time; a wake-up costs more than a batch, so each runs two batches
LONGEST_TURN = 10_000_000  #: ns of wall time that the physics may use the thread at a time
LOST = 200_000_000  #: ns that simulated time may lag behind; a larger lag is not made up for
FEEDBACK_BATCHES = 12
FASTEST_CAMERA = 10.0  #: Hz

#: the fields of CellConfig that are parameters, by name
DRAWN = {field.name: field for field in fields(CellConfig) if 'description' in field.metadata}


class CellNode(Node):
    """
    The simulated cell, node `cell`; names are relative to the node's namespace.

    | interface | type | what |
    |---|---|---|
    | arm_controller/follow_joint_trajectory | action control_msgs/FollowJointTrajectory | arm |
    | gripper_controller/gripper_cmd | action control_msgs/GripperCommand | gripper |
    | arm_controller/motions_started, gripper_controller/motions_started | std_msgs/UInt32, \
latched | number of motions begun |
    | joint_states | sensor_msgs/JointState, 125 Hz | encoders, with effort |
    | gripper/wrench | geometry_msgs/WrenchStamped, 125 Hz | force at the fingertips |
    | camera/PART/pose | geometry_msgs/PoseStamped, 10 Hz, best effort | parts that are seen |
    | camera/marker/pose | geometry_msgs/PoseStamped, 10 Hz, best effort | a marker on the table |
    | camera/image/compressed | sensor_msgs/CompressedImage, best effort | the cell as a picture, \
if `camera_rate` is set, while it is subscribed |
    | /tf | tf2_msgs/TFMessage | world to gripper_tool (31 Hz) and to each part that is seen |
    | estop | subscribed, std_msgs/Bool | true: the drives stop, and refuse goals |
    | /clock | rosgraph_msgs/Clock, 125 Hz | simulated time, if `publish_clock` |
    | ~/save_picture | service std_srvs/Trigger | draw to `picture_path`, answer with the path |

    Parameters: those of CellConfig (`friction.PART` and `mass.PART`: zero for the model's own);
    `real_time_factor`, `publish_clock`, `executor`, `camera_rate` (Hz; 0: no pictures); dynamic:
    `picture_path` and `muted_topics` (comma-separated sensor topics that are silent).
    Without `publish_clock` stamps are in system time, and the real-time factor is 1.
    """

    def __init__(self, **kwargs: Any) -> None:
        """Create the cell and its interfaces; raises LifecycleError for a bad parameter."""
        super().__init__('cell', **kwargs)
        drawn = {name: self._declare(name, field.default, field.metadata['description'])
                 for name, field in DRAWN.items()}
        for quantity, unit in (('friction', 'Coefficient'), ('mass', 'In kg')):
            values = {
                part: self._declare(f'{quantity}.{part}', 0.0, f'{unit}; 0: as in the model.')
                for part in PARTS}
            drawn[quantity] = {part: value for part, value in values.items() if value}
        self._factor = self._declare(
            'real_time_factor', 1.0, 'Speed of simulated time; 0: as fast as possible.')
        self._publish_clock = self._declare('publish_clock', True, 'Publish /clock.')
        self.executor_choice = self._declare(
            'executor', 'auto', 'auto, events or single_threaded.')
        camera_rate = self._declare(
            'camera_rate', 0.0, 'Pictures on camera/image/compressed, in Hz of wall time, while '
            'it is subscribed; 0: none.')
        self._declare('picture_path', '', 'Where pictures are saved; empty: cell.png.', False)
        self._declare('muted_topics', '', 'Comma-separated sensor topics to silence.', False)
        if self._factor < 0.0 or (self._factor != 1.0 and not self._publish_clock):
            raise LifecycleError(
                f'real_time_factor is {self._factor:g}; expected above or equal to zero, '
                'and 1 without publish_clock'
            )
        if not 0.0 <= camera_rate <= FASTEST_CAMERA:
            raise LifecycleError(f'camera_rate is {camera_rate:g}; expected 0 to '
                                 f'{FASTEST_CAMERA:g}')
        self.add_on_set_parameters_callback(self._set_parameters)

        self.cell = Cell(CellConfig(**drawn))
        self._samples = SamplePublisher(self)
        self._drives = [
            ArmServer(self, self.cell, self.cell.arm, lambda: self._shift),
            GripperServer(self, self.cell, self.cell.gripper, lambda: self._shift)]
        self._mute(self.get_parameter('muted_topics').value)
        if self._publish_clock:
            self._clock_publisher = self.create_publisher(ClockMessage, '/clock', 10)
        self.create_subscription(Bool, 'estop', self._set_estop, 10)
        self.create_service(Trigger, '~/save_picture', self._save_picture)
        self._slippery: str = drawn['slippery']
        self._camera = CameraPublisher(self, camera_rate, self._slippery) if camera_rate else None
        self._picture: tuple[PictureProcess, Future] | None = None
        self._batches = 0
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._anchor()
        self.create_timer(TURN if self._factor else 0.001, self._turn, clock=self._steady)

    def _declare(self, name: str, default: Any, text: str, fixed: bool = True) -> Any:
        return self.declare_parameter(
            name, default, ParameterDescriptor(description=text, read_only=fixed)).value

    # -- time

    def _anchor(self) -> None:
        """Take the present wall time and simulated time as reference; set the stamps' shift."""
        self._anchored = self._steady.now().nanoseconds, self.cell.time_ns
        system = 0 if self._publish_clock else self.get_clock().now().nanoseconds
        self._shift = system - self.cell.time_ns if system else 0

    def _turn(self) -> None:
        """Step until simulated time is up to wall time, for at most `LONGEST_TURN`."""
        self._look_at_picture()
        if self._camera is not None:
            self._camera.turn(self._state)
        began = now = self._steady.now().nanoseconds
        while now - began < LONGEST_TURN:
            if self._factor:
                wall, simulated = self._anchored
                lag = int((now - wall) * self._factor) - (self.cell.time_ns - simulated)
                if lag > max(LOST, LOST * self._factor):
                    self._anchor()
                if lag < BATCH:
                    break
            self._step()
            now = self._steady.now().nanoseconds

    def _step(self) -> None:
        samples = self.cell.step(BATCH * 1e-9)
        if self._publish_clock:
            self._clock_publisher.publish(
                ClockMessage(clock=Time(nanoseconds=self.cell.time_ns).to_msg()))
        self._samples.publish(samples, self._shift)
        self._batches += 1
        for drive in self._drives:
            drive.poll()
            if self._batches % FEEDBACK_BATCHES == 0:
                drive.publish_feedback()

    # -- switches

    def _set_estop(self, message: Bool) -> None:
        if message.data is not self.cell.estop:
            self.cell.estop = message.data
            self.get_logger().info(f"e-stop {'pressed' if message.data else 'released'}")

    def _set_parameters(self, parameters: Sequence[Any]) -> SetParametersResult:
        try:
            for parameter in parameters:
                if parameter.name == 'muted_topics':
                    self._mute(parameter.value)
        except LifecycleError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _mute(self, listed: str) -> None:
        topics = frozenset(topic.strip() for topic in listed.split(',') if topic.strip())
        for topic in topics.difference(TOPICS):
            raise LifecycleError(f"no sensor topic named '{topic}'{nearest(topic, TOPICS)}")
        self.cell.muted = topics

    # -- picture

    async def _save_picture(self, request: Trigger.Request, response: Trigger.Response
                            ) -> Trigger.Response:
        """Draw the present state; a request during a drawing gets the picture in progress."""
        if self._picture is None:
            path = Path(self.get_parameter('picture_path').value or 'cell.png').absolute()
            try:
                process = PictureProcess(self._slippery, path)
            except OSError as error:
                response.message = f'{path}: {error.strerror}'
                return response
            process.draw(self.cell.data.qpos)
            self._picture = process, Future()
        process, future = self._picture
        fault = await future
        response.success, response.message = not fault, fault or str(process.path)
        return response

    def _look_at_picture(self) -> None:
        if self._picture is None:
            return
        process, future = self._picture
        fault = process.poll()
        if fault is not None:
            process.end()
            self._picture = None
            future.set_result(fault)

    def _state(self) -> tuple[Any, TimeMessage]:
        """Return what the camera draws, and its stamp."""
        return (self.cell.data.qpos,
                Time(nanoseconds=self.cell.time_ns + self._shift).to_msg())

    def destroy_node(self) -> None:
        """End the processes that draw pictures, then destroy the node."""
        if self._camera is not None:
            self._camera.end()
        if self._picture is not None:
            self._picture[0].end()
        super().destroy_node()


def main(args: Sequence[str] | None = None) -> int:
    """Run the cell until SIGINT or SIGTERM."""
    rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
    try:
        node = CellNode()
    except LifecycleError as error:
        rclpy.logging.get_logger('cell').fatal(str(error))
        rclpy.try_shutdown()
        return 2
    spin_until_signal(node, make_executor(node.executor_choice))
    rclpy.try_shutdown()
    return 0
