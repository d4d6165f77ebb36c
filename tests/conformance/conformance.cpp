// Collects the scenarios of all groups into one list.
#include "tests/conformance/conformance.hpp"

#include <iterator>

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

}  // namespace tandem::conformance
