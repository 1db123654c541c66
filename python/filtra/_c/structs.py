"""Structs; `enums` has those of the fields that are one.

Written by python/generate.py from include/filtra.
"""

from ctypes import (
    POINTER as P, CFUNCTYPE, Structure, c_bool, c_char, c_char_p, c_double, c_float, c_int, c_int32,
    c_int64, c_size_t, c_uint32, c_uint64, c_uint8, c_void_p,
)

from .enums import (
    filtra_access, filtra_activation, filtra_agf_variant, filtra_basis, filtra_block,
    filtra_decimal, filtra_delimiter, filtra_device_class, filtra_diagonal, filtra_distillation,
    filtra_dtype, filtra_head, filtra_init_kind, filtra_input, filtra_norm, filtra_normalization,
    filtra_optimizer_kind, filtra_option_type, filtra_pixels, filtra_pooling, filtra_positions,
    filtra_precision, filtra_quoting, filtra_recompute, filtra_regression_loss, filtra_rho,
    filtra_schedule, filtra_split, filtra_target, filtra_targets, filtra_task, filtra_theta_mode,
    filtra_vector,
)


class filtra_tokenizer(Structure):
    __slots__ = ()

class filtra_dataset(Structure):
    __slots__ = ()

class filtra_loader(Structure):
    __slots__ = ()

class filtra_device(Structure):
    __slots__ = ()

class filtra_graph(Structure):
    __slots__ = ()

class filtra_tensor(Structure):
    __slots__ = ()

class filtra_parameters(Structure):
    __slots__ = ()

class filtra_arena(Structure):
    __slots__ = ()

class filtra_model(Structure):
    __slots__ = ()

class filtra_generator(Structure):
    __slots__ = ()

class filtra_scope(Structure):
    __slots__ = ()

class filtra_optimizer(Structure):
    __slots__ = ()

class filtra_predictor(Structure):
    __slots__ = ()

class filtra_trainer(Structure):
    __slots__ = ()

class filtra_run(Structure):
    __slots__ = ()

filtra_log_fn = CFUNCTYPE(None, c_void_p, c_int, c_char_p)

filtra_backward_fn = CFUNCTYPE(None, P(filtra_graph), c_void_p)

filtra_progress_fn = CFUNCTYPE(c_bool, c_void_p, c_uint64, c_uint64)

class filtra_dataset_options(Structure):
    __slots__ = ()
    _fields_ = [
        ("format", c_char_p), ("tokenizer", c_char_p), ("fitted", P(filtra_tokenizer)),
        ("max_length", c_uint32), ("truncate", c_bool), ("verify_labels", c_bool),
        ("file_split", c_int), ("seed", c_uint64), ("pixels", c_int), ("text_column", c_char_p),
        ("target_column", c_char_p), ("validation_share", c_float), ("max_vocabulary", c_uint32),
        ("image_size", c_uint32), ("crop_pct", c_float), ("normalize", c_int),
        ("unlabelled", c_bool), ("feature_columns", c_char_p), ("group_column", c_char_p),
        ("time_column", c_char_p), ("id_column", c_char_p), ("delimiter", c_int),
        ("decimal", c_int), ("targets", c_int), ("label_separator", c_char_p), ("quoting", c_int),
        ("reserved", c_uint64 * 6),
    ]
    enums = {
        "file_split": filtra_split, "pixels": filtra_pixels, "normalize": filtra_normalization,
        "delimiter": filtra_delimiter, "decimal": filtra_decimal, "targets": filtra_targets,
        "quoting": filtra_quoting,
    }

class filtra_dataset_info(Structure):
    __slots__ = ()
    _fields_ = [
        ("format", c_char_p), ("input", c_int), ("target", c_int), ("sequences", c_uint32),
        ("tokenizer", P(filtra_tokenizer)), ("features", c_uint32), ("height", c_uint32),
        ("width", c_uint32), ("classes", c_uint32), ("count", c_uint64 * 3), ("longest", c_uint32),
        ("max_length", c_uint32), ("validation_held_out", c_bool), ("edge_types", c_uint32),
        ("unlabelled", c_uint64 * 3), ("columns", c_char_p), ("reserved", c_uint64 * 7),
    ]
    enums = {"input": filtra_input, "target": filtra_target}

