// Options: defaults, the message of every rejection, values as text, nearest names.
#include "policies/vocabulary/options.hpp"

#include <gtest/gtest.h>

#include "policies/vocabulary/check.hpp"

namespace tandem {
namespace TANDEM_FILE {

const std::vector<OptionSpec>& specs() {
  static const std::vector<OptionSpec> all = {
      {"staleness", "steps ahead", std::int64_t{3}, 0},
      {"epsilon", "tolerance", 0.5, 0, 1},
      {"weights", "of the mean", std::string("uniform"), {}, {}, {"uniform", "samples"}},
      {"label", "free text", std::string("none")},
      {"smooth", "on or off", false},
  };
  return all;
}

Options resolve(const std::map<std::string, OptionValue>& given) {
  return Options::resolve("ssp", specs(), given);
}

std::string error_of(const std::map<std::string, OptionValue>& given) {
  try {
    resolve(given);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Options, HaveDefaults) {
  const Options options = resolve({});
  EXPECT_EQ(options.integer("staleness"), 3);
  EXPECT_EQ(options.real("epsilon"), 0.5);
  EXPECT_EQ(options.text("weights"), "uniform");
  EXPECT_EQ(options.boolean("smooth"), false);
  EXPECT_EQ(options.values().size(), specs().size());
}

TEST(Options, TakeGivenValuesAndWidenIntegersToReals) {
  const Options options = resolve({{"staleness", std::int64_t{0}},
                                   {"epsilon", std::int64_t{1}},
                                   {"weights", std::string("samples")},
                                   {"label", std::string("anything at all")},
                                   {"smooth", true}});
  EXPECT_EQ(options.integer("staleness"), 0);
  EXPECT_EQ(options.real("epsilon"), 1.0);
  EXPECT_EQ(options.text("weights"), "samples");
  EXPECT_EQ(options.text("label"), "anything at all");
  EXPECT_TRUE(options.boolean("smooth"));
}

TEST(Options, ErrorsNameOwnerOptionExpectedAndFound) {
  EXPECT_EQ(error_of({{"stalenes", std::int64_t{1}}}),
            "ssp: unknown option 'stalenes'; did you mean 'staleness'?");
  EXPECT_EQ(error_of({{"qqqqqqqq", std::int64_t{1}}}), "ssp: unknown option 'qqqqqqqq'");
  EXPECT_EQ(error_of({{"staleness", std::int64_t{-1}}}),
            "ssp: option 'staleness': expected integer >= 0, found '-1'");
  EXPECT_EQ(error_of({{"staleness", 1.5}}), "ssp: option 'staleness': expected integer >= 0, found '1.5'");
  EXPECT_EQ(error_of({{"epsilon", 1.25}}),
            "ssp: option 'epsilon': expected number >= 0 and <= 1, found '1.25'");
  EXPECT_EQ(error_of({{"epsilon", std::string("small")}}),
            "ssp: option 'epsilon': expected number >= 0 and <= 1, found 'small'");
  EXPECT_EQ(error_of({{"weights", std::string("steps")}}),
            "ssp: option 'weights': expected uniform | samples, found 'steps'");
  EXPECT_EQ(error_of({{"smooth", std::int64_t{1}}}),
            "ssp: option 'smooth': expected true | false, found '1'");
  EXPECT_EQ(error_of({{"label", true}}), "ssp: option 'label': expected text, found 'true'");
  EXPECT_EQ(error_of({{"epsilon", std::numeric_limits<double>::quiet_NaN()}}),
            "ssp: option 'epsilon': expected number >= 0 and <= 1, found 'nan'");
}

TEST(Options, ValuesAreWrittenLikeUserInput) {
  EXPECT_EQ(to_text(OptionValue(0.1)), "0.1");
  EXPECT_EQ(to_text(OptionValue(true)), "true");
  EXPECT_EQ(to_text(OptionValue(std::int64_t{-7})), "-7");
  EXPECT_EQ(to_text(OptionValue(std::string("ring"))), "ring");
}

TEST(NearestName, FindsTypingErrorsAndNothingElse) {
  const std::vector<std::string> names = {"ring", "halving-doubling", "bsp", "esync"};
  EXPECT_EQ(nearest_name("rign", names), "ring");
  EXPECT_EQ(nearest_name("halving_doubling", names), "halving-doubling");
  EXPECT_EQ(nearest_name("esinc", names), "esync");
  EXPECT_EQ(nearest_name("completely different", names), "");
  EXPECT_EQ(nearest_name("ring", {}), "");
  const std::vector<std::string> products = {"v100", "a100", "h200", "lenet", "alexnet"};
  EXPECT_EQ(nearest_name("a10", products), "a100");
  EXPECT_EQ(nearest_name("lenet5", products), "lenet");
  for (const char* other : {"b200", "llama-7b", "gpt2", "hexagon"})
    EXPECT_EQ(nearest_name(other, products), "");
}

}  // namespace TANDEM_FILE
}  // namespace tandem
