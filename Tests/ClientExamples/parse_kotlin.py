"""Parses Kotlin files, prints where their syntax is wrong, and exits with 1 if it is anywhere."""

import sys

import tree_sitter
import tree_sitter_kotlin


def mistakes(node):
    if node.is_error or node.is_missing:
        yield node
    elif node.has_error:
        for child in node.children:
            yield from mistakes(child)


parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_kotlin.language()))
is_wrong = False
for path in sys.argv[1:]:
    with open(path, "rb") as file:
        tree = parser.parse(file.read())
    for node in mistakes(tree.root_node):
        is_wrong = True
        line, column = node.start_point
        print(f"{path}:{line + 1}:{column + 1}: cannot be parsed", file=sys.stderr)
sys.exit(is_wrong)
