/* String functions, compared with those of the C library, where it has them, on random texts. */
#include "base/rng.h"
#include "base/text.h"
#include "support/harness.h"

#include <strings.h>

enum { LONGEST = 12 };

/* Of few characters, so that parts occur and cases differ. */
static size_t draw(ft_rng *rng, char *text) {
  static const char FROM[] = "aAbZz@[\xe4";
  const size_t length = ft_rng_below(rng, LONGEST + 1);
  for (size_t i = 0; i < length; i++)
    text[i] = FROM[ft_rng_below(rng, sizeof FROM - 1)];
  text[length] = '\0';
  return length;
}

static int sign(int value) {
  return (value > 0) - (value < 0);
}

TEST(test_texts) {
  ft_rng rng = ft_rng_make(1, 0);
  for (int i = 0; i < 20000; i++) {
    char a[LONGEST + 1], b[LONGEST + 1], copy[LONGEST + 1], *mine = a, *theirs = copy;
    const size_t length = draw(&rng, a), part = draw(&rng, b) % 4, most = ft_rng_below(&rng, 6);
    assert_int_equal(sign(ft_strcasecmp(a, b)), sign(strcasecmp(a, b)));
    assert_int_equal(sign(ft_strncasecmp(a, b, most)), sign(strncasecmp(a, b, most)));
    assert_ptr_equal(ft_memrchr(a, b[0], length), memrchr(a, b[0], length));
    assert_ptr_equal(ft_memmem(a, length, b, part), memmem(a, length, b, part));
    b[part] = '\0';
    assert_ptr_equal(ft_strcasestr(a, b), strcasestr(a, b));
    memcpy(copy, a, sizeof a);
    while (theirs)
      assert_string_equal(ft_strsep(&mine, b), strsep(&theirs, b));
    assert_null(mine);
  }
}

TEST_MAIN(NULL, NULL)
