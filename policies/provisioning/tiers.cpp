// Two kinds of machines. Workers are on machines that may be taken away. Ranks that hold state or decide are
// on machines that stay, so that a departure loses no more than a worker. Without prices, that is a rule
// about the placement, which the job checks; a request is made for the slot of the machine that departed.
#include "policies/provisioning/tiers.hpp"

#include "policies/provisioning/policies.hpp"

namespace tandem::provisioning {
namespace {

class Tiers final : public Policy {
 public:
  explicit Tiers(const Setting& setting) : Policy(setting) {}
  double cost(std::size_t, Seconds) const override { return 0.0; }
};

}  // namespace

std::optional<MisplacedRole> find_misplaced_role(const std::vector<HostOfRoles>& hosts) {
  for (const HostOfRoles& host : hosts)
    if (host.may_depart && !host.stable_role.empty()) return MisplacedRole{host.name, host.stable_role, true};
  for (const HostOfRoles& host : hosts)
    if (!host.may_depart && host.has_worker) return MisplacedRole{host.name, "worker", false};
  return std::nullopt;
}

Entry tiers() {
  return {
      .name = "tiers",
      .summary =
          "as same, where servers, coordinator, cache nodes, evaluator and steward are on hosts that stay "
          "and workers on hosts that may depart",
      .paper =
          "Harlap, Tumanov, Chung, Ganger, Gibbons: Proteus: agile ML elasticity through tiered "
          "reliability in dynamic resource markets. EuroSys 2017; its first stage",
      .options = {},
      .make = make_policy<Tiers>};
}

}  // namespace tandem::provisioning
