"""Enums and constants.

Written by python/generate.py from include/filtra.
"""


from enum import IntEnum

FILTRA_VERSION_MAJOR = 0
FILTRA_VERSION_MINOR = 1
FILTRA_VERSION_PATCH = 0
FILTRA_SPLIT_COUNT = 3
FILTRA_MAX_DIMS = 4
FILTRA_CHEBYSHEV_MAX_ORDER = 16
FILTRA_TRANSPORT_DONE = 0
FILTRA_TRANSPORT_LATE = 1
FILTRA_TRANSPORT_BROKEN = 2
FILTRA_SHARE_AUTO = -1.0
FILTRA_RUN_CONFIG = "config.json"
FILTRA_RUN_METRICS = "metrics.jsonl"
FILTRA_RUN_ABOUT = "about.json"
FILTRA_RUN_TOKENIZER = "tokenizer.json"
FILTRA_RUN_DATA = "data.json"
FILTRA_RUN_TUNING = "tuning.json"
FILTRA_RUN_MODEL = "model.safetensors"
FILTRA_RUN_CHECKPOINT = "checkpoint/state.safetensors"
FILTRA_RUN_EVALUATION = "eval-%s.json"

class filtra_status(IntEnum):
    OK = 0
    ERROR_ARGUMENT = 1
    ERROR_INPUT = 2
    ERROR_IO = 3
    ERROR_NO_DEVICE = 4
    ERROR_HOST_MEMORY = 5
    ERROR_DEVICE_MEMORY = 6
    ERROR_DEVICE_LOST = 7
    ERROR_UNSUPPORTED = 8
    ERROR_NONFINITE = 9
    ERROR_CANCELLED = 10
    ERROR_PATH = 11
    ERROR_RANK = 12

class filtra_log_level(IntEnum):
    DEBUG = 0
    INFO = 1
    WARNING = 2
    ERROR = 3

class filtra_split(IntEnum):
    TRAIN = 0
    VAL = 1
    TEST = 2

class filtra_input(IntEnum):
    TOKENS = 0
    FEATURES = 1

class filtra_target(IntEnum):
    CLASS = 0
    VALUE = 1
    NEXT = 2
    LABELS = 3

class filtra_label(IntEnum):
    ABSENT = 0
    APPLIES = 1
    UNKNOWN = 2

class filtra_pixels(IntEnum):
    GREY = 0
    GREY_FEATURES = 1
    RGB = 2

class filtra_normalization(IntEnum):
    DATA = 0
    IMAGENET = 1
    HALF = 2

class filtra_targets(IntEnum):
    AUTO = 0
    CLASSES = 1
    VALUES = 2
    LABELS = 3

class filtra_delimiter(IntEnum):
    AUTO = 0
    COMMA = 1
    TAB = 2
    SEMICOLON = 3
    PIPE = 4

class filtra_quoting(IntEnum):
    AUTO = 0
    NONE = 1
    FULL = 2

class filtra_decimal(IntEnum):
    AUTO = 0
    POINT = 1
    COMMA = 2

class filtra_device_class(IntEnum):
    DISCRETE = 0
    INTEGRATED = 1
    VIRTUAL = 2
    CPU = 3
    OTHER = 4

class filtra_dtype(IntEnum):
    F32 = 0
    I32 = 1
    F16 = 2
    BF16 = 3
    F64 = 4
    I64 = 5
    I16 = 6
    I8 = 7
    U8 = 8
    BOOL = 9

class filtra_init_kind(IntEnum):
    ZERO = 0
    CONSTANT = 1
    NORMAL = 2
    UNIFORM = 3
    SERIES = 4
    ORTHOGONAL = 5

class filtra_trainable(IntEnum):
    FIXED = 0
    TRAINABLE = 1

class filtra_direction(IntEnum):
    FORWARD = 0
    BACKWARD = 1

