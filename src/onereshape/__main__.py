"""`python -m onereshape`."""

from onereshape.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
