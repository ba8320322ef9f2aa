"""What a main program calls."""

from pycompss.api.future import Future


def compss_wait_on(obj):
    """The value of a future; what is none is returned as it is."""
    if isinstance(obj, list):
        return [compss_wait_on(each) for each in obj]
    return obj.wait() if isinstance(obj, Future) else obj


def compss_delete_object(obj):
    """Let go of the data of an object."""
    if isinstance(obj, Future):
        obj.delete()
    return True
