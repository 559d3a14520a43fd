"""`python -m mallowmix` is the command `mallowmix`."""

from mallowmix.cli import main

if __name__ == "__main__":
    main()
