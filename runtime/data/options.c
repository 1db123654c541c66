#include "data/options.h"

#include <filtra/data.h>

/* Indexed by the enums of filtra/data.h. */
static const char *const PIXELS[] = {"grey", "grey_features", "rgb", NULL};
static const char *const NORMALIZE[] = {"data", "imagenet", "half", NULL};

static const char *const DELIMITERS[] = {"auto", "comma", "tab", "semicolon", "pipe", NULL};
static const char *const QUOTINGS[] = {"auto", "none", "full", NULL};
static const char *const DECIMALS[] = {"auto", "point", "comma", NULL};

#define DATASET(kind, member, ...)                                                                 \
  FT_##kind##_KEY(filtra_dataset_options, member, #member, __VA_ARGS__)
#define AUGMENT(kind, member, ...)                                                                 \
  FT_##kind##_KEY(filtra_augmentation, member, #member, __VA_ARGS__)

static const ft_key DATASET_KEYS[] = {
    /* Model files contain the words, in metadata of at most 100 MB. */
    DATASET(
        INT, max_vocabulary, 0, 0, 1 << 20,
        "`tokenizer` words: the most ids it makes, padding, `<unk>` and `<eos>` included; rarer "
        "words read as `<unk>`. 0: 65536."),
    DATASET(ENUM, pixels, 0, PIXELS,
            "What an image's pixels become. grey: tokens 0 to 255, as in the papers' tasks. "
            "grey_features: one number each. rgb: three numbers each. Numbers are standardised as "
            "`normalize` says."),
    DATASET(ENUM, normalize, 0, NORMALIZE,
            "Mean and deviation that pixels are standardised by: those of the training images, "
            "which are all read once when a run begins; ImageNet's; or 0.5 and 0.5 times 255 "
            "(half), as of ViT. These two are for `pixels` rgb."),
    DATASET(INT, image_size, 0, 0, 1024,
            "Side of the squares that images of any size become: their middle, resized. 0: images "
            "stay as they are, and all have one size."),
    DATASET(FLOAT, crop_pct, 0.875, 0.05, 1.0,
            "Side of that middle square, as a part of the image's shorter side."),
    DATASET(ENUM, delimiter, 0, DELIMITERS,
            "What separates a table's fields. auto: what gives each of the first rows equally many "
            "fields."),
    DATASET(
        ENUM, quoting, 0, QUOTINGS,
        "What a quote at the start of a table's field means. none: nothing, quotes are text and "
        "each line is a row, as in GLUE's files; fields beyond those of the first row are left "
        "out, which is said. full: a quoted field, which may hold line ends. auto: full, in a "
        "file of tabs where its first rows are quoted so."),
    DATASET(ENUM, decimal, 0, DECIMALS,
            "The sign before a fraction in a table's numbers: 1,000.5 has a point, 1.000,5 a "
            "comma. auto: the one that the numbers show."),
    DATASET(BOOL, truncate, false, "Cut sequences at `max_length` instead of refusing them."),
    DATASET(FLOAT, validation_share, 0.1, 1e-6, 0.9,
            "Without validation data: the part of the training samples that is held out, of each "
            "class its part; of a text for language models its end."),
};
const ft_keys ft_dataset_keys = FT_KEYS(DATASET_KEYS);

static const ft_key AUGMENTATION_KEYS[] = {
    AUGMENT(FLOAT, crop_scale, 1.0, 0.01, 1.0,
            "Random resized crop in place of the middle square: the smallest share of the image's "
            "area that is cut out. 1: none.",
            .paper = "Szegedy et al. 2015"),
    AUGMENT(FLOAT, crop_ratio, 4.0 / 3.0, 1.0, 10.0,
            "Largest ratio of the random crop's longer side to its shorter side.",
            .paper = "Szegedy et al. 2015", .usual = "4/3"),
    AUGMENT(FLOAT, hflip, 0.0, 0.0, 1.0, "Probability that left and right change sides."),
    AUGMENT(INT, rand_augment, 0, 0, 15,
            "RandAugment: number of operations drawn for an image, each applied with probability "
            "0.5.",
            .paper = "Cubuk et al. 2020"),
    AUGMENT(FLOAT, rand_augment_magnitude, 9.0, 0.0, 10.0,
            "Mean magnitude of RandAugment's operations.", .paper = "Cubuk et al. 2020"),
    AUGMENT(FLOAT, rand_augment_std, 0.5, 0.0, 10.0,
            "Standard deviation of the magnitude, drawn for each operation."),
    AUGMENT(
        FLOAT, random_erasing, 0.0, 0.0, 1.0,
        "Random erasing: probability that a box of 2 % to a third of the area, its sides 10 : 3 "
        "at most, becomes noise from N(0, 1), as pixels are standardised.",
        .paper = "Zhong et al. 2020"),
    AUGMENT(FLOAT, mixup, 0.0, 0.0, 100.0,
            "alpha of mixup: samples i and n - 1 - i of a batch are averaged with a weight drawn "
            "from Beta(alpha, alpha) for the batch, and their targets likewise. 0: none.",
            .paper = "Zhang et al. 2018"),
    AUGMENT(
        FLOAT, cutmix, 0.0, 0.0, 100.0,
        "alpha of CutMix: one sample has a box of the other. With `mixup` each batch has one of "
        "the two, at even odds. 0: none.",
        .paper = "Yun et al. 2019"),
    AUGMENT(FLOAT, mixup_prob, 1.0, 0.0, 1.0, "Probability that a batch is mixed."),
    AUGMENT(INT, repeats, 1, 1, 16,
            "Repeated augmentation: rows that an image has one after the other in a batch, each "
            "augmented in another way; DeiT has 3. An epoch has as many rows as without, so only a "
            "part of the images, which is drawn anew for each.",
            .paper = "Hoffer et al. 2020"),
};
const ft_keys ft_augmentation_keys = FT_KEYS(AUGMENTATION_KEYS);
