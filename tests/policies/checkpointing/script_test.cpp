// Runs <policy>.script of this folder for every checkpointing policy; a missing script is a failure.
#include "tests/support/script.hpp"

#include <gtest/gtest.h>

#include <charconv>

#include "policies/checkpointing/replay.hpp"
#include "policies/vocabulary/check.hpp"
#include "tests/support/names.hpp"

namespace tandem::checkpointing {
namespace {

using testing::Words;

/// Commands: `policy [OPTION=VALUE ...]`, which starts again, and events as in decisions.csv.
class Player {
 public:
  explicit Player(const std::string& policy) : entry_(catalog().find(policy)) {}

  std::string answer(const Words& words) {
    if (words.at(0) == "policy") return start(words);
    std::string event;
    for (const auto& word : words) event += (event.empty() ? "" : " ") + word;
    return replay(*policy_, {event}).at(0).decisions;
  }

 private:
  std::string start(const Words& words) {
    std::map<std::string, OptionValue> options;
    for (std::size_t i = 1; i < words.size(); ++i) {
      const auto equals = words[i].find('=');
      options[words[i].substr(0, equals)] = value_of(words[i].substr(equals + 1));
    }
    try {
      policy_ = entry_.make({.options = Options::resolve(entry_.name, entry_.options, options)});
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  }

  static OptionValue value_of(const std::string& text) {
    if (text == "true" || text == "false") return text == "true";
    double number = 0.0;
    const char* end = text.data() + text.size();
    if (std::from_chars(text.data(), end, number).ptr == end) return number;
    return text;
  }

  const Catalog<Factory>::Entry& entry_;
  std::unique_ptr<Policy> policy_;
};

class CheckpointingScript : public ::testing::TestWithParam<std::string> {};

TEST_P(CheckpointingScript, GivesTheExpectedDecisions) {
  Player player(GetParam());
  testing::run_script(std::string(TANDEM_CHECKPOINTING_SCRIPTS) + "/" + GetParam() + ".script",
                      [&](const Words& words) { return player.answer(words); });
}

INSTANTIATE_TEST_SUITE_P(Catalogue, CheckpointingScript, ::testing::ValuesIn(catalog().names()),
                         testing::catalog_name);

}  // namespace
}  // namespace tandem::checkpointing
