/* Models of images, from golden files of tests/golden/vision.py: the same logits, loss and
 * gradients as timm's. */

#include "support/golden_model.h"
#include "support/harness.h"

#include <filtra/filtra.h>

static const char *const FILES[] = {"cait", "cait_gfsa"};

TEST(logits_and_loss_are_timm_s) {
  for (size_t i = 0; i < FT_COUNT(FILES); i++)
    test_golden_logits("vision", FILES[i]);
}

TEST(gradients_are_timm_s) {
  for (size_t i = 0; i < FT_COUNT(FILES); i++)
    test_golden_gradients("vision", FILES[i]);
}

TEST_MAIN(NULL, test_teardown)
