"""Native code on a stranger's model: run in a child process, with limits of time and memory.

Door: budget, child, kept, messages, pages, room.
"""