class filtra_sample(Structure):
    __slots__ = ()
    _fields_ = [
        ("tokens", P(c_int32)), ("length", c_uint32), ("edge_count", c_uint32),
        ("second", P(c_int32)), ("second_length", c_uint32), ("label", c_int32), ("value", c_float),
        ("name", c_char_p), ("second_at", c_uint32), ("label_count", c_uint32),
        ("labels", P(c_int32)), ("edges", P(c_int32)), ("unknown_count", c_uint32),
        ("reserved", c_uint32 * 1),
    ]

class filtra_samples(Structure):
    __slots__ = ()
    _fields_ = [
        ("count", c_uint64), ("lengths", P(c_uint32)), ("tokens", P(c_int32)),
        ("features", P(c_float)), ("second", P(c_int32)), ("second_lengths", P(c_uint32)),
        ("labels", P(c_int32)), ("values", P(c_float)), ("targets", P(c_uint8)),
        ("weights", P(c_float)), ("edge_counts", P(c_uint32)), ("edges", P(c_int32)),
        ("reserved", c_uint64 * 4),
    ]

class filtra_batch(Structure):
    __slots__ = ()
    _fields_ = [
        ("size", c_uint32), ("length", c_uint32), ("count", c_uint32), ("sequences", c_uint32),
        ("tokens", P(c_int32)), ("features", P(c_float)), ("lengths", P(c_int32)),
        ("labels", P(c_int32)), ("values", P(c_float)), ("weights", P(c_float)),
        ("indices", P(c_uint32)), ("epoch", c_uint64), ("other_labels", P(c_int32)),
        ("label_fractions", P(c_float)), ("second", P(c_int32)), ("targets", P(c_float)),
        ("edge_counts", P(c_uint32)), ("edges", P(c_int32)), ("reserved", c_uint64 * 2),
    ]

class filtra_augmentation(Structure):
    __slots__ = ()
    _fields_ = [
        ("crop_scale", c_float), ("crop_ratio", c_float), ("hflip", c_float),
        ("rand_augment", c_uint32), ("rand_augment_magnitude", c_float),
        ("rand_augment_std", c_float), ("random_erasing", c_float), ("mixup", c_float),
        ("cutmix", c_float), ("mixup_prob", c_float), ("repeats", c_uint32),
        ("reserved", c_uint64 * 7),
    ]

class filtra_loader_position(Structure):
    __slots__ = ()
    _fields_ = [("epoch", c_uint64), ("batch", c_uint64), ("reserved", c_uint64 * 2)]

class filtra_device_info(Structure):
    __slots__ = ()
    _fields_ = [
        ("index", c_uint32), ("name", c_char * 256), ("driver", c_char * 256),
        ("uuid", c_char * 37), ("device_class", c_int), ("vendor_id", c_uint32),
        ("api_version", c_uint32), ("usable", c_bool), ("reason", c_char * 160),
        ("memory_bytes", c_uint64), ("max_allocation_bytes", c_uint64),
        ("max_workgroup_invocations", c_uint32), ("shared_memory_bytes", c_uint32),
        ("subgroup_size", c_uint32), ("subgroup_size_min", c_uint32),
        ("subgroup_size_max", c_uint32), ("subgroup_arithmetic", c_bool), ("int64", c_bool),
        ("fp16", c_bool), ("timestamps", c_bool), ("memory_budget", c_bool),
        ("pipeline_statistics", c_bool), ("cooperative_matrix", c_bool),
        ("reserved", c_uint64 * 16),
    ]
    enums = {"device_class": filtra_device_class}

class filtra_device_options(Structure):
    __slots__ = ()
    _fields_ = [
        ("select", c_char_p), ("caps", c_char_p), ("cache_dir", c_char_p), ("tuning", c_char_p),
        ("validation", c_bool), ("reserved", c_uint64 * 8),
    ]

