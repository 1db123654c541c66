// The arguments of copies. COPIED: a buffer of the unit that is copied.
#include "copy/contract.h"

FT_VALUES(copy_mode)
FT_CONSTANTS(copy_axes)
FT_ARGUMENTS(copy)
#include "common/axes.glsl"
