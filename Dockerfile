# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
# An image with ROS 2 Jazzy and both packages of this repository: docs/docker.md
FROM ros:jazzy

SHELL ["/bin/bash", "-o", "pipefail", "-c"]
WORKDIR /ws
COPY package.xml src/action_lifecycle/
COPY action_lifecycle_msgs/package.xml src/action_lifecycle/action_lifecycle_msgs/
RUN apt-get update \
    && rosdep update --rosdistro jazzy \
    && rosdep install --from-paths src/action_lifecycle src/action_lifecycle/action_lifecycle_msgs \
        --ignore-src --default-yes --dependency-types=build --dependency-types=buildtool \
        --dependency-types=build_export --dependency-types=exec \
    && rm -rf /var/lib/apt/lists/*

COPY . src/action_lifecycle
RUN source /opt/ros/jazzy/setup.bash \
    && colcon build --base-paths src src/action_lifecycle/action_lifecycle_msgs \
    && rm -rf log

# The entry point of ros:jazzy sources /opt/ros/jazzy; the journal is kept in a volume.
ENV ROS_HOME=/var/lib/action_lifecycle
VOLUME /var/lib/action_lifecycle
COPY docker/entrypoint.sh /entrypoint.sh
ENTRYPOINT ["/entrypoint.sh"]
CMD ["ros2", "launch", "action_lifecycle", "bringup.launch.py"]