class filtra_parameter_options(Structure):
    __slots__ = ()
    _fields_ = [
        ("init", c_int), ("value", c_float), ("decay", c_bool), ("buffer", c_bool), ("copy", c_int),
        ("reserved", c_uint64 * 4),
    ]
    enums = {"init": filtra_init_kind, "copy": filtra_dtype}

class filtra_graph_options(Structure):
    __slots__ = ()
    _fields_ = [
        ("arena", P(filtra_arena)), ("slots", c_uint32), ("training", c_bool),
        ("reserved", c_uint64 * 8),
    ]

class filtra_matmul_options(Structure):
    __slots__ = ()
    _fields_ = [
        ("transpose_a", c_bool), ("transpose_b", c_bool), ("scale", c_float),
        ("token_major", c_bool), ("dtype", c_int), ("residual", P(filtra_tensor)),
        ("reserved", c_uint64 * 3),
    ]
    enums = {"dtype": filtra_dtype}

class filtra_linear_options(Structure):
    __slots__ = ()
    _fields_ = [
        ("activation", c_int), ("dropout", c_float), ("residual", P(filtra_tensor)),
        ("dtype", c_int), ("reserved", c_uint64 * 3),
    ]
    enums = {"activation": filtra_activation, "dtype": filtra_dtype}

class filtra_attention_options(Structure):
    __slots__ = ()
    _fields_ = [
        ("causal", c_bool), ("mask", P(filtra_tensor)), ("bias", P(filtra_tensor)),
        ("scale", c_float), ("dropout", c_float), ("reserved", c_uint64 * 4),
    ]

class filtra_agf_options(Structure):
    __slots__ = ()
    _fields_ = [
        ("mask", P(filtra_tensor)), ("basis", c_int), ("a", c_float), ("b", c_float),
        ("rho", c_int), ("theta_mode", c_int), ("variant", c_int), ("symmetric_domain", c_bool),
        ("ortho", P(P(filtra_tensor))), ("ortho_padding", c_bool), ("reserved", c_uint64 * 4),
    ]
    enums = {
        "basis": filtra_basis, "rho": filtra_rho, "theta_mode": filtra_theta_mode,
        "variant": filtra_agf_variant,
    }

class filtra_gibbs_options(Structure):
    __slots__ = ()
    _fields_ = [
        ("lanczos_m", c_float), ("lorentz_xi", c_float), ("wang_a", c_float), ("wang_b", c_float),
        ("reserved", c_uint64 * 4),
    ]

class filtra_dhhp_options(Structure):
    __slots__ = ()
    _fields_ = [("inverse", c_bool), ("permutation", c_int64), ("reserved", c_uint64 * 4)]

class filtra_model_config(Structure):
    __slots__ = ()
    _fields_ = [
        ("mixer", c_char_p), ("task", c_int), ("precision", c_int), ("vocabulary", c_int64),
        ("features", c_int64), ("classes", c_int64), ("max_length", c_int64),
        ("image_height", c_int64), ("image_width", c_int64), ("patch", c_int64),
        ("layers", c_int64), ("heads", c_int64), ("width", c_int64), ("ffn_width", c_int64),
        ("head_width", c_int64), ("dropout", c_float), ("drop_path", c_float),
        ("contra_norm", c_float), ("layer_scale", c_float), ("class_layers", c_int64),
        ("window", c_int64), ("stages", c_char * 40), ("block", c_int), ("norm", c_int),
        ("head", c_int), ("positions", c_int), ("pooling", c_int), ("activation", c_int),
        ("head_activation", c_int), ("embedding_init", c_float), ("init_std", c_float),
        ("norm_epsilon", c_float), ("head_dropout", c_float), ("token_types", c_int64),
        ("position_offset", c_int64), ("distillation", c_int), ("even_drop_path", c_bool),
        ("embedding_norm", c_bool), ("no_last_norm", c_bool), ("no_hidden_dropout", c_bool),
        ("no_head_bias", c_bool), ("scale_embeddings", c_bool), ("tie_embeddings", c_bool),
        ("mask_zero", c_bool), ("target_mean", c_float), ("target_scale", c_float),
        ("edge_types", c_int64), ("edge_distances", c_int64), ("edge_hops", c_int64),
        ("edge_degrees", c_int64), ("seed", c_uint64), ("data", P(filtra_dataset)),
        ("reserved", c_uint64 * 4),
    ]
    enums = {
        "task": filtra_task, "precision": filtra_precision, "block": filtra_block,
        "norm": filtra_norm, "head": filtra_head, "positions": filtra_positions,
        "pooling": filtra_pooling, "activation": filtra_activation,
        "head_activation": filtra_activation, "distillation": filtra_distillation,
    }

