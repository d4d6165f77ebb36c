// Runs <policy>.script of this folder for every cache policy of the catalogue; a missing script is a failure.
#include "tests/support/script.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "policies/cache/policy.hpp"
#include "policies/cache/text.hpp"
#include "tests/policies/cache/one_by_one.hpp"
#include "tests/support/names.hpp"
#include "tests/support/paths.hpp"

namespace tandem::cache {
namespace TANDEM_FILE {

using testing::Words;

/// Lists that a script gives.
class ScriptPlan : public Plan {
 public:
  /// By epoch and node.
  std::vector<std::vector<std::vector<SampleId>>> lists;

  std::int64_t epochs() const override { return std::ssize(lists); }
  void list(int, std::int64_t epoch, int node, std::vector<SampleId>& ids) const override {
    ids = lists.at(static_cast<std::size_t>(epoch)).at(static_cast<std::size_t>(node));
  }
};

/// Answers the commands `capacity C`, `setting KEY=VALUE ...`, `access ID [size S]`, `used [TIER]`, `holds
/// ID` and the events of policies/cache/text.hpp, whose answer is the decisions.
class Player {
 public:
  explicit Player(const std::string& policy) : entry_(catalog().find(policy)) {}

  std::string answer(const Words& words) {
    const std::string& command = words.at(0);
    if (command == "capacity") return make({"setting", "tiers=" + words.at(1)});
    if (command == "setting") return make(words);
    if (command == "used")
      return std::to_string(policy_->used(words.size() > 1 ? std::stoi(words[1]) : 0).count());
    if (command == "holds") return policy_->holds(std::stoll(words.at(1))) ? "yes" : "no";
    if (command == "access")
      return access(std::stoll(words.at(1)),
                    Bytes(words.size() == 4 && words[2] == "size" ? std::stoll(words[3]) : 1));
    Decisions decisions;
    replay_event(*policy_, testing::joined(words), decisions);
    return decisions.serve.empty() && to_text(decisions).empty() ? "nothing" : to_text(decisions);
  }

 private:
  /// Keys: tiers, node, nodes, jobs, samples, size, sizes, labels, seed, plan (epochs separated by |, nodes
  /// by ;), and options of the policy. Tiers have 100 and 5 bytes per second, peers 20 and the store 10.
  std::string make(const Words& words) {
    Setting setting{.tiers = {Bytes(0)}};
    std::map<std::string, OptionValue> options;
    for (std::size_t i = 1; i < words.size(); ++i) {
      const auto [key, value] = testing::name_and_value(words[i]);
      if (key == "tiers") {
        setting.tiers.clear();
        for (const auto number : numbers(value)) setting.tiers.emplace_back(number);
      } else if (key == "labels") {
        labels_.clear();
        for (const auto number : numbers(value)) labels_.push_back(static_cast<std::uint16_t>(number));
        setting.manifest.labels = labels_;
      } else if (key == "sizes") {
        sizes_.clear();
        for (const auto number : numbers(value)) sizes_.emplace_back(number);
        setting.manifest.sizes = sizes_;
        setting.manifest.samples = std::ssize(sizes_);
      } else if (key == "plan") {
        plan_.lists.clear();
        for (const auto& epoch : parts(value, '|')) {
          plan_.lists.emplace_back();
          for (const auto& node : parts(epoch, ';')) plan_.lists.back().push_back(numbers(node));
        }
        setting.plan = &plan_;
        setting.rates = &rates_;
      } else if (key == "node") {
        setting.node = std::stoi(value);
      } else if (key == "nodes") {
        setting.nodes = std::stoi(value);
      } else if (key == "jobs") {
        setting.jobs = std::stoi(value);
      } else if (key == "seed") {
        setting.seed = std::stoull(value);
      } else if (key == "samples") {
        setting.manifest.samples = std::stoll(value);
        if (setting.manifest.each == Bytes(0)) setting.manifest.each = Bytes(1);
      } else if (key == "size") {
        setting.manifest.each = Bytes(std::stoll(value));
      } else {
        options[key] = option_value(key, value);
      }
    }
    setting.options = Options::resolve(entry_.name, entry_.options, options);
    policy_ = entry_.make.node(setting);
    return "";
  }

  static std::vector<std::string> parts(const std::string& text, char separator) {
    std::vector<std::string> all;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, separator);) all.push_back(part);
    return all;
  }
  static std::vector<std::int64_t> numbers(const std::string& text) {
    std::vector<std::int64_t> values;
    for (const auto& part : parts(text, ',')) values.push_back(std::stoll(part));
    return values;
  }

  OptionValue option_value(const std::string& key, const std::string& value) const {
    for (const auto& option : entry_.options) {
      if (option.name != key) continue;
      if (std::holds_alternative<bool>(option.default_value)) return value == "true";
      if (std::holds_alternative<std::int64_t>(option.default_value)) return std::int64_t{std::stoll(value)};
      if (std::holds_alternative<double>(option.default_value)) return std::stod(value);
    }
    return value;
  }

  std::string access(SampleId id, Bytes size) {
    const auto [is_hit, keeps, evicted] = testing::access(*policy_, id, size);
    if (is_hit) return "hit";
    std::string text = keeps ? "miss" : "miss bypass";
    if (!evicted.empty()) text += " evict";
    for (const SampleId gone : evicted) text += ' ' + std::to_string(gone);
    return text;
  }

  const Catalog<Factory>::Entry& entry_;
  std::vector<Bytes> sizes_;
  std::vector<std::uint16_t> labels_;
  ScriptPlan plan_;
  Rates rates_{.tiers = {{BytesPerSecond(100), Seconds(0)}, {BytesPerSecond(5), Seconds(0)}},
               .peer = {BytesPerSecond(20), Seconds(0)},
               .store = {BytesPerSecond(10), Seconds(0)}};
  std::unique_ptr<CachePolicy> policy_;
};

class CacheScript : public ::testing::TestWithParam<std::string> {};

TEST_P(CacheScript, GivesTheExpectedAnswers) {
  testing::play_script<Player>(testing::source_folder() + "/tests/policies/cache", GetParam());
}

INSTANTIATE_TEST_SUITE_P(Catalogue, CacheScript, ::testing::ValuesIn(catalog().names()),
                         testing::catalog_name);

}  // namespace TANDEM_FILE
}  // namespace tandem::cache
