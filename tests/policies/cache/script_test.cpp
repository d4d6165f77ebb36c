// Runs <policy>.script of this folder for every cache policy of the catalogue; a missing script is a failure.
#include "tests/support/script.hpp"

#include <gtest/gtest.h>

#include "policies/cache/policy.hpp"
#include "tests/support/names.hpp"

namespace tandem::cache {
namespace {

using testing::Words;

/// Answers the commands `capacity C`, `access ID [size S]`, `request ID`, `fetched ID` and `used`.
class Player {
 public:
  explicit Player(const std::string& policy) : entry_(catalog().find(policy)) {}

  std::string answer(const Words& words) {
    const std::string& command = words.at(0);
    if (command == "capacity") {
      policy_ =
          entry_.make.node({Bytes(std::stoll(words.at(1))), Options::resolve("cache", entry_.options, {})});
      return "";
    }
    if (command == "used") return std::to_string(policy_->used().count());
    const SampleId id = std::stoll(words.at(1));
    const Bytes size(words.size() == 4 && words[2] == "size" ? std::stoll(words[3]) : 1);
    if (command == "access") return access(id, size);
    if (command == "request") return policy_->on_request(id, size).source == Source::local ? "hit" : "miss";
    if (command == "fetched") return policy_->on_fetched(id, size).keep ? "keep" : "bypass";
    return "unknown command";
  }

 private:
  std::string access(SampleId id, Bytes size) {
    if (policy_->on_request(id, size).source == Source::local) return "hit";
    const Admission admission = policy_->on_fetched(id, size);
    std::string text = admission.keep ? "miss" : "miss bypass";
    if (!admission.evicted.empty()) text += " evict";
    for (const SampleId evicted : admission.evicted) text += ' ' + std::to_string(evicted);
    return text;
  }

  const Catalog<Factory>::Entry& entry_;
  std::unique_ptr<CachePolicy> policy_;
};

class CacheScript : public ::testing::TestWithParam<std::string> {};

TEST_P(CacheScript, GivesTheExpectedAnswers) {
  Player player(GetParam());
  testing::run_script(std::string(TANDEM_CACHE_SCRIPTS) + "/" + GetParam() + ".script",
                      [&](const Words& words) { return player.answer(words); });
}

INSTANTIATE_TEST_SUITE_P(Catalogue, CacheScript, ::testing::ValuesIn(catalog().names()),
                         testing::catalog_name);

}  // namespace
}  // namespace tandem::cache
