"""What `check` finds, and how it is printed."""
