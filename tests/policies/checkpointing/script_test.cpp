// Runs <policy>.script of this folder for every checkpointing policy; a missing script is a failure.
#include "tests/support/script.hpp"

#include <gtest/gtest.h>

#include "policies/checkpointing/replay.hpp"
#include "policies/vocabulary/check.hpp"
#include "tests/support/names.hpp"
#include "tests/support/paths.hpp"

namespace tandem::checkpointing {
namespace TANDEM_FILE {

using testing::Words;

/// Commands: `policy [OPTION=VALUE ...]`, which starts again, and events as in decisions.csv.
class Player {
 public:
  explicit Player(const std::string& policy) : entry_(catalog().find(policy)) {}

  std::string answer(const Words& words) {
    if (words.at(0) == "policy") return start(words);
    return replay(*policy_, {testing::joined(words)}).at(0).decisions;
  }

 private:
  std::string start(const Words& words) {
    std::map<std::string, OptionValue> options;
    for (std::size_t i = 1; i < words.size(); ++i) {
      const auto [name, value] = testing::name_and_value(words[i]);
      options[name] = testing::option_value(value);
    }
    try {
      policy_ = entry_.make({.options = Options::resolve(entry_.name, entry_.options, options)});
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  }

  const Catalog<Factory>::Entry& entry_;
  std::unique_ptr<Policy> policy_;
};

class CheckpointingScript : public ::testing::TestWithParam<std::string> {};

TEST_P(CheckpointingScript, GivesTheExpectedDecisions) {
  testing::play_script<Player>(testing::source_folder() + "/tests/policies/checkpointing", GetParam());
}

INSTANTIATE_TEST_SUITE_P(Catalogue, CheckpointingScript, ::testing::ValuesIn(catalog().names()),
                         testing::catalog_name);

}  // namespace TANDEM_FILE
}  // namespace tandem::checkpointing
