// Two kinds of machines. Workers are on machines that may be taken away. In the first stage, ranks that hold
// state or decide are on machines that stay, so that a departure loses no more than a worker. In the second
// stage, for few machines that stay, servers may be on machines that are taken away, too: those that stay are
// backups, with copies of their commits. Both are rules about the placement, which the job checks; a request
// is made for the slot of the machine that departed.
#include "policies/provisioning/tiers.hpp"

#include "policies/provisioning/policies.hpp"
#include "policies/vocabulary/text_parts.hpp"

namespace tandem::provisioning {
namespace {

constexpr const char* tiers_name = "tiers";
constexpr const char* backups_option = "backups";

class Tiers final : public Policy {
 public:
  explicit Tiers(const Setting& setting) : Policy(setting) {}
  double cost(std::size_t, Seconds) const override { return 0.0; }
};

}  // namespace

std::vector<std::string> backups_of(const std::string& policy,
                                    const std::map<std::string, OptionValue>& options) {
  const auto given = options.find(backups_option);
  const std::string* const text =
      policy == tiers_name && given != options.end() ? std::get_if<std::string>(&given->second) : nullptr;
  return text == nullptr ? std::vector<std::string>() : split(*text, ',');
}

std::optional<MisplacedRole> find_misplaced_role(const std::vector<HostOfRoles>& hosts) {
  for (const HostOfRoles& host : hosts)
    if (host.may_depart && !host.stable_role.empty()) return MisplacedRole{host.name, host.stable_role, true};
  for (const HostOfRoles& host : hosts)
    if (!host.may_depart && host.has_worker) return MisplacedRole{host.name, "worker", false};
  return std::nullopt;
}

Entry tiers() {
  return {
      .name = tiers_name,
      .summary =
          "as same, where servers, coordinator, cache nodes, evaluator and steward are on hosts that stay "
          "and workers on hosts that may depart",
      .paper =
          "Harlap, Tumanov, Chung, Ganger, Gibbons: Proteus: agile ML elasticity through tiered "
          "reliability in dynamic resource markets. EuroSys 2017; its first two stages, without changes from "
          "one to the other",
      .options =
          {{.name = backups_option,
            .summary =
                "second stage: hosts that stay (a, b), in whose memory the copies of all commits are "
                "(checkpoint.to buddy); servers may then be on hosts that may depart. Empty: first stage",
            .default_value = std::string()}},
      .make = make_policy<Tiers>};
}

}  // namespace tandem::provisioning
