// Collects the scenarios of all groups into one list.
#include "tests/conformance/conformance.hpp"

#include <iterator>
#include <set>
#include <string>

#include "tests/conformance/support.hpp"

namespace tandem::conformance {

const std::vector<Scenario>& scenarios() {
  static const std::vector<Scenario> all = [] {
    std::vector<Scenario> list = message_scenarios();
    for (auto group : {waiting_scenarios(), traffic_scenarios(), all_reduce_scenarios(), leaving_scenarios(),
                       disconnecting_scenarios(), disk_scenarios()})
      list.insert(list.end(), std::make_move_iterator(group.begin()), std::make_move_iterator(group.end()));
    return list;
  }();
  return all;
}

std::vector<Scenario> scenarios_of_messages(bool few) {
  static const std::set<std::string> names = {"a_cancelled_send_arrives_completely_or_not_at_all",
                                              "all_reduces_sum_vectors_of_any_size",
                                              "everyone_sends_to_everyone",
                                              "large_messages_cross",
                                              "messages_before_a_disconnect_never_arrive",
                                              "messages_of_a_channel_keep_their_order",
                                              "random_programs_deliver"};
  std::vector<Scenario> chosen = scenarios();
  std::erase_if(chosen, [&](const Scenario& one) { return names.contains(one.name) != few; });
  return chosen;
}

}  // namespace tandem::conformance
