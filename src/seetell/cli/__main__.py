"""`python -m seetell.cli`: the command line where the script is not on the PATH, under torchrun for instance."""

from seetell.cli import main

main()
