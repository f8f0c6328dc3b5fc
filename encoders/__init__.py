"""What both ends of the wire must agree on: randomness, mechanisms, surveys and the report format.

Everything a device needs here imports the standard library and msgpack only; numpy is imported by the first
method that processes a whole population, see :mod:`encoders.arrays`.
"""
