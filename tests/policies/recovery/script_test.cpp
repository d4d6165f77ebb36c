// Runs <policy>.script of this folder for every recovery policy, and of ../provisioning for every
// provisioning policy, which the recovery policy `replace` asks there; a missing script is a failure.
#include "tests/support/script.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "policies/provisioning/policy.hpp"
#include "policies/recovery/replay.hpp"
#include "policies/vocabulary/check.hpp"
#include "tests/support/names.hpp"
#include "tests/support/paths.hpp"

namespace tandem::recovery {
namespace TANDEM_FILE {

using testing::Words;

/// Commands: `policy [workers=N] [slots=N] [least=N] [give_up=S] [zones=A,B,...] [time_scale=F]
/// [weibull_s=S] [shape=K] [prices=A,B,...] [speeds=A,B,...] [machines=A,B,...] [stays=SLOT,...]
/// [provisioning.OPTION=VALUE ...] [OPTION=VALUE ...]`, which
/// starts again with 2 workers and as many slots unless said, and events as in decisions.csv.
class Player {
 public:
  explicit Player(const std::string& policy, std::string provisioning = "same")
      : entry_(catalog().find(policy)), provisioning_(std::move(provisioning)) {}

  std::string answer(const Words& words) {
    if (words.at(0) == "policy") return start(words);
    return replay(*policy_, {testing::joined(words)}).at(0).decisions;
  }

 private:
  std::string start(const Words& words) {
    Setting setting{.workers = 2};
    setting.provisioning = provisioning_;
    std::map<std::string, OptionValue> options;
    int slots = 0;
    double scale_s = 0.0, shape = 1.0;
    for (std::size_t i = 1; i < words.size(); ++i) {
      const auto [name, value] = testing::name_and_value(words[i]);
      if (name == "workers")
        setting.workers = std::stoi(value);
      else if (name == "slots")
        slots = std::stoi(value);
      else if (name == "least")
        setting.least = std::stoi(value);
      else if (name == "give_up")
        setting.give_up = Seconds(std::stod(value));
      else if (name == "zones")
        setting.zones = zones_of(value);
      else if (name == "prices")
        set_machines(setting, value,
                     [](SlotMachine& machine, double price) { machine.price_per_hour = price; });
      else if (name == "speeds")
        set_machines(setting, value, [](SlotMachine& machine, double speed) { machine.speed = speed; });
      else if (name == "machines")
        set_machines(setting, value,
                     [](SlotMachine& machine, double number) { machine.machine = static_cast<int>(number); });
      else if (name == "stays")
        std::ranges::for_each(zones_of(value),
                              [&](std::size_t slot) { machine_of(setting, slot).stays = true; });
      else if (name == "weibull_s")
        scale_s = std::stod(value);
      else if (name == "shape")
        shape = std::stod(value);
      else if (name == "time_scale")
        setting.time_scale = std::stod(value);
      else if (const std::string prefix = "provisioning."; name.starts_with(prefix))
        setting.provisioning_options[name.substr(prefix.size())] = testing::option_value(value);
      else
        options[name] = testing::option_value(value);
    }
    if (scale_s > 0.0)
      setting.survival = [=](Seconds age) { return std::exp(-std::pow(age.count() / scale_s, shape)); };
    setting.slots = slots == 0 ? setting.workers : slots;
    if (!setting.machines.empty()) setting.machines.resize(static_cast<std::size_t>(setting.slots));
    try {
      setting.options = Options::resolve(entry_.name, entry_.options, options);
      policy_ = entry_.make(setting);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  }

  static SlotMachine& machine_of(Setting& setting, std::size_t slot) {
    if (setting.machines.size() <= slot) setting.machines.resize(slot + 1);
    return setting.machines[slot];
  }
  template <class Set>
  static void set_machines(Setting& setting, const std::string& text, const Set& set) {
    std::istringstream items(text);
    std::size_t slot = 0;
    for (std::string item; std::getline(items, item, ',');) set(machine_of(setting, slot++), std::stod(item));
  }

  static std::vector<std::size_t> zones_of(const std::string& text) {
    std::vector<std::size_t> zones;
    std::istringstream items(text);
    for (std::string item; std::getline(items, item, ',');) zones.push_back(std::stoul(item));
    return zones;
  }

  const Catalog<Factory>::Entry& entry_;
  std::string provisioning_;
  std::unique_ptr<Policy> policy_;
};

struct ProvisioningPlayer : Player {
  explicit ProvisioningPlayer(const std::string& policy) : Player("replace", policy) {}
};

class RecoveryScript : public ::testing::TestWithParam<std::string> {};

TEST_P(RecoveryScript, GivesTheExpectedDecisions) {
  testing::play_script<Player>(testing::source_folder() + "/tests/policies/recovery", GetParam());
}

INSTANTIATE_TEST_SUITE_P(Catalogue, RecoveryScript, ::testing::ValuesIn(catalog().names()),
                         testing::catalog_name);

class ProvisioningScript : public ::testing::TestWithParam<std::string> {};

TEST_P(ProvisioningScript, GivesTheExpectedDecisions) {
  testing::play_script<ProvisioningPlayer>(testing::source_folder() + "/tests/policies/provisioning",
                                           GetParam());
}

INSTANTIATE_TEST_SUITE_P(Catalogue, ProvisioningScript, ::testing::ValuesIn(provisioning::catalog().names()),
                         testing::catalog_name);

}  // namespace TANDEM_FILE
}  // namespace tandem::recovery
