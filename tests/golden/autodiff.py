"""Reverse-mode differentiation of one number at a time, for generate.py."""
import math


class Number:
    """A float with what it was made of: (operand, derivative) pairs."""
    __slots__ = ("value", "parents", "gradient", "order")
    count = 0

    def __init__(self, value, parents=()):
        self.value, self.parents, self.gradient = value, parents, 0.0
        self.order = Number.count
        Number.count += 1

    def __add__(self, other):
        if isinstance(other, Number):
            return Number(self.value + other.value, ((self, 1.0), (other, 1.0)))
        return Number(self.value + other, ((self, 1.0),))

    def __mul__(self, other):
        if isinstance(other, Number):
            return Number(self.value * other.value, ((self, other.value), (other, self.value)))
        return Number(self.value * other, ((self, other),))

    def __truediv__(self, other):
        if isinstance(other, Number):
            q = self.value / other.value
            return Number(q, ((self, 1.0 / other.value), (other, -q / other.value)))
        return self * (1.0 / other)

    def __neg__(self):
        return self * -1.0

    def __sub__(self, other):
        return self + -other

    __radd__, __rmul__ = __add__, __mul__


def apply(x, value, slope):
    return Number(value, ((x, slope),))


def exp(x):
    y = math.exp(x.value)
    return apply(x, y, y)


def power(x, exponent):
    return apply(x, x.value ** exponent, exponent * x.value ** (exponent - 1.0))


def sigmoid(x):
    y = 1.0 / (1.0 + math.exp(-x.value))
    return apply(x, y, y * (1.0 - y))


def relu(x):
    return apply(x, max(x.value, 0.0), float(x.value > 0.0))


def elu(x):
    return apply(x, x.value if x.value > 0 else math.expm1(x.value),
                 1.0 if x.value > 0 else math.exp(x.value))


def sin(x):
    return apply(x, math.sin(x.value), math.cos(x.value))


def cos(x):
    return apply(x, math.cos(x.value), -math.sin(x.value))


def root(x):
    """0 at 0, with the derivative 0."""
    y = math.sqrt(x.value)
    return apply(x, y, 0.5 / y if y else 0.0)


def largest(numbers):
    """The first of several largest, as filtra_max."""
    best = max(range(len(numbers)), key=lambda i: (numbers[i].value, -i))
    return numbers[best]


def total(numbers):
    return Number(math.fsum(x.value for x in numbers), tuple((x, 1.0) for x in numbers))


def dot(a, b):
    """Of Numbers with Numbers or floats."""
    if a and not isinstance(a[0], Number):
        a, b = b, a
    if b and isinstance(b[0], Number):
        parents = tuple((x, y.value) for x, y in zip(a, b)) + \
                  tuple((y, x.value) for x, y in zip(a, b))
        return Number(math.fsum(x.value * y.value for x, y in zip(a, b)), parents)
    return Number(math.fsum(x.value * y for x, y in zip(a, b)),
                  tuple(zip(a, b)))


def softmax(row):
    """Shifted by the largest, a constant here: the shift changes nothing."""
    top = max(x.value for x in row)
    powers = [exp(x + -top) for x in row]
    below = total(powers)
    return [p / below for p in powers]


def differentiate(pairs):
    """Gradients of sum upstream * output into every Number before them."""
    seen, stack = {}, []
    for output, upstream in pairs:
        output.gradient += upstream
        stack.append(output)
    while stack:
        x = stack.pop()
        if id(x) not in seen:
            seen[id(x)] = x
            stack.extend(p for p, _ in x.parents)
    for x in sorted(seen.values(), key=lambda x: x.order, reverse=True):
        for parent, slope in x.parents:
            parent.gradient += x.gradient * slope
