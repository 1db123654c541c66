"""The C interface.

Written by python/generate.py from include/filtra.
"""

from .enums import *
from .functions import FUNCTIONS as FUNCTIONS
from .functions import STATUS as STATUS
from .structs import *

STRUCTS = (
    "filtra_dataset_options", "filtra_dataset_info", "filtra_sample", "filtra_samples",
    "filtra_dataset_arrays", "filtra_batch", "filtra_augmentation", "filtra_loader_options",
    "filtra_loader_position", "filtra_device_info", "filtra_device_options",
    "filtra_parameter_options", "filtra_graph_options", "filtra_matmul_options",
    "filtra_linear_options", "filtra_attention_options", "filtra_gfsa_options",
    "filtra_plaplacian_options", "filtra_agf_options", "filtra_gibbs_options",
    "filtra_dhhp_options", "filtra_model_config", "filtra_memory_use", "filtra_generator_options",
    "filtra_sampling", "filtra_kernel_argument", "filtra_kernel", "filtra_mixer_input",
    "filtra_mixer_option", "filtra_mixer", "filtra_parameter_group", "filtra_optimizer_options",
    "filtra_optimizer_metrics", "filtra_predictor_options", "filtra_predictor_info",
    "filtra_request", "filtra_prediction", "filtra_class_scores", "filtra_scores",
    "filtra_transport", "filtra_train_options", "filtra_trainer_metrics", "filtra_evaluation",
    "filtra_run_progress", "filtra_run_options", "filtra_run_memory_use", "filtra_run_info",
    "filtra_listops_options", "filtra_pathfinder_options",
)
