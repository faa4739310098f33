# Copyright 2026 action_lifecycle maintainers
# SPDX-License-Identifier: Apache-2.0
"""What is said between the robot and the people around it."""

from .desk import AnswerRefused, OperatorDesk, Request

__all__ = ['AnswerRefused', 'OperatorDesk', 'Request']