class filtra_memory_use(Structure):
    __slots__ = ()
    _fields_ = [
        ("parameters", c_uint64), ("training", c_uint64), ("activations", c_uint64),
        ("transfers", c_uint64), ("total", c_uint64), ("reserved", c_uint64 * 8),
    ]

class filtra_generator_options(Structure):
    __slots__ = ()
    _fields_ = [("sequences", c_uint32), ("slide", c_bool), ("reserved", c_uint64 * 8)]

class filtra_sampling(Structure):
    __slots__ = ()
    _fields_ = [
        ("temperature", c_float), ("top_k", c_int64), ("top_p", c_float), ("seed", c_uint64),
        ("zero", c_bool), ("reserved", c_uint64 * 8),
    ]

class filtra_kernel_argument(Structure):
    __slots__ = ()
    _fields_ = [("tensor", P(filtra_tensor)), ("access", c_int)]
    enums = {"access": filtra_access}

class filtra_mixer_input(Structure):
    __slots__ = ()
    _fields_ = [
        ("x", P(filtra_tensor)), ("mask", P(filtra_tensor)), ("residual", P(filtra_tensor)),
        ("heads", c_int64), ("dropout", c_float), ("causal", c_bool), ("max_length", c_int64),
        ("context", c_void_p), ("bias", P(filtra_tensor)), ("reserved", c_uint64 * 5),
    ]

class filtra_mixer_option(Structure):
    __slots__ = ()
    _fields_ = [
        ("name", c_char_p), ("type", c_int), ("offset", c_size_t), ("fallback", c_double),
        ("low", c_double), ("high", c_double), ("names", P(c_char_p)), ("help", c_char_p),
        ("reserved", c_uint64 * 3),
    ]
    enums = {"type": filtra_option_type}

class filtra_parameter_group(Structure):
    __slots__ = ()
    _fields_ = [
        ("names", c_char_p), ("frozen", c_bool), ("rate_scale", c_float), ("weight_decay", c_float),
        ("decay_all", c_bool), ("reserved", c_uint64 * 3),
    ]

class filtra_optimizer_metrics(Structure):
    __slots__ = ()
    _fields_ = [
        ("step", c_uint64), ("loss", c_float), ("gradient_norm", c_float),
        ("learning_rate", c_float), ("loss_scale", c_float), ("skipped", c_uint64),
        ("skipped_step", c_uint64), ("reserved", c_uint64 * 1),
    ]

class filtra_predictor_options(Structure):
    __slots__ = ()
    _fields_ = [
        ("batch_size", c_uint32), ("lengths", P(c_uint32)), ("length_count", c_size_t),
        ("precision", P(c_int)), ("prepare_all", c_bool), ("vector", c_int), ("normalise", c_bool),
        ("reserved", c_uint64 * 5),
    ]
    enums = {"vector": filtra_vector}

class filtra_predictor_info(Structure):
    __slots__ = ()
    _fields_ = [
        ("task", c_int), ("outputs", c_int64), ("features", c_int64), ("max_length", c_int64),
        ("tokenizer", P(filtra_tokenizer)), ("classes", P(c_char_p)), ("class_count", c_size_t),
        ("truncate", c_bool), ("pairs", c_bool), ("may_pair", c_bool), ("reserved", c_uint64 * 7),
    ]
    enums = {"task": filtra_task}