class filtra_reduced_axis(IntEnum):
    DROP_AXIS = 0
    KEEP_AXIS = 1

class filtra_number(IntEnum):
    REAL = 0
    COMPLEX = 1

class filtra_angle(IntEnum):
    RADIANS = 0
    TURNS = 1

class filtra_sorting(IntEnum):
    SORT = 0
    UNSORT = 1

class filtra_mean_over(IntEnum):
    MASK = 0
    ALL = 1

class filtra_activation(IntEnum):
    NONE = 0
    RELU = 1
    GELU = 2
    SIN = 3
    TANH = 4
    SOFTPLUS = 5
    SOFTPLUS5 = 6
    LEAKY_RELU = 7
    SIGMOID = 8
    EXP = 9
    LOG = 10
    SQRT = 11
    RECIPROCAL = 12
    ELU = 13
    GELU_TANH = 14
    IDENTITY = 15

class filtra_diagonal(IntEnum):
    EPS = 0
    ZERO = 1
    ONE = 2

class filtra_basis(IntEnum):
    JACOBI = 0
    LEGENDRE = 1
    CHEBYSHEV = 2
    CHEBYSHEV_T = 3
    MONOMIAL = 4

class filtra_rho(IntEnum):
    SOFTMAX = 0
    SIGMOID = 1
    TANH = 2
    NONE = 3

class filtra_theta_mode(IntEnum):
    TANH_FIX0 = 0
    TANH = 1
    RAW = 2

class filtra_agf_variant(IntEnum):
    FILTER = 0
    UV = 1
    SVD = 2

class filtra_gibbs(IntEnum):
    DIRICHLET = 0
    FEJER = 1
    JACKSON = 2
    LANCZOS = 3
    LORENTZ = 4
    VEKIC = 5
    WANG = 6

class filtra_task(IntEnum):
    AUTO = 0
    CLASSIFICATION = 1
    PAIR_CLASSIFICATION = 2
    REGRESSION = 3
    LANGUAGE_MODEL = 4
    MULTI_LABEL = 5

class filtra_block(IntEnum):
    TRANSFORMER = 0
    CONVERTER = 1

class filtra_norm(IntEnum):
    PRE = 0
    POST = 1

class filtra_head(IntEnum):
    MLP = 0
    LINEAR = 1

class filtra_positions(IntEnum):
    LEARNED = 0
    SINUSOIDAL = 1
    NONE = 2
    RECURRENT = 3
    RELATIVE = 4

class filtra_pooling(IntEnum):
    MEAN = 0
    MEAN_ALL = 1
    FIRST = 2
    CLASS_TOKEN = 3
    FLATTEN = 4

class filtra_distillation(IntEnum):
    NONE = 0
    TOKEN = 1
    MEAN = 2

class filtra_vector(IntEnum):
    NONE = 0
    MEAN = 1
    FIRST = 2
    HEAD = 3

class filtra_precision(IntEnum):
    FP32 = 0
    BF16 = 1
    FP16 = 2

class filtra_purpose(IntEnum):
    INFERENCE = 0
    TRAINING = 1

class filtra_access(IntEnum):
    READ = 1
    WRITE = 2
    UPDATE = 3

class filtra_option_type(IntEnum):
    INT = 1
    FLOAT = 2
    BOOL = 3
    ENUM = 4

class filtra_pass(IntEnum):
    WHOLE = 0
    PREFILL = 1
    DECODE = 2

class filtra_optimizer_kind(IntEnum):
    ADAMW = 0
    ADAM = 1
    RADAM = 2

class filtra_schedule(IntEnum):
    CONSTANT = 0
    LINEAR = 1
    COSINE = 2
    ONE_CYCLE = 3

class filtra_recompute(IntEnum):
    NONE = 0
    CHEAP = 1
    FEED_FORWARD = 2
    BLOCKS = 3

class filtra_regression_loss(IntEnum):
    MSE = 0
    MAE = 1
