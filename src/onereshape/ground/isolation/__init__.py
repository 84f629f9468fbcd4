"""Native code on a stranger's model: run in a child process, with limits of time and memory.

Begin with `room`, the parent's side, then `child`; both talk by `messages`, and the limits are in `budget`.  All
processes that onereshape starts are these, those that make blocks of stores too.

Door: budget, kept, messages, pages, room.
"""
