"""Short names for the arrays that kernels take and give: kind and bits of an element."""

import numpy as np
from numpy.typing import NDArray

I8 = NDArray[np.int8]
U8 = NDArray[np.uint8]
Flags = NDArray[np.bool_]
F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
U32 = NDArray[np.uint32]
U64 = NDArray[np.uint64]
