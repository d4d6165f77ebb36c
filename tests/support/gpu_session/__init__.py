"""The parts of tests/gpu_session. Python's standard library alone, version 3.8 or newer: a GPU node may have no more."""
