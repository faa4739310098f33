# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
A simulated robot cell in MuJoCo: a gantry with a parallel gripper, three parts, three nests.

| module | subject |
|---|---|
| cell | the whole cell, stepped in-process: physics, controllers, sensors on one clock |
| scene | the MJCF model with one seed's frictions, masses and start poses |
| controllers, motion, trajectory | trajectory and gripper controller; a goal's fate; splines |
| sensors, messages | what the sensors say, as plain twins of the ROS messages |
| picture | a picture, drawn by a separate process |
| estop | the e-stop as a separate node |
| node, drive_servers, ros_samples | the cell as a ROS 2 node: as real hardware would look |

Nothing but the last three knows of ROS. The outcome of a grasp comes from friction, mass and
force alone; the exact state (`Cell.truth`) is for tests and benches and on no topic. MuJoCo is an
extra of this package: without it, importing `cell` says how to install it.

Joint positions are the pose of the tool frame, the middle between the pads, in the world: x along
the rails, y to the back, z up from the table, metres; yaw in radians. `finger_joint` is the gap.
"""
