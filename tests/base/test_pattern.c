/* Shell patterns, compared with fnmatch(). */
#include "base/pattern.h"
#include "support/harness.h"

TEST(test_patterns) {
  static const struct {
    const char *pattern, *text;
    bool match;
  } cases[] = {{"", "", true},
               {"", "a", false},
               {"a", "a", true},
               {"a", "ab", false},
               {"*", "", true},
               {"*", "abc", true},
               {"a*c", "abc", true},
               {"a*c", "abcd", false},
               {"*-agf-*", "x-agf-s1", true},
               {"*-agf-*", "agf", false},
               {"a?c", "abc", true},
               {"a?c", "ac", false},
               {"[ab]*", "bcd", true},
               {"[ab]*", "cd", false},
               {"[a-c]", "b", true},
               {"[!a-c]", "b", false},
               {"[!a-c]", "d", true},
               {"[]a]", "]", true},
               {"[a-]", "-", true},
               {"[a", "[a", true},
               {"[a", "a", false},
               {"\\*", "*", true},
               {"\\*", "a", false},
               {"\\?", "?", true},
               {"\\?", "a", false},
               {"a\\", "a\\", true},
               {"**", "ab", true},
               {"?", "", false}};
  for (size_t i = 0; i < FT_COUNT(cases); i++)
    if (ft_matches(cases[i].pattern, cases[i].text) != cases[i].match)
      fail_msg("%s, %s", cases[i].pattern, cases[i].text);
}

TEST_MAIN(NULL, NULL)
