"""What `toolrt init` writes: one tool of each kind; all work at once, and offline."""

from collections.abc import Mapping

_MODELINE = "# yaml-language-server: $schema=../.toolrt/schema/tools.json\n"

_TEXT = """\
namespace: text
tools:
  count_words: # python: parameters and description come from the function
    python: text_tools:count_words
    effect: read
"""

_TEXT_TOOLS = '''\
"""Tools in Python: a function with types and a docstring is all it takes."""


def count_words(text: str, longest: int = 3) -> dict[str, object]:
    """Count the words of a text and name the longest ones.

    Args:
        text: The text to look at.
        longest: How many of the longest words to name.
    """
    words = text.split()
    by_length = sorted(dict.fromkeys(words), key=len, reverse=True)
    return {"words": len(words), "longest": by_length[:longest]}
'''

_FILES = """\
namespace: files
tools:
  size: # command: a program and its arguments; no shell in between
    description: Size of a file or folder of this project.
    parameters:
      path: {type: string, format: path, root: ., default: ., description: Where to look.}
      human: {type: boolean, default: true, description: "Units such as 4.0K instead of kilobytes."}
    command: [du, {-s: true, -k: true, -h: "{{ human }}"}, --, "{{ path }}"]
    effect: read

  largest: # shell: a constant script; values reach it only as "$1", "$2" or environment
    description: The largest entries of a folder of this project, in kilobytes.
    parameters:
      path: {type: string, format: path, root: ., default: ., description: The folder.}
      count: {type: integer, minimum: 1, maximum: 100, default: 10, description: How many.}
    shell:
      script: du -a -k -d 1 -- "$1" | sort -rn | sed -n "1,$2p"
      argv: ["{{ path }}", "{{ count }}"]
    effect: read
"""

_SERVICE = """\
namespace: service
targets:
  local: {url: "http://127.0.0.1:8000"}
tools:
  fetch: # http: a value is always one segment of the path, whatever it holds
    description: A page of the web server on port 8000 (python -m http.server starts one).
    parameters:
      page: {type: string, description: Name of the page., examples: [text_tools.py]}
    http: {target: local, url: "/{{ page }}"}
    timeout: 5s
"""

FILES: Mapping[str, str] = {
    "tools.d/text.yaml": _MODELINE + _TEXT,
    "tools.d/files.yaml": _MODELINE + _FILES,
    "tools.d/service.yaml": _MODELINE + _SERVICE,
    "text_tools.py": _TEXT_TOOLS,
    ".gitignore": ".toolrt/*\n!.toolrt/schema/\n",
}
"""Path inside the project -> text."""

FIRST_CALL = "run text.count_words text='a few good words'"
