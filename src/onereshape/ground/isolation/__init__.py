"""Native code on a stranger's model: run in a child process, with limits of time and memory.

Begin with `room`, the parent's side, then `child`; both talk by `messages`, and the limits are in `budget`.

Door: budget, child, kept, messages, pages, room.
"""
