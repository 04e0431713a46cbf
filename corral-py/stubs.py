"""Puts the docstrings of the built module into its stubs, for editors: python stubs.py (--check says whether they are there)."""

import ast
import inspect
import pathlib
import sys
import textwrap

import corral._corral

STUBS = pathlib.Path(__file__).parent / "python" / "corral" / "_corral.pyi"


def documented(text: str) -> str:
    """The stubs with the docstring of everything public: of overloads with that of the class."""
    tree = ast.parse(text)
    lines = text.splitlines()
    places = []

    def visit(nodes, owner):
        for node in nodes:
            if not isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                continue
            if not node.name.startswith("_"):
                places.append((node, getattr(owner, node.name)))
            if isinstance(node, ast.ClassDef):
                visit(node.body, getattr(owner, node.name))

    visit(tree.body, corral._corral)
    for node, thing in sorted(places, key=lambda place: -place[0].lineno):
        body = node.body
        old = body[0] if isinstance(body[0], ast.Expr) and isinstance(getattr(body[0], "value", None), ast.Constant) and isinstance(body[0].value.value, str) else None
        indent = " " * (node.col_offset + 4)
        doc = inspect.getdoc(thing) or ""
        quoted = f'r"""{doc}"""' if "\\" in doc else f'"""{doc}"""'
        quoted = textwrap.indent(quoted if "\n" not in doc else quoted[:-3] + '\n"""', indent, lambda line: bool(line.strip())).splitlines()
        if old is not None:
            lines[old.lineno - 1 : old.end_lineno] = quoted
        elif isinstance(body[0], ast.Expr) and body[0].value.value is Ellipsis:
            at = body[0].lineno - 1
            head = lines[at][: body[0].col_offset].rstrip()
            lines[at : at + 1] = ([head] if head.strip() else []) + quoted
        else:
            lines[body[0].lineno - 1 - len(getattr(body[0], "decorator_list", [])) : body[0].lineno - 1 - len(getattr(body[0], "decorator_list", []))] = quoted
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    now = STUBS.read_text()
    new = documented(now)
    if "--check" in sys.argv and new != now:
        sys.exit("the docstrings of _corral.pyi are not those of the module: python corral-py/stubs.py")
    STUBS.write_text(new)
