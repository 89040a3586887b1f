#!/usr/bin/env python3
"""Computes an expression exactly. Arguments on stdin: {"expression":"1/3 + 0.5"}

Numbers are decimal, with or without an exponent (1.5e-3). Precedence, from highest to lowest: powers, which are
right-associative (2^3^2 is 2^9), signs (-2^2 is -4), * / %, + -. The result of % has the sign of the divisor.
"""
import ast
import json
import operator
import re
import sys
from decimal import Context, Decimal
from fractions import Fraction

MAX_BITS = 10_000  # of a numerator or denominator: about 3,000 digits
MAX_DIGITS = 50  # of a decimal that does not terminate

TOO_LARGE = "number too large: at most about 3,000 digits are supported"
INVALID = "invalid expression: only numbers, + - * / % ^ and parentheses are supported"
OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}


def limited(number):
    if max(number.numerator.bit_length(), number.denominator.bit_length()) > MAX_BITS:
        raise ValueError(TOO_LARGE)
    return number


def power(base, exponent):
    if exponent.denominator != 1:
        raise ValueError("the exponent of a power must be an integer")
    bits = max(base.numerator.bit_length(), base.denominator.bit_length()) - 1
    if bits * abs(exponent) > MAX_BITS:
        raise ValueError(TOO_LARGE)
    return base ** int(exponent)


def value(node, text):
    match node:
        case ast.Constant():
            literal = ast.get_source_segment(text, node)
            exponent = re.search(r"[eE](.*)", literal)
            if exponent and abs(int(exponent[1])) > MAX_BITS:
                raise ValueError(TOO_LARGE)
            return limited(Fraction(literal))
        case ast.BinOp(left, ast.Pow(), right):
            return limited(power(value(left, text), value(right, text)))
        case ast.BinOp(left, kind, right) if type(kind) in OPERATORS:
            return limited(OPERATORS[type(kind)](value(left, text), value(right, text)))
        case ast.UnaryOp(kind, operand) if type(kind) in OPERATORS:
            return OPERATORS[type(kind)](value(operand, text))
    raise ValueError(INVALID)


def calculate(expression):
    if not re.fullmatch(r"[\d.eE+\-*/%^() \t]*", expression, re.ASCII):
        raise ValueError(INVALID)
    text = expression.replace("^", "**").strip()
    number = value(ast.parse(text, mode="eval").body, text)
    rest = number.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    whole_digits = len(str(abs(number.numerator) // number.denominator))
    digits = 2 * MAX_BITS if rest == 1 else max(MAX_DIGITS, whole_digits)
    context = Context(prec=digits)
    decimal = context.divide(Decimal(number.numerator), Decimal(number.denominator))
    result = {"result": format(decimal, "f"), "exact": rest == 1}
    return result if rest == 1 else result | {"fraction": str(number)}


try:
    print(json.dumps(calculate(json.load(sys.stdin)["expression"])))
except ZeroDivisionError:
    sys.exit("division by zero")
except SyntaxError as error:
    sys.exit(f"invalid expression: {error.msg}")
except (RecursionError, MemoryError):
    sys.exit("the expression is nested too deeply")
except ValueError as error:
    sys.exit(str(error))