class filtra_request(Structure):
    __slots__ = ()
    _fields_ = [
        ("text", c_char_p), ("text_length", c_size_t), ("second", c_char_p),
        ("second_length", c_size_t), ("tokens", P(c_int32)), ("series", P(c_float)),
        ("pixels", P(c_uint8)), ("length", c_uint32), ("channels", c_uint32), ("height", c_uint32),
        ("logits", P(c_float)), ("probabilities", P(c_float)), ("vector", P(c_float)),
        ("reserved", c_uint64 * 6),
    ]

class filtra_prediction(Structure):
    __slots__ = ()
    _fields_ = [
        ("label", c_int32), ("name", c_char_p), ("probability", c_float), ("value", c_float),
        ("reserved", c_uint64 * 4),
    ]

class filtra_class_scores(Structure):
    __slots__ = ()
    _fields_ = [
        ("known", c_uint64), ("samples", c_uint64), ("predicted", c_uint64), ("hits", c_uint64),
        ("precision", c_double), ("recall", c_double), ("f1", c_double), ("auc", c_double),
    ]

filtra_transport_send = CFUNCTYPE(c_int, c_void_p, c_int, c_void_p, c_size_t, c_double)
filtra_transport_receive = CFUNCTYPE(c_int, c_void_p, c_int, c_void_p, c_size_t, c_double)
filtra_transport_barrier = CFUNCTYPE(c_int, c_void_p, c_double)
filtra_transport_abort = CFUNCTYPE(None, c_void_p, c_int)
filtra_transport_close = CFUNCTYPE(None, c_void_p)

class filtra_transport(Structure):
    __slots__ = ()
    _fields_ = [
        ("rank", c_int), ("size", c_int), ("local_rank", c_int), ("local_size", c_int),
        ("name", c_char_p), ("user", c_void_p), ("send", filtra_transport_send),
        ("receive", filtra_transport_receive), ("barrier", filtra_transport_barrier),
        ("abort", filtra_transport_abort), ("close", filtra_transport_close),
        ("reserved", c_uint64 * 8),
    ]

class filtra_trainer_metrics(Structure):
    __slots__ = ()
    _fields_ = [
        ("step", c_uint64), ("loss", c_float), ("accuracy", c_float), ("absolute_error", c_float),
        ("gradient_norm", c_float), ("learning_rate", c_float), ("exchange_seconds", c_float),
        ("hidden_seconds", c_float), ("loss_scale", c_float), ("skipped", c_uint64),
        ("skipped_step", c_uint64), ("reserved", c_uint64 * 4),
    ]

class filtra_evaluation(Structure):
    __slots__ = ()
    _fields_ = [
        ("task", c_int), ("samples", c_uint64), ("predictions", c_uint64), ("loss", c_double),
        ("accuracy", c_double), ("chance", c_double), ("majority", c_double),
        ("perplexity", c_double), ("absolute_error", c_double),
        ("root_mean_square_error", c_double), ("r_squared", c_double), ("top5_accuracy", c_double),
        ("f1", c_double), ("macro_f1", c_double), ("matthews", c_double), ("pearson", c_double),
        ("spearman", c_double), ("reserved", c_uint64 * 2),
    ]
    enums = {"task": filtra_task}

class filtra_run_memory_use(Structure):
    __slots__ = ()
    _fields_ = [
        ("parameters", c_uint64), ("gradients", c_uint64), ("moments", c_uint64),
        ("activations", c_uint64), ("transfers", c_uint64), ("total", c_uint64),
        ("available", c_uint64), ("fits", c_bool), ("advice", c_char * 128),
        ("reserved", c_uint64 * 8),
    ]

class filtra_run_info(Structure):
    __slots__ = ()
    _fields_ = [
        ("folder", c_char_p), ("config", c_char_p), ("data", c_char_p), ("mixer", c_char_p),
        ("task", c_int), ("batch_size", c_uint32), ("tokenizer", P(filtra_tokenizer)),
        ("classes", P(c_char_p)), ("class_count", c_size_t), ("reserved", c_uint64 * 8),
    ]
    enums = {"task": filtra_task}

