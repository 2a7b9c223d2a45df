"""The Cython binding of the C library."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chaplygin._lazy import face

from ..interface.cpu_variants import search_path

if TYPE_CHECKING:
    from ._core import (
        LAYOUT as LAYOUT,
        BatchCore as BatchCore,
        EnsembleCore as EnsembleCore,
        Team as Team,
        Trail as Trail,
        VariationalTable as VariationalTable,
        along_columns as along_columns,
        companion_columns as companion_columns,
        differentials as differentials,
        differentiated as differentiated,
        explicit_method as explicit_method,
        kink_of as kink_of,
        methods as methods,
        noise_filtered as noise_filtered,
        noise_numbers as noise_numbers,
        quantile as quantile,
        slope_columns as slope_columns,
        widest_lanes as widest_lanes,
    )

__path__ = search_path(__path__)
__getattr__ = face(
    __name__,
    {
        "LAYOUT": "._core",
        "BatchCore": "._core",
        "EnsembleCore": "._core",
        "Team": "._core",
        "Trail": "._core",
        "VariationalTable": "._core",
        "along_columns": "._core",
        "companion_columns": "._core",
        "differentials": "._core",
        "differentiated": "._core",
        "explicit_method": "._core",
        "kink_of": "._core",
        "methods": "._core",
        "noise_filtered": "._core",
        "noise_numbers": "._core",
        "quantile": "._core",
        "slope_columns": "._core",
        "widest_lanes": "._core",
    },
)
