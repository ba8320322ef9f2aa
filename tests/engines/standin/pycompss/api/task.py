"""The decorator that makes a task of a function."""

import functools

import pycompss
from pycompss.api.future import Future


def task(*, returns):
    """Make a task of a function with so many results."""
    assert returns == 1

    def decorate(function):
        @functools.wraps(function)
        def call(*arguments):
            if pycompss.mode == "sequential":
                return function(*arguments)
            return Future(function, arguments)

        return call

    return decorate