class filtra_dataset_arrays(Structure):
    __slots__ = ()
    _fields_ = [
        ("splits", filtra_samples * 3), ("target", c_int), ("features", c_uint32),
        ("classes", c_uint32), ("class_names", P(c_char_p)), ("tokenizer", P(filtra_tokenizer)),
        ("standardise", c_bool), ("hold_out", c_bool), ("validation_share", c_float),
        ("seed", c_uint64), ("columns", c_bool), ("height", c_uint32), ("width", c_uint32),
        ("edge_types", c_uint32), ("feature_mean", P(c_double)), ("feature_factor", P(c_double)),
        ("reserved", c_uint64 * 11),
    ]
    enums = {"target": filtra_target}

class filtra_loader_options(Structure):
    __slots__ = ()
    _fields_ = [
        ("split", c_int), ("batch_size", c_uint32), ("buckets", P(c_uint32)),
        ("bucket_count", c_size_t), ("shuffle", c_bool), ("seed", c_uint64), ("drop_last", c_bool),
        ("prefetch", c_uint32), ("augmentation", P(filtra_augmentation)),
        ("class_weights", P(c_float)), ("sample_weights", c_bool), ("reserved", c_uint64 * 6),
    ]
    enums = {"split": filtra_split}

class filtra_gfsa_options(Structure):
    __slots__ = ()
    _fields_ = [
        ("attention", filtra_attention_options), ("order", c_int), ("w0", c_float), ("w1", c_float),
        ("wK", c_float), ("reserved", c_uint64 * 4),
    ]

class filtra_plaplacian_options(Structure):
    __slots__ = ()
    _fields_ = [
        ("attention", filtra_attention_options), ("p", P(c_float)), ("eps", c_float),
        ("diagonal", c_int), ("euler", c_bool), ("reserved", c_uint64 * 4),
    ]
    enums = {"diagonal": filtra_diagonal}

class filtra_kernel(Structure):
    __slots__ = ()
    _fields_ = [
        ("name", c_char_p), ("words", P(c_uint32)), ("word_count", c_size_t),
        ("arguments", P(filtra_kernel_argument)), ("argument_count", c_uint32), ("push", c_void_p),
        ("push_size", c_uint32), ("workgroup", c_uint32), ("subgroup", c_uint32),
        ("constants", P(c_uint32)), ("constant_count", c_uint32), ("groups", c_uint32 * 3),
        ("flops", c_double), ("bytes", c_double), ("backward", filtra_backward_fn),
        ("context", c_void_p), ("context_size", c_size_t), ("reserved", c_uint64 * 8),
    ]

filtra_mixer_build = CFUNCTYPE(
    c_void_p, P(filtra_scope), c_void_p, P(filtra_mixer_input), P(P(filtra_tensor)),
)

class filtra_mixer(Structure):
    __slots__ = ()
    _fields_ = [
        ("name", c_char_p), ("description", c_char_p), ("options_size", c_size_t),
        ("options", P(filtra_mixer_option)), ("option_count", c_size_t), ("not_causal", c_char_p),
        ("not_decoded", c_char_p), ("build", filtra_mixer_build), ("context", c_void_p),
        ("takes_bias", c_bool), ("reserved", c_uint64 * 7),
    ]

class filtra_optimizer_options(Structure):
    __slots__ = ()
    _fields_ = [
        ("kind", c_int), ("schedule", c_int), ("learning_rate", c_float), ("weight_decay", c_float),
        ("decay_all", c_bool), ("beta1", c_float), ("beta2", c_float), ("epsilon", c_float),
        ("clip_norm", c_float), ("loss_scale", c_float), ("loss_scale_window", c_uint32),
        ("steps", c_uint64), ("warmup_steps", c_uint64), ("groups", P(filtra_parameter_group)),
        ("group_count", c_size_t), ("reserved", c_uint64 * 7),
    ]
    enums = {"kind": filtra_optimizer_kind, "schedule": filtra_schedule}

