"""The shapes of operators."""

from onereshape.models.record import RECORDS, Record
from onereshape.models.shaping import contractions, control, indexing, layout, normalising, pointwise, spatial

for _family in (pointwise, layout, contractions, spatial, indexing, normalising, control):
    for _op, _record in _family.RECORDS.items():
        RECORDS[_op] = RECORDS.get(_op, Record())._replace(
            shape=_record.shape, elements=_record.elements, from_dims=_record.from_dims
        )
