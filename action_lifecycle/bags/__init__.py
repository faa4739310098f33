# SPDX-FileCopyrightText: 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0

"""Bags: recordings of topics, read and written without ROS; needs the extra `bags`."""

from .bag import Bag, BagMessage, BagTopic, read_bag
from .errors import BagError
from .writer import BagWriter

__all__ = ['Bag', 'BagError', 'BagMessage', 'BagTopic', 'BagWriter', 'read_bag']