class filtra_scores(Structure):
    __slots__ = ()
    _fields_ = [
        ("classes", c_uint32), ("samples", c_uint64), ("of_class", P(filtra_class_scores)),
        ("confusion", P(c_uint64)), ("accuracy", c_double), ("accuracy_low", c_double),
        ("accuracy_high", c_double), ("balanced_accuracy", c_double), ("macro_f1", c_double),
        ("auc", c_double), ("matthews", c_double), ("micro_f1", c_double),
        ("reserved", c_uint64 * 7),
    ]

class filtra_run_progress(Structure):
    __slots__ = ()
    _fields_ = [
        ("last", filtra_trainer_metrics), ("step", c_uint64), ("steps", c_uint64),
        ("epoch", c_double), ("tokens_per_second", c_double), ("milliseconds", c_double),
        ("seconds_left", c_double), ("loss", c_double), ("accuracy", c_double),
        ("absolute_error", c_double), ("task", c_int), ("validation_loss", c_double),
        ("validation_accuracy", c_double), ("validation_absolute_error", c_double),
        ("validation_top5_accuracy", c_double), ("evaluated", c_bool), ("best_step", c_uint64),
        ("best_loss", c_double), ("best_accuracy", c_double), ("best_absolute_error", c_double),
        ("ended_of", c_uint64), ("parameters", c_uint64), ("trained_parameters", c_uint64),
        ("device_memory_bytes", c_uint64), ("shares", c_char_p),
        ("validation", P(filtra_evaluation)), ("best", P(filtra_evaluation)),
        ("patience_by", c_char_p), ("frozen", c_char_p), ("reserved", c_uint64 * 4),
    ]
    enums = {"task": filtra_task}

class filtra_listops_options(Structure):
    __slots__ = ()
    _fields_ = [
        ("train", c_uint64), ("val", c_uint64), ("test", c_uint64), ("min_length", c_uint32),
        ("max_length", c_uint32), ("max_depth", c_uint32), ("max_args", c_uint32),
        ("seed", c_uint64), ("threads", c_uint32), ("progress", filtra_progress_fn),
        ("progress_user", c_void_p), ("reserved", c_uint64 * 4),
    ]

class filtra_pathfinder_options(Structure):
    __slots__ = ()
    _fields_ = [
        ("count", c_uint64), ("contour_length", c_uint32), ("seed", c_uint64),
        ("threads", c_uint32), ("progress", filtra_progress_fn), ("progress_user", c_void_p),
        ("reserved", c_uint64 * 4),
    ]

class filtra_train_options(Structure):
    __slots__ = ()
    _fields_ = [
        ("optimizer", filtra_optimizer_options), ("label_smoothing", c_float),
        ("accumulate", c_uint64), ("recompute", c_int), ("loss_chunks", c_uint64),
        ("seed", c_uint64), ("mixed_labels", c_bool), ("transport", P(filtra_transport)),
        ("share", c_float), ("deadline", c_float), ("layer_decay", c_float),
        ("regression_loss", c_int), ("freeze", c_char_p), ("learning_rates", c_char_p),
        ("weight_decays", c_char_p), ("reserved", c_uint64 * 5),
    ]
    enums = {"recompute": filtra_recompute, "regression_loss": filtra_regression_loss}

filtra_run_options_progress = CFUNCTYPE(c_bool, c_void_p, P(filtra_run_progress))
filtra_run_options_stop = CFUNCTYPE(c_bool, c_void_p)

class filtra_run_options(Structure):
    __slots__ = ()
    _fields_ = [
        ("config", c_char_p), ("config_name", c_char_p), ("folder", c_char_p),
        ("progress", filtra_run_options_progress), ("user", c_void_p), ("allow_changes", c_bool),
        ("transport", P(filtra_transport)), ("share", c_float), ("deadline", c_float),
        ("steps", c_uint64), ("epochs", c_uint64), ("data", P(filtra_dataset)),
        ("stop", filtra_run_options_stop), ("reserved", c_uint64 * 4),
    ]
