// The text of a policy's state: round trips exactly, and is rejected if it does not match.
#include "policies/vocabulary/policy_state.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/rng.hpp"
#include "tests/support/seeds.hpp"

namespace tandem {
namespace TANDEM_FILE {

struct Everything {
  struct Item {
    std::int64_t clock = 0;
    bool held = false;
  };
  bool yes = false;
  int small = 0;
  std::int64_t large = 0;
  std::uint64_t word = 0;
  double real = 0.0;
  Seconds time{};
  std::vector<double> reals;
  std::vector<Item> items = std::vector<Item>(3);
  std::vector<bool> flags = std::vector<bool>(4);
  Rng random{1};

  void serialise(PolicyState& state) {
    state.value("yes", yes);
    state.value("small", small);
    state.value("large", large);
    state.value("word", word);
    state.value("real", real);
    state.value("time", time);
    state.list("reals", reals);
    state.column("clock", items, &Item::clock);
    state.column("held", items, &Item::held);
    state.flags("flags", flags);
    random.serialise(state, "random");
  }
};

TEST(PolicyState, IsOneReadableLine) {
  Everything some;
  some.yes = true;
  some.small = -3;
  some.real = 0.1;
  some.time = Seconds(2.5);
  some.items[1] = {7, true};
  some.flags[3] = true;
  const std::string text = serialised(some);
  EXPECT_EQ(text.substr(0, text.find(" random=")),
            "yes=1 small=-3 large=0 word=0 real=0.1 time=2.5 reals= clock=0,7,0 held=0,1,0 flags=0001");
}

TEST(PolicyState, RoundTripsExactly) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const auto seed : testing::seeds(200)) {
    TANDEM_TRACE_SEED(seed);
    Rng random = Rng::stream(seed, "policy state");
    Everything some;
    some.yes = random.below(2) == 1;
    some.small = static_cast<int>(random.next());
    some.large = static_cast<std::int64_t>(random.next());
    some.word = random.next();
    some.real = std::ldexp(random.normal(), static_cast<int>(random.below(2000)) - 1000);
    some.time = Seconds(random.uniform());
    for (std::uint64_t left = random.below(4); left > 0; --left) some.reals.push_back(random.normal());
    if (random.below(3) == 0) some.reals = {infinity, -infinity, std::nan(""), -0.0};
    for (auto& item : some.items) item = {static_cast<std::int64_t>(random.next()), random.below(2) == 1};
    for (std::size_t flag = 0; flag < 4; ++flag) some.flags[flag] = random.below(2) == 1;
    some.random = random;
    Everything other;
    restore(other, serialised(some));
    EXPECT_EQ(serialised(other), serialised(some));
    EXPECT_EQ(other.real, some.real);
    EXPECT_EQ(other.reals.size(), some.reals.size());
    EXPECT_EQ(other.random.next(), some.random.next());
  }
}

std::string refusal(const std::string& text) {
  struct Two {
    int one = 0;
    std::vector<int> list = {1, 2};
    std::vector<bool> flags = {true, false};
    void serialise(PolicyState& state) {
      state.value("one", one);
      state.column("list", list, std::identity());
      state.flags("flags", flags);
    }
  } two;
  try {
    restore(two, text);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return serialised(two) == text ? "" : "restored otherwise";
}

TEST(PolicyState, RefusesTextThatDoesNotMatch) {
  EXPECT_EQ(refusal("one=5 list=3,4 flags=01"), "");
  EXPECT_EQ(refusal("one=5 list=3,4"), "policy state: expected a value 'flags', found none");
  EXPECT_EQ(refusal("one=5 list=3,4 flags=01 more=1"), "policy state: unknown value 'more'");
  EXPECT_EQ(refusal("one=5 list=3,4,5 flags=01"), "policy state: expected 2 values of 'list', found 3");
  EXPECT_EQ(refusal("one=5 list=3, flags=01"), "policy state: malformed value of 'list': ''");
  EXPECT_EQ(refusal("one=5 list=3,x flags=01"), "policy state: malformed value of 'list': 'x'");
  EXPECT_EQ(refusal("one=5 list=3,4 flags=012"), "policy state: malformed value of 'flags': '012'");
  EXPECT_EQ(refusal("one=99999999999 list=3,4 flags=01"),
            "policy state: malformed value of 'one': '99999999999'");
  for (const char* text : {"one", "one=5 one=5 list=3,4 flags=01"})
    EXPECT_TRUE(refusal(text).starts_with("policy state: expected name=value once for each name, found "))
        << text;
}

/// Such a generator gives the same number for ever.
TEST(PolicyState, RandomNumbersAreNotRestoredFromZeros) {
  Everything some;
  const std::string text = serialised(some);
  const std::string zeros = text.substr(0, text.find(" random=")) + " random=0,0,0,0";
  EXPECT_THROW(restore(some, zeros), ConfigError);
}

}  // namespace TANDEM_FILE
}  // namespace tandem
