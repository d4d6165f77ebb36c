// Hosts that are dealt over machines: deal.script.
#include "runtime/machines/deal.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "policies/vocabulary/check.hpp"
#include "runtime/machines/name_lists.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/script.hpp"

namespace tandem::machines {
namespace TANDEM_FILE {

using testing::Words;

/// The part after a letter, which is removed; empty: there is none.
std::string split_at(std::string& text, char letter) {
  const auto at = text.find(letter);
  if (at == std::string::npos) return "";
  const std::string rest = text.substr(at + 1);
  text.resize(at);
  return rest;
}

MachineOffer offer_of(const std::string& name, std::string counts) {
  const std::string gpus = split_at(counts, '/');
  return {.machine = name, .ranks = std::stoi(counts), .gpus = std::stoi(gpus)};
}

void add_hosts(std::vector<HostNeed>& hosts, const std::string& word) {
  auto [list, counts] = testing::name_and_value(word);
  HostNeed need;
  need.machine = split_at(counts, '+');
  std::istringstream groups(split_at(counts, '@'));
  for (std::string group; std::getline(groups, group, '.');) need.groups.push_back(std::stoi(group));
  if (const std::string gpu = split_at(counts, '/'); !gpu.empty()) need.gpu = std::stoi(gpu);
  need.ranks = std::stoi(counts);
  for (const auto& name : names_in(list, "hosts")) {
    hosts.push_back(need);
    hosts.back().host = name;
  }
}

std::string answer(const Words& words) {
  const auto colon = std::ranges::find(words, ":");
  std::vector<HostNeed> hosts;
  for (auto word = colon + 1; word != words.end(); ++word) add_hosts(hosts, *word);
  try {
    std::vector<Mapped> dealt;
    if (words.front() == "fewest") {
      dealt = deal_on_fewest(hosts, offer_of("", words.at(1)));
    } else {
      std::vector<MachineOffer> machines;
      for (auto word = words.begin() + 1; word != colon; ++word) {
        const auto [name, counts] = testing::name_and_value(*word);
        machines.push_back(offer_of(name, counts));
      }
      dealt = deal(hosts, machines);
    }
    std::string text;
    for (const auto& entry : mapping_entries(dealt)) text += ' ' + entry.hosts + '=' + entry.machines;
    return text;
  } catch (const ConfigError& error) {
    return error.what();
  }
}

TEST(Deal, FollowsItsScript) {
  testing::run_script(testing::source_folder() + "/tests/runtime/machines/deal.script", answer);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::machines
