"""The shapes of operators."""

from onereshape.models.record import RECORDS
from onereshape.models.shaping import contractions, control, indexing, layout, normalising, pointwise, spatial

for _family in (pointwise, layout, contractions, spatial, indexing, normalising, control):
    RECORDS.update(_family.RECORDS)
RECORDS["Constant"] = RECORDS["Identity"]._replace(elements=None)
