"""What both ends of the wire must agree on: randomness, mechanisms, surveys and the report format.

Everything a device needs here imports the standard library and msgpack only; numpy is imported
late, inside the methods that process whole populations.
"""
