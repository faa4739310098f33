# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""
A simulated robot cell in MuJoCo: a gantry with a parallel gripper, three parts, three nests.

`cell` steps physics, controllers and sensors on one clock. `node` and `estop` are its ROS 2 nodes,
with the interfaces of real hardware. Only these, `drive_servers` and `ros_samples` use ROS.

Joint positions are the pose of the tool frame (midpoint between the pads) in the world frame: x
along the rails, y to the back, z up from the table (m); yaw (rad). `finger_joint` is the gap (m).
"""
