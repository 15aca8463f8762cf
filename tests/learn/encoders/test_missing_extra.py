import subprocess
import sys

WITHOUT_TORCH = """
import importlib.util
real = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "torch" else real(name, *rest)
from seetell.errors import MissingExtraError
try:
    import seetell.learn
except MissingExtraError as error:
    print(error)
"""


def test_without_pytorch_the_extra_is_named() -> None:
    printed = subprocess.run([sys.executable, "-c", WITHOUT_TORCH], capture_output=True, text=True, check=True).stdout
    assert "PyTorch" in printed
    assert "pip install 'seetell[learn]'" in printed
