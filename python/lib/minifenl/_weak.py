"""Equations as text: arguments of ``Form``, and coefficients by the shape of their arrays."""

from __future__ import annotations

from ._arrays import reals
from ._minifenl import Form as _Form


class TextEquation:
    """Flux and source of each unknown as text, and the coefficients that they name."""

    def __init__(self, mesh, flux, source, coefficients, threads):
        texts = {"flux": flux, "source": source}
        self.unknowns = _unknowns(texts)
        self.dofs, self._mesh = len(self.unknowns), mesh
        for name in ("out", "u"):
            if name in coefficients and name not in self.unknowns:
                raise ValueError(f"{name}: is an argument of assemble; expected another name")
        self._fields = {name: self._field(name, given, None) for name, given in coefficients.items()}
        components = [(name, components) for name, (components, _, _) in self._fields.items()]
        of_unknowns = [[_text(texts[kind], name) for name in self.unknowns] for kind in texts]
        if not any(map(any, of_unknowns)):
            raise ValueError("flux, source: are empty; expected one text at least")
        self.form = _Form.of_text(mesh._mesh, self.unknowns, *of_unknowns, components, threads)
        # Whether gradients of coefficients are read, by coefficient.
        reads, self._differentiated = iter(self.form.gradients), set()
        for name, count in components:
            if any([next(reads) for _ in range(count)]):
                self._differentiated.add(name)
        for name, field in self._fields.items():
            self._check_gradient(name, field)

    def fields(self, coefficients):
        """Coefficients in their order, with others in the place of those of the form: pairs of place and array."""
        fields = self._fields
        if coefficients:
            fields = dict(fields)
            for name, given in coefficients.items():
                if name not in fields:
                    known = ", ".join(fields) or "none"
                    raise ValueError(f"{name}: is no coefficient of this form, expected {known}")
                fields[name] = self._field(name, given, fields[name][0])
                self._check_gradient(name, fields[name])
        return [(place, array) for _, place, arrays in fields.values() for array in arrays]

    def _field(self, name, given, components):
        """Components of a coefficient, where its values are, and an array per component: copies, as the caller may change the arrays."""
        value, mesh = reals(name, given), self._mesh
        nodes, elems = len(mesh.points), len(mesh.cells)
        shapes = {"constant": (), "nodes": (nodes,), "elements": (elems,), "points": (elems, mesh._mesh.points_per_elem)}
        fits = [
            (count, place)
            for count in (1, 3)
            for place, shape in shapes.items()
            if value.shape == (shape if count == 1 else (*shape, 3)) and components in (None, count)
        ]
        if len(fits) == 1:
            count, place = fits[0]
            arrays = [value] if count == 1 else [value[..., axis] for axis in range(3)]
            return count, place, [array.reshape(-1).copy() for array in arrays]
        if not fits:
            expected = ", ".join(map(str, shapes.values())) if components != 3 else ", ".join(str((*shape, 3)) for shape in shapes.values())
            more = " or these with 3 components" if components is None else ""
            raise ValueError(f"{name}: has shape {value.shape}, expected one of {expected}{more}")
        both = " or ".join(f"{place} with {count}" for count, place in fits)
        raise ValueError(f"{name}: has shape {value.shape}, which may be {both} components: give a value per quadrature point")

    def _check_gradient(self, name, field):
        if name in self._differentiated and field[1] == "points":
            raise ValueError(f"{name}: has a value per quadrature point and no gradient, but grad_{name} is in an expression")


def _unknowns(texts):
    """Names of the unknowns in their order."""
    names = []
    for kind, given in texts.items():
        if not (given is None or isinstance(given, (str, dict))):
            raise TypeError(f"{kind}: is a {type(given).__name__}, expected a text, or a dict of texts by unknown")
        for name, text in (given or {}).items() if isinstance(given, dict) else ():
            if not isinstance(name, str) or not isinstance(text, str):
                raise TypeError(f"{kind}: expected a dict of texts by unknown")
            if name not in names:
                names.append(name)
    if names and any(isinstance(given, str) for given in texts.values()):
        raise ValueError("flux, source: expected two texts or two dicts")
    return names or ["u"]


def _text(given, unknown):
    return (given.get(unknown, "") if isinstance(given, dict) else given) or ""
