"""What `toolrt init` writes: tools of four kinds, and rules, one of which asks a person.

All of it works at once, and offline; the tests beside it pass.
"""

from collections.abc import Mapping

_MODELINE = "# yaml-language-server: $schema=../.toolrt/schema/tools.json\n"

_PROJECT = """\
# yaml-language-server: $schema=.toolrt/schema/project.json
policy: required # without the rules in policies.d nothing may be called
"""

_RULES = """\
# yaml-language-server: $schema=../.toolrt/schema/policies.json
# The strictest rule that matches decides; what no rule matches is denied.
rules:
  - id: reading-is-free
    decide: allow
    tools: ["*"]
    when: tool.effect == "read"
    tests:
      - {expect: match, call: {tool: text.count_words, args: {text: a few words}}}
      - {expect: no-match, call: {tool: notes.add, args: {text: milk}}}

  - id: writing-is-looked-at
    decide: ask
    tools: ["*"]
    when: tool.effect != "read"
    reason: Somebody looks at what changes something.
    tests:
      - {expect: match, call: {tool: notes.add, args: {text: milk}}}
      - {expect: no-match, call: {tool: files.size}}

  - id: notes-are-short
    decide: deny
    tools: [notes.add]
    when: size(args.text) > 30
    reason: A note has 30 characters at most.
    tests:
      - {expect: no-match, call: {tool: notes.add, args: {text: milk}}}
      - {expect: match, call: {tool: notes.add, args: {text: not so short that it could be a note}}}
"""

_NOTES = """\
namespace: notes
tools:
  add: # it writes, so a rule in policies.d/rules.yaml has a person look at each call
    description: Write a line at the end of notes.txt.
    parameters: {text: {type: string, minLength: 1, description: The line.}}
    command: {argv: [tee, -a, notes.txt], stdin: "{{ text }}\\n"}
    effect: write
    tests:
      - {args: {text: milk}, mock: {stdout: milk}, expect: {decision: ask, status: paused}}
      - {args: {text: milk}, mock: {stdout: milk, approved: true}, expect: {text: milk}}
"""

_TEXT = """\
namespace: text
tools:
  count_words: # python: parameters and description come from the function
    python: text_tools:count_words
    effect: read
    tests:
      - {args: {text: a few good words}, expect: {data: {words: 4}}}
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
    "tools.d/notes.yaml": _MODELINE + _NOTES,
    "policies.d/rules.yaml": _RULES,
    "toolrt.yaml": _PROJECT,
    "text_tools.py": _TEXT_TOOLS,
    ".gitignore": ".toolrt/*\n!.toolrt/schema/\n",
}
"""Path inside the project -> text."""

NEXT = ("check", "test", "run text.count_words text='a few good words'", "run notes.add text=milk")
"""What a newcomer does next; the last one waits for a person, and says how to say yes."""
